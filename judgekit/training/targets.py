"""Preference pairs as training targets."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from judgekit.records import LABELS, PreferencePair
from judgekit.stats import Floats

if TYPE_CHECKING:
    import pandas as pd

MIN_TIE_SHARE = 0.02  # a source with fewer ties than this did not really offer them


def target_of(pair: PreferencePair) -> tuple[float, ...]:
    """Probabilities of A, B and tie that a pair's label gives: a soft label where there is one, else the hard label.

    A soft label of exactly one half is a tie. ValueError if the pair has neither.
    """
    if pair.soft_label is not None and pair.label != "tie":
        return (pair.soft_label, 1 - pair.soft_label, 0.0)
    if pair.label is None:
        raise ValueError(f"{pair.where}: no label to train on")
    return tuple(float(pair.label == label) for label in LABELS)


def sources_with_ties(pairs: Iterable[PreferencePair]) -> set[str]:
    """Names of the sets whose annotators could say tie: at least 2 % of their labels are.

    Only these teach the tie parameter: in the others, the absence of ties says nothing about the pairs.
    """
    labels: defaultdict[str, Counter[str | None]] = defaultdict(Counter)
    for pair in pairs:
        labels[pair.benchmark][pair.label] += 1
    return {name for name, counts in labels.items() if counts["tie"] >= MIN_TIE_SHARE * counts.total()}


def source_weights(pairs: Sequence[PreferencePair], shares: Mapping[str, float]) -> Floats:
    """A weight per pair so that each source's total is its share (mean weight 1).

    ValueError if a source has no share.
    """
    counts = Counter(pair.benchmark for pair in pairs)
    if unknown := sorted(set(counts) - set(shares)):
        raise ValueError(f"no share of the mixture is given for {', '.join(unknown)}")
    total = sum(shares[name] for name in counts)
    return np.array([shares[p.benchmark] / total * len(pairs) / counts[p.benchmark] for p in pairs])


def select_split(
    split: "pd.DataFrame",
    pairs: Mapping[str, Sequence[PreferencePair]],
    part: str,
    by_set: bool = False,
    limit: int | None = None,
) -> Any:
    """The list of pairs that a split table (`judgekit.data.cleaning.split_table`) puts in a part.

    ``pairs``: every set that the table names. ``by_set``: a dictionary of set name to pairs instead; sets without pairs
    of that part are left out. ``limit``: pairs per set at most, spread evenly over the table. ValueError if the table
    names an item that its set does not hold: the data changed since it was cleaned.
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


def mixture_table(pairs: Sequence[PreferencePair], shares: Mapping[str, float]) -> "pd.DataFrame":
    """What a training run is fed, a row per corpus: columns corpus, labelled by, share, pairs, prompts, ties."""
    import pandas as pd

    total = sum(shares.values())
    rows = []
    for name in shares:
        own = [pair for pair in pairs if pair.benchmark == name]
        row: dict[str, Any] = {"corpus": name, "labelled by": ", ".join(sorted({pair.label_kind for pair in own}))}
        row |= {"share": f"{shares[name] / total:.0%}", "pairs": len(own)}
        row |= {"prompts": len({pair.question for pair in own}), "ties": sum(pair.label == "tie" for pair in own)}
        rows.append(row)
    return pd.DataFrame(rows)


def check_disjoint(train: Iterable[PreferencePair], validation: Mapping[str, Sequence[PreferencePair]]) -> None:
    """Refuse a validation set that shares a prompt with training."""
    asked = {pair.asked for pair in train}
    for name, pairs in validation.items():
        if not pairs:
            raise ValueError(f"validation set {name} is empty")
        for pair in pairs:
            if pair.asked in asked:
                raise ValueError(f"{pair.where}: this validation prompt is also a training prompt")
