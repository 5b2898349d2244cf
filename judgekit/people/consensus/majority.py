"""The label most annotators voted for, with its tie rule said aloud."""

import numpy as np

from judgekit.data.votes import NO_VOTE
from judgekit.people.consensus.found import Consensus

TIE_RULES = ("frequent", "tie", "none")


def majority(votes, ties="frequent"):
    """Consensus by counting votes.

    Parameters
    ----------
    votes : Votes
    ties : {"frequent", "tie", "none"}
        What an item gets whose votes are split evenly: of the classes in front the one with more votes in the whole
        set (then the earlier in `Votes.classes`); the class ``tie``; or no label. An item without votes is split
        evenly among all classes.

    Returns
    -------
    Consensus
        The posterior is :math:`(n_{ik} + s_k) / (n_i + 1)` with :math:`s_k` the class's share of all votes (each class
        counted once more): one further vote of nobody in particular, so that two equal votes are no certainty. The
        skill of an annotator is the share of its votes equal to the label, its own vote included: too high
        (`judgekit.people.consensus.quality` leaves it out).

    Raises
    ------
    ValueError
        If there is no such rule, or ``ties="tie"`` where no class is called so.

    Examples
    --------
    >>> from judgekit.data.votes import votes_from_long
    >>> rows = [("i", "ann", "A", "p"), ("i", "bob", "B", "p"), ("j", "ann", "B", "p"), ("j", "bob", "B", "p")]
    >>> votes, _ = votes_from_long(rows)
    >>> [majority(votes, ties).labels.tolist() for ties in TIE_RULES]
    [[1, 1], [2, 1], [-1, 1]]
    """
    if ties not in TIE_RULES:
        raise ValueError(f"no tie rule {ties!r}; there are {', '.join(TIE_RULES)}")
    if ties == "tie" and "tie" not in votes.classes:
        raise ValueError(f"none of {', '.join(votes.classes)} is a tie")
    counts = votes.counts
    share = class_shares(votes)
    front = counts == counts.max(1, keepdims=True)
    labels = np.where(front, share, -1.0).argmax(1)
    if ties != "frequent":
        labels = np.where(front.sum(1) == 1, labels, votes.classes.index("tie") if ties == "tie" else NO_VOTE)
    posterior = (counts + share) / (counts.sum(1, keepdims=True) + 1)
    agree = (votes.codes == labels[:, None]) & votes.given
    n_votes = votes.given.sum(0)
    skill = {name: float(agree[:, j].sum() / n_votes[j]) for j, name in enumerate(votes.annotators) if n_votes[j]}
    return Consensus("majority", votes.items, votes.classes, posterior, labels, skill)


def class_shares(votes):
    """Share of each class in all votes, each counted once more than it was given; shape (n_classes,)."""
    totals = votes.counts.sum(0) + 1.0
    return totals / totals.sum()
