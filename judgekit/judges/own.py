"""``own/NAME``: a judge of the user's, from the entry points of installed packages.

A package registers its judge in ``pyproject.toml`` under ``[project.entry-points."judgekit.judges"]``. What runs is
code that the user installed; no file is executed because a name points at it.
"""

from importlib.metadata import entry_points

from judgekit.judges.base import Judge

_GROUP = "judgekit.judges"
_PARTS = ("name", "fingerprint", "decoding", "batch_size", "sees_item", "judge")


def load_own(name: str) -> Judge:
    """The judge registered under a name without ``own/``: LookupError without one, TypeError where it is no judge."""
    points = {point.name: point for point in entry_points(group=_GROUP)}
    if name not in points:
        known = ", ".join(sorted(f"own/{registered}" for registered in points)) or "none"
        raise LookupError(f"no installed package registers a judge {name!r} under {_GROUP}; registered: {known}")
    origin = f"own/{name} ({points[name].value})"
    try:
        judge: Judge = points[name].load()()
    except Exception as wrong:  # code of the user's, which may fail in any way
        raise TypeError(f"the judge {origin} cannot be loaded: {type(wrong).__name__}: {wrong}") from wrong
    if missing := [part for part in _PARTS if not hasattr(judge, part)]:
        raise TypeError(f"the judge {origin} has no {missing[0]!r} (judgekit.judges.Judge)")
    return judge
