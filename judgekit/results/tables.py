r"""Tables: a bare booktabs ``tabular`` for the report, and the same table in Markdown for the README.

Caption, label and the notebook's name stay in the report, with the prose. All text is escaped.
"""

import math
import re
from dataclasses import dataclass

from judgekit import paths
from judgekit.escaping import escape, escape_markdown, shorten, typeset
from judgekit.results.files import replaced
from judgekit.results.numbers import Number, checked_name

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


def save_table(run, name, table, *, best=None, align=None, sections=None, intervals=True, stacked=False, spec=".3f"):
    r"""Write a table as ``outputs/<run>/tables/<name>.tex`` and ``.md``.

    Parameters
    ----------
    run, name : str
    table : pandas.DataFrame or list of dict
        Cells are ``Number`` (printed as ``61.1 (58.0–64.0)``), int, float, str, ``Excerpt``, ``Stacked``, or None.
        A column named by a pair ``(group, column)``, or a frame with two levels of columns, has a head over its
        group. The index is not printed.
    best : dict, optional
        Column to ``"max"`` or ``"min"``: its best cell (all of them when tied, as printed) is set in bold.
    align : dict, optional
        Column to a LaTeX column specification, e.g. ``"p{5cm}"`` for text that wraps. By default numbers are
        aligned right and text left.
    sections : hashable, optional
        A column that is not printed as one: each new value of it starts a section of rows under its own head.
    intervals : bool or collection, default True
        Whether to print the intervals of numbers; a collection names the columns that do.
    stacked : bool, default False
        Whether intervals stand below their numbers, in small type, instead of beside them.
    spec : str, default ".3f"
        Format of plain floats.

    Returns
    -------
    pathlib.Path
        The LaTeX file.

    Raises
    ------
    ValueError
        If the table is empty, its rows differ in columns, or an option names a column that is not there.
    """
    columns, rows = _columns_and_rows(table)
    for option in (best or {}), (align or {}), ([sections] if sections else ()):
        if unknown := [column for column in option if column not in columns]:
            raise ValueError(f"table {name} has no column {unknown[0]!r}; it has {columns}")
    shown = [column for column in columns if column != sections]

    def text(row, column, latex):
        with_interval = intervals if isinstance(intervals, bool) else column in intervals
        return _cell(row[column], with_interval, spec, latex, stacked)

    bold = {column: _best_rows(rows, column, how, spec) for column, how in (best or {}).items()}
    tex = [[text(row, column, True) for column in shown] for row in rows]
    markdown = [[text(row, column, False) for column in shown] for row in rows]
    for j, column in enumerate(shown):
        for i in bold.get(column, ()):
            tex[i][j], markdown[i][j] = rf"\textbf{{{tex[i][j]}}}", f"**{markdown[i][j]}**"
    heads = [row[sections] if sections else None for row in rows]
    letters = [(align or {}).get(column) or _letter(rows, column) for column in shown]
    path = paths.run_folder(run, "tables") / f"{checked_name(name)}.tex"
    for target, lines in (
        (path, _latex_lines(shown, letters, tex, heads)),
        (path.with_suffix(".md"), _markdown_lines(shown, letters, markdown, heads)),
    ):
        with replaced(target) as temporary:
            temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _columns_and_rows(table):
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


def _plain(value):
    """A cell as Number, Excerpt, int, float, str or None; NaN is a cell without a value."""
    if isinstance(value, Number | Excerpt | Stacked | str) or value is None:
        return value
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return value if math.isfinite(value) else None
    return None if value != value or type(value).__name__ == "NAType" else str(value)


def _cell(value, with_interval, spec, latex, stacked=False):
    value = _plain(value)
    safe = escape if latex else escape_markdown
    if value is None:
        return NOTHING
    if isinstance(value, Excerpt):
        if latex:
            return typeset(value.text, value.limit)
        text, dropped = shorten(" ".join(value.text.split()), value.limit)
        return safe(text) + ("…" if dropped else "")
    if isinstance(value, Stacked):
        return (
            _two_lines(safe(value.above), safe(value.below)) if latex else f"{safe(value.above)} ({safe(value.below)})"
        )
    if isinstance(value, str):
        return safe(value)
    number = value if isinstance(value, Number) else Number(value, spec="," if isinstance(value, int) else spec)
    interval = number.interval if with_interval else None
    if latex and stacked and interval:
        return _two_lines(latex_number(str(number)), latex_number(interval))
    if latex:
        return latex_number(str(number)) + (f" ({latex_number(interval)})" if interval else "")
    return str(number).replace("-", "−") + (f" ({_dashed(interval)})" if interval else "")


def _two_lines(above, below):
    """A cell of two lines whose first one stands on the line of its row."""
    return rf"\begin{{tabular}}[t]{{@{{}}r@{{}}}}{above}\\[-1pt]{{\scriptsize {below}}}\end{{tabular}}"


def _dashed(interval):
    """``58.0–64.0``; bounds with signs stand apart, ``+1.2 to +3.4``: a dash there would be read as one more sign."""
    interval = SIGNED.sub(" to ", interval)
    return interval.replace("-", "−" if " to " in interval else "–")


def latex_number(text):
    r"""A formatted number or interval as LaTeX: true minus signs, powers of ten, a dash in intervals without signs.

    Examples
    --------
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


def _value(cell):
    cell = _plain(cell)
    cell = cell.value if isinstance(cell, Number) else cell
    return cell if isinstance(cell, int | float) else None


def _best_rows(rows, column, how, spec):
    """Rows that print the best value: a difference that the digits do not show is not shown in bold either."""
    if how not in ("max", "min"):
        raise ValueError(f"best[{column!r}] is {how!r}: 'max' or 'min'")
    values = {i: _value(row[column]) for i, row in enumerate(rows) if _value(row[column]) is not None}
    if not values:
        return []
    top = {"max": max, "min": min}[how](values, key=values.get)
    printed = {i: _cell(rows[i][column], False, spec, False) for i in values}
    return [i for i in values if printed[i] == printed[top]]


def _letter(rows, column):
    cells = [_plain(row[column]) for row in rows]
    return "l" if any(isinstance(cell, str | Excerpt) for cell in cells) else "r"


def _parts(column):
    """Group (empty when there is none) and name of a column."""
    return (str(column[0]), str(column[-1])) if isinstance(column, tuple) else ("", str(column))


def _latex_lines(columns, letters, cells, heads):
    lines = ["% written by judgekit.results; do not edit", rf"\begin{{tabular}}{{@{{}}{''.join(letters)}@{{}}}}"]
    lines.append(r"\toprule")
    groups = [_parts(column)[0] for column in columns]
    if any(groups):
        spans, rules, start = [], [], 0
        while start < len(groups):
            end = start + 1
            while end < len(groups) and groups[start] and groups[end] == groups[start]:
                end += 1
            spans.append(rf"\multicolumn{{{end - start}}}{{c}}{{{escape(groups[start])}}}")
            if groups[start]:
                rules.append(rf"\cmidrule(lr){{{start + 1}-{end}}}")
            start = end
        lines += [" & ".join(spans) + r" \\", "".join(rules)]
    names = [escape(_parts(column)[1]) for column in columns]
    # A right-aligned head over right-aligned numbers; heads of paragraph columns stand left.
    lines += [" & ".join(names) + r" \\", r"\midrule"]
    for i, row in enumerate(cells):
        if heads[i] is not None and (i == 0 or heads[i] != heads[i - 1]):
            space = [] if i == 0 else [r"\addlinespace"]
            lines += [*space, rf"\multicolumn{{{len(columns)}}}{{@{{}}l}}{{\textit{{{escape(heads[i])}}}}} \\"]
        # A row that starts with "[" would be read as the optional argument of the line break before it.
        lines.append(r"\relax " + " & ".join(row) + r" \\")
    return [*lines, r"\bottomrule", r"\end{tabular}%"]


def _markdown_lines(columns, letters, cells, heads):
    names = [" ".join(part for part in _parts(column) if part) for column in columns]
    lines = ["| " + " | ".join(escape_markdown(name) for name in names) + " |"]
    lines.append("|" + "|".join("---:" if letter == "r" else "---" for letter in letters) + "|")
    for i, row in enumerate(cells):
        if heads[i] is not None and (i == 0 or heads[i] != heads[i - 1]):
            lines.append("| " + " | ".join([f"*{escape_markdown(heads[i])}*", *[""] * (len(columns) - 1)]) + " |")
        lines.append("| " + " | ".join(row) + " |")
    return lines
