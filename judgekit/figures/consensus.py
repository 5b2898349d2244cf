"""Pictures of consensus: annotators with their intervals, and methods on planted annotators."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from judgekit.figures.style import GREY, TEXT, required, use_style
from judgekit.stats import Array, Number

MARKS = {
    "majority": ("#000000", "|"),
    "dawid_skene": ("#D55E00", "^"),
    "dawid_skene_one_coin": ("#E69F00", "v"),
    "glad": ("#009E73", "D"),
    "mace": ("#56B4E9", "P"),
    "crowdlab": ("#0072B2", "o"),
    "crowdlab_uniform": ("#0072B2", "o"),
}
OPEN = ("crowdlab_uniform",)


def plot_annotators(table: pd.DataFrame, *, width: float = TEXT, height: float = 2.5) -> Axes:
    """Agreement of annotators with the majority of the others, plain and shrunken, best on the left.

    Columns ``annotator, group, n, rate, shrunk, shrunk_low, shrunk_high``. Filled marks with intervals are shrunken
    rates, crosses plain ones; groups differ in mark and colour. The name stands below with its votes.
    """
    table = required(table, "annotator", "group", "n", "rate", "shrunk", "shrunk_low", "shrunk_high")
    table = table.sort_values("shrunk", ascending=False, kind="stable").reset_index(drop=True)
    use_style()
    ax = plt.subplots(figsize=(width, height))[1]
    ax.axhline(np.average(table["rate"], weights=table["n"]), color=GREY, lw=0.6, ls=(0, (4, 3)))
    styles = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "D"))
    for (group, part), (colour, marker) in zip(table.groupby("group", sort=False), styles, strict=False):
        ends = [part["shrunk"] - part["shrunk_low"], part["shrunk_high"] - part["shrunk"]]
        ax.errorbar(part.index, part["shrunk"], ends, fmt=marker, color=colour, ms=3, lw=0.7, label=group)
    ax.plot(table.index, table["rate"], "x", color="#888888", ms=3, mew=0.7, label="not shrunken", zorder=1)
    names = [f"{row.annotator} ({row.n})" for row in table.itertuples()]
    ax.set_xticks(table.index, names, rotation=90, fontsize=5.5 if len(names) > 30 else 7)
    ax.tick_params(axis="x", length=1)
    ax.grid(axis="x", visible=False)
    ax.set_xlim(-0.8, len(table) - 0.2)
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    ax.set_ylabel("agreement (%)")
    ax.legend(loc="lower left", ncols=3, fontsize=6.5)
    return ax


def plot_planted(
    table: pd.DataFrame, titles: Mapping[str, str], *, width: float = TEXT, row_height: float = 0.36
) -> Array:
    """What methods gain over majority on planted annotators, and how well they grade labels and annotators.

    Columns ``regime, method, gain, auroc, rank`` (`Number`; None where there is nothing). ``titles``: methods' names in
    the legend.
    """
    table = required(table, "regime", "method", "gain", "auroc", "rank")
    regimes, methods = (list(dict.fromkeys(table[column])) for column in ("regime", "method"))
    use_style()
    axes = plt.subplots(1, 3, figsize=(width, 0.95 + row_height * len(regimes)), sharey=True)[1]
    heads = {"gain": "accuracy over majority (points)", "auroc": "AUROC of label quality", "rank": "rank of annotators"}
    for ax, (quantity, head) in zip(axes, heads.items(), strict=True):
        for place, method in enumerate(methods):
            part = table[table["method"] == method]
            kept = [(regimes.index(row.regime), getattr(row, quantity)) for row in part.itertuples()]
            kept = [(at, number) for at, number in kept if number is not None]
            if kept:
                draw_marks(ax, kept, method, titles, (place - (len(methods) - 1) / 2) * 0.8 / len(methods))
        ax.set_xlabel(head)
        ax.grid(axis="y", visible=False)
    for ax, (low, high) in zip(axes[1:], ((0.4, 1.01), (-0.25, 1.02)), strict=True):
        ax.set_xlim(low, high)
    axes[0].axvline(0, color=GREY, lw=0.6)
    axes[0].xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    axes[0].set_yticks(range(len(regimes)), regimes)
    axes[0].set_ylim(len(regimes) - 0.5, -0.5)
    handles = dict(zip(*reversed(axes[1].get_legend_handles_labels()), strict=True))
    axes[0].get_figure().legend(
        handles.values(), handles.keys(), loc="outside upper center", ncols=len(handles), columnspacing=1.2
    )
    return axes


def draw_marks(
    ax: Axes, kept: Sequence[tuple[int, Number]], method: str, titles: Mapping[str, str], shift: float
) -> None:
    """The marks of one method with their intervals."""
    colour, marker = MARKS.get(method, (GREY, "*"))
    x = np.array([number.value for _, number in kept])
    ends = np.abs(np.array([[number.low, number.high] for _, number in kept]).T - x)
    ax.errorbar(
        x,
        [at + shift for at, _ in kept],
        xerr=ends,
        fmt=marker,
        color=colour,
        ms=3,
        lw=0.7,
        mfc="white" if method in OPEN else colour,
        label=titles.get(method, method),
    )
