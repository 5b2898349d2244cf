"""Data selection: score a pool of training pairs, keep a part of it, and see whether the part beats a random one.

What scores a pair must not have learnt from it: a judge from elsewhere says it as it is (`judge_scores`,
`rater_scores`); one that learns from the pool is fitted on other questions (`studies.selection.learners.cross_fit`).
"""

from judgekit.studies.selection.keeping import RULES, Selection, drawn_like, keep, select_responses
from judgekit.studies.selection.noise import flip_auc, flipped_among, flipped_rows, mean_flip_auc
from judgekit.studies.selection.scores import by_judge, by_rater, folds_of, judge_scores, of_label, rater_scores
from judgekit.studies.selection.threshold import Threshold, choose_threshold

__all__ = [
    "RULES",
    "Selection",
    "Threshold",
    "by_judge",
    "by_rater",
    "choose_threshold",
    "drawn_like",
    "flip_auc",
    "flipped_among",
    "flipped_rows",
    "folds_of",
    "judge_scores",
    "keep",
    "mean_flip_auc",
    "of_label",
    "rater_scores",
    "select_responses",
]
