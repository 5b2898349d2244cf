"""Pictures of cascades: what is gained by every share of items that is sent on to a stronger judge."""

from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from judgekit.figures.style import TEXT, judge_style, required, use_style
from judgekit.stats import Array


def plot_cascades(
    table: pd.DataFrame, *, columns: int = 3, width: float = TEXT, ylabel: str = "agreement with people"
) -> Axes | Array:
    """Agreement against the share of items sent on, one panel per set and strong judge.

    Columns ``set, cheap, strong, share, value, low, high, random, oracle``, rates; the rows of a curve in the sequence
    of their shares. Each cheap judge has its colour: full the cascade with its interval, dashed random routing, dotted
    the oracle. The mark on the right is the strong judge's.
    """
    table = required(table, "set", "cheap", "strong", "share", "value", "low", "high", "random", "oracle")
    panels: Any = list(table.groupby(["set", "strong"], sort=False))
    use_style()
    columns = min(columns, len(panels))
    n_rows = -(-len(panels) // columns)
    axes = plt.subplots(n_rows, columns, figsize=(width, 2.25 * n_rows), squeeze=False)[1]
    for panel, ((name, strong), part) in zip(axes.flat, panels, strict=False):
        for cheap, curve in part.groupby("cheap", sort=False):
            colour, marker = judge_style(cheap)
            panel.fill_between(curve["share"], curve["low"], curve["high"], color=colour, alpha=0.15, lw=0)
            panel.plot(curve["share"], curve["random"], color=colour, lw=0.7, ls=(0, (4, 3)))
            panel.plot(curve["share"], curve["oracle"], color=colour, lw=0.7, ls=":")
            panel.plot(
                curve["share"], curve["value"], color=colour, marker=marker, markevery=[0], ms=3.5, lw=1.2, label=cheap
            )
        colour, marker = judge_style(strong)
        panel.plot(1, part["value"].iloc[-1], marker=marker, color=colour, ms=4.5, ls="", label=strong, clip_on=False)
        panel.set_title(name)
        panel.set_xlim(-0.02, 1.02)
        panel.yaxis.set_major_locator(MaxNLocator(5))
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
        panel.legend(loc="best", fontsize=6, handlelength=1.2, borderpad=0.2, labelspacing=0.3)
    for empty in axes.flat[len(panels) :]:
        empty.set_visible(False)
    for row in axes:
        row[0].set_ylabel(f"{ylabel} (%)")
    for panel in axes.flat[max(0, len(panels) - columns) : len(panels)]:
        panel.set_xlabel("sent on (% of items)")
    return axes.flat[0] if axes.size == 1 else axes
