r"""What a document quotes: every ``\result{key}``, table and figure, with its file and line."""

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path

from judgekit.data import paths

DEFAULT_RUN = "laptop"
QUOTE = re.compile(
    r"\\(result|resultpc|resultci|resultn|resulttable|resultfigure)(?![A-Za-z])\s*(?:\[([^\]]*)\])?\s*\{([^{}]*)\}"
)
INPUT = re.compile(r"\\(?:input|include)\s*\{([^{}]+)\}")
COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")


@dataclass(frozen=True)
class Quote:
    """Where a document quotes a number, table or figure (``kind``): of ``run``, or of the run that it is built from."""

    kind: str
    name: str
    run: str | None
    file: Path
    line: int

    def __str__(self) -> str:
        root = self.file.parent.parent if self.file.parent.name == "sections" else self.file.parent
        return f"{self.kind} '{self.name}' at {self.file.relative_to(root)}:{self.line}"


class MissingResult(ValueError):
    """The text quotes what the run does not have."""


def document_files(document: str) -> list[Path]:
    """The LaTeX files of a document: ``report/<document>.tex`` and what it inputs from ``report/``, in order."""
    report = paths.project_root() / "report"
    queue, files = [report / f"{document}.tex"], []
    while queue:
        path = queue.pop(0)
        if path not in files:
            files.append(path)
            named = [report / name for name in INPUT.findall(_code(path)) if "\\" not in name]
            named = [child if child.suffix == ".tex" else child.with_name(f"{child.name}.tex") for child in named]
            queue = [child for child in named if child.exists()] + queue
    return files


def _code(path: Path) -> str:
    return "\n".join(COMMENT.sub(r"\1", line) for line in path.read_text(encoding="utf-8").splitlines())


def find_quotes(tex_files: Iterable[Path | str]) -> list[Quote]:
    """Every place in ``tex_files`` that quotes a result; comments are not text."""
    kinds = {"resulttable": "table", "resultfigure": "figure"}
    quotes = []
    for path in map(Path, tex_files):
        text = _code(path)
        for match in QUOTE.finditer(text):
            command, option, name = match.groups()
            kind = kinds.get(command, "number")
            run = option if option and kind != "figure" else None  # a figure's option is its width
            line = text.count("\n", 0, match.start()) + 1
            quotes.append(Quote(kind, " ".join(name.split()), run, path, line))
    return quotes


def check_keys(tex_files: Iterable[Path | str], results: Container[str], run: str | None = None) -> None:
    """MissingResult names each key (and of ``run`` each table and figure) that the text quotes and that is not there.

    The first five, with file and line. Places that name a run of their own (the sample run of the appendix) are left
    alone: what they lack prints as "n/a".
    """
    first: dict[tuple[str, str], Quote] = {}
    for quote in find_quotes(tex_files):
        if not quote.run and not _exists(quote, results, run):
            first.setdefault((quote.kind, quote.name), quote)
    if not first:
        return
    shown = "; ".join(str(quote) for quote in list(first.values())[:5])
    more = f", and {len(first) - 5} more" if len(first) > 5 else ""
    if not run:
        raise MissingResult(f"the results lack what the text quotes: {shown}{more}")
    # The sample run has other sets than the text quotes: making it again would not help.
    other = f"; quote a run that has them: make report RUN={DEFAULT_RUN}"
    remedy = other if run == "sample" else f"; make them: make report RUN={run}"
    raise MissingResult(f"run '{run}' lacks what the text quotes: {shown}{more}{remedy}")


def _exists(quote: Quote, results: Container[str], run: str | None) -> bool:
    if quote.kind == "number":
        return quote.name in results
    ending = "tex" if quote.kind == "table" else "pdf"
    return (
        run is None or (paths.project_root() / "outputs" / run / f"{quote.kind}s" / f"{quote.name}.{ending}").exists()
    )
