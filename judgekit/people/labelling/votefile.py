"""A durable file of people's votes: one JSON line per vote, on disk before anybody is told that it is stored.

Later lines supersede earlier ones; a line whose label is null takes a vote back. Nothing is ever rewritten, so a
process that is killed loses at most the line it was writing, which was never confirmed.
"""

import errno
import json
import os
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from filelock import lock_descriptor
from pydantic import AfterValidator, ConfigDict, Field, InstanceOf, ValidationError
from pydantic.dataclasses import dataclass

from judgekit.data.files import sync
from judgekit.data.pairfile.lines import LIST_BYTES, Place, kind_of, missing
from judgekit.data.votes import Votes, votes_from_long
from judgekit.records import fingerprint_of

_LONGEST_LINE = 65_536  # bytes; a vote takes some two hundred
_CHECK = 16  # digits of the sum of a line
_BEGINNING = b'{"item_id": '  # of a line
_NAME = re.compile(r"[^\W_][\w.@-]{0,63}")
_NAME_RULE = "use 1 to 64 letters, digits and . _ @ -, beginning with a letter or a digit"


class VoteFileBusy(OSError):
    """Another process (or another page of this one) writes this file."""


class TornLine(UserWarning):
    """The last line of a file of votes was not written to its end; it was never confirmed to anybody."""


def checked_annotator(name: object) -> str:
    """An annotator's name, which may stand in a file, an address and a header; ValueError where it may not."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"annotator {name!r:.80}: {_NAME_RULE}")
    return name


def _dated(at: str) -> str:
    datetime.fromisoformat(at)
    return at


@dataclass(frozen=True, slots=True, config=ConfigDict(strict=True, extra="forbid"))
class Vote:
    """One line of the file; ValueError where a field is not what it should be."""

    item_id: Annotated[InstanceOf[str], Field(min_length=1)]  # any text, lone surrogates included
    annotator: Annotated[str, AfterValidator(checked_annotator)]
    label: Literal["A", "B", "tie"] | None  # in the item's own order whatever was shown; None takes the vote back
    shown: Literal["ab", "ba"]  # which response stood first
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None  # from the first showing to the vote
    at: Annotated[str, AfterValidator(_dated)]  # date and time with offset, ISO 8601
    pair: str | None = None  # short hash of the texts that were shown; a file without it is read all the same
    both_bad: bool = False  # a tie of two bad responses; like the comment, only written where it says something
    comment: Annotated[str, Field(max_length=2000)] = ""


class VoteFile:
    """A file of votes opened for writing, by this process alone; made if absent.

    A last line that was torn by a crash is cut off, with a warning `TornLine`. `VoteFileBusy` if it is open elsewhere:
    the lock goes with its process, also a killed one. `PairFileError` if a line is no vote; the file is left as it was.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = _regular(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        try:
            self._descriptor = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise Place(self.path).error(f"cannot be written to ({error.strerror or error})") from None
        try:
            if not lock_descriptor(self._descriptor, blocking=False):
                busy = "votes are being written to this file already; stop the other page, or name another file"
                raise VoteFileBusy(f"{self.path}: {busy}")
            with open(self._descriptor, "rb", closefd=False) as stream:
                content = stream.read()
            self.lines, self._size = _parse(content, self.path, "cut off")
            if self._size < len(content):
                os.ftruncate(self._descriptor, self._size)
            elif content and not content.endswith(b"\n"):  # an editor left the last line end out
                self._size += os.write(self._descriptor, b"\n")
            os.fsync(self._descriptor)
            sync(self.path.parent)
        except BaseException:
            self.close()
            raise

    def append(self, vote: Vote) -> None:
        """Write one vote; when this returns it is on disk. PairFileError if it could not be read again; OSError if it
        could not be written, or another program moved, replaced or wrote to the file, which is then as it was."""
        fields = _written(vote)  # in ASCII, so that an item's id may hold anything
        line = json.dumps(fields | {"check": fingerprint_of(fields)[:_CHECK]}).encode() + b"\n"
        _vote_in(line, Place(Path("a vote")))
        self._check()
        try:
            written = os.write(self._descriptor, line)
            if written != len(line):
                raise OSError(errno.ENOSPC, f"{written} of {len(line)} bytes were written", str(self.path))
            os.fsync(self._descriptor)
        except OSError:
            os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(line)
        self.lines.append(vote)

    def _check(self) -> None:
        """OSError where a line would be lost, or stand behind half a line."""
        if self._descriptor < 0:
            raise OSError(errno.EBADF, "the file of votes is closed", str(self.path))
        opened = os.fstat(self._descriptor)
        if not (self.path.exists() and os.path.samestat(opened, self.path.stat())):
            raise OSError(errno.ESTALE, "the file of votes was moved, deleted or replaced", str(self.path))
        if opened.st_size != self._size:
            raise OSError(errno.EBUSY, "the file of votes was changed by another program", str(self.path))

    def close(self) -> None:
        """Close the file and its lock; it can be opened again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def read_lines(path: str | Path) -> list[Vote]:
    """All lines of a file of votes, also those that were superseded; the file may be open elsewhere. PairFileError if
    there is none or a line is no vote; a last line that was not written to its end is left out (`TornLine`)."""
    path = _regular(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        absent = isinstance(error, FileNotFoundError)
        raise Place(path).error("there is no such file" if absent else f"cannot be read ({error})") from None
    return _parse(content, path, "left out")[0]


def _written(vote: Vote) -> dict[str, Any]:
    """The fields of a vote that stand in its line."""
    return {name: value for name, value in asdict(vote).items() if value or name not in ("both_bad", "comment")}


def _regular(path: str | Path) -> Path:
    path = Path(path)
    if path.exists() and not path.is_file():
        raise Place(path).error("is not a regular file")
    if path.exists() and path.stat().st_size > LIST_BYTES:
        raise Place(path).error(f"has more than {LIST_BYTES >> 20} MiB, which no file of votes has")
    return path


def read_votes(path: str | Path, clusters: Mapping[str, str] | None = None) -> Votes:
    """The votes that stand in a file; ``clusters``: item to its prompt, by default every item is its own. PairFileError
    as `read_lines`, also if one is on an item that has no prompt."""
    lines = read_lines(path)
    for item, annotator in standing(lines):
        if clusters is not None and item not in clusters:
            raise Place(Path(path)).error(f"{annotator} voted on {item!r:.80}, which is none of the pairs", "item_id")
    return votes_of(lines, clusters or {})


def votes_of(lines: Iterable[Vote], clusters: Mapping[str, str]) -> Votes:
    """The votes that stand after lines of a file; an item without a prompt is its own."""
    rows = [(item, who, vote.label, clusters.get(item, item)) for (item, who), vote in standing(lines).items()]
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
    try:  # a part of an object never is an object: if one can be read, only the line end is missing, or it is damaged
        json.JSONDecoder().raw_decode(last.decode("utf-8", "replace"))
    except ValueError:
        if last[: len(_BEGINNING)] != _BEGINNING[: len(last)]:  # nothing that was being written here
            raise Place(path, len(lines) + 1).error("is no vote, nor the beginning of one") from None
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
    except (ValueError, RecursionError) as error:
        raise place.error(f"is not JSON in UTF-8 ({error})") from None
    if not isinstance(fields, dict):
        raise place.error(f"is {kind_of(fields)}, not an object with the fields of a vote")
    check = fields.pop("check", None)  # a file without it is read all the same
    try:
        vote = Vote(**fields)
        if check not in (None, fingerprint_of(_written(vote))[:_CHECK]):
            raise place.error("is not of this line: it was changed, or is damaged", "check")
        return vote
    except ValidationError as bad:
        first = bad.errors(include_url=False)[0]
    name, value = str(first["loc"][0]), first["input"]
    if first["type"] == "missing":
        raise missing(fields, name, place)
    raise place.error(f"is {repr(value)[:60] if isinstance(value, str) else kind_of(value)}: {first['msg']}", name)
