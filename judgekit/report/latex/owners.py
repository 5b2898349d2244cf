"""Who made what a document quotes: the command and the commit of each results file, and the data it was made from."""

import hashlib
from collections.abc import Mapping
from typing import Any

from judgekit.data.sources import sources
from judgekit.report.escaping import escape
from judgekit.report.latex.quotes import document_files, find_quotes
from judgekit.report.results import load_provenance, load_results

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
LISTED = 8  # files of one source that are listed one by one; of more, one line gives the hash of their list
SHOWN = 12  # characters of a SHA-256


def short_commit(state: Mapping[str, Any]) -> str:
    """``1a2b3c4``, with a plus when the code differed from the commit; a word when there is no repository."""
    commit = state.get("git")
    return f"{commit[:7]}{'+' if state.get('dirty') else ''}" if commit else "no repository"


def breakable(key: str) -> str:
    """A key or a path in typewriter letters that may end a line after each dot, underscore or slash."""
    text = escape(key)
    for mark in (".", r"\_", "/", "=", ",", r"\kern0pt{}"):
        text = text.replace(mark, mark + r"\wordbreak{}")
    return rf"\texttt{{{text}}}"


def owner_lines(run: str, document: str) -> list[str]:
    """Each number that a document quotes, under the results file that owns it and the command that makes that."""
    results = load_results(run)
    quoted = {q.name for q in find_quotes(document_files(document)) if q.kind == "number" and not q.run}
    owners: dict[str, list[str]] = {}
    for key in sorted(quoted & set(results)):
        owners.setdefault(results[key]["notebook"], []).append(rf"\hypertarget{{owner:{key}}}{{}}{breakable(key)}")
    lines = []
    for owner, keys in sorted(owners.items()):
        script = SCRIPTS.get(owner, f"-m judgekit.report.workflow run {owner} {run}")
        lines.append(rf"\ownerlist{{{breakable(owner)}}}{{{breakable(f'python {script}')}}}{{{'; '.join(keys)}}}")
    return lines


def hash_lines(run: str) -> list[str]:
    """The commit, the seconds and the machine of each results file, and the size and the hash of the data."""
    provenance = load_provenance(run)
    known = [_machine(entry["machine"]) for entry in provenance.values() if entry.get("machine")]
    letters = {machine: chr(ord("A") + i) for i, machine in enumerate(dict.fromkeys(known))}
    lines = []
    for owner, entry in provenance.items():
        letter = letters[_machine(entry["machine"])] if entry.get("machine") else "–"
        seconds = f"{entry['seconds']:,.0f}" if entry.get("seconds") is not None else "–"
        lines.append(rf"\resultsfile{{{breakable(owner)}}}{{{escape(short_commit(entry))}}}{{{seconds}}}{{{letter}}}")
    lines += [rf"\resultsmachine{{{letter}}}{{{escape(machine)}}}" for machine, letter in letters.items()]
    return lines + [rf"\datafile{{{breakable(name)}}}{{{size}}}{{{sha}}}" for name, size, sha in data_rows(provenance)]


def _machine(machine: Mapping[str, Any]) -> str:
    memory = f"{(machine.get('memory_mb') or 0) / 1024:.0f} GiB"
    return f"{machine.get('processor')}, {machine.get('cores')} cores, {memory}, {machine.get('system')}"


def data_rows(provenance: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """Name, size and first characters of the SHA-256 of each data file that results were made from.

    Of a source with many files one row: how many there are, the size of all, and the SHA-256 of the lines
    ``<SHA-256>  <name>`` of all of them, sorted, as ``sha256sum`` writes them. ValueError where two results were made
    from different contents of one file.
    """
    hashes: dict[str, str] = {}
    first: dict[str, str] = {}
    for owner, entry in provenance.items():
        for name, digest in entry["data"].items():
            if hashes.setdefault(name, digest) != digest:
                raise ValueError(f"{name}: {first[name]} and {owner} were made from different contents; run both again")
            first.setdefault(name, owner)
    sizes = {record.name: record.bytes for record in sources()}

    def size(names: list[str]) -> str:
        known = [sizes[name] for name in names if name in sizes]
        return f"{max(1, round(sum(known) / 1000)):,} kB" if len(known) == len(names) else "–"

    families: dict[str, list[str]] = {}
    for name in sorted(hashes):
        families.setdefault(name.partition("/")[0], []).append(name)
    rows = []
    for family, names in families.items():
        if len(names) <= LISTED:
            rows += [(name, size([name]), hashes[name][:SHOWN]) for name in names]
        else:
            listing = "".join(sorted(f"{hashes[name]}  {name}\n" for name in names))
            digest = hashlib.sha256(listing.encode()).hexdigest()[:SHOWN]
            rows.append((f"{family}/ ({len(names)} files)", size(names), digest))
    return rows
