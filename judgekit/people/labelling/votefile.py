"""A durable file of people's votes: one JSON line per vote, on disk before anybody is told that it is stored.

Later lines supersede earlier ones; a line whose label is null takes a vote back. Nothing is ever rewritten, so a
process that is killed loses at most the line it was writing, which was never confirmed.
"""

import errno
import json
import math
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from filelock import lock_descriptor

from judgekit.data.pairfile.places import Place, kind_of, names_of
from judgekit.data.votes import Votes, votes_from_long
from judgekit.records import LABELS, ORDERS

_REQUIRED = ("item_id", "annotator", "label", "shown", "seconds", "at")
_LONGEST_LINE = 65_536  # bytes; a vote takes some two hundred
_NAME = re.compile(r"[^\W_][\w.@-]{0,63}")
_NAME_RULE = "use 1 to 64 letters, digits and . _ @ -, beginning with a letter or a digit"


class VoteFileBusy(OSError):
    """Another process (or another page of this one) writes this file."""


class TornLine(UserWarning):
    """The last line of a file of votes was not written to its end; it was never confirmed to anybody."""


@dataclass(frozen=True, slots=True)
class Vote:
    """One line of the file."""

    item_id: str
    annotator: str
    label: str | None  # in the item's own order whatever was shown; None takes the vote on the item back
    shown: str  # "ab" or "ba": which response stood first
    seconds: float | None  # from the first showing to the vote
    at: str  # date and time with offset, ISO 8601
    pair: str | None = None  # short hash of the texts that were shown; a file without it is read all the same


def checked_annotator(name: object) -> str:
    """An annotator's name, which may stand in a file, an address and a header; ValueError where it may not.

    >>> checked_annotator("annotator-1")
    'annotator-1'
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"annotator {name!r:.80}: {_NAME_RULE}")
    return name


class VoteFile:
    """A file of votes opened for writing, by this process alone; made if absent.

    A last line that was torn by a crash is cut off, with a warning `TornLine`. `VoteFileBusy` if it is open elsewhere
    already: the lock is the file's own and goes with its process, also when that is killed. `PairFileError` names
    file, line and field if a line is no vote; the file is left as it was then.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_file():
            raise Place(self.path).error("is not a regular file")
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        try:
            self._descriptor: int | None = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise Place(self.path).error(f"cannot be written to ({error.strerror or error})") from None
        try:
            if not lock_descriptor(self._descriptor, blocking=False):
                raise VoteFileBusy(
                    f"{self.path}: votes are being written to this file already; "
                    "stop the other page, or name another file"
                )
            self.lines, self._size = self._repaired(self._descriptor)
            _sync_folder(self.path.parent)
        except BaseException:
            self.close()
            raise

    def _repaired(self, descriptor: int) -> tuple[list[Vote], int]:
        """All votes in order and the size in bytes, once the end of the file is in order."""
        with open(descriptor, "rb", closefd=False) as stream:
            content = stream.read()
        votes, whole = _parse(content, self.path, "cut off")
        if whole < len(content):
            os.ftruncate(descriptor, whole)
        elif content and not content.endswith(b"\n"):  # an editor left the last line end out
            whole += os.write(descriptor, b"\n")
        os.fsync(descriptor)
        return votes, whole

    def append(self, vote: Vote) -> None:
        """Write one vote; when this returns it is on disk.

        OSError if it could not be written (disk full), or another program moved, replaced or wrote to the file, which
        is then as it was before; PairFileError if it could not be read again.
        """
        fields = {name: value for name, value in asdict(vote).items() if name in _REQUIRED or value is not None}
        line = json.dumps(fields).encode() + b"\n"  # ASCII, so that an item's id may hold anything
        _vote_in(line, Place(Path("a vote")))
        descriptor = self._checked_descriptor()
        try:
            written = os.write(descriptor, line)
            if written != len(line):
                raise OSError(errno.ENOSPC, f"{written} of {len(line)} bytes were written", str(self.path))
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, self._size)
            raise
        self._size += len(line)
        self.lines.append(vote)

    def _checked_descriptor(self) -> int:
        """The open file; OSError where a line would be lost, or stand behind half a line."""
        if self._descriptor is None:
            raise OSError(errno.EBADF, "the file of votes is closed", str(self.path))
        opened = os.fstat(self._descriptor)
        try:
            in_place = os.path.samestat(opened, os.stat(self.path))
        except FileNotFoundError:
            in_place = False
        if not in_place:
            raise OSError(errno.ESTALE, "the file of votes was moved, deleted or replaced", str(self.path))
        if opened.st_size != self._size:
            raise OSError(errno.EBUSY, "the file of votes was changed by another program", str(self.path))
        return self._descriptor

    def close(self) -> None:
        """Close the file and its lock; it can be opened again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_lines(path: str | Path) -> list[Vote]:
    """All lines of a file of votes, also those that were superseded; the file may be open elsewhere.

    PairFileError names file, line and field if there is no such file or a line is no vote; a last line that was not
    written to its end is left out, with a warning `TornLine`.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            raise Place(path).error("is not a regular file")
        content = path.read_bytes()
    except FileNotFoundError:
        raise Place(path).error("there is no such file") from None
    except OSError as error:
        raise Place(path).error(f"cannot be read ({error.strerror or error})") from None
    return _parse(content, path, "left out")[0]


def read_votes(path: str | Path, clusters: Mapping[str, str] | None = None) -> Votes:
    """The votes that stand in a file, items and annotators in the order of their first vote.

    ``clusters``: item to its prompt, ``{pair.item_id: pair.cluster for pair in pairs}``; by default every item is its
    own. PairFileError as `read_lines`, also if an item with a vote is not in ``clusters``.
    """
    rows = []
    for (item, annotator), vote in standing(read_lines(path)).items():
        if clusters is not None and item not in clusters:
            raise Place(Path(path)).error(f"{annotator} voted on {item!r:.80}, which is none of the pairs", "item_id")
        rows.append((item, annotator, vote.label, item if clusters is None else clusters[item]))
    return votes_from_long(rows)[0]


def standing(lines: Iterable[Vote]) -> dict[tuple[str, str], Vote]:
    """The votes that stand after lines of a file, by item and annotator, in the order in which they were cast."""
    votes: dict[tuple[str, str], Vote] = {}
    for vote in lines:
        votes.pop((vote.item_id, vote.annotator), None)
        if vote.label is not None:
            votes[vote.item_id, vote.annotator] = vote
    return votes


def _parse(content: bytes, path: Path, outcome: str) -> tuple[list[Vote], int]:
    """The votes in a file's bytes, and how many bytes are whole lines; warns of a torn last one, with its outcome."""
    *lines, last = content.split(b"\n")
    votes = [_vote_in(line, Place(path, n)) for n, line in enumerate(lines, 1) if line.strip()]
    if not last.strip():
        return votes, len(content)
    try:  # a part of an object never is an object: if it can be read, only the line end is missing
        json.loads(last)
    except ValueError:
        message = f"({len(last)} bytes, never confirmed) and is {outcome}; the {len(votes)} lines before it are whole"
        warnings.warn(f"{path}: the last line was not written to its end {message}", TornLine, stacklevel=3)
        return votes, len(content) - len(last)
    return [*votes, _vote_in(last, Place(path, len(lines) + 1))], len(content)


def _vote_in(line: bytes, place: Place) -> Vote:
    """A line as a vote, after a look at every field."""
    if len(line) > _LONGEST_LINE:
        raise place.error(f"has {len(line)} bytes, which no vote has")
    try:
        fields = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise place.error(f"is not UTF-8 text (byte {error.start + 1} of the line)") from None
    except (ValueError, RecursionError) as error:
        raise place.error(f"not JSON ({getattr(error, 'msg', error)})") from None
    if not isinstance(fields, dict):
        raise place.error(f"is {kind_of(fields)}, not an object with the fields of a vote")
    for field, complaint in _complaints(fields):
        raise place.error(complaint, field)
    return Vote(**fields)


def _complaints(fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The first field that is wrong and what is wrong with it; what comes after the first may fail."""
    yield from ((name, f"is missing (the line has: {names_of(fields)})") for name in _REQUIRED if name not in fields)
    yield from ((name, "is no field of a vote") for name in fields if name not in (*_REQUIRED, "pair"))
    for name in ("item_id", "annotator", "at"):
        if not isinstance(fields[name], str):
            yield name, f"is {kind_of(fields[name])}, not text"
    if not fields["item_id"]:
        yield "item_id", "is empty"
    if not _NAME.fullmatch(fields["annotator"]):
        yield "annotator", f"{fields['annotator']!r:.80}: {_NAME_RULE}"
    if fields["label"] not in (*LABELS, None):
        yield "label", f"is {_shortened(fields['label'])}, none of {', '.join(LABELS)} or null"
    if fields["shown"] not in ORDERS:
        yield "shown", f"is {_shortened(fields['shown'])}, not 'ab' or 'ba'"
    seconds = fields["seconds"]
    if isinstance(seconds, bool) or not isinstance(seconds, int | float | None):
        yield "seconds", f"is {kind_of(seconds)}, not a number or null"
    elif seconds is not None and not (math.isfinite(seconds) and seconds >= 0):
        yield "seconds", f"is {seconds}, not a number from 0"
    try:
        datetime.fromisoformat(fields["at"])
    except ValueError:
        yield "at", f"is {_shortened(fields['at'])}, no date and time in ISO 8601"
    if not isinstance(fields.get("pair"), str | None):
        yield "pair", f"is {kind_of(fields['pair'])}, not text"


def _shortened(value: object) -> str:
    """A JSON value for a message: short text as it is, anything else by its kind."""
    return repr(value)[:60] if isinstance(value, str) else kind_of(value)


def _sync_folder(folder: Path) -> None:
    """Make a new file's name durable, where folders can be synced."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
