"""The file that a command writes: by one process at a time, and whole or not at all."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from judgekit.cli.messages import BAD_INPUT, UNEXPECTED, Stop, reason, silence_stdout
from judgekit.data.files import replaced

_GROUP = 1 << 16  # rows of a row group of Parquet
_COLUMNS = ("id", "verdict", "p_a", "p_b", "p_tie", "status", "judge")


@contextmanager
def only_writer(out: str | None) -> Iterator[None]:
    """Let no other process write the same output meanwhile, or stop; the lock goes with its process."""
    lock = None
    if out is not None and out != "-":
        from filelock import FileLock, Timeout

        with suppress(OSError, ValueError):  # `check_out` says what is wrong
            target = os.path.realpath(out)
            if os.path.isdir(os.path.dirname(target)):  # which a lock would make
                try:
                    lock = FileLock(f"{target}.lock", timeout=0).acquire().lock
                except Timeout:
                    raise Stop(BAD_INPUT, f"--out {out}: another process is writing it") from None
    try:
        yield
    finally:
        if lock is not None:
            with suppress(OSError):  # Windows removes no open file: an old lock file locks nothing
                Path(lock.lock_file).unlink(missing_ok=True)
            lock.release()


def check_out(out: str, source: str) -> None:
    """Refuse, before any work, an output file that could not or should not be written."""
    if out == "-":
        return
    try:
        if complaint := _complaint_about(Path(out), Path(source)):
            raise Stop(BAD_INPUT, f"--out {out}: {complaint}")
    except (OSError, ValueError) as bad:  # a name that is too long, a folder that may not be entered
        raise Stop(BAD_INPUT, f"--out {out}: {reason(bad)}") from None


def _complaint_about(path: Path, source: Path) -> str | None:
    folder = Path(os.path.realpath(path)).parent
    if path.is_dir():
        return "is a folder; name a file in it"
    if not folder.is_dir():
        return f"the folder {folder} does not exist"
    if path.exists():
        if not path.is_file():
            return "is not a regular file (use - for standard output)"
        if source.exists() and path.samefile(source):
            return "is the input file itself"
    if not os.access(folder, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
        return "may not be written to (permission denied)"
    return None


@contextmanager
def written(out: str, whole_ids: bool = True, keeping: str = "") -> Iterator[Callable[[list[dict[str, Any]]], None]]:
    """A function that takes rows; when the block ends well they are in ``out`` or on standard output.

    JSON lines, or a table of verdicts where the name ends in ``.parquet``: ids are texts there without ``whole_ids``.
    Stop if they could not be written, with ``keeping`` on what is not lost; an older file is then as it was.
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
            if target.suffix.lower() == ".parquet":
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
        raise Stop(UNEXPECTED, f"{name} could not be written ({full.strerror or full}){keeping}") from None


@contextmanager
def _table(path: Path, whole_ids: bool) -> Iterator[Callable[[list[dict[str, Any]]], None]]:
    """A function that adds rows to a Parquet file; at most a row group is in memory."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    types = {"id": pa.int64() if whole_ids else pa.string()} | dict.fromkeys(("p_a", "p_b", "p_tie"), pa.float64())
    schema = pa.schema([(name, types.get(name, pa.string())) for name in _COLUMNS])
    group: list[Any] = []

    def write(rows: list[dict[str, Any]]) -> None:
        # Without whole ids they are texts that UTF-8 can hold, as `PairRow.pair` has them.
        texts = rows if whole_ids else [row | {"id": _text(row["id"])} for row in rows]
        group.append(pa.Table.from_pylist(texts, schema))
        if sum(map(len, group)) >= _GROUP:
            writer.write_table(pa.concat_tables(group))
            group.clear()

    with ParquetWriter(path, schema) as writer:
        yield write
        if group:
            writer.write_table(pa.concat_tables(group))


def _text(given: object) -> str:
    return str(given).encode("utf-8", "backslashreplace").decode("utf-8")


def write_rows(out: str, rows: list[dict[str, Any]], keeping: str = "") -> None:
    """Write rows in one step, as `written` does."""
    with written(out, keeping=keeping) as write:
        write(rows)
