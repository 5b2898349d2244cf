"""What a log of LuaLaTeX tells of a document that compiled and is not right: too wide, unresolved, or not printed.

A log says on which input line a paragraph is too wide, but its file only by the parentheses around all that is read
from it, and the page by the marks ``[12]`` of pages before it. Both are followed here; where the parentheses do not
match, the file is left out.
"""

import re

LIMIT = 5.0  # points that a box may be too wide or too high
WIDTHS = (79, 2000)  # where LaTeX breaks the lines of a log: by itself, and as `judgekit.latex` asks it to
BOX = re.compile(r"Overfull \\([hv]box) \(([\d.]+)pt too (?:wide|high)\) ?(.*)")
LINES = re.compile(r"(?:at lines? |input line )(\d+)")
FAULTS = (
    re.compile(r"(?:LaTeX|Package \w+) Warning: ((?:Reference|Citation|Hyper reference) .* undefined)"),
    re.compile(r"LaTeX Warning: (Label .* multiply defined)"),
    re.compile(r"pdfTeX warning \(dest\): (name\{.*\} has been referenced but does not exist)"),
    re.compile(r"(Missing character: There is no .*)"),
    re.compile(r"LaTeX Font Warning: (Font shape .* undefined)"),
    re.compile(r"LaTeX Font Warning: (Some font shapes were not available.*)"),
    re.compile(r"(?:LaTeX|Package \w+) Warning: (.*(?:[Rr]erun|\(re\)run).*)"),
)
SOURCE = re.compile(r"[^\s()]+\.(?:tex|sty|cls|bbl|aux|toc|out|nav|snm|cfg|def|fd|lbx|bbx|cbx|ini|ldf|clo|dict|lua|mkii)\b")
TOKEN = re.compile(rf"\((?P<file>{SOURCE.pattern})|(?P<open>\()|(?P<close>\))|\[(?P<page>\d+)(?=[\]\s{{<]|$)")


def log_faults(text, limit=LIMIT):
    r"""Faults of a document by its log, each in a few words with its place.

    Parameters
    ----------
    text : str
        The whole log of the last run of LaTeX.
    limit : float, default 5.0
        How many points a box may stand out before it is a fault.

    Returns
    -------
    list of str
        E.g. ``"sections/aim.tex:7: \hbox 13.8 pt too wide (page 3)"``, in the log's order, each once: overfull boxes,
        undefined references and citations, labels defined twice, characters and font shapes that are not there, and
        that LaTeX should be run again.

    Notes
    -----
    A page is the one after the last that was shipped when LaTeX spoke. A paragraph that LaTeX typesets ahead of its
    page may stand on the next one.

    Examples
    --------
    >>> log_faults("(./a.tex [1]\nOverfull \\hbox (13.8pt too wide) in paragraph at lines 7--9\n")
    ['a.tex:7: \\hbox 13.8 pt too wide (page 2)']
    """
    open_files, page, faults = [], 0, {}
    lines = iter(_unwrapped(text))
    for line in lines:
        if box := BOX.match(line):
            if float(box[2]) > limit:
                how = "wide" if box[1] == "hbox" else "high"
                what = rf"\{box[1]} {float(box[2]):.1f} pt too {how}"
                faults[_placed(what, box[3], open_files, page)] = None
        elif found := next((m for m in (fault.search(line) for fault in FAULTS) if m), None):
            faults[_placed(found[1].rstrip(".!"), line, open_files, page)] = None
        if re.match(r"(?:Over|Under)full \\[hv]box", line):
            # What stands in the box follows, up to an empty line: words of the document, parentheses among them.
            while next(lines, "").strip():
                continue
            continue
        for token in TOKEN.finditer(line):
            if token["page"]:
                page = max(page, int(token["page"]))
            elif token["close"]:
                del open_files[-1:]
            else:
                open_files.append(token["file"])
    return list(faults)


def _unwrapped(text):
    """Lines of a log; where LaTeX broke them because they were long, whole again."""
    lines = text.splitlines()
    longest = max((len(line.encode()) for line in lines), default=0)
    if longest not in WIDTHS:
        return lines
    whole, joined = [], False
    for line in lines:
        if joined:
            whole[-1] += line
        else:
            whole.append(line)
        joined = len(line.encode()) == longest
    return whole


def _placed(what, where, open_files, page):
    """A fault with its file and line as far as the log tells them."""
    line = LINES.search(where)
    source = next((name for name in reversed(open_files) if name and name.endswith((".tex", ".bbl"))), "")
    source = source.removeprefix("./")
    place = f"{source or 'line'}{':' if source else ' '}{line[1]}: " if line else f"{source}: " if source else ""
    return f"{place}{what} (page {page + 1})"
