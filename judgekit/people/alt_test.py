"""The alternative annotator test: each annotator in turn is left out, and compared with the others beside the judge.

Calderon, Reichart and Dror (2025), arXiv:2501.10970, with standard errors that know which items come from one prompt.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtr
from scipy.stats import false_discovery_control

from judgekit.data.votes import Votes
from judgekit.stats import POWER, Array, Floats, Number, cluster_sums, odds_interval, proportion_interval, t_quantile

MIN_ANNOTATORS, MIN_ITEMS = 3, 30  # as the paper wants
MIN_CLUSTERS = 15  # prompts, below which clustered errors are too small in simulations
LEVEL = 0.05  # false discovery rate over annotators


class TooFewVotes(ValueError):
    """There is not enough for the test to mean anything."""


class Duels(NamedTuple):
    """Who is nearer to the others, shape (n_items, n_annotators), of annotators with enough items: one where the
    ``judge`` (the ``human``) is at least as near as its rival; ``shared``: where the annotator and another voted."""

    annotators: tuple[str, ...]
    judge: Floats
    human: Floats
    shared: Array
    clusters: tuple[str, ...]


class AltTest(NamedTuple):
    """The outcome for one judge on one set."""

    advantage: Number  # mean over annotators of the probability that the judge is at least as near to the others
    winning_rate: float  # share of annotators whom the judge beats
    passes: bool  # whether it is at least half
    p_value: float  # of fewer than half being beaten, valid whatever their dependence
    detectable: float  # how far above the bar a judge beats the median annotator, like all, with 80 % power
    annotators: pd.DataFrame  # annotator, n, judge, human, margin (judge - human + epsilon), p_value, adjusted, beaten


def hold_duels(votes: Votes, labels: Mapping[str, str], scale: Array | None = None) -> Duels:
    """Compare the judge (its labels by item) and each annotator with the other annotators.

    Nearness is minus the squared distance on a ``scale`` (the number that each class is), whose means rank labels as
    minus the root mean squared error does; without one, equality. Annotators with fewer than 30 items, or 15 prompts,
    that somebody else labelled too are not tried, but remain among the others. TooFewVotes where fewer than three can
    be tried; ValueError where the judge lacks an item or a class.
    """
    votes = votes.at(votes.given.sum(1) >= 2)
    for item in votes.items:
        if item not in labels:
            raise ValueError(f"{item}: the judge has no label")
        if labels[item] not in votes.classes:
            raise ValueError(f"{item}: the judge says {labels[item]!r}, which is none of {', '.join(votes.classes)}")
    codes = np.array([votes.classes.index(labels[item]) for item in votes.items], int)
    near = np.eye(len(votes.classes)) if scale is None else -(np.subtract.outer(scale, scale) ** 2.0)
    given = votes.given
    own = np.where(given, votes.codes, 0)
    # Nearness of every class to all votes on an item; a vote's own share is taken off for the annotator left out.
    to_all = votes.counts @ near.T
    human = np.take_along_axis(to_all, own, 1) - near[own, own]
    judge = to_all[np.arange(len(codes)), codes][:, None] - near[codes[:, None], own]
    n_items = given.sum(0)
    n_clusters = (cluster_sums(given, votes.clusters) > 0).sum(0)
    tried = np.flatnonzero((n_items >= MIN_ITEMS) & (n_clusters >= MIN_CLUSTERS))
    if len(tried) < MIN_ANNOTATORS:
        most = ", ".join(f"{votes.annotators[j]} {n_items[j]}" for j in np.argsort(-n_items, kind="stable")[:3])
        raise TooFewVotes(
            f"{len(tried)} annotators have {MIN_ITEMS} shared items from {MIN_CLUSTERS} prompts, and "
            f"{MIN_ANNOTATORS} are needed; the most have: {most or 'none'}"
        )
    shared = given[:, tried]
    by_judge, by_human = (
        ((a >= b - 1e-12)[:, tried] & shared).astype(float) for a, b in ((judge, human), (human, judge))
    )
    return Duels(tuple(votes.annotators[j] for j in tried), by_judge, by_human, shared, votes.clusters)


def _cluster_means(values: Array, shared: Array, clusters: Sequence) -> tuple[Floats, Floats, Array]:
    """Column means of values over shared cells; linearised error of each by prompt, shape (n_prompts, n_annotators),
    whose sum of squares is the variance; and the prompts that each column has."""
    counts, sums = cluster_sums(shared, clusters), cluster_sums(values, clusters)
    total, sizes = counts.sum(0), (counts > 0).sum(0)
    means = sums.sum(0) / total
    return means, (sums - counts * means) / total * np.sqrt(sizes / np.maximum(sizes - 1, 1)), sizes


def advantage_of(duels: Duels) -> Number:
    """The mean over annotators of the judge's advantage probability, with its interval by prompts on the scale of log
    odds: with fewer than some thirty a share far from a half is skewed. Wilson's where nothing varies."""
    means, parts, _ = _cluster_means(duels.judge, duels.shared, duels.clusters)
    value, error = float(means.mean()), float(np.sqrt((parts.mean(1) ** 2).sum()))
    if error and 0 < value < 1:
        low, high = odds_interval(value, error, len(parts) - 1)
    else:
        low, high = proportion_interval(value, len(parts))
    return Number(value, float(low), float(high), n=len(duels.shared), spec=".2f")


def alt_test(duels: Duels, epsilon: float = 0.2) -> AltTest:
    """Whether the judge may stand in for the annotators.

    ``epsilon``: what an annotator's cost is worth, as a probability in [0, 1): 0.2 for experts, 0.15 for skilled
    annotators, 0.1 for crowds in the paper. A one-sided paired t test for each annotator, clustered by prompt;
    Benjamini and Yekutieli (2001), Annals of Statistics 29, over annotators; the set's p-value is the partial
    conjunction of Benjamini and Heller (2008), Biometrics 64.
    """
    if not 0 <= epsilon < 1:
        raise ValueError(f"epsilon is {epsilon}, which is not in [0, 1)")
    margins, parts, sizes = _cluster_means(duels.judge - duels.human, duels.shared, duels.clusters)
    margins, errors = margins + epsilon, np.sqrt((parts**2).sum(0))
    # Where nothing varies, a margin is as sure as it looks: none at all is a failure.
    t = np.where(margins > 0, np.inf, -np.inf)
    np.divide(margins, errors, out=t, where=errors > 0)
    p_values = np.maximum(stdtr(sizes - 1, -t), np.finfo(float).tiny)
    adjusted = false_discovery_control(p_values, method="by")
    beaten, m = adjusted <= LEVEL, len(p_values)
    u = -(-m // 2)
    level = LEVEL / (1 / np.arange(1, m + 1)).sum()  # of Benjamini and Yekutieli, where every annotator is beaten
    needed = (t_quantile(1 - level, sizes - 1) + t_quantile(POWER, sizes - 1)) * errors
    judge, human = (_cluster_means(part, duels.shared, duels.clusters)[0] for part in (duels.judge, duels.human))
    rows = {"annotator": duels.annotators, "n": duels.shared.sum(0), "judge": judge, "human": human, "margin": margins}
    return AltTest(
        advantage=advantage_of(duels),
        winning_rate=float(beaten.mean()),
        passes=bool(beaten.mean() >= 0.5),
        p_value=float(min(1.0, (m - u + 1) * np.sort(p_values)[u - 1])),
        detectable=float(np.median(needed)),
        annotators=pd.DataFrame(rows | {"p_value": p_values, "adjusted": adjusted, "beaten": beaten}),
    )
