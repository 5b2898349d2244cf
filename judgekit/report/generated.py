r"""What a document quotes (every ``\result{key}``), and the LaTeX that is made for it: numbers, owners, data, team."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from judgekit.data import paths
from judgekit.data.files import replaced
from judgekit.data.provenance import git_state
from judgekit.data.sources import sources
from judgekit.report.escaping import escape
from judgekit.report.fonts import chinese_declarations, font_declarations
from judgekit.report.results import load_provenance, load_results
from judgekit.report.tables import latex_number, latex_row, tabular

HEAD = "% written by judgekit.report.latex; do not edit"
SAMPLE = "sample"
LISTED = ("cleaning.all.", "training.")  # studies of the sample run that the appendix prints in a list
QUOTE = re.compile(r"\\result(pc|ci|n|table|figure)?(?![A-Za-z])\s*(?:\[[^\]]*\])?\s*\{([^{}]*)\}")
INPUT = re.compile(r"\\(?:input|include)\s*\{([^{}\\]+)\}")
COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
FOREIGN = re.compile(r"\\unitext\{([^{}]*)\}")
SCORE = re.compile(r"scores\.(sample_[^.]*)\.([^.]*)\.accuracy")
# Results that no notebook makes, and the script of each. `make bench` runs those in tests/bench.
SCRIPTS = {
    "bench": "tests/bench/encoder_speed.py",
    "bench-formats": "tests/bench/formats.py",
    "bench-one_pass": "tests/bench/one_pass_speed.py",
    "bench-rating": "tests/bench/rating_speed.py",
    "bench-startup": "tests/bench/startup.py",
    "scale": "tests/bench/scale.py",
    "scale-cluster": "tests/bench/cluster.py",
    "scale-faults": "tests/torture.py",
}
MANY = 8  # files of one source that are listed one by one; of more, one line gives the hash of their list
SHOWN = 12  # characters of a SHA-256


class Quote(NamedTuple):
    """A number, table or figure (``kind``) that a document quotes, and where: ``results.tex:12``."""

    kind: str
    name: str
    place: str


# ---------------------------------------------------------------- what is quoted


def document_files(document: str) -> list[Path]:
    """The LaTeX files of a document: ``report/<document>.tex`` and what it inputs from ``report/``, in order."""
    report = paths.project_root() / "report"
    queue, files = [f"{document}.tex"], []
    while queue:
        path = report / f"{queue.pop(0).removesuffix('.tex')}.tex"
        if path.exists() and path not in files:
            files.append(path)
            queue = INPUT.findall(_code(path)) + queue
    return files


def _code(path: Path) -> str:
    return "\n".join(COMMENT.sub(r"\1", line) for line in path.read_text(encoding="utf-8").splitlines())


def find_quotes(tex_files: Iterable[Path]) -> list[Quote]:
    """Every place in ``tex_files`` that quotes a result; comments are not text."""
    quotes = []
    for path in tex_files:
        text = _code(path)
        for match in QUOTE.finditer(text):
            kind = match[1] if match[1] in ("table", "figure") else "number"
            place = f"{path.name}:{text.count(chr(10), 0, match.start()) + 1}"
            quotes.append(Quote(kind, " ".join(match[2].split()), place))
    return quotes


def _tex_files() -> list[Path]:
    report = paths.project_root() / "report"
    return [*report.glob("*.tex"), *report.glob("sections/*.tex")]


# ---------------------------------------------------------------- what is written


def write_numbers(run: str) -> Path:
    r"""``outputs/<run>/numbers.tex``: a ``\DefineResult`` line for each number of the run that a document quotes."""
    quoted = {quote.name for quote in find_quotes(_tex_files()) if quote.kind == "number"}
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
    report = paths.project_root() / "report"
    folder = report / "build" / run
    folder.mkdir(parents=True, exist_ok=True)
    for path in report.glob("*.tex"):  # each document may end with a list of where its numbers come from
        if r"\documentclass" in path.read_text(encoding="utf-8"):
            _write(folder / f"{path.stem}_owners.tex", _owner_lines(run, path.stem))
    provenance = load_provenance(run)
    commands = {"buildcommit": escape(_short_commit(git_state())), "runcommit": _commits(provenance)}
    commands |= {"runnotebooks": str(len(provenance))}
    _write(folder / "provenance.tex", [rf"\newcommand{{\{name}}}{{{text}}}" for name, text in commands.items()])
    _write(folder / "hashes.tex", _hash_lines(provenance))
    _write(folder / "sample.tex", _sample_lines())
    _write(folder / "team.tex", _team_lines(report / "team.yaml"))
    _write(folder / "chinese_fonts.tex", chinese_declarations())
    outputs = paths.project_root() / "outputs" / run
    cases = sorted(outputs.glob("cases/*.tex"))
    files = {*_tex_files(), *folder.glob("*.tex"), *outputs.glob("tables/*.tex"), *cases} - {folder / "fonts.tex"}
    foreign = "".join(text for path in files for text in FOREIGN.findall(path.read_text(encoding="utf-8")))
    # Comments name the texts of cases that are there: latexmk would not see that a file has come to be.
    _write(folder / "fonts.tex", [*font_declarations(foreign), *(f"% {path.name}" for path in cases)])
    return folder


def _write(path: Path, lines: Iterable[str]) -> Path:
    with replaced(path) as temporary:
        temporary.write_text("\n".join([HEAD, *lines]) + "\n", encoding="utf-8")
    return path


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


def _owner_lines(run: str, document: str) -> list[str]:
    """Each number that a document quotes, under the results file that owns it and the command that makes that."""
    results = load_results(run)
    owners: dict[str, list[str]] = {}
    for key in sorted({q.name for q in find_quotes(document_files(document)) if q.kind == "number"} & set(results)):
        owners.setdefault(results[key]["notebook"], []).append(rf"\hypertarget{{owner:{key}}}{{}}{_breakable(key)}")
    lines = []
    for owner, keys in sorted(owners.items()):
        script = SCRIPTS.get(owner, f"-m judgekit.report.workflow run {owner} {run}")
        lines.append(rf"\ownerlist{{{_breakable(owner)}}}{{{_breakable(f'python {script}')}}}{{{'; '.join(keys)}}}")
    return lines


def _hash_lines(provenance: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The commit, the seconds and the machine of each results file, and the size and the hash of the data."""
    lines = []
    letters: dict[str, str] = {}
    for owner, entry in provenance.items():
        machine, letter = entry.get("machine"), "–"
        if machine:
            memory = f"{(machine.get('memory_mb') or 0) / 1024:.0f} GiB"
            words = f"{machine.get('processor')}, {machine.get('cores')} cores, {memory}, {machine.get('system')}"
            letter = letters.setdefault(words, chr(ord("A") + len(letters)))
        seconds = f"{entry['seconds']:,.0f}" if entry.get("seconds") is not None else "–"
        lines.append(rf"\resultsfile{{{_breakable(owner)}}}{{{escape(_short_commit(entry))}}}{{{seconds}}}{{{letter}}}")
    lines += [rf"\resultsmachine{{{letter}}}{{{escape(machine)}}}" for machine, letter in letters.items()]
    return lines + [rf"\datafile{{{_breakable(name)}}}{{{size}}}{{{sha}}}" for name, size, sha in data_rows(provenance)]


def data_rows(provenance: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """Name, size and first characters of the SHA-256 of each data file that results were made from.

    Of a source with many files one row: how many there are, the size of all, and the SHA-256 of the lines
    ``<SHA-256>  <name>`` of all of them, sorted, as ``sha256sum`` writes them. ValueError where two results were made
    from different contents of one file.
    """
    hashes: dict[str, tuple[str, str]] = {}
    for owner, entry in provenance.items():
        for name, digest in entry["data"].items():
            known, first = hashes.setdefault(name, (digest, owner))
            if known != digest:
                raise ValueError(f"{name}: {first} and {owner} were made from different contents; run both again")
    sizes = {record.name: record.bytes for record in sources()}
    rows = []
    for family, members in groupby(sorted(hashes), key=lambda name: name.partition("/")[0]):
        names = list(members)
        for part in [names] if len(names) > MANY else [[name] for name in names]:
            size = f"{max(1, round(sum(sizes[n] for n in part) / 1000)):,} kB" if set(part) <= set(sizes) else "–"
            title, digest = part[0], hashes[part[0]][0]
            if len(part) > 1:
                listing = "".join(sorted(f"{hashes[name][0]}  {name}\n" for name in part))
                title, digest = f"{family}/ ({len(part)} files)", hashlib.sha256(listing.encode()).hexdigest()
            rows.append((title, size, digest[:SHOWN]))
    return rows


def _number(row: Mapping[str, Any]) -> str:
    return latex_number(row["text"]) + (f" ({latex_number(row['interval'])})" if row["interval"] else "")


def _sample_lines() -> list[str]:
    """The appendix about the sample run: its accuracies as a table, its other numbers as a list."""
    results, provenance = load_results(SAMPLE), load_provenance(SAMPLE)
    if not results:
        return [r"\nosamplerun"]
    minutes = sum(entry.get("seconds") or 0 for entry in provenance.values()) / 60
    lines = [rf"\samplerun{{{len(results):,}}}{{{len(provenance)}}}{{{minutes:.1f}}}{{{_commits(provenance)}}}"]
    scores = {match.groups(): row for key, row in results.items() if (match := SCORE.fullmatch(key))}
    sets = sorted({name for name, _ in scores})
    judges = sorted({judge for _, judge in scores})
    judges.sort(key=lambda judge: -max(row["value"] for (_, other), row in scores.items() if other == judge))
    for start in range(0, len(sets), 2):  # two sets with intervals fill a column
        part = sets[start : start + 2]
        head = " & ".join(["judge", *(escape(name.removeprefix("sample_")) for name in part)]) + r" \\"
        cells = [[_number(scores[one, judge]) if (one, judge) in scores else "–" for one in part] for judge in judges]
        rows = [latex_row([escape(judge), *row]) for judge, row in zip(judges, cells, strict=True)]
        lines += [r"\begin{sampletable}", tabular("l" + "r" * len(part), [head], rows), r"\end{sampletable}"]
    listed = [(key, row) for key, row in sorted(results.items()) if key.startswith(LISTED)]
    counted = [_number(row) + (f", n = {row['n']:,}" if row["n"] is not None else "") for _, row in listed]
    items = "; ".join(f"{_breakable(key)}~{count}" for (key, _), count in zip(listed, counted, strict=True))
    if items:
        lines.append(rf"\samplelist{{{items}. The others are in \texttt{{outputs/sample/results}}.}}")
    return lines


def _team_lines(path: Path) -> list[str]:
    r"""``\teamtable`` and ``\teamreflections``; ValueError names the member and the field that is missing."""
    if not path.exists():
        note = r"{\emph{To be filled in: \texttt{report/team.yaml}.}}"
        return [rf"\newcommand{{\teamtable}}{note}", rf"\newcommand{{\teamreflections}}{note}"]
    team = yaml.safe_load(path.read_text(encoding="utf-8"))
    rows, words = [], []
    for i, member in enumerate(team["members"], 1):
        if missing := [field for field in ("name", "share", "work", "reflection") if not member.get(field)]:
            raise ValueError(f'{path.name}: member {i} has no "{missing[0]}"')
        name, work = escape(member["name"]), r"\teamand ".join(escape(item) for item in member["work"])
        share = member["share"] / sum(other.get("share", 0) for other in team["members"])
        rows.append(rf"{name} & {100 * share:.0f}\,\% & {work} \\")
        words.append(rf"\teammember{{{name}}}{{{escape(' '.join(member['reflection'].split()))}}}")
    note = r"\teamexample " if team.get("example") else ""
    table = [rf"\newcommand{{\teamtable}}{{{note}\begin{{teamtabular}}", *rows, r"\end{teamtabular}}"]
    return [*table, rf"\newcommand{{\teamreflections}}{{{note}", *words, "}"]
