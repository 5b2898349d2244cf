"""Verdicts and reference labels side by side: one row per item or vote."""

import numpy as np
import pandas as pd

from judgekit.records import SWAPPED
from judgekit.scoring.gold import references_of
from judgekit.scoring.protocols import joined_verdict, read_verdict


def item_table(verdicts, pairs, protocol):
    """One row per item (or vote): reference label, verdicts in both orders, probabilities, cluster.

    Returns
    -------
    pandas.DataFrame
        Columns item_id, cluster, reference, ab, ba, said (labels or None; NaN-free), has_ba, ok, kept, p_a, p_b,
        p_tie. ``said`` is the verdict the protocol's rule reads where it reads one; ``kept`` is false for items
        that leave the score. The rows depend on pairs and protocol only, so that judges can be compared row by row.

    Raises
    ------
    ValueError
        If an item that is scored has no verdict in the given order, or two, or lacks the exchanged order where the
        protocol insists on it; or if every verdict is an error.
    """
    by_cell = {}
    for verdict in verdicts:
        if (verdict.item_id, verdict.order) in by_cell:
            raise ValueError(f"{verdict.judge}: two verdicts for {verdict.item_id} in order {verdict.order}")
        by_cell[verdict.item_id, verdict.order] = verdict
    refuse_strangers(verdicts)
    references, rows = references_of(pairs, protocol), []
    for pair in pairs:
        if not references[pair.item_id]:
            continue
        ab, ba = by_cell.get((pair.item_id, "ab")), by_cell.get((pair.item_id, "ba"))
        if ab is None:
            raise ValueError(f"{pair.where}: no verdict in the given order")
        if ba is None and protocol.one_order == "refused":
            raise ValueError(f"{pair.where}: no verdict in the exchanged order, which '{protocol.name}' reads")
        row = judged_row(pair, ab, ba, protocol)
        rows += [row | {"reference": label, "kept": kept(row, label, protocol)} for label in references[pair.item_id]]
    table = pd.DataFrame(rows, dtype=object)  # a column of text would turn None into NaN
    kinds = {"has_ba": bool, "ok": int, "kept": bool, "p_a": float, "p_b": float, "p_tie": float}
    return table.astype(kinds) if rows else table


def refuse_strangers(verdicts):
    """A judge that has not one reply on a set never judged it, and a score of it would be made of nothing.

    This is what keeps the judges of a set without labels out of the scores of the labelled one that it resembles.

    Raises
    ------
    ValueError
        If every verdict has status ``error``.
    """
    if verdicts and all(verdict.status == "error" for verdict in verdicts):
        raise ValueError(f"{verdicts[0].judge}: not one reply on these items ({verdicts[0].raw}); it cannot be scored")


def judged_row(pair, ab, ba, protocol):
    """What a row of `item_table` says of the judge, whatever the reference label."""
    p = symmetrised(ab, ba)
    read = {"ab": read_verdict(ab, protocol), "ba": read_verdict(ba, protocol) if ba is not None else None}
    return {
        "item_id": pair.item_id,
        "cluster": pair.cluster,
        **read,
        "said": said_under(protocol, **read, has_ba=ba is not None),
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
    return tuple(sum(getattr(v, name) for v in given) / len(given) for name in ("p_a", "p_b", "p_tie"))


def said_under(protocol, ab, ba, has_ba):
    """The one verdict that the protocol's rule reads; that of the given order where it reads each for itself."""
    if protocol.rule == "swapped":
        return ba
    return joined_verdict(ab, ba, protocol.conflict) if protocol.rule == "joined" and has_ba else ab


def kept(row, reference, protocol):
    """Whether an item stays in the score."""
    orders = [order for order in protocol.orders if order == "ab" or row["has_ba"]]
    if protocol.unparsed == "dropped" and any(row[f"raw_{order}"] is None for order in orders):
        return False
    if protocol.ties == "kept":
        return True
    verdicts = [row["said"]] if protocol.rule == "joined" else [row[order] for order in orders]
    return reference != "tie" and (protocol.ties == "reference_dropped" or "tie" not in verdicts)


def point_of(reference, verdict):
    """Vote of one order for the sum rule: +1 right, -1 the opposite, 0 a tie or nothing."""
    if verdict == reference:
        return 1
    return -1 if verdict == SWAPPED[reference] and verdict is not None else 0


def credit(row, protocol):
    """What an item adds to accuracy under the protocol's rule, in [0, 1]."""
    ab, ba = row.ab == row.reference, row.ba == row.reference
    if protocol.rule in ("forward", "swapped", "joined") or not row.has_ba:
        return float(row.said == row.reference)
    if protocol.rule == "both_right":
        return float(ab and ba)
    if protocol.rule == "mean_of_orders":
        return (ab + ba) / 2
    return float(point_of(row.reference, row.ab) + point_of(row.reference, row.ba) > 0)


def credits_of(table, protocol):
    """`credit` of every row, shape (n_items,); 0 for items that are not kept."""
    return np.array([row.kept * credit(row, protocol) for row in table.itertuples(index=False)], float)


def first_counts(row):
    """Decided verdicts over the orders seen, and how many of them went to the response shown first."""
    decided = [(row.raw_ab, "A")] + ([(row.raw_ba, "B")] if row.has_ba else [])
    decided = [(verdict, first) for verdict, first in decided if verdict in ("A", "B")]
    return [sum(verdict == first for verdict, first in decided), len(decided)]
