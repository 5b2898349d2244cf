"""Metrics of verdicts, as functions of additive counts.

Every metric here is a function of sums over items: a confusion matrix, a few means, the bins of a reliability
diagram. Sums can be resampled by cluster without touching the items again, so ten thousand bootstrap resamples are
one matrix product (`judgekit.intervals`). All functions accept leading batch dimensions.
"""

import numpy as np

from judgekit.records import LABELS

NO_VERDICT = len(LABELS)  # the fourth column of a confusion matrix: no usable verdict


def ratio(numerator, denominator):
    """Element-wise quotient, with 0/0 counted as 0 (scikit-learn's ``zero_division=0``)."""
    numerator, denominator = np.asarray(numerator, float), np.asarray(denominator, float)
    return np.divide(
        numerator,
        denominator,
        out=np.zeros(np.broadcast(numerator, denominator).shape),
        where=denominator > 0,
    )


def label_codes(labels):
    """Labels as integers: A 0, B 1, tie 2, and 3 for no usable verdict.

    Raises
    ------
    ValueError
        If a label is none of A, B, tie, None.
    """
    codes = {label: code for code, label in enumerate(LABELS)} | {None: NO_VERDICT}
    try:
        return np.array([codes[label] for label in labels], dtype=int)
    except KeyError as unknown:
        raise ValueError(f"label {unknown} is not one of {', '.join(LABELS)} or None") from None


def confusion(reference, verdict, weight=None):
    """One confusion matrix per item: a single count at (reference, verdict).

    Parameters
    ----------
    reference, verdict : array of int, shape (n_items,)
        Codes of `label_codes`; a reference must be a label.
    weight : array of float, shape (n_items,), optional
        What an item counts, 1 by default.

    Returns
    -------
    array, shape (n_items, 3, 4)
        Rows are reference labels, columns verdicts with "none" last. Sum over items for a set's matrix.
    """
    reference, verdict = np.asarray(reference), np.asarray(verdict)
    if reference.shape != verdict.shape:
        raise ValueError(f"{reference.shape[0]} reference labels for {verdict.shape[0]} verdicts")
    if len(reference) and reference.max() >= NO_VERDICT:
        raise ValueError("an item without a reference label cannot be scored: leave it out first")
    counts = np.zeros((len(reference), len(LABELS), NO_VERDICT + 1))
    counts[np.arange(len(reference)), reference, verdict] = 1 if weight is None else weight
    return counts


def accuracy(matrix):
    """Share of items on the diagonal, in [0, 1]; an item without a verdict counts as wrong.

    Examples
    --------
    >>> matrix = confusion(label_codes("AAB"), label_codes(["A", "tie", None])).sum(0)
    >>> round(float(accuracy(matrix)), 3)
    0.333
    """
    return ratio(np.trace(matrix[..., :NO_VERDICT], axis1=-2, axis2=-1), matrix.sum((-2, -1)))


def per_class(matrix, labels=LABELS):
    """Precision, recall and F1 of each label.

    Parameters
    ----------
    matrix : array, shape (..., 3, 4)
        Confusion counts.
    labels : sequence of str
        The label set of the benchmark. Stated, never read off the data: scikit-learn averages over whatever labels
        occur, so one stray tie on a two-way set would cost a whole class.

    Returns
    -------
    tuple of three arrays, shape (..., len(labels)), in [0, 1]
    """
    index = [LABELS.index(label) for label in labels]
    hits = np.stack([matrix[..., i, i] for i in index], -1)
    predicted = np.stack([matrix[..., :, i].sum(-1) for i in index], -1)
    actual = np.stack([matrix[..., i, :].sum(-1) for i in index], -1)
    return ratio(hits, predicted), ratio(hits, actual), ratio(2 * hits, predicted + actual)


def macro(matrix, labels=LABELS):
    """Macro-averaged precision, recall and F1 over a fixed label set, each in [0, 1]."""
    return tuple(values.mean(-1) for values in per_class(matrix, labels))


def cohen_kappa(matrix):
    """Cohen's kappa between reference and verdict, in [-1, 1]; items without a verdict are left out.

    Notes
    -----
    (observed - expected) / (1 - expected) with the two raters' own marginals; 0 where both are constant.
    """
    square = matrix[..., :NO_VERDICT]
    total = square.sum((-2, -1))
    observed = ratio(np.trace(square, axis1=-2, axis2=-1), total)
    expected = ratio((square.sum(-1) * square.sum(-2)).sum(-1), total**2)
    return ratio(observed - expected, 1 - expected)


def balanced_accuracy(matrix, labels=LABELS):
    """Mean recall over the labels that occur in the reference, in [0, 1].

    Notes
    -----
    A label of the set that no reference has is left out (as scikit-learn does), where `macro` counts it as 0. An
    item without a verdict counts as wrong.

    Examples
    --------
    >>> matrix = confusion(label_codes("AAAB"), label_codes("AAAA")).sum(0)
    >>> float(balanced_accuracy(matrix))
    0.5
    """
    index = [LABELS.index(label) for label in labels]
    present = np.stack([matrix[..., i, :].sum(-1) > 0 for i in index], -1)
    return ratio(per_class(matrix, labels)[1].sum(-1), present.sum(-1))


def matthews_correlation(matrix):
    """Matthews correlation of reference and verdict for any number of labels, in [-1, 1].

    Notes
    -----
    Gorodkin (2004), Computational Biology and Chemistry 28: the correlation of two one-hot coded variables. "No
    verdict" is a fourth class that is never right; 0 where either side is constant.

    Examples
    --------
    >>> float(matthews_correlation(confusion(label_codes("AABB"), label_codes("AABB")).sum(0)))
    1.0
    """
    said = matrix.sum(-2)
    actual = np.concatenate([matrix.sum(-1), np.zeros((*matrix.shape[:-2], 1))], -1)
    total = said.sum(-1)
    covariance = np.trace(matrix, axis1=-2, axis2=-1) * total - (said * actual).sum(-1)
    spread = [np.maximum(total**2 - (counts**2).sum(-1), 0) for counts in (said, actual)]
    return ratio(covariance, np.sqrt(spread[0] * spread[1]))


def probability_losses(probabilities, reference):
    """Negative log-likelihood and Brier score of each item.

    Parameters
    ----------
    probabilities : array, shape (n_items, 3)
        Probabilities of A, B, tie; rows sum to one.
    reference : array of int, shape (n_items,)

    Returns
    -------
    nll : array, shape (n_items,)
        In nats; probabilities are floored at 1e-12 so that one certain mistake stays finite.
    brier : array, shape (n_items,)
        Sum over classes of squared error, in [0, 2].

    Raises
    ------
    ValueError
        If rows do not sum to one (logits passed by mistake).
    """
    probabilities = np.asarray(probabilities, float)
    if len(probabilities) and (np.abs(probabilities.sum(-1) - 1) > 1e-3).any():
        raise ValueError("probabilities must sum to one over A, B, tie")
    at_reference = probabilities[np.arange(len(reference)), reference]
    target = np.eye(len(LABELS))[reference]
    return -np.log(np.maximum(at_reference, 1e-12)), ((probabilities - target) ** 2).sum(-1)


def reliability_bins(confidence, correct, n_bins=15):
    """Per-item contributions to a reliability diagram.

    Parameters
    ----------
    confidence : array of float, shape (n_items,)
        Probability the judge gives to the verdict it returned, in [0, 1].
    correct : array of bool, shape (n_items,)
    n_bins : int
        Equal-width bins on [0, 1].

    Returns
    -------
    array, shape (n_items, 3, n_bins)
        Count, confidence and hits, each in the item's bin: sums over items give the diagram.

    Raises
    ------
    ValueError
        If a confidence leaves [0, 1].
    """
    confidence, correct = np.asarray(confidence, float), np.asarray(correct, float)
    if len(confidence) and (confidence.min() < 0 or confidence.max() > 1 + 1e-9):
        raise ValueError("confidence must lie in [0, 1]")
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    sums = np.zeros((len(confidence), 3, n_bins))
    rows = np.arange(len(confidence))
    sums[rows, 0, bins], sums[rows, 1, bins], sums[rows, 2, bins] = 1, confidence, correct
    return sums


def expected_calibration_error(bins):
    """Mean gap between stated confidence and observed accuracy over the bins of `reliability_bins`.

    Parameters
    ----------
    bins : array, shape (..., 3, n_bins)

    Returns
    -------
    array, in [0, 1]; 0 is calibrated.

    Notes
    -----
    Guo et al. (2017), arXiv:1706.04599. Biased upwards for few items: give an interval.

    Examples
    --------
    >>> bins = reliability_bins([0.9, 0.9, 0.9, 0.9], [1, 1, 1, 0]).sum(0)
    >>> round(float(expected_calibration_error(bins)), 3)
    0.15
    """
    return ratio(np.abs(bins[..., 1, :] - bins[..., 2, :]).sum(-1), bins[..., 0, :].sum(-1))


def pearson(x, y, weight=None):
    """Pearson's correlation, in [-1, 1]; 0 where a side is constant.

    Parameters
    ----------
    x, y : array of float, shape (n_items,) or, with weights, (..., n_items)
    weight : array, shape (..., n_items), optional
        How often each item counts: one row per bootstrap resample (`judgekit.intervals.weighted_bootstrap`).

    Returns
    -------
    array, shape (...)
    """
    x, y = paired_scores(x, y)
    weight = np.ones(x.shape[-1]) if weight is None else np.asarray(weight, float)
    total = weight.sum(-1, keepdims=True)
    x, y = (side - (weight * side).sum(-1, keepdims=True) / total for side in (x, y))
    spread = [(weight * side**2).sum(-1) for side in (x, y)]
    # Rounding leaves a spread of 1e-30 to a constant side: nothing to correlate with.
    spread = [np.where(each > 1e-12 * total[..., 0], each, 0) for each in spread]
    return ratio((weight * x * y).sum(-1), np.sqrt(spread[0] * spread[1]))


def spearman(x, y, weight=None):
    """Spearman's rank correlation: `pearson` of mid-ranks, which are taken anew in every resample."""
    x, y = paired_scores(x, y)
    weight = np.ones(len(x)) if weight is None else np.asarray(weight, float)
    ranks = [weight @ ((1 + np.sign(side[None, :] - side[:, None])) / 2) for side in (x, y)]
    return pearson(*ranks, weight)


def kendall(x, y, weight=None):
    """Kendall's tau-b, in [-1, 1]; 0 where a side is constant.

    Notes
    -----
    A quadratic form of the weights, so that all resamples are two matrix products; memory grows with n_items
    squared (72 MB a matrix for 3,000 items).
    """
    x, y = paired_scores(x, y)
    weight = np.ones(len(x)) if weight is None else np.asarray(weight, float)
    signs = [np.sign(np.subtract.outer(side, side)) for side in (x, y)]
    agreeing, *untied = (
        ((weight @ form) * weight).sum(-1) for form in (signs[0] * signs[1], np.abs(signs[0]), np.abs(signs[1]))
    )
    return ratio(agreeing, np.sqrt(untied[0] * untied[1]))


def paired_scores(x, y):
    """Two lists of finite scores of equal length, as arrays.

    Raises
    ------
    ValueError
        If the lengths differ, or a score is NaN or infinite.
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    if x.shape != y.shape or not x.size:
        raise ValueError(f"scores of shape {x.shape} against {y.shape}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("a score is missing or infinite: leave the item out first")
    return x, y
