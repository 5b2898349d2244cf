"""What is in a set, and what is odd about it: tidy tables."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from judgekit.records import LABELS, PreferencePair


def describe_set(name: str, pairs: Sequence[PreferencePair]) -> dict[str, Any]:
    """One row that describes a set.

    ``set``, ``items``, ``prompts`` (distinct clusters), ``votes`` (single votes, 0 where the set keeps none), and how
    many items are labelled ``A``, ``B``, ``tie`` or have ``no label``.
    """
    labels = [pair.label for pair in pairs]
    row: dict[str, Any] = {"set": name, "items": len(pairs), "prompts": len({pair.cluster for pair in pairs})}
    row["votes"] = sum(len(pair.votes) for pair in pairs)
    return row | {label: labels.count(label) for label in LABELS} | {"no label": labels.count(None)}


def label_counts(sets: Mapping[str, Sequence[PreferencePair]]) -> pd.DataFrame:
    """How often each label occurs in each set (columns set, label, count).

    Votes, where a set is scored by votes, are not unfolded here.
    """
    rows = [
        (name, label, sum(pair.label == label for pair in pairs)) for name, pairs in sets.items() for label in LABELS
    ]
    return pd.DataFrame(rows, columns=["set", "label", "count"])
