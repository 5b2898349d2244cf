"""Kinds of tasks in the test sets, and a judge's verdicts as counts for the estimators of `judgekit.bias.kinds`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from judgekit.data.benchmarks.labelled import GROUP_OF_SCENARIO
from judgekit.data.catalogue import load_set
from judgekit.data.paths import verdict_store_path
from judgekit.judges import load_judge
from judgekit.judges.names import slug, unique_slugs
from judgekit.records import ORDERS, PreferencePair, Verdict
from judgekit.scoring.comparison import pairs_judged_by
from judgekit.scoring.items import credits_of, first_counts, item_table
from judgekit.scoring.protocols import Protocol, protocol_of
from judgekit.scoring.running import run_judge
from judgekit.scoring.store import VerdictStore

METRICS = ("accuracy", "agreement", "consistency", "first_rate", "tie_rate")
SUBJECTS = {"livebench-reasoning": "reasoning", "livebench-math": "math", "livecodebench": "coding"}
# What a domain counts in RM-Bench's own average: the two parts of safety are one domain.
RM_BENCH_SHARES = {"chat": 1 / 3, "code": 1 / 3, "safety_refuse": 1 / 6, "safety_response": 1 / 6}


SUBSET = attrgetter("subset")  # as the loader gives it


@dataclass(frozen=True)
class Grouping:
    """One way to sort the pairs of a set by kind of task."""

    sets: tuple[str, ...]  # taken together; they share a protocol
    category: Callable[[PreferencePair], str]  # a pair to the name of its kind
    title: str
    crossed: bool = False  # whether prompts stand in several categories, by design: compared within prompts, no sample


def subject(pair: PreferencePair) -> str:
    """JudgeBench: knowledge, reasoning, math or coding."""
    return SUBJECTS.get(pair.subset.partition("/")[2], "knowledge")


GROUPINGS = {
    "mtbench": Grouping(("mtbench",), SUBSET, "MT-bench"),
    "mtbench_turn": Grouping(("mtbench",), lambda pair: f"turn{len(pair.turns) + 1}", "MT-bench, turns", crossed=True),
    "autoj": Grouping(("autoj",), lambda pair: GROUP_OF_SCENARIO[pair.subset], "Auto-J"),
    "autoj_scenario": Grouping(("autoj",), SUBSET, "Auto-J, scenarios"),
    "llmbar": Grouping(("llmbar_natural", "llmbar_adversarial"), SUBSET, "LLMBar"),
    "judgebench": Grouping(("judgebench",), subject, "JudgeBench"),
    "rm_bench": Grouping(("rm_bench",), lambda pair: pair.subset.partition("/")[0], "RM-Bench"),
    "rm_bench_style": Grouping(
        ("rm_bench",), lambda pair: pair.subset.replace("/", "_"), "RM-Bench, styles", crossed=True
    ),
    "evalbiasbench": Grouping(("evalbiasbench",), SUBSET, "EvalBiasBench"),
    "pandalm": Grouping(("pandalm",), SUBSET, "PandaLM, applications"),
    "sample_natural": Grouping(("sample_natural",), SUBSET, "sample natural"),
    "sample_adversarial": Grouping(("sample_adversarial",), SUBSET, "sample adversarial", crossed=True),
}


def judged_items(
    groupings: Sequence[str],
    judges: Sequence[str],
    stored: Mapping[str, Sequence[str]],
    slugs: Mapping[str, str],
    run: str,
) -> pd.DataFrame:
    """The pairs of each grouping (keys of `GROUPINGS`), judged and counted (`counted_items`), with set and judge.

    ``stored``: judges whose verdicts on one grouping are at hand, by grouping; they need not cover all of its pairs.
    ``slugs`` are by the judge's name, where its own says too little. KeyError if there is no such grouping.
    """
    if unknown := set(groupings) - set(GROUPINGS):
        raise KeyError(f"no grouping {sorted(unknown)[0]!r}; there are {', '.join(GROUPINGS)}")
    short = unique_slugs([*judges, *(one for names in stored.values() for one in names)], slugs)
    loaded = {name: load_judge(name, run=run if name in judges else None) for name in short}
    parts = []
    with VerdictStore(verdict_store_path()) as store:
        for grouping in groupings:
            pairs = [pair for one in GROUPINGS[grouping].sets for pair in load_set(one)]
            for name in [*judges, *stored.get(grouping, [])]:
                orders = getattr(loaded[name], "orders", ORDERS)
                given = run_judge(loaded[name], pairs, store, orders, progress=False)
                given = [verdict for verdict in given if verdict.status != "error"]
                covered = pairs_judged_by(pairs, given, orders=orders)
                ids = {pair.item_id for pair in covered}
                given = [verdict for verdict in given if verdict.item_id in ids]
                parts.append(counted_items(given, covered, grouping).assign(set=grouping, judge=short[name]))
    return pd.concat(parts, ignore_index=True)


def counted_items(
    verdicts: Sequence[Verdict], pairs: Sequence[PreferencePair], grouping: str, protocol: Protocol | str | None = None
) -> pd.DataFrame:
    """Verdicts of one judge as hits out of a size, for each metric that is a rate.

    Columns metric, category (a slug), prompt, hits, size. ``accuracy`` under the protocol (the set's primary one by
    default); ``agreement`` (right in both orders), ``consistency`` and ``first_rate`` (of decided verdicts) where both
    orders were judged; ``tie_rate``, share of the verdicts that could be read. Defined as in `judgekit.scoring.score`.
    """
    kind = GROUPINGS[grouping]
    protocol = protocol_of(kind.sets[0], protocol)
    categories = {pair.item_id: slug(kind.category(pair)) for pair in pairs}
    table = item_table(verdicts, pairs, protocol)
    both, kept = bool(table["has_ba"].all()), table["kept"].to_numpy(float)
    read = table[["raw_ab", "raw_ba"] if both else ["raw_ab"]]
    counts: dict[str, tuple[Any, Any]] = {"accuracy": (credits_of(table, protocol), kept)}
    counts["tie_rate"] = ((read == "tie").sum(axis=1) * kept, read.notna().sum(axis=1) * kept)
    if both:
        right = (table["ab"] == table["reference"]) & (table["ba"] == table["reference"])
        same = (table["raw_ab"] == table["raw_ba"]) & table["raw_ab"].notna()
        first = np.array([first_counts(row) for row in table.itertuples(index=False)], float)
        counts |= {"agreement": (right * kept, kept), "consistency": (same * kept, kept)}
        counts["first_rate"] = (first[:, 0] * kept, first[:, 1] * kept)
    parts = [
        pd.DataFrame(
            {
                "metric": metric,
                "category": table["item_id"].map(categories),
                "prompt": table["cluster"],
                "hits": np.asarray(counts[metric][0], float),
                "size": np.asarray(counts[metric][1], float),
            }
        )
        for metric in METRICS
        if metric in counts
    ]
    items = pd.concat(parts, ignore_index=True)
    return items[items["size"] > 0].reset_index(drop=True)


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
    return {"all": balanced} | {str(name): part for name, part in items.groupby("domain", sort=True)}
