r"""What asking in both orders repairs, and what it costs.

An item has the credit :math:`c_1, c_2` of its two verdicts under the set's own rule of one order. *Single* is their
mean, the expected score of a judge asked once in a random order; *joined* the score of the verdict on which both
orders agree, a tie where they do not. Where no tie is allowed a joined tie earns one half, as a coin would: there
*joined* equals *single* whatever the verdicts (as long as all could be read), and what both orders buy is to know which
verdicts to distrust.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from judgekit.bias.position import N_BOOT
from judgekit.records import PreferencePair, Verdict
from judgekit.scoring.items import credits_of, item_table
from judgekit.scoring.protocols import joined_verdict, protocol_of
from judgekit.stats import Floats, Number, cluster_sums, percentile_interval, ratio, resampled_sums


def repair_table(verdicts: Sequence[Verdict], pairs: Sequence[PreferencePair], benchmark: str) -> pd.DataFrame:
    """Credits in [0, 1] of every item (or vote), one order at a time and joined, of one judge in both orders.

    Columns cluster, single_ab, single_ba, joined, kept (both orders gave the same verdict), and, for a judge with
    probabilities, averaged: the credit of the most probable verdict of the orders' mean. ``benchmark`` chooses the
    protocol: who is right, what a reply without a verdict counts as, whether ties are allowed.
    """
    protocol = protocol_of(benchmark)
    one, other = (replace(protocol, rule=rule, one_order="refused") for rule in ("forward", "swapped"))
    table = item_table(verdicts, pairs, one)
    found = pd.DataFrame({"cluster": table["cluster"]})
    found["single_ab"] = credits_of(table, one)
    found["single_ba"] = credits_of(item_table(verdicts, pairs, other), other)
    joined = [joined_verdict(ab, ba, "any") for ab, ba in zip(table["ab"], table["ba"], strict=True)]
    found["kept"] = table["raw_ab"].notna() & (table["raw_ab"] == table["raw_ba"])
    right = np.array([said == label for said, label in zip(joined, table["reference"], strict=True)], float)
    coin = np.array([said == "tie" for said in joined]) * ("tie" not in protocol.labels) / 2
    found["joined"] = right + coin
    p = table[["p_a", "p_b", "p_tie"]].to_numpy(float)
    if np.isfinite(p).all():
        said = np.array(["A", "B", "tie"])[p.argmax(1)]
        found["averaged"] = (said == table["reference"].to_numpy(str)).astype(float)
    return found


def repair_numbers(table: pd.DataFrame, n_boot: int = N_BOOT, seed: int = 0) -> dict[str, Number]:
    r"""What joining two orders does to a score (`repair_table`'s), with intervals over prompts.

    ``single``, ``joined``, ``kept`` (share of items on which the orders agree) and ``accuracy_kept`` (on those);
    ``gain`` and ``gain_kept``, paired differences of these two to ``single``; ``averaged`` and ``gain_averaged``
    where there are probabilities; ``order_sd``, the standard deviation of a score that draws an order for every
    item, :math:`\sqrt{\sum (c_1 - c_2)^2}/2n`, which comes on top of the items' own. ValueError if there are no items.
    """
    if table.empty:
        raise ValueError("no item has a reference label")
    single = table[["single_ab", "single_ba"]].mean(axis=1)
    kept = table["kept"].to_numpy(float)
    columns = {"one": np.ones(len(table)), "single": single, "joined": table["joined"], "kept": kept}
    columns["right_kept"] = single * kept
    columns |= {"averaged": table["averaged"]} if "averaged" in table else {}
    values = np.column_stack([np.asarray(column, float) for column in columns.values()])
    sums = cluster_sums(values, table["cluster"].tolist())
    counts, drawn, place = sums.sum(0), resampled_sums(sums, n_boot, seed), {name: k for k, name in enumerate(columns)}
    n_items = len(table)

    def number(statistic: Callable[[Floats], Floats], n: int = n_items) -> Number:
        return Number(float(statistic(counts)), *percentile_interval(statistic(drawn)), n=n, spec=".1%")

    def mean(name: str, of: str = "one") -> Callable[[Floats], Floats]:
        return lambda s: ratio(s[..., place[name]], s[..., place[of]])

    def gain(name: str, of: str = "one") -> Callable[[Floats], Floats]:
        return lambda s: mean(name, of)(s) - mean("single")(s)

    found = {"single": number(mean("single")), "joined": number(mean("joined")), "gain": number(gain("joined"))}
    found["kept"] = number(mean("kept"))
    if n_kept := int(kept.sum()):
        found["accuracy_kept"] = number(mean("right_kept", "kept"), n_kept)
        found["gain_kept"] = number(gain("right_kept", "kept"), n_kept)
    if "averaged" in table:
        found |= {"averaged": number(mean("averaged")), "gain_averaged": number(gain("averaged"))}
    spread = np.sqrt(((table["single_ab"] - table["single_ba"]) ** 2).sum()) / (2 * len(table))
    return found | {"order_sd": Number(float(spread), n=len(table), spec=".2%")}
