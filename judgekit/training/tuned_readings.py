"""What class probabilities say under each head, and how good they are."""

import numpy as np

from judgekit.inside.probes.heads import GOOD


def ranked_probability_score(probabilities, codes):
    """Mean squared error of the cumulative probabilities, averaged over the cuts between classes, in [0, 1].

    Parameters
    ----------
    probabilities : array, shape (n_items, n_classes)
        Classes in ascending order.
    codes : array of int, shape (n_items,)
        Place of the right class.

    Notes
    -----
    Epstein (1969), Journal of Applied Meteorology 8. Each cut is a Brier score of a binary reading, so one number
    judges what the five-class, the binary and the ordinal reading are made of; unlike the log-likelihood it is
    bounded, and it varies less than an F1 over few items.

    Examples
    --------
    >>> ranked_probability_score(np.array([[0.0, 0.0, 1.0]]), np.array([0]))
    1.0
    """
    p = np.asarray(probabilities, float)
    passed = np.asarray(codes)[:, None] <= np.arange(p.shape[1] - 1)
    return float(((p.cumsum(1)[:, :-1] - passed) ** 2).mean())


def readings(probabilities, head, classes=(1, 2, 3, 4, 5)):
    """What class probabilities say under a head of `judgekit.inside.probes.heads`.

    Parameters
    ----------
    probabilities : array, shape (n_items, n_classes)
    head : {"five", "binary", "ordinal"}
        The most probable score; whether it is good (4 or more); the most probable score again.
    classes : sequence of int

    Returns
    -------
    predicted : array of int, shape (n_items,)
    scores : array of float, shape (n_items,)
        Expected score; for ``binary`` the probability of a good one, p(4) + p(5).

    Raises
    ------
    ValueError
        If there is no such head.

    Notes
    -----
    ``ordinal`` is read as ``five`` is: the median or the rounded mean of an unsure forecast is nearly always a middle
    score, and F1 would punish the baseline for that.

    Examples
    --------
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
