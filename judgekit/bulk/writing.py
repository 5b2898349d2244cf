"""Result rows into the file that was asked for: JSON lines or Parquet, whole or not at all."""

import json
import os
import secrets
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

TEXTS = ("verdict", "status", "judge")
PROBABILITIES = ("p_a", "p_b", "p_tie")
GROUP = 1 << 16  # rows of a row group


def is_parquet(out):
    """Whether the name of a file says Parquet."""
    return str(out).lower().endswith(".parquet")


def write_batches(batches, out, whole_ids):
    """Write result rows.

    Parameters
    ----------
    batches : iterable of list of dict
        Rows in order.
    out : str
        A file, Parquet where its name ends in ``.parquet``; ``-`` is standard output.
    whole_ids : bool
        Whether a table may hold ids as 64-bit whole numbers; otherwise it holds them as texts.

    Raises
    ------
    OSError
        If it cannot be written; an older file is then as it was.
    """
    if out == "-":
        for batch in batches:
            sys.stdout.writelines(json.dumps(row) + "\n" for row in batch)
        sys.stdout.flush()
        return
    with replacing(out) as part:
        if is_parquet(out):
            write_table(batches, part, whole_ids)
        else:
            with open(part, "x", encoding="utf-8", newline="\n") as stream:
                for batch in batches:
                    stream.writelines(json.dumps(row) + "\n" for row in batch)


@contextmanager
def replacing(out):
    """A name to write to; once durable it takes the place of ``out`` (what a link points to), and its mode."""
    target = Path(os.path.realpath(out))
    part = target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        yield part
        with open(part, "rb+") as written:
            os.fsync(written.fileno())
        move_over(part, target)
    finally:
        part.unlink(missing_ok=True)


def move_over(part, target):
    """Let a finished file take the place of an older one, and its mode."""
    target = Path(os.path.realpath(target))
    if target.exists():
        shutil.copymode(target, part)
    os.replace(part, target)


def write_table(batches, path, whole_ids):
    """Rows as a Parquet file; at most a row group is held."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    columns = [("id", pa.int64() if whole_ids else pa.string()), *((name, pa.string()) for name in TEXTS)]
    kinds = dict(columns) | {name: pa.float64() for name in PROBABILITIES}
    schema = pa.schema([(name, kinds[name]) for name in ("id", "verdict", *PROBABILITIES, "status", "judge")])
    with ParquetWriter(path, schema) as writer:
        held = []
        for batch in batches:
            rows = batch if whole_ids else [row | {"id": id_text(row["id"])} for row in batch]
            held.append(pa.Table.from_pylist(rows, schema))
            if sum(map(len, held)) >= GROUP:
                writer.write_table(pa.concat_tables(held))
                held = []
        if held:
            writer.write_table(pa.concat_tables(held))


def id_text(given):
    """An id as text that UTF-8 can hold, as `PairRow.pair` has it."""
    return str(given).encode("utf-8", "backslashreplace").decode("utf-8")
