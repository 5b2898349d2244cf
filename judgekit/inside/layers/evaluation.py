"""How scores compare with people's: in their order, and in their size.

A correlation does not see whether scores are too high, or all in the middle of the scale; calibration does. Averaging
over layers can raise the one and spoil the other, so both are always reported.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from judgekit.inside.layers.scale import checked_scores
from judgekit.stats import (
    Array,
    Floats,
    expected_calibration_error,
    kendall,
    pearson,
    ratio,
    reliability_bins,
    spearman,
    weighted_bootstrap,
)

CORRELATIONS = {"pearson": pearson, "spearman": spearman, "kendall": kendall}


def shares_of_scale(values: Array, scores: Sequence[int], what: str) -> Floats:
    """Scores as shares of the scale, in [0, 1]; ValueError where one lies outside the scale."""
    values, scores = np.asarray(values, float), checked_scores(scores)
    if len(values) and not (values.min() >= scores[0] - 1e-9 and values.max() <= scores[-1] + 1e-9):
        raise ValueError(
            f"{what} from {values.min():g} to {values.max():g} on a scale from {scores[0]} to {scores[-1]}"
        )
    return np.clip((values - scores[0]) / (scores[-1] - scores[0]), 0, 1)


def calibration_error(
    predicted: Array, labels: Array, scores: Sequence[int], n_bins: int = 10, weight: Array | None = None
) -> Floats:
    """Mean gap between predicted scores and people's, over bins of predicted scores: shape (...), in [0, 1].

    A share of the distance from the lowest score to the highest; 0 is calibrated. ``predicted``, ``labels``: on the
    scale, shape (n_items,). ``n_bins``: bins of equal width from the lowest score to the highest. ``weight``: how often
    each item counts, one row per resample, shape (..., n_items).

    Items are sorted into bins by their predicted score; in each bin the mean predicted score is compared with the mean
    label, and the absolute gaps are averaged, weighted by items. This is the expected calibration error (Guo et al.
    2017, arXiv:1706.04599) with shares of the scale in the places of confidence and accuracy. It asks whether items
    that get a 4 deserve a 4 on average; unlike the mean absolute error, it does not ask for each by itself, and a
    constant at the mean label is calibrated. Biased upwards for few items.

    ValueError where a score lies outside the scale.

    >>> round(float(calibration_error([3, 3, 5], [1, 3, 5], range(1, 6))), 4)  # bins: gap 1 of 4 twice, and 0
    0.1667
    """
    predicted, labels = (
        shares_of_scale(predicted, scores, "predicted scores"),
        shares_of_scale(labels, scores, "labels"),
    )
    bins = reliability_bins(predicted, labels, n_bins)
    weight = np.ones(len(bins)) if weight is None else np.asarray(weight, float)
    return expected_calibration_error((weight @ bins.reshape(len(bins), -1)).reshape(*weight.shape[:-1], 3, n_bins))


def absolute_error(predicted: Array, labels: Array, weight: Array | None = None) -> Floats:
    """Mean absolute difference in points of the scale; ``weight`` as for `calibration_error`."""
    weight = np.ones(len(labels)) if weight is None else np.asarray(weight, float)
    return ratio(weight @ np.abs(np.asarray(predicted, float) - np.asarray(labels, float)), weight.sum(-1))


def measures(predicted: Array, labels: Array, scores: Sequence[int], n_bins: int) -> dict[str, Callable[[Floats], Any]]:
    """Every measure of some scores, as a function of how often each item counts."""
    found: dict[str, Any] = {name: partial(metric, predicted, labels) for name, metric in CORRELATIONS.items()}
    found["calibration_error"] = lambda weight: calibration_error(predicted, labels, scores, n_bins, weight)
    return found | {"absolute_error": partial(absolute_error, predicted, labels)}


def checked_items(
    predictions: Sequence[Array], labels: Array, clusters: Array
) -> tuple[Sequence[Floats], Floats, np.ndarray, np.ndarray]:
    """Scores, labels and questions as arrays, and which items have all scores.

    ValueError where lengths differ, a label is missing, or fewer than two items have scores.
    """
    predictions = [np.asarray(predicted, float) for predicted in predictions]
    labels, clusters = np.asarray(labels, float), np.asarray(clusters, dtype=str)
    lengths = [len(side) for side in (*predictions, labels, clusters)]
    if len(set(lengths)) > 1:
        raise ValueError(f"scores, labels and questions of different lengths: {lengths}")
    if not np.isfinite(labels).all():
        raise ValueError("a label is missing: leave the item out first")
    there = np.logical_and.reduce([np.isfinite(predicted) for predicted in predictions])
    if there.sum() < 2:
        raise ValueError(f"{there.sum()} of {len(there)} items have a score: nothing to evaluate")
    return predictions, labels, clusters, there


def evaluated(
    predicted: Array,
    labels: Array,
    clusters: Array,
    scores: Sequence[int],
    n_bins: int = 10,
    n_boot: int = 2000,
    seed: int = 0,
) -> dict[str, tuple[float, float, float]]:
    """Measures of scores held against people's, each with its interval.

    ``pearson``, ``spearman``, ``kendall`` (tau-b), `calibration_error` and ``absolute_error`` in points, over items
    that have a score; ``coverage``, the share that does. ``predicted``: NaN where the model said no score, shape
    (n_items,). ``clusters``: question of each item; questions are resampled, not items.

    ValueError where the material does not fit together, a score is outside the scale, or fewer than two items have
    scores.
    """
    (predicted,), labels, clusters, there = checked_items([predicted], labels, clusters)
    found = measures(predicted[there], labels[there], scores, n_bins)
    result = {name: weighted_bootstrap(measure, clusters[there], n_boot, seed) for name, measure in found.items()}
    coverage = weighted_bootstrap(lambda weight: ratio(weight @ there, weight.sum(-1)), clusters, n_boot, seed)
    return result | {"coverage": coverage}


def differences(
    predicted: Array,
    other: Array,
    labels: Array,
    clusters: Array,
    scores: Sequence[int],
    n_bins: int = 10,
    n_boot: int = 2000,
    seed: int = 0,
) -> dict[str, tuple[float, float, float]]:
    """By how much one way of scoring differs from another, measure by measure, on the items that have both scores.

    Measure of ``predicted`` minus measure of ``other``, both taken in the same resamples; the rest as for `evaluated`.
    """
    sides, labels, clusters, there = checked_items([predicted, other], labels, clusters)
    first, second = (measures(side[there], labels[there], scores, n_bins) for side in sides)

    def difference(name: str) -> Callable[[Floats], Any]:
        return lambda weight: first[name](weight) - second[name](weight)

    return {name: weighted_bootstrap(difference(name), clusters[there], n_boot, seed) for name in first}
