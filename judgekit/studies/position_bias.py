"""Where notebook 40 finds verdicts in both orders, and how they score one order at a time and joined."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from judgekit.bias.judged import judged_table
from judgekit.data.benchmarks.outputs import published_verdicts
from judgekit.data.catalogue import load_set
from judgekit.judges.names import slug
from judgekit.judges.replay import load_replay
from judgekit.records import ORDERS, Verdict
from judgekit.scoring import verdicts
from judgekit.scoring.items import credits_of, item_table
from judgekit.scoring.protocols import joined_verdict, protocol_of
from judgekit.studies.prompt_strategies import stored_evaluators as stored_evaluators


def in_both_orders(judges: Sequence[str], name: str, run: str) -> pd.DataFrame:
    """`judgekit.scoring.verdicts` of judges on a set; of a replayed one on the pairs that are stored in both orders.

    ValueError where there are none.
    """
    table = verdicts(judges, [name], run, progress=False)
    for judge in [one for one in judges if one.startswith("replay/")]:
        stored: Any = load_replay(judge).stored
        others = table["judge"] != slug(judge)
        both = np.array([all((item, order) in stored for order in ORDERS) for item in table["item"]])
        table = table[others | both]
        if len(table) == others.sum():
            raise ValueError(f"{judge}: no pair was judged in both orders")
    return table


def joined_only(model: str, name: str) -> pd.DataFrame:
    """`judged_table` of a judge whose joined verdict is stored, with ``flip``: whether its two orders differed."""
    stored = {verdict.item_id: verdict for verdict in published_verdicts(model)}
    pairs = [pair for pair in load_set(name) if pair.item_id in stored]
    flipped = [float(stored[pair.item_id].raw == "tie (inconsistent)") for pair in pairs]
    return judged_table(pairs, [stored[pair.item_id] for pair in pairs]).assign(flip=flipped)


def repair_credits(table: pd.DataFrame, benchmark: str) -> pd.DataFrame:
    """Credits in [0, 1] of every item (or vote) of one judge on one set, asked once and joined; ValueError if none.

    ``table``: rows of `judgekit.scoring.verdicts`. Columns prompt; ``single``, the mean of the two orders' credits;
    ``joined``, that of the verdict on which both orders agree, a tie where they do not; ``kept``, whether they agree.
    The set's protocol says who is right and what a reply without a verdict counts as; where it allows no tie, a joined
    tie earns one half, as a coin would.
    """
    items = set(table["item"])
    pairs = [pair for pair in load_set(benchmark) if pair.item_id in items]
    columns = ["item", "judge", "order", "verdict", "p_a", "p_b", "p_tie", "status"]
    rows: Any = table[columns].astype(object).where(table[columns].notna(), None).rename(columns={"item": "item_id"})
    given = [Verdict(**row) for row in rows.to_dict("records")]
    forward, swapped = (
        replace(protocol_of(benchmark), rule=rule, one_order="refused") for rule in ("forward", "swapped")
    )
    scored = item_table(given, pairs, forward)
    if scored.empty:
        raise ValueError("no item has a reference label")
    single = (credits_of(scored, forward) + credits_of(item_table(given, pairs, swapped), swapped)) / 2
    joined = pd.Series([joined_verdict(*orders, "any") for orders in zip(scored["ab"], scored["ba"], strict=True)])
    coin = (joined == "tie") * ("tie" not in forward.labels) / 2
    kept = scored["raw_ab"].notna() & (scored["raw_ab"] == scored["raw_ba"])
    credits = (joined == scored["reference"]).astype(float) + coin
    return pd.DataFrame({"prompt": scored["cluster"], "single": single, "joined": credits, "kept": kept.astype(float)})
