"""Labels that are known to be wrong because they were exchanged: whether scores find them."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from judgekit.stats import Array, Floats, Number, cluster_bootstrap, cluster_sums, ratio, weighted_bootstrap


def flipped_rows(n_pairs: int, share: float, seed: int | Sequence[int]) -> npt.NDArray[np.bool_]:
    """Which labels are exchanged: ``round(n_pairs * share)`` of them, drawn at random.

    ValueError for a share that is not in [0, 1].
    """
    if not 0 <= share <= 1:
        raise ValueError(f"a share of {share} labels cannot be exchanged")
    flipped = np.zeros(n_pairs, bool)
    flipped[np.random.default_rng(seed).choice(n_pairs, size=round(n_pairs * share), replace=False)] = True
    return flipped


def flip_auc(scores: Array, flipped: Array, weight: Array | None = None) -> Floats:
    """How well low scores tell exchanged labels from the others, in [0, 1]; one half says nothing.

    The probability that an exchanged label scores lower than another one, equal scores counting half. ``scores``,
    ``flipped`` (bool): shape (n_pairs,); ``weight``: how often each pair counts, shape (..., n_pairs), which gives
    shape (...). ValueError where all labels are exchanged, or none is.

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


def mean_flip_auc(scores: Array, flipped: Array, clusters: Sequence[str], n_boot: int = 1000, seed: int = 0) -> Number:
    """Mean of `flip_auc` over draws of the exchanged labels, the prompts being resampled.

    ``scores``, ``flipped``: shape (n_draws, n_pairs); ``clusters``: the prompt of each pair.
    """

    def mean(weight: Floats) -> Floats:
        return np.mean([flip_auc(*draw, weight) for draw in zip(scores, flipped, strict=True)], axis=0)

    return Number(*weighted_bootstrap(mean, clusters, n_boot, seed), n=len(clusters), spec=".3f")


def flipped_among(
    chosen: Array, flipped: Array, clusters: Sequence[str], n_boot: int = 10_000, seed: int = 0
) -> Number:
    """Share of exchanged labels among the pairs that a rule picks out, over all draws together, in [0, 1].

    ``chosen``, ``flipped``: arrays of bool, shape (n_draws, n_pairs); ``clusters``: the prompt of each pair, which is
    resampled. Its n counts the pairs picked out; ValueError where there is none.
    """
    chosen, flipped = np.asarray(chosen, bool), np.asarray(flipped, bool)
    if not chosen.any():
        raise ValueError("the rule picks out no pair")
    sums = cluster_sums(np.column_stack([(chosen & flipped).sum(0), chosen.sum(0)]), clusters)
    found = cluster_bootstrap(sums, lambda s: ratio(s[..., 0], s[..., 1]), n_boot, seed)
    return Number(*found, n=int(chosen.sum()), spec=".1%")
