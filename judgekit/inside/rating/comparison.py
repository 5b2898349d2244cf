"""Methods side by side: every metric with its interval, and differences paired by question."""

from functools import partial

import numpy as np
import pandas as pd

from judgekit.inside.probes.scores import METRICS, class_counts
from judgekit.inside.probes.study import metrics_of
from judgekit.stats import Number, weighted_bootstrap

TITLES = {"gsm8k": "GSM8K", "gpqa": "GPQA", "alpacaeval": "AlpacaEval"}
SPECS = {"weighted_f1": ".1%", "macro_f1": ".1%", "accuracy": ".1%", "spearman": ".2f"}


def metric_table(cells, results, n_boot=2000, seed=0):
    """Every metric of every method on every cell.

    Parameters
    ----------
    cells : list of judgekit.inside.probes.study.Cell
    results : dict of (set, aspect, head, method) to judgekit.inside.probes.nested.NestedResult
    n_boot, seed : int

    Returns
    -------
    pandas.DataFrame
        Columns set, aspect, head, method, metric, number (a `Number`).
    """
    by_name = {cell.name: cell for cell in cells}
    rows = []
    for (*name, method), result in results.items():
        cell = by_name[tuple(name)]
        for metric, values in metrics_of(cell, result, n_boot, seed).items():
            # A constant has no rank correlation: it ranks nothing.
            values = values if np.isfinite(values).all() else (0.0, 0.0, 0.0)
            number = Number(*map(float, values), n=len(cell.labels), spec=SPECS[metric])
            rows.append((*name, method, metric, number))
    return pd.DataFrame(rows, columns=["set", "aspect", "head", "method", "metric", "number"])


def mean_difference(cells, results, method, other, metric="weighted_f1", n_boot=2000, seed=0):
    """Mean over cells of one method's score minus another's, on the same items.

    Parameters
    ----------
    cells : list of judgekit.inside.probes.study.Cell
        Of one set and head: their questions are resampled together, since aspects share them.
    results : dict
        As for `metric_table`.
    method, other : str
    metric : {"weighted_f1", "macro_f1", "accuracy"}
    n_boot, seed : int

    Returns
    -------
    Number
        ``n`` counts ratings.
    """
    groups = np.concatenate([cell.groups for cell in cells])
    bounds = np.cumsum([0, *(len(cell.labels) for cell in cells)])
    counts = [[counts_of(cell, results[(*cell.name, which)]) for which in (method, other)] for cell in cells]
    statistic = partial(difference_of, counts=counts, bounds=bounds, metric=METRICS[metric])
    return Number(*weighted_bootstrap(statistic, groups, n_boot, seed), n=len(groups), spec=".1%")


def counts_of(cell, result):
    """Confusion counts of each item, shape (n_items, n_classes, n_classes)."""
    return class_counts(cell.labels, result.predicted, cell.head.classes)


def difference_of(weight, counts, bounds, metric):
    """Mean difference when items count as often as their weights say, shape (...)."""
    found = []
    for place, (first, second) in enumerate(counts):
        part = weight[..., bounds[place] : bounds[place + 1]]
        found.append(metric(np.tensordot(part, first, 1)) - metric(np.tensordot(part, second, 1)))
    return np.mean(found, axis=0)


def choice_table(results, method="probe"):
    """How often each pooling, layer and family was chosen, over outer folds.

    Returns
    -------
    pandas.DataFrame
        One row per outer fold: set, aspect, head, features, layers, family.
    """
    rows = [
        (*name[:3], choice.features, choice.layers, choice.family)
        for name, result in results.items()
        if name[3] == method
        for choice in result.choices
    ]
    return pd.DataFrame(rows, columns=["set", "aspect", "head", "features", "layers", "family"])


def wide_table(table, head, sets, methods, metric="weighted_f1"):
    """One row per set and aspect, one column per method, as printed.

    Parameters
    ----------
    table : pandas.DataFrame
        Of `metric_table`.
    head : str
    sets : sequence of str
    methods : dict of str to str
        Method to its printed name, in order.
    metric : str

    Returns
    -------
    pandas.DataFrame
        Columns set, aspect, and a `Number` per method; sets and aspects in the order of ``table``.
    """
    part = table[(table["head"] == head) & (table["metric"] == metric) & table["set"].isin(sets)]
    order = part[["set", "aspect"]].drop_duplicates()
    wide = part.pivot(index=["set", "aspect"], columns="method", values="number").reindex(
        pd.MultiIndex.from_frame(order)
    )
    wide = wide[list(methods)].rename(columns=methods).reset_index()
    printed = wide["set"].map(lambda name: TITLES.get(name, name.replace("_", " ")))
    return wide.assign(set=printed, aspect=wide["aspect"].str.replace("_", " "))
