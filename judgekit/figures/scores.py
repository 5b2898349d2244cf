"""Pictures of judges: scores with intervals, two scores against each other, calibration."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter

from judgekit.figures.style import (
    COLUMN,
    GREY,
    TEXT,
    axes_of,
    judge_style,
    required,
    row_positions,
    short,
    use_style,
    whiskers,
)
from judgekit.stats import Array

CROWDED, FITTING = 5, 14  # so many panels side by side: titles are broken into lines of so many letters


def plot_forest(
    table: pd.DataFrame,
    *,
    ax: Axes | None = None,
    xlabel: str = "accuracy",
    reference: Mapping[str, float] | None = None,
    percent: bool = True,
    columns: int = 4,
    width: float = TEXT,
) -> Axes | Array:
    """Scores of judges with their 95 % intervals, one panel per set.

    Columns ``judge, set, value, low, high``; rows in the order they are to appear in; with ``percent`` values are
    rates. Into ``ax`` one set is drawn; ValueError for more. ``reference``: a dashed line per set, e.g. chance or the
    agreement of annotators.
    """
    table = required(table, "judge", "set", "value", "low", "high")
    sets = list(dict.fromkeys(table["set"]))
    rows = row_positions(table["judge"])
    use_style()
    if ax is not None and len(sets) > 1:
        raise ValueError(f"one ax for {len(sets)} sets: leave ax out, or draw one set at a time")
    if ax is None:
        columns = min(columns, len(sets))
        n_rows = -(-len(sets) // columns)
        height = n_rows * (0.62 + 0.155 * len(rows))
        axes = plt.subplots(n_rows, columns, figsize=(width, height), sharey=True, squeeze=False)[1]
    else:
        axes = np.array([[ax]])
    for panel, name in zip(axes.flat, sets, strict=False):
        for (_, row), error in zip((part := table[table["set"] == name]).iterrows(), whiskers(part).T, strict=True):
            colour, marker = judge_style(row["judge"])
            own = {"ms": 4.5, "lw": 1.4} if row["judge"] in ("minilm",) else {"ms": 3.5, "lw": 0.9}
            panel.errorbar(
                row["value"],
                rows[row["judge"]],
                xerr=error[:, None],
                fmt=marker,
                ms=own["ms"],
                color=colour,
                elinewidth=own["lw"],
                capsize=0,
            )
        if reference and name in reference:
            panel.axvline(reference[name], color=GREY, lw=0.7, ls=(0, (4, 3)), zorder=0)
        panel.set_title(name if columns < CROWDED else fill(name, FITTING, break_long_words=False))
        panel.set_ylim(-0.7, len(rows) - 0.3)
        panel.set_yticks(list(rows.values()), list(rows))
        panel.tick_params(axis="y", length=0)
        panel.grid(axis="y", visible=False)
        panel.xaxis.set_major_locator(MaxNLocator(4, min_n_ticks=3))
        if percent:
            panel.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    for empty in axes.flat[len(sets) :]:
        empty.set_visible(False)
    label = f"{xlabel} (%)" if percent else xlabel
    if ax is None and len(sets) > 1:
        axes.flat[0].get_figure().supxlabel(label, fontsize=7.5)
    else:
        axes.flat[0].set_xlabel(label)
    return axes.flat[0] if axes.size == 1 else axes


def plot_tradeoff(
    table: pd.DataFrame,
    *,
    ax: Axes | None = None,
    xlabel: str = "x",
    ylabel: str = "y",
    percent: bool = True,
    chance: tuple[float, float] | None = None,
    styles: Mapping[str, tuple[str, str]] | None = None,
    width: float = COLUMN,
    height: float | None = None,
) -> Axes:
    """Two scores of each judge against each other, with the intervals of both and the judges' names.

    Columns ``judge, x, x_low, x_high, y, y_low, y_high``; optional ``label`` (default: the judge). ``chance``: dashed
    lines for x and y. ``styles``: colour and marker of what is no judge (`judge_style` by default). ``height`` in
    inches (default: a little less than the width).
    """
    table = required(table, "judge", "x", "x_low", "x_high", "y", "y_low", "y_high")
    ax = axes_of(ax, width, height or 0.86 * width)
    points, bars = [], []
    for (_, row), x_error, y_error in zip(
        table.iterrows(),
        whiskers(table, "x", "x_low", "x_high").T,
        whiskers(table, "y", "y_low", "y_high").T,
        strict=True,
    ):
        colour, marker = (styles or {}).get(row["judge"]) or judge_style(row["judge"])
        ax.errorbar(
            row["x"],
            row["y"],
            xerr=x_error[:, None],
            yerr=y_error[:, None],
            fmt=marker,
            color=colour,
            elinewidth=0.7,
            alpha=0.95,
        )
        points.append((row["x"], row["y"], row.get("label", row["judge"]), colour))
        bars += [(x, row["y"]) for x in np.linspace(row["x"] - x_error[0], row["x"] + x_error[1], 25)]
        bars += [(row["x"], y) for y in np.linspace(row["y"] - y_error[0], row["y"] + y_error[1], 25)]
    for value, line in zip(chance or (), (ax.axvline, ax.axhline), strict=False):
        line(value, color=GREY, lw=0.7, ls=(0, (4, 3)), zorder=0)
    if percent:
        ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
        ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    ax.set_xlabel(f"{xlabel} (%)" if percent else xlabel)
    ax.set_ylabel(f"{ylabel} (%)" if percent else ylabel)
    ax.margins(0.08)
    place_labels(ax, points, np.array(bars))
    return ax


def place_labels(
    ax: Axes, points: Sequence[tuple[float, float, str, str]], bars: Array, fontsize: float = 6.5, outward: bool = False
) -> None:
    """Write each name beside its point, at the nearest place that hides no name, point, whisker or frame.

    ``points``: x, y, name and colour. With ``outward``, names of the points on the left are tried on their left first.
    """
    figure: Any = ax.get_figure(root=True)
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    frame = ax.get_window_extent(renderer)
    pixels = figure.dpi / 72
    marks = [ax.transData.transform((x, y)) for x, y, _, _ in points]
    bars = ax.transData.transform(bars)
    taken: list[Any] = []
    angles = (45, 135, -45, -135, 0, 180, 90, -90)
    middle = np.median([mark[0] for mark in marks]) if marks else 0
    for (x, y, label, colour), mark in zip(points, marks, strict=True):
        best: Any = None
        mirrored = outward and mark[0] < middle
        distances = [(r, 180 - a if mirrored else a) for r in (6, 11, 17, 24, 32) for a in angles]
        for radius, angle in distances:
            dx, dy = radius * np.cos(np.radians(angle)), radius * np.sin(np.radians(angle))
            ha = "left" if dx > 1 else "right" if dx < -1 else "center"
            va = "bottom" if dy > 1 else "top" if dy < -1 else "center"
            note = ax.annotate(
                label, (x, y), (dx, dy), textcoords="offset points", ha=ha, va=va, fontsize=fontsize, color=colour
            )
            # The figure's layout must not grow for names: they are placed inside the frame.
            note.set_in_layout(False)
            box = note.get_window_extent(renderer).expanded(1.02, 1.05)
            outside = box.x0 < frame.x0 or box.x1 > frame.x1 or box.y0 < frame.y0 or box.y1 > frame.y1
            hidden = sum(box.overlaps(other) for other in taken)
            hidden += sum(
                box.x0 - 3 < m[0] < box.x1 + 3 and box.y0 - 3 < m[1] < box.y1 + 3 for m in marks if m is not mark
            )
            crossed = (bars > (box.x0, box.y0)).all(axis=1) & (bars < (box.x1, box.y1)).all(axis=1)
            cost = 10 * outside + 4 * hidden + min(crossed.sum(), 10) / 8 + radius / 30
            if best is None or cost < best[0]:
                if best is not None:
                    best[1].remove()
                best = (cost, note, box, radius)
            else:
                note.remove()
            if cost < 0.4:
                break
        taken.append(best[2])
        if best[3] > 12:
            end = best[1].xyann
            ax.annotate(
                "",
                (x, y),
                (end[0] * 0.92, end[1] * 0.92),
                textcoords="offset points",
                arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.4, "shrinkA": 0, "shrinkB": 2 * pixels},
            )


def plot_reliability(table: pd.DataFrame, *, ax: Axes | None = None, width: float = COLUMN) -> Axes:
    """Observed accuracy against stated confidence, with the number of verdicts of each bin on an axes of its own below.

    Columns ``judge, confidence, accuracy, count``: one row per judge and bin; optional ``low, high``.
    """
    table = required(table, "judge", "confidence", "accuracy", "count")
    ax = axes_of(ax, width, 1.0 * width)
    below = ax.inset_axes([0, -0.34, 1, 0.2], sharex=ax)  # type: ignore[arg-type]  # a list does
    ax.plot([0, 1], [0, 1], color=GREY, lw=0.7, ls=(0, (4, 3)), zorder=0)
    judges = list(dict.fromkeys(table["judge"]))
    for judge in judges:
        part = table[(table["judge"] == judge) & (table["count"] > 0)].sort_values("confidence")
        colour, marker = judge_style(judge)
        if {"low", "high"} <= set(part.columns):
            error = whiskers(part, "accuracy")
            ax.errorbar(part["confidence"], part["accuracy"], yerr=error, fmt="none", ecolor=colour, elinewidth=0.7)
        ax.plot(part["confidence"], part["accuracy"], color=colour, marker=marker, ms=3.5)
        below.plot(part["confidence"], part["count"], color=colour, marker=marker, ms=2.5, lw=0.8)
    lowest = min(table["confidence"].min(), table["accuracy"].min(), 0.5)
    start = max(0.0, np.floor(10 * (lowest - 0.04)) / 10)
    ax.set(xlim=(start, 1.02), ylim=(start, 1.02), ylabel="observed accuracy (%)")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    ax.tick_params(axis="x", labelbottom=False)
    below.set_xlabel("confidence (%)")
    below.set_ylabel("verdicts")
    below.set_ylim(bottom=0)
    below.yaxis.set_major_locator(MaxNLocator(2))
    below.yaxis.set_major_formatter(lambda value, _: short(value))
    handles = [Line2D([], [], color=judge_style(j)[0], marker=judge_style(j)[1], ms=3.5, label=j) for j in judges]
    ax.legend(handles=handles, loc="upper left")
    return ax
