"""Where notebook 40 finds verdicts in both orders, flips by margin, and what asking in both orders repairs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from judgekit.bias.judged import judged_table, verdict_frame
from judgekit.bias.position import N_BOOT
from judgekit.data.benchmarks.outputs import published_verdicts
from judgekit.data.catalogue import load_set
from judgekit.data.paths import run_folder, verdict_store_path
from judgekit.judges.names import slug
from judgekit.judges.replay import load_replay
from judgekit.records import ORDERS, PreferencePair, Verdict
from judgekit.scoring import run_judge, verdicts, verdicts_from_scores
from judgekit.scoring.items import credits_of, item_table
from judgekit.scoring.protocols import joined_verdict, protocol_of
from judgekit.scoring.store import VerdictStore
from judgekit.scoring.tables import TITLES
from judgekit.stats import (
    Array,
    Floats,
    Number,
    cluster_sums,
    interval,
    interval_of,
    ratio,
    resampled_sums,
    share_of,
)
from judgekit.studies.prompt_strategies import stored_evaluators as stored_evaluators
from judgekit.training.causal_judge import TrainedCausalJudge
from judgekit.training.causal_tasks import APART, tiny_tasks

TITLED = TITLES | {"tiny_tasks": "tiny tasks, as taught", "tiny_apart": "tiny tasks, not taught"}
EDGES = tuple(np.linspace(0, 1, 6))  # of bins of a margin
FEWEST = 10  # pairs of either outcome from which a slope is fitted

# ---------------------------------------------------------------- verdicts


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


def tiny_verdicts(run: str, n_tasks: int) -> pd.DataFrame:
    """Verdicts of the causal judge of notebook 21, tuned and then aligned, on tasks that it was and was not taught."""
    tasks = {"tiny_tasks": tiny_tasks(n_tasks, "test"), "tiny_apart": tiny_tasks(n_tasks, "test", families=APART)}
    store, tables = VerdictStore(verdict_store_path()), []
    for name, pairs in tasks.items():
        for stage in ("sft", "dpo"):
            judge = TrainedCausalJudge(run_folder(run, "models", "causal") / stage, f"tiny/{stage}")
            given = verdict_frame(pairs, run_judge(judge, pairs, store, progress=False), name)
            tables.append(given.assign(judge=f"tiny_{stage}"))
    return pd.concat(tables)


def read_by_marks(model: str, name: str) -> pd.DataFrame:
    """A stored rating judge's verdicts on a set, by the marks it gave: equal marks are a tie, in both orders.

    ``model``: a key of `judgekit.data.benchmarks.outputs.PUBLISHED` that rates each response alone.
    """
    pairs = load_set(name)
    known = {pair.item_id for pair in pairs}
    return judged_table(pairs, verdicts_from_scores([one for one in published_verdicts(model) if one.item_id in known]))


def joined_only(model: str, name: str) -> pd.DataFrame:
    """`judged_table` of a judge whose joined verdict is stored, with ``flip``: whether its two orders differed."""
    stored = {verdict.item_id: verdict for verdict in published_verdicts(model)}
    pairs = [pair for pair in load_set(name) if pair.item_id in stored]
    flipped = [float(stored[pair.item_id].raw == "tie (inconsistent)") for pair in pairs]
    return judged_table(pairs, [stored[pair.item_id] for pair in pairs]).assign(flip=flipped)


def consistency_gain(one: pd.DataFrame, base: pd.DataFrame, n_boot: int = N_BOOT, seed: int = 0) -> Number:
    """Consistency of one judge less that of another on the same pairs, over one draw of prompts; n is the smaller."""
    both = one.merge(base, on=["item", "prompt"], suffixes=("", "_base"), validate="one_to_one")
    if not len(both) == len(one) == len(base):
        raise ValueError("the two judges were not shown the same pairs")
    shift = np.column_stack([both["ab"] - both["ba"], both["ab_base"] - both["ba_base"]])
    counts = np.stack([shift == 0, np.isfinite(shift)], -1).astype(float)  # pair, judge, (same, read)
    n = int(counts[..., 1].sum(0).min())

    def less(sums: Floats) -> Floats:
        return share_of(sums[..., 0, :]) - share_of(sums[..., 1, :])

    return interval(less, both["prompt"], counts, n=n, spec=".1%", n_boot=n_boot, seed=seed)


# ---------------------------------------------------------------- by margin


def margin_table(
    outcome: Array, margin: Array, prompts: Array, edges: Sequence[float] = EDGES, n_boot: int = N_BOOT, seed: int = 0
) -> pd.DataFrame:
    """How often something happens, by margin: a row per bin that holds pairs, ``margin`` (their mean) and ``rate``.

    ``outcome``: 1 or 0 for each pair; NaN in it or in the margin leaves a pair out. ``edges`` of the bins rise; a bin
    holds its lower edge, the last one both. All prompts are resampled, whichever bins their pairs are in.
    """
    outcome, margin = np.asarray(outcome, float), np.asarray(margin, float)
    known = np.isfinite(outcome) & np.isfinite(margin)
    bins = np.where(known, np.minimum(np.searchsorted(edges, margin, side="right") - 1, len(edges) - 2), -1)
    rows = []
    for number in np.unique(bins[known]):
        inside = bins == number
        counts = np.column_stack([np.where(inside, outcome, 0), inside])
        rate = interval(share_of, prompts, counts, n=int(inside.sum()), spec=".1%", n_boot=n_boot, seed=seed)
        rows.append((float(margin[inside].mean()), rate))
    return pd.DataFrame(rows, columns=["margin", "rate"])


def margin_slope(outcome: Array, margin: Array, prompts: Array) -> Number | None:
    r"""How the log odds of an outcome change from margin 0 to margin 1.

    The slope b of :math:`\operatorname{logit} P = a + b\,\text{margin}`, standard errors clustered by prompt (Cameron
    and Miller 2015, Journal of Human Resources 50); None where fewer than ten pairs have either outcome, there is one
    prompt, or a threshold on the margin separates the outcomes, so that the slope is not finite.

    A description, not a cause: what makes a pair close may make it hard in other ways. Where the margin is itself
    measured (three votes, five judges) its noise flattens the slope.
    """
    import statsmodels.api as sm

    outcome, margin = np.asarray(outcome, float), np.asarray(margin, float)
    known = np.isfinite(outcome) & np.isfinite(margin)
    y, x = outcome[known], margin[known]
    groups = np.unique(np.asarray(prompts, str)[known], return_inverse=True)[1]
    some, others = x[y == 1], x[y == 0]
    if min(len(some), len(others)) < FEWEST or groups.max() == 0:
        return None
    if some.max() <= others.min() or others.max() <= some.min():
        return None
    model = sm.GLM(y, sm.add_constant(x, has_constant="add"), family=sm.families.Binomial())
    fitted = model.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    low, high = fitted.conf_int()[1]
    return Number(fitted.params[1], low, high, n=len(x), spec=".2f")


# ---------------------------------------------------------------- repair


def repair_table(table: pd.DataFrame, benchmark: str) -> pd.DataFrame:
    """Credits in [0, 1] of every item (or vote) of one judge on one set, one order at a time and joined.

    ``table``: rows of `judgekit.scoring.verdicts`. Columns prompt, single_ab, single_ba, joined, kept (both orders
    gave the same verdict), and, for a judge with probabilities, averaged: the credit of the most probable verdict of
    the orders' mean. ``benchmark`` chooses the protocol: who is right, what a reply without a verdict counts as,
    whether ties are allowed; where they are not, a joined tie earns one half, as a coin would.
    """
    pairs: list[PreferencePair] = [pair for pair in load_set(benchmark) if pair.item_id in set(table["item"])]
    columns = ["item", "judge", "order", "verdict", "p_a", "p_b", "p_tie", "status"]
    given = table[columns].astype(object).where(table[columns].notna(), None)
    records: Any = given.rename(columns={"item": "item_id"}).to_dict("records")
    given_verdicts = [Verdict(**row) for row in records]
    protocol = protocol_of(benchmark)
    one, other = (replace(protocol, rule=rule, one_order="refused") for rule in ("forward", "swapped"))
    items = item_table(given_verdicts, pairs, one)
    credits = pd.DataFrame({"prompt": items["cluster"], "single_ab": credits_of(items, one)})
    credits["single_ba"] = credits_of(item_table(given_verdicts, pairs, other), other)
    joined = pd.Series([joined_verdict(ab, ba, "any") for ab, ba in zip(items["ab"], items["ba"], strict=True)])
    coin = (joined == "tie") * ("tie" not in protocol.labels) / 2
    credits["joined"] = (joined == items["reference"]).astype(float) + coin
    credits["kept"] = items["raw_ab"].notna() & (items["raw_ab"] == items["raw_ba"])
    p = items[["p_a", "p_b", "p_tie"]].to_numpy(float)
    if np.isfinite(p).all():
        credits["averaged"] = (np.array(["A", "B", "tie"])[p.argmax(1)] == items["reference"]).astype(float)
    return credits


def repair_numbers(credits: pd.DataFrame, n_boot: int = N_BOOT, seed: int = 0) -> dict[str, Number]:
    r"""What joining two orders does to a score (`repair_table`'s), with intervals over prompts.

    ``single``: the expected score of a judge asked once in a random order; ``joined``: that of the verdict on which
    both orders agree, a tie where they do not; ``kept`` (share of items on which the orders agree) and
    ``accuracy_kept`` (on those); ``gain`` and ``gain_kept``, paired differences of these two to ``single``;
    ``averaged`` and ``gain_averaged`` where there are probabilities; ``order_sd``, the standard deviation of a score
    that draws an order for every item, :math:`\sqrt{\sum (c_1 - c_2)^2}/2n`, which comes on top of the items' own.
    """
    if credits.empty:
        raise ValueError("no item has a reference label")
    kept = credits["kept"].to_numpy(float)
    columns = {"one": np.ones(len(credits)), "single": credits[["single_ab", "single_ba"]].mean(axis=1)}
    columns |= {"joined": credits["joined"], "kept": kept, "right_kept": columns["single"] * kept}
    columns |= {"averaged": credits["averaged"]} if "averaged" in credits else {}
    values = np.column_stack([np.asarray(column, float) for column in columns.values()])
    sums = cluster_sums(values, credits["prompt"].tolist())
    drawn, place = resampled_sums(sums, n_boot, seed), list(columns).index

    def mean(name: str, of: str = "one") -> Callable[[Floats], Floats]:
        return lambda s: ratio(s[..., place(name)], s[..., place(of)])

    def number(statistic: Callable[[Floats], Floats], n: int = len(credits), signed: bool = False) -> Number:
        value = float(statistic(sums.sum(0)))
        return Number(value, *interval_of(value, statistic(drawn), len(sums), signed=signed), n=n, spec=".1%")

    def gain(score: Callable[[Floats], Floats], n: int = len(credits)) -> Number:
        return number(lambda s: score(s) - mean("single")(s), n, signed=True)

    numbers = {name: number(mean(name)) for name in ("single", "joined", "kept")} | {"gain": gain(mean("joined"))}
    if n_kept := int(kept.sum()):
        on_kept = mean("right_kept", "kept")
        numbers |= {"accuracy_kept": number(on_kept, n_kept), "gain_kept": gain(on_kept, n_kept)}
    if "averaged" in credits:
        numbers |= {"averaged": number(mean("averaged")), "gain_averaged": gain(mean("averaged"))}
    spread = np.sqrt(((credits["single_ab"] - credits["single_ba"]) ** 2).sum()) / (2 * len(credits))
    return numbers | {"order_sd": Number(float(spread), n=len(credits), spec=".2%")}
