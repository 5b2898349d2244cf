"""A consensus held against the truth, where that is known: the authored sample and simulated annotators."""

import numpy as np

from judgekit.data.sample import annotators
from judgekit.people.consensus.agreement import share_number
from judgekit.records import LABELS, label_of_gap
from judgekit.stats import Number, ratio, spearman, weighted_bootstrap


def auroc(score, right, weight=None):
    """Probability that an item with a right label has the higher score than one with a wrong label; ties count half.

    Parameters
    ----------
    score : array of float, shape (n_items,)
    right : array of bool, shape (n_items,)
    weight : array, shape (..., n_items), optional

    Returns
    -------
    array, shape (...)
        0 where all labels are right, or all wrong.

    Examples
    --------
    >>> float(auroc([0.9, 0.8, 0.4], [True, False, True]))
    0.5
    """
    score, right = np.asarray(score, float), np.asarray(right, bool)
    weight = np.ones(len(score)) if weight is None else np.asarray(weight, float)
    above = (1 + np.sign(score[right][:, None] - score[~right][None, :])) / 2
    good, bad = weight[..., right], weight[..., ~right]
    return ratio(((good @ above) * bad).sum(-1), good.sum(-1) * bad.sum(-1))


def against_truth(consensus, truth, clusters, n_boot=2000, seed=0):
    """Accuracy of the labels, and whether their quality tells right ones from wrong ones.

    Parameters
    ----------
    consensus : Consensus
    truth : array of int, shape (n_items,)
        Codes of its classes.
    clusters : sequence, length n_items
    n_boot, seed : int

    Returns
    -------
    dict of str to Number
        ``accuracy``; and ``auroc`` of the quality, left out where all labels are right or all wrong.
    """
    right = consensus.labels == np.asarray(truth)
    found = {"accuracy": accuracy_of(consensus, truth, clusters, n_boot, seed)}
    if 0 < right.sum() < len(right):
        quality = consensus.quality
        value = weighted_bootstrap(lambda weight: auroc(quality, right, weight), clusters, n_boot, seed)
        found["auroc"] = Number(*value, n=len(right), spec=".3f")
    return found


def accuracy_of(consensus, truth, clusters, n_boot=2000, seed=0):
    """Share of items whose label is the truth, a `Number`; an item without a label counts as wrong."""
    right = consensus.labels == np.asarray(truth)
    return share_number(right, np.ones(len(right)), clusters, n_boot, seed)


def rank_agreement(skill, rates):
    """Spearman's correlation of what a method says of annotators with their true rates.

    Parameters
    ----------
    skill, rates : dict of str to float
        Annotators of both are compared.

    Returns
    -------
    float
        In [-1, 1]; NaN for fewer than three annotators.
    """
    both = [name for name in rates if name in skill]
    if len(both) < 3:
        return np.nan
    return float(spearman([skill[name] for name in both], [rates[name] for name in both]))


def sample_rates(pairs):
    """How often each annotator of the sample is right, by construction.

    Parameters
    ----------
    pairs : list of PreferencePair
        Of the sample, with labels.

    Returns
    -------
    dict of str to float
        A reader's rate is its accuracy; who votes for the longer response or for A is right as often as that is, and
        a spammer by chance.
    """
    longer = np.mean([label_of_gap(len(pair.response_a) - len(pair.response_b)) == pair.label for pair in pairs])
    unread = {"reader": 0.0, "length": longer, "position": np.mean([pair.label == "A" for pair in pairs])}
    unread["spammer"] = 1 / len(LABELS)
    return {who.name: float(who.bias * unread[who.kind] + (1 - who.bias) * who.accuracy) for who in annotators()}
