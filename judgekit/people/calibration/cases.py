"""What a judge states of a set beside what people say of it: the rows that everything in calibration reads."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from judgekit.data.votes import ClassProbabilities, aligned, matchup_votes, votes_of_pairs
from judgekit.records import LABELS, PreferencePair, Verdict
from judgekit.scoring import primary_protocol
from judgekit.scoring.items import stated_probabilities
from judgekit.stats import Array, Floats

TARGETS = ("label", "votes", "matchups")
EQUAL = 1e-9  # probabilities this close share the verdict


@dataclass(frozen=True, eq=False)
class Cases:
    """Probabilities of a judge and shares of people, row by row; ValueError where they do not fit.

    Shape (n_items, n_classes), rows sum to one: what the judge states, and the share of people's votes for each class,
    or one for the label. ``clusters``: the prompt of each item. ``weights``: votes behind a row. ``symmetric``: whether
    the judge says the same when the responses are swapped (the mean of both orders does).
    """

    items: tuple[str, ...]
    probabilities: Floats
    shares: Floats
    clusters: tuple[str, ...]
    weights: Any = None
    symmetric: bool = True

    def __post_init__(self) -> None:
        if not self.items:
            raise ValueError("no items: nothing to calibrate")
        for name in ("probabilities", "shares"):
            values = np.asarray(getattr(self, name), float)
            object.__setattr__(self, name, ClassProbabilities(self.items, values, LABELS[: values.shape[-1]]).values)
        weights = np.ones(len(self.items)) if self.weights is None else np.asarray(self.weights, float)
        object.__setattr__(self, "weights", weights)
        if self.probabilities.shape != self.shares.shape:
            raise ValueError(f"probabilities {self.probabilities.shape}, shares {self.shares.shape}")
        if not (len(self.clusters) == len(weights) == len(self.items) and (weights > 0).all()):
            raise ValueError("every item needs a cluster and a positive weight")

    @cached_property
    def cluster_index(self) -> Array:
        """Place of every item's prompt among the sorted names."""
        return np.unique(np.asarray(self.clusters), return_inverse=True)[1]

    @cached_property
    def confidence(self) -> Floats:
        """Probability of the verdict, the most probable class, in [1 / n_classes, 1]."""
        return self.probabilities.max(1)

    @cached_property
    def hits(self) -> Floats:
        """Share of people who say what the judge says; classes that are equally probable share the verdict."""
        top = self.probabilities >= self.confidence[:, None] - EQUAL
        return (self.shares * top).sum(1) / top.sum(1)

    @cached_property
    def prompt_weights(self) -> Floats:
        """One over the items of the same prompt: each prompt counts once."""
        return 1 / np.bincount(self.cluster_index)[self.cluster_index]

    @property
    def n_prompts(self) -> int:
        return int(self.cluster_index.max()) + 1

    @property
    def n_classes(self) -> int:
        return self.shares.shape[1]

    def at(self, chosen: Array) -> "Cases":
        """Some of the rows: a mask, positions or a slice."""
        places = np.arange(len(self.items))[chosen]
        items, clusters = (tuple(np.asarray(names, object)[places]) for names in (self.items, self.clusters))
        tables = (self.probabilities[places], self.shares[places])
        return Cases(items, *tables, clusters, self.weights[places], self.symmetric)

    def stating(self, probabilities: Array) -> "Cases":
        """The same rows with other probabilities."""
        return replace(self, probabilities=probabilities)


def cases_of(name: str, pairs: Sequence[PreferencePair], verdicts: Sequence[Verdict], target: str = "label") -> Cases:
    """A judge's probabilities on a set beside its labels or its votes, of the items that have them.

    On a set without ties, probabilities are those given that there is none. A judge that states none but scores single
    responses is read by the difference of the scores, the log odds that it was trained to be. ``target``: ``label``;
    ``votes``: shares weighted by their number; ``matchups``: those of all votes on what is compared, whichever side it
    is on (MT-bench). ValueError where the target is unknown or no item has it, or the judge states nothing of an item.
    """
    if target not in TARGETS:
        raise ValueError(f"target {target!r} is not one of {', '.join(TARGETS)}")
    try:
        classes = LABELS if "tie" in primary_protocol(name).labels else LABELS[:2]
    except KeyError:  # a corpus that has no protocol may have ties
        classes = LABELS
    wanted = [pair for pair in pairs if (pair.label in classes if target == "label" else pair.votes)]
    if not wanted:
        raise ValueError(f"{name}: no item has {target}")
    stated = _stated_or_scored(verdicts, wanted, target == "matchups").only(classes)
    both = {verdict.order for verdict in verdicts} == {"ab", "ba"}
    if target == "label":
        shares = np.eye(len(classes))[[classes.index(pair.label) for pair in wanted]]
        stated = stated.at([pair.item_id for pair in wanted])
        return Cases(stated.items, stated.values, shares, tuple(pair.cluster for pair in wanted), None, both)
    votes = (matchup_votes(wanted)[0] if target == "matchups" else votes_of_pairs(wanted)).only(classes).voted()
    counts = votes.counts
    values = aligned(votes, stated.at(votes.items))
    return Cases(votes.items, values, counts / counts.sum(1, keepdims=True), votes.clusters, counts.sum(1), both)


def _stated_or_scored(
    verdicts: Sequence[Verdict], pairs: Sequence[PreferencePair], matchups: bool
) -> ClassProbabilities:
    """`stated_probabilities`, or the Bradley-Terry reading of score differences where there are only scores."""
    if not all(verdict.p_a is None and verdict.score_a is not None for verdict in verdicts):
        return stated_probabilities(verdicts, pairs, matchups)
    gaps: dict[str, list[float]] = {}
    for verdict in verdicts:
        if verdict.score_a is not None and verdict.score_b is not None:
            gaps.setdefault(verdict.item_id, []).append(verdict.score_a - verdict.score_b)
    if missing := [pair for pair in pairs if pair.item_id not in gaps]:
        raise ValueError(f"{missing[0].where}: no score of {verdicts[0].judge}")
    odds = np.array([np.mean(gaps[pair.item_id]) for pair in pairs])
    first = 1 / (1 + np.exp(-np.clip(odds, -500, 500)))
    values = np.column_stack([first, 1 - first, np.zeros(len(odds))])
    return ClassProbabilities(tuple(pair.item_id for pair in pairs), values)
