r"""Results become documents by latexmk: ``results/*.json`` -> ``numbers.tex`` -> ``\result{key}`` -> PDF.

Only fonts that are installed are named, for the characters that a document holds; without them it shows code points.
(The fallback of luaotfload tears emoji that joiners make one, and leaves a box where no font has a character.)
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from judgekit.data import paths
from judgekit.data.declared import declared_sets
from judgekit.data.files import load_plain, read_plain, write_text
from judgekit.data.provenance import git_state
from judgekit.report.escaping import IN_TEXT_FONT, JOINERS, escape, rendered, template
from judgekit.report.results import (
    ResultsError,
    check_inputs,
    code_of,
    document_files,
    load_provenance,
    load_results,
    quoted_keys,
    tex_files,
)
from judgekit.report.tables import latex_number

# The one list of what is compiled, in order: the report points into the supplement.
DOCUMENTS = ("supplement", "report", "slides", "report-zh", "slides-zh")
OWN = "own"  # the report of a run on one's own pairs
TEXT_RUN = "laptop"  # the run that the text is written about: of another one, what it does not hold prints as not run
ERROR = re.compile(r"^(?:[^\s:]+:\d+: |! |.*ERROR - ).*$", re.MULTILINE)
WIDE = re.compile(r"^Overfull \\[hv]box \(([\d.]+)pt too .*$", re.MULTILINE)
LIMIT = 5.0  # points that a box may be too wide or too high
WARNING = re.compile(
    r"^.*(?:Warning: (?:Reference|Citation|Hyper reference|Label) |Missing character: |unreferenced destination "
    r"|Warning: Float too large |Font Warning: (?:Font shape .* undefined|Some font shapes)"
    r"|Warning: .*(?:[Rr]erun|\(re\)run|has changed)).*$",
    re.MULTILINE,
)
NAMED = 8  # faults that an error names
HEAD = "% written by judgekit.report.latex; do not edit"
FOREIGN = re.compile(r"\\unitext\{([^{}]*)\}")
# Results that no notebook makes, and the script of each.
SCRIPTS: dict[str, str] = load_plain(Path(__file__).with_name("scripts.yaml").read_text(encoding="utf-8"))
FIRST = ("Noto Sans", "Noto Sans CJK SC", "Noto Sans SC", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Color Emoji")
LAST = ("Noto Sans Symbols", "Noto Sans Symbols2", "Noto Sans Math", "DejaVu Sans", "Latin Modern Math")
CHINESE = {"rm": "Noto Serif CJK SC", "sf": "Noto Sans CJK SC", "tt": "Noto Sans CJK SC"}  # of the Chinese editions


class BuildError(RuntimeError):
    """LaTeX failed; the message is its first error, with file and line, or what its log warns of."""


def build(run: str = TEXT_RUN, document: str = "report") -> Path:
    """Compile ``report/<document>.tex`` with the results of ``run``, if something has changed; the PDF beside it.

    ResultsError where the run has no results; BuildError where a program is missing, LaTeX fails, or (printed for runs
    other than `TEXT_RUN`) warns of what a reader would see: a wide box, a lost reference or font.
    """
    report = paths.project_root() / "report"
    if not load_results(run):
        raise ResultsError(f"run '{run}' has no results in outputs/{run}/results: make report RUN={run}")
    if missing := [program for program in ("latexmk", "lualatex", "biber") if not shutil.which(program)]:
        raise BuildError(f"{', '.join(missing)} not found: the README names the LaTeX packages to install")
    check_inputs(run)
    folder = write_generated(run)
    command = ["latexmk", "-norc", "-lualatex", "-interaction=nonstopmode", "-file-line-error"]
    command += ["-latexoption=-halt-on-error", "-latexoption=-no-shell-escape", "-silent"]
    command += [f"-outdir=build/{run}", rf"-usepretex=\def\run{{{run}}}", f"{document}.tex"]
    environment = os.environ | {"max_print_line": "2000"}  # no line of the log that names a fault is longer
    logs = [folder / f"{document}{kind}" for kind in (".log", ".blg")]
    for again in ([], ["-gg"]):  # what an earlier build left may be wrong, or older than what it points into
        full = [*command, *again]
        done = subprocess.run(full, cwd=report, env=environment, capture_output=True, stdin=subprocess.DEVNULL)
        log = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in logs if path.exists())
        wide = [box[0] for box in WIDE.finditer(log) if float(box[1]) > LIMIT]
        faults = list(dict.fromkeys(wide + WARNING.findall(log)))  # also when there was nothing to compile
        if done.returncode == 0 and not (faults and run == TEXT_RUN):
            break
    if done.returncode:
        error = ERROR.search(log)
        raise BuildError(f"{document}.tex: {error[0].strip() if error else f'latexmk ended with {done.returncode}'}")
    if faults:
        more = f"; and {len(faults) - NAMED} more" if len(faults) > NAMED else ""
        message = f"{document}.tex: {'; '.join(faults[:NAMED])}{more} (see report/build/{run}/{document}.log)"
        if run == TEXT_RUN:
            raise BuildError(message)
        print(f"warning: {message}", file=sys.stderr)
    return Path(shutil.copyfile(folder / f"{document}.pdf", report / f"{document}.pdf"))


def own_title(run: str) -> str | None:
    """The title of the report of a run on one's own pairs; None of another run, which has all the documents."""
    return next((one.title for one in declared_sets(run).values() if one.title is not None), None)


def write_generated(run: str) -> Path:
    r"""Write all that a build of ``run`` inputs; returns the folder ``report/build/<run>/``.

    Beside it ``outputs/<run>/numbers.tex``, a ``\DefineResult`` line for each number that a document quotes.
    """
    outputs, report = paths.run_folder(run), paths.project_root() / "report"
    folder = report / "build" / run
    folder.mkdir(parents=True, exist_ok=True)
    results, commit = load_results(run), {owner: _short_commit(one) for owner, one in load_provenance(run).items()}
    keys = quoted_keys(tex_files())
    _write(outputs / "numbers.tex", "numbers", quoted=[(key, results[key]) for key in sorted(keys & set(results))])

    def command(owner: str) -> str:
        return f"python {SCRIPTS.get(owner, f'-m judgekit.report.workflow run {owner} {run}')}"

    for path in report.glob("*.tex"):  # each document may end with a list of where its numbers come from
        if r"\documentclass" in code_of([path]):
            read = keys if path.stem == "supplement" else quoted_keys(document_files(path.stem))  # it lists all of them
            quoted = read & set(results)
            by_owner = sorted((results[key]["notebook"], key) for key in quoted)
            owned = [(owner, [key for _, key in rows]) for owner, rows in groupby(by_owner, key=lambda row: row[0])]
            _write(folder / f"{path.stem}_owners.tex", "owners", owned=owned, command=command, commit=commit)
    made_at, count = Counter(commit.values()).most_common(1)[0] if commit else ("none", 0)
    build = _short_commit(git_state(("report", "outputs")))
    _write(folder / "provenance.tex", "provenance", files=len(commit), made_at=made_at, count=count, build=build)
    _write(folder / "team.tex", "team", team=_team(report / "team.yaml"))
    _write(folder / "own_title.tex", "own", title=own_title(run) or run)
    cuts = {family: {font.style: font for font in _installed() if font.family == family} for family in CHINESE.values()}
    _write(folder / "chinese_fonts.tex", "chinese_fonts", chinese=CHINESE, cuts=cuts)
    cases = sorted(outputs.glob("cases/**/*.tex"))
    parts = [*cases, *sorted(outputs.glob("figures/*.zh.pdf"))]  # which documents do without where there are none
    files = {*tex_files(), *folder.glob("*.tex"), *outputs.glob("tables/*.tex"), *cases} - {folder / "fonts.tex"}
    foreign = "".join(text for path in files for text in FOREIGN.findall(path.read_text(encoding="utf-8")))
    # Comments name those that are there: latexmk would not see that a file has come to be.
    _write(folder / "fonts.tex", "fonts", fonts=fonts_for(foreign), parts=parts)
    return folder


def _write(path: Path, block: str, **words: Any) -> None:
    """Write a block of ``generated.txt``."""
    text = rendered(_TEMPLATE, block, **words)
    write_text(path, "\n".join(filter(None, [HEAD, text])) + "\n")


def _breakable(key: str) -> str:
    """A key or a path in typewriter letters that may end a line after each dot, underscore or slash."""
    text = re.sub(r"[./=,]|\\_|\\kern0pt\{\}", r"\g<0>\\wordbreak{}", escape(key))
    return rf"\texttt{{{text}}}"


def _short_commit(state: Mapping[str, Any]) -> str:
    """``1a2b3c4``, with a plus when the code differed from the commit."""
    commit = state.get("git")
    return f"{commit[:7]}{'+' if state.get('dirty') else ''}" if commit else "no repository"


def _team(path: Path) -> Any:
    """The team of ``team.yaml``, None without one; ValueError names the member and the field that is missing."""
    team = read_plain(path, path.name, ValueError) if path.exists() else None
    kinds = {"name": str, "share": int | float, "work": list, "reflection": str, "zh": dict | None}
    if not isinstance(team or {}, dict) or not isinstance((team or {}).get("members") or [], list):
        raise ValueError(f"{path.name}: no fields with a list of members, as the file that came with it has")
    if not isinstance((team or {}).get("zh"), dict | None):
        raise ValueError(f'{path.name}: "zh" is no list of fields and what the Chinese editions say instead')
    for number, member in enumerate(team.get("members") or [None] if team else (), 1):
        given = member if isinstance(member, dict) else {}
        if missing := [field for field, kind in kinds.items() if not isinstance(given.get(field) or None, kind)]:
            raise ValueError(f'{path.name}: member {number} has no "{missing[0]}", or none of its kind')
    for one in [team, *team["members"]] if team else ():  # what is left empty in Chinese is said in English
        one["zh"] = {name: said for name, said in (one.get("zh") or {}).items() if said}
    return team


class _Font(NamedTuple):
    family: str
    style: str
    file: Path
    number: int  # of the cut in the file
    characters: str  # ranges of code points, as fontconfig writes them: ``20-7e a0``

    def shows(self, wanted: set[int]) -> set[int]:
        ranges = [[int(end, 16) for end in part.split("-")] for part in self.characters.split()]
        return {code for code in wanted if any(ends[0] <= code <= ends[-1] for ends in ranges)}


@cache
def _installed() -> list[_Font]:
    """Every cut of every font; empty without fontconfig."""
    if not shutil.which("fc-list"):
        return []
    command = ["fc-list", "--format", "%{family[0]}\t%{style[0]}\t%{file}\t%{index}\t%{charset}\n"]
    listing = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    rows = [line.split("\t") for line in sorted(listing.splitlines())]
    return [_Font(family, style, Path(file), int(index) & 0xFFFF, codes) for family, style, file, index, codes in rows]


def fonts_for(text: str) -> list[tuple[_Font, set[int]]]:
    """The fonts that ``text`` needs beside the text font, and the code points that each of them shows."""
    left = {ord(c) for c in set(text) if not IN_TEXT_FONT.match(c) and c.isprintable() and c not in JOINERS}
    plain = [font for font in _installed() if font.style in ("Regular", "Book")]
    others = sorted({font.family for font in plain if font.family.startswith(("Noto Sans ", "Noto Serif "))})
    fonts = []
    for family in dict.fromkeys((*FIRST, *LAST, *others)):
        font = next((font for font in plain if font.family == family), None)
        if font and (shown := font.shows(left)):
            fonts.append((font, shown))
            left -= shown
    return fonts


_TEMPLATE = template("generated.txt", e=escape, key=_breakable, number=latex_number)


def main(arguments: list[str] | None = None) -> int:
    """Command line: compile every document; 0 done, 1 LaTeX failed, 2 there is nothing to quote."""
    parser = argparse.ArgumentParser(prog="python -m judgekit.report.latex", description=main.__doc__)
    parser.add_argument("--run", default=TEXT_RUN, help="the run whose results the text quotes")
    parser.add_argument("--document", choices=(*DOCUMENTS, OWN), action="append", help="one of them (default: all)")
    options = parser.parse_args(arguments)
    try:
        for document in options.document or ((OWN,) if own_title(options.run) else DOCUMENTS):
            print(f"  {document:<11} {build(options.run, document).relative_to(paths.project_root())}", flush=True)
    except (BuildError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1 if isinstance(error, BuildError) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
