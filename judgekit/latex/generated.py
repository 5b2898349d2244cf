r"""The LaTeX that is made at build: the numbers of a run, their owners, provenance, the sample run, the team."""

import json
import re

import yaml

from judgekit import paths
from judgekit.escaping import escape
from judgekit.latex.fonts import chinese_declarations, font_declarations
from judgekit.latex.owners import breakable, hash_lines, owner_lines, short_commit
from judgekit.results import git_state, load_provenance, load_results
from judgekit.results.files import replaced
from judgekit.results.tables import latex_number

HEAD = "% written by judgekit.latex; do not edit"
SAMPLE = "sample"
LISTED = ("cleaning.all.", "training.")  # studies of the sample run that the appendix prints in a list


def write_numbers(run):
    r"""Turn the results of a run into ``\DefineResult`` lines.

    Returns
    -------
    pathlib.Path
        ``outputs/<run>/numbers.tex``.

    Raises
    ------
    ValueError
        If two results files define one key.
    """
    lines = [HEAD]
    for key, row in sorted(load_results(run).items()):
        count = "--" if row["n"] is None else f"{row['n']:,}"
        interval = latex_number(row["interval"]) if row["interval"] else "--"
        lines.append(
            rf"\DefineResult{{{key}}}{{{latex_number(row['text'])}}}{{{interval}}}{{{count}}}% {row['notebook']}"
        )
    return _write(paths.run_folder(run) / "numbers.tex", lines)


def write_generated(run):
    """Write all that a build of ``run`` inputs: its numbers, those of the sample run, and ``report/build/<run>/``.

    Returns
    -------
    pathlib.Path
        The build folder.
    """
    write_numbers(run)
    if run != SAMPLE and load_results(SAMPLE):
        write_numbers(SAMPLE)
    folder = paths.project_root() / "report" / "build" / run
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "provenance.tex", _provenance_lines(run))
    for document in _documents():  # each may end with a list of where its numbers come from
        _write(folder / f"{document}_owners.tex", [HEAD, *owner_lines(run, document)])
    _write(folder / "hashes.tex", [HEAD, *hash_lines(run)])
    _write(folder / "sample.tex", _sample_lines())
    _write(folder / "team.tex", _team_lines(paths.project_root() / "report" / "team.yaml"))
    _write(folder / "chinese_fonts.tex", [chinese_declarations()])
    _write(folder / "fonts.tex", [font_declarations(_foreign_text(run, folder)), *_texts_there(run)])
    return folder


def _write(path, lines):
    text = "\n".join(lines)
    with replaced(path) as temporary:
        temporary.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
    return path


def _documents():
    """Names of the files in ``report/`` that LaTeX can compile; the others are parts of them."""
    files = sorted((paths.project_root() / "report").glob("*.tex"))
    return [path.stem for path in files if r"\documentclass" in path.read_text(encoding="utf-8")]


def _texts_there(run):
    """Comments that name the texts of cases that are there: latexmk would not see that a file has come to be."""
    return [f"% {path.name}" for path in sorted((paths.project_root() / "outputs" / run / "cases").glob("*.tex"))]


FOREIGN = re.compile(r"\\unitext\{([^{}]*)\}")


def _foreign_text(run, folder):
    r"""All that ``\unitext`` may print: the fonts are chosen for its characters. A Chinese edition has its own."""
    root = paths.project_root()
    files = [*(root / "report").glob("*.tex"), *(root / "report" / "sections").glob("*.tex")]
    files += [path for path in folder.glob("*.tex") if path.name != "fonts.tex"]
    made = [(root / "outputs" / name / kind).glob("*.tex") for name in (run, SAMPLE) for kind in ("tables", "cases")]
    files += [path for found in made for path in found]
    return "".join(text for path in files for text in FOREIGN.findall(path.read_text(encoding="utf-8")))


def _provenance_lines(run):
    provenance = load_provenance(run)
    made_at = sorted({short_commit(entry) for entry in provenance.values()})
    shown = ", ".join(made_at[:3]) + (f" and {len(made_at) - 3} more" if len(made_at) > 3 else "")
    return [
        HEAD,
        rf"\newcommand{{\buildcommit}}{{{escape(short_commit(git_state()))}}}",
        rf"\newcommand{{\runcommit}}{{{escape(shown or 'none')}}}",
        rf"\newcommand{{\runnotebooks}}{{{len(provenance)}}}",
    ]


def _number(row):
    interval = f" ({latex_number(row['interval'])})" if row["interval"] else ""
    count = f", n = {row['n']:,}" if row["n"] is not None else ""
    return latex_number(row["text"]), interval, count


def _sample_lines():
    """The appendix about the sample run: its accuracies as a table, its other numbers as a list."""
    results, provenance = load_results(SAMPLE), load_provenance(SAMPLE)
    if not results:
        return [HEAD, r"\nosamplerun"]
    seconds = sum(entry.get("seconds") or 0 for entry in provenance.values())
    commits = ", ".join(sorted({short_commit(entry) for entry in provenance.values()})[:3])
    lines = [HEAD, rf"\samplerun{{{len(results):,}}}{{{len(provenance)}}}{{{seconds / 60:.1f}}}{{{escape(commits)}}}"]
    scores = {tuple(key.split(".")[1:3]): row for key, row in results.items() if _is_score(key)}
    sets = sorted({name for name, _ in scores})
    judges = sorted(
        {judge for _, judge in scores}, key=lambda j: (-max(scores[s, j]["value"] for s in sets if (s, j) in scores), j)
    )
    for start in range(0, len(sets), 2):  # two sets with intervals fill a column
        part = sets[start : start + 2]
        lines += [r"\begin{sampletable}", rf"\begin{{tabular}}{{@{{}}l{'r' * len(part)}@{{}}}}", r"\toprule"]
        lines += ["judge & " + " & ".join(escape(name.removeprefix("sample_")) for name in part) + r" \\", r"\midrule"]
        for judge in judges:
            cells = ["".join(_number(scores[name, judge])[:2]) if (name, judge) in scores else "–" for name in part]
            lines.append(f"{escape(judge)} & {' & '.join(cells)}" + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}", r"\end{sampletable}"]
    listed = [key for key in sorted(results) if key.startswith(LISTED)]
    if listed:
        items = [f"{breakable(key)}~{''.join(_number(results[key]))}" for key in listed]
        lines.append(rf"\samplelist{{{'; '.join(items)}. The others are in \texttt{{outputs/sample/results}}.}}")
    return lines


def _is_score(key):
    parts = key.split(".")
    return len(parts) == 4 and parts[0] == "scores" and parts[1].startswith("sample_") and parts[3] == "accuracy"


def _team_lines(path):
    r"""``\teamtable`` and ``\teamreflections`` from ``report/team.yaml``.

    Raises
    ------
    ValueError
        If a member lacks a name, a share or work; the message names the member and the field.
    """
    if not path.exists():
        note = r"\emph{To be filled in: \texttt{report/team.yaml}.}"
        return [HEAD, rf"\newcommand{{\teamtable}}{{{note}}}", rf"\newcommand{{\teamreflections}}{{{note}}}"]
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
    rows = []
    for member in members:
        work = r"\teamand ".join(escape(item) for item in member["work"])
        rows.append(rf"{escape(member['name'])} & {100 * member['share'] / total:.0f}\,\% & {work} \\")
    return [
        HEAD,
        rf"\newcommand{{\teamtable}}{{{note}\begin{{teamtabular}}" + "\n",
        "\n".join(rows),
        r"\end{teamtabular}}",
        rf"\newcommand{{\teamreflections}}{{{note}" + "\n",
        "\n".join(
            rf"\teammember{{{escape(m['name'])}}}{{{escape(' '.join(m['reflection'].split()))}}}" for m in members
        ),
        "}",
    ]
