"""Kinds of tasks in the test sets, and a judge's verdicts as counts for the estimators of `judgekit.bias.domains`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgekit.bias.domains import Estimate, difference, heterogeneity, shrunken_rates
from judgekit.data.benchmarks.labelled import GROUP_OF_SCENARIO
from judgekit.data.catalogue import load_set
from judgekit.judges.base import Judge
from judgekit.judges.names import slug
from judgekit.records import ORDERS, PreferencePair, Verdict
from judgekit.scoring.comparison import pairs_judged_by
from judgekit.scoring.items import credits_of, first_counts, item_table
from judgekit.scoring.protocols import Protocol, protocol_of
from judgekit.scoring.running import run_judge
from judgekit.scoring.store import VerdictStore
from judgekit.stats import Number, cluster_bootstrap, cluster_sums, holm

METRICS = ("accuracy", "agreement", "consistency", "first_rate", "tie_rate")
SUBJECTS = {"livebench-reasoning": "reasoning", "livebench-math": "math", "livecodebench": "coding"}
# What a domain counts in RM-Bench's own average: the two parts of safety are one domain.
RM_BENCH_SHARES = {"chat": 1 / 3, "code": 1 / 3, "safety_refuse": 1 / 6, "safety_response": 1 / 6}


@dataclass(frozen=True)
class Grouping:
    """One way to sort the pairs of a set by kind of task."""

    sets: tuple[str, ...]  # taken together; they share a protocol
    category: Callable  # a pair to the name of its kind
    title: str
    crossed: bool = False  # whether prompts stand in several categories, by design: compared within prompts, no sample


def subset(pair: PreferencePair) -> str:
    """The subset that the loader gives."""
    return pair.subset


def subject(pair: PreferencePair) -> str:
    """JudgeBench: knowledge, reasoning, math or coding."""
    return SUBJECTS.get(pair.subset.partition("/")[2], "knowledge")


def style_cell(pair: PreferencePair) -> str:
    """RM-Bench: domain and difficulty, as one name."""
    return pair.subset.replace("/", "_")


GROUPINGS = {
    "mtbench": Grouping(("mtbench",), subset, "MT-bench"),
    "mtbench_turn": Grouping(("mtbench",), lambda pair: f"turn{len(pair.turns) + 1}", "MT-bench, turns", crossed=True),
    "autoj": Grouping(("autoj",), lambda pair: GROUP_OF_SCENARIO[pair.subset], "Auto-J"),
    "autoj_scenario": Grouping(("autoj",), subset, "Auto-J, scenarios"),
    "llmbar": Grouping(("llmbar_natural", "llmbar_adversarial"), subset, "LLMBar"),
    "judgebench": Grouping(("judgebench",), subject, "JudgeBench"),
    "rm_bench": Grouping(("rm_bench",), lambda pair: pair.subset.partition("/")[0], "RM-Bench"),
    "rm_bench_style": Grouping(("rm_bench",), style_cell, "RM-Bench, styles", crossed=True),
    "evalbiasbench": Grouping(("evalbiasbench",), subset, "EvalBiasBench"),
    "pandalm": Grouping(("pandalm",), subset, "PandaLM, applications"),
    "sample_natural": Grouping(("sample_natural",), subset, "sample natural"),
    "sample_adversarial": Grouping(("sample_adversarial",), subset, "sample adversarial", crossed=True),
}


def judged_items(
    groupings: Sequence[str],
    judges: Sequence[Judge],
    stored: Mapping[str, Sequence[Judge]],
    store: VerdictStore,
    slugs: Mapping[str, str],
    progress: bool = True,
) -> pd.DataFrame:
    """The pairs of each grouping (keys of `GROUPINGS`), judged and counted (`counted_items`), with set and judge.

    ``stored``: judges whose verdicts on one grouping are at hand, by grouping; they need not cover all of its pairs.
    ``slugs`` are by the judge's name. KeyError if there is no such grouping; the message lists those there are.
    """
    if unknown := set(groupings) - set(GROUPINGS):
        raise KeyError(f"no grouping {sorted(unknown)[0]!r}; there are {', '.join(GROUPINGS)}")
    parts = []
    for name in groupings:
        pairs = [pair for one in GROUPINGS[name].sets for pair in load_set(one)]
        for judge in [*judges, *stored.get(name, [])]:
            orders = getattr(judge, "orders", ORDERS)
            said = [
                verdict for verdict in run_judge(judge, pairs, store, orders, progress) if verdict.status != "error"
            ]
            held = pairs_judged_by(pairs, said, orders=orders)
            ids = {pair.item_id for pair in held}
            said = [verdict for verdict in said if verdict.item_id in ids]
            parts.append(counted_items(said, held, name).assign(set=name, judge=slugs[judge.name]))
    return pd.concat(parts, ignore_index=True)


def counted_items(
    verdicts: Sequence[Verdict], pairs: Sequence[PreferencePair], grouping: str, protocol: Protocol | str | None = None
) -> pd.DataFrame:
    """Verdicts of one judge as hits out of a size, for each metric that is a rate.

    Columns metric, category (a slug), cluster, hits, size. ``accuracy`` under the protocol (the set's primary one by
    default); ``agreement`` (right in both orders), ``consistency`` and ``first_rate`` (of decided verdicts) where both
    orders were judged; ``tie_rate``, share of the verdicts that could be read. Defined as in `judgekit.scoring.score`.
    """
    kind = GROUPINGS[grouping]
    protocol = protocol_of(kind.sets[0], protocol)
    categories = {pair.item_id: slug(kind.category(pair)) for pair in pairs}
    table = item_table(verdicts, pairs, protocol)
    both, kept = bool(table["has_ba"].all()), table["kept"].to_numpy(float)
    read = table[["raw_ab", "raw_ba"] if both else ["raw_ab"]]
    counts = {"accuracy": (credits_of(table, protocol), kept)}
    counts["tie_rate"] = ((read == "tie").sum(axis=1) * kept, read.notna().sum(axis=1) * kept)
    if both:
        right = (table["ab"] == table["reference"]) & (table["ba"] == table["reference"])
        same = (table["raw_ab"] == table["raw_ba"]) & table["raw_ab"].notna()
        first = np.array([first_counts(row) for row in table.itertuples(index=False)], float)
        counts |= {"agreement": (right * kept, kept), "consistency": (same * kept, kept)}
        counts["first_rate"] = tuple(first.T * kept)
    parts = [
        pd.DataFrame(
            {
                "metric": metric,
                "category": table["item_id"].map(categories),
                "cluster": table["cluster"],
                "hits": np.asarray(counts[metric][0], float),
                "size": np.asarray(counts[metric][1], float),
            }
        )
        for metric in METRICS
        if metric in counts
    ]
    items = pd.concat(parts, ignore_index=True)
    return items[items["size"] > 0].reset_index(drop=True)


def rates_by_category(
    items: pd.DataFrame, n_draws: int = 4000, n_permutations: int = 2000, seed: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rates of every judge and metric by category, and what is known of the population of categories.

    The first table has the columns set, judge, metric, and those of `judgekit.bias.domains.Shrunken.table`; the second
    one row per set, judge and metric: mean and spread (`Estimate`), share (of the sum of squares that chance would
    give), p_value, and p_holm, adjusted over the judges and sets of a metric. ``items``: `counted_items` of several
    groupings and judges, with columns ``set`` (the grouping) and ``judge``.
    """
    tables, rows = [], []
    for (name, judge, metric), part in items.groupby(["set", "judge", "metric"], sort=False):
        if GROUPINGS[name].crossed:
            continue
        found = shrunken_rates(part, n_draws, seed)
        p_value, share = heterogeneity(part, n_permutations, seed)
        tables.append(found.table.assign(set=name, judge=judge, metric=metric))
        rows.append((name, judge, metric, found.mean, found.spread, share, p_value, len(found.table), len(part)))
    columns = ["set", "judge", "metric", "mean", "spread", "share", "p_value", "categories", "n"]
    populations = pd.DataFrame(rows, columns=columns)
    populations["p_holm"] = populations.groupby("metric")["p_value"].transform(holm)
    return pd.concat(tables, ignore_index=True), populations


def crossed_rates(items: pd.DataFrame, n_boot: int = 5000, seed: int = 0) -> pd.DataFrame:
    """Rates by category where the categories share prompts: each with its interval, prompts resampled.

    Columns set, judge, metric, category, n, value, low, high. ``items``: `counted_items`, with ``set`` and ``judge``.
    """
    rows = []
    for (name, judge, metric, category), part in items.groupby(["set", "judge", "metric", "category"], sort=False):
        sums = cluster_sums(part[["hits", "size"]], part["cluster"].tolist())
        rate = cluster_bootstrap(sums, lambda s: s[..., 0] / s[..., 1], n_boot, seed)
        rows.append((name, judge, metric, category, len(part), *rate))
    return pd.DataFrame(rows, columns=["set", "judge", "metric", "category", "n", "value", "low", "high"])


def by_style(items: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """RM-Bench's items by difficulty (easy, normal, hard): of each domain, and of all as the set's authors average.

    By domain, or ``all``, items whose category is the difficulty. Under ``all`` sizes are weights: every domain counts
    the same, the two parts of safety half each. ``items``: `counted_items` of ``rm_bench_style``, of one judge or
    several.
    """
    parts = items["category"].str.extract(r"^(?P<domain>\w+)_(?P<difficulty>easy|normal|hard)$")
    items = items.assign(category=parts["difficulty"], domain=parts["domain"])
    share = items["domain"].map(RM_BENCH_SHARES)
    keys = ["judge", "metric", "domain"] if "judge" in items else ["metric", "domain"]
    total = items.groupby(keys)["size"].transform("sum")
    balanced = items.assign(hits=items["hits"] * share / total, size=items["size"] * share / total)
    return {"all": balanced} | dict(iter(items.groupby("domain", sort=True)))


def style_bias(items: pd.DataFrame, n_boot: int = 5000, seed: int = 0) -> Estimate:
    """What a judge loses where the wrong response is the richer one in style: accuracy on easy less on hard pairs.

    ``items``: one value of `by_style`, of one judge and metric.
    """
    return difference(items, "easy", "hard", n_boot, seed)


def style_table(
    items: pd.DataFrame, judges: Sequence[str], n_boot: int = 5000, seed: int = 0
) -> tuple[pd.DataFrame, dict[tuple[str, str], Estimate]]:
    """Accuracy by difficulty, and the style bias by panel and judge, of some judges on RM-Bench.

    Columns panel (a domain, or ``all``), judge, category, value, low, high, n. ``items``: `judged_items`,
    ``rm_bench_style`` among its sets.
    """
    chosen = items[(items["set"] == "rm_bench_style") & (items["metric"] == "accuracy") & items["judge"].isin(judges)]
    rates, biases = [], {}
    for panel, part in by_style(chosen).items():
        rates.append(crossed_rates(part, n_boot, seed).assign(panel=panel))
        biases |= {(panel, judge): style_bias(part[part["judge"] == judge], n_boot, seed) for judge in judges}
    return pd.concat(rates, ignore_index=True), biases


def numbers_of(categories: pd.DataFrame, populations: pd.DataFrame) -> dict[str, Number]:
    """The numbers of `rates_by_category`, by key.

    ``domain.<set>.<category>.<judge>.<metric>``, the category alone, and ``..._shrunken``;
    ``domain.<set>.all.<judge>.{mean,spread,p_value,p_holm}`` of accuracy, ``<metric>_...`` of others.
    """
    numbers = {}
    for row in categories.itertuples():
        key = f"domain.{row.set}.{row.category}.{row.judge}.{row.metric}"
        n = round(row.n)
        numbers[key] = Number(row.raw, row.raw_low, row.raw_high, n, ".1%")
        numbers[f"{key}_shrunken"] = Number(row.value, row.low, row.high, n, ".1%")
    for row in populations.itertuples():
        key = f"domain.{row.set}.all.{row.judge}." + ("" if row.metric == "accuracy" else f"{row.metric}_")
        for name, found in (("mean", row.mean), ("spread", row.spread)):
            numbers[key + name] = Number(found.value, found.low, found.high, row.n, ".1%")
        numbers[f"{key}p_value"] = Number(row.p_value, n=row.n, spec=".4f")
        numbers[f"{key}p_holm"] = Number(row.p_holm, n=row.n, spec=".4f")
    return numbers
