"""The picture of verbosity: length effects, win rates before and after length control, and edits."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from judgekit.figures.style import DARK, GREY, LIGHT, PALE, TEXT, judge_style, required, use_style

ROW, HEAD = 0.128, 0.75  # inches of a row, and what panels need beside


def plot_verbosity(effects: pd.DataFrame, edits: pd.DataFrame, board: pd.DataFrame | None = None) -> Figure:
    """Length effects of judges beside people's, what edits do to judges, and a leaderboard before and after.

    ``effects`` has columns set, judge, judge_effect, people_effect (numbers), a heading per set, rows in the given
    order; ``edits`` edit, judge, share (a number); ``board`` raw, controlled (numbers) and doublings.
    """
    use_style()
    required(effects, "set", "judge", "judge_effect", "people_effect")
    rows = len(effects) + effects["set"].nunique()
    figure = plt.figure(figsize=(TEXT, max(2.9, HEAD + ROW * rows)))
    left, right = figure.subfigures(1, 2, width_ratios=[1.1, 1])
    draw_effects(left.subplots(), effects)
    if board is None:
        draw_edits(right.subplots(), edits)
    else:
        above, below = right.subplots(2, 1, height_ratios=[1, 1.15])
        draw_board(above, required(board, "raw", "controlled", "doublings"))
        draw_edits(below, edits)
    return figure


def draw_effects(ax: Axes, effects: pd.DataFrame) -> None:
    """Dots of judges with intervals over a bar for people's interval on the same pairs."""
    place, ticks, names = 0, [], []
    for name, part in effects.groupby("set", sort=False):
        ax.text(0.0, place, name, transform=ax.get_yaxis_transform(), fontsize=7, weight="bold", va="center", ha="left",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8}, zorder=4)  # fmt: skip
        place += 1
        for row in part.itertuples():
            people, judge = row.people_effect, row.judge_effect
            ax.barh(place, people.high - people.low, left=people.low, height=0.78, color=LIGHT, zorder=1)
            ax.plot([people.value] * 2, [place - 0.39, place + 0.39], color=DARK, lw=1.1, zorder=2)
            colour, marker = judge_style(row.judge)
            ax.errorbar(judge.value, place, xerr=[[judge.value - judge.low], [judge.high - judge.value]], fmt=marker,
                        ms=3.6, color=colour, elinewidth=0.9, capsize=0, zorder=3)  # fmt: skip
            ticks.append(place)
            names.append(row.judge)
            place += 1
    ax.axvline(0, color=GREY, lw=0.7, zorder=1.5)
    ax.set_yticks(ticks, names)
    ax.set_ylim(place - 0.3, -0.7)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("log odds of being preferred, per doubling of length")
    ax.set_title("Who prefers length")
    handles = [
        Line2D([], [], color=DARK, marker="o", ms=3.6, lw=0.9, label="judge"),
        Line2D([], [], color=LIGHT, lw=6, label="people, same pairs"),
    ]
    ax.legend(handles=handles, loc="upper right", handlelength=1.1, borderpad=0)


def draw_board(ax: Axes, board: pd.DataFrame) -> None:
    """Win rates raw and at equal length; grey tells the mean length."""
    raw, controlled = ([number.value for number in board[kind]] for kind in ("raw", "controlled"))
    ax.plot([0, 1], [0, 1], color=PALE, lw=0.7, ls=(0, (4, 3)), zorder=1)
    for x, row in zip(raw, board.itertuples(), strict=True):
        ax.plot([x, x], [row.controlled.low, row.controlled.high], color=LIGHT, lw=0.8, zorder=1.5)
    points = ax.scatter(
        raw, controlled, c=board["doublings"], cmap="cividis", s=13, edgecolor="white", lw=0.3, zorder=2
    )
    ax.set(xlim=(0, 1.02), ylim=(0, 1.02), xlabel="win rate (%)", ylabel="at equal length (%)")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    bar = ax.get_figure().colorbar(points, ax=ax, pad=0.02, aspect=16)
    bar.set_label("doublings over baseline", fontsize=7)
    bar.outline.set_visible(False)
    ax.set_title("Win rates, length held fixed")


def draw_edits(ax: Axes, edits: pd.DataFrame) -> None:
    """How often each judge prefers the edited twin."""
    required(edits, "edit", "judge", "share")
    names, judges = list(dict.fromkeys(edits["edit"])), list(dict.fromkeys(edits["judge"]))
    step = 0.76 / max(1, len(judges) - 1)
    for row in edits.itertuples():
        place = names.index(row.edit) - 0.38 + step * judges.index(row.judge)
        colour, marker = judge_style(row.judge)
        ax.plot([row.share.low, row.share.high], [place, place], color=colour, lw=0.9)
        ax.plot(row.share.value, place, marker, color=colour, ms=3.2)
    for place in range(1, len(names)):
        ax.axhline(place - 0.5, color="#e6e6e6", lw=0.5)
    ax.axvline(0.5, color=GREY, lw=0.7, zorder=0)
    ax.set_yticks(range(len(names)), names)
    ax.set(xlim=(-0.02, 1.02), ylim=(len(names) - 0.5, -0.5), xlabel="the edited response is preferred (%)")
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    handles = [
        Line2D([], [], color=judge_style(j)[0], marker=judge_style(j)[1], ms=3.2, lw=0.9, label=j) for j in judges
    ]
    ax.legend(
        handles=handles, ncols=3, loc="upper center", bbox_to_anchor=(0.45, -0.2), columnspacing=0.9, handletextpad=0.4
    )
    ax.set_title("A response against itself, edited")
