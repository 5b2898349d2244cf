"""Encoders and language models: where their files are, how they are loaded, how they read in batches, hidden states.

Judges, probes and scores from layers stand on it; it knows nothing of pairs and verdicts.
"""


class Unavailable(ValueError):
    """A model, or a judge on one, is not there, or is not what it should be."""
