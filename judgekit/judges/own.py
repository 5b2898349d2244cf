"""``own/NAME``: a judge of the user's, found among the entry points of installed packages.

A package registers its judge in ``pyproject.toml`` under ``[project.entry-points."judgekit.judges"]``. What runs is
code that the user installed; no file is executed because a name points at it.
"""

from importlib.metadata import entry_points

from judgekit.judges.base import Judge

GROUP = "judgekit.judges"
WANTED = ("name", "fingerprint", "decoding", "batch_size", "sees_item", "judge")


def own_names():
    """Names of the judges that installed packages register."""
    return sorted({f"own/{point.name}" for point in entry_points(group=GROUP)})


def load_own(name):
    """The judge that is registered under a name without ``own/``.

    Returns
    -------
    judgekit.judges.Judge

    Raises
    ------
    LookupError
        If no installed package registers it; the message lists those that are.
    TypeError
        If what is registered cannot be loaded, or lacks a part of the protocol; the message says which.
    """
    found = [point for point in entry_points(group=GROUP) if point.name == name]
    if not found:
        known = ", ".join(own_names()) or "none"
        raise LookupError(f"no installed package registers a judge {name!r} under {GROUP}; registered: {known}")
    try:
        judge = found[0].load()()
    except Exception as wrong:  # code of the user's, which may fail in any way
        said = f"{type(wrong).__name__}: {wrong}"
        raise TypeError(f"the judge own/{name} ({found[0].value}) cannot be loaded: {said}") from wrong
    if not isinstance(judge, Judge):
        missing = next(part for part in WANTED if not hasattr(judge, part))
        raise TypeError(f"the judge own/{name} ({found[0].value}) has no {missing!r} (judgekit.judges.Judge)")
    return judge
