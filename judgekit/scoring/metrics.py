"""Metrics of verdicts and agreement of raters, as functions of additive counts.

Every item adds a few numbers (its cell of a confusion matrix, its ratings by category) and a metric is a function of
their sums, so that it can be resampled by cluster (`judgekit.stats`). All accept leading batch dimensions.
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
    """Share of items on the diagonal, in [0, 1]; an item without a verdict counts as wrong.

    >>> matrix = confusion(label_codes("AAB"), label_codes(["A", "tie", None])).sum(0)
    >>> round(float(accuracy(matrix)), 3)
    0.333
    """
    return ratio(np.trace(matrix[..., :NO_VERDICT], axis1=-2, axis2=-1), matrix.sum((-2, -1)))


def per_class(matrix: Floats, labels: Sequence[str] = LABELS) -> tuple[Floats, Floats, Floats]:
    """Precision, recall and F1 of each label, shape (..., len(labels)).

    The label set of the benchmark is stated, never read off the data: scikit-learn averages over whatever labels
    occur, so one stray tie on a two-way set would cost a whole class.
    """
    index = [LABELS.index(label) for label in labels]
    hits = np.stack([matrix[..., i, i] for i in index], -1)
    predicted = np.stack([matrix[..., :, i].sum(-1) for i in index], -1)
    actual = np.stack([matrix[..., i, :].sum(-1) for i in index], -1)
    return ratio(hits, predicted), ratio(hits, actual), ratio(2 * hits, predicted + actual)


def macro(matrix: Floats, labels: Sequence[str] = LABELS) -> tuple[Floats, ...]:
    """Macro-averaged precision, recall and F1 over a fixed label set, each in [0, 1]."""
    return tuple(values.mean(-1) for values in per_class(matrix, labels))


def cohen_kappa(matrix: Floats) -> Floats:
    """Cohen's kappa between reference and verdict, in [-1, 1]; items without a verdict are left out.

    (observed - expected) / (1 - expected) with the two raters' own marginals; 0 where both are constant.
    """
    square = matrix[..., :NO_VERDICT]
    total = square.sum((-2, -1))
    observed = ratio(np.trace(square, axis1=-2, axis2=-1), total)
    expected = ratio((square.sum(-1) * square.sum(-2)).sum(-1), total**2)
    return ratio(observed - expected, 1 - expected)


def balanced_accuracy(matrix: Floats, labels: Sequence[str] = LABELS) -> Floats:
    """Mean recall over the labels that occur in the reference, in [0, 1]; an item without a verdict counts as wrong.

    A label of the set that no reference has is left out (as scikit-learn does), where `macro` counts it as 0.

    >>> matrix = confusion(label_codes("AAAB"), label_codes("AAAA")).sum(0)
    >>> float(balanced_accuracy(matrix))
    0.5
    """
    index = [LABELS.index(label) for label in labels]
    present = np.stack([matrix[..., i, :].sum(-1) > 0 for i in index], -1)
    return ratio(per_class(matrix, labels)[1].sum(-1), present.sum(-1))


def matthews_correlation(matrix: Floats) -> Floats:
    """Matthews correlation of reference and verdict for any number of labels, in [-1, 1].

    Gorodkin (2004), Computational Biology and Chemistry 28: the correlation of two one-hot coded variables. "No
    verdict" is a fourth class that is never right; 0 where either side is constant.

    >>> float(matthews_correlation(confusion(label_codes("AABB"), label_codes("AABB")).sum(0)))
    1.0
    """
    given = matrix.sum(-2)
    actual = np.concatenate([matrix.sum(-1), np.zeros((*matrix.shape[:-2], 1))], -1)
    total = given.sum(-1)
    covariance = np.trace(matrix, axis1=-2, axis2=-1) * total - (given * actual).sum(-1)
    spread = [np.maximum(total**2 - (counts**2).sum(-1), 0) for counts in (given, actual)]
    return ratio(covariance, np.sqrt(spread[0] * spread[1]))


def probability_losses(probabilities: Array, reference: Array) -> tuple[Floats, Floats]:
    """Negative log-likelihood (in nats) and Brier score (in [0, 2]) of each item.

    ``probabilities`` of A, B, tie, shape (n_items, 3), sum to one by row; ValueError where they do not (logits passed
    by mistake). They are floored at 1e-12, so that one certain mistake stays finite.
    """
    probabilities = np.asarray(probabilities, float)
    if len(probabilities) and (np.abs(probabilities.sum(-1) - 1) > 1e-3).any():
        raise ValueError("probabilities must sum to one over A, B, tie")
    at_reference = probabilities[np.arange(len(reference)), reference]
    target = np.eye(len(LABELS))[reference]
    return -np.log(np.maximum(at_reference, 1e-12)), ((probabilities - target) ** 2).sum(-1)


# ---------------------------------------------------------------- several raters


def rating_counts(ratings: Array, n_labels: int) -> Floats:
    """How many raters put each item into each category, shape (n_items, n_labels).

    ``ratings``: category codes, shape (n_items, n_raters); -1 where a rater did not rate the item.
    """
    ratings = np.asarray(ratings)
    if ratings.size and (ratings.min() < MISSING or ratings.max() >= n_labels):
        raise ValueError(f"ratings must be codes 0 to {n_labels - 1}, or {MISSING} where there is none")
    return (ratings[..., None] == np.arange(n_labels)).sum(1).astype(float)


def fleiss_sums(counts: Array) -> Floats:
    """What each item adds to Fleiss' kappa: one, its share of agreeing pairs of raters, and the share of each category.

    ValueError where items were rated by different numbers of raters: `krippendorff_alpha` is for those.
    """
    counts = np.asarray(counts, float)
    raters = counts.sum(1)
    if not len(raters) or raters.min() < 2 or raters.min() != raters.max():
        raise ValueError("Fleiss' kappa wants the same number of ratings, two or more, for every item")
    agreeing = (counts * (counts - 1)).sum(1) / (raters * (raters - 1))
    return np.column_stack([np.ones(len(counts)), agreeing, counts / raters[:, None]])


def fleiss_kappa(sums: Array) -> Floats:
    """Fleiss' kappa from sums of `fleiss_sums`, in [-1, 1]; 0 where one category is all there is.

    Fleiss (1971), Psychological Bulletin 76. The raters of one item need not be those of another.

    >>> counts = rating_counts([[0, 0, 0], [1, 1, 1], [0, 1, 1]], 2)
    >>> round(float(fleiss_kappa(fleiss_sums(counts).sum(0))), 3)
    0.55
    """
    sums = np.asarray(sums, float)
    means = sums[..., 1:] / sums[..., :1]
    observed, expected = means[..., 0], (means[..., 1:] ** 2).sum(-1)
    room = 1 - np.asarray(expected, float)
    gain = np.where(room > 1e-12, observed - expected, 0)
    return gain / np.where(room > 1e-12, room, 1)


def coincidences(counts: Array) -> Floats:
    """What each item adds to Krippendorff's coincidence matrix, shape (n_items, n_labels, n_labels).

    Ordered pairs of ratings within the item, each weighted by 1 / (ratings - 1); items with fewer than two ratings add
    nothing.
    """
    counts = np.asarray(counts, float)
    raters = counts.sum(1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[1])
    weight = np.where(raters > 1, 1 / np.maximum(raters - 1, 1), 0)
    return pairs * weight[:, None, None]


def krippendorff_alpha(coincidence: Array, values: Array = None) -> Floats:
    """Krippendorff's alpha from sums of `coincidences`; 1 is perfect agreement, 0 what chance gives or nothing varies.

    ``values``: numbers that the categories stand for; disagreement is then their squared difference (interval alpha),
    otherwise categories are names (nominal alpha). Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability",
    University of Pennsylvania.

    >>> counts = rating_counts([[0, 0], [1, 1], [0, 1], [1, -1]], 2)
    >>> round(float(krippendorff_alpha(coincidences(counts).sum(0))), 3)
    0.444
    """
    coincidence = np.asarray(coincidence, float)
    if values is None:
        distance = 1 - np.eye(coincidence.shape[-1])
    else:
        distance = np.subtract.outer(np.asarray(values, float), np.asarray(values, float)) ** 2
    totals = coincidence.sum(-1)
    n = totals.sum(-1)
    observed = (coincidence * distance).sum((-2, -1)) * (n - 1)
    expected = (totals[..., :, None] * totals[..., None, :] * distance).sum((-2, -1))
    varied = expected > 0
    return np.where(varied, 1 - observed / np.where(varied, expected, 1), 0.0)
