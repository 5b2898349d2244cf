"""Labels that are known to be wrong because they were exchanged: whether scores find them."""

import numpy as np

from judgekit.stats import Number, cluster_bootstrap, cluster_sums, ratio, weighted_bootstrap


def flipped_rows(n_pairs, share, seed):
    """Which labels are exchanged: ``round(n_pairs * share)`` of them, drawn at random.

    Parameters
    ----------
    n_pairs : int
    share : float, in [0, 1]
    seed : int or sequence of int

    Returns
    -------
    array of bool, shape (n_pairs,)
    """
    if not 0 <= share <= 1:
        raise ValueError(f"a share of {share} labels cannot be exchanged")
    flipped = np.zeros(n_pairs, bool)
    flipped[np.random.default_rng(seed).choice(n_pairs, size=round(n_pairs * share), replace=False)] = True
    return flipped


def flip_auc(scores, flipped, weight=None):
    """How well low scores tell exchanged labels from the others.

    Parameters
    ----------
    scores : array of float, shape (n_pairs,)
    flipped : array of bool, shape (n_pairs,)
    weight : array, shape (..., n_pairs), optional
        How often each pair counts.

    Returns
    -------
    float or array, shape (...), in [0, 1]
        The probability that an exchanged label scores lower than another one, equal scores counting half; one half
        says nothing.

    Examples
    --------
    >>> float(flip_auc([0.1, 0.8, 0.8, 0.9], [True, True, False, False]))
    0.875
    """
    scores, flipped = np.asarray(scores, float), np.asarray(flipped, bool)
    if flipped.all() or not flipped.any():
        raise ValueError("some labels must be exchanged, and some not")
    weight = np.ones(len(scores)) if weight is None else np.asarray(weight, float)
    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.diff(scores[order], prepend=-np.inf))
    wrong, right = (np.add.reduceat((weight * side)[..., order], starts, axis=-1) for side in (flipped, ~flipped))
    above = right.sum(-1, keepdims=True) - right.cumsum(-1)
    return (wrong * (above + right / 2)).sum(-1) / (wrong.sum(-1) * right.sum(-1))


def mean_flip_auc(scores, flipped, clusters, n_boot=1000, seed=0):
    """`flip_auc` averaged over draws of the labels that were exchanged.

    Parameters
    ----------
    scores : array of float, shape (n_draws, n_pairs)
    flipped : array of bool, shape (n_draws, n_pairs)
    clusters : sequence, length n_pairs
        Prompts, which are resampled.
    n_boot, seed : int

    Returns
    -------
    Number
    """

    def mean(weight):
        return np.mean([flip_auc(*draw, weight) for draw in zip(scores, flipped, strict=True)], axis=0)

    return Number(*weighted_bootstrap(mean, clusters, n_boot, seed), n=len(clusters), spec=".3f")


def flipped_among(chosen, flipped, clusters, n_boot=10_000, seed=0):
    """Share of exchanged labels among the pairs that a rule picks out, over all draws together.

    Parameters
    ----------
    chosen, flipped : array of bool, shape (n_draws, n_pairs)
    clusters : sequence, length n_pairs
        Prompts, which are resampled.
    n_boot, seed : int

    Returns
    -------
    Number
        In [0, 1]; its n counts the pairs picked out.

    Raises
    ------
    ValueError
        If none is picked out.
    """
    chosen, flipped = np.asarray(chosen, bool), np.asarray(flipped, bool)
    if not chosen.any():
        raise ValueError("the rule picks out no pair")
    sums = cluster_sums(np.column_stack([(chosen & flipped).sum(0), chosen.sum(0)]), clusters)
    found = cluster_bootstrap(sums, lambda s: ratio(s[..., 0], s[..., 1]), n_boot, seed)
    return Number(*found, n=int(chosen.sum()), spec=".1%")
