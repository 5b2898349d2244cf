"""How often an annotator agrees with the others."""

import numpy as np

from judgekit.data.votes import Votes
from judgekit.stats import Number, cluster_bootstrap, cluster_sums, share_of

LEAST_PROMPTS = 20  # with fewer, an interval says nothing


def agreement_with_others(votes: Votes, annotator: str) -> Number | None:
    """Share of comparisons of an annotator's vote with another's on the same item in which both are equal.

    In [0, 1] with a 95 % interval (prompts are resampled), n comparisons; None where the items shared with others have
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
    if len(sums) < LEAST_PROMPTS:
        return None
    return Number(*cluster_bootstrap(sums, share_of), n=int(sums[:, 1].sum()), spec=".1%")
