"""Verdicts in both orders, from wherever they are: asked, stored, or given as marks."""

from collections.abc import Sequence

from judgekit.data.benchmarks.outputs import published_verdicts
from judgekit.judges.base import Judge
from judgekit.records import ORDERS, PreferencePair, Verdict
from judgekit.scoring import pairs_judged_by, run_judge, verdicts_from_scores
from judgekit.scoring.store import VerdictStore


def both_orders(
    judge: Judge, pairs: Sequence[PreferencePair], store: VerdictStore, progress: bool = False
) -> tuple[Sequence[PreferencePair], list[Verdict]]:
    """The pairs that a judge can be asked about, and its verdicts on them in both orders.

    Of a judge that replays stored verdicts these are the pairs on which it has both orders; all pairs otherwise.
    ValueError if there are none.
    """
    if stored := getattr(judge, "stored", None):
        pairs = pairs_judged_by(pairs, list(stored.values()), orders=ORDERS)
    if not pairs:
        raise ValueError(f"{judge.name}: no pair was judged in both orders")
    return pairs, run_judge(judge, pairs, store, progress=progress)


def verdicts_of_marks(model: str, pairs: Sequence[PreferencePair]) -> list[Verdict]:
    """A stored rating judge's verdicts on pairs, by the marks it gave: equal marks are a tie.

    The same in both orders, since a response is marked without the other. ``model``: a key of
    `judgekit.data.benchmarks.outputs.PUBLISHED` that rates each response alone.
    """
    wanted = {pair.item_id for pair in pairs}
    return verdicts_from_scores([verdict for verdict in published_verdicts(model) if verdict.item_id in wanted])
