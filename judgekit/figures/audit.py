"""Pictures of an audit: what findings do, and which sets share questions."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from judgekit.figures.style import BLUE, GREY, ORANGE, RED, TEXT, required, use_style, whiskers
from judgekit.stats import Array

COLOURS = (BLUE, ORANGE, "#009E73", RED, "#332288", GREY)
MARKERS = "osD^vh"


def plot_effects_by_kind(table: pd.DataFrame, *, width: float = TEXT, row: float = 0.15) -> Array:
    """Effects of findings with their intervals, one panel per kind, in two columns.

    Columns ``kind, row, effect, low, high``: effects in [-1, 1] are drawn in points; ``row`` names the line.
    """
    table = required(table, "kind", "row", "effect", "low", "high")
    kinds = list(dict.fromkeys(table["kind"]))
    use_style()
    sizes = [int((table["kind"] == kind).sum()) for kind in kinds]
    # The kinds fall into two columns of about equal height, in their order.
    split = min(
        range(1, len(kinds) + 1), key=lambda k: max(sum(sizes[:k]) + 2 * k, sum(sizes[k:]) + 2 * (len(kinds) - k))
    )
    columns = [list(range(split)), list(range(split, len(kinds)))]
    columns = [column for column in columns if column]
    tall = max(sum(sizes[k] + 2.2 for k in column) for column in columns)
    figure = plt.figure(figsize=(width, 0.4 + row * tall))
    limits = min(0, table["low"].min()) * 104, max(0, table["high"].max()) * 104
    axes = []
    for subfigure, column in zip(np.atleast_1d(figure.subfigures(1, len(columns))), columns, strict=True):
        panels = subfigure.subplots(len(column), 1, height_ratios=[sizes[k] + 0.8 for k in column], squeeze=False)[:, 0]
        for panel, k in zip(panels, column, strict=True):
            draw_effects(panel, table[table["kind"] == kinds[k]], COLOURS[k % 6], MARKERS[k % 6], limits)
            panel.set_title(kinds[k])
            axes.append(panel)
        panels[-1].set_xlabel("effect (points)")
    return np.array(axes)


def draw_effects(panel: Axes, rows: pd.DataFrame, colour: str, marker: str, limits: tuple[float, float]) -> None:
    """One panel: a dot and a whisker per row, the first on top."""
    places = np.arange(len(rows))[::-1]
    shown = rows[["effect", "low", "high"]].astype(float) * 100
    panel.axvline(0, color=GREY, lw=0.8)
    panel.errorbar(
        shown["effect"], places, xerr=whiskers(shown, "effect"), fmt=marker, ms=3.2, lw=0.9, color=colour, capsize=0
    )
    panel.set_yticks(places, rows["row"], fontsize=6)
    panel.set_ylim(-0.7, len(rows) - 0.3)
    panel.set_xlim(*limits)
    panel.tick_params(axis="y", length=0)


def plot_overlap(table: pd.DataFrame, *, rows: Sequence[str] | None = None, width: float = TEXT) -> Axes:
    """Share of the distinct questions of a set (rows) that also stand in another (columns), in hundredths.

    Columns ``set, other, questions, exact, near``. ``rows``: sets that have a row; all by default.
    """
    table = required(table, "set", "other", "questions", "exact", "near")
    others = list(dict.fromkeys([*table["set"], *table["other"]]))
    rows = list(rows or others)
    shares = np.full((len(rows), len(others)), np.nan)
    for one in table.itertuples():
        if one.set in rows:
            shares[rows.index(one.set), others.index(one.other)] = 100 * (one.exact + one.near) / one.questions
    use_style()
    ax = plt.subplots(figsize=(width, 1.2 + 0.17 * len(rows)))[1]
    ax.imshow(np.sqrt(np.nan_to_num(shares) / 100), cmap="Greys", vmin=0, vmax=1.15, aspect="auto")
    for (i, j), value in np.ndenumerate(shares):
        if rows[i] == others[j]:
            ax.text(j, i, "·", ha="center", va="center", fontsize=6, color=GREY)
        elif value > 0:
            text = "<1" if value < 1 else f"{value:.0f}"
            ax.text(j, i, text, ha="center", va="center", fontsize=6, color="white" if value > 45 else "black")
    ax.set_xticks(range(len(others)), others, rotation=55, ha="right", rotation_mode="anchor", fontsize=6)
    ax.set_yticks(range(len(rows)), rows, fontsize=6)
    ax.set_xlabel("where its questions stand as well")
    ax.set_ylabel("test set")
    ax.set_title("share of the test set's questions (%)")
    ax.tick_params(length=0)
    ax.grid(visible=False)
    for side in ax.spines.values():
        side.set_visible(False)
    return ax
