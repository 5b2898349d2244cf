"""Accuracy against the number of parameters: the headline figure."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter

from judgekit.figures.scores import place_labels
from judgekit.figures.style import DARK, GREY, LIGHT, TEXT, judge_style, required, short, use_style, whiskers
from judgekit.stats import Array

# Judges that do not read are lines: colour is the judge's, dashes tell them apart in grey.
DASHES = {"longer": (0, (5, 1.5)), "features": (0, (1, 1.2)), "majority_class": (0, (5, 1.5, 1, 1.5))}
BESIDE = 1.4  # judges of one size stand side by side
SMALL = 2e8  # below it stand ours, close together
CLOSED = 2.2e12  # middle of the strip of those whose size is not published


def plot_accuracy_by_size(
    table: pd.DataFrame,
    lines: pd.DataFrame,
    ceilings: pd.DataFrame,
    *,
    columns: int = 3,
    width: float = TEXT,
    height: float | None = None,
) -> Array:
    """One panel per set: accuracy of judges against their size on a logarithmic axis.

    Columns ``judge, title, set, value, low, high, parameters, part``; parameters are NaN where no size was published,
    ``part`` is true where only a part of the items was judged (hollow). ``lines`` has ``judge, title, set, value``:
    judges that do not read; ``ceilings`` ``set, value, low, high``: people's agreement; sets without a row say that
    there is none. The key stands in the cell after the last panel.
    """
    table = required(table, "judge", "title", "set", "value", "low", "high", "parameters", "part")
    use_style()
    sets = list(dict.fromkeys(table["set"]))
    columns = min(columns, len(sets) + 1)
    n_rows = -(-(len(sets) + 1) // columns)
    size = (width, height or 0.25 + 1.72 * n_rows)
    axes = plt.subplots(n_rows, columns, figsize=size, sharey=True, squeeze=False)[1]
    panels = dict(zip(sets, axes.flat, strict=False))
    for name, ax in panels.items():
        _frame(ax, name)
        for row in lines[lines["set"] == name].itertuples():
            ax.axhline(row.value, color=judge_style(row.judge)[0], lw=1.1, ls=DASHES.get(row.judge, "-"), zorder=1)
        _ceiling(ax, ceilings[ceilings["set"] == name])
        if table.loc[table["set"] == name, "parameters"].isna().any():
            _strip(ax)
    axes.flat[0].set_ylim(0.1, 1.0)
    for ax in axes[:, 0]:
        ax.set_ylabel("accuracy (%)")
    points = {name: _judges(ax, table[table["set"] == name]) for name, ax in panels.items()}
    levels = pd.concat([lines[["set", "value"]], ceilings[["set", "value"]]])
    for number, ax in enumerate(axes.flat):
        below = number + columns
        if number < len(sets) and below >= len(sets):
            ax.set_xlabel("parameters")
        elif number >= len(sets):
            ax.axis("off")
    _key(axes.flat[len(sets)], table, lines, len(ceilings))
    for name, (marks, bars) in points.items():
        # Names keep off the lines, too.
        bars += [(x, y) for y in levels.loc[levels["set"] == name, "value"] for x in np.geomspace(8e6, 9e12, 120)]
        small = [mark for mark in marks if mark[0] < SMALL]
        bars += _stacked(panels[name], small)
        place_labels(
            panels[name], _outer_first([mark for mark in marks if mark not in small]), np.array(bars), 6, outward=True
        )
    return axes


def _frame(ax: Axes, name: str) -> None:
    ax.set_title(name)
    ax.set_xscale("log")
    ax.set_xlim(7e6, 9e12)
    ax.xaxis.set_major_locator(FixedLocator([1e7, 1e8, 1e9, 1e10, 1e11]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(lambda value, _: f"{value / 1e9:g}B" if value >= 1e9 else short(value))
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))


def _strip(ax: Axes) -> None:
    """The place of judges of unknown size, beyond the axis."""
    ax.axvspan(5e11, 9e12, color="#f0f0f0", lw=0, zorder=0)
    ax.text(1, 1.02, "size not\npublished", transform=ax.transAxes, ha="right", va="bottom", fontsize=6)


def _ceiling(ax: Axes, ceiling: pd.DataFrame) -> None:
    if ceiling.empty:
        ax.text(0.02, 0.98, "people: no votes in this set", transform=ax.transAxes, va="top", fontsize=6, color=DARK)
        return
    (row,) = ceiling.itertuples()
    ax.axhspan(row.low, row.high, color=LIGHT, lw=0, zorder=0.5)
    ax.axhline(row.value, color=DARK, lw=0.9, zorder=0.6)


def _judges(ax: Axes, table: pd.DataFrame) -> tuple[list[Any], list[tuple[float, float]]]:
    """Draw the judges of one panel; their marks and whiskers as `place_labels` takes them."""
    marks, bars = [], []
    seen = {}
    table = table.sort_values("value", ascending=False)
    closed = table["parameters"].isna()
    for (_, row), error in zip(table.iterrows(), whiskers(table).T, strict=True):
        same = seen.setdefault(row["parameters"] if row["parameters"] > 0 else None, [])
        count = closed.sum() if not row["parameters"] > 0 else (table["parameters"] == row["parameters"]).sum()
        middle, step = (CLOSED, 1.7) if not row["parameters"] > 0 else (row["parameters"], BESIDE)
        x = middle * step ** (len(same) - (count - 1) / 2)
        same.append(x)
        colour, marker = judge_style(row["judge"])
        face = "white" if row["part"] else colour
        ax.errorbar(
            x, row["value"], yerr=error[:, None], fmt=marker, ms=4.5, color=colour, mfc=face, elinewidth=0.9, zorder=3
        )
        marks.append((x, row["value"], row["title"], DARK))
        bars += [(x, y) for y in np.linspace(row["value"] - error[0], row["value"] + error[1], 25)]
    return marks, bars


def _outer_first(marks: list[Any]) -> list[Any]:
    """The marks from both ends inwards: those in the middle find their names a place last."""
    marks = sorted(marks)
    return [marks[i // 2] if i % 2 == 0 else marks[-1 - i // 2] for i in range(len(marks))]


def _stacked(ax: Axes, marks: list[Any], spacing: float = 0.062, x: float = 5e7) -> list[tuple[float, float]]:
    """Names of judges of one size, one above the other beside them; points of the places they take."""
    if not marks:
        return []
    wanted = sorted(marks, key=lambda mark: -mark[1])
    heights = np.array([mark[1] for mark in wanted])
    for i in range(1, len(heights)):
        heights[i] = min(heights[i], heights[i - 1] - spacing)
    heights += np.mean([mark[1] for mark in wanted]) - heights.mean()
    halo = [withStroke(linewidth=1.6, foreground="white")]
    taken = []
    for height, (_, _, name, colour) in zip(heights, wanted, strict=True):
        ax.text(x, height, name, fontsize=6, color=colour, va="center", path_effects=halo, zorder=4)
        taken += [(at, height) for at in np.geomspace(x, 20 * x, 30)]
    return taken


def _key(ax: Axes, table: pd.DataFrame, lines: pd.DataFrame, people: int) -> None:
    """What lines, band and hollow marks stand for."""
    handles = []
    if people:
        handles.append((Patch(facecolor=LIGHT, edgecolor=DARK, lw=0.6), "a person against the others (95 % band)"))
    for row in lines.drop_duplicates("judge").itertuples():
        style = {"color": judge_style(row.judge)[0], "ls": DASHES.get(row.judge, "-"), "lw": 1.3}
        handles.append((Line2D([], [], **style), row.title))
    if table["part"].any():
        mark = Line2D([], [], marker="o", ls="", ms=4, mfc="white", color=GREY)
        handles.append((mark, "judged a part of the items"))
    if handles:
        ax.legend(*zip(*handles, strict=True), loc="center left", handlelength=2.6, borderaxespad=0, labelspacing=0.8)
