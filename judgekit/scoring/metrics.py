"""Metrics of verdicts and agreement of raters, as functions of counts that items add to, so that sums are resampled.

All accept leading batch dimensions.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from judgekit.records import LABELS
from judgekit.stats import Array, Floats, ratio

NO_VERDICT = len(LABELS)  # the fourth column of a confusion matrix: no usable verdict
MISSING = -1  # a rater who did not rate the item


def label_codes(labels: Iterable[str | None]) -> Array:
    """Labels as integers: A 0, B 1, tie 2, and 3 for no usable verdict; ValueError where a label is none of these."""
    codes = {label: code for code, label in enumerate((*LABELS, None))}
    try:
        return np.array([codes[label] for label in labels], dtype=int)
    except KeyError as unknown:
        raise ValueError(f"label {unknown} is not one of {', '.join(LABELS)} or None") from None


def confusion(reference: Array, verdict: Array, weight: Array = None) -> Floats:
    """One confusion matrix per item, shape (n_items, 3, 4): what it counts (1, or ``weight``) at (reference, verdict).

    Codes are those of `label_codes`; columns are verdicts with "none" last. Sum over items for a set's matrix.
    """
    reference, verdict = np.asarray(reference), np.asarray(verdict)
    if reference.shape != verdict.shape:
        raise ValueError(f"{reference.shape[0]} reference labels for {verdict.shape[0]} verdicts")
    if len(reference) and reference.max() >= NO_VERDICT:
        raise ValueError("an item without a reference label cannot be scored: leave it out first")
    counts = np.zeros((len(reference), len(LABELS), NO_VERDICT + 1))
    counts[np.arange(len(reference)), reference, verdict] = 1 if weight is None else weight
    return counts


def accuracy(matrix: Floats) -> Floats:
    """Share of items on the diagonal, in [0, 1]; an item without a verdict counts as wrong."""
    return ratio(np.trace(matrix[..., :NO_VERDICT], axis1=-2, axis2=-1), matrix.sum((-2, -1)))


def per_class(matrix: Floats, labels: Sequence[str] = LABELS) -> tuple[Floats, Floats, Floats]:
    """Precision, recall and F1 of each label, shape (..., len(labels)).

    The label set is stated, not read off the data (as scikit-learn does): one stray tie would cost a whole class.
    """
    index = [LABELS.index(label) for label in labels]
    hits, predicted, actual = matrix[..., index, index], matrix[..., index].sum(-2), matrix[..., index, :].sum(-1)
    return ratio(hits, predicted), ratio(hits, actual), ratio(2 * hits, predicted + actual)


def macro(matrix: Floats, labels: Sequence[str] = LABELS) -> tuple[Floats, ...]:
    """Macro-averaged precision, recall and F1 over a fixed label set, each in [0, 1]."""
    return tuple(values.mean(-1) for values in per_class(matrix, labels))


def cohen_kappa(matrix: Floats) -> Floats:
    """Cohen's kappa of reference and verdict, in [-1, 1] or NaN as below; items without a verdict are left out."""
    return _beyond_chance(matrix[..., :NO_VERDICT])


def _beyond_chance(square: Floats) -> Floats:
    """(observed - expected) / (1 - expected) with the two raters' own marginals; NaN where both are constant."""
    total = square.sum((-2, -1))
    observed = ratio(np.trace(square, axis1=-2, axis2=-1), total)
    expected = ratio((square.sum(-1) * square.sum(-2)).sum(-1), total**2)
    return np.where((total > 0) & (expected < 1), ratio(observed - expected, 1 - expected), np.nan)


def balanced_accuracy(matrix: Floats, labels: Sequence[str] = LABELS) -> Floats:
    """Mean recall over the labels that occur in the reference, in [0, 1]; an item without a verdict counts as wrong.

    A label of the set that no reference has is left out (as scikit-learn does), where `macro` counts it as 0.
    """
    present = matrix[..., [LABELS.index(label) for label in labels], :].sum(-1) > 0
    return ratio(per_class(matrix, labels)[1].sum(-1), present.sum(-1))


def matthews_correlation(matrix: Floats) -> Floats:
    """Matthews correlation of reference and verdict for any number of labels, in [-1, 1]; 0 where one is constant.

    Gorodkin (2004), Computational Biology and Chemistry 28. "No verdict" is a fourth class that is never right.
    """
    given = matrix.sum(-2)
    actual = np.concatenate([matrix.sum(-1), np.zeros((*matrix.shape[:-2], 1))], -1)
    total = given.sum(-1)
    covariance = np.trace(matrix, axis1=-2, axis2=-1) * total - (given * actual).sum(-1)
    spread = [np.maximum(total**2 - (counts**2).sum(-1), 0) for counts in (given, actual)]
    return ratio(covariance, np.sqrt(spread[0] * spread[1]))


def probability_losses(probabilities: Array, reference: Array) -> tuple[Floats, Floats]:
    """Negative log-likelihood (in nats, of at least 1e-12) and Brier score (in [0, 2]) of each item.

    ``probabilities`` of A, B, tie, shape (n_items, 3); ValueError where a row does not sum to one (logits, say).
    """
    probabilities = np.asarray(probabilities, float)
    if len(probabilities) and (np.abs(probabilities.sum(-1) - 1) > 1e-3).any():
        raise ValueError("probabilities must sum to one over A, B, tie")
    at_reference = probabilities[np.arange(len(reference)), reference]
    target = np.eye(len(LABELS))[reference]
    return -np.log(np.maximum(at_reference, 1e-12)), ((probabilities - target) ** 2).sum(-1)


def rating_counts(ratings: Array, n_labels: int) -> Floats:
    """How many raters put each item into each category, shape (n_items, n_labels).

    ``ratings``: category codes, shape (n_items, n_raters); -1 where a rater did not rate the item.
    """
    ratings = np.asarray(ratings)
    if ratings.size and (ratings.min() < MISSING or ratings.max() >= n_labels):
        raise ValueError(f"ratings must be codes 0 to {n_labels - 1}, or {MISSING} where there is none")
    return (ratings[..., None] == np.arange(n_labels)).sum(1).astype(float)


def coincidences(counts: Array) -> Floats:
    """What each item adds to Krippendorff's coincidence matrix, shape (n_items, n_labels, n_labels).

    Ordered pairs of ratings within the item, weighted by 1 / (ratings - 1); nothing where there are fewer than two.
    """
    counts = np.asarray(counts, float)
    raters = counts.sum(1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[1])
    weight = np.where(raters > 1, 1 / np.maximum(raters - 1, 1), 0)
    return pairs * weight[:, None, None]


def fleiss_kappa(coincidence: Floats) -> Floats:
    """Fleiss' kappa from sums of `coincidences` of items that equally many rated, in [-1, 1]; NaN if nothing varies.

    Fleiss (1971), Psychological Bulletin 76. The raters of one item need not be those of another.
    """
    return _beyond_chance(coincidence)


def krippendorff_alpha(coincidence: Floats) -> Floats:
    """Krippendorff's nominal alpha from sums of `coincidences`: 1 is perfect, 0 what chance gives.

    NaN where nothing varies. Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", U. of Pennsylvania.
    """
    apart, totals = 1 - np.eye(coincidence.shape[-1]), coincidence.sum(-1)
    observed = (coincidence * apart).sum((-2, -1)) * (totals.sum(-1) - 1)
    expected = (totals[..., :, None] * totals[..., None, :] * apart).sum((-2, -1))
    return np.where(expected > 0, 1 - ratio(observed, expected), np.nan)
