"""How often an annotator agrees with the others, and how often votes are right where the truth is known."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgekit.data.votes import Votes
from judgekit.stats import Number, cluster_sums, clustered_error, proportion_interval, t_quantile

LEAST_PROMPTS = 20  # with fewer, an interval says nothing


def agreement_with_others(votes: Votes, annotator: str) -> Number | None:
    """Share of comparisons of an annotator's vote with another's on the same item in which both are equal.

    In [0, 1] with a 95 % interval as for `share_right`, n comparisons; None where the items shared with others have
    fewer than `LEAST_PROMPTS` prompts.
    """
    if annotator not in votes.annotators:
        return None
    own = votes.codes[:, [votes.annotators.index(annotator)]]
    others = votes.without(annotator).codes
    compared = (others >= 0) & (own >= 0)
    equal = compared & (others == own)
    sums = cluster_sums(np.column_stack([equal.sum(1), compared.sum(1)]), votes.clusters)
    sums = sums[sums[:, 1] > 0]
    return None if len(sums) < LEAST_PROMPTS else _share(sums)


def share_right(right: ArrayLike, clusters: Sequence[str]) -> Number:
    """Share of votes (or consensus labels) that are right, one per item, in [0, 1] with a 95 % interval; n items.

    ``clusters``: the prompt of each item; ValueError if there are fewer than two. The interval is Wilson's with n
    divided by the design effect (the variance over prompts to that of independent items, at least one), and with
    Student's t for n prompts in place of the normal quantile: Korn and Graubard (1998), Survey Methodology 24.

    >>> number = share_right([True, True, False, True], ["p", "q", "r", "s"])
    >>> str(number), number.interval
    ('75.0', '13.1-98.4')
    """
    sums = cluster_sums(np.column_stack([right, np.ones(len(clusters))]), clusters)
    if len(sums) < 2:
        raise ValueError(f"{len(sums)} prompt: an interval needs two or more")
    return _share(sums)


def _share(sums: NDArray[Any]) -> Number:
    hits, n = sums.sum(0)
    share, counts = hits / n, sums[:, 1]
    independent = share * (1 - share) / n
    effect = clustered_error(sums) ** 2 / independent if independent else (counts**2).sum() / n
    low, high = proportion_interval(share, n / max(1.0, effect), quantile=float(t_quantile(0.975, len(sums) - 1)))
    return Number(share, max(0.0, float(low)), min(1.0, float(high)), n=int(n), spec=".1%")
