"""Pictures of attacks: what turns which judge, how many queries a search needs, and what defences cost."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from judgekit.figures.style import (
    BLUE,
    COLUMN,
    DARK,
    GREY,
    ORANGE,
    PALE,
    RED,
    TEXT,
    axes_of,
    judge_style,
    required,
    use_style,
)

RUNGS = {
    "as it is": (DARK, "*"),
    "preference part": (ORANGE, "s"),
    "gate, by looks": ("#56B4E9", "<"),
    "gate, by ends": ("#009E73", "^"),
    "gate": (BLUE, "o"),
    "both": (RED, "D"),
}


def plot_ladder(
    table: pd.DataFrame, chosen: int, most: float, *, ax: Axes | None = None, width: float = COLUMN
) -> Axes:
    """Mean success of attacks against the accuracy that a defence costs, one point per setting.

    Columns ``rung, cost, mean_success``, as `judgekit.training.defence.compare_settings` makes them. ``chosen`` is the
    row that was chosen, ``most`` the cost that is allowed; to its left the choice is made.
    """
    from matplotlib.ticker import PercentFormatter

    table = required(table, "rung", "cost", "mean_success")
    ax = axes_of(ax, width, 0.8 * width)
    ax.axvspan(table["cost"].min() - 0.004, most, color="#f2f2f2", zorder=0)
    for rung in dict.fromkeys(table["rung"]):
        part = table[table["rung"] == rung]
        colour, marker = RUNGS.get(rung, (PALE, "X"))
        ax.plot(part["cost"], part["mean_success"], marker, color=colour, ms=5, label=rung, alpha=0.9)
    best = table.iloc[chosen]
    ax.plot(best["cost"], best["mean_success"], "o", ms=11, mfc="none", mec=DARK, mew=1.0, label="chosen")
    ax.set_xlim(table["cost"].min() - 0.004, table["cost"].max() + 0.004)
    ax.set_ylim(0, None)
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=1, symbol=""))
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    ax.set_xlabel("accuracy lost on ordinary pairs (points)")
    ax.set_ylabel("mean attack success (%)")
    ax.legend(loc="upper right", fontsize=6)
    return ax


def plot_attacks(success: pd.DataFrame, curves: pd.DataFrame, defences: pd.DataFrame, *, width: float = TEXT) -> Figure:
    """Which attack turns which judge; how fast a search does; what defences bring and cost.

    ``success`` has columns ``judge, attack, value``: success in both orders, in [0, 1] (NaN where there was nothing to
    turn), judges and attacks in the order they are to appear in; ``curves`` ``judge, queries, share``; ``defences``
    ``judge, defence, cost, success``, where ``none`` is where each judge starts.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import PercentFormatter

    success = required(success, "judge", "attack", "value")
    use_style()
    figure = plt.figure(figsize=(width, 0.68 * width), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=[1.25, 1])
    matrix = figure.add_subplot(grid[:, 0])
    draw_matrix(matrix, success)
    search = figure.add_subplot(grid[0, 1])
    for judge in dict.fromkeys(curves["judge"]):
        own = curves[curves["judge"] == judge]
        colour, marker = judge_style(judge)
        search.plot(own["queries"], own["share"], color=colour, marker=marker, ms=3.5, label=judge)
    search.set_title("search")
    search.set_xlabel("queries a pair")
    search.set_ylabel("pairs turned (%)")
    search.set_ylim(0, 1.02)
    search.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    search.legend(fontsize=6, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.27))
    trade = figure.add_subplot(grid[1, 1])
    draw_defences(trade, defences)
    return figure


def draw_matrix(ax: Axes, success: pd.DataFrame) -> None:
    """Attacks by judges, in per cent; darker is worse."""
    judges, attacks = (list(dict.fromkeys(success[name])) for name in ("judge", "attack"))
    values = success.pivot(index="attack", columns="judge", values="value").reindex(index=attacks, columns=judges)
    cells = values.to_numpy(float)
    ax.imshow(np.nan_to_num(cells), cmap="Greys", vmin=0, vmax=1.25, aspect="auto")
    for row, line in enumerate(cells):
        for column, value in enumerate(line):
            shown = "–" if np.isnan(value) else f"{100 * value:.0f}"
            ax.text(
                column, row, shown, ha="center", va="center", fontsize=6.5, color="white" if value > 0.7 else "black"
            )
    ax.set_xticks(range(len(judges)), [judge.replace("_", "\n") for judge in judges], fontsize=6.5)
    ax.set_yticks(range(len(attacks)), [attack.replace("_", " ") for attack in attacks], fontsize=6.5)
    ax.tick_params(length=0)
    ax.grid(False)
    ax.set_title("verdicts turned in both orders (%)")
    for spine in ax.spines.values():
        spine.set_visible(False)


DEFENCES = {"none": "*", "escaped": "^", "screened": "s", "length matched": "D", "abstaining": "v", "trained": "o"}


def draw_defences(ax: Axes, defences: pd.DataFrame) -> None:
    """Mean success against clean accuracy lost: one colour per judge, one marker per defence."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    for judge in dict.fromkeys(defences["judge"]):
        own = defences[defences["judge"] == judge]
        colour, _ = judge_style(judge)
        start = own[own["defence"] == "none"].iloc[0]
        for row in own.itertuples():
            ax.plot([0, row.cost], [start["success"], row.success], color=colour, lw=0.5, alpha=0.5)
            ax.plot(row.cost, row.success, DEFENCES.get(row.defence, "X"), color=colour, ms=4.5)
    ax.axvline(0, color=GREY, lw=0.6)
    ax.set_ylim(0, None)
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=False, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    ax.set_title("defences")
    ax.set_xlabel("clean accuracy lost (points)")
    ax.set_ylabel("mean success (%)")
    marks = [
        Line2D([], [], ls="", marker=DEFENCES.get(name, "X"), color=DARK, ms=4.5, label=name)
        for name in dict.fromkeys(defences["defence"])
    ]
    ax.legend(handles=marks, fontsize=6, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.27))
