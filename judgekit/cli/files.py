"""A user's file of pairs, checked to its end, then given a chunk at a time; the file a command writes, whole or not."""

import csv
import gzip
import json
import os
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from judgekit.cli.messages import BAD_INPUT, UNEXPECTED, Stop, reason, silence_stdout, tell
from judgekit.data.files import RECORD_BYTES, replaced
from judgekit.data.pairfile import PairRow, ResponseRow, iterate_pair_rows, repeated_id
from judgekit.data.pairfile.lines import Place
from judgekit.data.progress import progress_bar
from judgekit.records import PreferencePair

_Write: TypeAlias = Callable[[list[dict[str, Any]]], object]
VERDICT_FIELDS = ("id", "verdict", "p_a", "p_b", "p_tie", "status", "truncated", "judge")
ROWS = 1024  # rows of a chunk: enough to sort by length, little enough to hold
DELAY = 5  # seconds without a bar


@dataclass
class PairSource:
    """A checked file of pairs; ``labels``: rows by label; ``whole_ids``: every id is a whole number of 64 bits."""

    path: Path
    n_rows: int
    first: PairRow
    labels: Counter[str]
    odd: Counter[str]  # rows by what a reader should know of them
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
        """The rows in lists of ``size``, less where texts are long; the same file always gives the same lists."""
        chunk, held = list[PairRow](), 0
        for row in self.rows():
            chunk.append(row)
            held += _characters(row)
            if len(chunk) == size or held > RECORD_BYTES:
                yield chunk
                chunk, held = [], 0
        if chunk:
            yield chunk


def check_source(path: str | Path, progress: bool = False) -> PairSource:
    """Read a file of pairs to its end, and keep no more of it than a chunk; PairFileError if anything is wrong."""
    path = Path(path)
    rows: list[PairRow] | None = []
    n_rows, held, labels, odd, first, whole = 0, 0, Counter[str](), Counter[str](), None, True
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
            odd.update(_oddities(row.pair.asked, *row.pair.responses))
            if rows is not None:
                rows.append(row)
                held += _characters(row)
                rows = rows if (len(rows) <= ROWS and held <= RECORD_BYTES) or path.is_fifo() else None
            bar.update()
    assert first is not None  # a file without rows is refused as it is read
    return PairSource(path, n_rows, first, labels, odd, whole, rows)


def _characters(row: PairRow) -> int:
    return len(row.pair.asked) + sum(map(len, row.pair.responses))


def _oddities(question: str, *responses: str) -> Iterator[str]:
    """What is worth a note about a row that can be judged (of two responses) or rated (of one) all the same."""
    texts = [text.strip() for text in responses]
    if not question.strip():
        yield "an empty question"
    if len(texts) == 2 and len(set(texts)) == 1:
        yield "two equal responses" if texts[0] else "two empty responses"
    elif not all(texts):
        yield "one empty response"


def tell_odd_rows(rows: Iterable[PairRow | ResponseRow | PreferencePair], quiet: bool = False) -> None:
    """A note on each kind of odd row among those that are held."""
    items = [] if quiet else [row.pair if isinstance(row, PairRow) else row for row in rows]
    texts = [(i.question, i.response) if isinstance(i, ResponseRow) else (i.asked, *i.responses) for i in items]
    tell_odd(Counter(what for each in texts for what in _oddities(*each)), len(texts))


def tell_odd(odd: Counter[str], n_rows: int) -> None:
    """A note on each kind of odd row."""
    for what, count in odd.items():
        tell(f"note: rows with {what}: {count} of {n_rows}")


def form_of(out: str) -> str:
    """What the name of an output says: ``parquet``, ``csv``, or ``lines`` (JSON lines); ``.gz`` may follow."""
    suffix = Path(out.lower().removesuffix(".gz")).suffix
    return suffix[1:] if suffix in (".parquet", ".csv") else "lines"


def check_out(out: str, source: str, tables: bool = False, option: str = "--out") -> None:
    """Refuse, before any work, an output file that could not or should not be written; ``tables``: it may be one.
    Neither the file nor its lock, which goes in the end, may be ``source``."""
    if out == "-":
        return
    path, complaint = Path(out), ""
    try:
        folder = Path(os.path.realpath(path)).parent
        if path.is_dir():
            complaint = "is a folder; name a file in it"
        elif not folder.is_dir():
            complaint = f"the folder {folder} does not exist"
        elif path.exists() and not path.is_file():
            complaint = "is not a regular file (use - for standard output)"
        elif any(same_file(name, source) for name in (out, f"{out}.lock")):
            complaint = "is the input file itself, or the lock of this output is"
        elif not os.access(folder, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
            complaint = "may not be written to (permission denied)"
        elif form_of(out) != "lines" and not tables:
            complaint = "this command writes JSON lines"
        elif out.lower().endswith(".parquet.gz"):
            complaint = "Parquet is packed already: leave out .gz"
        elif path.suffix.lower() in (".tsv", ".xls", ".xlsx", ".feather", ".zip"):
            complaint = f"{path.suffix} is not written; name a file in .jsonl, .csv (with .gz or without) or .parquet"
    except (OSError, ValueError) as bad:  # a name that is too long, a folder that may not be entered
        complaint = reason(bad)
    if complaint:
        raise Stop(BAD_INPUT, f"{option} {out}: {complaint}")


def same_file(name: str, other: str) -> bool:
    """Whether two names are of one file that is there."""
    return Path(name).exists() and Path(other).exists() and os.path.samefile(name, other)


@contextmanager
def written(out: str, kept: str, whole_ids: bool = True, fields: Sequence[str] = VERDICT_FIELDS) -> Iterator[_Write]:
    """A function that takes rows; when the block ends well they are in ``out`` or on standard output.

    JSON lines, or a table of ``fields`` where the name says so (``whole_ids``: ids are numbers of 64 bits). Stop, with
    ``kept`` on what is not lost, if they could not be written; an older file is then as it was.
    """
    try:
        if out == "-":
            with tempfile.TemporaryFile("w+", encoding="utf-8") as stream:
                yield _writer(stream, out, fields)
                stream.seek(0)
                shutil.copyfileobj(stream, sys.stdout)
                sys.stdout.flush()
            return
        target = Path(os.path.realpath(out))
        with replaced(target) as part:
            if form_of(out) == "parquet":
                with _table(part, whole_ids, fields) as write:
                    yield write
            else:
                packed = out.lower().endswith(".gz")
                with (gzip.open if packed else open)(
                    part, "xt", encoding="utf-8", errors="backslashreplace", newline="\n"
                ) as stream:
                    yield _writer(stream, out, fields)
            if target.exists():
                shutil.copymode(target, part)
    except BrokenPipeError:
        raise
    except OSError as full:
        if out == "-":
            silence_stdout()
        name = "standard output" if out == "-" else out
        raise Stop(UNEXPECTED, f"{name} could not be written ({full.strerror or full}){kept}") from None


def _writer(stream: Any, out: str, fields: Sequence[str]) -> _Write:
    """A function that adds rows to a stream: CSV with a header where the name says so, else JSON lines."""
    if form_of(out) == "lines":
        encoder = json.JSONEncoder(default=lambda value: getattr(value, "isoformat", value.__str__)())  # ISO, for dates
        return lambda rows: stream.writelines(encoder.encode(row) + "\n" for row in rows)
    table = csv.DictWriter(stream, fields)
    table.writeheader()
    return table.writerows


@contextmanager
def _table(path: Path, whole_ids: bool, fields: Sequence[str]) -> Iterator[_Write]:
    """A function that adds rows of verdicts to a Parquet file, each time as a row group."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    kinds = dict.fromkeys(("p_a", "p_b", "p_tie", "value", "low", "high"), pa.float64())
    kinds |= {"id": pa.int64() if whole_ids else pa.string(), "n": pa.int64(), "truncated": pa.bool_()}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in fields])
    with ParquetWriter(path, schema) as writer:
        yield lambda rows: writer.write_table(pa.Table.from_pylist(rows, schema))
