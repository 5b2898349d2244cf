"""Pictures of everybody against everybody: significance matrices, and effects of methods by model."""

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm

from judgekit.figures.style import TEXT, required, use_style
from judgekit.stats import Array, Floats

COLOURS = "PuOr"  # orange for losses, purple for gains: readable without colour vision, white at zero
LEVEL = 0.05


def plot_significance(
    table: pd.DataFrame, *, columns: int = 2, width: float = TEXT, limit: float = 0.5
) -> Axes | Array:
    """Differences between every two judges, in points, one panel per set; what could be chance is grey and small.

    Columns ``set, judge_a, judge_b, difference, p_holm``, each two judges of a set once; ``difference`` in [-1, 1] is
    the score of the first less that of the second. A cell tells by how much the judge of its row is ahead of the judge
    of its column; at ``limit`` the colour is full.
    """
    table = required(table, "set", "judge_a", "judge_b", "difference", "p_holm")

    def cell(row: Any) -> tuple[float, float, bool]:
        return row.difference, -row.difference, row.p_holm < LEVEL

    return judge_panels(table, cell, columns, width, limit, 0.78, 0.145)


def judge_panels(
    table: pd.DataFrame,
    cell: Callable[[Any], tuple[float, float, bool]],
    columns: int,
    width: float,
    limit: float,
    frame: float,
    line: float,
) -> Axes | Array:
    """One panel per set with every two judges in its cells; see `plot_significance` for the table.

    ``cell`` gives for a row the value seen from judge a, that seen from judge b, and whether it is clear; ``frame``
    and ``line`` are inches around a panel and for each judge in it.
    """
    sets = list(dict.fromkeys(table["set"]))
    use_style()
    columns = min(columns, len(sets))
    n_rows = -(-len(sets) // columns)
    sizes = [len(judges_of(table[table["set"] == name])) for name in sets]
    heights = [frame + line * max(sizes[row * columns : (row + 1) * columns]) for row in range(n_rows)]
    axes = plt.subplots(
        n_rows, columns, figsize=(width, sum(heights)), squeeze=False, gridspec_kw={"height_ratios": heights}
    )[1]
    for panel, name in zip(axes.flat, sets, strict=False):
        part = table[table["set"] == name]
        names = judges_of(part)
        values, clear = np.full((2, len(names), len(names)), np.nan)
        for row in part.itertuples():
            a, b = names.index(row.judge_a), names.index(row.judge_b)
            values[a, b], values[b, a], told = cell(row)
            clear[a, b] = clear[b, a] = told
        draw_cells(panel, values, clear, names, names, limit)
        panel.set_title(name)
    for empty in axes.flat[len(sets) :]:
        empty.set_visible(False)
    return axes.flat[0] if axes.size == 1 else axes


def judges_of(part: pd.DataFrame) -> list[str]:
    """Everybody in a table of differences, in order."""
    return list(dict.fromkeys([*part["judge_a"], *part["judge_b"]]))


def plot_correlations(table: pd.DataFrame, *, columns: int = 2, width: float = TEXT) -> Axes | Array:
    """Correlation of every two judges' errors, in hundredths, one panel per set; grey could be none.

    Columns ``set, judge_a, judge_b, correlation``, each two judges of a set once; ``correlation`` a `Number` with its
    interval.
    """
    table = required(table, "set", "judge_a", "judge_b", "correlation")

    def cell(row: Any) -> tuple[float, float, bool]:
        found = row.correlation
        return found.value, found.value, found.low > 0 or found.high < 0

    return judge_panels(table, cell, columns, width, 0.85, 0.9, 0.2)


def plot_effects(table: pd.DataFrame, *, columns: int = 3, width: float = TEXT, limit: float = 0.4) -> Axes | Array:
    """Effects of methods (rows) on models (columns), in points, one panel per set; at ``limit`` the colour is full.

    Columns ``set, model, method, difference, p_value``; a model need not have every method.
    """
    table = required(table, "set", "model", "method", "difference", "p_value")
    sets, models, methods = (list(dict.fromkeys(table[name])) for name in ("set", "model", "method"))
    use_style()
    columns = min(columns, len(sets))
    n_rows = -(-len(sets) // columns)
    height = n_rows * (0.75 + 0.19 * len(methods))
    axes = plt.subplots(n_rows, columns, figsize=(width, height), sharex=True, sharey=True, squeeze=False)[1]
    for panel, name in zip(axes.flat, sets, strict=False):
        values, clear = np.full((2, len(methods), len(models)), np.nan)
        for row in table[table["set"] == name].itertuples():
            cell = methods.index(row.method), models.index(row.model)
            values[cell], clear[cell] = row.difference, row.p_value < LEVEL
        draw_cells(panel, values, clear, methods, models, limit)
        panel.set_title(name)
    for empty in axes.flat[len(sets) :]:
        empty.set_visible(False)
    return axes.flat[0] if axes.size == 1 else axes


def draw_cells(
    panel: Axes, values: Floats, clear: Floats, rows: Sequence[str], columns: Sequence[str], limit: float
) -> None:
    """Coloured cells with their numbers in points; bold where clear of chance, grey where not."""
    panel.imshow(values, cmap=COLOURS, norm=TwoSlopeNorm(0, -limit, limit), aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value):
            # Letters on the darkest cells are white, elsewhere black, or grey where the difference could be chance.
            colour = ("white" if abs(value) > 0.8 * limit else "black") if clear[i, j] == 1 else "#8a8a8a"
            text = f"{100 * value:+.0f}".replace("-", "−")
            text = "0" if text in ("+0", "−0") else text
            panel.text(j, i, text, ha="center", va="center", fontsize=6, color=colour)
    panel.set_xticks(range(len(columns)), columns, rotation=40, ha="right", rotation_mode="anchor", fontsize=6)
    panel.set_yticks(range(len(rows)), rows, fontsize=6)
    panel.tick_params(length=0)
    panel.grid(visible=False)
    for side in panel.spines.values():
        side.set_visible(False)
