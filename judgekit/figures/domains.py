"""Pictures of kinds of tasks: rates by category, raw and shrunken, and accuracy by style."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from judgekit.figures.style import DARK, GREY, TEXT, judge_style, required, use_style, whiskers
from judgekit.stats import Array


def plot_categories(
    table: pd.DataFrame,
    *,
    columns: int = 2,
    width: float = TEXT,
    xlabel: str = "accuracy",
    chance: Mapping[str, float] | None = None,
) -> Array:
    """Rates by category: open marks are the category alone, filled ones with their bars are shrunken.

    Columns ``panel, category, judge, raw, value, low, high``; categories are sorted by their mean, panels keep their
    order and fill the columns from above. ``chance``: a dashed line per panel.
    """
    table = required(table, "panel", "category", "judge", "raw", "value", "low", "high")
    use_style()
    panels = list(dict.fromkeys(table["panel"]))
    groups = {name: table[table["panel"] == name] for name in panels}
    heights = {name: part["category"].nunique() * (1 + 0.62 * part["judge"].nunique()) for name, part in groups.items()}
    stacks = split_evenly(panels, heights, columns)
    tallest = max(sum(heights[name] + 2.5 for name in stack) for stack in stacks)
    figure = plt.figure(figsize=(width, 0.115 * tallest + 0.55))
    axes = []
    for subfigure, stack in zip(figure.subfigures(1, len(stacks), squeeze=False)[0], stacks, strict=True):
        ratios = [heights[name] for name in stack]
        made = subfigure.subplots(len(stack), 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
        for ax, name in zip(made, stack, strict=True):
            draw_categories(ax, groups[name], name, (chance or {}).get(name))
        made[-1].set_xlabel(f"{xlabel} (%)")
        axes += list(made)
    handles = [
        Line2D([], [], color=judge_style(j)[0], marker=judge_style(j)[1], ms=3.8, lw=0.9, label=j)
        for j in dict.fromkeys(table["judge"])
    ]
    handles.append(Line2D([], [], color=DARK, marker="o", mfc="white", ms=3.8, lw=0, label="the category alone"))
    figure.legend(handles=handles, loc="outside upper center", ncols=5)
    return np.array(axes)


def split_evenly(panels: Sequence[str], heights: Mapping[str, float], columns: int) -> list[list[str]]:
    """Panels in order, in as many stacks as there are columns and of about the same height."""
    total, stacks, filled = sum(heights.values()), [[]], 0.0  # type: ignore[var-annotated]  # three names
    for name in panels:
        share = total / columns * len(stacks)
        if stacks[-1] and len(stacks) < columns and filled + heights[name] / 2 > share:
            stacks.append([])
        stacks[-1].append(name)
        filled += heights[name]
    return stacks


def draw_categories(ax: Axes, part: pd.DataFrame, title: str, chance: float | None = None) -> None:
    """One panel of `plot_categories`."""
    judges = list(dict.fromkeys(part["judge"]))
    order = part.groupby("category")["value"].mean().sort_values().index
    offsets = np.linspace(0.28, -0.28, len(judges)) if len(judges) > 1 else [0.0]
    for judge, offset in zip(judges, offsets, strict=True):
        rows = part[part["judge"] == judge].set_index("category").reindex(order).dropna(subset="value")
        places = [order.get_loc(name) + offset for name in rows.index]
        colour, marker = judge_style(judge)
        own: dict[str, Any] = {"color": colour, "marker": marker, "ms": 3.8, "lw": 0}
        ax.errorbar(rows["value"], places, xerr=whiskers(rows), fmt="none", ecolor=colour, elinewidth=0.9)
        ax.plot(rows["raw"], places, mfc="white", mew=0.7, **own)
        ax.plot(rows["value"], places, **own)
    if chance is not None:
        ax.axvline(chance, color=GREY, lw=0.7, ls=(0, (4, 3)), zorder=0)
    ax.set_title(title)
    ax.set_yticks(range(len(order)), [name.replace("_", " ") for name in order])
    ax.set_ylim(-0.6, len(order) - 0.4)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))


def plot_styles(table: pd.DataFrame, *, width: float = TEXT) -> Array:
    """Accuracy where the right response is the richer in style, the same, and where the wrong one is; a panel each.

    Columns ``panel, judge, category, value, low, high``; the categories are easy, normal, hard.
    """
    table = required(table, "panel", "judge", "category", "value", "low", "high")
    use_style()
    panels, judges = list(dict.fromkeys(table["panel"])), list(dict.fromkeys(table["judge"]))
    figure, axes = plt.subplots(1, len(panels), figsize=(width, 1.9), sharey=True, squeeze=False)
    shifts = np.linspace(-0.12, 0.12, len(judges)) if len(judges) > 1 else [0.0]
    for ax, name in zip(axes[0], panels, strict=True):
        for judge, shift in zip(judges, shifts, strict=True):
            rows = table[(table["panel"] == name) & (table["judge"] == judge)].set_index("category")
            rows = rows.reindex(["easy", "normal", "hard"])
            colour, marker = judge_style(judge)
            places = np.arange(3) + shift
            ax.errorbar(places, rows["value"], whiskers(rows), color=colour, marker=marker, ms=3.5, elinewidth=0.8)
        ax.axhline(0.5, color=GREY, lw=0.7, ls=(0, (4, 3)), zorder=0)
        ax.set_title(name.replace("_", " "))
        ax.set_xticks(range(3), ["easy", "normal", "hard"])
        ax.set_xlim(-0.4, 2.4)
        ax.grid(axis="x", visible=False)
    axes[0, 0].set_ylim(0, 1.02)
    axes[0, 0].yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    axes[0, 0].set_ylabel("accuracy (%)")
    handles = [Line2D([], [], color=judge_style(j)[0], marker=judge_style(j)[1], ms=3.5, label=j) for j in judges]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(judges))
    return axes[0]
