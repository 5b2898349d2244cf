"""Davidson's model of paired comparison: Bradley-Terry with ties.

With strengths exp(s), the three outcomes have weights exp(s_A), exp(s_B) and nu exp((s_A + s_B) / 2); dividing by
the last, only the difference d = s_A - s_B and log nu remain: weights exp(d/2), exp(-d/2), nu. Exchanging the
responses flips the sign of d and nothing else, so a verdict cannot depend on the order shown.

Davidson (1970), Journal of the American Statistical Association 65:317-328.
"""

import numpy as np


def outcome_logits(difference, log_nu):
    """Unnormalised log-probabilities of A, B and tie.

    Parameters
    ----------
    difference : array, shape (...)
        Score of A minus score of B.
    log_nu : array, shape (...)
        Log of the tie parameter; -inf forbids ties.

    Returns
    -------
    array, shape (..., 3)
    """
    difference, log_nu = np.broadcast_arrays(np.asarray(difference, float), np.asarray(log_nu, float))
    return np.stack([difference / 2, -difference / 2, log_nu], axis=-1)


def outcome_probabilities(difference, log_nu):
    """Probabilities of A, B and tie.

    Returns
    -------
    array, shape (..., 3)
        Rows sum to one.

    Examples
    --------
    >>> outcome_probabilities(0.0, 0.0).round(3).tolist()
    [0.333, 0.333, 0.333]
    """
    logits = outcome_logits(difference, log_nu)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)
