r"""The LaTeX that is made at build: the numbers of a run, their owners, provenance, the sample run, the team."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from judgekit.data import paths
from judgekit.data.files import replaced
from judgekit.data.provenance import git_state
from judgekit.report.escaping import escape
from judgekit.report.latex.fonts import chinese_declarations, font_declarations
from judgekit.report.latex.owners import breakable, hash_lines, owner_lines, short_commit
from judgekit.report.latex.quotes import find_quotes
from judgekit.report.results import load_provenance, load_results
from judgekit.report.tables import latex_number

HEAD = "% written by judgekit.report.latex; do not edit"
SAMPLE = "sample"
LISTED = ("cleaning.all.", "training.")  # studies of the sample run that the appendix prints in a list
FOREIGN = re.compile(r"\\unitext\{([^{}]*)\}")
SCORE = re.compile(r"scores\.(sample_[^.]*)\.([^.]*)\.accuracy")


def write_numbers(run: str) -> Path:
    r"""``outputs/<run>/numbers.tex``: a ``\DefineResult`` line for each number of the run that a document quotes.

    ValueError where two results files define one key.
    """
    quoted = {q.name for q in find_quotes(_tex_files()) if q.kind == "number" and q.run in (None, run)}
    lines = []
    for key, row in sorted(load_results(run).items()):
        if key in quoted:
            interval = latex_number(row["interval"]) if row["interval"] else "--"
            count = "--" if row["n"] is None else f"{row['n']:,}"
            fields = f"{{{key}}}{{{latex_number(row['text'])}}}{{{interval}}}{{{count}}}"
            lines.append(rf"\DefineResult{fields}% {row['notebook']}")
    return _write(paths.run_folder(run) / "numbers.tex", lines)


def write_generated(run: str) -> Path:
    """Write all that a build of ``run`` inputs; returns its folder ``report/build/<run>/``.

    ValueError where a member of ``report/team.yaml`` lacks a field, or results were made from different data.
    """
    write_numbers(run)
    if run != SAMPLE and load_results(SAMPLE):
        write_numbers(SAMPLE)
    report = paths.project_root() / "report"
    folder = report / "build" / run
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "provenance.tex", _provenance_lines(run))
    for path in sorted(report.glob("*.tex")):  # each document may end with a list of where its numbers come from
        if r"\documentclass" in path.read_text(encoding="utf-8"):
            _write(folder / f"{path.stem}_owners.tex", owner_lines(run, path.stem))
    _write(folder / "hashes.tex", hash_lines(run))
    _write(folder / "sample.tex", _sample_lines())
    _write(folder / "team.tex", _team_lines(report / "team.yaml"))
    _write(folder / "chinese_fonts.tex", chinese_declarations())
    # Comments name the texts of cases that are there: latexmk would not see that a file has come to be.
    cases = sorted((paths.project_root() / "outputs" / run / "cases").glob("*.tex"))
    _write(
        folder / "fonts.tex", [*font_declarations(_foreign_text(run, folder)), *(f"% {path.name}" for path in cases)]
    )
    return folder


def _write(path: Path, lines: Iterable[str]) -> Path:
    with replaced(path) as temporary:
        temporary.write_text("\n".join([HEAD, *lines]) + "\n", encoding="utf-8")
    return path


def _tex_files() -> list[Path]:
    report = paths.project_root() / "report"
    return [*report.glob("*.tex"), *report.glob("sections/*.tex")]


def _foreign_text(run: str, folder: Path) -> str:
    r"""All that ``\unitext`` may print: the fonts are chosen for its characters. A Chinese edition has its own."""
    files = [*_tex_files(), *(path for path in folder.glob("*.tex") if path.name != "fonts.tex")]
    for name in (run, SAMPLE):
        outputs = paths.project_root() / "outputs" / name
        files += [*outputs.glob("tables/*.tex"), *outputs.glob("cases/*.tex")]
    return "".join(text for path in files for text in FOREIGN.findall(path.read_text(encoding="utf-8")))


def _commits(provenance: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return sorted({short_commit(entry) for entry in provenance.values()})


def _provenance_lines(run: str) -> list[str]:
    provenance = load_provenance(run)
    made_at = _commits(provenance)
    shown = ", ".join(made_at[:3]) + (f" and {len(made_at) - 3} more" if len(made_at) > 3 else "")
    return [
        rf"\newcommand{{\buildcommit}}{{{escape(short_commit(git_state()))}}}",
        rf"\newcommand{{\runcommit}}{{{escape(shown or 'none')}}}",
        rf"\newcommand{{\runnotebooks}}{{{len(provenance)}}}",
    ]


def _number(row: Mapping[str, Any]) -> str:
    return latex_number(row["text"]) + (f" ({latex_number(row['interval'])})" if row["interval"] else "")


def _sample_lines() -> list[str]:
    """The appendix about the sample run: its accuracies as a table, its other numbers as a list."""
    results, provenance = load_results(SAMPLE), load_provenance(SAMPLE)
    if not results:
        return [r"\nosamplerun"]
    minutes = sum(entry.get("seconds") or 0 for entry in provenance.values()) / 60
    commits = escape(", ".join(_commits(provenance)[:3]))
    lines = [rf"\samplerun{{{len(results):,}}}{{{len(provenance)}}}{{{minutes:.1f}}}{{{commits}}}"]
    scores = {match.groups(): row for key, row in results.items() if (match := SCORE.fullmatch(key))}
    sets = sorted({name for name, _ in scores})
    best = {judge: max(row["value"] for key, row in scores.items() if key[1] == judge) for _, judge in scores}
    for start in range(0, len(sets), 2):  # two sets with intervals fill a column
        part = sets[start : start + 2]
        lines += [r"\begin{sampletable}", rf"\begin{{tabular}}{{@{{}}l{'r' * len(part)}@{{}}}}", r"\toprule"]
        lines += ["judge & " + " & ".join(escape(name.removeprefix("sample_")) for name in part) + r" \\", r"\midrule"]
        for judge in sorted(best, key=lambda judge: (-best[judge], judge)):
            cells = [_number(scores[name, judge]) if (name, judge) in scores else "–" for name in part]
            lines.append(f"{escape(judge)} & {' & '.join(cells)}" + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}", r"\end{sampletable}"]
    items = []
    for key, row in sorted(results.items()):
        if key.startswith(LISTED):
            items.append(f"{breakable(key)}~{_number(row)}" + (f", n = {row['n']:,}" if row["n"] is not None else ""))
    if items:
        lines.append(rf"\samplelist{{{'; '.join(items)}. The others are in \texttt{{outputs/sample/results}}.}}")
    return lines


def _team_lines(path: Path) -> list[str]:
    r"""``\teamtable`` and ``\teamreflections``; ValueError names the member and the field that is missing."""
    if not path.exists():
        note = r"\emph{To be filled in: \texttt{report/team.yaml}.}"
        return [rf"\newcommand{{\teamtable}}{{{note}}}", rf"\newcommand{{\teamreflections}}{{{note}}}"]
    team = yaml.safe_load(path.read_text(encoding="utf-8"))
    members = team.get("members") if isinstance(team, dict) else None
    if not members:
        raise ValueError(f"{path.name}: no 'members'")
    for i, member in enumerate(members, 1):
        for field in ("name", "share", "work", "reflection"):
            if not member.get(field):
                raise ValueError(f"{path.name}: member {i} has no {json.dumps(field)}")
    total = sum(member["share"] for member in members)
    note = r"\teamexample " if team.get("example") else ""
    rows, words = [], []
    for member in members:
        name, work = escape(member["name"]), r"\teamand ".join(escape(item) for item in member["work"])
        rows.append(rf"{name} & {100 * member['share'] / total:.0f}\,\% & {work} \\")
        words.append(rf"\teammember{{{name}}}{{{escape(' '.join(member['reflection'].split()))}}}")
    table = [rf"\newcommand{{\teamtable}}{{{note}\begin{{teamtabular}}", *rows, r"\end{teamtabular}}"]
    return [*table, rf"\newcommand{{\teamreflections}}{{{note}", *words, "}"]
