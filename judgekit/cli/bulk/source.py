"""A user's file of pairs: checked to its end, then given a chunk at a time."""

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from judgekit.data.pairfile import PairFileError, PairRow, iterate_pair_rows, repeated_id
from judgekit.data.pairfile.places import Place
from judgekit.data.progress import progress_bar

ROWS = 1024  # rows of a chunk: enough to sort by length, little enough to hold
CHARACTERS = 2_000_000  # of a chunk's texts; one row of more is a chunk of its own
_INT64 = 2**63
DELAY = 5  # seconds without a bar


@dataclass
class PairSource:
    """A checked file of pairs; ``labels``: rows by label; ``whole_ids``: every id is a whole number of 64 bits."""

    path: Path
    n_rows: int
    first: PairRow
    labels: Counter[str]
    whole_ids: bool
    # The rows themselves, of a file of one chunk or of what can be read only once (a pipe).
    in_memory: list[PairRow] | None = field(default=None, repr=False)

    def rows(self) -> Iterator[PairRow]:
        """Every row, in the order of the file; PairFileError if the file has another number of rows by now."""
        count = 0
        for row in iterate_pair_rows(self.path) if self.in_memory is None else self.in_memory:
            count += 1
            if count > self.n_rows:
                break
            yield row
        if count != self.n_rows:
            raise Place(self.path).error(f"has changed since it was checked (it had {self.n_rows} rows)")

    def chunks(self, size: int = ROWS, characters: int = CHARACTERS) -> Iterator[list[PairRow]]:
        """The rows in lists of at most ``size`` rows; the same file always gives the same lists."""
        chunk: list[PairRow] = []
        length = 0
        for row in self.rows():
            own = _characters(row)
            if chunk and (len(chunk) == size or length + own > characters):
                yield chunk
                chunk, length = [], 0
            chunk.append(row)
            length += own
        yield chunk


def _characters(row: PairRow) -> int:
    return len(row.pair.question) + len(row.pair.response_a) + len(row.pair.response_b)


def check_source(path: str | Path, progress: bool = False) -> PairSource:
    """Read a file of pairs to its end, and keep no more of it than a chunk; PairFileError if anything is wrong.

    Of every row 8 bytes stay, a hash of its id. Equal hashes are looked at again with the ids themselves: the check for
    ids that come twice is exact.
    """
    path = Path(path)
    once = path.exists() and not path.is_file() and not path.is_dir() and not path.is_char_device()
    rows: list[PairRow] | None = []
    hashes, labels, first, whole, length = array("Q"), Counter[str](), None, True, 0
    try:
        for row in _counted(iterate_pair_rows(path), progress):
            first = first or row
            hashes.append(id_hash(row))
            whole = whole and isinstance(row.id, int) and -_INT64 <= row.id < _INT64
            labels.update([row.pair.label] if row.pair.label is not None else [])
            if rows is not None:
                rows.append(row)
                length += _characters(row)
                rows = rows if once or (len(rows) <= ROWS and length <= CHARACTERS) else None
    except PairFileError:
        _refuse_repeated(path, hashes, rows)  # an id that came twice further up is the first fault of the file
        raise
    _refuse_repeated(path, hashes, rows)
    assert first is not None  # a file without rows is refused as it is read
    return PairSource(path, len(hashes), first, labels, whole, rows)


def _counted(rows: Iterable[PairRow], progress: bool) -> Iterator[PairRow]:
    with progress_bar(None, "checking", "row", shown=progress, delay=DELAY) as bar:
        for row in rows:
            yield row
            bar.update()


def id_hash(row: PairRow) -> int:
    """64 bits of a row's id."""
    return int.from_bytes(hashlib.blake2b(row.pair.item_id.encode(), digest_size=8).digest(), "little")


def _refuse_repeated(path: Path, hashes: array, rows: list[PairRow] | None) -> None:
    """Raise the `PairFileError` about the first row whose id stands further up already; sorts the hashes in place."""
    if len(hashes) < 2:
        return
    import numpy as np

    ordered = np.frombuffer(hashes, np.uint64)
    ordered.sort()
    suspects = set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
    if not suspects:
        return
    seen: dict[str, Place] = {}
    for number, row in enumerate(iterate_pair_rows(path) if rows is None else rows):
        if number == len(hashes):
            return
        if id_hash(row) in suspects:
            if row.pair.item_id in seen:
                raise repeated_id(row, seen[row.pair.item_id])
            seen[row.pair.item_id] = row.place
