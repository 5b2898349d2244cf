"""CROWDLAB: votes and a judge's probabilities weighed against each other, by cleanlab."""

from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgekit.data.votes import ClassProbabilities, aligned
from judgekit.people.consensus.found import Consensus


@dataclass(frozen=True, eq=False)
class CrowdLab:
    """What CROWDLAB makes of votes and probabilities.

    Attributes
    ----------
    consensus : Consensus
        The skill of an annotator is cleanlab's ``annotator_quality``; NaN ones are left out (who shares no item).
    annotators : pandas.DataFrame
        cleanlab's ``annotator_stats``, by annotator.
    labels : pandas.DataFrame
        cleanlab's ``label_quality``, by item key.
    model_weight : float
        What the judge counts.
    annotator_weight : dict of str to float
        What one vote of an annotator counts.
    """

    consensus: Consensus
    annotators: pd.DataFrame
    labels: pd.DataFrame
    model_weight: float
    annotator_weight: dict


def crowdlab(votes, probabilities, seed=0, method="crowdlab"):
    r"""Consensus of votes and a judge's probabilities.

    Parameters
    ----------
    votes : Votes
        Every item has a vote, some have two or more; annotators without a vote are left out.
    probabilities : ClassProbabilities
        Of the same items in the same order (`ClassProbabilities.at`).
    seed : int
        cleanlab breaks the last ties of the first majority vote by chance.
    method : str
        Name of the consensus.

    Returns
    -------
    CrowdLab

    Raises
    ------
    ValueError
        If the probabilities belong to other rows (`judgekit.data.votes.aligned`), or an item has no vote.

    Notes
    -----
    .. math:: P(z_i = k) = \frac{w_M p_{ik} + \sum_j w_j q_{ijk}}{w_M + \sum_j w_j}

    with :math:`q_{ijk} = P` where annotator :math:`j` voted :math:`k` and :math:`(1 - P) / (K - 1)` elsewhere,
    :math:`P` the mean agreement with the consensus on items of several votes, and weights from the annotators'
    agreement with each other and the judge's with the consensus. Goh, Tkachenko and Mueller (2022), arXiv:2210.06812.
    cleanlab does not return the posterior; it is rebuilt from the weights, and must give cleanlab's own quality of
    every label.
    """
    values = aligned(votes, probabilities)
    if not votes.given.any(1).all():
        raise ValueError(f"{votes.items[int(np.argmin(votes.given.any(1)))]}: no vote; keep `Votes.voted()` only")
    votes = votes.of([name for name, voted in zip(votes.annotators, votes.given.any(0), strict=True) if voted])
    with seeded(seed):
        told = plain_crowdlab(votes.wide(), values)
    labels, annotators = told["label_quality"], told["annotator_stats"].copy()
    posterior = posterior_of(votes, values, labels, told["model_weight"], told["annotator_weight"])
    found = labels["consensus_label"].to_numpy(int)
    rebuilt = posterior[np.arange(len(found)), found]
    if not np.allclose(rebuilt, labels["consensus_quality_score"], atol=1e-8):
        raise ValueError("cleanlab's label quality is not what its weights give: another version of CROWDLAB?")
    annotators["worst_class"] = [votes.classes[int(code)] for code in annotators["worst_class"]]
    skill = {name: float(value) for name, value in annotators["annotator_quality"].items() if value == value}
    weights = dict(zip(votes.annotators, map(float, told["annotator_weight"]), strict=True))
    consensus = Consensus(method, votes.items, votes.classes, posterior, found, skill)
    return CrowdLab(consensus, annotators, labels, float(told["model_weight"]), weights)


def plain_crowdlab(wide, values):
    """cleanlab alone, which takes rows as they come: what `crowdlab` is compared with."""
    from cleanlab.multiannotator import get_label_quality_multiannotator

    return get_label_quality_multiannotator(
        wide, values, return_detailed_quality=False, return_weights=True, verbose=False
    )


def posterior_of(votes, values, labels, model_weight, annotator_weight):
    """The distribution that cleanlab's weights imply, shape (n_items, n_classes)."""
    several = labels["num_annotations"].to_numpy() > 1
    agree = labels["annotator_agreement"].to_numpy(float)[several].mean()
    said = votes.codes[:, :, None] == np.arange(len(votes.classes))
    likely = np.where(said, agree, (1 - agree) / (len(votes.classes) - 1))
    weights = np.where(votes.given, annotator_weight, 0.0)
    total = model_weight * values + (weights[:, :, None] * likely).sum(1)
    return total / (model_weight + weights.sum(1))[:, None]


def knows_nothing(votes):
    """Probabilities of a judge that knows nothing: the same for every class of every item."""
    n_classes = len(votes.classes)
    return ClassProbabilities(votes.items, np.full((len(votes.items), n_classes), 1 / n_classes), votes.classes)


@contextmanager
def seeded(seed):
    """numpy's global generator, which cleanlab draws from, at a seed; afterwards as it was."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
