"""Verdicts and reference labels side by side: one row per item or vote, and the probabilities stated of each item."""

from typing import Any

import numpy as np
import pandas as pd

from judgekit.data.votes import ClassProbabilities, matchup_of
from judgekit.records import LABELS, ORDERS, SWAPPED, PreferencePair, Verdict
from judgekit.scoring.protocols import Pairs, Protocol, Verdicts, joined_verdict, read_verdict, references_of
from judgekit.stats import Floats

TURNED = [1, 0, 2]  # A, B, tie with the sides exchanged


def item_table(verdicts: Verdicts, pairs: Pairs, protocol: Protocol) -> pd.DataFrame:
    """One row per item (or vote): reference label, verdicts in both orders, probabilities, cluster.

    Columns item_id, cluster, reference, ab, ba, said (labels or None; the one that the rule reads), raw_ab, raw_ba,
    has_ba, ok, kept (in the score), p_a, p_b, p_tie. The rows depend on pairs and protocol only. ValueError where an
    item has no verdict in the given order, or two, or lacks an exchanged order that the protocol insists on; or where
    every verdict is an error.
    """
    cells, references, rows = cells_of(verdicts), references_of(pairs, protocol), []
    for pair in pairs:
        if not references[pair.item_id]:
            continue
        ab, ba = (cells.get((pair.item_id, order)) for order in ORDERS)
        if ab is None:
            raise ValueError(f"{pair.where}: no verdict in the given order")
        if ba is None and protocol.one_order == "refused":
            raise ValueError(f"{pair.where}: no verdict in the exchanged order, which '{protocol.name}' reads")
        row = _judged_row(pair, ab, ba, protocol)
        rows += [row | {"reference": label, "kept": _kept(row, label, protocol)} for label in references[pair.item_id]]
    table = pd.DataFrame(rows, dtype=object)  # a column of text would turn None into NaN
    kinds = {"has_ba": bool, "ok": int, "kept": bool, "p_a": float, "p_b": float, "p_tie": float}
    return table.astype(kinds) if rows else table


def cells_of(verdicts: Verdicts) -> dict[tuple[str, str], Verdict]:
    """Verdicts of one judge by item and order; ValueError where two are of one, or every one is an error."""
    cells: dict[tuple[str, str], Verdict] = {}
    for verdict in verdicts:
        if (verdict.item_id, verdict.order) in cells:
            raise ValueError(f"{verdict.judge}: two verdicts for {verdict.item_id} in order {verdict.order}")
        cells[verdict.item_id, verdict.order] = verdict
    if verdicts and all(verdict.status == "error" for verdict in verdicts):
        raise ValueError(f"{verdicts[0].judge}: not one reply on these items ({verdicts[0].raw}); it cannot be scored")
    return cells


def _judged_row(pair: PreferencePair, ab: Verdict, ba: Verdict | None, protocol: Protocol) -> dict[str, Any]:
    """What a row of `item_table` holds of the judge, whatever the reference label."""
    given = dict(zip(ORDERS, (ab, ba), strict=True))
    read = {order: None if one is None else read_verdict(one, protocol) for order, one in given.items()}
    if protocol.rule == "joined" and ba is not None:
        said = joined_verdict(read["ab"], read["ba"], protocol.conflict)
    else:
        said = read["ba" if protocol.rule == "swapped" else "ab"]
    row: dict[str, Any] = {"item_id": pair.item_id, "cluster": pair.cluster, **read, "said": said}
    row |= {f"raw_{order}": None if one is None else one.verdict for order, one in given.items()}
    row |= {"has_ba": ba is not None, "ok": sum(one is not None and one.status == "ok" for one in (ab, ba))}
    return row | dict(zip(("p_a", "p_b", "p_tie"), _mean_probabilities(ab, ba), strict=True))


def _mean_probabilities(*orders: Verdict | None) -> tuple[float, ...]:
    """Mean of the two orders' probabilities of A, B, tie; one order's where there is one; NaN without."""
    given = [one for one in orders if one is not None and one.p_a is not None]
    if not given:
        return (np.nan, np.nan, np.nan)
    return tuple(sum(getattr(one, name) for one in given) / len(given) for name in ("p_a", "p_b", "p_tie"))


def _kept(row: dict[str, Any], reference: str, protocol: Protocol) -> bool:
    orders = [order for order in protocol.orders if order == "ab" or row["has_ba"]]
    if protocol.unparsed == "dropped" and any(row[f"raw_{order}"] is None for order in orders):
        return False
    if protocol.ties == "kept":
        return True
    verdicts = [row["said"]] if protocol.rule == "joined" else [row[order] for order in orders]
    return reference != "tie" and (protocol.ties == "reference_dropped" or "tie" not in verdicts)


def credits_of(table: pd.DataFrame, protocol: Protocol) -> Floats:
    """What each row of `item_table` adds to accuracy under the protocol's rule, in [0, 1]; 0 where it is not kept."""
    return np.array([_credit(row, protocol) if row.kept else 0 for row in table.itertuples(index=False)], float)


def _credit(row: Any, protocol: Protocol) -> float:
    ab, ba = row.ab == row.reference, row.ba == row.reference
    if protocol.rule in ("forward", "swapped", "joined") or not row.has_ba:
        return float(row.said == row.reference)
    if protocol.rule == "both_right":
        return float(ab and ba)
    if protocol.rule == "mean_of_orders":
        return (ab + ba) / 2
    votes = {SWAPPED[row.reference]: -1, row.reference: 1}  # the opposite of a tie is a tie, and right
    return float(votes.get(row.ab, 0) + votes.get(row.ba, 0) > 0)


def stated_probabilities(verdicts: Verdicts, pairs: Pairs, matchups: bool = False) -> ClassProbabilities:
    """Mean of the two orders' probabilities of A, B and tie by item: what calibration and consensus read.

    One order is enough where there is no other. With ``matchups`` items are what `data.votes.matchup_votes` names, in
    its order of models; a match that was shown both ways as two pairs counts with the mean of both. ValueError where a
    pair has none, which is neither certainty nor its lack.
    """
    cells = cells_of(verdicts)
    stated: dict[Any, list[list[float]]] = {}
    for pair in pairs:
        means = _mean_probabilities(*(cells.get((pair.item_id, order)) for order in ORDERS))
        if means[0] != means[0]:
            raise ValueError(f"{pair.where}: no probabilities of {verdicts[0].judge if verdicts else 'the judge'}")
        key, turned = matchup_of(pair) if matchups else (pair.item_id, False)
        stated.setdefault(key, []).append([means[i] for i in TURNED] if turned else list(means))
    values = [[sum(column) / len(rows) for column in zip(*rows, strict=True)] for rows in stated.values()]
    return ClassProbabilities(tuple(stated), np.array(values), LABELS)
