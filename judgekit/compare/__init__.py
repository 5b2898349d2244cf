"""Published figures beside recomputed ones, and judges against each other on the same items.

A contest is one set with the verdicts of everybody who judged all of it; tables of scores, of differences and of
published figures are made from contests. Every figure carries the words of its protocol.
"""

from judgekit.compare.checks import impossible_figures, owner_table, published_below, published_spread
from judgekit.compare.contests import (
    Contest,
    against_others,
    contest_scores,
    every_two,
    hold_contest,
    mcnemar_alone,
    restricted,
    with_constant,
)
from judgekit.compare.published import Tags, figure_table, published_beside, without_empty
from judgekit.compare.ranking import rank_agreement, study_hits
from judgekit.compare.size import scores_by_size, share_of_ceiling, size_trends

__all__ = [
    "Contest",
    "Tags",
    "against_others",
    "contest_scores",
    "every_two",
    "figure_table",
    "hold_contest",
    "impossible_figures",
    "mcnemar_alone",
    "owner_table",
    "published_below",
    "published_beside",
    "published_spread",
    "rank_agreement",
    "restricted",
    "scores_by_size",
    "share_of_ceiling",
    "size_trends",
    "study_hits",
    "with_constant",
    "without_empty",
]
