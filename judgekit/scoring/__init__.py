"""Run a judge over a set, resumably, score its verdicts under a named protocol, and compare judges."""

from judgekit.scoring.comparison import (
    Contest,
    compare,
    contest_scores,
    contests_of,
    hold_contest,
    pairs_judged_by,
    sources_of,
)
from judgekit.scoring.items import credits_of, item_table
from judgekit.scoring.protocols import Protocol, protocol_of, protocols_for
from judgekit.scoring.running import run_judge, waiting_requests
from judgekit.scoring.scores import N_BOOT, score
from judgekit.scoring.store import shared_store
from judgekit.scoring.tables import TITLES, forest_table, load_judges, pick, pivot_orders, verdicts

__all__ = [
    "N_BOOT", "TITLES", "Contest", "Protocol", "compare", "contest_scores", "contests_of", "credits_of",
    "forest_table", "hold_contest", "item_table", "load_judges", "pairs_judged_by", "pick", "pivot_orders",
    "protocol_of", "protocols_for", "run_judge", "score", "shared_store", "sources_of", "verdicts", "waiting_requests",
]  # fmt: skip
