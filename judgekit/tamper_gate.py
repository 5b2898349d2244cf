"""Was a response tampered with? A second gate of the encoder judge, for responses that were made to please judges.

What is added to a response stands at its beginning or at its end, and shows in its looks. So the odds that a response
was tampered with are a logistic function of its surface features and of the embeddings of its two ends, each read by
itself: in the embedding of the whole a single sentence is drowned. Where one of two responses was tampered with and the
other one was not, the other one should win; ``P = (1 - a - b) * verdict + a * (0, 1, 0) + b * (1, 0, 0)`` with ``a``
and ``b`` the probabilities that only A and that only B was. Exchanging the responses exchanges the probabilities and
does nothing else.
"""

import numpy as np

from judgekit.gate import mixture, sigmoid

END = 40  # tokens read of either end
PARTS = ("features", "head", "tail")


def tamper_odds(inputs, parts):
    """Log odds that responses were tampered with, shape (n,).

    Parameters
    ----------
    inputs : dict of str to array, shape (n, width of the part)
        ``features`` (standardised surface features), ``head`` and ``tail`` (unit embeddings of the ends).
    parts : dict
        A list of weights for each of `PARTS` that is used, and ``bias``, as `judgekit.training.defence.fit_tamper`
        finds them.
    """
    odds = np.full(len(next(iter(inputs.values()))), float(parts["bias"]))
    for name in PARTS:
        if name in parts:
            odds += np.asarray(inputs[name], float) @ np.asarray(parts[name], float)
    return odds


def against_tampering(outcomes, odds_a, odds_b):
    """Probabilities of A, B and tie behind the gate.

    Parameters
    ----------
    outcomes : array, shape (n, 3)
        Of the judge without it.
    odds_a, odds_b : array, shape (n,)
        Log odds that each response was tampered with.

    Returns
    -------
    array, shape (n, 3)
        Rows sum to one.

    Examples
    --------
    >>> against_tampering([[0.8, 0.1, 0.1]], [50.0], [-50.0]).round(3).tolist()
    [[0.0, 1.0, 0.0]]
    >>> against_tampering([[0.8, 0.1, 0.1]], [50.0], [50.0]).round(3).tolist()
    [[0.8, 0.1, 0.1]]
    """
    a, b = sigmoid(odds_a), sigmoid(odds_b)
    return mixture(outcomes, b * (1 - a), a * (1 - b))
