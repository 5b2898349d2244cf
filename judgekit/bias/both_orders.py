"""Verdicts in both orders, from wherever they are: asked, stored, or given as marks."""

from judgekit.data.benchmarks.outputs import published_verdicts
from judgekit.records import ORDERS
from judgekit.scoring import pairs_judged_by, run_judge, verdicts_from_scores


def both_orders(judge, pairs, store, progress=False):
    """The pairs that a judge can be asked about, and its verdicts on them in both orders.

    Parameters
    ----------
    judge : judgekit.judges.Judge
    pairs : list of PreferencePair
    store : judgekit.scoring.store.VerdictStore
    progress : bool

    Returns
    -------
    pairs : list of PreferencePair
        Of a judge that replays stored verdicts, those on which it has both orders; all pairs otherwise.
    verdicts : list of Verdict

    Raises
    ------
    ValueError
        If there are no such pairs.
    """
    if stored := getattr(judge, "stored", None):
        pairs = pairs_judged_by(pairs, list(stored.values()), orders=ORDERS)
    if not pairs:
        raise ValueError(f"{judge.name}: no pair was judged in both orders")
    return pairs, run_judge(judge, pairs, store, progress=progress)


def verdicts_of_marks(model, pairs):
    """A stored rating judge's verdicts on pairs, by the marks it gave: equal marks are a tie.

    Parameters
    ----------
    model : str
        A key of `judgekit.data.benchmarks.outputs.PUBLISHED` that rates each response alone.
    pairs : list of PreferencePair

    Returns
    -------
    list of Verdict
        The same in both orders, since a response is marked without the other.
    """
    wanted = {pair.item_id for pair in pairs}
    return verdicts_from_scores([verdict for verdict in published_verdicts(model) if verdict.item_id in wanted])
