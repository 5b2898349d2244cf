"""What a log of LuaLaTeX tells of a document that compiled and is not right: too wide, unresolved, or not printed.

A log says on which input line a paragraph is too wide, but its file only by the parentheses around all that is read
from it, and the page by the marks ``[12]`` of pages before it. Both are followed here; where the parentheses do not
match, the file is left out.
"""

import re

LIMIT = 5.0  # points that a box may be too wide or too high
BOX = re.compile(r"Overfull \\([hv]box) \(([\d.]+)pt too (wide|high)\) ?(.*)")
LINES = re.compile(r"(?:at lines? |input line )(\d+)(?:--(\d+))?")
PLACED = (
    re.compile(r"Warning: (?P<what>(?:Reference|Citation|Hyper reference) .*?)(?: on page \d+)? (?P<lost>undefined)"),
    re.compile(r"(?P<what>Missing character: There is no .*? in font [^:;!]+)"),
    re.compile(r"Font Warning: (?P<what>Font shape .*) (?P<lost>undefined)"),
)
OF_THE_WHOLE = (
    re.compile(r"Warning: (?P<what>Label `.*' multiply defined)"),
    re.compile(r"Font Warning: (?P<what>Some font shapes were not available)"),
    re.compile(r"warning +\(pdf backend\): (?P<what>unreferenced destination with name .*)"),
    re.compile(r"Warning: (?P<what>.*(?:[Rr]erun|\(re\)run|has changed).*)"),
)
SOURCE = r"[^\s()]+\.(?:tex|sty|cls|bbl|aux|toc|out|nav|snm|cfg|def|fd|lbx|bbx|cbx|ini|ldf|clo|dict|lua|mkii)\b"
TOKEN = re.compile(rf"\((?P<file>{SOURCE})|(?P<open>\()|(?P<close>\))|\[(?P<page>\d+)(?=[\]\s{{<]|$)")


def log_faults(text: str, limit: float = LIMIT) -> list[str]:
    r"""Faults of a document by the log of its last run, each in a few words with its place, in the log's order.

    Boxes that stand out by more than ``limit`` points, undefined references and citations, labels defined twice,
    characters and font shapes that are not there, and that LaTeX should be run again. A page is the one after the last
    that was shipped when LaTeX spoke: a paragraph that is typeset ahead of its page may stand on the next one.

    >>> log_faults("(./a.tex [1]\nOverfull \\hbox (13.8pt too wide) in paragraph at lines 7--9\n")
    ['a.tex:7-9: \\hbox 13.8 pt too wide (page 2)']
    """
    open_files: list[str | None] = []
    page, faults = 0, []
    lines = iter(text.splitlines())
    for line in lines:
        if fault := _fault(line, limit):
            what, where = fault
            faults.append(what if where is None else _placed(what, where, open_files, page))
        if re.match(r"(?:Over|Under)full \\[hv]box", line):
            # What stands in the box follows, up to an empty line: words of the document, parentheses among them.
            while next(lines, "").strip():
                continue
            continue
        for token in TOKEN.finditer(line):
            if token["page"]:
                page = max(page, int(token["page"]) * (int(token["page"]) <= page + 1))
            elif token["close"]:
                del open_files[-1:]
            else:
                open_files.append(token["file"])
    return list(dict.fromkeys(faults))


def _fault(line: str, limit: float) -> tuple[str, str | None] | None:
    """What one line complains of and the part of it that names a line of the source, None for the whole document."""
    if box := BOX.match(line):
        kind, points, way, where = box.groups()
        return (rf"\{kind} {float(points):.1f} pt too {way}", where) if float(points) > limit else None
    for pattern in PLACED:
        if warning := pattern.search(line):
            return " ".join(filter(None, (warning["what"].rstrip(".!;"), warning.groupdict().get("lost")))), line
    for pattern in OF_THE_WHOLE:
        if warning := pattern.search(line):
            return warning["what"].rstrip(".!;"), None
    return None


def _placed(what: str, where: str, open_files: list[str | None], page: int) -> str:
    """A fault with its file and line as far as the log tells them."""
    source = next((name for name in reversed(open_files) if name and name.endswith((".tex", ".bbl"))), "")
    match = LINES.search(where)
    numbers = [number for number in match.groups() if number] if match else []
    # A paragraph that began in another file has begun on a line of that one.
    lines = "-".join(dict.fromkeys(numbers if numbers == sorted(numbers, key=int) else numbers[1:]))
    place = source.removeprefix("./") + (f":{lines}" if source and lines else f"line {lines}" if lines else "")
    return f"{place}: {what} (page {page + 1})" if place else f"{what} (page {page + 1})"
