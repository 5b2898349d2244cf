"""Votes of several annotators on items, and probabilities of a judge on them: tables whose rows are found by key.

Nothing here is aligned by position: a table in another order cannot be taken for the right one.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from judgekit.records import LABELS, PreferencePair

NO_VOTE = -1
TIE_FREE = LABELS[:2]

Repeats = list[tuple[str, str, str, str]]  # item, annotator, first label, later label


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """Who voted for what: at most one vote of an annotator on an item.

    ValueError if a key stands twice, the shape does not fit the names, or a code is no class.
    """

    items: tuple[str, ...]  # keys of the rows
    annotators: tuple[str, ...]  # names of the columns
    codes: npt.NDArray[np.int_]  # index into classes, -1 where there is no vote, shape (n_items, n_annotators)
    classes: tuple[str, ...] = LABELS
    clusters: tuple[str, ...] = ()  # each item's prompt or document, which uncertainty is clustered by; or itself

    def __post_init__(self) -> None:
        for kind in ("items", "annotators", "classes"):
            object.__setattr__(self, kind, checked_keys(getattr(self, kind), kind))
        object.__setattr__(self, "clusters", tuple(self.clusters) or self.items)
        object.__setattr__(self, "codes", np.asarray(self.codes, int))
        n_items, n_annotators = len(self.items), len(self.annotators)
        if self.codes.shape != (n_items, n_annotators):
            raise ValueError(f"votes of shape {self.codes.shape} for {n_items} items and {n_annotators} annotators")
        if len(self.clusters) != n_items:
            raise ValueError(f"{len(self.clusters)} clusters for {n_items} items")
        if self.codes.size and not (self.codes.min() >= NO_VOTE and self.codes.max() < len(self.classes)):
            raise ValueError(f"a vote is none of {', '.join(self.classes)}")

    @property
    def given(self) -> npt.NDArray[np.bool_]:
        """Where there is a vote, shape (n_items, n_annotators)."""
        return self.codes != NO_VOTE

    @property
    def counts(self) -> npt.NDArray[np.int_]:
        """How many votes each class has, shape (n_items, n_classes)."""
        return (self.codes[:, :, None] == np.arange(len(self.classes))).sum(1)

    def at(self, chosen: Any) -> "Votes":
        """The votes on some items: a mask or positions, in their order."""
        chosen = np.arange(len(self.items))[np.asarray(chosen)]
        items, clusters = (tuple(names[i] for i in chosen) for names in (self.items, self.clusters))
        return replace(self, items=items, codes=self.codes[chosen], clusters=clusters)

    def of(self, annotators: Iterable[str]) -> "Votes":
        """The votes of some annotators, in their order; items stay; KeyError names the first annotator there is not."""
        annotators = tuple(annotators)
        columns = positions(annotators, self.annotators, "annotator")
        return replace(self, annotators=annotators, codes=self.codes[:, columns])

    def voted(self, at_least: int = 1) -> "Votes":
        """The votes on items that have so many, and of annotators who voted on any of them."""
        kept = self.at(self.given.sum(1) >= at_least)
        return kept.of(np.array(kept.annotators, object)[kept.given.any(0)])

    def only(self, classes: Sequence[str]) -> "Votes":
        """The votes for some classes; others become no vote (the published tie-free variant drops ties so)."""
        codes = np.full_like(self.codes, NO_VOTE)
        for new, old in enumerate(positions(classes, self.classes, "class")):
            codes[self.codes == old] = new
        return replace(self, codes=codes, classes=tuple(classes))

    def masked(self, hidden: npt.NDArray[np.bool_]) -> "Votes":
        """The votes less those where ``hidden``, of shape (n_items, n_annotators), is true."""
        return replace(self, codes=np.where(hidden, NO_VOTE, self.codes))

    def long(self) -> Any:
        """One row per vote, item by item: columns task, worker, label (crowd-kit's), a pandas.DataFrame."""
        import pandas as pd

        rows, columns = np.nonzero(self.given)
        items, annotators, classes = (np.array(names, object) for names in (self.items, self.annotators, self.classes))
        labels = classes[self.codes[rows, columns]]
        return pd.DataFrame({"task": items[rows], "worker": annotators[columns], "label": labels})

    def wide(self) -> Any:
        """Items by annotators with codes, NaN where there is no vote (cleanlab's form), a pandas.DataFrame."""
        import pandas as pd

        return pd.DataFrame(np.where(self.given, self.codes, np.nan), list(self.items), list(self.annotators))


@dataclass(frozen=True, slots=True, eq=False)
class ClassProbabilities:
    """Probabilities of classes for items, which a judge states.

    ValueError if a key stands twice, the shape does not fit, or a row is no distribution.
    """

    items: tuple[str, ...]
    values: npt.NDArray[np.float64]  # shape (n_items, n_classes); rows sum to one
    classes: tuple[str, ...] = LABELS

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", checked_keys(self.items, "items"))
        object.__setattr__(self, "classes", checked_keys(self.classes, "classes"))
        object.__setattr__(self, "values", np.asarray(self.values, float))
        n_items, n_classes = len(self.items), len(self.classes)
        if self.values.shape != (n_items, n_classes):
            raise ValueError(f"probabilities of shape {self.values.shape} for {n_items} items and {n_classes} classes")
        fine = (self.values >= 0).all(1) & (np.abs(self.values.sum(1) - 1) <= 1e-3)  # neither holds of NaN
        if not fine.all():
            raise ValueError(f"{self.items[int(np.argmin(fine))]}: the probabilities are no distribution")

    def at(self, items: Iterable[str]) -> "ClassProbabilities":
        """The probabilities of some items, in their order; KeyError names the first item there is not."""
        items = tuple(items)
        return replace(self, items=items, values=self.values[positions(items, self.items, "item")])

    def only(self, classes: Sequence[str]) -> "ClassProbabilities":
        """The probabilities given that it is one of some classes, in their order; equal ones if it is none."""
        values = self.values[:, positions(classes, self.classes, "class")]
        values = np.where(values.any(1, keepdims=True), values, 1)
        return replace(self, values=values / values.sum(1, keepdims=True), classes=tuple(classes))


def aligned(votes: Votes, probabilities: ClassProbabilities) -> npt.NDArray[np.float64]:
    """A judge's probabilities for the rows of some votes, shape (n_items, n_classes).

    ValueError names the first row that differs; `ClassProbabilities.at` puts rows in an order by key.
    """
    if votes.classes != probabilities.classes:
        raise ValueError(f"votes are on {votes.classes}, probabilities on {probabilities.classes}")
    if len(votes.items) != len(probabilities.items):
        raise ValueError(f"votes on {len(votes.items)} items, probabilities of {len(probabilities.items)}")
    for row, (voted, stated) in enumerate(zip(votes.items, probabilities.items, strict=True)):
        if voted != stated:
            raise ValueError(f"row {row}: votes on {voted!r} beside probabilities of {stated!r}")
    return probabilities.values


def checked_keys(names: Iterable[str], kind: str) -> tuple[str, ...]:
    """Names as they are, each once; ValueError names the first that stands twice."""
    names = tuple(names)
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise ValueError(f"{kind}: {twice[0]!r} stands twice")
    return names


def positions(wanted: Iterable[str], names: Iterable[str], kind: str) -> list[int]:
    """Where some names stand among others; KeyError names the first that is not there."""
    places = {name: place for place, name in enumerate(names)}
    try:
        return [places[name] for name in wanted]
    except KeyError as missing:
        raise KeyError(f"no {kind} is called {missing.args[0]!r}") from None


def votes_from_long(
    rows: Iterable[tuple[str, str, Any, str]], classes: Sequence[str] = LABELS
) -> tuple[Votes, Repeats]:
    """Votes from single ones, (item, annotator, label, cluster) in any order, and the repeats, which do not count.

    Items and annotators stand as first seen. ValueError if a label is no class, or an item has two clusters.

    >>> votes, repeats = votes_from_long([("i", "ann", "A", "p"), ("i", "bob", "B", "p"), ("i", "ann", "B", "p")])
    >>> votes.codes.tolist(), repeats
    ([[0, 1]], [('i', 'ann', 'A', 'B')])
    """
    first: dict[tuple[str, str], str] = {}
    clusters: dict[str, str] = {}
    repeats: Repeats = []
    for item, annotator, label, cluster in rows:
        if label not in classes:
            raise ValueError(f"{item}: {annotator} voted {label!r}, which is none of {', '.join(classes)}")
        if clusters.setdefault(item, cluster) != cluster:
            raise ValueError(f"{item}: belongs to {clusters[item]!r} and to {cluster!r}")
        if (item, annotator) in first:
            repeats.append((item, annotator, first[item, annotator], label))
        else:
            first[item, annotator] = label
    annotators = tuple(dict.fromkeys(annotator for _, annotator in first))
    codes = np.full((len(clusters), len(annotators)), NO_VOTE)
    rows_at = positions([item for item, _ in first], clusters, "item")
    columns_at = positions([annotator for _, annotator in first], annotators, "annotator")
    codes[rows_at, columns_at] = positions(first.values(), classes, "class")
    return Votes(tuple(clusters), annotators, codes, tuple(classes), tuple(clusters.values())), repeats


def matchup_of(pair: PreferencePair) -> tuple[str, bool]:
    """The key of what a pair compares, whichever side its models stand on, and whether its A is the key's second model.

    ``question:model:model:turn``, models in the order of their names; the item's id where models are not named.
    """
    if pair.model_a is None or pair.model_b is None:
        return pair.item_id, False
    first, second = sorted((pair.model_a, pair.model_b))
    return f"{pair.cluster}:{first}:{second}:{len(pair.turns) + 1}", pair.model_a > pair.model_b


def matchup_votes(pairs: Iterable[PreferencePair]) -> tuple[Votes, Repeats]:
    """The votes on pairs by `matchup_of`, and repeats as of `votes_from_long`; ``judge#2`` is that judge again.

    Only for sets in which two models meet once per question and turn (MT-bench): elsewhere use `votes_of_pairs`.
    """
    rows = []
    for pair in pairs:
        key, turned = matchup_of(pair)
        votes = pair.swapped().votes if turned else pair.votes
        rows += [(key, who.split("#")[0], label, pair.cluster) for who, label in votes.items()]
    return votes_from_long(rows)


def votes_of_pairs(pairs: Iterable[PreferencePair]) -> Votes:
    """The votes on pairs by item id, sides as the set has them; raises where an annotator voted twice on one."""
    rows = ((pair.item_id, who, label, pair.cluster) for pair in pairs for who, label in pair.votes.items())
    votes, repeats = votes_from_long(rows)
    if repeats:
        raise ValueError(f"{repeats[0][0]}: {repeats[0][1]} voted twice; use matchup_votes")
    return votes
