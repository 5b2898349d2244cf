"""Pictures of data and training: what cleaning drops, which labels a set holds, how the loss falls."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from judgekit.figures.style import BLUE, COLUMN, GREY, LABELS, LIGHT, RED, axes_of, required, row_positions, short


def plot_waterfall(table: pd.DataFrame, *, ax: Axes | None = None, unit: str = "pairs", width: float = COLUMN) -> Axes:
    """What cleaning drops, reason by reason, from what was read to what is kept.

    Columns ``step, count``: first what was read, then one row per reason (what it dropped, a positive number), last
    what is kept. ValueError if the last is not the first less all between.
    """
    table = required(table, "step", "count")
    counts = table["count"].to_numpy()
    if len(counts) < 2 or counts[0] - counts[1:-1].sum() != counts[-1]:
        raise ValueError(f"read {counts[0]} less dropped {counts[1:-1].sum()} is not kept {counts[-1]}: a row is lost")
    ax = axes_of(ax, width, 0.5 + 0.2 * len(table))
    positions = np.arange(len(table))[::-1]
    left = counts[0]
    for i, (y, count) in enumerate(zip(positions, counts, strict=True)):
        total = i in (0, len(counts) - 1)
        start = 0 if total else left - count
        ax.barh(y, count, left=start, height=0.68, color=BLUE if total else RED)
        text = f"{count:,}" if total else f"−{count:,}"
        inside = total and count > 0.3 * counts[0]
        x = count if total else start
        ax.annotate(
            text,
            (x, y),
            xytext=(-3, 0) if inside or not total else (3, 0),
            textcoords="offset points",
            ha="right" if inside or not total else "left",
            va="center",
            fontsize=6.5,
            color="white" if inside else "black",
        )
        if not total:
            left = start
    ax.set_yticks(positions, table["step"])
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    # A reason that drops nearly all leaves its label no room on the left: the axis gives it some.
    ax.set_xlim(-0.16 * counts[0] if left < 0.2 * counts[0] else 0, counts[0] * 1.02)
    ax.set_xticks([tick for tick in MaxNLocator(4).tick_values(0, counts[0]) if 0 <= tick <= counts[0]])
    ax.xaxis.set_major_formatter(lambda value, _: short(value))
    ax.set_xlabel(unit)
    return ax


def plot_label_counts(table: pd.DataFrame, *, ax: Axes | None = None, width: float = COLUMN) -> Axes:
    """Share of A, B and tie among the reference labels of each set, with the number of items.

    Columns ``set, label, count``; labels ``"A"``, ``"B"``, ``"tie"``.
    """
    table = required(table, "set", "label", "count")
    if unknown := sorted(set(table["label"]) - set(LABELS)):
        raise ValueError(f"labels must be A, B or tie, not {unknown[0]!r}")
    rows = row_positions(table["set"])
    counts = table.pivot_table(index="set", columns="label", values="count", aggfunc="sum", fill_value=0)
    counts = counts.reindex(index=list(rows), columns=list(LABELS), fill_value=0)
    totals = counts.sum(axis=1)
    ax = axes_of(ax, width, 0.75 + 0.2 * len(rows))
    left = pd.Series(0.0, index=counts.index)
    for label, colour in LABELS.items():
        share = counts[label] / totals.replace(0, 1)
        ax.barh(list(rows.values()), share, left=left, height=0.68, color=colour, label=label)
        for name, y in rows.items():
            if share[name] >= 0.11:
                x = left[name] + share[name] / 2
                colour_of_text = "white" if label == "A" else "black"
                ax.text(x, y, f"{counts.loc[name, label]:,}", ha="center", va="center", size=6, color=colour_of_text)
        left += share
    ax.set_yticks(list(rows.values()), [f"{name} ({totals[name]:,})" for name in rows])
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False)
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    ax.set_xlabel("reference labels (%)")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, handlelength=1, columnspacing=1.2, borderpad=0.2)
    return ax


def plot_training_curve(
    table: pd.DataFrame,
    *,
    ax: Axes | None = None,
    ylabel: str = "loss",
    smooth: int | None = None,
    width: float = COLUMN,
) -> Axes:
    """Loss of training and validation by step.

    Columns ``step, loss, validation``; either may be NaN at a step where it was not measured. ``smooth``: steps in the
    running median of the training loss (default: a fortieth of them).
    """
    table = required(table, "step", "loss", "validation").sort_values("step")
    ax = axes_of(ax, width, 2.1)
    loss = table.dropna(subset=["loss"])
    validation = table.dropna(subset=["validation"])
    smooth = smooth or max(1, len(loss) // 40)
    if smooth > 1:
        ax.plot(loss["step"], loss["loss"], color=LIGHT, lw=0.5, zorder=1)
    middle = loss["loss"].rolling(smooth, center=True, min_periods=1).median()
    ax.plot(loss["step"], middle, color=GREY, label="training")
    if len(validation):
        marker = "o" if len(validation) <= 30 else None
        ax.plot(
            validation["step"],
            validation["validation"],
            color=BLUE,
            marker=marker,
            ms=2.5,
            label="validation",
        )
        lowest = validation.loc[validation["validation"].idxmin()]  # type: ignore[call-overload]  # an index of numbers
        ax.plot(lowest["step"], lowest["validation"], "o", ms=6, mfc="none", mec=RED, label="lowest")
    values = pd.concat([middle, validation["validation"]])
    ax.set_ylim(*_padded(values.min(), values.quantile(0.995) if len(values) > 200 else values.max()))
    ax.set_xlim(left=0)
    ax.xaxis.set_major_formatter(lambda value, _: short(value))
    ax.set_xlabel("step")
    ax.set_ylabel(ylabel)
    ax.legend(loc="upper right")
    return ax


def _padded(low: float, high: float, share: float = 0.06) -> tuple[float, float]:
    pad = share * (high - low) or 0.05 * abs(high) or 0.05
    return low - pad, high + pad
