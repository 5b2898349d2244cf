r"""Tables: a bare booktabs ``tabular`` for the report, and the same table in Markdown for the README.

Caption, label and the notebook's name stay in the report, with the prose. All text is escaped.
"""

import math
import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from judgekit.data import paths
from judgekit.data.files import replaced
from judgekit.data.paths import checked_name
from judgekit.report.escaping import escape, escape_markdown, shorten, typeset
from judgekit.stats import Number

NOTHING = "–"
SIGNED = re.compile(r"(?<=\d)-(?=\+)")  # between the bounds of an interval as ``Number`` writes it with a plus sign


@dataclass(frozen=True)
class Excerpt:
    """A cell that quotes dataset text: any characters, cut at ``limit`` of them."""

    text: str
    limit: int = 300


@dataclass(frozen=True)
class Stacked:
    """A cell of two lines, the second in small type: for tables that are too wide for intervals beside values."""

    above: str
    below: str


def save_table(
    run: str,
    name: str,
    table: Any,
    *,
    best: Mapping[Hashable, str] | None = None,
    align: Mapping[Hashable, str] | None = None,
    sections: Hashable | None = None,
    intervals: bool | Collection[Hashable] = True,
    stacked: bool = False,
    spec: str = ".3f",
) -> Path:
    r"""Write a frame or a list of dicts as ``outputs/<run>/tables/<name>.tex`` and ``.md``; returns the LaTeX file.

    Cells are ``Number`` (printed as ``61.1 (58.0–64.0)``), int, float (in format ``spec``), str, ``Excerpt``,
    ``Stacked``, or None. Columns named by a pair ``(group, column)`` have a head over their group; the index is not
    printed. ``best`` maps a column to ``"max"`` or ``"min"``: its best cells, as printed, are set in bold. ``align``
    maps a column to a LaTeX specification, e.g. ``"p{5cm}"``; numbers stand right and text left otherwise. Each new
    value of the column ``sections``, which is not printed, starts rows under a head of their own. ``intervals`` says
    whether numbers have theirs, or names the columns that do; ``stacked`` sets it below its number, in small type.

    ValueError where the table is empty, its rows differ in columns, or an option names a column that is not there.
    """
    columns, rows = _columns_and_rows(table)
    for option in (best or {}), (align or {}), ([sections] if sections else ()):
        if unknown := [column for column in option if column not in columns]:
            raise ValueError(f"table {name} has no column {unknown[0]!r}; it has {columns}")
    if odd := [column for column, how in (best or {}).items() if how not in ("max", "min")]:
        raise ValueError(f"best[{odd[0]!r}] is {(best or {})[odd[0]]!r}: 'max' or 'min'")
    shown = [column for column in columns if column != sections]
    latex: list[list[str]] = [[] for _ in rows]
    markdown: list[list[str]] = [[] for _ in rows]
    for column in shown:
        values = [_plain(row[column]) for row in rows]
        with_interval = intervals if isinstance(intervals, bool) else column in intervals
        bold = _best_rows(values, best[column], spec) if best and column in best else []
        for i, value in enumerate(values):
            tex, md = _cell(value, with_interval, spec, stacked)
            latex[i].append(rf"\textbf{{{tex}}}" if i in bold else tex)
            markdown[i].append(f"**{md}**" if i in bold else md)
    letters = [(align or {}).get(column) or _letter([_plain(row[column]) for row in rows]) for column in shown]
    heads = [str(row[sections]) if sections and row[sections] is not None else None for row in rows]
    # The first row of a section by the head that it starts under.
    starts = {i: head for i, head in enumerate(heads) if head is not None and (i == 0 or head != heads[i - 1])}
    path = paths.run_folder(run, "tables") / f"{checked_name(name)}.tex"
    for target, text in (
        (path, _latex(shown, letters, latex, starts)),
        (path.with_suffix(".md"), _markdown(shown, letters, markdown, starts)),
    ):
        with replaced(target) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")
    return path


def _columns_and_rows(table: Any) -> tuple[list[Any], list[dict[Any, Any]]]:
    if hasattr(table, "to_dict"):
        columns = list(table.columns)
        rows = [dict(zip(columns, row, strict=True)) for row in table.itertuples(index=False, name=None)]
    else:
        rows = list(table)
        columns = list(rows[0]) if rows else []
    if not rows or not columns:
        raise ValueError("the table is empty")
    if odd := [i for i, row in enumerate(rows) if list(row) != columns]:
        raise ValueError(f"row {odd[0]} has the columns {list(rows[odd[0]])}, the first row has {columns}")
    if len(set(columns)) < len(columns):
        raise ValueError(f"two columns share a name: {columns}")
    return columns, rows


# ---------------------------------------------------------------- cells


def _plain(value: Any) -> Any:
    """A cell as Number, Excerpt, Stacked, int, float, str or None; NaN is a cell without a value."""
    if isinstance(value, Number | Excerpt | Stacked | str) or value is None:
        return value
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return value if math.isfinite(value) else None
    return None if value != value or type(value).__name__ == "NAType" else str(value)


def _cell(value: Any, with_interval: bool, spec: str, stacked: bool) -> tuple[str, str]:
    """What a plain value is in LaTeX and in Markdown."""
    if value is None:
        return NOTHING, NOTHING
    if isinstance(value, Excerpt):
        text, dropped = shorten(" ".join(value.text.split()), value.limit)
        return typeset(value.text, value.limit), escape_markdown(text) + ("…" if dropped else "")
    if isinstance(value, Stacked):
        markdown = f"{escape_markdown(value.above)} ({escape_markdown(value.below)})"
        return _two_lines(escape(value.above), escape(value.below)), markdown
    if isinstance(value, str):
        return escape(value), escape_markdown(value)
    number = value if isinstance(value, Number) else Number(value, spec="," if isinstance(value, int) else spec)
    tex, markdown = latex_number(str(number)), str(number).replace("-", "−")
    if not (with_interval and number.interval):
        return tex, markdown
    interval = latex_number(number.interval)
    beside = _two_lines(tex, interval) if stacked else f"{tex} ({interval})"
    return beside, f"{markdown} ({_dashed(number.interval)})"


def _two_lines(above: str, below: str) -> str:
    """A cell of two lines whose first one stands on the line of its row."""
    return rf"\begin{{tabular}}[t]{{@{{}}r@{{}}}}{above}\\[-1pt]{{\scriptsize {below}}}\end{{tabular}}"


def _dashed(interval: str) -> str:
    """``58.0–64.0``; bounds with signs stand apart, ``+1.2 to +3.4``: a dash there would be read as one more sign."""
    interval = SIGNED.sub(" to ", interval)
    return interval.replace("-", "−" if " to " in interval else "–")


def latex_number(text: str) -> str:
    r"""A formatted number or interval as LaTeX: true minus signs, powers of ten, a dash in intervals without signs.

    >>> print(latex_number("-1.5"), latex_number("58.0-64.0"), latex_number("2e-05"))
    \ensuremath{-}1.5 58.0–64.0 2\ensuremath{\times10^{-5}}
    >>> print(latex_number("+12.4-+18.8"), latex_number("-5.7 to +2.3"))
    +12.4 to +18.8 \ensuremath{-}5.7 to +2.3
    """
    text = SIGNED.sub(" to ", text)
    if " to " not in text:
        text = re.sub(r"(?<=\d)-(?=\d)", "–", text)
    text = re.sub(r"e([+-]\d+)", lambda power: rf"\ensuremath{{\times10^{{{int(power[1])}}}}}", text)
    return re.sub(r"(?<!\{)-(?=\d|i|n)", r"\\ensuremath{-}", text)


def _best_rows(values: Sequence[Any], how: str, spec: str) -> list[int]:
    """Rows that print the best value: a difference that the digits do not show is not shown in bold either."""
    numbers = {i: v.value if isinstance(v, Number) else v for i, v in enumerate(values)}
    numbers = {i: number for i, number in numbers.items() if isinstance(number, int | float)}
    if not numbers:
        return []
    top = (max if how == "max" else min)(numbers, key=lambda i: numbers[i])
    printed = {i: _cell(values[i], False, spec, False) for i in numbers}
    return [i for i in numbers if printed[i] == printed[top]]


def _letter(values: Sequence[Any]) -> str:
    return "l" if any(isinstance(value, str | Excerpt) for value in values) else "r"


# ---------------------------------------------------------------- the whole


def _group(column: Any) -> str:
    return str(column[0]) if isinstance(column, tuple) else ""


def _title(column: Any) -> str:
    return str(column[-1] if isinstance(column, tuple) else column)


def _latex(columns: list[Any], letters: list[str], cells: list[list[str]], starts: Mapping[int, str]) -> str:
    import pandas as pd  # with jinja2 behind its Styler, half a second that the report's build does without

    for row in cells:  # one that starts with "[" would be read as the optional argument of the line break before it
        row[0] = rf"\relax {row[0]}"
    for i, head in starts.items():
        space = "" if i == 0 else "\\addlinespace\n"
        cells[i][0] = (
            rf"{space}\multicolumn{{{len(columns)}}}{{@{{}}l}}{{\textit{{{escape(head)}}}}} \\" + f"\n{cells[i][0]}"
        )
    groups, titles = [_group(column) for column in columns], [escape(_title(column)) for column in columns]
    over: list[str] = []
    rules = ""  # Styler draws none under the heads of groups, and centres those of several columns only
    for group, members in groupby(groups):
        start, width = len(over), len(list(members))
        over += [escape(group) if width > 1 else rf"\multicolumn{{1}}{{c}}{{{escape(group)}}}"] * width
        rules += rf"\cmidrule(lr){{{start + 1}-{start + width}}}" if group else ""
    header = pd.MultiIndex.from_arrays([over, titles]) if any(groups) else pd.Index(titles)
    styler = pd.DataFrame(cells, columns=header, dtype=object).style.hide(axis="index")
    text = styler.to_latex(hrules=True, column_format=f"@{{}}{''.join(letters)}@{{}}", multicol_align="c")
    if rules:
        text = text.replace("\\\\\n", f"\\\\\n{rules}\n", 1)
    return f"% written by judgekit.report; do not edit\n{text.strip()}%"


def _markdown(columns: list[Any], letters: list[str], cells: list[list[str]], starts: Mapping[int, str]) -> str:
    names = [" ".join(part for part in (_group(column), _title(column)) if part) for column in columns]
    lines = ["| " + " | ".join(escape_markdown(name) for name in names) + " |"]
    lines.append("|" + "|".join("---:" if letter == "r" else "---" for letter in letters) + "|")
    for i, row in enumerate(cells):
        if i in starts:
            lines.append("| " + " | ".join([f"*{escape_markdown(starts[i])}*", *[""] * (len(columns) - 1)]) + " |")
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)
