"""What is in a set, and what is odd about it: tidy tables."""

import pandas as pd

from judgekit.records import LABELS


def describe_set(name, pairs):
    """One row that describes a set.

    Parameters
    ----------
    name : str
    pairs : list of PreferencePair

    Returns
    -------
    dict
        ``set``, ``items``, ``prompts`` (distinct clusters), ``votes`` (single votes, 0 where the set keeps none), and
        how many items are labelled ``A``, ``B``, ``tie`` or have ``no label``.
    """
    labels = [pair.label for pair in pairs]
    row = {"set": name, "items": len(pairs), "prompts": len({pair.cluster for pair in pairs})}
    row["votes"] = sum(len(pair.votes) for pair in pairs)
    return row | {label: labels.count(label) for label in LABELS} | {"no label": labels.count(None)}


def label_counts(sets):
    """How often each label occurs in each set; votes where a set is scored by votes are not unfolded here.

    Parameters
    ----------
    sets : dict of str to list of PreferencePair

    Returns
    -------
    pandas.DataFrame
        Columns set, label, count.
    """
    rows = [
        (name, label, sum(pair.label == label for pair in pairs)) for name, pairs in sets.items() for label in LABELS
    ]
    return pd.DataFrame(rows, columns=["set", "label", "count"])
