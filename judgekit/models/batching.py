"""Batches under a budget of tokens, what their shapes leave in memory, and what sequences begin with alike."""

import os

LEAST_SHARED = 8  # tokens at the start of several prompts that are worth reading in advance


def token_batches(keys, lengths, budget):
    """Consecutive batches of at most ``budget`` tokens, padding included (at least one key each).

    Parameters
    ----------
    keys : iterable
        Best sorted by length, so that little is padded.
    lengths : mapping from key to int
        Tokens.
    budget : int

    Yields
    ------
    list of keys

    Examples
    --------
    >>> list(token_batches("abc", {"a": 6, "b": 5, "c": 4}, 12))
    [['a', 'b'], ['c']]
    """
    batch, longest = [], 0
    for key in keys:
        longest_with = max(longest, lengths[key])
        if batch and longest_with * (len(batch) + 1) > budget:
            yield batch
            batch, longest_with = [], lengths[key]
        batch.append(key)
        longest = longest_with
    if batch:
        yield batch


def shared_start(sequences):
    """What all of some sequences (texts, or tuples) begin with.

    Examples
    --------
    >>> shared_start(["[[A]]", "[[B]]"]), shared_start([(1, 2, 3), (1, 2)])
    ('[[', (1, 2))
    """
    low, high = min(sequences), max(sequences)  # whatever lies between them begins with what these two share
    length = next((n for n, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    return low[:length]


def few_kernels():
    """Let PyTorch keep few kernels on a processor, unless the environment says how many.

    By default it keeps those of a thousand shapes of batches, about a megabyte each; in a long file of texts of all
    lengths there are as many, and memory would grow with the file. Making one anew costs nothing that shows.
    """
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(name, "16")
