"""What a filter returns: what it keeps, and a record of each item it drops."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dropped:
    """One item that a filter dropped: which, why, and what it clashed with."""

    item_id: str
    benchmark: str
    reason: str
    detail: str = ""


def drop(item, reason, detail=""):
    """The record that an item was dropped."""
    return Dropped(item.item_id, item.benchmark, reason, detail)


def sift(items, reason_of):
    """Keep the items without a reason to go.

    Parameters
    ----------
    items : list of PreferencePair or of Response
    reason_of : function
        Item to ``(reason, detail)``, or None when it stays.

    Returns
    -------
    kept : list
    dropped : list of Dropped
    """
    kept, dropped = [], []
    for item in items:
        found = reason_of(item)
        if found is None:
            kept.append(item)
        else:
            dropped.append(drop(item, *found))
    return kept, dropped
