"""Means of items that come in prompts, and Student's intervals of them: quick enough for a thousand simulations."""

from collections.abc import Sequence

import numpy as np

from judgekit.stats import Array, Floats, cluster_sums, odds_interval, proportion_interval, t_quantile


def cluster_means(values: Array, held: Array, clusters: Sequence) -> tuple[Floats, Floats, Array]:
    """Column means of values (zero elsewhere) over held cells, each of shape (n_items, n_columns).

    Beside them the linearised error of each mean by cluster, shape (n_clusters, n_columns), whose sum of squares is
    the variance; and the clusters that each column has.
    """
    counts, sums = cluster_sums(held, clusters), cluster_sums(values, clusters)
    total = counts.sum(0)
    means = sums.sum(0) / total
    sizes = (counts > 0).sum(0)
    return means, (sums - counts * means) / total * np.sqrt(sizes / np.maximum(sizes - 1, 1)), sizes


def student_interval(
    value: float, parts: Array, floor: float = -np.inf, ceiling: float = np.inf
) -> tuple[float, float]:
    """The 95 % interval of an estimate, cut at the range of the quantity, from the parts of clusters in its error.

    Where nothing varies and the range is 0 to 1 it is Wilson's for so many clusters: a share that no cluster departs
    from is not known without error.
    """
    half = t_quantile(0.975, len(parts) - 1) * float(np.sqrt((np.asarray(parts) ** 2).sum()))
    if not half and (floor, ceiling) == (0.0, 1.0):
        return proportion_interval(value, len(parts))
    return max(floor, value - half), min(ceiling, value + half)


def share_interval(value: float, parts: Array) -> tuple[float, float]:
    """As `student_interval`, of a share on the scale of log odds; Wilson's where nothing varies.

    With fewer than some thirty clusters a share far from a half is skewed, and intervals that are as long to both sides
    hold too little.
    """
    error = float(np.sqrt((np.asarray(parts) ** 2).sum()))
    if not error or not 0 < value < 1:
        return proportion_interval(value, len(parts))
    low, high = odds_interval(value, error, len(parts) - 1)
    return float(low), float(high)


def clustered_mean(
    values: Array, clusters: Sequence, floor: float = -np.inf, ceiling: float = np.inf
) -> tuple[float, float, float]:
    """Mean of values, with its interval by clusters (`student_interval`): value, low, high.

    >>> [round(x, 2) for x in clustered_mean([1, 1, 0, 0, 1, 1], ["p", "p", "q", "q", "r", "r"], 0.0, 1.0)]
    [0.67, 0.0, 1.0]
    """
    values = np.asarray(values, float)[:, None]
    means, parts, _ = cluster_means(values, np.ones_like(values), clusters)
    return float(means[0]), *student_interval(float(means[0]), parts[:, 0], floor, ceiling)
