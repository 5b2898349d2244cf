"""What published evaluations get wrong, and how far they lie apart."""

import pandas as pd

from judgekit import metrics
from judgekit.benchmarks.published import fitting_counts, owner_statistics, published_scores, published_table
from judgekit.records import ORDERS
from judgekit.results import Number, slug


def impossible_figures(table, sizes, step=1.0):
    """Published figures that no count of items rounds to.

    Parameters
    ----------
    table : str
    sizes : dict of str to int
        Items of each set.
    step : float
        What an item can add: 1 in one order, 1/2 in the mean of two.

    Returns
    -------
    list of PublishedScore
    """
    figures = [figure for figure in published_scores(table) if figure.set in sizes]
    return [figure for figure in figures if not fitting_counts(figure.printed, sizes[figure.set], step)]


def owner_table(contests, models):
    """An owner's own statistics beside the same quantities recomputed from the verdicts shipped with them.

    Parameters
    ----------
    contests : dict of str to Contest
    models : list of str
        Evaluators by the names of their outputs, e.g. ``"gpt-4-vanilla"``.

    Returns
    -------
    pandas.DataFrame
        Columns set, judge, own_accuracy, accuracy (mean of both orders), own_kappa, kappa (of the given order):
        ``own_...`` as published, the others recomputed. One row per evaluator and set that it has a file for.
    """
    rows = []
    for model in models:
        own = owner_statistics(model)
        rows += [(n, slug(model), *owner_row(contests[n], slug(model), own[n])) for n in own if n in contests]
    return pd.DataFrame(rows, columns=["set", "judge", "own_accuracy", "accuracy", "own_kappa", "kappa"])


def owner_row(contest, judge, own):
    """Published accuracy, ours, published kappa, ours."""
    references = metrics.label_codes(pair.label for pair in contest.pairs)
    said = {order: {v.item_id: v.verdict for v in contest.verdicts[judge] if v.order == order} for order in ORDERS}
    codes = {order: metrics.label_codes(said[order].get(pair.item_id) for pair in contest.pairs) for order in ORDERS}
    right = sum(float((codes[order] == references).mean()) for order in ORDERS) / 2
    kappa = metrics.cohen_kappa(metrics.confusion(references, codes["ab"]).sum(0))
    return own["accuracy"], right, own["kappa"], float(kappa)


def published_spread():
    """Judges of whom more than one score on the same set was published, widest apart first.

    Returns
    -------
    pandas.DataFrame
        Columns judge, set, metric, lowest, highest, spread (all in [0, 1]), sources (how many).
    """
    table = published_table()
    groups = table.groupby(["judge", "set", "metric"], sort=False)
    rows = [
        (*key, part["value"].min(), part["value"].max(), part["value"].max() - part["value"].min(), len(part))
        for key, part in groups
        if len(part) > 1
    ]
    columns = ["judge", "set", "metric", "lowest", "highest", "spread", "sources"]
    return pd.DataFrame(rows, columns=columns).sort_values("spread", ascending=False, ignore_index=True)


def published_below(table, name, metric, value):
    """How many judges of a published table score below a value on a set, and how many there are: a `Number`."""
    values = [figure.value for figure in published_scores(table) if (figure.set, figure.metric) == (name, metric)]
    return Number(sum(one < value for one in values), n=len(values))
