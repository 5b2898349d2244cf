"""Means of items that come in prompts, with Student's intervals: quick enough for a thousand simulations."""

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtr

from judgekit.stats import LEVEL, Array, Floats, Number, proportion_interval, t_quantile

Ends = tuple[float, float, float]  # value, low, high


def mean_interval(values: Array, weights: Array, cluster_index: Array) -> Ends:
    """Weighted mean of ``values``, shape (n_items,), with its 95 % interval over prompts: value, low, high."""
    share = np.asarray(weights, float) / np.sum(weights)
    value = float(np.clip(share @ values, np.min(values), np.max(values)))  # rounding may leave them
    return influence_interval(value, share * (values - value), cluster_index)


def influence_interval(value: float, influence: Floats, cluster_index: Array) -> Ends:
    """A statistic with its 95 % interval over prompts, from the centred influence of each item on it, (n_items,).

    Linearised, with Student's t (Cameron and Miller 2015, Journal of Human Resources 50); infinite ends for one prompt.
    """
    parts = np.bincount(cluster_index, influence)
    if (n := len(parts)) < 2:
        return value, -np.inf, np.inf
    half = t_quantile((1 + LEVEL) / 2, n - 1) * float(np.sqrt((parts**2).sum() * n / (n - 1)))
    return value, value - half, value + half


def clustered_mean(values: Array, clusters: Sequence, floor: float, ceiling: float) -> Ends:
    """`mean_interval` of values that count alike, prompts given by name, cut at the range of the quantity; Wilson's for
    a share that no prompt departs from."""
    values = np.asarray(values, float)
    names, index = np.unique(np.asarray(clusters), return_inverse=True)
    value, low, high = mean_interval(values, np.ones(len(values)), index)
    if low == high and (floor, ceiling) == (0.0, 1.0):
        return value, *proportion_interval(value, len(names))
    return value, max(floor, low), min(ceiling, high)


def student_p(found: Number, n_prompts: int) -> float:
    """Two-sided p-value of no difference, from the Student's interval of a difference (`mean_interval`)."""
    error = (found.high - found.low) / (2 * t_quantile((1 + LEVEL) / 2, n_prompts - 1))
    return float(2 * stdtr(n_prompts - 1, -abs(found.value) / error)) if error > 0 else float(found.value == 0)
