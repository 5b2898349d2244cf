"""The LaTeX that is made for a document: the numbers it quotes, their owners, data, team."""

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2
import yaml

from judgekit.data import paths
from judgekit.data.files import replaced
from judgekit.data.provenance import git_state
from judgekit.report.escaping import escape
from judgekit.report.fonts import chinese_declarations, font_declarations
from judgekit.report.quotes import document_files, find_quotes, tex_files
from judgekit.report.results import load_provenance, load_results
from judgekit.report.tables import latex_number

HEAD = "% written by judgekit.report.latex; do not edit"
FOREIGN = re.compile(r"\\unitext\{([^{}]*)\}")
# Results that no notebook makes, and the script of each. `make bench` runs those in tests/bench.
SCRIPTS = {
    "bench": "tests/bench/encoder_speed.py",
    "bench-formats": "tests/bench/formats.py",
    "bench-one_pass": "tests/bench/one_pass_speed.py",
    "bench-rating": "tests/bench/rating_speed.py",
    "scale": "tests/bench/scale.py",
    "scale-faults": "tests/torture.py",
}


# ---------------------------------------------------------------- what is written


def write_numbers(run: str) -> Path:
    r"""``outputs/<run>/numbers.tex``: a ``\DefineResult`` line for each number of the run that a document quotes."""
    keys = {quote.name for quote in find_quotes(tex_files()) if quote.kind == "number"}
    quoted = [(key, row) for key, row in sorted(load_results(run).items()) if key in keys]
    return _write(paths.run_folder(run) / "numbers.tex", [_block("numbers", quoted=quoted)])


def write_generated(run: str) -> Path:
    """Write all that a build of ``run`` inputs; returns its folder ``report/build/<run>/``.

    ValueError where a member of ``report/team.yaml`` lacks a field.
    """
    write_numbers(run)
    report = paths.project_root() / "report"
    folder = report / "build" / run
    folder.mkdir(parents=True, exist_ok=True)
    results, provenance = load_results(run), load_provenance(run)

    def command(owner: str) -> str:
        return f"python {SCRIPTS.get(owner, f'-m judgekit.report.workflow run {owner} {run}')}"

    for path in report.glob("*.tex"):  # each document may end with a list of where its numbers come from
        if r"\documentclass" in path.read_text(encoding="utf-8"):
            quoted = {quote.name for quote in find_quotes(document_files(path.stem)) if quote.kind == "number"}
            by_owner = sorted((results[key]["notebook"], key) for key in quoted & set(results))
            owned = [(owner, [key for _, key in rows]) for owner, rows in groupby(by_owner, key=lambda row: row[0])]
            _write(folder / f"{path.stem}_owners.tex", [_block("owners", owned=owned, command=command)])
    made = {
        "provenance": _block("provenance", build=git_state(), provenance=provenance),
        "team": _block("team", team=_team(report / "team.yaml")),
        "chinese_fonts": "\n".join(chinese_declarations()),
    }
    for name, text in made.items():
        _write(folder / f"{name}.tex", [text])
    outputs = paths.project_root() / "outputs" / run
    cases = sorted(outputs.glob("cases/*.tex"))
    files = {*tex_files(), *folder.glob("*.tex"), *outputs.glob("tables/*.tex"), *cases} - {folder / "fonts.tex"}
    foreign = "".join(text for path in files for text in FOREIGN.findall(path.read_text(encoding="utf-8")))
    # Comments name the texts of cases that are there: latexmk would not see that a file has come to be.
    _write(folder / "fonts.tex", [*font_declarations(foreign), *(f"% {path.name}" for path in cases)])
    return folder


def _write(path: Path, lines: Iterable[str]) -> Path:
    with replaced(path) as temporary:
        temporary.write_text("\n".join([HEAD, *filter(None, lines)]) + "\n", encoding="utf-8")
    return path


def _block(name: str, **words: Any) -> str:
    """A block of ``generated.txt``."""
    words |= {"commit": _short_commit, "commits": _commits}
    return "".join(_TEMPLATE.blocks[name](_TEMPLATE.new_context(words))).removesuffix("\n")


def _breakable(key: str) -> str:
    """A key or a path in typewriter letters that may end a line after each dot, underscore or slash."""
    text = re.sub(r"[./=,]|\\_|\\kern0pt\{\}", r"\g<0>\\wordbreak{}", escape(key))
    return rf"\texttt{{{text}}}"


def _short_commit(state: Mapping[str, Any]) -> str:
    """``1a2b3c4``, with a plus when the code differed from the commit."""
    commit = state.get("git")
    return f"{commit[:7]}{'+' if state.get('dirty') else ''}" if commit else "no repository"


def _commits(provenance: Mapping[str, Mapping[str, Any]]) -> str:
    """The commits that results were made at, three of them by name."""
    made_at = sorted({_short_commit(entry) for entry in provenance.values()}) or ["none"]
    return escape(", ".join(made_at[:3]) + (f" and {len(made_at) - 3} more" if len(made_at) > 3 else ""))


def template(name: str, **filters: Callable[..., str]) -> jinja2.Template:
    """A template of this folder, with signs that neither LaTeX nor Markdown knows; ``filters`` escape its texts."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<#",
        comment_end_string="#>",
    )
    environment.filters.update(filters)
    return environment.get_template(name)


def _team(path: Path) -> Any:
    """The team of ``team.yaml``, None without one; ValueError names the member and the field that is missing."""
    team = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else None
    for number, member in enumerate(team["members"] if team else (), 1):
        if missing := [field for field in ("name", "share", "work", "reflection") if not member.get(field)]:
            raise ValueError(f'{path.name}: member {number} has no "{missing[0]}"')
    return team


_TEMPLATE = template("generated.txt", e=escape, key=_breakable, number=latex_number)
