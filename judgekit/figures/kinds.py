"""The kinds of picture: each draws a tidy table into axes. Options name the columns; judges are named as printed."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from judgekit.figures.panels import name_point
from judgekit.figures.style import DARK, GREY, LIGHT, judge_style, percent_axis, required, short
from judgekit.judges.names import display_name
from judgekit.stats import Floats

Styles = Mapping[Any, tuple[str, str]] | None
DASHED = (0, (4, 3))
BAND = 0.76  # of a row's height, which its marks share
HOLLOW: Any = {"mfc": "white", "ms": 4.5, "mew": 0.8}  # large, with a thin edge: in a small cross no hollow is seen


def _style(styles: Styles, name: Any) -> tuple[str, str]:
    return (styles or {}).get(name) or judge_style(str(name))


def _whiskers(table: pd.DataFrame, value: str, low: str, high: str) -> Floats:
    """Lengths of the whiskers, shape (2, n); no interval is no whisker, a value outside of its interval has one."""
    middle = table[value].astype(float)
    ends = [middle - table[low].astype(float), table[high].astype(float) - middle]
    return np.vstack([end.clip(lower=0).fillna(0).to_numpy(float) for end in ends])


def forest(
    ax: Axes,
    table: pd.DataFrame,
    y: str = "judge",
    hue: str | None = None,
    *,
    order: Sequence[Any] | None = None,
    clear: str | None = None,
    before: str | None = None,
    band: tuple[str, str, str] | None = None,
    reference: float | None = None,
    percent: bool = True,
    styles: Styles = None,
) -> None:
    """Estimates with intervals (columns value, low, high), a row for each ``y``, the marks of its ``hue`` side by side.

    ``clear``: a column of booleans; what could be chance is hollow. ``before``: a column that is drawn hollow and
    joined to the value (a dumbbell). ``band``: columns value, low, high of what the rows are compared with, a pale bar.
    ``order``: rows from above. ``reference``: a dashed line.
    """
    required(table, y, "value", "low", "high", *([hue] if hue else []))
    rows = {name: place for place, name in enumerate(order or dict.fromkeys(table[y]))}
    groups = list(dict.fromkeys(table[hue])) if hue else []
    own = {name: [one for one in groups if one in set(part[hue])] for name, part in table.groupby(y)} if hue else {}
    step = BAND / max([3, *map(len, own.values())])
    for place in list(rows.values())[1::2] if hue else []:
        ax.axhspan(place - 0.5, place + 0.5, color="#f5f5f5", lw=0, zorder=0)
    if band:
        middle, low, high = band
        for row in table.drop_duplicates(y).to_dict("records"):
            ax.barh(rows[row[y]], row[high] - row[low], left=row[low], height=0.78, color=LIGHT, zorder=1)
            ax.plot([row[middle]] * 2, [rows[row[y]] - 0.39, rows[row[y]] + 0.39], color=DARK, zorder=1.5)
    spread = _whiskers(table, "value", "low", "high").T
    for row, error in zip(table.to_dict("records"), spread, strict=True):
        name = row[hue] if hue else row[y]
        at = rows[row[y]] + (own[row[y]].index(name) - (len(own[row[y]]) - 1) / 2) * step if hue else rows[row[y]]
        colour, marker = _style(styles, name)
        face = {} if clear is None or row[clear] else HOLLOW
        label = display_name(str(name)) if hue else None
        if before:
            ax.plot([row[before], row["value"]], [at, at], color=colour, lw=0.5, zorder=2)
            ax.plot(row[before], at, marker, color=colour, zorder=2.5, **HOLLOW)
        mark: Any = {"fmt": marker, "color": colour, "elinewidth": 0.9, "zorder": 3, **face}
        ax.errorbar(row["value"], at, xerr=error[:, None], label=label, **mark)
    if reference is not None:
        ax.axvline(reference, color=GREY, lw=0.8, ls=DASHED, zorder=1)
    ax.set_yticks(list(rows.values()), [display_name(str(name)) for name in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.grid(axis="y", visible=False)
    if percent:
        percent_axis(ax.xaxis)


def curve(
    ax: Axes,
    table: pd.DataFrame,
    x: str,
    y: str = "value",
    hue: str = "judge",
    *,
    spread: str | None = None,
    beside: Mapping[str, str] | None = None,
    apart: float = 0.0,
    marked: bool = True,
    diagonal: bool = False,
    reference: float | None = None,
    percent: str = "y",
    log: str = "",
    styles: Styles = None,
) -> None:
    """A line for each ``hue`` over ``x``, in the order of the rows.

    ``spread``: ``"band"`` or ``"bars"`` for columns low and high. ``beside``: a further column, drawn as thin dashed
    lines of the same colour, and what the legend says of it. ``apart``: by how much lines are shifted along x, so that
    no whisker hides another. ``percent``, ``log``: ``"x"``, ``"y"``, ``"xy"``.
    """
    required(table, x, y, hue, *(beside or {}), *(["low", "high"] if spread else []))
    groups = list(dict.fromkeys(table[hue]))
    if diagonal:
        ax.axline((0, 0), slope=1, color=GREY, lw=0.7, ls=DASHED, zorder=1)
    for place, name in enumerate(groups):
        part, (colour, marker) = table[table[hue] == name].dropna(subset=[y]), _style(styles, name)
        at = part[x].astype(float) + apart * (place - (len(groups) - 1) / 2)
        if spread == "band":
            low, high = part["low"].astype(float), part["high"].astype(float)
            ax.fill_between(at, low, high, color=colour, alpha=0.15, lw=0)
        elif spread == "bars":
            error = _whiskers(part, y, "low", "high")
            ax.errorbar(at, part[y], yerr=error, fmt="none", ecolor=colour, elinewidth=0.6)
        mark: Any = {"marker": marker, "ms": 3.5, "mew": 0.6} if marked else {}
        ax.plot(at, part[y].astype(float), color=colour, label=display_name(str(name)), **mark)
        for column in beside or {}:
            ax.plot(at, part[column], color=colour, lw=0.7, ls=DASHED)
    for said in (beside or {}).values():
        ax.plot([], [], color=GREY, lw=0.7, ls=DASHED, label=said)
    if reference is not None:
        ax.axhline(reference, color=GREY, lw=0.8, ls=DASHED, zorder=1)
    _scales(ax, percent, log)


def _scales(ax: Axes, percent: str, log: str) -> None:
    for axis, drawn in (("x", ax.xaxis), ("y", ax.yaxis)):
        if axis in log:
            getattr(ax, f"set_{axis}scale")("log")
            low, high = drawn.get_view_interval()
            drawn.set_major_locator(LogLocator(subs=(1.0,) if high > 100 * low else (1.0, 2.0, 5.0)))
            drawn.set_major_formatter(lambda value, _: short(value))
            drawn.set_minor_formatter(lambda value, _: "")
        elif axis in percent:
            percent_axis(drawn)


def scatter(
    ax: Axes,
    table: pd.DataFrame,
    x: str = "x",
    y: str = "y",
    hue: str = "judge",
    *,
    label: str | None = None,
    named: bool | str = True,
    clear: str | None = None,
    percent: str = "xy",
    log: str = "",
    styles: Styles = None,
) -> None:
    """Points with the intervals of both coordinates (``<x>_low``, ``<x>_high``, where there are any).

    ``named``: each point (of a column of booleans, those that are true) has its name (``label``, by default its
    ``hue``) beside it; of the others the legend tells. ``clear``: a column of booleans, false is hollow.
    """
    required(table, x, y, hue)
    for row in table.to_dict("records"):
        colour, marker = _style(styles, row[hue])
        error = {}
        for axis, column in (("xerr", x), ("yerr", y)):
            if f"{column}_low" in row:
                error[axis] = _whiskers(pd.DataFrame([row]), column, f"{column}_low", f"{column}_high")
        beside = row[named] if isinstance(named, str) else named
        told = None if beside else display_name(str(row[hue]))
        face = {} if clear is None or row[clear] else HOLLOW
        mark: Any = {"fmt": marker, "color": colour, "elinewidth": 0.7, "ms": 4.5, **face, **error}
        ax.errorbar(row[x], row[y], label=told, **mark)
        if beside:
            name_point(ax, row[x], row[y], row[label] if label else display_name(str(row[hue])), DARK)
    ax.margins(0.1)
    _scales(ax, percent, log)


def heat(
    ax: Axes,
    table: pd.DataFrame,
    x: str,
    y: str,
    *,
    order: Sequence[Any] | None = None,
    clear: str | None = None,
    limit: float | None = None,
    root: bool = False,
) -> None:
    """Cells with their numbers (column value) in points; with ``limit`` they have a sign, white is zero, full at it.

    ``clear``: a column of booleans; what could be chance is grey. ``order``: rows from above. ``root``: small is dark.
    """
    required(table, x, y, "value")
    across, down = list(dict.fromkeys(table[x])), list(order or dict.fromkeys([*table[y], *table[x]]))
    down = [name for name in down if name in set(table[y])]
    across = down if set(across) == set(down) else across  # everybody against everybody
    cells = table.pivot(index=y, columns=x, values="value").reindex(index=down, columns=across).astype(float)
    texts = cells.map(lambda v: "" if np.isnan(v) else f"{100 * v:{'+' if limit else ''}.0f}".replace("-", "−"))
    texts = texts.replace({"+0": "0", "−0": "0"})
    colours = {"cmap": "PuOr", "vmin": -limit, "vmax": limit} if limit else {"cmap": "Greys", "vmin": 0, "vmax": 1.25}
    shades = np.sqrt(cells) if root else cells
    sns.heatmap(shades, annot=texts, fmt="", cbar=False, ax=ax, linewidths=0.4, annot_kws={"size": 7}, **colours)
    faces: Any = ax.collections[0].get_facecolor()
    for text, face in zip(ax.texts, faces[cells.notna().to_numpy().ravel()], strict=True):
        text.set_color("w" if sns.utils.relative_luminance(face) < 0.18 else "k")  # what stands out more
    if clear:
        told = table.pivot(index=y, columns=x, values=clear).reindex(index=down, columns=across)
        shown = [bool(told.iloc[at]) for at in zip(*np.nonzero(cells.notna().to_numpy()), strict=True)]
        for text, is_clear in zip(ax.texts, shown, strict=True):
            text.set_color(text.get_color() if is_clear else GREY)
            text.set_fontweight("bold" if is_clear else "normal")
    heads = [display_name(str(name)) for name in across]
    aslant: Any = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if max(map(len, heads)) > 2 else {}
    ax.set_xticks(np.arange(len(across)) + 0.5, heads, **aslant)
    ax.set_yticks(np.arange(len(down)) + 0.5, [display_name(str(name)) for name in down], rotation=0)
    ax.grid(visible=False)
    ax.set(xlabel="", ylabel="")
