"""Means of items that come in prompts, and Student's intervals of them: quick enough for a thousand simulations."""

import numpy as np

from judgekit.stats import cluster_sums, odds_interval, proportion_interval, t_quantile


def cluster_means(values, held, clusters):
    """Column means over held cells, and the parts of clusters in their errors.

    Parameters
    ----------
    values, held : array, shape (n_items, n_columns)
        Values are zero where nothing is held.
    clusters : sequence, length n_items

    Returns
    -------
    means : array, shape (n_columns,)
    parts : array, shape (n_clusters, n_columns)
        Linearised error of each mean by cluster: the sum of its squares is the variance.
    sizes : array of int, shape (n_columns,)
        Clusters that each column has.
    """
    counts, sums = cluster_sums(held, clusters), cluster_sums(values, clusters)
    total = counts.sum(0)
    means = sums.sum(0) / total
    sizes = (counts > 0).sum(0)
    return means, (sums - counts * means) / total * np.sqrt(sizes / np.maximum(sizes - 1, 1)), sizes


def student_interval(value, parts, floor=-np.inf, ceiling=np.inf):
    """The 95 % interval of an estimate from the parts of clusters in its error.

    Parameters
    ----------
    value : float
    parts : array, shape (n_clusters,)
        As `cluster_means` gives them.
    floor, ceiling : float
        The range of the quantity, at which the interval is cut. Where nothing varies and the range is 0 to 1, it is
        Wilson's for so many clusters: a share that no cluster departs from is not known without error.

    Returns
    -------
    low, high : float
    """
    half = t_quantile(0.975, len(parts) - 1) * float(np.sqrt((np.asarray(parts) ** 2).sum()))
    if not half and (floor, ceiling) == (0.0, 1.0):
        return proportion_interval(value, len(parts))
    return max(floor, value - half), min(ceiling, value + half)


def share_interval(value, parts):
    """The 95 % interval of a share from the parts of clusters in its error, by Student's t on the scale of log odds.

    With fewer than some thirty clusters a share far from a half is skewed, and intervals that are as long to both sides
    hold too little.

    Returns
    -------
    low, high : float
        Wilson's for so many clusters where nothing varies.
    """
    error = float(np.sqrt((np.asarray(parts) ** 2).sum()))
    if not error or not 0 < value < 1:
        return proportion_interval(value, len(parts))
    low, high = odds_interval(value, error, len(parts) - 1)
    return float(low), float(high)


def clustered_mean(values, clusters, floor=-np.inf, ceiling=np.inf):
    """Mean of values, with its interval by clusters.

    Parameters
    ----------
    values : array of float, shape (n_items,)
    clusters : sequence, length n_items
    floor, ceiling : float
        The range of the quantity.

    Returns
    -------
    value, low, high : float

    Examples
    --------
    >>> [round(x, 2) for x in clustered_mean([1, 1, 0, 0, 1, 1], ["p", "p", "q", "q", "r", "r"], 0.0, 1.0)]
    [0.67, 0.0, 1.0]
    """
    values = np.asarray(values, float)[:, None]
    means, parts, _ = cluster_means(values, np.ones_like(values), clusters)
    return float(means[0]), *student_interval(float(means[0]), parts[:, 0], floor, ceiling)
