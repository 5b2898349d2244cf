"""One verdict from those of several judges.

A label that more than any other is voted for is the jury's. Where the highest labels are level, the jury says *tie*;
where a set allows no ties, its protocol then reads the scores and, when those are level too, the response shown
first, which is half credit over the two orders. A member without a verdict abstains; where all abstain, the jury has
no verdict either.
"""

from collections.abc import Mapping
from typing import Any

from judgekit.records import LABELS, Verdict
from judgekit.stats import Floats
from judgekit.studies.jury.panel import Panel

LEVEL = 1e-9  # totals closer than this are level: sums of probabilities in another order differ in the last digits


def majority(panel: Panel) -> list[Verdict]:
    """A vote for every member, the label with most votes: verdicts of ``jury/majority``, in the panel's orders.

    ``score_a`` and ``score_b`` are the votes for A and B; probabilities are not given, since votes are none.
    """
    return ruled(panel, "majority", {order: votes.sum(1) for order, votes in panel.votes.items()})


def mean_probability(panel: Panel) -> list[Verdict]:
    """The members' probabilities averaged, the most probable label: verdicts of ``jury/mean-probability``.

    With probabilities. A member without any is taken to be certain of its verdict.
    """
    totals = {order: beliefs.sum(1) for order, beliefs in panel.beliefs.items()}
    return ruled(panel, "mean-probability", totals, totals)


def ruled(
    panel: Panel, rule: str, totals: Mapping[str, Floats], probabilities: Mapping[str, Floats] | None = None
) -> list[Verdict]:
    """Verdicts of the judge ``jury/<rule>`` from the totals of each order, shape (n_items, 3): the highest wins.

    ``probabilities``: by order too, shape (n_items, 3); rows need not sum to one.
    """
    said, voters = {}, {order: votes.sum((1, 2)) for order, votes in panel.votes.items()}
    for order in panel.orders:
        labels = label_of_rows(totals[order])
        for place, pair in enumerate(panel.pairs):
            cell = (pair.item_id, f"jury/{rule}", order)
            if not voters[order][place]:
                said[place, order] = Verdict(*cell, None, status="unparsed")
                continue
            scores: dict[str, Any] = {f"score_{side}": float(totals[order][place, k]) for k, side in enumerate("ab")}
            if probabilities is not None:
                row = probabilities[order][place] / probabilities[order][place].sum()
                scores |= {"p_a": float(row[0]), "p_b": float(row[1]), "p_tie": float(row[2])}
            said[place, order] = Verdict(*cell, labels[place], **scores)
    return [said[place, order] for place in range(len(panel.pairs)) for order in panel.orders]


def label_of_rows(totals: Floats) -> list[str]:
    """The highest label of every row; *tie* where the highest are level.

    >>> import numpy as np
    >>> label_of_rows(np.array([[2, 1, 0], [1, 1, 0], [1, 0, 1], [1, 2, 2]]))
    ['A', 'tie', 'tie', 'tie']
    """
    best = totals.max(1, keepdims=True)
    level = (totals >= best - LEVEL).sum(1) > 1
    return ["tie" if shared else LABELS[k] for k, shared in zip(totals.argmax(1), level, strict=True)]
