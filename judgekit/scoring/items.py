"""Verdicts and reference labels side by side: one row per item or vote."""

import numpy as np
import pandas as pd

from judgekit.records import SWAPPED
from judgekit.scoring.protocols import read_verdict


def item_table(verdicts, pairs, protocol):
    """One row per item (or vote): reference label, verdicts in both orders, probabilities, cluster.

    Returns
    -------
    pandas.DataFrame
        Columns item_id, cluster, reference, ab, ba (labels or None; NaN-free), has_ba, ok, confidence, p_a, p_b, p_tie.

    Raises
    ------
    ValueError
        If a pair has no verdict in the given order, or two.
    """
    by_cell = {}
    for verdict in verdicts:
        if (verdict.item_id, verdict.order) in by_cell:
            raise ValueError(f"{verdict.judge}: two verdicts for {verdict.item_id} in order {verdict.order}")
        by_cell[verdict.item_id, verdict.order] = verdict
    rows = []
    for pair in pairs:
        ab, ba = by_cell.get((pair.item_id, "ab")), by_cell.get((pair.item_id, "ba"))
        if ab is None:
            raise ValueError(f"{pair.where}: no verdict in the given order")
        references = list(pair.votes.values()) if protocol.votes else [pair.label]
        for reference in references:
            if reference is not None:
                rows.append(item_row(pair, reference, ab, ba, protocol))
    table = pd.DataFrame(rows, dtype=object)  # a column of text would turn None into NaN
    kinds = {"has_ba": bool, "ok": int, "p_a": float, "p_b": float, "p_tie": float}
    return table.astype(kinds) if rows else table


def item_row(pair, reference, ab, ba, protocol):
    """One row of `item_table`."""
    p = symmetrised(ab, ba)
    return {
        "item_id": pair.item_id,
        "cluster": pair.cluster_id or pair.item_id,
        "reference": reference,
        "ab": read_verdict(ab, protocol),
        "ba": read_verdict(ba, protocol) if ba is not None else None,
        "raw_ab": ab.verdict,
        "raw_ba": None if ba is None else ba.verdict,
        "has_ba": ba is not None,
        "ok": (ab.status == "ok") + (ba is not None and ba.status == "ok"),
        "p_a": p[0],
        "p_b": p[1],
        "p_tie": p[2],
    }


def symmetrised(ab, ba):
    """Mean of the two orders' probabilities of A, B, tie; one order's where there is one; NaN without."""
    given = [v for v in (ab, ba) if v is not None and v.p_a is not None]
    if not given:
        return (np.nan, np.nan, np.nan)
    return tuple(float(np.mean([getattr(v, name) for v in given])) for name in ("p_a", "p_b", "p_tie"))


def point_of(reference, verdict):
    """Vote of one order for the sum rule: +1 right, -1 the opposite, 0 a tie or nothing."""
    if verdict == reference:
        return 1
    return -1 if verdict == SWAPPED[reference] and verdict is not None else 0


def credit(row, protocol):
    """What an item adds to accuracy under the protocol's rule, in [0, 1]."""
    ab, ba = row.ab == row.reference, row.ba == row.reference
    if protocol.rule == "forward" or not row.has_ba:
        return float(ab)
    if protocol.rule == "both_right":
        return float(ab and ba)
    if protocol.rule == "mean_of_orders":
        return (ab + ba) / 2
    return float(point_of(row.reference, row.ab) + point_of(row.reference, row.ba) > 0)


def first_counts(row):
    """Decided verdicts over the orders seen, and how many of them went to the response shown first."""
    decided = [(row.raw_ab, "A")] + ([(row.raw_ba, "B")] if row.has_ba else [])
    decided = [(verdict, first) for verdict, first in decided if verdict in ("A", "B")]
    return [sum(verdict == first for verdict, first in decided), len(decided)]
