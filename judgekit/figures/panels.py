"""A table in panels: one figure at the width it is printed, a kind of picture in each panel, one legend outside."""

import inspect
from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

from judgekit.data.files import replaced
from judgekit.figures.style import TEXT, required, use_style
from judgekit.judges.names import in_chinese
from judgekit.stats import Floats

Kind = Callable[..., None]
NAMED = "name of a point"  # texts that `place_names` moves
NO_MARKER = ("", " ", "None", "none", None)
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
    finished: bool = True,
    **options: Any,
) -> Figure:
    """A figure of one kind (``forest``, ``curve``, ``scatter``, ``heat``, ...), a panel for each value of a column.

    Panels stand in the order of their first rows, ``columns`` side by side; without ``panel`` there is one.
    ``width`` and ``height`` (of a panel) in inches; kinds with rows are as high as these need (``row_height`` each).
    ``options`` go to the kind. What you add to, you end yourself (``finished=False``): `legend` and `place_names`.
    ValueError where a column is missing or the table is empty.
    """
    use_style()
    parts = dict(iter(required(table, panel).groupby(panel, sort=False))) if panel else {"": required(table)}
    columns = min(columns, len(parts))
    n_rows = -(-len(parts) // columns)
    parameters = inspect.signature(kind).parameters
    heights = [height or 1.8] * n_rows
    if "order" in parameters:
        y = options.get("y", parameters["y"].default)
        rows = required(table, y)[y]
        if sharey:
            options.setdefault("order", list(dict.fromkeys(rows)))
        counts = [len(options.get("order") or rows[part.index].unique()) for part in parts.values()]
        tallest = [max(counts[i : i + columns]) for i in range(0, len(parts), columns)]
        aslant = 0.05 * max(map(len, table[options["x"]].astype(str))) if "x" in parameters else 0  # names below cells
        heights = [height or 0.35 + aslant + row_height * count for count in tallest]
    figure = plt.figure(figsize=(width, sum(heights) + 0.35))
    shared: Any = {"sharex": sharex, "sharey": sharey, "squeeze": False, "height_ratios": heights}
    axes = figure.subplots(n_rows, columns, **shared)
    for ax, (name, part) in zip(axes.flat, parts.items(), strict=False):
        kind(ax, part, **options)
        ax.set_title(fill(str(name), int(LETTERS * width / columns), break_long_words=False))
    for empty in axes.flat[len(parts) :]:
        empty.set_visible(False)
    _label(figure, axes, len(parts), xlabel, ylabel)
    if finished:
        legend(figure)
        place_names(figure)
    return figure


def _label(figure: Figure, axes: Any, count: int, xlabel: str, ylabel: str) -> None:
    """Labels once for all panels; a panel with an empty place below it keeps the labels of its ticks."""
    columns = axes.shape[1]
    for ax in axes.flat[max(0, count - columns) : count]:
        ax.tick_params(labelbottom=True)
    for text, one, every in ((xlabel, "set_xlabel", "supxlabel"), (ylabel, "set_ylabel", "supylabel")):
        if text and (count == 1 or (columns == 1 and every == "supxlabel")):  # below the panels, not below their names
            getattr(axes.flat[count - 1], one)(text)
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
    room = figure.bbox.width / figure.dpi * LETTERS * 1.4
    widths = [len(name) + 5 for name in drawn]
    choices = [-(-len(widths) // lines) for lines in range(1, len(widths) + 1)]  # columns that these lines take
    columns = next((one for one in choices if sum(map(max, np.array_split(widths, one))) <= room), 1)
    where: Any = {"loc": "outside upper center", "ncols": columns, "columnspacing": 1.2, "handlelength": 1.6}
    figure.legend(list(drawn.values()), list(drawn), **where)
    figure.set_figheight(figure.get_figheight() + 0.16 * -(-len(drawn) // columns))


def place_names(figure: Figure) -> None:
    """Move the names of points to where they cover least, with a line back from further off; the last thing done."""
    named = {ax: [text for text in ax.texts if text.get_gid() == NAMED] for ax in figure.axes}
    if any(named.values()):
        figure.draw_without_rendering()  # places are known once the layout is
    for ax, names in named.items():
        if names:
            _spread(ax, names)


BESIDE = [(1, 0), (-1, 0), (1, 0.6), (-1, 0.6), (1, -0.6), (-1, -0.6)]
AROUND = [*BESIDE, (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)]
RINGS = 8  # of places around a point, each further off by half a letter's height
FREE = 3.0  # points between a point's middle and its name
LINED = 2  # a name in this ring or further off has a line to its point


def _spread(ax: Axes, names: Sequence[Any]) -> None:
    """Each name in turn takes the place that covers least of marks, lines and other names; the best of some orders."""
    inch: float = ax.figure.dpi
    marks, lines = _drawn_boxes(ax)
    frame = np.array([ax.get_window_extent().extents])
    points = ax.transData.transform([text.xy for text in names])
    # Of a name that was placed before, its own size: not the box that holds its line, too.
    sizes = np.array([Text.get_window_extent(text).size for text in names]) + 2
    ways, rings = np.tile(AROUND, (RINGS, 1)), np.repeat(np.arange(RINGS), len(AROUND))
    offsets = ways * (sizes[:, None] / 2 + FREE * inch / 72 + 0.5 * rings[:, None] * sizes[:, None, 1:])
    places = points[:, None] + offsets
    places = np.concatenate([places - sizes[:, None] / 2, places + sizes[:, None] / 2], axis=-1)
    near = sizes[:, 1:] * (rings + 2 * (rings >= LINED) + np.arange(len(rings)) % len(AROUND) / len(AROUND))
    fixed = [_shared(own, marks).sum(1) + 0.25 * _shared(own, lines).sum(1) for own in places]
    outside = [4 * (size.prod() - _shared(own, frame)[:, 0]) for own, size in zip(places, sizes, strict=True)]
    costs = np.array(fixed) + np.array(outside) + near
    everybody, found = np.arange(len(names)), []
    for order in (everybody, everybody[::-1], points[:, 0].argsort(), points[:, 1].argsort()):
        chosen = costs.argmin(1)
        for k in [*order] * 3:
            others_at = np.delete(places[everybody, chosen], k, axis=0)
            chosen[k] = (costs[k] + _shared(places[k], others_at).sum(1)).argmin()
        at = places[everybody, chosen]
        found.append((costs[everybody, chosen].sum() + np.triu(_shared(at, at), 1).sum(), chosen))
    chosen = min(found, key=lambda one: one[0])[1]
    for text, shift, ring in zip(names, offsets[everybody, chosen], rings[chosen], strict=True):
        text.set_position(shift * 72 / inch)
        text.arrow_patch.set_visible(ring >= LINED)


def _drawn_boxes(ax: Axes) -> tuple[Floats, Floats]:
    """Marks and further texts, and straight lines, of axes in pixels: left, bottom, right, top, a row each."""
    marks: list[Any] = [text.get_window_extent().extents for text in ax.texts if text.get_gid() != NAMED]
    lines: list[Any] = []
    for line in ax.lines:
        path = line.get_transform().transform(line.get_xydata())
        room = line.get_markersize() / 2 * ax.figure.dpi / 72
        if line.get_marker() not in NO_MARKER:
            marks += [[*(point - room), *(point + room)] for point in path]
        elif line.get_linestyle() != "None":
            lines += pairwise(path)
    for whiskers in (part for part in ax.collections if isinstance(part, LineCollection)):
        lines += [whiskers.get_transform().transform(segment) for segment in whiskers.get_segments() if len(segment)]
    straight = [np.array(ends) for ends in lines if (np.abs(np.subtract(*ends)) < 1).any()]
    boxes = [np.hstack([ends.min(0) - 1.5, ends.max(0) + 1.5]) for ends in straight]
    return np.array(marks).reshape(-1, 4), np.array(boxes).reshape(-1, 4)


def _shared(some: Floats, others: Floats) -> Floats:
    """Areas that boxes share with others, shape (some, others)."""
    low = np.maximum(some[:, None, :2], others[None, :, :2])
    high = np.minimum(some[:, None, 2:], others[None, :, 2:])
    return (high - low).clip(min=0).prod(-1)


def name_point(ax: Axes, x: float, y: float, name: str, colour: str) -> None:
    """A name beside a point, for `place_names` to move; the layout of the figure makes no room for it."""
    line = {"arrowstyle": "-", "color": "#999999", "lw": 0.4, "shrinkA": 0, "shrinkB": 3}
    letters: Any = {"color": colour, "fontsize": plt.rcParams["font.size"], "ha": "center", "va": "center"}
    letters["bbox"] = {"boxstyle": "square,pad=0.05", "fc": "white", "alpha": 0.7, "lw": 0}
    letters |= {"gid": NAMED, "zorder": 1.9}  # below marks; a line is seen through the box
    text = ax.annotate(name, (x, y), (0, 0), textcoords="offset points", arrowprops=line, **letters)
    text.set_in_layout(False)


def save_chinese(figure: Figure, path: Path, **options: Any) -> None:
    """Write a figure as PDF with its words in Chinese, at its size, if the style's fonts hold them."""
    families = plt.rcParams["font.family"][::-1]
    if len(families) == 1:
        return
    with plt.rc_context({"font.family": families, "pdf.fonttype": 3}), replaced(path) as temporary:
        copied = deepcopy(figure)  # type 3, as 42 is for TrueType's outlines alone
        plt.close(copied)  # a notebook shows the English one
        ticks: set[Any] = {axis.get_major_formatter() for ax in copied.axes for axis in (ax.xaxis, ax.yaxis)}
        for tick in ticks:
            if hasattr(tick, "func"):  # others are numbers
                tick.func = lambda value, place, func=tick.func: in_chinese(func(value, place))
        for text in copied.findobj(Text):
            text.set(text=in_chinese(text.get_text()), fontfamily=families)
        place_names(copied)
        copied.savefig(temporary, format="pdf", **options)
