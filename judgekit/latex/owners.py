"""Who made what a document quotes: the command and the commit of each results file, and the data it was made from."""

import hashlib

from judgekit.escaping import escape
from judgekit.latex.quotes import document_files, find_quotes
from judgekit.results import load_provenance, load_results
from judgekit.sources import sources

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


def command_of(owner, run):
    """What makes a results file, typed in the repository's folder.

    Examples
    --------
    >>> command_of("40_position_bias", "laptop")
    'python -m judgekit.workflow run 40_position_bias laptop'
    >>> command_of("bench", "laptop")
    'python tests/bench/encoder_speed.py'
    """
    return f"python {SCRIPTS[owner]}" if owner in SCRIPTS else f"python -m judgekit.workflow run {owner} {run}"


def short_commit(state):
    """``1a2b3c4``, with a plus when the code differed from the commit; a word when there is no repository."""
    commit = state.get("git")
    return f"{commit[:7]}{'+' if state.get('dirty') else ''}" if commit else "no repository"


def breakable(key):
    """A key or a path in typewriter letters that may end a line after each dot, underscore or slash."""
    text = escape(key)
    for mark in (".", r"\_", "/", "=", ",", r"\kern0pt{}"):
        text = text.replace(mark, mark + r"\wordbreak{}")
    return rf"\texttt{{{text}}}"


def owner_lines(run, document):
    """Each number that a document quotes, under the results file that owns it and the command that makes that."""
    results = load_results(run)
    keys = sorted({q.name for q in find_quotes(document_files(document)) if q.kind == "number" and not q.run})
    owners = {}
    for key in keys:
        if key in results:
            owners.setdefault(results[key]["notebook"], []).append(key)
    lines = []
    for owner, owned in sorted(owners.items()):
        marked = [rf"\hypertarget{{owner:{key}}}{{}}{breakable(key)}" for key in owned]
        command = breakable(command_of(owner, run))
        lines.append(rf"\ownerlist{{{breakable(owner)}}}{{{command}}}{{{'; '.join(marked)}}}")
    return lines


def hash_lines(run):
    """The commit, the seconds and the machine of each results file, and the size and the hash of the data."""
    provenance = load_provenance(run)
    machines = list(dict.fromkeys(_machine(entry) for entry in provenance.values() if entry.get("machine")))
    lines = []
    for owner, entry in provenance.items():
        letter = chr(ord("A") + machines.index(_machine(entry))) if entry.get("machine") else "–"
        seconds = f"{entry['seconds']:,.0f}" if entry.get("seconds") is not None else "–"
        lines.append(rf"\resultsfile{{{breakable(owner)}}}{{{escape(short_commit(entry))}}}{{{seconds}}}{{{letter}}}")
    for i, machine in enumerate(machines):
        lines.append(rf"\resultsmachine{{{chr(ord('A') + i)}}}{{{escape(machine)}}}")
    lines += [rf"\datafile{{{breakable(name)}}}{{{size}}}{{{digest}}}" for name, size, digest in data_rows(provenance)]
    return lines


def _machine(entry):
    machine = entry.get("machine") or {}
    memory = f"{(machine.get('memory_mb') or 0) / 1024:.0f} GiB"
    return f"{machine.get('processor')}, {machine.get('cores')} cores, {memory}, {machine.get('system')}"


def data_rows(provenance):
    """The data files that results were made from, each once.

    Parameters
    ----------
    provenance : dict of str to dict
        From ``load_provenance``.

    Returns
    -------
    list of tuple
        Name, size and first characters of the SHA-256. Of a source with many files one row: how many there are, the
        size of all, and the SHA-256 of the lines ``<SHA-256>  <name>`` of all of them, sorted, as ``sha256sum`` writes
        them.

    Raises
    ------
    ValueError
        If two results were made from different contents of one file.
    """
    hashes, first = {}, {}
    for owner, entry in provenance.items():
        for name, digest in entry["data"].items():
            if hashes.setdefault(name, digest) != digest:
                raise ValueError(f"{name}: {first[name]} and {owner} were made from different contents; run both again")
            first.setdefault(name, owner)
    sizes = {record.name: record.bytes for record in sources()}
    families = {}
    for name in sorted(hashes):
        families.setdefault(name.partition("/")[0], []).append(name)
    rows = []
    for family, names in families.items():
        if len(names) <= LISTED:
            rows += [(name, _size([name], sizes), hashes[name][:SHOWN]) for name in names]
        else:
            listing = "".join(sorted(f"{hashes[name]}  {name}\n" for name in names))
            digest = hashlib.sha256(listing.encode()).hexdigest()[:SHOWN]
            rows.append((f"{family}/ ({len(names)} files)", _size(names, sizes), digest))
    return rows


def _size(names, sizes):
    """Size of some files in kB; a dash where one of them is not registered."""
    if not all(name in sizes for name in names):
        return "–"
    return f"{max(1, round(sum(sizes[name] for name in names) / 1000)):,} kB"
