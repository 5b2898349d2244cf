r"""Whether a judge's confidence knows where people disagree.

A few votes are a poor measure of what an item's people would say, so correlations with their shares are lower than
those with the crowd would be. How often two people agree is free of that: over pairs of votes it is unbiased whatever
their number, and a judge that states :math:`p` says that it is :math:`\sum_k p_k^2`.
"""

import numpy as np

from judgekit.people.calibration.measures import FLOOR, mean_interval, number
from judgekit.stats import pearson, ratio


def entropy(shares):
    """Of each row, in nats."""
    return -(shares * np.log(np.maximum(shares, FLOOR))).sum(1)


def correlation(x, y, cluster_index):
    """Pearson's correlation with its 95 % interval over prompts: value, low, high.

    Notes
    -----
    The interval is one of Fisher's z, from the correlation's influence function.
    """
    value = float(pearson(x, y))
    x, y = (ratio(side - side.mean(), side.std()) for side in (x, y))
    influence = (x * y - value * (x**2 + y**2) / 2) / len(x)
    narrow = 1 - value**2 if value**2 < 1 else 1.0
    _, low, high = mean_interval(np.arctanh(value * (1 - 1e-12)), None, cluster_index, influence / narrow)
    return value, float(np.tanh(low)), float(np.tanh(high))


def disagreement(cases):
    """What a judge knows of people's disagreement, on the items with two votes or more.

    Parameters
    ----------
    cases : Cases
        With shares of votes, ``weights`` their numbers.

    Returns
    -------
    dict of str to Number
        ``share_correlation`` of the judge's confidence with the share of people's largest party;
        ``entropy_correlation`` of the judge's and people's entropies; ``stated_agreement``, the mean of the agreement
        of two people that the judge's probabilities imply, ``people_agreement`` that of people, and
        ``agreement_gap``, the former less the latter.

    Raises
    ------
    ValueError
        If no item has two votes.
    """
    several = cases.weights >= 2
    if not several.any():
        raise ValueError("no item has two votes: nobody can disagree")
    cases = cases.at(several)
    votes = np.round(cases.shares * cases.weights[:, None])
    pairs = cases.weights * (cases.weights - 1)
    people = (votes * (votes - 1)).sum(1) / pairs
    stated = (cases.probabilities**2).sum(1)
    sides = {
        "share_correlation": (cases.confidence, cases.shares.max(1)),
        "entropy_correlation": (entropy(cases.probabilities), entropy(cases.shares)),
    }
    found = {name: correlation(x, y, cases.cluster_index) for name, (x, y) in sides.items()}
    columns = {"stated_agreement": stated, "people_agreement": people, "agreement_gap": stated - people}
    ones = np.ones(len(stated))
    found |= {name: mean_interval(values, ones, cases.cluster_index) for name, values in columns.items()}
    return {name: number(ends, cases) for name, ends in found.items()}
