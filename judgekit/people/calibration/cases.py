"""What a judge states of a set beside what people say of it: the rows that everything in calibration reads."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from judgekit.data.votes import ClassProbabilities, aligned, checked_keys, matchup_votes, votes_of_pairs
from judgekit.records import LABELS
from judgekit.scoring import primary_protocol
from judgekit.scoring.items import stated_probabilities

TARGETS = ("label", "votes", "matchups")
EQUAL = 1e-9  # probabilities this close share the verdict


@dataclass(frozen=True, eq=False)
class Cases:
    """Probabilities of a judge and shares of people, row by row.

    Attributes
    ----------
    items : tuple of str
        Keys of the rows, each once.
    probabilities : array of float, shape (n_items, n_classes)
        What the judge states; rows sum to one.
    shares : array of float, shape (n_items, n_classes)
        Share of people's votes for each class, or one for the label; rows sum to one.
    clusters : sequence of str, length n_items
        The prompt of each item.
    weights : array of float, shape (n_items,), optional
        How many votes stand behind a row; one each by default.
    symmetric : bool
        Whether the judge says the same when the responses are exchanged (the mean of both orders does).

    Raises
    ------
    ValueError
        If a key stands twice, shapes differ, there is no row, or a row is no distribution.
    """

    items: tuple[str, ...]
    probabilities: np.ndarray
    shares: np.ndarray
    clusters: tuple[str, ...]
    weights: np.ndarray | None = None
    symmetric: bool = True

    def __post_init__(self):
        object.__setattr__(self, "items", checked_keys(tuple(self.items), "items"))
        for name in ("probabilities", "shares"):
            object.__setattr__(self, name, distributions(getattr(self, name), name))
        weights = np.ones(len(self.items)) if self.weights is None else np.asarray(self.weights, float)
        object.__setattr__(self, "weights", weights)
        if not self.items:
            raise ValueError("no items: nothing to calibrate")
        if not (self.probabilities.shape == self.shares.shape and len(self.shares) == len(self.items)):
            raise ValueError(
                f"{len(self.items)} items, probabilities {self.probabilities.shape}, shares {self.shares.shape}"
            )
        if not (len(self.clusters) == len(weights) == len(self.items) and (weights > 0).all()):
            raise ValueError("every item needs a cluster and a positive weight")

    @cached_property
    def cluster_index(self):
        """Place of every item's prompt among the sorted names."""
        return np.unique(np.asarray(self.clusters), return_inverse=True)[1]

    @cached_property
    def confidence(self):
        """Probability of the verdict, the most probable class, in [1 / n_classes, 1]."""
        return self.probabilities.max(1)

    @cached_property
    def hits(self):
        """Share of people who say what the judge says; classes that are equally probable share the verdict."""
        top = self.probabilities >= self.confidence[:, None] - EQUAL
        return (self.shares * top).sum(1) / top.sum(1)

    @property
    def n_classes(self):
        return self.shares.shape[1]

    def at(self, chosen):
        """Some of the rows: a mask, positions or a slice."""
        places = np.arange(len(self.items))[chosen]
        picked = {name: tuple(np.asarray(getattr(self, name), object)[places]) for name in ("items", "clusters")}
        arrays = {name: getattr(self, name)[places] for name in ("probabilities", "shares", "weights")}
        return replace(self, **picked, **arrays)

    def stating(self, probabilities):
        """The same rows with other probabilities."""
        return replace(self, probabilities=probabilities)


def distributions(values, name):
    """Rows that are distributions, as an array.

    Raises
    ------
    ValueError
        Names the first row that is none.
    """
    values = np.asarray(values, float)
    if values.ndim != 2:
        raise ValueError(f"{name}: shape {values.shape}, where items by classes are wanted")
    fine = np.isfinite(values).all(1) & (values >= 0).all(1)
    fine &= np.abs(values.sum(1) - 1) <= 1e-3
    if not fine.all():
        raise ValueError(f"{name}: row {int(np.argmin(fine))} is no distribution")
    return values


def cases_of(name, pairs, verdicts, target="label"):
    """A judge's probabilities on a set beside its labels or its votes.

    Parameters
    ----------
    name : str
        The set: whether it has ties is its protocol's business. Without ties, probabilities are those given that
        there is none.
    pairs : list of PreferencePair
    verdicts : list of Verdict
        Of one judge. Where it states no probabilities but scores single responses, the difference of the scores is
        read as the log odds that it was trained to be (Bradley and Terry).
    target : {"label", "votes", "matchups"}
        Labels, one per item; or the shares of all votes on an item, weighted by their number; or those of all votes
        on what is compared, whichever side it stands on (MT-bench).

    Returns
    -------
    Cases
        Of the items that have the target.

    Raises
    ------
    ValueError
        If the target is unknown or no item has it, or the judge states nothing of an item.
    """
    if target not in TARGETS:
        raise ValueError(f"target {target!r} is not one of {', '.join(TARGETS)}")
    classes = LABELS if name_has_ties(name) else LABELS[:2]
    wanted = [pair for pair in pairs if (pair.label in classes if target == "label" else pair.votes)]
    if not wanted:
        raise ValueError(f"{name}: no item has {target}")
    stated = stated_or_scored(verdicts, wanted, target == "matchups").only(classes)
    both = {verdict.order for verdict in verdicts} == {"ab", "ba"}
    if target == "label":
        shares = np.eye(len(classes))[[classes.index(pair.label) for pair in wanted]]
        stated = stated.at([pair.item_id for pair in wanted])
        return Cases(stated.items, stated.values, shares, tuple(pair.cluster for pair in wanted), None, both)
    votes = (matchup_votes(wanted)[0] if target == "matchups" else votes_of_pairs(wanted)).only(classes).voted()
    counts = votes.counts
    values = aligned(votes, stated.at(votes.items))
    return Cases(votes.items, values, counts / counts.sum(1, keepdims=True), votes.clusters, counts.sum(1), both)


def name_has_ties(name):
    """Whether the labels of a set may be ties; a corpus that has no protocol may have them."""
    try:
        return "tie" in primary_protocol(name).labels
    except KeyError:
        return True


def stated_or_scored(verdicts, pairs, matchups):
    """`stated_probabilities`, or the Bradley-Terry reading of score differences where there are only scores."""
    if not all(verdict.p_a is None and verdict.score_a is not None for verdict in verdicts):
        return stated_probabilities(verdicts, pairs, matchups)
    gaps = {}
    for verdict in verdicts:
        gaps.setdefault(verdict.item_id, []).append(verdict.score_a - verdict.score_b)
    if missing := [pair for pair in pairs if pair.item_id not in gaps]:
        raise ValueError(f"{missing[0].where}: no score of {verdicts[0].judge}")
    odds = np.array([np.mean(gaps[pair.item_id]) for pair in pairs])
    first = 1 / (1 + np.exp(-np.clip(odds, -500, 500)))
    values = np.column_stack([first, 1 - first, np.zeros(len(odds))])
    return ClassProbabilities([pair.item_id for pair in pairs], values)
