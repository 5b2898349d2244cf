"""How many items each set brought, lost to which filter, and kept."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from judgekit.data.cleaning.dropping import Dropped, Item

# Columns of the table by corpus: a corpus per row leaves room for one word per filter.
GROUPS = {
    "says nothing": ("empty question", "both responses empty", "empty response", "identical responses", "no label"),
    "length": ("too short", "too long"),
    "conflict": ("label conflict",),
    "repeat": ("exact repeat", "near repeat"),
    "test question": ("test question", "test n-grams", "near a test question"),
    "validation": ("validation question",),
    "language": ("language",),
    "cap": ("over the cap per prompt",),
}


def cleaning_counts(items: Sequence[Item], kept: Sequence[Item], dropped: Sequence[Dropped]) -> pd.DataFrame:
    """How many items each corpus brought, lost to each reason, and kept: columns corpus, step, count.

    Steps start with "read", end with "kept", and stand in the order of the filters between.
    """
    corpora = list(dict.fromkeys(item.benchmark for item in items))
    reasons = list(dict.fromkeys(drop.reason for drop in dropped))
    rows = []
    for reason in ("read", *reasons, "kept"):
        found: Sequence[Any] = {"read": items, "kept": kept}.get(
            reason, [drop for drop in dropped if drop.reason == reason]
        )
        rows += [(name, reason, sum(record.benchmark == name for record in found)) for name in corpora]
    return pd.DataFrame(rows, columns=["corpus", "step", "count"])


def cleaning_table(counts: pd.DataFrame) -> pd.DataFrame:
    """The counts with a corpus per row: read, the groups of `GROUPS` that dropped anything, kept.

    ValueError if a reason belongs to no group: it would vanish from the table.
    """
    column = {reason: name for name, reasons in GROUPS.items() for reason in reasons} | {"read": "read", "kept": "kept"}
    if unknown := sorted(set(counts["step"]) - set(column)):
        raise ValueError(f"no column for {unknown[0]!r}: add it to GROUPS")
    grouped = counts.assign(column=counts["step"].map(column))
    wide = grouped.pivot_table(index="corpus", columns="column", values="count", aggfunc="sum", sort=False)
    ordered = [
        name for name in ("read", *GROUPS, "kept") if name in wide and (name in ("read", "kept") or wide[name].any())
    ]
    return wide[ordered].astype(int).rename_axis(columns=None).reset_index()
