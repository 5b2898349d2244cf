"""The files that hold a run's numbers: one per notebook, each key with one owner."""

import glob
import json
import os
import re
from contextlib import contextmanager

from judgekit import paths
from judgekit.results.numbers import Number, checked_name
from judgekit.results.provenance import git_state, machine, process_age, versions

SCHEMA = 1
KEY = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+){1,4}")
# Sets and judges of a reproduction have no human label on their side: no key may call a number of theirs a score.
UNSCORED = re.compile(r"(scores|compare)\.([^.]*_repro\..*|[^.]*\.([^.]*_repro|[^.]*_repro_vs_[^.]*)\..*)")

# Labels of the same set went into what was cross-fitted: the study's name must say so.
CROSSFITTED = re.compile(r"(?![^.]*_crossfit\.).*crossfit.*")


def save_results(run, notebook, numbers, data=None, seconds=None, variant=None):
    """Write the numbers of one notebook to ``outputs/<run>/results/<notebook>[-<variant>].json``.

    Parameters
    ----------
    run, notebook : str
        Names, e.g. ``"laptop"`` and ``"40_position_bias"``.
    numbers : dict of str to Number
        Keys are ``study.part[.part].quantity``: lower-case letters, digits and ``_``, two to five parts.
    data : dict of str to str, optional
        SHA-256 of the upstream files that were read, by source.
    seconds : float, optional
        Wall-clock seconds that the notebook took; the age of this process (its kernel) by default.
    variant : str, optional
        Set when one notebook is run in variants.

    Returns
    -------
    pathlib.Path
        The file. It is left as it was when numbers, data and versions are what it holds already: then its commit
        is the one at which these numbers were first made.

    Raises
    ------
    ValueError
        If a key is malformed, another results file of the run owns it, or it is a score (or a paired difference of
        scores) of a set or judge named ``..._repro``, for which there are no labels, or it names something
        cross-fitted outside of a study ``..._crossfit``.
    TypeError
        If a value is not a ``Number``.
    """
    stem = checked_name(notebook) + (f"-{checked_name(variant)}" if variant else "")
    rows = {}
    for key, number in numbers.items():
        if not KEY.fullmatch(key):
            raise ValueError(f"key {key!r}: write study.part[.part].quantity in lower case, digits and '_'")
        if UNSCORED.fullmatch(key):
            raise ValueError(f"key {key!r}: nobody labelled what '..._repro' judged, so nothing of it is a score")
        if CROSSFITTED.fullmatch(key):
            raise ValueError(f"key {key!r}: what was cross-fitted is quoted as '<study>_crossfit...', beside no score")
        if not isinstance(number, Number):
            raise TypeError(f"{key} is {type(number).__name__}: wrap it, Number(value, low, high, n, spec)")
        rows[key] = number.row()
    if not rows:
        raise ValueError(f"{stem} saves no numbers")
    folder = paths.run_folder(run, "results")
    path = folder / f"{stem}.json"
    for other in sorted(folder.glob("*.json")):
        if other != path and (shared := sorted(set(rows) & set(_read(other)["numbers"]))):
            raise ValueError(f"{shared[0]} is owned by {other.name} already; {path.name} must not define it")
    seconds = round(float(process_age() if seconds is None else seconds), 1)
    provenance = {"data": dict(data or {}), "seconds": seconds, "versions": versions(), "machine": machine()}
    provenance |= git_state()
    document = {"schema": SCHEMA, "run": run, "numbers": rows, "provenance": provenance}
    if not (path.exists() and _same(_read(path), document)):
        text = json.dumps(document, indent=1, sort_keys=True, allow_nan=False)
        with replaced(path) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")
    return path


def _same(old, new):
    """Whether a file may stay: equal but for the seconds, the machine and the commit, and made from committed code."""
    volatile = {"seconds", "machine", "git", "dirty"}
    keep = [{k: v for k, v in d["provenance"].items() if k not in volatile} for d in (old, new)]
    settled = old["provenance"].get("dirty") is False or new["provenance"]["dirty"] is not False
    return settled and keep[0] == keep[1] and all(old.get(k) == new[k] for k in ("schema", "run", "numbers"))


def load_results(run):
    """All numbers of a run, by key.

    Returns
    -------
    dict of str to dict
        The rows of ``Number.row`` with the ``notebook`` (and variant) that owns each; empty when the run has none.

    Raises
    ------
    ValueError
        If two files define one key, or a file is not a results file.
    """
    numbers = {}
    for path in sorted((paths.project_root() / "outputs" / run / "results").glob("*.json")):
        for key, row in _read(path)["numbers"].items():
            if key in numbers:
                raise ValueError(f"{key} is defined by {numbers[key]['notebook']}.json and {path.name}")
            numbers[key] = row | {"notebook": path.stem}
    return numbers


def load_provenance(run):
    """Provenance of a run's results by notebook; empty when the run has none."""
    folder = paths.project_root() / "outputs" / run / "results"
    return {path.stem: _read(path)["provenance"] for path in sorted(folder.glob("*.json"))}


def _read(path):
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not a results file: {error}") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA or "numbers" not in document:
        raise ValueError(f"{path} is not a results file of schema {SCHEMA}")
    return document


@contextmanager
def replaced(path):
    """A temporary path beside ``path`` that takes its name when the block ends well.

    Its own name ends in ``.part``, so that what a killed process leaves is never read for a file of its kind; the next
    writer of the same file removes it.
    """
    for left in path.parent.glob(f".*-{glob.escape(path.name)}.part"):
        if not is_running(left.name[1:].partition("-")[0]):
            left.unlink(missing_ok=True)
    temporary = path.with_name(f".{os.getpid()}-{path.name}.part")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def is_running(pid):
    """Whether a process with this number, as text, runs on this machine; what is no number counts as running."""
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (ValueError, OverflowError, PermissionError):
        return True
    return True
