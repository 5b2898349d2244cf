"""Methods side by side: every metric with its interval, and differences paired by question."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from judgekit.inside.probes.nested import NestedResult
from judgekit.inside.probes.scores import METRICS, class_counts
from judgekit.inside.probes.study import Cell, metrics_of
from judgekit.stats import Floats, Number, weighted_bootstrap

TITLES = {"gsm8k": "GSM8K", "gpqa": "GPQA", "alpacaeval": "AlpacaEval"}
SPECS = {"weighted_f1": ".1%", "macro_f1": ".1%", "accuracy": ".1%", "spearman": ".2f"}


def metric_table(
    cells: Sequence[Cell], results: Mapping[tuple[str, str, str, str], NestedResult], n_boot: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Every metric of every method on every cell: columns set, aspect, head, method, metric, number (a `Number`).

    ``results``: by (set, aspect, head, method).
    """
    by_name: dict[Any, Cell] = {cell.name: cell for cell in cells}
    rows = []
    for (*name, method), result in results.items():
        cell = by_name[tuple(name)]
        for metric, values in metrics_of(cell, result, n_boot, seed).items():
            # A constant has no rank correlation: it ranks nothing.
            values = values if np.isfinite(values).all() else (0.0, 0.0, 0.0)
            # Three floats: mypy cannot tell how many.
            number = Number(*map(float, values), n=len(cell.labels), spec=SPECS[metric])  # type: ignore[arg-type, misc]
            rows.append((*name, method, metric, number))
    return pd.DataFrame(rows, columns=["set", "aspect", "head", "method", "metric", "number"])


def mean_difference(
    cells: Sequence[Cell],
    results: Mapping[tuple[str, str, str, str], NestedResult],
    method: str,
    other: str,
    metric: str = "weighted_f1",
    n_boot: int = 2000,
    seed: int = 0,
) -> Number:
    """Mean over cells of one method's score minus another's, on the same items; ``n`` counts ratings.

    ``cells``: of one set and head; their questions are resampled together, since aspects share them. ``results``: as
    for `metric_table`. ``metric``: ``weighted_f1``, ``macro_f1`` or ``accuracy``.
    """
    groups = np.concatenate([cell.groups for cell in cells])
    bounds = np.cumsum([0, *(len(cell.labels) for cell in cells)])
    counts = [[counts_of(cell, results[(*cell.name, which)]) for which in (method, other)] for cell in cells]
    statistic = partial(difference_of, counts=counts, bounds=bounds, metric=METRICS[metric])
    return Number(*weighted_bootstrap(statistic, groups, n_boot, seed), n=len(groups), spec=".1%")


def counts_of(cell: Cell, result: NestedResult) -> Floats:
    """Confusion counts of each item, shape (n_items, n_classes, n_classes)."""
    return class_counts(cell.labels, result.predicted, cell.head.classes)


def difference_of(
    weight: Floats, counts: Sequence[Sequence[Floats]], bounds: np.ndarray, metric: Callable[[Floats], Floats]
) -> Floats:
    """Mean difference when items count as often as their weights say, shape (...)."""
    found = []
    for place, (first, second) in enumerate(counts):
        part = weight[..., bounds[place] : bounds[place + 1]]
        found.append(metric(np.tensordot(part, first, 1)) - metric(np.tensordot(part, second, 1)))
    return np.mean(found, axis=0)


def choice_table(results: Mapping[tuple[str, str, str, str], NestedResult], method: str = "probe") -> pd.DataFrame:
    """How often each pooling, layer and family was chosen: one row per outer fold.

    Columns set, aspect, head, features, layers, family.
    """
    rows = [
        (*name[:3], choice.features, choice.layers, choice.family)
        for name, result in results.items()
        if name[3] == method
        for choice in result.choices
    ]
    return pd.DataFrame(rows, columns=["set", "aspect", "head", "features", "layers", "family"])


def wide_table(
    table: pd.DataFrame, head: str, sets: Sequence[str], methods: dict[str, str], metric: str = "weighted_f1"
) -> pd.DataFrame:
    """One row per set and aspect, as printed: columns set, aspect, and a `Number` per method.

    ``table``: of `metric_table`; sets and aspects stay in its order. ``methods``: method to its printed name, in order.
    """
    part = table[(table["head"] == head) & (table["metric"] == metric) & table["set"].isin(sets)]
    order = part[["set", "aspect"]].drop_duplicates()
    wide = part.pivot(index=["set", "aspect"], columns="method", values="number").reindex(
        pd.MultiIndex.from_frame(order)
    )
    wide = wide[list(methods)].rename(columns=methods).reset_index()
    printed = wide["set"].map(lambda name: TITLES.get(name, name.replace("_", " ")))
    return wide.assign(set=printed, aspect=wide["aspect"].str.replace("_", " "))
