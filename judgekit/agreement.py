"""Agreement of several raters beyond chance, as functions of additive counts.

Ratings of an item are counted by category, every item adds a few numbers, and the coefficients are functions of their
sums: like `judgekit.metrics`, so that they can be resampled by cluster. All functions accept leading batch dimensions.
"""

import numpy as np

MISSING = -1


def rating_counts(ratings, n_labels):
    """How many raters put each item into each category.

    Parameters
    ----------
    ratings : array of int, shape (n_items, n_raters)
        Category codes; -1 where a rater did not rate the item.
    n_labels : int

    Returns
    -------
    array, shape (n_items, n_labels)
    """
    ratings = np.asarray(ratings)
    if ratings.size and (ratings.min() < MISSING or ratings.max() >= n_labels):
        raise ValueError(f"ratings must be codes 0 to {n_labels - 1}, or {MISSING} where there is none")
    return (ratings[..., None] == np.arange(n_labels)).sum(1).astype(float)


def fleiss_sums(counts):
    """What each item adds to Fleiss' kappa.

    Parameters
    ----------
    counts : array, shape (n_items, n_labels)
        `rating_counts`; every item rated equally often, at least twice.

    Returns
    -------
    array, shape (n_items, 2 + n_labels)
        One, the share of agreeing pairs of raters, and the share of each category.

    Raises
    ------
    ValueError
        If items were rated by different numbers of raters: `krippendorff_alpha` is for those.
    """
    counts = np.asarray(counts, float)
    raters = counts.sum(1)
    if not len(raters) or raters.min() < 2 or raters.min() != raters.max():
        raise ValueError("Fleiss' kappa wants the same number of ratings, two or more, for every item")
    agreeing = (counts * (counts - 1)).sum(1) / (raters * (raters - 1))
    return np.column_stack([np.ones(len(counts)), agreeing, counts / raters[:, None]])


def fleiss_kappa(sums):
    """Fleiss' kappa of items rated equally often, in [-1, 1]; 0 where one category is all there is.

    Parameters
    ----------
    sums : array, shape (..., 2 + n_labels)
        Sums of `fleiss_sums` over items.

    Notes
    -----
    Fleiss (1971), Psychological Bulletin 76. The raters of one item need not be those of another.

    Examples
    --------
    >>> counts = rating_counts([[0, 0, 0], [1, 1, 1], [0, 1, 1]], 2)
    >>> round(float(fleiss_kappa(fleiss_sums(counts).sum(0))), 3)
    0.55
    """
    sums = np.asarray(sums, float)
    means = sums[..., 1:] / sums[..., :1]
    return corrected(means[..., 0], (means[..., 1:] ** 2).sum(-1))


def corrected(observed, expected):
    """Agreement beyond chance as a share of what there is to gain; 0 where chance explains everything."""
    room = 1 - np.asarray(expected, float)
    gain = np.where(room > 1e-12, observed - expected, 0)
    return gain / np.where(room > 1e-12, room, 1)


def coincidences(counts):
    """What each item adds to the coincidence matrix of Krippendorff's alpha.

    Parameters
    ----------
    counts : array, shape (n_items, n_labels)
        `rating_counts`; items with fewer than two ratings add nothing.

    Returns
    -------
    array, shape (n_items, n_labels, n_labels)
        Ordered pairs of ratings within the item, each weighted by 1 / (ratings - 1).
    """
    counts = np.asarray(counts, float)
    raters = counts.sum(1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[1])
    weight = np.where(raters > 1, 1 / np.maximum(raters - 1, 1), 0)
    return pairs * weight[:, None, None]


def krippendorff_alpha(coincidence, values=None):
    """Krippendorff's alpha; 1 is perfect agreement, 0 what chance gives, 0 too where nothing varies.

    Parameters
    ----------
    coincidence : array, shape (..., n_labels, n_labels)
        Sum of `coincidences` over items.
    values : array of float, shape (n_labels,), optional
        Numbers that the categories stand for; disagreement is then their squared difference (interval alpha).
        Without it categories are names (nominal alpha).

    Notes
    -----
    Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", University of Pennsylvania. Any number of
    raters, any ratings missing.

    Examples
    --------
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
