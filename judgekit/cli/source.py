"""A user's file of pairs: checked to its end, then given a chunk at a time, so that memory stays flat."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from judgekit.data.pairfile import PairRow, iterate_pair_rows, repeated_id
from judgekit.data.pairfile.places import Place
from judgekit.data.progress import progress_bar

ROWS = 1024  # rows of a chunk: enough to sort by length, little enough to hold
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
        for count, row in enumerate(iterate_pair_rows(self.path) if self.in_memory is None else self.in_memory, 1):
            if count > self.n_rows:
                break
            yield row
        if count != self.n_rows:
            raise Place(self.path).error(f"has changed since it was checked (it had {self.n_rows} rows)")

    def chunks(self, size: int = ROWS) -> Iterator[list[PairRow]]:
        """The rows in lists of ``size``; the same file always gives the same lists."""
        rows = self.rows()
        while chunk := list(islice(rows, size)):
            yield chunk


def check_source(path: str | Path, progress: bool = False) -> PairSource:
    """Read a file of pairs to its end, and keep no more of it than a chunk; PairFileError if anything is wrong."""
    path = Path(path)
    rows: list[PairRow] | None = []
    n_rows, labels, first, whole = 0, Counter[str](), None, True
    bar = progress_bar(None, "checking", "row", shown=progress, delay=DELAY)
    # SQLite's database without a name is on disk and goes when closed: ids need no memory.
    with bar, closing(sqlite3.connect("")) as seen:
        seen.execute("CREATE TABLE ids (id TEXT PRIMARY KEY, line INTEGER) WITHOUT ROWID")
        for row in iterate_pair_rows(path):
            n_rows += 1
            entry = (row.pair.item_id, row.place.line)
            if not seen.execute("INSERT OR IGNORE INTO ids VALUES (?, ?)", entry).rowcount:
                (line,) = seen.execute("SELECT line FROM ids WHERE id = ?", entry[:1]).fetchone()
                raise repeated_id(row, replace(row.place, line=line))
            first = first or row
            whole = whole and isinstance(row.id, int) and -(2**63) <= row.id < 2**63
            if row.pair.label is not None:
                labels[row.pair.label] += 1
            if rows is not None:
                rows.append(row)
                rows = rows if len(rows) <= ROWS or path.is_fifo() else None
            bar.update()
    assert first is not None  # a file without rows is refused as it is read
    return PairSource(path, n_rows, first, labels, whole, rows)
