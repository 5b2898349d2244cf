"""``own/NAME``: a judge of the user's, from the entry points of installed packages.

A package registers its judge in ``pyproject.toml`` under ``[project.entry-points."judgekit.judges"]``. What runs is
code that the user installed; no file is executed because a name points at it.
"""

from importlib.metadata import entry_points

from judgekit.judges import Judge, UnknownJudge

_GROUP = "judgekit.judges"
_PARTS = ("name", "fingerprint", "decoding", "batch_size", "sees_item", "judge")


def load_own(name: str) -> Judge:
    """The judge that is registered under a name; UnknownJudge without one, or where it is no judge."""
    points = {f"own/{point.name}": point for point in entry_points(group=_GROUP)}
    if name not in points:
        known = ", ".join(sorted(points)) or "none"
        raise UnknownJudge(
            f"no installed package registers a judge {name.removeprefix('own/')!r} under {_GROUP}; registered: {known}"
        )
    origin = f"{name} ({points[name].value})"
    try:
        judge: Judge = points[name].load()()
    except Exception as wrong:  # code of the user's, which may fail in any way
        raise UnknownJudge(f"the judge {origin} cannot be loaded: {type(wrong).__name__}: {wrong}") from wrong
    if missing := [part for part in _PARTS if not hasattr(judge, part)]:
        raise UnknownJudge(f"the judge {origin} has no {missing[0]!r} (judgekit.judges.Judge)")
    return judge
