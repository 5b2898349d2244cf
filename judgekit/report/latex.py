r"""Results become documents by latexmk: ``results/*.json`` -> ``numbers.tex`` -> ``\result{key}`` -> PDF."""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from judgekit.data import paths
from judgekit.report.generated import write_generated
from judgekit.report.results import ResultsError, check_inputs, load_results

# The one list of what is compiled, in order: the report points into the supplement.
DOCUMENTS = ("supplement", "report", "slides", "report-zh", "slides-zh")
TEXT_RUN = "laptop"  # the run that the text is written about: of another one, what it does not hold prints as not run
ERROR = re.compile(r"^(?:[^\s:]+:\d+: |! |.*ERROR - ).*$", re.MULTILINE)
WIDE = re.compile(r"^Overfull \\[hv]box \(([\d.]+)pt too .*$", re.MULTILINE)
LIMIT = 5.0  # points that a box may be too wide or too high
WARNING = re.compile(
    r"^.*(?:Warning: (?:Reference|Citation|Hyper reference|Label) |Missing character: |unreferenced destination "
    r"|Font Warning: (?:Font shape .* undefined|Some font shapes)|Warning: .*(?:[Rr]erun|\(re\)run|has changed)).*$",
    re.MULTILINE,
)
NAMED = 8  # faults that an error names


class BuildError(RuntimeError):
    """LaTeX failed; the message is its first error, with file and line, or what its log warns of."""


def build(run: str = TEXT_RUN, document: str = "report") -> Path:
    """Compile ``report/<document>.tex`` with the results of ``run``; returns the PDF beside it.

    What LaTeX leaves is in ``report/build/<run>/``; it compiles only if something has changed since. ResultsError
    where the run has no results; BuildError where a program or the document is missing, LaTeX fails, or (printed for
    runs other than `TEXT_RUN`) warns of what a reader would see: a wide box, a lost reference, character or font.
    """
    report = paths.project_root() / "report"
    if not load_results(run):
        raise ResultsError(f"run '{run}' has no results in outputs/{run}/results: make report RUN={run}")
    if not (report / f"{document}.tex").is_file():
        raise BuildError(f"report/{document}.tex is not there: it is one of the documents {', '.join(DOCUMENTS)}")
    if missing := [program for program in ("latexmk", "lualatex", "biber") if not shutil.which(program)]:
        raise BuildError(f"{', '.join(missing)} not found: the README names the LaTeX packages to install")
    check_inputs(run)
    folder = write_generated(run)
    command = ["latexmk", "-norc", "-lualatex", "-interaction=nonstopmode", "-file-line-error"]
    command += ["-latexoption=-halt-on-error", "-latexoption=-no-shell-escape", "-silent"]
    command += [f"-outdir=build/{run}", rf"-usepretex=\def\run{{{run}}}", f"{document}.tex"]
    environment = os.environ | {"max_print_line": "2000"}  # no line of the log that names a fault is longer
    logs = [folder / f"{document}{kind}" for kind in (".log", ".blg")]
    for _ in range(2):  # what a killed build left may be half a file: a build that fails is tried once from nothing
        done = subprocess.run(command, cwd=report, env=environment, capture_output=True, stdin=subprocess.DEVNULL)
        log = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in logs if path.exists())
        if done.returncode == 0:
            break
        for left in set(folder.glob(f"{document}.*")) - set(logs):
            left.unlink()
    else:
        error = ERROR.search(log)
        raise BuildError(f"{document}.tex: {error[0].strip() if error else f'latexmk ended with {done.returncode}'}")
    wide = [box[0] for box in WIDE.finditer(log) if float(box[1]) > LIMIT]
    if faults := list(dict.fromkeys(wide + WARNING.findall(log))):  # also when there was nothing to compile
        more = f"; and {len(faults) - NAMED} more" if len(faults) > NAMED else ""
        message = f"{document}.tex: {'; '.join(faults[:NAMED])}{more} (see report/build/{run}/{document}.log)"
        if run == TEXT_RUN:
            raise BuildError(message)
        print(f"warning: {message}", file=sys.stderr)
    return Path(shutil.copyfile(folder / f"{document}.pdf", report / f"{document}.pdf"))


def main(arguments: list[str] | None = None) -> int:
    """Command line: compile every document; 0 done, 1 LaTeX failed, 2 there is nothing to quote."""
    parser = argparse.ArgumentParser(prog="python -m judgekit.report.latex", description=main.__doc__)
    parser.add_argument("--run", default=TEXT_RUN, help="the run whose results the text quotes")
    parser.add_argument("--document", choices=DOCUMENTS, action="append", help="one of them (default: all)")
    options = parser.parse_args(arguments)
    try:
        for document in options.document or DOCUMENTS:
            print(f"  {document:<11} {build(options.run, document).relative_to(paths.project_root())}", flush=True)
    except (BuildError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1 if isinstance(error, BuildError) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
