"""``own/NAME``: a judge of the user's, from the entry points of installed packages.

A package registers its judge in ``pyproject.toml`` under ``[project.entry-points."judgekit.judges"]``. What runs is
code that the user installed; no file is executed because a name points at it.
"""

from importlib.metadata import entry_points
from typing import Any

from judgekit.judges.base import POSITIONS, WRONG_VERDICT, Judge, Request
from judgekit.records import Reply

_GROUP = "judgekit.judges"
_WANTED = ("name", "fingerprint", "decoding", "batch_size", "sees_item", "judge")


class _Checked:
    """A judge of the user's whose verdicts are looked at before they are kept."""

    def __init__(self, judge: Judge) -> None:
        self._own = judge
        self.name, self.fingerprint, self.decoding = judge.name, judge.fingerprint, judge.decoding
        self.batch_size, self.sees_item = judge.batch_size, judge.sees_item

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_own"), name)  # also while it is unpickled

    def judge(self, requests: list[Request]) -> list[Reply]:
        """The replies of the judge; ValueError where a verdict is not by position."""
        replies = self._own.judge(requests)
        for reply in replies:
            if reply.verdict not in POSITIONS:
                raise ValueError(WRONG_VERDICT.format(self.name, reply.verdict))
        return replies


def load_own(name: str) -> Judge:
    """The judge that is registered under a name without ``own/``.

    LookupError where no installed package registers it (the message lists those that are), TypeError where what is
    registered cannot be loaded or lacks a part of the protocol (the message says which).
    """
    points = {point.name: point for point in entry_points(group=_GROUP)}
    if name not in points:
        known = ", ".join(sorted(f"own/{registered}" for registered in points)) or "none"
        raise LookupError(f"no installed package registers a judge {name!r} under {_GROUP}; registered: {known}")
    origin = f"own/{name} ({points[name].value})"
    try:
        judge = points[name].load()()
    except Exception as wrong:  # code of the user's, which may fail in any way
        raise TypeError(f"the judge {origin} cannot be loaded: {type(wrong).__name__}: {wrong}") from wrong
    if not isinstance(judge, Judge):
        missing = next(part for part in _WANTED if not hasattr(judge, part))
        raise TypeError(f"the judge {origin} has no {missing!r} (judgekit.judges.Judge)")
    return _Checked(judge)
