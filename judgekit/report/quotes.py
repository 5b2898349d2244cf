r"""What is read of a run's results: every ``\result{key}`` of a document, and what notebooks and the README take."""

import re
from collections.abc import Iterable
from pathlib import Path

from judgekit.data import paths

QUOTE = re.compile(r"\\result(?:long(?=table))?(pc|ci|n|table|figure)?(?![A-Za-z])\s*(?:\[[^\]]*\])?\s*\{([^{}]*)\}")
INPUT = re.compile(r"\\(?:input|include)\s*\{([^{}\\]+)\}")
COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
READ_BY_NOTEBOOKS = re.compile(  # 34, 35 and 71, and the README's tables
    r"scores\.\w+\.\w+\.(accuracy|agreement|macro_f1)|mixture\.(seeds|.*\.mean)|ceiling\..*"
    r"|consensus\.\w+\.majority\.hidden_accuracy|(bench|fault|parsing|resources|scale|training)\..*"
)


def document_files(document: str) -> list[Path]:
    """The LaTeX files of a document: ``report/<document>.tex`` and what it inputs from ``report/``, in order."""
    report = paths.project_root() / "report"
    queue, files = [f"{document}.tex"], []
    while queue:
        path = report / f"{queue.pop(0).removesuffix('.tex')}.tex"
        if path.exists() and path not in files:
            files.append(path)
            queue = INPUT.findall(code_of([path])) + queue
    return files


def code_of(files: Iterable[Path]) -> str:
    """LaTeX without its comments."""
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    return "\n".join(COMMENT.sub(r"\1", line) for line in lines)


def find_quotes(files: Iterable[Path]) -> list[tuple[str, str]]:
    """Every ``number``, ``table`` and ``figure`` that LaTeX files quote, in order, with its name."""
    found = [(match[1], " ".join(match[2].split())) for match in QUOTE.finditer(code_of(files))]
    return [(kind if kind in ("table", "figure") else "number", name) for kind, name in found]


def quoted_keys(files: Iterable[Path]) -> set[str]:
    """The keys of the numbers that LaTeX files quote."""
    return {name for kind, name in find_quotes(files) if kind == "number"}


def tex_files() -> list[Path]:
    """The LaTeX files of all documents."""
    report = paths.project_root() / "report"
    return [*report.glob("*.tex"), *report.glob("sections/*.tex")]


def read_keys(keys: Iterable[str]) -> set[str]:
    """Those of ``keys`` that a document, a notebook or the README reads; all of them in a project without documents."""
    if not (documents := tex_files()):
        return set(keys)
    quoted = quoted_keys(documents)
    return {key for key in keys if key in quoted or READ_BY_NOTEBOOKS.fullmatch(key)}
