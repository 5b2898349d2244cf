"""The file that a command writes, whole or not at all."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from judgekit.cli.messages import BAD_INPUT, UNEXPECTED, Stop, reason, silence_stdout
from judgekit.data.files import replaced

_Write: TypeAlias = Callable[[list[dict[str, Any]]], object]


def is_table(out: str) -> bool:
    """Whether the name of an output says Parquet."""
    return out.lower().endswith(".parquet")


def check_out(out: str, source: str, tables: bool = False) -> None:
    """Refuse, before any work, an output file that could not or should not be written; ``tables``: Parquet could."""
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
        elif path.exists() and Path(source).exists() and path.samefile(source):
            complaint = "is the input file itself"
        elif not os.access(folder, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
            complaint = "may not be written to (permission denied)"
        elif is_table(out) and not tables:
            complaint = "this command writes JSON lines, not Parquet"
    except (OSError, ValueError) as bad:  # a name that is too long, a folder that may not be entered
        complaint = reason(bad)
    if complaint:
        raise Stop(BAD_INPUT, f"--out {out}: {complaint}")


@contextmanager
def written(out: str, kept: str, whole_ids: bool = True) -> Iterator[_Write]:
    """A function that takes rows; when the block ends well they are in ``out`` or on standard output.

    JSON lines, or a table of verdicts where the name says so: its ids are 64-bit numbers if they are whole, else texts.
    Stop if they could not be written, with ``kept`` on what is not lost; an older file is then as it was.
    """
    try:
        if out == "-":
            with tempfile.TemporaryFile("w+", encoding="utf-8") as stream:
                yield lambda rows: stream.writelines(json.dumps(row) + "\n" for row in rows)
                stream.seek(0)
                shutil.copyfileobj(stream, sys.stdout)
                sys.stdout.flush()
            return
        target = Path(os.path.realpath(out))
        with replaced(target) as part:
            if is_table(out):
                with _table(part, whole_ids) as write:
                    yield write
            else:
                with open(part, "x", encoding="utf-8", newline="\n") as stream:
                    yield lambda rows: stream.writelines(json.dumps(row) + "\n" for row in rows)
            with open(part, "rb+") as durable:
                os.fsync(durable.fileno())
            if target.exists():
                shutil.copymode(target, part)
    except BrokenPipeError:
        raise
    except OSError as full:
        if out == "-":
            silence_stdout()
        name = "standard output" if out == "-" else out
        raise Stop(UNEXPECTED, f"{name} could not be written ({full.strerror or full}){kept}") from None


@contextmanager
def _table(path: Path, whole_ids: bool) -> Iterator[_Write]:
    """A function that adds rows of verdicts to a Parquet file, each time as a row group."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    kinds = {"id": pa.int64() if whole_ids else pa.string(), **dict.fromkeys(("p_a", "p_b", "p_tie"), pa.float64())}
    names = ("id", "verdict", "p_a", "p_b", "p_tie", "status", "judge")
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in names])
    with ParquetWriter(path, schema) as writer:
        yield lambda rows: writer.write_table(pa.Table.from_pylist(rows, schema))


def write_rows(out: str, rows: list[dict[str, Any]], kept: str) -> None:
    """Write rows in one step, as `written` does."""
    with written(out, kept) as write:
        write(rows)
