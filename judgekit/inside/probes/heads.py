"""What a probe predicts: its classes, and which classifier families may predict them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from judgekit.stats import Array

GOOD = 4  # lowest good score of 5, as in the representation-as-a-judge study
CLASSIFIERS = ("logistic", "linear_svm", "rbf_svm", "forest", "mlp")


@dataclass(frozen=True)
class Head:
    """The labels of a probe.

    ``classes``: in ascending order. Stated, never read off the data: a class that a fold lacks still counts in macro
    F1. ``families``: classifier families that may be tried (`judgekit.inside.probes.families`); the first one ranks
    layers.
    """

    name: str
    classes: tuple
    families: tuple = CLASSIFIERS


HEADS = {
    "binary": Head("binary", (0, 1)),
    "five": Head("five", (1, 2, 3, 4, 5)),
    "ordinal": Head("ordinal", (1, 2, 3, 4, 5), ("ordinal",)),
    "pair": Head("pair", (0, 1), ("pair_logistic",)),  # on differences A - B; 1 where A is preferred
}


def binary_labels(scores: "Array", threshold: float = GOOD) -> np.ndarray:
    """Scores as good (1) or not (0), shape (n_items,); ``threshold``: lowest good score.

    >>> binary_labels([1, 3, 4, 5]).tolist()
    [0, 0, 1, 1]
    """
    return (np.asarray(scores, float) >= threshold).astype(int)


def checked_labels(labels: "Array", head: Head) -> np.ndarray:
    """Labels as an array of int; ValueError where one is no class of the head, or fewer than two classes occur."""
    labels = np.asarray(labels)
    strange = sorted({label for label in labels.tolist() if label not in head.classes})
    if strange:
        raise ValueError(
            f"label {strange[0]!r} is no class of the head {head.name}: {', '.join(map(str, head.classes))}"
        )
    if len(set(labels.tolist())) < 2:
        raise ValueError(f"all {len(labels)} labels are equal: there is nothing to predict")
    return labels.astype(int)
