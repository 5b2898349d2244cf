"""Compile a document with latexmk and LuaLaTeX, and say in one line what is wrong when it fails."""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from judgekit.data import paths
from judgekit.report.latex.generated import write_generated
from judgekit.report.latex.log import log_faults
from judgekit.report.latex.quotes import MissingResult, check_keys, document_files
from judgekit.report.results import check_judges, load_results

# The one list of what is compiled, in order: the report points into the supplement.
DOCUMENTS = ("supplement", "report", "slides", "report-zh", "slides-zh")
ERROR = re.compile(r"^(?:\./)?([^\s:()]+\.(?:tex|sty|cls|bbl|aux|cfg|def|fd)):(\d+): (.*)$", re.MULTILINE)
BARE_ERROR = re.compile(r"^! (.*)$", re.MULTILINE)
LAST_LINE = rb"\gdef \@abspage@last{"  # of the .aux that LaTeX writes to its end
NAMED = 8  # faults that an error names
LOGS = (".log", ".blg")


class BuildError(RuntimeError):
    """LaTeX failed; the message is its first error, with file and line."""


def build(run: str = "laptop", document: str = "report", timeout: float = 600, generated: Path | None = None) -> Path:
    """Compile ``report/<document>.tex`` with the results of ``run``; returns the PDF beside it.

    What LaTeX leaves is in ``report/build/<run>/``; ``generated`` is what `write_generated` returned, if it was called
    just before. MissingResult, before LaTeX is started, where the run lacks what the text quotes. BuildError where a
    program or the document is missing, LaTeX fails or takes longer than ``timeout`` seconds, or it warns of what a
    reader would see: what `log_faults` names.
    """
    if missing := [program for program in ("latexmk", "lualatex", "biber") if not shutil.which(program)]:
        raise BuildError(f"{', '.join(missing)} not found: the README names the LaTeX packages to install")
    report = paths.project_root() / "report"
    results = load_results(run)
    if not results:
        raise MissingResult(f"run '{run}' has no results in outputs/{run}/results: make report RUN={run}")
    if not (report / f"{document}.tex").is_file():
        raise BuildError(f"report/{document}.tex is not there: it is one of the documents {', '.join(DOCUMENTS)}")
    try:
        check_judges(run)
    except ValueError as two_models:
        raise BuildError(str(two_models)) from None
    check_keys(document_files(document), results, run)
    folder = generated or write_generated(run)
    command = ["latexmk", "-norc", "-lualatex", "-interaction=nonstopmode", "-file-line-error"]
    command += ["-latexoption=-halt-on-error", "-latexoption=-no-shell-escape", "-silent"]
    command += [f"-outdir=build/{run}", rf"-usepretex=\def\run{{{run}}}", f"{document}.tex"]
    if not _whole(folder, document):
        _forget(folder, document)
    environment = os.environ | {"max_print_line": "2000"}  # no line of the log that names a fault is longer
    try:
        done = subprocess.run(
            command, cwd=report, env=environment, capture_output=True, stdin=subprocess.DEVNULL, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        _forget(folder, document, but=LOGS)
        raise BuildError(f"{document}.tex: LaTeX was stopped after {timeout:g} seconds") from None
    log = folder / f"{document}.log"
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    if done.returncode != 0:
        _forget(folder, document, but=LOGS)
        raise BuildError(f"{document}.tex: {_first_error(text, folder / f'{document}.blg', done)}")
    if faults := log_faults(text):  # also when there was nothing to compile: the log is that of the PDF
        more = f"; and {len(faults) - NAMED} more" if len(faults) > NAMED else ""
        shown = f" (see report/build/{run}/{document}.pdf)"
        raise BuildError(f"{document}.tex: {'; '.join(faults[:NAMED])}{more}{shown}")
    return Path(shutil.copyfile(folder / f"{document}.pdf", report / f"{document}.pdf"))


def _whole(folder: Path, document: str) -> bool:
    """Whether the last build came to its end: then latexmk compiles only if a file that it read has changed since."""
    left = [folder / f"{document}.{kind}" for kind in ("log", "pdf", "fdb_latexmk", "aux")]
    return all(path.exists() for path in left) and LAST_LINE in left[-1].read_bytes()[-200:]


def _forget(folder: Path, document: str, but: Collection[str] = ()) -> None:
    """Remove what a build left: half a file must not stop the next one."""
    for path in folder.glob(f"{document}.*"):
        if path.suffix not in but:
            path.unlink()


def _first_error(log: str, biber_log: Path, done: subprocess.CompletedProcess[bytes]) -> str:
    """The first error of LaTeX or biber in one line, with file and line where it has them."""
    if error := ERROR.search(log):
        return f"{error[1]}:{error[2]}: {error[3].strip()}"
    if error := BARE_ERROR.search(log):
        return error[1].strip()
    biber = biber_log.read_text(encoding="utf-8", errors="replace") if biber_log.exists() else ""
    if error := re.search(r"ERROR - (.*)", biber):
        return f"biber: {error[1].strip()}"
    words = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
    return words[-1] if words else f"latexmk ended with {done.returncode}"


def main(arguments: list[str] | None = None) -> int:
    """Command line: compile every document; 0 done, 1 LaTeX failed, 2 something quoted is missing."""
    parser = argparse.ArgumentParser(prog="python -m judgekit.report.latex", description=main.__doc__)
    parser.add_argument("--run", default="laptop", help="the run whose results the text quotes")
    parser.add_argument("--document", choices=DOCUMENTS, action="append", help="one of them (default: all)")
    options = parser.parse_args(arguments)
    try:
        generated = write_generated(options.run)
        for document in options.document or DOCUMENTS:
            pdf = build(options.run, document, generated=generated)
            print(f"  {document:<11} {pdf.relative_to(paths.project_root())}")
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 0
