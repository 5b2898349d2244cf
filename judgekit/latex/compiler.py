"""Compile a document with latexmk and LuaLaTeX, and say in one line what is wrong when it fails."""

import argparse
import os
import re
import shutil
import subprocess
import sys

from judgekit import paths
from judgekit.latex.generated import write_generated
from judgekit.latex.log import log_faults
from judgekit.latex.quotes import MissingResult, check_keys, document_files
from judgekit.results import load_results

# The one list of what is compiled, in order: the report points into the supplement.
DOCUMENTS = ("supplement", "report", "slides", "report-zh", "slides-zh")
ERROR = re.compile(r"^(?:\./)?([^\s:()]+\.(?:tex|sty|cls|bbl|aux|cfg|def|fd)):(\d+): (.*)$", re.MULTILINE)
BARE_ERROR = re.compile(r"^! (.*)$", re.MULTILINE)
LAST_LINE = rb"\gdef \@abspage@last{"  # of the .aux that LaTeX writes to its end
NAMED = 8  # faults that an error names


class BuildError(RuntimeError):
    """LaTeX failed; the message is its first error, with file and line."""


def build(run="laptop", document="report", timeout=600, generated=None):
    """Compile ``report/<document>.tex`` with the results of ``run``.

    Parameters
    ----------
    run : str, default "laptop"
        The run whose results the text quotes.
    document : str, default "report"
        One of `DOCUMENTS`.
    timeout : float, default 600
        Seconds after which LaTeX is stopped.
    generated : path, optional
        What `write_generated` returned for this run, if it was called just before.

    Returns
    -------
    pathlib.Path
        ``report/<document>.pdf``; what LaTeX leaves is in ``report/build/<run>/``.

    Raises
    ------
    MissingResult
        If the run lacks a key, a table or a figure that the text quotes (before LaTeX is started).
    BuildError
        If there is no ``report/<document>.tex``, a program is missing, LaTeX fails, or it warns of what a reader
        would see: a box that stands out by more than five points, or what `log_faults` names besides.
    """
    if missing := [program for program in ("latexmk", "lualatex", "biber") if not shutil.which(program)]:
        raise BuildError(f"{', '.join(missing)} not found: the README names the LaTeX packages to install")
    report = paths.project_root() / "report"
    results = load_results(run)
    if not results:
        raise MissingResult(f"run '{run}' has no results in outputs/{run}/results: make report RUN={run}")
    if not (report / f"{document}.tex").is_file():
        raise BuildError(f"report/{document}.tex is not there: it is one of the documents {', '.join(DOCUMENTS)}")
    check_keys(document_files(document), results, run)
    folder = generated or write_generated(run)
    command = ["latexmk", "-norc", "-lualatex", "-interaction=nonstopmode", "-file-line-error"]
    command += ["-latexoption=-halt-on-error", "-latexoption=-no-shell-escape", "-silent"]
    command += [f"-outdir=build/{run}", rf"-usepretex=\def\run{{{run}}}", f"{document}.tex"]
    log = folder / f"{document}.log"
    if not whole(folder, document):
        forget(folder, document)
    try:
        done = subprocess.run(
            command,
            cwd=report,
            env=os.environ | {"max_print_line": "2000"},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        forget(folder, document, keep=(".log", ".blg"))
        raise BuildError(f"{document}.tex: LaTeX was stopped after {timeout:g} seconds") from None
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    if done.returncode != 0:
        forget(folder, document, keep=(".log", ".blg"))
        raise BuildError(f"{document}.tex: {first_error(text, folder / f'{document}.blg', done)}")
    if faults := log_faults(text):  # also when there was nothing to compile: the log is that of the PDF
        more = f"; and {len(faults) - NAMED} more" if len(faults) > NAMED else ""
        shown = f" (see report/build/{run}/{document}.pdf)"
        raise BuildError(f"{document}.tex: {'; '.join(faults[:NAMED])}{more}{shown}")
    pdf = report / f"{document}.pdf"
    shutil.copyfile(folder / pdf.name, pdf)
    return pdf


def whole(folder, document):
    """Whether the last build came to its end: then latexmk compiles only if a file that it read has changed since."""
    left = [folder / f"{document}.{kind}" for kind in ("log", "pdf", "fdb_latexmk", "aux")]
    return all(path.exists() for path in left) and LAST_LINE in left[-1].read_bytes()[-200:]


def forget(folder, document, keep=()):
    """Remove what a build left: half a file must not stop the next one."""
    for path in folder.glob(f"{document}.*"):
        if path.suffix not in keep:
            path.unlink()


def first_error(log, biber_log, done):
    """The first error of LaTeX or biber in one line, with file and line where it has them."""
    if found := ERROR.search(log):
        return f"{found[1]}:{found[2]}: {found[3].strip()}"
    if found := BARE_ERROR.search(log):
        return found[1].strip()
    if biber_log.exists():
        errors = re.findall(r"ERROR - (.*)", biber_log.read_text(encoding="utf-8", errors="replace"))
        if errors:
            return f"biber: {errors[0].strip()}"
    words = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
    return words[-1] if words else f"latexmk ended with {done.returncode}"


def main(arguments=None):
    """Command line: compile every document; 0 done, 1 LaTeX failed, 2 something quoted is missing."""
    parser = argparse.ArgumentParser(prog="python -m judgekit.latex", description=main.__doc__)
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
