"""What each member of a jury adds, and how far members err together."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from judgekit.records import Verdict
from judgekit.scoring import N_BOOT, compare
from judgekit.stats import (
    Array,
    Floats,
    Number,
    cluster_bootstrap,
    cluster_sums,
    percentile_interval,
    ratio,
    resampled_sums,
)
from judgekit.studies.jury.panel import Panel


def accuracy_of(panel: Panel, verdicts: Sequence[Verdict], n_boot: int = N_BOOT, seed: int = 0) -> Number:
    """The panel's primary figure for verdicts on its pairs, as `judgekit.scoring.score` gives it."""
    return mean_of(panel.credits_of(verdicts), panel.clusters, n_boot, seed)


def ceiling_of(panel: Panel, n_boot: int = N_BOOT, seed: int = 0) -> Number:
    """What a jury would earn that always followed whichever member is right.

    No rule that follows one of its members on every item can earn more; a tie that nobody said, and a negative weight,
    follow nobody.
    """
    return mean_of(panel.credits.max(1), panel.clusters, n_boot, seed)


def mean_of(values: Array, clusters: Sequence[str], n_boot: int, seed: int) -> Number:
    """Mean of per-item values, the items' prompts being resampled."""
    sums = cluster_sums(np.column_stack([values, np.ones(len(values))]), clusters)
    found = cluster_bootstrap(sums, lambda s: ratio(s[..., 0], s[..., 1]), n_boot, seed)
    return Number(*found, n=len(values), spec=".1%")


def leave_one_out(
    panel: Panel, rule: Callable[[Panel], Sequence[Verdict]], n_boot: int = N_BOOT, seed: int = 0
) -> pd.DataFrame:
    """What each member adds: the jury's score less that of the jury without the member.

    Columns member, contribution (`Number`, paired), p_value. ``rule``: for example `judgekit.studies.jury.majority`.
    ValueError for a panel of one.
    """
    if len(panel.members) < 2:
        raise ValueError(f"{panel.benchmark}: a jury of {len(panel.members)} has nobody to spare")
    whole, rows = rule(panel), []
    for member in panel.members:
        without = rule(panel.seated([other for other in panel.members if other != member]))
        # A smaller jury may have orders that the left-out member lacked; the two are compared on what both have.
        without = [verdict for verdict in without if verdict.order in panel.orders]
        gap = compare(whole, without, panel.pairs, panel.benchmark, panel.protocol, n_boot, seed)
        rows.append((member, gap.difference, gap.p_value))
    return pd.DataFrame(rows, columns=["member", "contribution", "p_value"])


def error_correlations(panel: Panel, n_boot: int = N_BOOT, seed: int = 0) -> pd.DataFrame:
    """Correlation of what every two members earn, item by item: columns judge_a, judge_b, correlation (`Number`).

    In [-1, 1]: 1 where two judges are right on the same items, 0 where the errors of one say nothing of the other's. A
    member who never varies has 0 with everybody.
    """
    sums, rows = product_sums(panel), []
    value, drawn = correlations(sums.sum(0)), correlations(resampled_sums(sums, n_boot, seed))
    for a, b in combinations(range(len(panel.members)), 2):
        number = Number(value[a, b], *percentile_interval(drawn[:, a, b]), n=len(panel.clusters), spec=".2f")
        rows.append((panel.members[a], panel.members[b], number))
    return pd.DataFrame(rows, columns=["judge_a", "judge_b", "correlation"])


def effective_members(panel: Panel, n_boot: int = N_BOOT, seed: int = 0) -> Number:
    """How many independent judges the panel is worth.

    ``k / (1 + (k - 1) r)`` with r the mean correlation of the errors of two of k members: the number of independent
    errors whose mean varies as much (Kish, 1965, Survey Sampling). Errors that offset each other would count for more
    than k; the figure is then k. ValueError for a panel of one.
    """
    k = len(panel.members)
    if k < 2:
        raise ValueError(f"{panel.benchmark}: one member has nobody to be independent of")
    upper = np.triu_indices(k, 1)

    def statistic(sums: Floats) -> Floats:
        return k / (1 + (k - 1) * np.maximum(correlations(sums)[..., *upper].mean(-1), 0))

    found = cluster_bootstrap(product_sums(panel), statistic, n_boot, seed)
    return Number(*found, n=len(panel.clusters), spec=".2f")


def product_sums(panel: Panel) -> Floats:
    """Sums by prompt from which correlations follow: one, the members' credits and products; (n_clusters, k+1, k+1)."""
    values = np.column_stack([np.ones(len(panel.clusters)), panel.credits])
    return cluster_sums(values[:, :, None] * values[:, None, :], panel.clusters)


def correlations(sums: Floats) -> Floats:
    """Pearson's correlations from `product_sums`, shape (..., k, k); 0 where a member does not vary."""
    means = ratio(sums, sums[..., :1, :1])
    first = means[..., 0, 1:]
    covariance = means[..., 1:, 1:] - first[..., :, None] * first[..., None, :]
    spread = np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 0))
    spread = np.where(spread > 1e-9, spread, 0)
    return np.clip(ratio(covariance, spread[..., :, None] * spread[..., None, :]), -1, 1)
