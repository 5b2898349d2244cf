"""Pictures of judges beside annotators: who may stand in for whom at what price, and what votes are worth buying."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from judgekit.figures.style import (
    BLUE,
    GREY,
    ORANGE,
    RED,
    TEXT,
    judge_style,
    required,
    row_positions,
    use_style,
    whiskers,
)
from judgekit.stats import Array

BAND = 0.8  # of a row's height that its judges share
LINES = {  # strategy to colour, dashes and name
    "random": (GREY, "-", "at random"),
    "activelab": (BLUE, "-", "ActiveLab"),
    "entropy": (ORANGE, "--", "judge in doubt"),
    "disagreement": (RED, "-.", "people differ"),
    "fewest": ("#000000", ":", "fewest votes"),
}


def plot_alt_test(table: pd.DataFrame, *, width: float = TEXT) -> Array:
    """How far judges are ahead of annotators, and the price of an annotator at which they pass.

    Columns ``set, judge, value, low, high`` (the advantage probability) and ``price``, the least epsilon at which the
    judge passes, NaN where it does not at any that was tried. One row per set, in the order of the table; a hollow mark
    at the right edge is a judge that never passes.
    """
    table = required(table, "set", "judge", "value", "low", "high", "price")
    use_style()
    rows = row_positions(table["set"])
    figure, axes = plt.subplots(1, 2, figsize=(width, 0.9 + 0.31 * len(rows)), sharey=True, width_ratios=(3, 2))
    never = 1.2 * table["price"].max() if table["price"].notna().any() else 1.0
    handles = {}
    for name, part in table.groupby("set", sort=False):
        step = BAND / max(len(part), 5)
        for place, (_, row) in enumerate(part.iterrows()):
            y = rows[name] + step * ((len(part) - 1) / 2 - place)
            colour, marker = judge_style(row["judge"])
            spread = whiskers(part.loc[[row.name]])
            handles[row["judge"]] = axes[0].errorbar(
                row["value"], y, xerr=spread, color=colour, marker=marker, ms=3, lw=0.8, ls="", label=row["judge"]
            )
            passes = row["price"] == row["price"]
            face = colour if passes else "white"
            axes[1].plot(
                row["price"] if passes else never,
                y,
                color=colour,
                marker=marker,
                ms=3,
                mew=0.6,
                mfc=face,
                clip_on=False,
            )
    for axis in axes:
        for y in list(rows.values())[1:]:
            axis.axhline(y + 0.5, color="#e6e6e6", lw=0.6)
        axis.grid(visible=False, axis="y")
        axis.set_ylim(-0.5, len(rows) - 0.5)
    axes[0].set_yticks(list(rows.values()), list(rows))
    axes[0].tick_params(axis="y", length=0)
    axes[0].set_xlabel("judge at least as near to the others as the annotator (%)")
    axes[0].xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    ticks = [tick for tick in axes[1].get_xticks() if 0 <= tick < 0.97 * never]
    axes[1].set_xticks([*ticks, never], [*(f"{tick:g}" for tick in ticks), "never"])
    axes[1].set_xlim(-0.03 * never, 1.02 * never)
    axes[1].set_xlabel("smallest $\\varepsilon$ at which it passes")
    figure.legend(handles.values(), handles, loc="outside upper center", ncols=6, fontsize=6.5, handletextpad=0.3)
    return axes


def plot_gain_curves(table: pd.DataFrame, *, columns: int = 3, width: float = TEXT) -> Axes | Array:
    """Accuracy of the consensus against votes bought, one panel per set.

    Columns ``set, strategy, votes_per_item, value, low, high``; strategies that have no line of their own are left out.
    The band is the interval of buying at random.
    """
    table = required(table, "set", "strategy", "votes_per_item", "value", "low", "high")
    use_style()
    panels = list(table.groupby("set", sort=False))
    columns = min(columns, len(panels))
    n_rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(n_rows, columns, figsize=(width, 0.3 + 1.75 * n_rows), squeeze=False)
    for panel, (name, part) in zip(axes.flat, panels, strict=False):
        for strategy, (colour, dashes, label) in LINES.items():
            curve = part[part["strategy"] == strategy]
            if strategy == "random":
                panel.fill_between(curve["votes_per_item"], curve["low"], curve["high"], color=colour, alpha=0.15, lw=0)
            panel.plot(curve["votes_per_item"], curve["value"], color=colour, ls=dashes, label=label)
        panel.set_title(name)
        panel.yaxis.set_major_locator(MaxNLocator(5))
        panel.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    for empty in axes.flat[len(panels) :]:
        empty.set_visible(False)
    for row in axes:
        row[0].set_ylabel("consensus right (%)")
    for panel in axes.flat[max(0, len(panels) - columns) : len(panels)]:
        panel.set_xlabel("votes bought per item")
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(LINES))
    return axes.flat[0] if axes.size == 1 else axes
