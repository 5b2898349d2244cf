"""Stated probabilities beside the shares of people, and how far apart they are, with intervals clustered by prompt.

Binned measures are made of the gaps of cells (the bins that are not empty): share of people minus mean probability.
The plain calibration error is the mean of their absolute values; noise alone makes it positive. The debiased one
is the root of the mean square less what noise adds to it, after Kumar, Liang and Ma (2019), arXiv:1909.10155, and
Broecker (2012), Climate Dynamics 39, with the noise measured between prompts instead of items.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from judgekit.data.votes import ClassProbabilities, aligned, matchup_of, matchup_votes, votes_of_pairs
from judgekit.records import LABELS
from judgekit.scoring import protocol_of
from judgekit.scoring.items import stated_probabilities
from judgekit.scoring.protocols import Pairs, Verdicts
from judgekit.stats import LEVEL, Array, Ends, Floats, Number, mean_interval, proportion_interval, ratio, t_quantile

TARGETS = ("label", "votes", "matchups")
EQUAL = 1e-9  # probabilities this close share the verdict
N_DRAWS, SEED = 1000, 0  # of the noise of cells; fixed, so that a number does not move
FLOOR = 1e-12  # of probabilities in a logarithm, as in judgekit.scoring.metrics


@dataclass(frozen=True, eq=False)
class Cases:
    """Probabilities of a judge and shares of people's votes (one for the label), shape (n_items, n_classes), whose rows
    sum to one; ValueError where one does not."""

    items: tuple[str, ...]
    probabilities: Floats
    shares: Floats
    clusters: tuple[str, ...]  # prompts
    weights: Any = None  # votes behind a row; one each by default
    symmetric: bool = True  # whether the judge says the same when the responses are swapped, as the mean of orders does

    def __post_init__(self) -> None:
        if not self.items:
            raise ValueError("no items: nothing to calibrate")
        for name in ("probabilities", "shares"):
            values = np.asarray(getattr(self, name), float)
            object.__setattr__(self, name, ClassProbabilities(self.items, values, LABELS[: values.shape[-1]]).values)
        weights = np.ones(len(self.items)) if self.weights is None else np.asarray(self.weights, float)
        object.__setattr__(self, "weights", weights)

    @cached_property
    def cluster_index(self) -> Array:
        """The number of every item's prompt."""
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
        return replace(self, probabilities=probabilities)


def cases_of(name: str, pairs: Pairs, verdicts: Verdicts, target: str = "label") -> Cases:
    """A judge's probabilities on a set beside its labels or its votes, of the items that have them.

    On a set without ties, probabilities are those given that there is none. A judge that states none but scores single
    responses is read by the difference of the scores, the log odds that it was trained to be. ``target``: ``label``;
    ``votes``: shares weighted by their number; ``matchups``: those of all votes on what is compared, whichever side it
    is on (MT-bench). ValueError where no item has the target, or the judge states nothing of an item.
    """
    if target not in TARGETS:
        raise ValueError(f"target {target!r} is not one of {', '.join(TARGETS)}")
    try:
        classes = LABELS if "tie" in protocol_of(name).labels else LABELS[:2]
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


def _stated_or_scored(verdicts: Verdicts, pairs: Pairs, matchups: bool) -> ClassProbabilities:
    """`stated_probabilities`, or the Bradley-Terry reading of score differences where there are only scores."""
    if not all(verdict.p_a is None and verdict.score_a is not None for verdict in verdicts):
        return stated_probabilities(verdicts, pairs, matchups)
    items = {pair.item_id: matchup_of(pair) if matchups else (pair.item_id, False) for pair in pairs}
    scored, gaps = set(), dict[str, list[float]]()
    for one in verdicts:
        if one.item_id in items and one.score_a is not None and one.score_b is not None:
            scored.add(one.item_id)
            key, turned = items[one.item_id]
            gaps.setdefault(key, []).append((one.score_a - one.score_b) * (-1 if turned else 1))
    if missing := [pair for pair in pairs if pair.item_id not in scored]:
        raise ValueError(f"{missing[0].where}: no score of {verdicts[0].judge}")
    odds = np.array([np.mean(gap) for gap in gaps.values()])
    first = 1 / (1 + np.exp(-np.clip(odds, -500, 500)))
    values = np.column_stack([first, 1 - first, np.zeros(len(odds))])
    return ClassProbabilities(tuple(gaps), values)


def _error(sums: Floats) -> float:
    """Standard error of a sum over prompts, from its centred parts; infinite for one prompt."""
    return float(np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum())) if len(sums) > 1 else np.inf


@dataclass(frozen=True, eq=False)
class Cells:
    """Gaps of cells; each property is a value with the low and the high end of its interval."""

    weight: Floats  # share of the items, (n_cells,)
    gap: Floats  # mean residual
    noise: Floats  # covariance of the gaps over prompts
    by_prompt: Floats  # centred influence of every prompt on the weighted mean square

    @property
    def square(self) -> Ends:
        """Weighted mean square of the true gaps: unbiased, so it may be negative. The variance is that of a quadratic
        form in normal gaps, kept above its value for no gaps."""
        value = float(self.weight @ self.gap**2) - float(self.weight @ np.diag(self.noise))
        form = np.sqrt(np.outer(self.weight, self.weight)) * self.noise
        null = 2 * float((form**2).sum())
        spread = np.sqrt(max(_error(self.by_prompt) ** 2 - null, null))
        half = t_quantile((1 + LEVEL) / 2, n - 1) * spread if (n := len(self.by_prompt)) > 1 else np.inf
        return value, value - half, value + half

    @property
    def root(self) -> Ends:
        """Root mean square of the true gaps, none below zero: near zero the square is close to its limit, far from zero
        the root is, and the interval holds both of theirs."""
        value, low, high = self.square
        root = np.sqrt(max(0.0, value))
        aside = (high - value) / (2 * root) if root else 0.0
        return float(root), float(np.sqrt(max(0.0, low))), float(max(np.sqrt(max(0.0, high)), root + aside))

    @property
    def absolute(self) -> Ends:
        """Weighted mean of absolute gaps, which differ from true ones by no more than their noise."""
        value = float(self.weight @ np.abs(self.gap))
        levels, axes = np.linalg.eigh(self.noise)
        normal = np.random.default_rng(SEED).standard_normal((N_DRAWS, len(levels)))
        drawn = np.abs(normal * np.sqrt(np.maximum(levels, 0)) @ axes.T) @ self.weight
        few = t_quantile((1 + LEVEL) / 2, len(self.by_prompt) - 1) / ndtri((1 + LEVEL) / 2)
        half = float(np.quantile(drawn, LEVEL) * few)
        return value, max(0.0, value - half), value + half


def verdict_cells(cases: Cases, n_bins: int) -> Cells:
    """Cells of equal mass of the verdict's probability: whether people say what the judge says as often as stated."""
    edges = np.unique(np.quantile(cases.confidence, np.linspace(0, 1, n_bins + 1)[1:-1]))
    bins = np.searchsorted(edges, cases.confidence, side="right")
    residuals, prompt = cases.hits - cases.confidence, cases.cluster_index
    sums, counts = (
        np.bincount(prompt * n_bins + bins, part, cases.n_prompts * n_bins).reshape(-1, n_bins)
        for part in (cases.weights * residuals, cases.weights)
    )
    sums, counts = (table[:, counts.any(0)] for table in (sums, counts))
    size = counts.sum(0)
    gap, weight = sums.sum(0) / size, size / cases.weights.sum()
    apart = sums - gap * counts
    # A cell that few prompts share is measured by fewer differences than there are prompts in all.
    prompts = np.maximum(size**2 / (counts**2).sum(0), 2)
    scaled = apart / size * np.sqrt(prompts / (prompts - 1))
    own = (2 * apart @ gap + counts @ gap**2) / cases.weights.sum()
    by_prompt = own - float(weight @ gap**2) * counts.sum(1) / counts.sum()
    return Cells(weight, gap, scaled.T @ scaled, by_prompt)


def measures(cases: Cases, n_bins: int = 10) -> dict[str, Number]:
    """How far a judge's probabilities can be believed, in these measures.

    ``ece`` (mean absolute gap) and ``ece_debiased`` (root mean square gap, debiased), in bins of equal mass;
    ``overconfidence``, mean ``confidence`` less mean ``hit_rate``; with ties ``tie_excess``, their mean probability
    less their share; ``nll`` in nats; ``brier`` (per vote).
    """
    cells = verdict_cells(cases, n_bins)
    columns = {
        "overconfidence": cases.confidence - cases.hits,
        "confidence": cases.confidence,
        "hit_rate": cases.hits,
        "brier": ((cases.probabilities - cases.shares) ** 2 + cases.shares * (1 - cases.shares)).sum(1),
        "nll": log_losses(cases),
    }
    if cases.n_classes == 3:
        columns["tie_excess"] = cases.probabilities[:, 2] - cases.shares[:, 2]
    ends = {"ece": cells.absolute, "ece_debiased": cells.root}
    for name, values in columns.items():
        ends[name] = mean_interval(values, cases.weights, cases.cluster_index, proportion=name == "hit_rate")
    return {name: number(one, cases) for name, one in ends.items()}


def number(ends: Ends, cases: Cases, spec: str = ".3f") -> Number:
    """A `Number` of value, low and high; without an interval where the ends are infinite. Rates stay in [0, 1]."""
    value, low, high, n = *ends, len(cases.items)
    low, high = (max(low, 0.0), min(high, 1.0)) if spec.endswith("%") and np.isfinite(high) else (low, high)
    return Number(value, low, high, n, spec) if np.isfinite(high) else Number(value, n=n, spec=spec)


def log_losses(cases: Cases) -> Floats:
    """Cross entropy of people's shares against the judge's probabilities, per item, in nats."""
    return -(cases.shares * np.log(np.maximum(cases.probabilities, FLOOR))).sum(1)


def paired(cases: Cases, other: Cases) -> Number:
    """Mean difference in log loss on the same rows, ``other`` less ``cases``; ValueError where the rows differ."""
    if cases.items != other.items or not np.array_equal(cases.shares, other.shares):
        raise ValueError("the two are not about the same items and votes")
    change = log_losses(other) - log_losses(cases)
    return number(mean_interval(change, cases.weights, cases.cluster_index), cases)


def reliability_table(cases: Cases, n_bins: int = 10) -> pd.DataFrame:
    """The diagram, a row per bin of equal width that is not empty: columns confidence, accuracy, low, high, count.
    Intervals are Wilson's, at the number of independent items that the spread between prompts amounts to."""
    places, rows = np.searchsorted(np.linspace(0, 1, n_bins + 1)[1:-1], cases.confidence, side="right"), []
    for place in np.unique(places):
        here = cases.at(places == place)
        share = here.weights / here.weights.sum()
        hit, stated = float(share @ here.hits), float(share @ here.confidence)
        error = _error(np.asarray(np.bincount(here.cluster_index, share * (here.hits - hit)), float))
        prompts = 1 / (np.bincount(here.cluster_index, share) ** 2).sum()
        worth = float(ratio(hit * (1 - hit), error**2)) if np.isfinite(error) else 1.0
        low, high = proportion_interval(hit, min(max(worth, 1.0), here.weights.sum()) if worth else prompts)
        rows.append((stated, hit, low, high, len(here.items)))
    return pd.DataFrame(rows, columns=["confidence", "accuracy", "low", "high", "count"])
