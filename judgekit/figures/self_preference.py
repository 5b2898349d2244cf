"""Pictures of self-preference: what a judge adds to every author's win rate, its own family among them."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from judgekit.figures.style import DARK, GREY, PALE, TEXT, judge_style, required, use_style
from judgekit.stats import Array

OFFSET = 0.17  # of a row, between the two marks of an author


def plot_own_among_others(table: pd.DataFrame, *, columns: int = 2, width: float = TEXT, limit: float = 0.25) -> Array:
    """Lifts of all authors by judges that meet their own family, one panel per judge.

    Columns ``panel, judge, author, own, kin_judge, value, low, high, raw, raw_low, raw_high``. Rows with ``kin_judge``
    are drawn with intervals (``value`` filled, ``raw`` hollow); the others, of judges without family there, as small
    ticks at ``value`` for comparison. ``own`` marks the authors of the judge's family. ``limit``: end of the axis on
    either side, in shares of wins.
    """
    table = required(table, "panel", "judge", "author", "own", "kin_judge", "value", "low", "high", "raw")
    panels = list(dict.fromkeys(table["panel"]))
    use_style()
    columns = min(columns, len(panels))
    sizes = [table.loc[table["panel"] == name, "author"].nunique() for name in panels]
    heights = [0.42 + 0.21 * max(sizes[row : row + columns]) for row in range(0, len(panels), columns)]
    figure, axes = plt.subplots(
        len(heights), columns, figsize=(width, sum(heights) + 0.5), squeeze=False, sharex=True, height_ratios=heights
    )
    for ax, name in zip(axes.flat, panels, strict=False):
        draw_panel(ax, table[table["panel"] == name], limit)
        ax.set_title(name)
    for empty in axes.flat[len(panels) :]:
        empty.set_visible(False)
    figure.supxlabel("what the judge adds to the author's win rate, in points", fontsize=7.5)
    marks = [
        Line2D([], [], color=PALE, marker="o", mfc="white", ls="-", lw=0.8, ms=4, label="lift over the reference"),
        Line2D([], [], color=DARK, marker="D", ls="-", lw=1.2, ms=4, label="beyond the judge's sharpness"),
        Line2D([], [], color=GREY, marker="|", ls="", ms=6, label="judges without family here"),
    ]
    figure.legend(handles=marks, loc="outside upper center", ncols=3)
    return axes


def draw_panel(ax: Axes, part: pd.DataFrame, limit: float) -> None:
    """One judge: its own family on top, then the others."""
    ordered = part[part["kin_judge"]].sort_values("own", ascending=False, kind="stable")
    places = {author: len(ordered) - 1 - i for i, author in enumerate(ordered["author"])}
    colour, _ = judge_style(ordered["judge"].iloc[0])
    ax.axvline(0, color=GREY, lw=0.7)
    for row in part[~part["kin_judge"]].itertuples():
        ax.plot(row.value, places[row.author] - OFFSET, marker="|", color=GREY, ms=7, mew=0.8)
    for row in ordered.itertuples():
        y = places[row.author]
        for at, value, low, high, style in (
            (y + OFFSET, row.raw, row.raw_low, row.raw_high, {"color": PALE, "marker": "o", "mfc": "white", "lw": 0.8}),
            (
                y - OFFSET,
                row.value,
                row.low,
                row.high,
                {"color": colour if row.own else DARK, "marker": "D", "lw": 1.2},
            ),
        ):
            ax.plot([low, high], [at, at], color=style["color"], lw=style["lw"], solid_capstyle="butt")
            ax.plot(value, at, ls="", ms=4.2 if row.own else 3.2, **{k: v for k, v in style.items() if k != "lw"})
        if row.own:
            ax.axhspan(y - 0.5, y + 0.5, color=colour, alpha=0.1, lw=0)
    ax.set_yticks(list(places.values()), list(places))
    for label, own in zip(ax.get_yticklabels(), ordered["own"], strict=True):
        label.set_fontweight("bold" if own else "normal")
    ax.set_ylim(-0.6, len(places) - 0.4)
    ax.set_xlim(-limit, limit)
    ax.set_xticks(np.arange(-0.2, 0.21, 0.1))
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
