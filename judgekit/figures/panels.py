"""A table in panels: one figure at the width it is printed, a kind of picture in each panel, one legend outside."""

import inspect
from collections.abc import Callable, Sequence
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from adjustText import adjust_text
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase

from judgekit.figures.style import TEXT, required, use_style

Kind = Callable[..., None]
NAMED = "name of a point"  # texts that `place_names` moves
LETTERS = 11.5  # of a title, in an inch


def draw(
    kind: Kind,
    table: pd.DataFrame,
    panel: str | None = None,
    *,
    columns: int = 4,
    width: float = TEXT,
    height: float | None = None,
    row_height: float = 0.155,
    sharex: bool = False,
    sharey: bool = True,
    xlabel: str = "",
    ylabel: str = "",
    within: FigureBase | None = None,
    **options: Any,
) -> FigureBase:
    """A figure of one kind (``forest``, ``curve``, ``scatter``, ``heat``, ...), a panel for each value of a column.

    Panels stand in the order of their first rows, ``columns`` side by side; without ``panel`` there is one.
    ``width`` and ``height`` (of a panel) in inches; kinds with rows are as high as these need (``row_height`` each).
    ``options`` go to the kind. ``within``: a part of a figure of yours, in place of a new one. ValueError where a
    column is missing or the table is empty.
    """
    use_style()
    names = list(dict.fromkeys(required(table, *([panel] if panel else []))[panel])) if panel else [""]
    parts = [table[table[panel] == name] for name in names] if panel else [table]
    columns = min(columns, len(parts))
    n_rows = -(-len(parts) // columns)
    parameters = inspect.signature(kind).parameters
    heights = [height or 1.8] * n_rows
    if "order" in parameters:
        rows = required(table, options.get("y", parameters["y"].default))[options.get("y", parameters["y"].default)]
        if sharey:
            options.setdefault("order", list(dict.fromkeys(rows)))
        counts = [len(options["order"]) if "order" in options else rows[part.index].nunique() for part in parts]
        tallest = [max(counts[i : i + columns]) for i in range(0, len(parts), columns)]
        aslant = 0.05 * max(map(len, table[options["x"]].astype(str))) if "x" in parameters else 0  # names below cells
        heights = [height or 0.35 + aslant + row_height * count for count in tallest]
    figure = within or plt.figure(figsize=(width, sum(heights) + 0.35))
    shared: Any = {"sharex": sharex, "sharey": sharey, "squeeze": False, "height_ratios": heights}
    axes = figure.subplots(n_rows, columns, **shared)
    for ax, name, part in zip(axes.flat, names, parts, strict=False):
        kind(ax, part, **options)
        ax.set_title(fill(str(name), int(LETTERS * width / columns), break_long_words=False))
    for empty in axes.flat[len(parts) :]:
        empty.set_visible(False)
    _label(figure, axes, len(parts), xlabel, ylabel)
    if isinstance(figure, Figure):
        legend(figure)
        place_names(figure)
    return figure


def _label(figure: FigureBase, axes: Any, count: int, xlabel: str, ylabel: str) -> None:
    """Labels once for all panels; a panel with an empty place below it keeps the labels of its ticks."""
    columns = axes.shape[1]
    for ax in axes.flat[max(0, count - columns) : count]:
        ax.tick_params(labelbottom=True)
    for text, one, every in ((xlabel, "set_xlabel", "supxlabel"), (ylabel, "set_ylabel", "supylabel")):
        if text and count == 1:
            getattr(axes.flat[0], one)(text)
        elif text:
            getattr(figure, every)(text, fontsize=plt.rcParams["axes.labelsize"])


def legend(figure: Figure) -> None:
    """One legend for all that is labelled in a figure, each name once; the figure grows by its lines."""
    drawn: dict[str, Any] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            drawn.setdefault(label, handle)
    if not drawn:
        return
    inches = figure.bbox.width / figure.dpi
    fitting = int(inches * LETTERS * 1.25 / (max(map(len, drawn)) + 5))
    columns = max(1, min(len(drawn), fitting))
    where: Any = {"loc": "outside upper center", "ncols": columns, "columnspacing": 1.2, "handlelength": 1.6}
    figure.legend(list(drawn.values()), list(drawn), **where)
    figure.set_figheight(figure.get_figheight() + 0.16 * -(-len(drawn) // columns))


def place_names(figure: Figure) -> None:
    """Move the names of points off each other, with a line back to the point; the last thing done to a figure."""
    if not any(text.get_gid() == NAMED for ax in figure.axes for text in ax.texts):
        return
    figure.draw_without_rendering()  # places are known once the layout is
    for ax in figure.axes:
        texts: Sequence[Any] = [text for text in ax.texts if text.get_gid() == NAMED]
        if texts:
            x, y = np.array([text.get_position() for text in texts]).T
            arrow = {"arrowstyle": "-", "color": "#999999", "lw": 0.4}
            forces: Any = {"expand": (1.1, 1.4), "force_static": (0.2, 0.4), "iter_lim": 300}
            adjust_text(texts, x, y, ax=ax, min_arrow_len=8, arrowprops=arrow, **forces)


def name_point(ax: Axes, x: float, y: float, name: str, colour: str) -> None:
    """A name beside a point, for `place_names` to move; the layout of the figure makes no room for it."""
    text = ax.text(x, y, name, color=colour, fontsize=plt.rcParams["font.size"], gid=NAMED)
    text.set_in_layout(False)
