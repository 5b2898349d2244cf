"""Run a judge over a set, resumably, score its verdicts under a named protocol, and compare judges."""

from judgekit.scoring.ceilings import ceiling_table
from judgekit.scoring.comparison import Comparison, compare, compare_all, pairs_judged_by
from judgekit.scoring.deriving import conflict_table, scores_from_verdicts, verdicts_from_scores
from judgekit.scoring.humans import (
    annotators_against_majority,
    annotators_against_others,
    annotators_with_each_other,
    chance_corrected,
    vote_agreement,
)
from judgekit.scoring.protocols import (
    PRIMARY,
    PROTOCOLS,
    Protocol,
    forced_verdict,
    majority_class,
    primary_protocol,
    protocol_of,
    protocols_for,
)
from judgekit.scoring.raters import judge_with_itself, judges_together, judges_with_each_other
from judgekit.scoring.running import JudgeFailure, run_judge, waiting_requests
from judgekit.scoring.scores import N_BOOT, score
from judgekit.scoring.tables import forest_table, pick, score_table, tradeoff_table

__all__ = [
    "N_BOOT",
    "PRIMARY",
    "PROTOCOLS",
    "Comparison",
    "JudgeFailure",
    "Protocol",
    "annotators_against_majority",
    "annotators_against_others",
    "annotators_with_each_other",
    "ceiling_table",
    "chance_corrected",
    "compare",
    "compare_all",
    "conflict_table",
    "forced_verdict",
    "forest_table",
    "judge_with_itself",
    "judges_together",
    "judges_with_each_other",
    "majority_class",
    "pairs_judged_by",
    "pick",
    "primary_protocol",
    "protocol_of",
    "protocols_for",
    "run_judge",
    "score",
    "score_table",
    "scores_from_verdicts",
    "tradeoff_table",
    "verdicts_from_scores",
    "vote_agreement",
    "waiting_requests",
]
