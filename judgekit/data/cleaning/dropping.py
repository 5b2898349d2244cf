"""What a filter returns: what it keeps, and a record of each item it drops."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

Item = Any  # a PreferencePair or a Response
Sifted = tuple[list[Item], list["Dropped"]]  # kept, and dropped
Reason = tuple[str, str] | None  # why an item goes, and what it clashed with


@dataclass(frozen=True, slots=True)
class Dropped:
    """One item that a filter dropped: which, why, and what it clashed with."""

    item_id: str
    benchmark: str
    reason: str
    detail: str = ""


def drop(item: Item, reason: str, detail: str = "") -> Dropped:
    """The record that an item was dropped."""
    return Dropped(item.item_id, item.benchmark, reason, detail)


def sift(items: Iterable[Item], reason_of: Callable[[Item], Reason]) -> Sifted:
    """Keep the items without a reason to go."""
    kept, dropped = [], []
    for item in items:
        found = reason_of(item)
        if found is None:
            kept.append(item)
        else:
            dropped.append(drop(item, *found))
    return kept, dropped
