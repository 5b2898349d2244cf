"""Which side stands first, and which pair comes next: both from a seed, an annotator and an item, with no memory."""

import hashlib

import numpy as np

ORDERS = ("random", "file")


def drawn(seed, *names):
    """A number that a seed and names decide, the same on every machine.

    Returns
    -------
    int
        Uniform below 2**64.
    """
    text = "\0".join([str(seed), *names]).encode("utf-8", "backslashreplace")
    return int.from_bytes(hashlib.sha256(text).digest()[:8])


def shown_order(seed, annotator, item_id):
    """Which response an annotator sees first: "ab" or "ba".

    Examples
    --------
    >>> sum(shown_order(0, "ann", str(n)) == "ab" for n in range(1000))
    502
    """
    return ("ab", "ba")[drawn(seed, "sides", annotator, item_id) % 2]


def sequence(order, seed, annotator, item_ids):
    """Items in the order of a name: as in the file, or drawn for this annotator.

    Raises
    ------
    ValueError
        If the name is neither "random" nor "file".
    """
    if order == "file":
        return list(item_ids)
    if order == "random":
        return sorted(item_ids, key=lambda item: drawn(seed, "items", annotator, item))
    raise ValueError(f"order {order!r}: use {', '.join(ORDERS)} or a function of votes")


def fewest_votes_first(votes):
    """Items with the fewest votes first, otherwise as they stand.

    Parameters
    ----------
    votes : judgekit.votes.Votes
        On all items, those without a vote included.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from judgekit.votes import Votes
    >>> fewest_votes_first(Votes(("i", "j"), ("ann",), [[0], [-1]]))
    ['j', 'i']
    """
    return [votes.items[i] for i in np.argsort(votes.given.sum(1), kind="stable")]
