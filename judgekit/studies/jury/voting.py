"""One verdict from those of several judges.

A label that more than any other is voted for is the jury's. Where the highest labels are level, the jury says *tie*;
where a set allows no ties, its protocol then reads the scores and, when those are level too, the response shown
first, which is half credit over the two orders. A member without a verdict abstains; where all abstain, the jury has
no verdict either.
"""

from judgekit.records import LABELS, Verdict

LEVEL = 1e-9  # totals closer than this are level: sums of probabilities in another order differ in the last digits


def majority(panel):
    """A vote for every member; the label with most votes.

    Parameters
    ----------
    panel : Panel

    Returns
    -------
    list of Verdict
        Of the judge ``jury/majority``, in the panel's orders. ``score_a`` and ``score_b`` are the votes for A and B;
        probabilities are not given, since votes are none.
    """
    return ruled(panel, "majority", {order: votes.sum(1) for order, votes in panel.votes.items()})


def mean_probability(panel):
    """The members' probabilities, averaged; the most probable label.

    Parameters
    ----------
    panel : Panel
        A member without probabilities is taken to be certain of its verdict.

    Returns
    -------
    list of Verdict
        Of the judge ``jury/mean-probability``, with probabilities.
    """
    totals = {order: beliefs.sum(1) for order, beliefs in panel.beliefs.items()}
    return ruled(panel, "mean-probability", totals, totals)


def ruled(panel, rule, totals, probabilities=None):
    """Verdicts from the totals of each order.

    Parameters
    ----------
    panel : Panel
    rule : str
        Last part of the jury's name.
    totals : dict of str to array, shape (n_items, 3)
        By order; the highest wins.
    probabilities : dict of str to array, shape (n_items, 3), optional
        By order; rows need not sum to one.

    Returns
    -------
    list of Verdict
    """
    said, voters = {}, {order: votes.sum((1, 2)) for order, votes in panel.votes.items()}
    for order in panel.orders:
        labels = label_of_rows(totals[order])
        for place, pair in enumerate(panel.pairs):
            cell = (pair.item_id, f"jury/{rule}", order)
            if not voters[order][place]:
                said[place, order] = Verdict(*cell, None, status="unparsed")
                continue
            scores = {f"score_{side}": float(totals[order][place, k]) for k, side in enumerate("ab")}
            if probabilities is not None:
                row = probabilities[order][place] / probabilities[order][place].sum()
                scores |= {"p_a": float(row[0]), "p_b": float(row[1]), "p_tie": float(row[2])}
            said[place, order] = Verdict(*cell, labels[place], **scores)
    return [said[place, order] for place in range(len(panel.pairs)) for order in panel.orders]


def label_of_rows(totals):
    """The highest label of every row; *tie* where the highest are level.

    Examples
    --------
    >>> import numpy as np
    >>> label_of_rows(np.array([[2, 1, 0], [1, 1, 0], [1, 0, 1], [1, 2, 2]]))
    ['A', 'tie', 'tie', 'tie']
    """
    best = totals.max(1, keepdims=True)
    level = (totals >= best - LEVEL).sum(1) > 1
    return ["tie" if shared else LABELS[k] for k, shared in zip(totals.argmax(1), level, strict=True)]
