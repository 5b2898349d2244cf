"""Run a judge over a set, resumably, score its verdicts under a named protocol, and compare judges."""

from judgekit.scoring.comparison import Contest, compare, hold_contest, pairs_judged_by
from judgekit.scoring.protocols import Protocol, primary_protocol, protocol_of, protocols_for
from judgekit.scoring.running import run_judge, waiting_requests
from judgekit.scoring.scores import N_BOOT, score
from judgekit.scoring.tables import forest_table, pick, pivot_orders, verdicts

__all__ = [
    "N_BOOT",
    "Contest",
    "Protocol",
    "compare",
    "forest_table",
    "hold_contest",
    "pairs_judged_by",
    "pick",
    "pivot_orders",
    "primary_protocol",
    "protocol_of",
    "protocols_for",
    "run_judge",
    "score",
    "verdicts",
    "waiting_requests",
]
