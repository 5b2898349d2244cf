"""Pictures of calibration: reliability of many judges on many sets, and what is risked at every coverage."""

import re
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator, PercentFormatter

from judgekit.figures.style import GREY, LIGHT, TEXT, judge_style, required, use_style, whiskers
from judgekit.stats import Array

ROOM, LEAST = 1.5, 0.05  # height of a panel over its curves, and coverage below which no star is drawn
HISTOGRAM = 0.28  # height of the tallest bar, as a share of the panel
LETTERS, FITTING = 6, 18  # size of titles, and how many letters of it a panel is wide


def plot_reliability_panels(table: pd.DataFrame, *, columns: int = 6, width: float = TEXT) -> Array:
    """Agreement with people against stated confidence, one panel per judge and set, with how often it is stated.

    Columns ``set, judge, confidence, accuracy, low, high, count``: a row per bin; panels in the sequence of their
    first rows. Points below the dashed line are overconfident. Bars are the shares of verdicts in a bin.
    """
    table = required(table, "set", "judge", "confidence", "accuracy", "low", "high", "count")
    panels: Any = list(table.groupby(["judge", "set"], sort=False))
    use_style()
    columns = min(columns, len(panels))
    n_rows = -(-len(panels) // columns)
    axes = plt.subplots(n_rows, columns, figsize=(width, 1.2 * n_rows + 0.25), squeeze=False, sharex=True, sharey=True)[
        1
    ]
    lowest = np.floor(10 * table["confidence"].min()) / 10
    for panel, ((judge, name), part) in zip(axes.flat, panels, strict=False):
        colour, marker = judge_style(judge)
        share = part["count"] / part["count"].max()
        panel.bar(part["confidence"], HISTOGRAM * share, width=0.055, color=LIGHT, zorder=0)
        panel.plot([0, 1], [0, 1], color=GREY, lw=0.7, ls=(0, (4, 3)), zorder=1)
        panel.errorbar(
            part["confidence"],
            part["accuracy"],
            yerr=whiskers(part, "accuracy"),
            color=colour,
            marker=marker,
            ms=2.8,
            lw=0.9,
            elinewidth=0.7,
        )
        panel.set_title(f"{fitted(judge)}\n{fitted(name)}", fontsize=LETTERS, pad=2)
        panel.set(xlim=(lowest - 0.03, 1.04), ylim=(0, 1.04))
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
        panel.xaxis.set_major_locator(MaxNLocator(3))
        panel.yaxis.set_major_locator(MaxNLocator(4))
    for empty in axes.flat[len(panels) :]:
        empty.set_visible(False)
    for panel in axes.flat[max(0, len(panels) - columns) : len(panels)]:
        panel.tick_params(labelbottom=True)
    axes[0, 0].get_figure().supxlabel("confidence (%)", fontsize=7.5)
    axes[0, 0].get_figure().supylabel("agreement with people (%)", fontsize=7.5)
    return axes


def fitted(name: str) -> str:
    """A name in lines that fit over a panel, broken at spaces or underscores.

    >>> fitted("arena_mistral_7b_instruct"), fitted("Auto-J")
    ('arena_mistral_7b_\\ninstruct', 'Auto-J')
    """
    lines = [""]
    for word in re.findall(r"[^ _]+[ _]?", name):
        lines = [*lines[:-1], lines[-1] + word] if len(lines[-1] + word.rstrip()) <= FITTING else [*lines, word]
    return "\n".join(line.rstrip(" ") for line in lines if line)


def plot_risk_coverage(table: pd.DataFrame, points: pd.DataFrame, *, columns: int = 3, width: float = TEXT) -> Array:
    """Disagreement with people against the share of verdicts that is kept, one panel per set.

    Columns ``set, judge, share, risk, oracle``: rows of a curve in the sequence of their shares. ``points`` has ``set,
    judge, coverage, risk, low, high``: what was kept under a guarantee, with the interval of its risk; ``promised`` is
    the risk that was guaranteed. May be empty. Full the judge's confidence, dotted the oracle; stars stand on what a
    certified threshold kept on prompts that it was not certified on, with a bar to the risk it had promised.
    """
    table = required(table, "set", "judge", "share", "risk", "oracle")
    panels: Any = list(table.groupby("set", sort=False))
    use_style()
    columns = min(columns, len(panels))
    n_rows = -(-len(panels) // columns)
    axes = plt.subplots(n_rows, columns, figsize=(width, 2.1 * n_rows), squeeze=False, sharex=True)[1]
    for panel, (name, part) in zip(axes.flat, panels, strict=False):
        for judge, curve in part.groupby("judge", sort=False):
            colour, marker = judge_style(judge)
            marks = {"marker": marker, "ms": 2.5, "markevery": 0.25}
            panel.plot(curve["share"], curve["risk"], color=colour, lw=1.2, label=judge, **marks)
            panel.plot(
                curve["share"].iloc[-1:], curve["risk"].iloc[-1:], color=colour, marker=marker, ms=3.5, clip_on=False
            )
            panel.plot(curve["share"], curve["oracle"], color=colour, lw=0.7, ls=":")
            here = (points["set"] == name) & (points["judge"] == judge) & (points["coverage"] >= LEAST)
            for point in points[here].itertuples():
                panel.plot([point.coverage] * 2, [point.risk, point.promised], color=colour, lw=0.8)
                panel.plot(point.coverage, point.promised, color=colour, marker="_", ms=5)
                panel.plot(point.coverage, point.risk, color=colour, marker="*", ms=7, mec="white", mew=0.4)
        panel.set_title(name)
        panel.set_xlim(0, 1.02)
        highest = np.nanmax([part["risk"].max(), points.loc[points["set"] == name, "promised"].max()])
        panel.set_ylim(0, ROOM * highest)  # the legend stands above the curves
        panel.yaxis.set_major_locator(MaxNLocator(5))
        panel.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
        panel.yaxis.set_major_formatter(lambda rate, _: f"{100 * rate:.0f}" if rate <= 1 else "")
        panel.legend(loc="upper left", fontsize=6, handlelength=1.2, borderpad=0.2, labelspacing=0.25)
    for empty in axes.flat[len(panels) :]:
        empty.set_visible(False)
    for row in axes:
        row[0].set_ylabel("risk (%)")
    for panel in axes.flat[max(0, len(panels) - columns) : len(panels)]:
        panel.set_xlabel("verdicts kept (%)")
        panel.tick_params(labelbottom=True)
    return axes
