"""The table that every study of bias reads: one row per pair, with what people and one judge said of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from judgekit.judges.surface import words_of
from judgekit.records import PreferencePair, Verdict

CREDIT: dict[Any, float] = {"A": 1.0, "tie": 0.5, "B": 0.0}
COLUMNS = (
    "item_id",
    "cluster",
    "subset",
    "people",
    "n_votes",
    "ab",
    "ba",
    "p_ab",
    "p_ba",
    "words_a",
    "words_b",
    "model_a",
    "model_b",
)


def people_share(pair: PreferencePair) -> float:
    """People's preference for A in [0, 1]: a tie is one half; NaN where nobody said anything.

    The share of the votes where there are votes, the label otherwise.
    """
    said = list(pair.votes.values()) or [label for label in (pair.label,) if label is not None]
    return float(np.mean([CREDIT[label] for label in said])) if said else np.nan


def judged_table(pairs: Sequence[PreferencePair], verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """One row per pair with what people and one judge said of it: the columns of `COLUMNS`.

    ``people`` is preference for A in [0, 1], NaN without label or vote; ``ab`` and ``ba`` are the verdict in either
    order as credit for the item's A (1, 0.5 for a tie, 0; NaN where there is none, for whatever reason); ``p_ab`` and
    ``p_ba``, probability of A and half that of a tie (NaN without); authors are None where unknown.
    ValueError if a verdict is on no pair of these, two are on one item and order, or they are of several judges.
    """
    if len(judges := {verdict.judge for verdict in verdicts}) > 1:
        raise ValueError(f"verdicts of several judges: {', '.join(sorted(judges))}")
    known, cells = {pair.item_id for pair in pairs}, {}
    for verdict in verdicts:
        if verdict.item_id not in known:
            raise ValueError(f"{verdict.judge}: a verdict on {verdict.item_id}, which is no pair of these")
        if (verdict.item_id, verdict.order) in cells:
            raise ValueError(f"{verdict.judge}: two verdicts for {verdict.item_id} in order {verdict.order}")
        cells[verdict.item_id, verdict.order] = verdict
    rows = []
    for pair in pairs:
        given = [cells.get((pair.item_id, order)) for order in ("ab", "ba")]
        rows.append(
            (
                pair.item_id,
                pair.cluster,
                pair.subset,
                people_share(pair),
                len(pair.votes) or int(pair.label is not None),
                *(CREDIT.get(verdict and verdict.verdict, np.nan) for verdict in given),
                *(expected_credit(verdict) for verdict in given),
                len(words_of(pair.response_a)),
                len(words_of(pair.response_b)),
                pair.model_a,
                pair.model_b,
            )
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def expected_credit(verdict: Verdict | None) -> float:
    """Probability of A and half that of a tie; NaN where the judge gave no probabilities."""
    if verdict is None or verdict.p_a is None:
        return np.nan
    return verdict.p_a + (verdict.p_tie or 0.0) / 2
