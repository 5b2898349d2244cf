"""What class probabilities say under each head, and how good they are."""

import numpy as np

from judgekit.inside.probes import GOOD
from judgekit.stats import Array


def ranked_probability_score(probabilities: Array, codes: Array) -> float:
    """Mean squared error of the cumulative probabilities, averaged over the cuts between classes, in [0, 1].

    ``probabilities``: shape (n_items, n_classes), classes in ascending order; ``codes``: position of the right class.

    Epstein (1969), Journal of Applied Meteorology 8. Each cut is a Brier score of a binary reading, so one number
    judges what the five-class, the binary and the ordinal reading are made of; unlike the log-likelihood it is
    bounded, and it varies less than an F1 over few items.

    >>> ranked_probability_score(np.array([[0.0, 0.0, 1.0]]), np.array([0]))
    1.0
    """
    p = np.asarray(probabilities, float)
    passed = np.asarray(codes)[:, None] <= np.arange(p.shape[1] - 1)
    return float(((p.cumsum(1)[:, :-1] - passed) ** 2).mean())


def readings(probabilities: Array, head: str, classes: Array = (1, 2, 3, 4, 5)) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and scores, shape (n_items,), by class probabilities under a head of `judgekit.inside.probes`.

    ``five``: the most probable score; ``binary``: whether it is good (4 or more); ``ordinal``: as ``five``, since the
    median or the rounded mean of an unsure forecast is nearly always a middle score, and F1 would punish the baseline
    for that. Scores: the expected one; for ``binary`` the probability of a good one, p(4) + p(5). ValueError if there
    is no such head.

    >>> p = np.array([[0.0, 0.1, 0.3, 0.35, 0.25]])
    >>> [readings(p, head)[0].tolist() for head in ("five", "binary", "ordinal")]
    [[4], [1], [4]]
    """
    p, classes = np.asarray(probabilities, float), np.asarray(classes)
    if head == "binary":
        good = p[:, classes >= GOOD].sum(1)
        return (good >= 0.5).astype(int), good
    if head in ("five", "ordinal"):
        return classes[p.argmax(1)], p @ classes
    raise ValueError(f"head {head!r} is none of five, binary, ordinal")
