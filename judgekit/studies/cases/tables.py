"""The table that rules read: one row per pair and judge, with the label, the votes and what the judge said."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from judgekit.records import ORDERS, PreferencePair, Verdict
from judgekit.scoring.comparison import Contest
from judgekit.scoring.protocols import joined_verdict

COLUMNS = "set item_id cluster label n_votes unanimous judge ab ba verdict p_a p_b p_tie".split()


def verdict_table(contest: Contest) -> pd.DataFrame:
    """Everybody's verdicts on a set: a row for each judge and pair, judges in the order of the contest.

    Columns set, item_id, cluster, label, n_votes, unanimous (what all people say, where they agree), judge, ab and ba
    (the verdict in each order, in the item's own A and B), verdict (of both orders: a tie where they differ; of one
    where the judge saw one), p_a, p_b, p_tie (means over the orders; NaN where none are stated). None where there is
    nothing.
    """
    rows = []
    for judge, verdicts in contest.verdicts.items():
        shown: dict[str, dict[str, Verdict]] = {}
        for verdict in verdicts:
            shown.setdefault(verdict.item_id, {})[verdict.order] = verdict
        for pair in contest.pairs:
            rows.append((contest.name, *of_people(pair), judge, *of_judge(shown.get(pair.item_id, {}))))
    table = pd.DataFrame(rows, columns=COLUMNS, dtype=object)  # so that None stays None
    return table.astype({"n_votes": int, "p_a": float, "p_b": float, "p_tie": float})


def of_people(pair: PreferencePair) -> tuple[str, str, str | None, int, str | None]:
    """Id, prompt, label, number of votes, and what all votes say."""
    votes = list(pair.votes.values())
    return pair.item_id, pair.cluster, pair.label, len(votes), votes[0] if len(set(votes)) == 1 else None


def of_judge(shown: Mapping[str, Verdict]) -> tuple[Any, ...]:
    """Verdict in either order and in both, and the mean probabilities, of one judge on one pair."""
    ab, ba = (shown[order].verdict if order in shown else None for order in ORDERS)
    verdict = joined_verdict(ab, ba, "any") if len(shown) == len(ORDERS) else ab or ba
    stated = [(v.p_a, v.p_b, v.p_tie or 0.0) for v in shown.values() if v.p_a is not None and v.p_b is not None]
    return ab, ba, verdict, *(np.mean(stated, axis=0) if stated else [np.nan] * 3)


def replies_on(contest: Contest, item_id: str, judges: Sequence[str] | None = None, least: int = 40) -> dict[str, str]:
    """What judges (all by default) replied on a pair shown in its own order, where a reply is more than a verdict.

    Text written by models, to be typeset as such. ``least``: characters; shorter replies say nothing of why.
    """
    found: dict[str, Any] = {}
    for judge in judges or contest.verdicts:
        for verdict in contest.verdicts.get(judge, []):
            if (verdict.item_id, verdict.order) == (item_id, "ab") and len(verdict.raw or "") >= least:
                found[judge] = verdict.raw
    return found
