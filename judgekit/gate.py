"""Is one of two responses beside the question? A gate in front of a preference model.

Where both responses are about the question, the better one should win; where one of them answers something else, the
other should, however good the first one looks. The probability of the second case is a logistic function of three
cosines, so a verdict is a mixture of two:

    P = (1 - off) * preference + off * (side, 1 - side, 0)

``off`` depends on what is symmetric in the responses and ``side`` on the difference of their cosines with the
question, so exchanging the responses exchanges the probabilities and does nothing else.
"""

import numpy as np

GATE_FEATURES = ("lower_cosine", "cosine_gap", "likeness")


def gate_features(cosine_a, cosine_b, likeness):
    """Symmetric features of two responses to a question.

    Parameters
    ----------
    cosine_a, cosine_b : array, shape (n,)
        Cosines in [-1, 1] of each response's embedding with the question's.
    likeness : array, shape (n,)
        Cosine of the two responses: two responses on the same subject are both on the subject, or both off it.

    Returns
    -------
    array, shape (n, 3)
        In the order of `GATE_FEATURES`.
    """
    cosine_a, cosine_b = np.asarray(cosine_a, float), np.asarray(cosine_b, float)
    return np.stack([np.minimum(cosine_a, cosine_b), np.abs(cosine_a - cosine_b), likeness], axis=-1)


def sigmoid(values):
    """Logistic function, without overflow."""
    return np.exp(-np.logaddexp(0, -np.asarray(values, float)))


def gated(outcomes, cosine_a, cosine_b, likeness, parts):
    """Probabilities of A, B and tie behind the gate.

    Parameters
    ----------
    outcomes : array, shape (n, 3)
        Of the preference model.
    cosine_a, cosine_b, likeness : array, shape (n,)
        As for `gate_features`.
    parts : dict
        ``weight`` (3 numbers), ``bias`` and ``slope`` (1 each), as `judgekit.training.gate.fit_gate` finds them. A
        bias of minus infinity leaves the gate open.

    Returns
    -------
    array, shape (n, 3)
        Rows sum to one.

    Examples
    --------
    >>> shut = {"weight": [0, 0, 0], "bias": 50, "slope": 100}
    >>> gated([[0.1, 0.8, 0.1]], [0.9], [0.1], [0.0], shut).round(3).tolist()
    [[1.0, 0.0, 0.0]]
    """
    difference = np.asarray(cosine_a, float) - np.asarray(cosine_b, float)
    off = sigmoid(gate_features(cosine_a, cosine_b, likeness) @ np.asarray(parts["weight"], float) + parts["bias"])
    side = sigmoid(parts["slope"] * difference)
    other = np.stack([side, 1 - side, np.zeros_like(side)], axis=-1)
    return (1 - off)[..., None] * np.asarray(outcomes, float) + off[..., None] * other
