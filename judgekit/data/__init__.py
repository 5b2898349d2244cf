"""Data: sources, benchmarks, corpora, cleaning, the sample, and the folders they live in."""
