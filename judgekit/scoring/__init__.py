"""Run a judge over a set, resumably, and score its verdicts under the set's protocol."""

from judgekit.scoring.protocols import PROTOCOLS, Protocol, forced_verdict, majority_class, primary_protocol
from judgekit.scoring.running import JudgeFailure, run_judge
from judgekit.scoring.scores import N_BOOT, score
from judgekit.scoring.tables import forest_table, pick, score_table, tradeoff_table

__all__ = [
    "N_BOOT",
    "PROTOCOLS",
    "JudgeFailure",
    "Protocol",
    "forced_verdict",
    "forest_table",
    "majority_class",
    "pick",
    "primary_protocol",
    "run_judge",
    "score",
    "score_table",
    "tradeoff_table",
]
