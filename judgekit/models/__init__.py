"""Language models as such: where their files are, how they are loaded, and how they read in batches.

Judges, probes and scores from layers stand on it; it knows nothing of pairs and verdicts.
"""
