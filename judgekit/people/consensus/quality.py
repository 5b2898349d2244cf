"""How good each annotator is, held against the others only."""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import betaincinv, betaln

from judgekit.scoring.scores import N_BOOT
from judgekit.stats import LEVEL, Number, cluster_bootstrap, cluster_sums, share_of

MEANS = np.linspace(0.02, 0.98, 33)  # of the population of annotators: grid of the empirical Bayes prior
WEIGHTS = np.geomspace(1, 1000, 31)  # votes that the prior counts for


def credits_of(votes):
    """What each vote earns against the majority of the other votes on its item.

    Parameters
    ----------
    votes : Votes

    Returns
    -------
    array of float, shape (n_items, n_annotators)
        1 where the vote is what most others say, ``1 / m`` where m classes are in front among the others and it is
        one of them, 0 where it is none; NaN without a vote, or without another one. An annotator is no part of what
        it is held against.

    Examples
    --------
    >>> from judgekit.data.votes import Votes
    >>> credits_of(Votes(("i", "j"), ("ann", "bob", "cat"), [[0, 0, 1], [2, -1, -1]]))
    array([[0.5, 0.5, 0. ],
           [nan, nan, nan]])
    """
    own = votes.codes[:, :, None] == np.arange(len(votes.classes))
    others = votes.counts[:, None, :] - own
    front = others == others.max(2, keepdims=True)
    earned = (front & own).sum(2) / front.sum(2)
    return np.where(votes.given & (others.sum(2) > 0), earned, np.nan)


@dataclass(frozen=True, eq=False)
class Skills:
    """Rates of annotators with intervals, in the order of `names`.

    Attributes
    ----------
    names : tuple of str
    n : array of int
        Votes that others' votes could be held against.
    rate, low, high : array of float
        Agreement with the others' majority and its interval.
    shrunk, shrunk_low, shrunk_high : array of float
        The same, drawn towards the mean of all annotators, the more the fewer votes there are.
    design : array of float
        Variance of a rate over what independent votes would give.
    """

    names: tuple
    n: np.ndarray
    rate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    shrunk: np.ndarray
    shrunk_low: np.ndarray
    shrunk_high: np.ndarray
    design: np.ndarray

    def numbers(self, shrunk=True):
        """Annotator to `Number`, best first."""
        parts = (self.shrunk, self.shrunk_low, self.shrunk_high) if shrunk else (self.rate, self.low, self.high)
        rows = sorted(zip(self.names, self.n, *parts, strict=True), key=lambda row: (-row[2], row[0]))
        return {name: Number(value, low, high, n=int(n), spec=".1%") for name, n, value, low, high in rows}


def annotator_quality(votes, clustered=True, shrink=True):
    r"""Agreement of every annotator with the majority of the others.

    Parameters
    ----------
    votes : Votes
    clustered : bool
        Whether votes on one prompt go together; False is wrong where they do, and kept to show it.
    shrink : bool
        Whether to estimate the shrunken rates too; otherwise they are the plain ones.

    Returns
    -------
    Skills
        Annotators whose votes meet no other vote are left out.

    Raises
    ------
    ValueError
        If no vote meets another.

    Notes
    -----
    Votes on one prompt are correlated by :math:`\rho`, pooled over annotators; a rate of :math:`n` votes then counts as
    one of :math:`n_e = n / (1 + \rho (\sum_c n_c^2 / n - 1))` independent ones. Intervals are Clopper and Pearson's at
    :math:`n_e` (Korn and Graubard 1998, Survey Methodology 24): conservative. The shrunken rate is the posterior mean
    under a Beta prior for the population of annotators, its mean and its spread integrated over a grid; the interval
    is that of a Beta distribution with the posterior's mean and variance, to which `shared_variance` is added: prompts
    on which everybody agrees move all annotators together, and no shrinking takes that away. A shrunken interval holds
    the truth in 95 % of annotators, not for each of them: whoever is far off the others is drawn towards them.
    """
    credits = credits_of(votes)
    met = ~np.isnan(credits)
    if not met.any():
        raise ValueError("no vote meets another: annotators cannot be held against each other")
    kept = met.any(0)
    credits, met = credits[:, kept], met[:, kept]
    n = met.sum(0)
    rate = np.nansum(credits, 0) / n
    squares = (cluster_sums(met, votes.clusters) ** 2).sum(0)
    rho = prompt_correlation(credits, met, rate, votes.clusters, squares) if clustered else 0.0
    design = 1 + rho * (squares / n - 1)
    effective = n / design
    low, high = exact_interval(rate * effective, effective)
    shared = shared_variance(credits, met, rate, votes.clusters) if clustered else 0.0
    shrunk = shrunken(rate * effective, effective, shared) if shrink else (rate, low, high)
    names = tuple(name for name, keep in zip(votes.annotators, kept, strict=True) if keep)
    return Skills(names, n, rate, low, high, *shrunk, design)


def prompt_correlation(credits, met, rate, clusters, squares):
    """Correlation of an annotator's credits within a prompt, pooled over annotators, at least 0.

    Residuals are about an annotator's own mean, which takes part of their correlation away: given back with the
    correlation of a first pass.
    """
    residual = np.where(met, credits - rate, 0.0)
    n = met.sum(0)
    pairs = squares - n
    if not pairs.sum():
        return 0.0
    products = ((cluster_sums(residual, clusters) ** 2).sum(0) - (residual**2).sum(0)).sum()
    variance = (residual**2).sum(0) / np.maximum(n - 1, 1)
    rho = 0.0
    for _ in range(3):
        lost = variance * (1 + rho * (squares / n - 1)) / n
        rho = max(0.0, (products + (lost * pairs).sum()) / max((variance * pairs).sum(), 1e-12))
    return min(rho, 1.0)


def shared_variance(credits, met, rate, clusters):
    """Variance of what the prompts add to the rates of all annotators alike, at least 0, shape (n_annotators,).

    The mean covariance of an annotator's rate with those of the others, from products of residuals within prompts.
    """
    residual = cluster_sums(np.where(met, credits - rate, 0.0), clusters)
    n = met.sum(0)
    if len(n) < 2:
        return np.zeros(len(n))
    spread = np.sqrt(np.maximum(rate * (1 - rate), 1e-6))
    votes = cluster_sums(met, clusters)
    weights = votes * spread
    between = ((residual.sum(1) ** 2).sum() - (residual**2).sum()) / max(
        (weights.sum(1) ** 2).sum() - (weights**2).sum(), 1e-12
    )
    together = votes.T @ votes / np.outer(n, n) * np.outer(spread, spread)
    return max(0.0, between) * (together.sum(0) - np.diag(together)) / (len(n) - 1)


def exact_interval(hits, n, level=LEVEL):
    """Clopper and Pearson's interval for hits of n, which need not be whole: low, high."""
    tail = (1 - level) / 2
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1e-9), n - hits + 1, tail), 0.0)
    high = np.where(hits < n, betaincinv(hits + 1, np.maximum(n - hits, 1e-9), 1 - tail), 1.0)
    return low, high


def shrunken(hits, n, shared=0.0, level=LEVEL):
    """Posterior means and intervals of rates that come from one population: value, low, high, each (n_annotators,).

    ``shared`` is variance that the rates have in common, which the mean of the population does not know of.
    """
    mean, weight = (grid.ravel()[:, None] for grid in np.meshgrid(MEANS, WEIGHTS, indexing="ij"))
    a, b = mean * weight, (1 - mean) * weight
    fit = (betaln(a + hits, b + n - hits) - betaln(a, b)).sum(1)
    share = np.exp(fit - fit.max())[:, None] / np.sqrt(weight)  # every standard deviation of the population alike
    share /= share.sum()
    means = (a + hits) / (weight + n)
    value = (share * means).sum(0)
    variance = (share * (means * (1 - means) / (weight + n + 1) + (means - value) ** 2)).sum(0)
    size = np.maximum(value * (1 - value) / (variance + shared) - 1, 0.5)
    ends = (betaincinv(value * size, (1 - value) * size, end) for end in ((1 - level) / 2, (1 + level) / 2))
    return value, *ends


def group_quality(votes, groups, n_boot=N_BOOT, seed=0):
    """Agreement of groups of annotators with the majority of everybody else, and the groups' difference.

    Parameters
    ----------
    votes : Votes
    groups : dict of str to list of str
        Group to annotators; the difference is the first group's less the second's.

    Returns
    -------
    dict of str to Number
        By group; and ``difference`` where there are two. ``n`` counts votes; prompts are resampled.

    Raises
    ------
    ValueError
        If a group has no vote that meets another.
    """
    credits = credits_of(votes)
    parts = []
    for name, members in groups.items():
        own = credits[:, [votes.annotators.index(member) for member in members]]
        if np.isnan(own).all():
            raise ValueError(f"{name}: no vote meets another")
        parts.append(np.stack([np.nansum(own, 1), (~np.isnan(own)).sum(1)], 1))
    sums = cluster_sums(np.stack(parts, 1), votes.clusters)
    found = {}
    for place, name in enumerate(groups):
        value, low, high = cluster_bootstrap(sums[:, place], share_of, n_boot, seed)
        found[name] = Number(value, low, high, n=int(sums[:, place, 1].sum()), spec=".1%")
    if len(groups) == 2:
        value, low, high = cluster_bootstrap(
            sums, lambda s: share_of(s[..., 0, :]) - share_of(s[..., 1, :]), n_boot, seed
        )
        found["difference"] = Number(value, low, high, n=int(sums[..., 1].sum()), spec=".1%")
    return found


def quality_table(skills):
    """Annotators as a tidy table, best first.

    Parameters
    ----------
    skills : Skills

    Returns
    -------
    pandas.DataFrame
        Columns ``annotator``, ``group`` (the name before its number: ``expert`` and ``author`` on MT-bench), ``n``,
        ``rate``, ``low``, ``high``, ``shrunk``, ``shrunk_low``, ``shrunk_high``.
    """
    parts = ("n", "rate", "low", "high", "shrunk", "shrunk_low", "shrunk_high")
    table = pd.DataFrame({"annotator": skills.names} | {part: getattr(skills, part) for part in parts})
    table.insert(1, "group", [re.sub(r"[-_#\s]*\d+$", "", name) + "s" for name in skills.names])
    return table.sort_values(["shrunk", "annotator"], ascending=[False, True], kind="stable").reset_index(drop=True)
