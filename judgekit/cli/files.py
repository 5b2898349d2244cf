"""A user's file of pairs, checked to its end, then given a chunk at a time; the file a command writes, whole or not."""

import csv
import gzip
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from judgekit.cli.messages import BAD_INPUT, UNEXPECTED, Stop, reason, silence_stdout, tell
from judgekit.data.files import RECORD_BYTES, replaced
from judgekit.data.pairfile import PairRow, ResponseRow, iterate_pair_rows, iterate_unique_rows
from judgekit.data.pairfile.lines import Place
from judgekit.data.progress import progress_bar

_Write: TypeAlias = Callable[[list[dict[str, Any]]], object]
ROWS = 1024  # rows of a chunk: enough to sort by length, little enough to hold
_FORMS = ("csv", "parquet", "json", "tsv", "xls", "xlsx", "feather", "zip")  # that a name may say; else JSON lines
DELAY = 5  # seconds without a bar


@dataclass
class PairSource:
    """A checked file of pairs; ``whole_ids``: every id is a whole number of 64 bits."""

    path: Path
    n_rows: int
    odd: Counter[str]  # rows by what a reader should know of them
    whole_ids: bool
    # The rows themselves, of what can be read only once (a pipe).
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
            held += sum(map(len, (row.pair.asked, *row.pair.responses)))
            if len(chunk) == size or held > RECORD_BYTES:
                yield chunk
                chunk, held = [], 0
        if chunk:
            yield chunk


def check_source(path: str | Path, progress: bool = False) -> PairSource:
    """Read a file of pairs to its end, which keeps none of it but of a pipe; PairFileError if anything is wrong."""
    path, n_rows, odd, whole = Path(path), 0, Counter[str](), True
    in_memory = list(iterate_unique_rows(path)) if path.is_fifo() else None
    with progress_bar(None, "checking", "row", shown=progress, delay=DELAY) as bar:
        for row in in_memory or iterate_unique_rows(path):
            n_rows += 1
            whole = whole and isinstance(row.id, int) and -(2**63) <= row.id < 2**63
            odd.update(row.odd)
            bar.update()
    return PairSource(path, n_rows, odd, whole, in_memory)


def tell_odd_rows(rows: Sequence[PairRow | ResponseRow], quiet: bool = False) -> None:
    """A note on each kind of odd row among those that are held."""
    if not quiet:
        tell_odd(Counter(what for row in rows for what in row.odd), len(rows))


def tell_odd(odd: Counter[str], n_rows: int) -> None:
    """A note on each kind of odd row."""
    for what, count in odd.items():
        tell(f"note: rows with {what}: {count} of {n_rows}")


def form_of(out: str) -> str:
    """What the name of an output says: ``csv``, ``parquet``, ...; ``.gz`` may follow."""
    return Path(out.lower().removesuffix(".gz")).suffix.removeprefix(".")


def check_out(out: str, source: str, *tables: str, option: str = "--out") -> None:
    """Refuse, before any work, an output file that could not or should not be written: ``source``, or one whose lock,
    which goes in the end, holds something; ``tables``: the suffixes of tables that it may have."""
    if out == "-":
        return
    path, complaint = Path(out), ""
    try:
        lock = Path(f"{os.path.realpath(path)}.lock")
        folder = lock.parent
        if path.is_dir():
            complaint = "is a folder; name a file in it"
        elif not folder.is_dir():
            complaint = f"the folder {folder} does not exist"
        elif path.exists() and not path.is_file():
            complaint = "is not a regular file (use - for standard output)"
        elif os.path.realpath(path) == os.path.realpath(source):
            complaint = "is the input file itself"
        elif lock.exists() and lock.stat().st_size:
            complaint = f"{lock} holds something, and would be the lock of this output: choose another name"
        elif not os.access(folder, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
            complaint = "may not be written to (permission denied)"
        elif out.lower().endswith(".parquet.gz"):
            complaint = "Parquet is packed already: leave out .gz"
        elif form_of(out) in _FORMS and f".{form_of(out)}" not in tables:
            complaint = f".{form_of(out)} is not written; name a file in {', '.join(('.jsonl', *tables))}"
    except (OSError, ValueError) as bad:  # a name that is too long, a folder that may not be entered
        complaint = reason(bad)
    if complaint:
        raise Stop(BAD_INPUT, f"{option} {out}: {complaint}")


@contextmanager
def written(out: str, kept: str) -> Iterator[_Write]:
    """A function that takes rows; when the block ends well they are in ``out`` or on standard output.

    JSON lines, or a table where the name says so, with the fields of the first rows given. Stop, with ``kept`` on what
    is not lost, if they could not be written; an older file is then as it was.
    """
    try:
        if out == "-":
            with tempfile.TemporaryFile("w+", encoding="utf-8") as stream:
                yield _writer(stream, "")
                stream.seek(0)
                shutil.copyfileobj(stream, sys.stdout)
                sys.stdout.flush()
            return
        target = Path(os.path.realpath(out))
        with replaced(target) as part:
            if form_of(out) == "parquet":
                with _table(part) as write:
                    yield write
            else:
                packed = out.lower().endswith(".gz")
                with (gzip.open if packed else open)(
                    part, "xt", encoding="utf-8", errors="backslashreplace", newline="\n"
                ) as stream:
                    yield _writer(stream, form_of(out))
            if target.exists():
                shutil.copymode(target, part)
    except BrokenPipeError:
        raise
    except OSError as full:
        if out == "-":
            silence_stdout()
        name = "standard output" if out == "-" else out
        raise Stop(UNEXPECTED, f"{name} could not be written ({full.strerror or full}){kept}") from None


def _writer(stream: Any, form: str) -> _Write:
    """A function that adds rows to a stream: CSV under a header, in which lists and objects are JSON, or JSON lines."""
    encode = json.JSONEncoder(default=lambda value: getattr(value, "isoformat", value.__str__)()).encode  # ISO dates
    if form != "csv":
        return lambda rows: stream.writelines(encode(row) + "\n" for row in rows)
    table = csv.writer(stream)
    fields: dict[str, None] = {}

    def write(rows: list[dict[str, Any]]) -> None:
        if not fields:
            fields.update(dict.fromkeys(name for row in rows for name in row))
            table.writerow(fields)
        cells = ([row.get(name) for name in fields] for row in rows)
        table.writerows([encode(cell) if isinstance(cell, list | dict) else cell for cell in row] for row in cells)

    return write


@contextmanager
def _table(path: Path) -> Iterator[_Write]:
    """A function that adds rows of verdicts to a Parquet file, each time as a row group."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    kinds = dict.fromkeys(("p_a", "p_b", "p_tie", "value", "low", "high"), pa.float64())
    kinds |= {"n": pa.int64(), "truncated": pa.bool_()}
    with ExitStack() as stack:
        writer: Any = None

        def write(rows: list[dict[str, Any]]) -> None:
            nonlocal writer
            if writer is None:  # an id is a number of 64 bits in all rows or in none
                own = {"id": pa.int64()} if isinstance(rows[0].get("id"), int) else {}
                schema = pa.schema([(name, (kinds | own).get(name, pa.string())) for name in rows[0]])
                writer = stack.enter_context(ParquetWriter(path, schema))
            writer.write_table(pa.Table.from_pylist(rows, writer.schema))

        yield write
