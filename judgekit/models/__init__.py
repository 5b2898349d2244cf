"""Encoders and language models: where their files are, how they are loaded, how they read in batches, hidden states.

Judges, probes and scores from layers stand on it; it knows nothing of pairs and verdicts.
"""

import os


class Unavailable(ValueError):
    """A model, or a judge on one, is not there, or is not what it should be."""


def few_kernels() -> None:
    """Let PyTorch keep few kernels on a processor, unless the environment says how many.

    By default it keeps those of a thousand shapes of batches, about a megabyte each, and a long file has as many.
    """
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(name, "16")
