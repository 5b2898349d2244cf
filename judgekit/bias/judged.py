"""The table that every study of bias reads: one row per pair, with what people and a judge prefer."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from judgekit.data.catalogue import load_set
from judgekit.judges.surface import words_of
from judgekit.records import ORDERS, PreferencePair, Verdict
from judgekit.scoring import pivot_orders
from judgekit.scoring.tables import verdict_table

CREDIT: dict[Any, float] = {"A": 1.0, "tie": 0.5, "B": 0.0}
KEYS = ["set", "judge", "item"]


def rounded(table: pd.DataFrame) -> "pd.Series[bool]":
    """Which verdicts rounding decided: A and B are stated to be equally likely, so that neither response is named."""
    even = table["p_a"].eq(table["p_b"]) & table["p_a"].notna() & table["verdict"].notna()
    return even & table["judge"].ne("random")  # a coin means what it says, and is thrown


def judged(table: pd.DataFrame, pairs: Mapping[str, Sequence[PreferencePair]] | None = None) -> pd.DataFrame:
    """`judgekit.scoring.verdicts` with one row per set, judge and pair, preferences as credit for the pair's A.

    Columns set, judge, item, prompt; ``ab`` and ``ba``, the verdict in either order (1, 0, 0.5 for a tie or where A and
    B are stated to be equally likely, as rounding leaves them; NaN where there is none); ``p_ab`` and ``p_ba``,
    probability of A and half that of a tie (NaN without); ``people``, the share of the votes, or else the label, in
    [0, 1] (NaN without), and ``n_votes``. With ``pairs``, by set, also words, characters and model, each of a and b.
    """
    rows = pivot_orders(table.assign(verdict=table["verdict"].mask(rounded(table), "tie")))
    rows[list(ORDERS)] = rows[list(ORDERS)].map(lambda verdict: CREDIT.get(verdict, np.nan)).astype(float)
    expected = table.assign(p=table["p_a"] + table["p_tie"].fillna(0.0) / 2).pivot(
        index=KEYS, columns="order", values="p"
    )
    p = expected.reindex(pd.MultiIndex.from_frame(rows[KEYS]), columns=list(ORDERS)).to_numpy(float)
    labelled = rows[["votes", "label"]].to_numpy()
    opinions = [list(votes.values()) or [label] * (label is not None) for votes, label in labelled]
    people = [float(np.mean([CREDIT[one] for one in given])) if given else np.nan for given in opinions]
    rows = rows.assign(p_ab=p[:, 0], p_ba=p[:, 1], people=people, n_votes=[len(given) for given in opinions])
    rows = rows.drop(columns=["label", "votes"])
    if pairs is None:
        return rows
    written = []
    for name, items in pairs.items():
        for one in items:
            words = [len(words_of(text)) for text in one.responses]
            written.append((name, one.item_id, *words, *map(len, one.responses), one.model_a, one.model_b))
    columns = ["set", "item", "words_a", "words_b", "characters_a", "characters_b", "model_a", "model_b"]
    return rows.merge(pd.DataFrame(written, columns=columns), on=["set", "item"], how="left")


def judged_table(pairs: Sequence[PreferencePair], verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """`judged` of pairs and verdicts of one's own, a set without a name; ValueError where a verdict is on no pair."""
    return judged(verdict_table([("", "", pairs, verdicts)]), {"": pairs})


def show_pair(table: pd.DataFrame, name: str, item: str, whole: str | None = None) -> pd.DataFrame:
    """Prints a pair of a set (or of the ``whole`` that it is a part of); returns its rows of a table of verdicts."""
    pair = next(one for one in load_set(whole or name) if one.item_id == item)
    for title, text in (("Question", pair.asked), ("Response A", pair.response_a), ("Response B", pair.response_b)):
        print(f"{title}: {text[:600]}\n")
    return table[(table["set"] == name) & (table["item"] == item)].drop(columns=["set", "item", "prompt"])
