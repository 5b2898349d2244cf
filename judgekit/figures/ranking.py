"""Pictures of models ranked by people and judges: what a judge's verdicts save, and strengths side by side."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import MultipleLocator, PercentFormatter

from judgekit.figures.style import DARK, TEXT, judge_style, required, row_positions, use_style
from judgekit.stats import Array


def plot_saving(table: pd.DataFrame, *, width: float = TEXT) -> Array:
    """Half-width of intervals against labelled questions, and the share of labels that each judge saves below it.

    Columns ``set, judge, n, half_width, saved``, rates; judge ``people`` is people's votes alone. Axes of shape
    (2, n_sets).
    """
    required(table, "set", "judge", "n", "half_width", "saved")
    names = list(dict.fromkeys(table["set"]))
    use_style()
    figure, axes = plt.subplots(2, len(names), figsize=(width, 3.6), squeeze=False, height_ratios=[1.25, 1])
    for column, name in zip(axes.T, names, strict=True):
        for judge, curve in table[table["set"] == name].groupby("judge", sort=False):
            curve = curve.sort_values("n")
            colour, marker = (DARK, ".") if judge == "people" else judge_style(judge)
            label = "people alone" if judge == "people" else judge
            style = {"color": colour, "marker": marker, "ms": 3.5, "ls": "--" if judge == "people" else "-"}
            column[0].plot(curve["n"], curve["half_width"], label=label, **style)
            if judge != "people":
                column[1].plot(curve["n"], curve["saved"], **style)
        column[0].set_title(name)
        column[0].set_ylim(0)
        column[1].axhline(0, color=DARK, lw=0.8)
        column[1].set_xlabel("questions labelled by people")
        column[0].yaxis.set_major_locator(MultipleLocator(0.05))
        for ax in column:
            ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
        column[0].legend(loc="upper right", fontsize=6.5)
    axes[0, 0].set_ylabel("half-width of the interval\nof a win rate (points)")
    axes[1, 0].set_ylabel("labels saved (%)")
    figure.align_ylabels(axes[:, 0])
    return axes


def plot_strengths(table: pd.DataFrame, *, width: float = TEXT) -> Array:
    """Strengths of models by several sources, a panel for each set, the strongest model by people on top.

    Columns ``set, source, judge, filled, model, value, low, high``; ``judge`` is the slug whose colour the source has,
    ``people`` for people's votes alone; ``filled`` is whether its marks are. Sources in the sequence of their rows.
    """
    required(table, "set", "source", "judge", "filled", "model", "value", "low", "high")
    names = list(dict.fromkeys(table["set"]))
    use_style()
    rows = max(table[table["set"] == name]["model"].nunique() for name in names)
    axes = plt.subplots(1, len(names), figsize=(width, 0.9 + 0.52 * rows), squeeze=False)[1][0]
    for ax, name in zip(axes, names, strict=True):
        part = table[table["set"] == name]
        sources = list(dict.fromkeys(part["source"]))
        by_people = part[part["source"] == sources[0]].sort_values("value", ascending=False)
        places = row_positions(by_people["model"])
        for k, source in enumerate(sources):
            one = part[part["source"] == source]
            judge = one["judge"].iloc[0]
            colour, marker = (DARK, "o") if judge == "people" else judge_style(judge)
            y = one["model"].map(places).to_numpy(float) + 0.7 * (0.5 - (k + 0.5) / len(sources))
            beside = np.vstack([one["value"] - one["low"], one["high"] - one["value"]])
            face = colour if one["filled"].iloc[0] else "white"
            ends = {"xerr": beside, "fmt": marker, "color": colour, "ms": 4, "elinewidth": 0.9}
            ax.errorbar(one["value"], y, mfc=face, label=source, **ends)
        ax.axvline(0, color=DARK, lw=0.6)
        for place in range(len(places) - 1):
            ax.axhline(place + 0.5, color="#d0d0d0", lw=0.5)
        ax.set_yticks(list(places.values()), list(places))
        ax.set_ylim(-0.5, len(places) - 0.5)
        ax.grid(axis="y", visible=False)
        ax.set_title(name)
        ax.set_xlabel("strength (log odds against the average model)")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, fontsize=6.5)
    return axes
