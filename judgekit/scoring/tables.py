"""Judges by sets: the one table of verdicts that studies start from, and tables of scores."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from judgekit.data.catalogue import load_set
from judgekit.judges import Judge, load_judge
from judgekit.judges.names import printed_names, unique_slugs
from judgekit.records import ORDERS, PreferencePair, Verdict
from judgekit.scoring.protocols import majority_class, protocol_of
from judgekit.scoring.running import run_judge
from judgekit.scoring.store import VerdictStore, shared_store

_CONSTANT = "baseline/majority_class"  # made for each set, told its most frequent label
_Judged = tuple[str, str, Sequence[PreferencePair], Iterable[Verdict]]  # set, slug (or the name in each verdict)
TITLES = printed_names()["sets"]  # of sets, in tables and pictures


def verdicts(
    judges: Iterable[str], sets: Sequence[str], run: str, slugs: Mapping[str, str] | None = None, progress: bool = True
) -> pd.DataFrame:
    """Every verdict of every judge on every set, one row each: the table that studies start from.

    Columns set, item, prompt, judge (slug), order, verdict, p_a, p_b, p_tie, status; and of the pair: label, votes
    (annotator to label). Verdicts and labels are in the pair's own A and B; None where there is none.

    ``judges``: names, which stand for what the run declares or trained under them. ``slugs``: of some of them; the rest
    is derived, and a collision is a ValueError. ``sets``: names as `judgekit.data.catalogue.load_set` takes them. Each
    judge is asked in the orders that it has, and for nothing that the store of all runs holds.
    """
    names = _slugs(judges, slugs)
    pairs = {name: load_set(name) for name in dict.fromkeys(sets)}
    loaded = load_judges([name for name in names if name != _CONSTANT], run, names)

    def judged(store: VerdictStore) -> Iterator[_Judged]:
        for (name, items), slug in product(pairs.items(), names.values()):
            judge = loaded.get(slug) or load_judge(_CONSTANT, label=majority_class(items, protocol_of(name)))
            yield name, slug, items, run_judge(judge, items, store, getattr(judge, "orders", ORDERS), progress)

    with shared_store() as store:
        return verdict_table(judged(store))


def load_judges(judges: Iterable[str], run: str, slugs: Mapping[str, str] | None = None) -> dict[str, Judge]:
    """Judges of a run by slug, as for `verdicts`."""
    return {slug: load_judge(name, run=run) for name, slug in _slugs(judges, slugs).items()}


def verdict_table(judged: Iterable[_Judged]) -> pd.DataFrame:
    """The table of `verdicts` for verdicts that are there; ValueError where one is on none of the pairs."""
    rows = []
    for name, slug, pairs, given in judged:
        by_id = {pair.item_id: pair for pair in pairs}
        for one in given:
            if one.item_id not in by_id:
                raise ValueError(f"{one.judge}: a verdict on {one.item_id}, which is no pair of these")
            pair = by_id[one.item_id]
            said = (one.order, one.verdict, one.p_a, one.p_b, one.p_tie, one.status)
            rows.append((name, pair.item_id, pair.cluster, slug or one.judge, *said, pair.label, pair.votes))
    columns = ["set", "item", "prompt", "judge", "order", "verdict", "p_a", "p_b", "p_tie", "status", "label", "votes"]
    table = pd.DataFrame(rows, columns=columns, dtype=object)  # a column of text would turn None into NaN
    return table.astype(dict.fromkeys(("p_a", "p_b", "p_tie"), float))


def pivot_orders(table: pd.DataFrame) -> pd.DataFrame:
    """`verdicts` with one row per set, judge and pair: columns ab, ba (None where not given), prompt, label, votes."""
    keys = ["set", "judge", "item"]
    pairs = table.drop_duplicates(keys).set_index(keys)[["prompt", "label", "votes"]]
    given = table.pivot(index=keys, columns="order", values="verdict").reindex(pairs.index, columns=list(ORDERS))
    pairs[list(ORDERS)] = given.astype(object).where(given.notna(), None)
    return pairs.reset_index()[[*keys, "prompt", *ORDERS, "label", "votes"]]


def _slugs(judges: Iterable[str], slugs: Mapping[str, str] | None) -> dict[str, str]:
    """One slug for each judge; ``slugs`` may be of others, too."""
    names = list(dict.fromkeys(judges))
    return unique_slugs(names, {name: slug for name, slug in (slugs or {}).items() if name in names})


def pick(table: pd.DataFrame, metric_of: Mapping[str, Sequence[str]]) -> list[dict[Any, Any]]:
    """Rows of a wide table from `contest_scores`, by judge: (set, metric) as printed to the number, None where lacking.

    ``metric_of``: set to the metrics shown for it, in order.
    """
    numbers = {(row.set, row.judge, row.metric): row.number for row in table.itertuples()}
    rows = []
    for judge in dict.fromkeys(table["judge"]):
        cells = {
            (TITLES.get(name, name), metric_title(metric)): numbers.get((name, judge, metric))
            for name, wanted in metric_of.items()
            for metric in wanted
        }
        if any(cell is not None for cell in cells.values()):
            rows.append({("", "judge"): judge, **cells})
    return rows


def metric_title(metric: str) -> str:
    """A metric's name as a head of a column."""
    return {"macro_f1": "macro-F1", "ece": "ECE", "nll": "NLL", "brier": "Brier"}.get(metric, metric.replace("_", " "))


def forest_table(table: pd.DataFrame, metric: str = "accuracy") -> pd.DataFrame:
    """One metric of every judge and set, as `judgekit.figures.forest` takes it: judge, set, value, low, high."""
    chosen = table[table["metric"] == metric]
    rows = [
        (judge, TITLES.get(name, name), number.value, number.low, number.high)
        for judge, name, number in chosen[["judge", "set", "number"]].to_numpy()
    ]
    return pd.DataFrame(rows, columns=["judge", "set", "value", "low", "high"])
