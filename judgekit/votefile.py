"""A durable file of people's votes: one JSON line per vote, on disk before anybody is told that it is stored.

Later lines supersede earlier ones; a line whose label is null takes a vote back. Nothing is ever rewritten, so a
process that is killed loses at most the line it was writing, of which nobody had been told.
"""

import errno
import json
import math
import os
import re
import stat
import warnings
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from judgekit.locks import try_lock
from judgekit.pairfile.places import Place, kind_of, names_of
from judgekit.records import LABELS, ORDERS
from judgekit.votes import votes_from_long

FIELDS = ("item_id", "annotator", "label", "shown", "seconds", "at")
OPTIONAL = ("pair",)
LONGEST_NAME = 64
ANNOTATOR = re.compile(r"[^\W_][\w.@-]*")
LONGEST_LINE = 65_536  # bytes; a vote takes some two hundred


class VoteFileBusy(OSError):
    """Another process (or another page of this one) writes this file."""


class TornLine(UserWarning):
    """The last line of a file of votes was not written to its end; it was never confirmed to anybody."""


@dataclass(frozen=True, slots=True)
class Vote:
    """One line of the file.

    Attributes
    ----------
    item_id, annotator : str
    label : {"A", "B", "tie"} or None
        In the item's own order whatever was shown; None takes the annotator's vote on the item back.
    shown : {"ab", "ba"}
        Which response stood first.
    seconds : float or None
        From the first showing to the vote.
    at : str
        Date and time with offset, ISO 8601.
    pair : str or None
        Short hash of the texts that were shown; a file without it is read all the same.
    """

    item_id: str
    annotator: str
    label: str | None
    shown: str
    seconds: float | None
    at: str
    pair: str | None = None


def checked_annotator(name):
    """An annotator's name as it is, after a look at whether it may stand in a file, an address and a header.

    Raises
    ------
    ValueError
        If it is not 1 to 64 letters, digits and ``. _ @ -``, beginning with a letter or a digit.

    Examples
    --------
    >>> checked_annotator("annotator-1")
    'annotator-1'
    """
    if not isinstance(name, str) or len(name) > LONGEST_NAME or not ANNOTATOR.fullmatch(name):
        raise ValueError(
            f"annotator {name!r:.80}: use 1 to {LONGEST_NAME} letters, digits and . _ @ -, "
            "beginning with a letter or a digit"
        )
    return name


class VoteFile:
    """A file of votes opened for writing, by this process alone.

    Parameters
    ----------
    path : path
        Made if absent. A last line that was torn by a crash is cut off, with a warning `TornLine`.

    Attributes
    ----------
    lines : list of Vote
        All that was ever written, in order.

    Raises
    ------
    VoteFileBusy
        If it is open elsewhere already. The lock goes with its process, also when that is killed.
    PairFileError
        If a line is no vote; the message names file, line and field, and the file is left as it was.
    """

    def __init__(self, path):
        self.path = Path(path)
        if self.path.exists() and not self.path.is_file():
            raise Place(self.path).error("is not a regular file")
        try:
            self.descriptor = os.open(
                self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600
            )
        except OSError as bad:
            raise Place(self.path).error(f"cannot be written to ({bad.strerror or bad})") from None
        try:
            lock(self.descriptor, self.path)
            self.lines, self.size = self.mended(self.path.read_bytes())
        except BaseException:
            os.close(self.descriptor)
            raise
        sync_folder(self.path.parent)

    def mended(self, content):
        """The votes and the size in bytes, once the end of the file is in order."""
        votes, whole, torn = votes_in(content, self.path)
        if torn:
            warnings.warn(torn_words(self.path, len(votes), torn, "cut off"), TornLine, stacklevel=3)
            os.ftruncate(self.descriptor, whole)
        elif content and not content.endswith(b"\n"):  # an editor left the last line end out
            os.write(self.descriptor, b"\n")
            whole += 1
        os.fsync(self.descriptor)
        return votes, whole

    def append(self, vote):
        """Write one vote; when this returns it is on disk.

        Raises
        ------
        OSError
            If it could not be written (disk full), or another program took the file away, put another one in its place
            or wrote to it; the file is then as it was before.
        """
        line = dump_vote(vote)
        self.check()
        try:
            written = os.write(self.descriptor, line)
            if written != len(line):
                raise OSError(errno.ENOSPC, f"{written} of {len(line)} bytes were written", str(self.path))
            os.fsync(self.descriptor)
        except OSError:
            os.ftruncate(self.descriptor, self.size)
            raise
        self.size += len(line)
        self.lines.append(vote)

    def check(self):
        """Refuse to write where the line would be lost, or stand behind half a line."""
        if self.descriptor is None:
            raise OSError(errno.EBADF, "the file of votes is closed", str(self.path))
        ours = os.fstat(self.descriptor)
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            there = None
        if there is None or not os.path.samestat(ours, there):
            raise OSError(errno.ESTALE, "the file of votes was moved, deleted or replaced", str(self.path))
        if ours.st_size != self.size:
            raise OSError(errno.EBUSY, "the file of votes was changed by another program", str(self.path))

    def standing(self):
        """The votes that stand: (item, annotator) to Vote, in the order in which they were cast."""
        return standing(self.lines)

    def close(self):
        """Give the file free; it can be opened again."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def dump_vote(vote):
    """A vote as a line of bytes, looked at as it will be when it is read."""
    fields = {name: value for name, value in asdict(vote).items() if name not in OPTIONAL or value is not None}
    vote_of(fields, Place(Path("a vote")))
    return json.dumps(fields).encode() + b"\n"  # ASCII, so that an item's id may hold anything


def standing(lines):
    """The votes that stand after lines of a file: (item, annotator) to Vote, in the order in which they were cast."""
    found = {}
    for vote in lines:
        found.pop((vote.item_id, vote.annotator), None)
        if vote.label is not None:
            found[vote.item_id, vote.annotator] = vote
    return found


def read_lines(path):
    """All lines of a file of votes, also those that were superseded; the file may be open elsewhere.

    Returns
    -------
    list of Vote

    Raises
    ------
    PairFileError
        If there is no such file, or a line is no vote; the message names file, line and field.

    Warns
    -----
    TornLine
        If the last line was not written to its end; it is left out.
    """
    path = Path(path)
    try:
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            raise Place(path).error("is not a regular file")
        content = path.read_bytes()
    except FileNotFoundError:
        raise Place(path).error("there is no such file") from None
    except OSError as bad:
        raise Place(path).error(f"cannot be read ({bad.strerror or bad})") from None
    votes, _, torn = votes_in(content, path)
    if torn:
        warnings.warn(torn_words(path, len(votes), torn, "left out"), TornLine, stacklevel=2)
    return votes


def read_votes(path, clusters=None):
    """The votes that stand in a file.

    Parameters
    ----------
    path : path
    clusters : dict of str to str, optional
        Item to its prompt, ``{pair.item_id: pair.cluster for pair in pairs}``; by default every item is its own.

    Returns
    -------
    judgekit.votes.Votes
        Items and annotators in the order of their first vote that stands.

    Raises
    ------
    PairFileError
        As `read_lines`; also if an item with a vote is not in ``clusters``.
    """
    return votes_of(standing(read_lines(path)), clusters, path)


def votes_of(votes, clusters=None, path="votes"):
    """Standing votes, (item, annotator) to Vote, as a table; arguments and errors as for `read_votes`."""
    rows = []
    for (item, annotator), vote in votes.items():
        if clusters is not None and item not in clusters:
            raise Place(Path(path)).error(f"{annotator} voted on {item!r:.80}, which is none of the pairs", "item_id")
        rows.append((item, annotator, vote.label, item if clusters is None else clusters[item]))
    return votes_from_long(rows)[0]


# ---------------------------------------------------------------- lines


def votes_in(content, path):
    """The votes in a file's bytes, how many bytes are whole lines, and the torn end."""
    *lines, last = content.split(b"\n")
    votes = [vote_in(line, Place(path, n)) for n, line in enumerate(lines, 1) if line.strip()]
    if not last.strip(b" \t\r"):
        return votes, len(content) - len(last), b""
    try:  # a part of an object never is an object: if it can be read, only the line end is missing
        json.loads(last)
    except ValueError:
        return votes, len(content) - len(last), last
    return [*votes, vote_in(last, Place(path, len(lines) + 1))], len(content), b""


def vote_in(line, place):
    """One line of bytes as a vote."""
    if len(line) > LONGEST_LINE:
        raise place.error(f"has {len(line)} bytes, which no vote has")
    try:
        fields = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as bad:
        raise place.error(f"is not UTF-8 text (byte {bad.start + 1} of the line)") from None
    except (ValueError, RecursionError) as bad:
        raise place.error(f"not JSON ({getattr(bad, 'msg', bad)})") from None
    return vote_of(fields, place)


def vote_of(fields, place):
    """A JSON value as a vote, after a look at every field."""
    if not isinstance(fields, dict):
        raise place.error(f"is {kind_of(fields)}, not an object with the fields of a vote")
    if missing := [name for name in FIELDS if name not in fields]:
        raise place.error(f"is missing (the line has: {names_of(fields)})", missing[0])
    if unknown := [name for name in fields if name not in FIELDS + OPTIONAL]:
        raise place.error("is no field of a vote", unknown[0])
    for name in ("item_id", "annotator", "at"):
        if not isinstance(fields[name], str):
            raise place.error(f"is {kind_of(fields[name])}, not text", name)
    if not fields["item_id"]:
        raise place.error("is empty", "item_id")
    try:
        checked_annotator(fields["annotator"])
    except ValueError as bad:
        raise place.error(str(bad).removeprefix("annotator "), "annotator") from None
    if fields["label"] is not None and fields["label"] not in LABELS:
        raise place.error(f"is {told(fields['label'])}, none of {', '.join(LABELS)} or null", "label")
    if fields["shown"] not in ORDERS:
        raise place.error(f"is {told(fields['shown'])}, not 'ab' or 'ba'", "shown")
    check_seconds(fields["seconds"], place)
    try:
        datetime.fromisoformat(fields["at"])
    except ValueError:
        raise place.error(f"is {told(fields['at'])}, no date and time in ISO 8601", "at") from None
    if not isinstance(fields.get("pair"), str | None):
        raise place.error(f"is {kind_of(fields['pair'])}, not text", "pair")
    return Vote(**fields)


def check_seconds(value, place):
    """Seconds must be a finite number from 0, or null."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise place.error(f"is {kind_of(value)}, not a number or null", "seconds")
    if not (math.isfinite(value) and value >= 0):
        raise place.error(f"is {value}, not a number from 0", "seconds")


def told(value):
    """A JSON value for a message: short text as it is, anything else by its kind."""
    return repr(value)[:60] if isinstance(value, str) else kind_of(value)


def torn_words(path, n_votes, torn, done):
    """One sentence on a torn line."""
    return (
        f"{path}: the last line was not written to its end ({len(torn)} bytes, never confirmed) and is {done}; "
        f"the {n_votes} lines before it are whole"
    )


# ---------------------------------------------------------------- the disk


def lock(descriptor, path):
    """Take the file for this process; a kill gives it free."""
    if not try_lock(descriptor):
        raise VoteFileBusy(
            f"{path}: votes are being written to this file already; stop the other page, or name another file"
        )


def sync_folder(folder):
    """Make a new file's name durable, where folders can be synced."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
