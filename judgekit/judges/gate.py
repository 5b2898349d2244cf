"""Two gates of the encoder judge in front of its preference: off-topic responses, and responses made to please judges.

Off-topic: how likely a response was meant for its question is a logistic function of their cosine and of how far that
leads those with other questions; the probability ``off`` that one of two responses is off-topic is one of their
relevance, and ``P = (1 - off) * preference + off * (side, 1 - side, 0)``. ``off`` depends on what is symmetric in the
responses and ``side`` on the difference of their relevance.

Tampering: the odds are a logistic function of surface features and of the embeddings of a response's two ends, each
read by itself. With ``a`` and ``b`` the probabilities that only A and that only B was tampered with,
``P = (1 - a - b) * verdict + a * (0, 1, 0) + b * (1, 0, 0)``.

Exchanging the responses exchanges the probabilities and does nothing else. Log odds have shape (n,), outcomes
(probabilities of A, B and tie) shape (n, 3).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

RELEVANCE_INPUTS = ("cosine", "lead", "lead_of_five")
GATE_FEATURES = ("lower_relevance", "relevance_gap", "likeness")
PARAPHRASE = 0.88  # cosine from which a question counts as another wording: its response may be right for both
OPEN = {"weight": [0.0] * len(GATE_FEATURES), "bias": float("-inf"), "slope": 0.0}  # a gate that changes nothing
END = 40  # tokens read of either end of a response
PARTS = ("features", "head", "tail")
_CLOSEST = 5  # other questions that a response's cosine is compared with
Array = np.ndarray[Any, Any]


def relevance_inputs(questions: ArrayLike, responses: ArrayLike, others: ArrayLike) -> Array:
    """`RELEVANCE_INPUTS` of responses, shape (n, 3), from unit embeddings of shape (n, width).

    Cosine with the question, its lead over the closest of the others (not other wordings), over the mean of five.
    """
    questions, responses, others = (np.asarray(each, np.float32) for each in (questions, responses, others))
    cosine = (questions * responses).sum(-1)
    closest = np.zeros((len(questions), 1), np.float32)
    if len(others):
        cosines = np.where(questions @ others.T > PARAPHRASE, 0, responses @ others.T)
        closest = -np.partition(-cosines, min(_CLOSEST, len(others)) - 1, axis=-1)[:, :_CLOSEST]
    return np.stack([cosine, cosine - closest.max(-1), cosine - closest.mean(-1)], axis=-1).astype(float)


def relevance_of(inputs: ArrayLike, parts: Mapping[str, Any]) -> Array:
    """Log odds that each response was meant for its question; ``parts``: a weight per input, and ``bias``."""
    return np.asarray(inputs, float) @ np.asarray(parts["weight"], float) + parts["bias"]


def gate_features(relevance_a: ArrayLike, relevance_b: ArrayLike, likeness: ArrayLike) -> Array:
    """`GATE_FEATURES` of two responses, shape (n, 3), from log odds; ``likeness``: the cosine of the two."""
    relevance_a, relevance_b = np.asarray(relevance_a, float), np.asarray(relevance_b, float)
    return np.stack([np.minimum(relevance_a, relevance_b), np.abs(relevance_a - relevance_b), likeness], axis=-1)


def sigmoid(values: ArrayLike) -> Array:
    """Logistic function, without overflow."""
    return np.exp(-np.logaddexp(0, -np.asarray(values, float)))


def _mixture(outcomes: ArrayLike, to_a: Array, to_b: Array) -> Array:
    """Outcomes of which a share is decided otherwise: ``(1 - to_a - to_b) * outcomes + (to_a, to_b, 0)``."""
    other = np.stack([to_a, to_b, np.zeros_like(to_a)], axis=-1)
    return (1 - to_a - to_b)[..., None] * np.asarray(outcomes, float) + other


def gated(
    outcomes: ArrayLike, relevance_a: ArrayLike, relevance_b: ArrayLike, likeness: ArrayLike, parts: Mapping[str, Any]
) -> Array:
    """Outcomes behind the off-topic gate; ``parts``: ``weight`` (3 numbers), ``bias`` and ``slope``.

    >>> shut = {"weight": [0, 0, 0], "bias": 50, "slope": 100}
    >>> gated([[0.1, 0.8, 0.1]], [2.0], [-1.0], [0.0], shut).round(3).tolist()
    [[1.0, 0.0, 0.0]]
    """
    difference = np.asarray(relevance_a, float) - np.asarray(relevance_b, float)
    off = sigmoid(gate_features(relevance_a, relevance_b, likeness) @ np.asarray(parts["weight"]) + parts["bias"])
    side = sigmoid(parts["slope"] * difference)
    return _mixture(outcomes, off * side, off * (1 - side))


def tamper_odds(inputs: Mapping[str, ArrayLike], parts: Mapping[str, Any]) -> Array:
    """Log odds that responses were tampered with; ``parts``: weights for each of `PARTS` that is used, and ``bias``.

    ``inputs``: ``features`` (standardised surface features), ``head`` and ``tail`` (unit embeddings of the ends).
    """
    odds = np.full(len(np.asarray(next(iter(inputs.values())))), float(parts["bias"]))
    for name in PARTS:
        if name in parts:
            odds += np.asarray(inputs[name], float) @ np.asarray(parts[name], float)
    return odds


def against_tampering(outcomes: ArrayLike, odds_a: ArrayLike, odds_b: ArrayLike) -> Array:
    """Outcomes behind the gate against tampering.

    >>> against_tampering([[0.8, 0.1, 0.1]], [50.0], [-50.0]).round(3).tolist()
    [[0.0, 1.0, 0.0]]
    """
    a, b = sigmoid(odds_a), sigmoid(odds_b)
    return _mixture(outcomes, b * (1 - a), a * (1 - b))
