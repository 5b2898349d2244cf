"""How good predicted classes are: weighted and macro F1, accuracy and Spearman's correlation, by question."""

from functools import partial

import numpy as np

from judgekit.stats import Array, Floats, cluster_bootstrap, cluster_sums, ratio, spearman, weighted_bootstrap


def class_counts(labels: Array, predicted: Array, classes: Array) -> Floats:
    """One confusion matrix per item, shape (n_items, n_classes, n_classes): a single count at (label, predicted class).

    ``classes``: ascending. ValueError where the lengths differ, or a value is none of the classes.
    """
    classes, sides = np.asarray(classes), [np.asarray(labels), np.asarray(predicted)]
    if sides[0].shape != sides[1].shape:
        raise ValueError(f"{len(sides[0])} labels for {len(sides[1])} predictions")
    for side in sides:
        if not np.isin(side, classes).all():
            raise ValueError(f"{side[~np.isin(side, classes)][0]} is none of the classes {classes.tolist()}")
    counts = np.zeros((len(sides[0]), len(classes), len(classes)))
    counts[np.arange(len(sides[0])), *(np.searchsorted(classes, side) for side in sides)] = 1
    return counts


def accuracy(matrix: Floats) -> Floats:
    """Share of items on the diagonal of confusion counts, shape (..., n_classes, n_classes)."""
    return ratio(np.trace(matrix, axis1=-2, axis2=-1), matrix.sum((-2, -1)))


def class_f1(matrix: Floats) -> Floats:
    """F1 of each class, shape (..., n_classes); 0 for a class that neither occurs nor is predicted."""
    return ratio(2 * np.diagonal(matrix, axis1=-2, axis2=-1), matrix.sum(-1) + matrix.sum(-2))


def macro_f1(matrix: Floats) -> Floats:
    """Mean F1 over all classes of the head, in [0, 1].

    >>> counts = class_counts([0, 0, 1, 1], [0, 0, 0, 1], (0, 1)).sum(0)
    >>> round(float(macro_f1(counts)), 4)  # (0.8 + 2/3) / 2
    0.7333
    """
    return class_f1(matrix).mean(-1)


def weighted_f1(matrix: Floats) -> Floats:
    """Mean F1 over classes, each weighted by how often it is the label, in [0, 1]."""
    support = matrix.sum(-1)
    return ratio((class_f1(matrix) * support).sum(-1), support.sum(-1))


METRICS = {"weighted_f1": weighted_f1, "macro_f1": macro_f1, "accuracy": accuracy}


def scored(
    labels: Array, predicted: Array, scores: Array, groups: Array, classes: Array, n_boot: int = 2000, seed: int = 0
) -> dict[str, tuple[float, float, float]]:
    """Weighted F1, macro F1, accuracy and Spearman's correlation of out-of-fold predictions, each with its interval.

    ``scores``: expected class, or the predicted class where a family gives no probabilities; only for Spearman.
    ``groups``: question of each item; questions are resampled, not items.

    The interval tells how much the score of these predictions varies with the questions drawn; that other training sets
    would have given other probes is not in it.
    """
    sums = cluster_sums(class_counts(labels, predicted, classes), groups)
    found = {name: cluster_bootstrap(sums, metric, n_boot, seed) for name, metric in METRICS.items()}
    return found | {"spearman": weighted_bootstrap(partial(spearman, labels, scores), groups, n_boot, seed)}
