"""Means of items that come in prompts, with Student's intervals: quick enough for a thousand simulations."""

from collections.abc import Sequence

import numpy as np

from judgekit.scoring.scores import N_BOOT
from judgekit.stats import LEVEL, Array, Floats, Number, interval, proportion_interval, share_of, t_quantile

Ends = tuple[float, float, float]  # value, low, high


def share_number(hits: Array, total: Array, clusters: Sequence, n_boot: int = N_BOOT, seed: int = 0) -> Number:
    """Sum of hits over sum of totals, each of shape (n_items,), prompts resampled; ValueError where the total is 0."""
    rows, kept = np.column_stack([hits, total]).astype(float), np.asarray(total) > 0
    if not kept.any():
        raise ValueError("nothing to compare: no item has two votes that meet")
    n, names = round(float(rows[:, 1].sum())), np.asarray(clusters)[kept]
    return interval(share_of, names, rows[kept], n=n, spec=".1%", n_boot=n_boot, seed=seed)


def student_interval(
    value: float, parts: Array, floor: float = -np.inf, ceiling: float = np.inf
) -> tuple[float, float]:
    """The 95 % interval of an estimate, cut at the range of the quantity, from the parts of prompts in its error.

    Their sum of squares is the variance. Where nothing varies and the range is 0 to 1 it is Wilson's for so many
    prompts: a share that no prompt departs from is not known without error. Infinite ends for one prompt.
    """
    if len(parts) < 2:
        return floor, ceiling
    half = t_quantile((1 + LEVEL) / 2, len(parts) - 1) * float(np.sqrt((np.asarray(parts) ** 2).sum()))
    if not half and (floor, ceiling) == (0.0, 1.0):
        return proportion_interval(value, len(parts))
    return max(floor, value - half), min(ceiling, value + half)


def mean_interval(
    values: Array,
    weights: Array,
    cluster_index: Array,
    influence: Floats | None = None,
    floor: float = -np.inf,
    ceiling: float = np.inf,
) -> Ends:
    """Weighted mean of ``values``, shape (n_items,), with its 95 % interval over prompts: value, low, high.

    ``influence``: of the items on a statistic that is no mean, weights included and centred; then ``values`` is the
    statistic. Linearised, with Student's t (Cameron and Miller 2015, Journal of Human Resources 50).
    """
    if influence is None:
        share = np.asarray(weights, float) / np.sum(weights)
        value = float(np.clip(share @ values, np.min(values), np.max(values)))  # rounding may leave them
        influence = share * (values - value)
    else:
        value = float(values)
    parts = np.bincount(cluster_index, influence)
    return value, *student_interval(value, parts * np.sqrt(len(parts) / max(len(parts) - 1, 1)), floor, ceiling)


def clustered_mean(values: Array, clusters: Sequence, floor: float = -np.inf, ceiling: float = np.inf) -> Ends:
    """`mean_interval` of values that count alike, prompts given by name.

    >>> [round(x, 2) for x in clustered_mean([1, 1, 0, 0, 1, 1], ["p", "p", "q", "q", "r", "r"], 0.0, 1.0)]
    [0.67, 0.0, 1.0]
    """
    values = np.asarray(values, float)
    index = np.unique(np.asarray(clusters), return_inverse=True)[1]
    return mean_interval(values, np.ones(len(values)), index, None, floor, ceiling)
