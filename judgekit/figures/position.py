"""Pictures of position bias: consistency by method and model, the preferred position, and flips by margin."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import MaxNLocator, PercentFormatter

from judgekit.figures.style import COLUMN, GREY, axes_of, judge_style, required, row_positions, whiskers


def plot_by_method(
    table: pd.DataFrame,
    *,
    ax: Axes | None = None,
    width: float = COLUMN,
    xlabel: str = "same verdict in both orders",
) -> Axes:
    """A rate of every model under every way of asking: a row per method, a mark per model.

    Columns ``method, model, value, low, high``; methods in the order of the rows.
    """
    table = required(table, "method", "model", "value", "low", "high")
    rows, models = row_positions(table["method"]), list(dict.fromkeys(table["model"]))
    ax = axes_of(ax, width, 0.6 + 0.4 * len(rows))
    offsets = np.linspace(0.32, -0.32, len(models)) if len(models) > 1 else [0.0]
    for model, offset in zip(models, offsets, strict=True):
        part, (colour, marker) = table[table["model"] == model], judge_style(model)
        places = [rows[method] + offset for method in part["method"]]
        style: dict[str, Any] = {"fmt": marker, "ms": 3.2, "color": colour, "elinewidth": 0.7, "label": model}
        ax.errorbar(part["value"], places, xerr=whiskers(part), **style)
    banded(ax, rows)
    percent_axis(ax.xaxis)
    ax.set_xlabel(f"{xlabel} (%)")
    columns = min(3, len(models))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, fontsize=6.2, handlelength=1, columnspacing=1)
    return ax


def plot_first_preference(table: pd.DataFrame, *, ax: Axes | None = None, width: float = COLUMN) -> Axes:
    """Share of decided verdicts for the response shown first; a row per judge, under a head per group.

    Columns ``group, judge, value, low, high, clear``; hollow marks are not ``clear`` of chance.
    """
    table = required(table, "group", "judge", "value", "low", "high", "clear")
    lines = []
    for group, part in table.groupby("group", sort=False):
        lines += [(group, None)] + [(group, judge) for judge in part["judge"]]
    rows = row_positions(lines)
    ax = axes_of(ax, width, 0.6 + 0.16 * len(rows))
    for (_, row), error in zip(table.iterrows(), whiskers(table).T, strict=True):
        colour, marker = judge_style(row["judge"])
        face = colour if row["clear"] else "white"
        place = rows[row["group"], row["judge"]]
        style: dict[str, Any] = {"fmt": marker, "ms": 4, "color": colour, "mfc": face, "elinewidth": 0.9}
        ax.errorbar(row["value"], place, xerr=error[:, None], **style)
    ax.axvline(0.5, color=GREY, lw=0.9, ls=(0, (4, 3)), zorder=1)
    ax.set_yticks(list(rows.values()), [judge or group for group, judge in rows])
    for (_, judge), label in zip(rows, ax.get_yticklabels(), strict=True):
        if judge is None:
            label.set_fontweight("bold")
    ax.set_ylim(-0.7, len(rows) - 0.3)
    ax.tick_params(axis="y", length=0, labelsize=6.5)
    ax.grid(axis="y", visible=False)
    percent_axis(ax.xaxis)
    ax.set_xlabel("decided verdicts for the first response (%)")
    return ax


def plot_by_margin(
    table: pd.DataFrame,
    *,
    ax: Axes | None = None,
    width: float = COLUMN,
    xlabel: str = "margin",
    ylabel: str = "verdicts that differ with the order",
) -> Axes:
    """A rate by margin: a line per judge, with intervals.

    Columns ``judge, margin, value, low, high``.
    """
    table = required(table, "judge", "margin", "value", "low", "high")
    ax = axes_of(ax, width, 0.75 * width)
    judges = list(dict.fromkeys(table["judge"]))
    for k, judge in enumerate(judges):
        part, (colour, marker) = table[table["judge"] == judge], judge_style(judge)
        apart = part["margin"] + 0.008 * (k - (len(judges) - 1) / 2)  # so that whiskers stand beside each other
        ax.errorbar(
            apart, part["value"], yerr=whiskers(part), color=colour, marker=marker, ms=3.5, elinewidth=0.6, label=judge
        )
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(f"{ylabel} (%)")
    percent_axis(ax.yaxis)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize=6.2, handlelength=1.6, labelspacing=0.3)
    return ax


def banded(ax: Axes, rows: Mapping[str, int]) -> None:
    """Names of the rows, every other one on a pale band."""
    for name, place in rows.items():
        if place % 2:
            ax.axhspan(place - 0.5, place + 0.5, color="#f4f4f4", lw=0, zorder=0, label=f"_{name}")
    ax.set_yticks(list(rows.values()), list(rows))
    ax.set_ylim(-0.55, len(rows) - 0.45)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)


def percent_axis(axis: Axis) -> None:
    """Rates as percentages, at a few round places."""
    axis.set_major_locator(MaxNLocator(5))
    axis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
