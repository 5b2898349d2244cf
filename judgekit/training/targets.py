"""Preference pairs as training targets."""

from collections import Counter, defaultdict

import numpy as np

from judgekit.records import LABELS

MIN_TIE_SHARE = 0.02  # a source with fewer ties than this did not really offer them


def target_of(pair):
    """Probabilities of A, B and tie that a pair's label gives.

    Parameters
    ----------
    pair : PreferencePair

    Returns
    -------
    tuple of three floats
        A soft label where the annotator gave one, else the hard label.

    Raises
    ------
    ValueError
        If the pair has neither.

    Notes
    -----
    A soft label of exactly one half is a tie.
    """
    if pair.soft_label is not None and pair.label != "tie":
        return (pair.soft_label, 1 - pair.soft_label, 0.0)
    if pair.label is None:
        raise ValueError(f"{pair.where}: no label to train on")
    return tuple(float(pair.label == label) for label in LABELS)


def sources_with_ties(pairs):
    """Names of the sets whose annotators could say tie: at least 2 % of their labels are.

    Only these teach the tie parameter: in the others, the absence of ties says nothing about the pairs.
    """
    labels = defaultdict(Counter)
    for pair in pairs:
        labels[pair.benchmark][pair.label] += 1
    return {name for name, counts in labels.items() if counts["tie"] >= MIN_TIE_SHARE * counts.total()}


def source_weights(pairs, shares):
    """A weight per pair so that each source's total is its share (mean weight 1).

    Parameters
    ----------
    pairs : list of PreferencePair
    shares : dict of str to float
        Source name to its share of the whole; sources not named are not allowed.

    Returns
    -------
    array of float, shape (n_pairs,)

    Raises
    ------
    ValueError
        If a source has no share.
    """
    counts = Counter(pair.benchmark for pair in pairs)
    if unknown := sorted(set(counts) - set(shares)):
        raise ValueError(f"no share of the mixture is given for {', '.join(unknown)}")
    total = sum(shares[name] for name in counts)
    return np.array([shares[p.benchmark] / total * len(pairs) / counts[p.benchmark] for p in pairs])


def select_split(split, pairs, part, by_set=False, limit=None):
    """The pairs that a split table puts in one part.

    Parameters
    ----------
    split : pandas.DataFrame
        Columns benchmark, item_id, split, as `judgekit.data.cleaning.split_table` makes it.
    pairs : dict of str to list of PreferencePair
        Every set that the table names.
    part : str
        ``"train"`` or ``"validation"``.
    by_set : bool
        Return a dictionary of set name to pairs; sets without pairs of that part are left out.
    limit : int, optional
        At most this many pairs per set, spread evenly over the table.

    Returns
    -------
    list of PreferencePair, or dict of str to list

    Raises
    ------
    ValueError
        If the table names an item that its set does not hold: the data changed since it was cleaned.
    """
    found = {}
    for name in sorted(split["benchmark"].unique()):
        wanted = split[(split["benchmark"] == name) & (split["split"] == part)]["item_id"].tolist()
        if limit is not None and len(wanted) > limit:
            wanted = [wanted[i * len(wanted) // limit] for i in range(limit)]
        by_id = {pair.item_id: pair for pair in pairs[name]}
        if missing := [item for item in wanted if item not in by_id]:
            raise ValueError(f"{name} has no item {missing[0]!r} ({len(missing)} in all): clean the data again")
        if wanted:
            found[name] = [by_id[item] for item in wanted]
    return found if by_set else [pair for name in found for pair in found[name]]


def mixture_table(pairs, shares):
    """What a training run is fed: per corpus its share, pairs, prompts, label kind and ties.

    Returns
    -------
    pandas.DataFrame
        Columns corpus, labelled by, share, pairs, prompts, ties.
    """
    import pandas as pd

    total = sum(shares.values())
    rows = []
    for name in shares:
        own = [pair for pair in pairs if pair.benchmark == name]
        row = {"corpus": name, "labelled by": ", ".join(sorted({pair.label_kind for pair in own}))}
        row |= {"share": f"{shares[name] / total:.0%}", "pairs": len(own)}
        row |= {"prompts": len({pair.question for pair in own}), "ties": sum(pair.label == "tie" for pair in own)}
        rows.append(row)
    return pd.DataFrame(rows)


def check_disjoint(train, validation):
    """Refuse a validation set that shares a prompt with training."""
    asked = {pair.asked for pair in train}
    for name, pairs in validation.items():
        if not pairs:
            raise ValueError(f"validation set {name} is empty")
        for pair in pairs:
            if pair.asked in asked:
                raise ValueError(f"{pair.where}: this validation prompt is also a training prompt")
