"""Is one of two responses beside the question? A gate in front of a preference model.

Where both responses are about the question, the better one should win; where one of them answers something else, the
other should, however good the first one looks. Two steps:

1. How likely a response was meant for its question is a logistic function of their cosine and of how far that cosine
   leads those with other questions: a response that fits some other question better was hardly meant for this one.
2. The probability that one of two responses is beside the question is a logistic function of their relevance, and a
   verdict is a mixture of two: ``P = (1 - off) * preference + off * (side, 1 - side, 0)``.

``off`` depends on what is symmetric in the responses and ``side`` on the difference of their relevance, so exchanging
the responses exchanges the probabilities and does nothing else.
"""

import numpy as np

RELEVANCE_INPUTS = ("cosine", "lead", "lead_of_five")
GATE_FEATURES = ("lower_relevance", "relevance_gap", "likeness")
CLOSEST = 5  # other questions that a response's cosine is compared with
PARAPHRASE = 0.88  # cosine from which a question counts as another wording: its response may be right for both
OPEN = {"weight": [0.0] * len(GATE_FEATURES), "bias": float("-inf"), "slope": 0.0}


def relevance_inputs(questions, responses, others):
    """What relevance is read from.

    Parameters
    ----------
    questions, responses : array, shape (n, width)
        Unit embeddings of each question and of a response to it.
    others : array, shape (n_others, width)
        Unit embeddings of other questions; those that are another wording of the question asked do not count.

    Returns
    -------
    array, shape (n, 3)
        In the order of `RELEVANCE_INPUTS`: the cosine, its lead over the closest other question, and its lead over the
        mean of the five closest. With no other question the leads are over a cosine of zero.
    """
    questions, responses, others = (np.asarray(each, np.float32) for each in (questions, responses, others))
    cosine = (questions * responses).sum(-1)
    closest = np.zeros((len(questions), 1), np.float32)
    if len(others):
        cosines = np.where(questions @ others.T > PARAPHRASE, 0, responses @ others.T)
        closest = -np.partition(-cosines, min(CLOSEST, len(others)) - 1, axis=-1)[:, :CLOSEST]
    return np.stack([cosine, cosine - closest.max(-1), cosine - closest.mean(-1)], axis=-1).astype(float)


def relevance_of(inputs, parts):
    """Log odds that each response was meant for its question, shape (n,).

    Parameters
    ----------
    inputs : array, shape (n, 3)
        As `relevance_inputs` gives them.
    parts : dict
        ``weight`` (3 numbers) and ``bias``, as `judgekit.training.gate.fit_relevance` finds them.
    """
    return np.asarray(inputs, float) @ np.asarray(parts["weight"], float) + parts["bias"]


def gate_features(relevance_a, relevance_b, likeness):
    """Symmetric features of two responses to a question.

    Parameters
    ----------
    relevance_a, relevance_b : array, shape (n,)
        Log odds.
    likeness : array, shape (n,)
        Cosine of the two responses: two responses on the same subject are both on the subject, or both off it.

    Returns
    -------
    array, shape (n, 3)
        In the order of `GATE_FEATURES`.
    """
    relevance_a, relevance_b = np.asarray(relevance_a, float), np.asarray(relevance_b, float)
    return np.stack([np.minimum(relevance_a, relevance_b), np.abs(relevance_a - relevance_b), likeness], axis=-1)


def sigmoid(values):
    """Logistic function, without overflow."""
    return np.exp(-np.logaddexp(0, -np.asarray(values, float)))


def mixture(outcomes, to_a, to_b):
    """Outcomes of which a share is decided otherwise: ``(1 - to_a - to_b) * outcomes + (to_a, to_b, 0)``.

    Parameters
    ----------
    outcomes : array, shape (n, 3)
        Probabilities of A, B and tie.
    to_a, to_b : array, shape (n,)
        Probability that A, and that B, wins whatever the outcomes say.

    Returns
    -------
    array, shape (n, 3)
        Rows sum to one.
    """
    other = np.stack([to_a, to_b, np.zeros_like(to_a)], axis=-1)
    return (1 - to_a - to_b)[..., None] * np.asarray(outcomes, float) + other


def gated(outcomes, relevance_a, relevance_b, likeness, parts):
    """Probabilities of A, B and tie behind the gate.

    Parameters
    ----------
    outcomes : array, shape (n, 3)
        Of the preference model.
    relevance_a, relevance_b, likeness : array, shape (n,)
        As for `gate_features`.
    parts : dict
        ``weight`` (3 numbers), ``bias`` and ``slope`` (1 each), as `judgekit.training.gate.fit_gate` finds them;
        `OPEN` changes nothing.

    Returns
    -------
    array, shape (n, 3)
        Rows sum to one.

    Examples
    --------
    >>> shut = {"weight": [0, 0, 0], "bias": 50, "slope": 100}
    >>> gated([[0.1, 0.8, 0.1]], [2.0], [-1.0], [0.0], shut).round(3).tolist()
    [[1.0, 0.0, 0.0]]
    """
    difference = np.asarray(relevance_a, float) - np.asarray(relevance_b, float)
    off = sigmoid(gate_features(relevance_a, relevance_b, likeness) @ np.asarray(parts["weight"]) + parts["bias"])
    side = sigmoid(parts["slope"] * difference)
    return mixture(outcomes, off * side, off * (1 - side))
