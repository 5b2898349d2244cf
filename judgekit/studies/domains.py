"""Kinds of tasks in the test sets, and a judge's verdicts as counts for the estimators of `judgekit.bias.kinds`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import pandas as pd

from judgekit.data.benchmarks import GROUP_OF_SCENARIO
from judgekit.data.catalogue import load_set
from judgekit.data.paths import verdict_store_path
from judgekit.judges import load_judge
from judgekit.judges.names import slug, unique_slugs
from judgekit.records import ORDERS, PreferencePair, Verdict
from judgekit.scoring.comparison import pairs_judged_by
from judgekit.scoring.items import credits_of, item_table
from judgekit.scoring.protocols import protocol_of
from judgekit.scoring.running import run_judge
from judgekit.scoring.store import VerdictStore

SUBJECTS = {"livebench-reasoning": "reasoning", "livebench-math": "math", "livecodebench": "coding"}
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
                parts.append(counted_items(given, covered, grouping).assign(set=grouping, judge=short[name]))
    return pd.concat(parts, ignore_index=True)


def counted_items(verdicts: Sequence[Verdict], pairs: Sequence[PreferencePair], grouping: str) -> pd.DataFrame:
    """One judge's items that stay under the set's primary protocol: columns category (a slug), prompt, hits, size."""
    kind = GROUPINGS[grouping]
    protocol = protocol_of(kind.sets[0])
    ids = {pair.item_id: slug(kind.category(pair)) for pair in pairs}
    table = item_table([one for one in verdicts if one.item_id in ids], pairs, protocol)
    columns = {"category": table["item_id"].map(ids), "prompt": table["cluster"], "hits": credits_of(table, protocol)}
    return pd.DataFrame(columns | {"size": 1.0})[table["kept"].to_numpy()].reset_index(drop=True)
