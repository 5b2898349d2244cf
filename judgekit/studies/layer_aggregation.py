"""Scores of rated responses held against people's: order, size and distance, questions being resampled."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from judgekit import stats
from judgekit.prompts.rubrics import checked_scores
from judgekit.stats import Array, Floats, Number

_N_BINS = 10  # of equal width, from the lowest score to the highest


def calibration_error(predicted: Array, labels: Array, scores: Sequence[int], weight: Array | None = None) -> Floats:
    """Mean gap between predicted scores and people's, over bins of predicted scores, as a share of the scale.

    The expected calibration error (Guo et al. 2017, arXiv:1706.04599): do items that get a 4 deserve a 4 on average? A
    constant at the mean label is calibrated. Biased upwards for few items. ``weight``: how often each counts, shape
    (..., n_items). ValueError where a score lies outside the scale.

    >>> round(float(calibration_error([3, 3, 5], [1, 3, 5], range(1, 6))), 4)  # bins: gap 1 of 4 twice, and 0
    0.1667
    """
    scale, shares = checked_scores(scores), []
    for name, given in (("predicted scores", predicted), ("labels", labels)):
        values = np.asarray(given, float)
        if len(values) and not (values.min() >= scale[0] - 1e-9 and values.max() <= scale[-1] + 1e-9):
            ends = f"{values.min():g} to {values.max():g}"
            raise ValueError(f"{name} from {ends} on a scale from {scale[0]} to {scale[-1]}")
        shares.append(np.clip((values - scale[0]) / (scale[-1] - scale[0]), 0, 1))
    bins = stats.reliability_bins(shares[0], shares[1], _N_BINS)
    weight = np.ones(len(bins)) if weight is None else np.asarray(weight, float)
    sums = (weight @ bins.reshape(len(bins), -1)).reshape(*weight.shape[:-1], 3, _N_BINS)
    return stats.expected_calibration_error(sums)


def evaluated(
    predicted: Array,
    labels: Array,
    clusters: Array,
    scores: Sequence[int],
    n_boot: int = 2000,
    seed: int = 0,
    other: Array | None = None,
) -> dict[str, Number]:
    """Measures of scores held against people's, with intervals from a bootstrap over questions (``clusters``).

    ``pearson``, ``spearman``, ``kendall`` (tau-b), `calibration_error` and ``absolute_error`` in points. A correlation
    does not see whether scores are too high, or all in the middle of the scale; calibration does. ``other``: scores
    whose measures are taken off, in the same resamples. ValueError where the material does not fit together, a score is
    missing or outside the scale, or there are fewer than two items.
    """
    sides = [np.asarray(side, float) for side in (predicted, other) if side is not None]
    labels = np.asarray(labels, float)
    if len({len(side) for side in (*sides, labels, clusters)}) > 1 or len(labels) < 2:
        raise ValueError(f"{len(labels)} labels, {len(clusters)} questions, {[len(side) for side in sides]} scores")
    if not (np.isfinite(labels).all() and np.isfinite(sides).all()):
        raise ValueError("a score or label is missing: leave the item out first")
    measures: dict[str, Callable[[Floats, Floats], Any]] = {
        "pearson": lambda side, weight: stats.pearson(side, labels, weight),
        "spearman": lambda side, weight: stats.spearman(side, labels, weight),
        "kendall": lambda side, weight: stats.kendall(side, labels, weight),
        "calibration_error": lambda side, weight: calibration_error(side, labels, scores, weight=weight),
        "absolute_error": lambda side, weight: stats.ratio(weight @ np.abs(side - labels), weight.sum(-1)),
    }

    def less_other(measure: Callable[[Floats, Floats], Any], weight: Floats) -> Any:
        first, *rest = (measure(side, weight) for side in sides)
        return first - sum(rest)

    may_be_negative = set(measures if other is not None else ("pearson", "spearman", "kendall"))
    options: Any = {"n_boot": n_boot, "seed": seed, "spec": ".2f"}
    return {
        name: stats.interval(partial(less_other, one), clusters, signed=name in may_be_negative, **options)
        for name, one in measures.items()
    }
