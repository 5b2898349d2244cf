"""Encoders and language models: where their files are, how they are loaded, how they read in batches, hidden states.

Judges, probes and scores from layers stand on it; it knows nothing of pairs and verdicts.
"""
