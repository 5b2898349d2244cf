"""Which side stands first, and which pair comes next: both from a seed, an annotator and an item, with no memory."""

import hashlib
from collections.abc import Iterable

import numpy as np

from judgekit.data.votes import Votes


def drawn(seed: int, *names: str) -> int:
    """A number below 2**64, uniform, that a seed and names decide, the same on every machine."""
    text = "\0".join([str(seed), *names]).encode("utf-8", "backslashreplace")
    return int.from_bytes(hashlib.sha256(text).digest()[:8])


def shown_order(seed: int, annotator: str, item_id: str) -> str:
    """Which response an annotator sees first: "ab" or "ba"."""
    return ("ab", "ba")[drawn(seed, "sides", annotator, item_id) % 2]


def ordered(order: object, seed: int, annotator: str, item_ids: Iterable[str]) -> list[str]:
    """Items as they stand ("file") or as drawn for this annotator ("random"); ValueError for any other order."""
    if order == "file":
        return list(item_ids)
    if order == "random":
        return sorted(item_ids, key=lambda item: drawn(seed, "items", annotator, item))
    raise ValueError(f"order {order!r}: use random, file or a function of votes")


def fewest_votes_first(votes: Votes) -> list[str]:
    """Items with the fewest votes first, otherwise as they stand; ``votes`` on all items, also those without any."""
    return [votes.items[i] for i in np.argsort(votes.given.sum(1), kind="stable")]
