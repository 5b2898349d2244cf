r"""What a document quotes: every ``\result{key}``, table and figure, with its file and line."""

import re
from dataclasses import dataclass
from pathlib import Path

from judgekit import paths

DEFAULT_RUN = "laptop"
QUOTE = re.compile(
    r"\\(result|resultpc|resultci|resultn|resulttable|resultfigure)(?![A-Za-z])\s*(?:\[([^\]]*)\])?\s*\{([^{}]*)\}"
)
INPUT = re.compile(r"\\(?:input|include)\s*\{([^{}]+)\}")
COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")


@dataclass(frozen=True)
class Quote:
    """One place where a document quotes a result.

    Attributes
    ----------
    kind : {"number", "table", "figure"}
    name : str
        The key, or the name of the table or figure.
    run : str or None
        The run named at this place; None for the run the document is built from.
    file : pathlib.Path
    line : int
    """

    kind: str
    name: str
    run: str | None
    file: Path
    line: int

    @property
    def place(self):
        """``sections/results.tex:12``."""
        root = self.file.parent.parent if self.file.parent.name == "sections" else self.file.parent
        return f"{self.file.relative_to(root)}:{self.line}"


class MissingResult(ValueError):
    """The text quotes what the run does not have."""


def document_files(document):
    """The LaTeX files of a document: ``report/<document>.tex`` and what it inputs from ``report/``, in order."""
    report = paths.project_root() / "report"
    queue, found = [report / f"{document}.tex"], []
    while queue:
        path = queue.pop(0)
        if path in found:
            continue
        found.append(path)
        names = INPUT.findall("\n".join(_code_lines(path)))
        named = [report / (name if name.endswith(".tex") else f"{name}.tex") for name in names if "\\" not in name]
        queue = [child for child in named if child.exists()] + queue
    return found


def _code_lines(path):
    return [COMMENT.sub(r"\1", line) for line in path.read_text(encoding="utf-8").splitlines()]


def find_quotes(tex_files):
    """Every place in ``tex_files`` that quotes a result; comments are not text.

    Returns
    -------
    list of Quote
    """
    kinds = {"resulttable": "table", "resultfigure": "figure"}
    quotes = []
    for path in map(Path, tex_files):
        text = "\n".join(_code_lines(path))
        for match in QUOTE.finditer(text):
            command, option, name = match.groups()
            kind = kinds.get(command, "number")
            run = option if option and kind != "figure" else None  # a figure's option is its width
            line = text.count("\n", 0, match.start()) + 1
            quotes.append(Quote(kind, " ".join(name.split()), run, path, line))
    return quotes


def check_keys(tex_files, results, run=None):
    """Check that a run has what the text quotes.

    Parameters
    ----------
    tex_files : iterable of path
    results : mapping or set
        The keys of the run, e.g. from ``load_results``.
    run : str, optional
        Also check that its tables and figures are there. Places that name a run of their own (the sample run of
        the appendix) are left alone: what they lack prints as "n/a".

    Raises
    ------
    MissingResult
        Naming each missing key, table and figure with file and line (the first five of them).
    """
    missing = [quote for quote in find_quotes(tex_files) if not quote.run and not _exists(quote, results, run)]
    if not missing:
        return
    first = {}
    for quote in missing:
        first.setdefault((quote.kind, quote.name), quote)
    shown = [f"{q.kind} '{q.name}' at {q.place}" for q in list(first.values())[:5]]
    more = f", and {len(first) - 5} more" if len(first) > 5 else ""
    whose = f"run '{run}' lacks" if run else "the results lack"
    remedy = ""
    if run:
        # The sample run has other sets than the text quotes: making it again would not help.
        other = f"; quote a run that has them: make report RUN={DEFAULT_RUN}"
        remedy = other if run == "sample" else f"; make them: make report RUN={run}"
    raise MissingResult(f"{whose} what the text quotes: {'; '.join(shown)}{more}{remedy}")


def _exists(quote, results, run):
    if quote.kind == "number":
        return quote.name in results
    if run is None:
        return True
    folder, ending = {"table": ("tables", "tex"), "figure": ("figures", "pdf")}[quote.kind]
    return (paths.project_root() / "outputs" / run / folder / f"{quote.name}.{ending}").exists()
