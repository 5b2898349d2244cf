r"""Tables: a bare booktabs ``tabular`` for the report, and the same table in Markdown for the README.

Caption, label and the notebook's name stay in the report, with the prose. All text is escaped.
"""

import math
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from judgekit.data import paths
from judgekit.data.files import write_text
from judgekit.data.paths import checked_name
from judgekit.judges.names import display_name, set_title
from judgekit.report.escaping import escape, escape_markdown, rendered, template
from judgekit.stats import Number

if TYPE_CHECKING:
    import pandas as pd

# Columns whose slugs are printed as the pictures print them.
NAMED: dict[str, Callable[[str], str]] = dict.fromkeys(("judge", "model", "method", "scorer", "jury"), display_name)
NAMED |= dict.fromkeys(("set", "corpus", "source", "most in"), set_title)
P_VALUES = re.compile(r"p( \(\w+\))?")  # columns that are printed as such, whatever the table's format is


class Stacked(NamedTuple):
    """A cell of two lines, the second in small type."""

    above: str
    below: str


def save_table(
    run: str,
    name: str,
    table: "pd.DataFrame | Iterable[Mapping[Hashable, Any]]",
    *,
    best: Collection[Hashable] = (),
    plain: Collection[str] = (),
    align: Mapping[Hashable, str] | None = None,
    sections: Hashable | None = None,
    intervals: bool | Collection[Hashable] = True,
    stacked: bool = False,
    spec: str = ".3f",
) -> Path:
    r"""Write a frame or a list of dicts as ``outputs/<run>/tables/<name>.tex`` and ``.md``; returns the LaTeX file.

    Cells are ``Number`` (printed as ``61.1 (58.0–64.0)``), int, float (in format ``spec``), str, ``Stacked``, or None.
    Columns named by a pair ``(group, column)`` have a head over their group; the index is not printed. Judges,
    models and sets (columns in `NAMED`) have display names. ``best``: columns whose highest cells, as printed, are
    bold; rows whose first cell is in ``plain`` take no part. ``align``: LaTeX specifications by column. ``sections``: a
    column whose new values are heads over rows instead. ``intervals``: whether numbers have theirs, or the columns that
    do; ``stacked``: below the number. ValueError where the table is empty or a column is not there.
    """
    import pandas as pd  # half a second that the report's build does without

    frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame(list(table), dtype=object)
    columns = list(frame.columns)
    if frame.empty:
        raise ValueError(f"table {name} is empty")
    if unknown := [column for column in (*best, *(align or {}), sections or columns[0]) if column not in columns]:
        raise ValueError(f"table {name} has no column {unknown[0]!r}; it has {columns}")
    shown = [column for column in columns if column != sections]
    names = _values(frame, columns[0], spec)
    letters: list[str] = []
    cells: list[list[tuple[str, str]]] = []  # of each column, in LaTeX and in Markdown
    for column in shown:
        values = _values(frame, column, spec)
        with_interval = intervals if isinstance(intervals, bool) else column in intervals
        cells.append([_cell(value, with_interval, stacked) for value in values])
        letters.append((align or {}).get(column) or ("l" if any(isinstance(value, str) for value in values) else "r"))
        rival = [value if isinstance(value, Number) else None for value in values]
        rival = [None if name in plain else value for value, name in zip(rival, names, strict=True)]
        numbers = [value for value in rival if value is not None] if column in best else []
        if numbers:  # a difference that the digits do not show is not shown in bold either
            top = str(max(numbers, key=lambda number: number.value))
            bold = [value is not None and str(value) == top for value in rival]
            pairs = zip(cells[-1], bold, strict=True)
            cells[-1] = [(rf"\textbf{{{tex}}}", f"**{md}**") if b else (tex, md) for (tex, md), b in pairs]
    heads = _values(frame, sections, spec) if sections else [None] * len(frame)
    rows = list(zip(heads, zip(*cells, strict=True), strict=True))
    titles = [(str(column[0]), str(column[-1])) if isinstance(column, tuple) else ("", str(column)) for column in shown]
    groups = [(group, [*members]) for group, members in groupby(enumerate(titles, 1), key=lambda one: one[1][0])]
    spans = [(group, members[0][0], members[-1][0]) for group, members in groups]  # of columns, with first and last
    path = paths.run_folder(run, "tables") / f"{checked_name(name)}.tex"
    for target in (path, path.with_suffix(".md")):
        text = rendered(_TEMPLATE, target.suffix[1:], rows=rows, titles=titles, spans=spans, letters=letters)
        write_text(target, text + "\n")
    return path


def shown_table(run: str, name: str) -> Any:
    """A table that `save_table` wrote, as a notebook shows it: with the names and intervals that the report prints."""
    from IPython.display import Markdown

    return Markdown((paths.run_folder(run, "tables") / f"{name}.md").read_text(encoding="utf-8"))


def escaped(frame: "pd.DataFrame", formatter: Any = None, index: bool = False, **options: Any) -> Any:
    """A frame as a notebook shows it, with `Styler.format`'s options; no text of a data set is read as HTML."""
    shown = (frame.style if index else frame.style.hide()).format(formatter, escape="html", **options)
    return shown.format_index(escape="html").format_index(escape="html", axis=1)


def _values(frame: "pd.DataFrame", column: Hashable, spec: str) -> list[Number | Stacked | str | None]:
    """What the cells of a column print."""
    title = str(column[-1] if isinstance(column, tuple) else column)
    values = [_plain(value, "p" if P_VALUES.fullmatch(title) else spec) for value in frame[column]]
    printed = NAMED.get(title, str)
    return [printed(value) if isinstance(value, str) else value for value in values]


def _plain(value: Any, spec: str) -> Number | Stacked | str | None:
    """What a cell prints; None for one without a value."""
    if isinstance(value, Number | Stacked | str) or value is None:
        return value
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return Number(value, spec="," if isinstance(value, int) else spec) if math.isfinite(value) else None
    return None if str(value) in ("<NA>", "NaT") else str(value)


def _cell(value: Number | Stacked | str | None, with_interval: bool, stacked: bool) -> tuple[str, str]:
    """What a cell is in LaTeX and in Markdown."""
    if value is None:
        return "–", "–"
    if isinstance(value, Stacked):
        return _two_lines(*map(escape, value)), "{} ({})".format(*map(escape_markdown, value))
    if isinstance(value, str):
        return escape(value), escape_markdown(value)
    tex, markdown = latex_number(str(value)), str(value).replace("-", "−")
    if not (with_interval and value.interval):
        return tex, markdown
    interval = latex_number(value.interval)
    bounds = value.interval.replace("-", "−" if " to " in value.interval else "–")
    return _two_lines(tex, interval) if stacked else f"{tex} ({interval})", f"{markdown} ({bounds})"


def _two_lines(above: str, below: str) -> str:
    """A cell of two lines whose first one stands on the line of its row."""
    return rf"\begin{{tabular}}[t]{{@{{}}r@{{}}}}{above}\\[-1pt]{{\scriptsize {below}}}\end{{tabular}}"


def latex_number(text: str) -> str:
    r"""A formatted number or interval as LaTeX: true minus signs, powers of ten, a dash in intervals without signs.

    >>> print(latex_number("-1.5"), latex_number("58.0-64.0"), latex_number("2e-05"), latex_number("<0.001"))
    \ensuremath{-}1.5 58.0–64.0 2\ensuremath{\times10^{-5}} \ensuremath{<}0.001
    """
    if " to " not in text:
        text = re.sub(r"(?<=\d)-(?=\d)", "–", text)
    text = re.sub(r"e([+-]\d+)", lambda power: rf"\ensuremath{{\times10^{{{int(power[1])}}}}}", text)
    return re.sub(r"(?<!\{)[-<](?=\d|i|n)", r"\\ensuremath{\g<0>}", text)


_TEMPLATE = template("tables.txt", e=escape, md=escape_markdown)
