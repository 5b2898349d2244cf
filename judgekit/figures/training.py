"""Pictures of training choices."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from judgekit.figures.data import plot_training_curve
from judgekit.figures.style import BLUE, COLUMN, DARK, PALE, RED, TEXT, axes_of, required


def plot_gates(table: pd.DataFrame, chosen: float, *, ax: Axes | None = None, width: float = COLUMN) -> Axes:
    """Accuracy on ordinary pairs against accuracy on misleading ones, for gates of several strengths.

    Columns ``share, mean, error, misleading``, as `judgekit.training.gate.compare_gates` makes them; ``chosen`` is the
    share of the gate that was chosen.
    """
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    table = required(table, "share", "mean", "error", "misleading").sort_values("share")
    ax = axes_of(ax, width, 2.3)
    ax.plot(table["mean"], table["misleading"], color=PALE, lw=0.8, zorder=1)
    ax.errorbar(table["mean"], table["misleading"], xerr=table["error"], fmt="o", ms=3.5, color=BLUE, elinewidth=0.6)
    here = table[table["share"] == chosen]
    ax.plot(here["mean"], here["misleading"], "o", ms=8, mfc="none", mec=RED)
    best = table.loc[table["mean"].idxmax()]  # type: ignore[call-overload]  # an index of numbers
    ax.axvline(best["mean"] - best["error"], color=RED, lw=0.6, ls=":")
    for number, row in enumerate(table.itertuples()):
        name = "open" if row.share == 0 else f"{row.share:g}"
        place = (6, 3) if number % 2 else (-6, -9)  # neighbours stand close: right above and left below in turn
        side = "left" if number % 2 else "right"
        at = (row.mean, row.misleading)
        ax.annotate(name, at, xytext=place, textcoords="offset points", fontsize=6.5, ha=side)
    ax.margins(y=0.12)
    ax.set(xlabel="mean accuracy, ordinary pairs", ylabel="accuracy, misleading pairs")
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=1))
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return ax


def plot_study(table: pd.DataFrame, *, width: float = TEXT) -> Figure:
    """Differences of a study's settings from its base, on ordinary and on misleading pairs.

    Columns ``factor, level, set, difference`` (`Number`), as `judgekit.training.mixture.study_table` makes them; the
    sets ``ordinary`` and ``misleading`` are drawn.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import PercentFormatter

    table = required(table, "factor", "level", "set", "difference")
    settings = list(dict.fromkeys(zip(table["factor"], table["level"], strict=True)))
    figure, panels = plt.subplots(1, 2, sharey=True, figsize=(width, 0.6 + 0.15 * len(settings)), layout="constrained")
    for panel, name in zip(panels, ("ordinary", "misleading"), strict=True):
        found = table[table["set"] == name].set_index(["factor", "level"])["difference"]
        for row, setting in enumerate(settings):
            gap = found[setting]
            clear = gap.low > 0 or gap.high < 0
            color = BLUE if clear else PALE
            panel.plot([gap.low, gap.high], [row, row], color=color, lw=0.9)
            panel.plot(gap.value, row, "o", ms=3, color=color)
        panel.axvline(0, color=DARK, lw=0.6)
        panel.set(title=f"{name} pairs", xlabel="difference from the base")
        panel.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    names = [f"{factor}: {level}".replace("_", " ") for factor, level in settings]
    panels[0].set_yticks(range(len(settings)), names)
    panels[0].invert_yaxis()
    return figure


def plot_learning(table: pd.DataFrame, factors: Mapping[str, str], *, width: float = TEXT) -> Figure:
    """Accuracy against the share of the data, for factors whose levels are a tenth and a third of it.

    Columns ``factor, level, set, mean, sd``, the base among the rows. ``factors``: factor to the words for its data.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import PercentFormatter

    table = required(table, "factor", "level", "set", "mean", "sd")
    figure, panels = plt.subplots(1, len(factors), figsize=(width, 2.1), layout="constrained", squeeze=False)
    for panel, (factor, words) in zip(panels[0], factors.items(), strict=True):
        for name, color in (("ordinary", BLUE), ("misleading", RED)):
            rows: Any = table[table["set"] == name].set_index(["factor", "level"])
            points = [rows.loc[key] for key in ((factor, "tenth"), (factor, "third"), ("base", "base"))]
            means, spreads = ([float(point[part]) for point in points] for part in ("mean", "sd"))
            panel.errorbar([0.1, 1 / 3, 1], means, yerr=spreads, fmt="o-", ms=3, lw=0.9, color=color, label=name)
        panel.set_xscale("log")
        panel.set_xticks([0.1, 1 / 3, 1], ["a tenth", "a third", "all"])
        panel.minorticks_off()
        panel.set(xlabel=words, ylabel="validation accuracy")
        panel.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    panels[0][0].legend()
    return figure


def plot_stages(histories: Mapping[str, pd.DataFrame], *, width: float = TEXT) -> Figure:
    """Loss by step above, accuracy on validation pairs by step below, a column for each stage of a training.

    Columns of each stage's table: ``step, loss, validation, accuracy``; what was not measured at a step is NaN.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import PercentFormatter

    if not histories:
        raise ValueError("no stages: nothing to draw")
    figure, panels = plt.subplots(
        2, len(histories), figsize=(width, 3.0), layout="constrained", squeeze=False, sharex="col"
    )
    for (above, below), (stage, table) in zip(panels.T, histories.items(), strict=True):
        plot_training_curve(required(table, "step", "loss", "validation", "accuracy"), ax=above)
        above.set(title=stage, xlabel="")
        measured = table.dropna(subset=["accuracy"])
        below.plot(measured["step"], measured["accuracy"], "o-", ms=2.5, color=BLUE)
        below.axhline(0.5, color=DARK, lw=0.6, ls=":")
        below.set(ylim=(0.38, 1.03), xlabel="step")
        below.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        if above is not panels[0][0]:
            above.set_ylabel("")
            above.get_legend().remove()
            below.tick_params(labelleft=False)
    panels[1][0].set_ylabel("accuracy, validation pairs")
    return figure


def plot_rank_check(
    table: pd.DataFrame, validation: str, test: str, *, ax: Axes | None = None, width: float = COLUMN
) -> Axes:
    """Accuracy on a test set against accuracy in validation, a point for every setting of a study.

    Columns ``factor, level, validation, test``; those of ``gate_strength``, and the base, are told apart.
    ``validation`` and ``test`` are names for the axes.
    """
    from matplotlib.ticker import PercentFormatter

    table = required(table, "factor", "level", "validation", "test")
    ax = axes_of(ax, width, 2.3)
    kinds = {"base": ("base", RED, "D"), "gate_strength": ("strength of the gate", BLUE, "o")}
    groups = table["factor"].where(table["factor"].isin(kinds), "other")
    for kind, (name, color, marker) in ({"other": ("other factors", PALE, "s")} | kinds).items():
        rows = table[groups == kind]
        if len(rows):
            ax.plot(rows["validation"], rows["test"], marker, ms=3.5, color=color, label=name)
    ax.set(xlabel=f"validation accuracy, {validation} pairs", ylabel=f"accuracy, {test}")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1, decimals=0))
    ax.legend()
    return ax
