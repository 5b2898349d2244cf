"""Run a judge over a set, resumably, score its verdicts under a named protocol, and compare judges."""

from judgekit.scoring.comparison import Contest, compare, compare_all, hold_contest, pairs_judged_by, restricted
from judgekit.scoring.protocols import (
    Protocol,
    majority_class,
    primary_protocol,
    protocol_of,
    protocols_for,
    verdicts_from_scores,
)
from judgekit.scoring.running import run_judge, waiting_requests
from judgekit.scoring.scores import N_BOOT, score
from judgekit.scoring.tables import forest_table, pick, pivot_orders, verdicts

__all__ = [
    "N_BOOT",
    "Contest",
    "Protocol",
    "compare",
    "compare_all",
    "forest_table",
    "hold_contest",
    "majority_class",
    "pairs_judged_by",
    "pick",
    "pivot_orders",
    "primary_protocol",
    "protocol_of",
    "protocols_for",
    "restricted",
    "run_judge",
    "score",
    "verdicts",
    "verdicts_from_scores",
    "waiting_requests",
]
