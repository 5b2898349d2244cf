r"""The alternative annotator test: may a judge stand in for one of the people?

Each annotator in turn is left out, and the judge and that annotator are held against the others on the items that he
or she labelled. Calderon, Reichart and Dror (2025), arXiv:2501.10970, with standard errors that know which items come
from one prompt.
"""

from dataclasses import dataclass, replace

import numpy as np

from judgekit.data.votes import positions
from judgekit.people.consensus.clustered import cluster_means, share_interval
from judgekit.records import LABELS
from judgekit.stats import Number, cluster_sums, holm, t_quantile

MIN_ANNOTATORS, MIN_ITEMS = 3, 30  # as the paper wants
MIN_CLUSTERS = 15  # prompts, below which clustered errors are too small in simulations
LEVEL, POWER = 0.05, 0.8


class TooFewVotes(ValueError):
    """There is not enough for the test to mean anything."""


@dataclass(frozen=True, slots=True, eq=False)
class Duels:
    """Who is nearer to the others, the judge or the annotator who is left out.

    Attributes
    ----------
    annotators : tuple of str
        Those with enough items.
    judge, human : array of float, shape (n_items, n_annotators)
        One where the judge (the annotator) is at least as near to the others as its rival, else zero; zero also where
        there is no duel.
    held : array of bool, shape (n_items, n_annotators)
        Where the annotator and somebody else voted.
    clusters : tuple of str, length n_items
    """

    annotators: tuple[str, ...]
    judge: np.ndarray
    human: np.ndarray
    held: np.ndarray
    clusters: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AltTest:
    """The outcome for one judge on one set.

    Attributes
    ----------
    epsilon : float
        What an annotator's cost is worth, as a probability.
    advantage : judgekit.report.Number
        Mean over annotators of the probability that the judge is at least as near to the others as the annotator; n is
        the number of items. The annotators are taken as they are, the prompts as drawn.
    winning_rate : float
        Share of annotators whom the judge beats, with false discoveries held at 5 %.
    passes : bool
        Whether that is at least half.
    p_value : float
        Of the hypothesis that fewer than half of the annotators are beaten, valid whatever their dependence; for
        corrections over judges and sets.
    detectable : float
        How far the judge must truly be above the bar to beat the median annotator with 80 % power, alone.
    annotators : tuple of dict
        Of each: annotator, n, judge and human (probabilities), margin (judge - human + epsilon), p_value, adjusted,
        beaten.
    """

    epsilon: float
    advantage: Number
    winning_rate: float
    passes: bool
    p_value: float
    detectable: float
    annotators: tuple


def nearness(classes=LABELS, scale=None):
    """How near two labels are: equal or not, or minus their squared distance on a scale.

    Parameters
    ----------
    classes : sequence of str
    scale : array of float, shape (n_classes,), optional
        The number that each class is. The mean over annotators of what is returned then ranks labels as minus the root
        mean squared error does.

    Returns
    -------
    array of float, shape (n_classes, n_classes)
    """
    if scale is None:
        return np.eye(len(classes))
    scale = np.asarray(scale, float)
    return -((scale[:, None] - scale) ** 2)


def hold_duels(votes, said, near=None, min_items=MIN_ITEMS, min_clusters=MIN_CLUSTERS):
    """Hold the judge and each annotator against the other annotators.

    Parameters
    ----------
    votes : judgekit.data.votes.Votes
    said : dict of str to str
        Item to the judge's label. Items with a single vote need none.
    near : array, shape (n_classes, n_classes), optional
        From `nearness`; equality by default.
    min_items, min_clusters : int
        Annotators with fewer items (or prompts) that somebody else labelled too are not tried; they remain among the
        others.

    Returns
    -------
    Duels

    Raises
    ------
    TooFewVotes
        If fewer than three annotators can be tried; the message says how many items they have.
    ValueError
        If the judge lacks an item or names no class.
    """
    votes = votes.at(votes.given.sum(1) >= 2)
    labels = judge_codes(votes, said)
    near = nearness(votes.classes) if near is None else np.asarray(near, float)
    given = votes.given
    own = np.where(given, votes.codes, 0)
    # Nearness of every class to all votes on an item; a vote's own share is taken off for the annotator left out.
    to_all = votes.counts @ near.T
    rows = np.arange(len(labels))
    human = np.take_along_axis(to_all, own, 1) - near[own, own]
    judge = to_all[rows, labels][:, None] - near[labels[:, None], own]
    n_items = given.sum(0)
    n_clusters = (cluster_sums(given, votes.clusters) > 0).sum(0) if len(given) else n_items
    tried = np.flatnonzero((n_items >= min_items) & (n_clusters >= min_clusters))
    if len(tried) < MIN_ANNOTATORS:
        most = ", ".join(f"{votes.annotators[j]} {n_items[j]}" for j in np.argsort(-n_items, kind="stable")[:3])
        raise TooFewVotes(
            f"{len(tried)} annotators have {min_items} shared items from {min_clusters} prompts, and "
            f"{MIN_ANNOTATORS} are needed; the most have: {most or 'none'}"
        )
    held = given[:, tried]
    won, kept = ((a >= b - 1e-12)[:, tried] & held for a, b in ((judge, human), (human, judge)))
    return Duels(tuple(votes.annotators[j] for j in tried), won * 1.0, kept * 1.0, held, votes.clusters)


def judge_codes(votes, said):
    """The judge's labels as classes, in the order of the items."""
    if missing := [item for item in votes.items if item not in said]:
        raise ValueError(f"{missing[0]}: the judge has no label")
    labels = [said[item] for item in votes.items]
    if odd := [(item, label) for item, label in zip(votes.items, labels, strict=True) if label not in votes.classes]:
        raise ValueError(f"{odd[0][0]}: the judge says {odd[0][1]!r}, which is none of {', '.join(votes.classes)}")
    return np.array(positions(labels, votes.classes, "class"), int)


def advantage_of(duels):
    """The mean over annotators of the judge's advantage probability.

    Returns
    -------
    judgekit.report.Number
        Interval by prompts (`judgekit.people.consensus.clustered.share_interval`).
    """
    means, parts, _ = cluster_means(duels.judge, duels.held, duels.clusters)
    low, high = share_interval(float(means.mean()), parts.mean(1))
    return Number(float(means.mean()), low, high, n=len(duels.held), spec=".2f")


def alt_test(duels, epsilon=0.2, level=LEVEL):
    r"""Whether the judge may stand in for the annotators.

    Parameters
    ----------
    duels : Duels
    epsilon : float
        In [0, 1). The paper takes 0.2 for experts, 0.15 for skilled annotators, 0.1 for crowds.
    level : float
        False discovery rate over annotators.

    Returns
    -------
    AltTest

    Raises
    ------
    ValueError
        If epsilon is out of range.

    Notes
    -----
    With :math:`\rho^f_j` and :math:`\rho^h_j` the probabilities that the judge, and annotator j, is at least as near to
    the others, the hypothesis tried for each j is :math:`\rho^f_j \le \rho^h_j - \varepsilon`, by a one-sided paired t
    test of the mean difference; here its standard error is clustered by prompt. Benjamini and Yekutieli (2001), Annals
    of Statistics 29, over annotators. The p-value of the set is the partial conjunction of Benjamini and Heller (2008),
    Biometrics 64: with u the smallest half of m annotators, (m - u + 1) times the u-th smallest p-value.
    """
    if not 0 <= epsilon < 1:
        raise ValueError(f"epsilon is {epsilon}, which is not in [0, 1)")
    from scipy.special import stdtr
    from scipy.stats import false_discovery_control

    margins, parts, sizes = cluster_means(duels.judge - duels.human, duels.held, duels.clusters)
    margins, errors = margins + epsilon, np.sqrt((parts**2).sum(0))
    # Where nothing varies, a margin is as sure as it looks: none at all is a failure.
    t = np.where(margins > 0, np.inf, -np.inf)
    np.divide(margins, errors, out=t, where=errors > 0)
    p_values = np.maximum(stdtr(sizes - 1, -t), np.finfo(float).tiny)
    adjusted = false_discovery_control(p_values, method="by")
    beaten = adjusted <= level
    m = len(p_values)
    u = -(-m // 2)
    needed = [(t_quantile(1 - level, s - 1) + t_quantile(POWER, s - 1)) * e for s, e in zip(sizes, errors, strict=True)]
    rates = [cluster_means(part, duels.held, duels.clusters)[0] for part in (duels.judge, duels.human)]
    columns = (duels.annotators, duels.held.sum(0), *rates, margins, p_values, adjusted, beaten)
    names = ("annotator", "n", "judge", "human", "margin", "p_value", "adjusted", "beaten")
    return AltTest(
        epsilon=epsilon,
        advantage=advantage_of(duels),
        winning_rate=float(beaten.mean()),
        passes=bool(beaten.mean() >= 0.5),
        p_value=float(min(1.0, (m - u + 1) * np.sort(p_values)[u - 1])),
        detectable=float(np.median(needed)),
        annotators=tuple(dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)),
    )


def as_if_independent(duels):
    """The duels with prompts forgotten: the paper's own standard errors, to show what they would have said."""
    return replace(duels, clusters=tuple(str(i) for i in range(len(duels.clusters))))


def alt_test_table(contests, epsilons=(0.0, 0.1, 0.2), level=LEVEL):
    """The test of many judges on many sets, at several prices of an annotator.

    Parameters
    ----------
    contests : dict of (str, str) to Duels
        By set and judge.
    epsilons : sequence of float
    level : float

    Returns
    -------
    pandas.DataFrame
        Columns set, judge, epsilon, advantage, low, high, winning_rate, passes, p_value, p_holm, detectable,
        annotators, n. Holm's correction is over all judges and sets at one epsilon.
    """
    import pandas as pd

    tables = []
    for epsilon in epsilons:
        found = {key: alt_test(duels, epsilon, level) for key, duels in contests.items()}
        adjusted = holm([outcome.p_value for outcome in found.values()])
        tables += [
            {
                "set": name,
                "judge": judge,
                "epsilon": epsilon,
                "advantage": outcome.advantage.value,
                "low": outcome.advantage.low,
                "high": outcome.advantage.high,
                "winning_rate": outcome.winning_rate,
                "passes": outcome.passes,
                "p_value": outcome.p_value,
                "p_holm": p_holm,
                "detectable": outcome.detectable,
                "annotators": len(outcome.annotators),
                "n": outcome.advantage.n,
            }
            for ((name, judge), outcome), p_holm in zip(found.items(), adjusted, strict=True)
        ]
    return pd.DataFrame(tables)
