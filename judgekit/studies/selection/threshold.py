"""A threshold on scores, chosen on validation pairs and on nothing else."""

from dataclasses import dataclass

import numpy as np

from judgekit.stats import Array, ratio

GRID = np.linspace(0.05, 0.95, 19)  # thresholds that are tried, on the scale from 0 to 1


@dataclass(frozen=True)
class Threshold:
    """A cut on the scale of the scores."""

    cut: float  # pairs with at least this score are kept
    level: float  # the same on the scale from 0 to 1 that was fitted on validation scores
    f1: float  # of finding wrong labels on validation pairs, in [0, 1]
    scaling: str  # range or quantile


def choose_threshold(right: Array, wrong: Array, wrong_share: float, scaling: str = "quantile") -> Threshold:
    """The threshold below which wrong labels are found best on validation pairs: the lowest of the best of `GRID`.

    ``right``, ``wrong``: scores of the pairs under their own labels and under the exchanged ones, shape (n_pairs,).
    ``wrong_share``: share of wrong labels, in (0, 1), that is expected in the pool: what F1 is computed for.
    ``scaling``: what 0 to 1 means: shares of the validation scores (quantile), or the way from the lowest to the
    highest of them (range).

    LAGER's self-knowledge task cuts scores scaled from their lowest to their highest value at a fixed level and takes
    both from the test set. Here the scale and the level come from validation pairs, and the pool is cut where they
    say. Every pair counts with both labels, the exchanged one weighted by the expected share, so nothing is drawn.

    ValueError where there are no scores, the arrays differ in shape, or the share or the scaling is none.

    >>> choose_threshold([0.9, 0.8, 0.7], [0.1, 0.2, 0.3], 0.2, "range").f1
    1.0
    """
    right, wrong = np.asarray(right, float), np.asarray(wrong, float)
    if right.shape != wrong.shape or right.ndim != 1 or not len(right):
        raise ValueError(f"scores of shape {right.shape} under the labels and {wrong.shape} under exchanged ones")
    if not 0 < wrong_share < 1:
        raise ValueError(f"a share of wrong labels of {wrong_share} is not in (0, 1)")
    both = np.concatenate([right, wrong])
    if scaling == "quantile":
        weight = np.repeat([1 - wrong_share, wrong_share], len(right))
        order = np.argsort(both, kind="stable")
        cuts = np.interp(GRID, np.cumsum(weight[order]) / weight.sum(), both[order])
    elif scaling == "range":
        cuts = both.min() + GRID * (both.max() - both.min())
    else:
        raise ValueError(f"scaling {scaling!r} is neither 'quantile' nor 'range'")
    found = wrong_share * (wrong < cuts[:, None]).mean(1)
    alarms = (1 - wrong_share) * (right < cuts[:, None]).mean(1)
    f1 = ratio(2 * found, found + alarms + wrong_share)
    best = int(f1.argmax())
    return Threshold(float(cuts[best]), float(GRID[best]), float(f1[best]), scaling)
