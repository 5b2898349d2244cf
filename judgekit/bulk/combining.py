"""From the verdicts of both orders to the row that is written."""

import math


def combined(verdicts):
    """The verdict on a pair from the orders it was shown in.

    Parameters
    ----------
    verdicts : list of Verdict
        Of one pair, one per order.

    Returns
    -------
    dict
        verdict, p_a, p_b, p_tie, status. Probabilities are means over the orders. Agreeing verdicts stand; differing
        ones give way to the most probable by the means (A and B equal: a tie), or to a tie without probabilities. If
        an order has no verdict there is none, and the status says why.
    """
    statuses = [verdict.status for verdict in verdicts]
    names = ("p_a", "p_b", "p_tie")
    missing = dict.fromkeys(("verdict", *names))
    for status in ("error", "unparsed", "ambiguous"):
        if status in statuses:
            return missing | {"status": status}
    columns = [[getattr(verdict, name) for verdict in verdicts] for name in names]
    given = all(p is not None and math.isfinite(p) for column in columns for p in column)
    means = [sum(column) / len(column) for column in columns] if given else [None] * 3
    said = {verdict.verdict for verdict in verdicts}
    decided = said.pop() if len(said) == 1 else most_probable(*means) if given else "tie"
    rounded = [None if p is None else round(p, 6) for p in means]
    return {"verdict": decided, **dict(zip(names, rounded, strict=True)), "status": "ok"}


def result_row(row, verdicts, judge_name):
    """The row that is written for a `judgekit.pairfile.PairRow`."""
    return {"id": row.id, **combined(verdicts), "judge": judge_name}


def most_probable(p_a, p_b, p_tie):
    """The most probable label; a tie where A and B are equal."""
    if p_a == p_b or p_tie >= max(p_a, p_b):
        return "tie"
    return "A" if p_a > p_b else "B"
