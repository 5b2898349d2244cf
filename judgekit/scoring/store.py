"""The verdict store: every reply that a judge gave, found by what was asked of whom.

One SQLite file in WAL mode. A row is durable when the batch it came in returns, so a killed run loses at most the batch
in flight; two processes may write at once. A failed call is kept for the record and never counts as done. Each row has
a checksum over its key and its reply: damage to the file is a `DamagedStore`, never another verdict.
"""

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any, Self

from judgekit.data import paths
from judgekit.data.files import replaced
from judgekit.records import Reply

SCHEMA_VERSION = 2
_FIELDS = tuple(item.name for item in fields(Reply))
_KEY = ("judge", "input", "decoding", "sample")
_COLUMNS = {1: [*_KEY, "status", "reply", "written"], 2: [*_KEY, "status", "reply", "checksum", "written"]}
_SCHEMA = """CREATE TABLE replies (
    judge TEXT NOT NULL,
    input TEXT NOT NULL,
    decoding TEXT NOT NULL,
    sample INTEGER NOT NULL,
    status TEXT NOT NULL,
    reply TEXT NOT NULL,
    checksum TEXT NOT NULL,
    written TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (judge, input, decoding, sample)
) WITHOUT ROWID"""
_PUT = (
    "INSERT INTO replies (judge, input, decoding, sample, status, reply, checksum) VALUES (?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET status = excluded.status, reply = excluded.reply, checksum = excluded.checksum, "
    "written = excluded.written WHERE "
)
_SELECT = f"SELECT {', '.join(_COLUMNS[2])} FROM replies"
_PART = " WHERE (?1 IS NULL OR judge = ?1) AND (?2 IS NULL OR decoding = ?2) AND (?3 IS NULL OR written < ?3)"
Part = tuple[str | None, str | None, str | None]  # a judge's fingerprint, its decoding, before a date; None: any
_PATIENCE = 120  # seconds to wait for another process that is writing
_KEYS = 500  # of a SELECT; SQLite's default limit on variables is far above
_GROUP = 1 << 14  # rows of a Parquet row group
# What says nothing against the file itself: a full disk, a lock, missing rights, no memory.
_PASSING = (
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM),
    *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_INTERRUPT),
)


class DamagedStore(ValueError):
    """The file of a verdict store is damaged; the message names it and says what to do."""


class StoreFailure(RuntimeError):
    """A verdict store could not be read or written for a reason outside of it, such as a full disk."""


def user_store_path() -> Path:
    """The one verdict store of this user: what ``JUDGEKIT_STORE`` names, else a file in the folder for user data."""
    if named := os.environ.get("JUDGEKIT_STORE", "").strip():
        return Path(named).expanduser()
    variable, folder = ("LOCALAPPDATA", "AppData/Local") if os.name == "nt" else ("XDG_DATA_HOME", ".local/share")
    return Path(os.environ.get(variable) or Path.home() / folder, "judgekit", "verdicts.sqlite")


class VerdictStore:
    """Replies on disk, looked up by (judge fingerprint, input hash, decoding config, sample index).

    ``path`` is made if absent; ":memory:" outlives nothing. With ``fresh``, earlier replies are not returned; each is
    kept until the one that replaces it is on disk. ValueError if the file is no verdict store, or of a later schema.
    """

    def __init__(self, path: str | os.PathLike[str], fresh: bool = False) -> None:
        self.path = str(path)
        self.fresh, self._renewed = fresh, set[tuple[str, str, str, int]]()
        self._checked = False
        Path(self.path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            with ExitStack() as unusable:
                self.connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
                unusable.callback(self.connection.close)
                self._prepare()
                unusable.pop_all()
        except sqlite3.DatabaseError as failed:
            said = f"{self.path}: not a verdict store ({failed})"
            if _code(failed) not in _PASSING:
                raise DamagedStore(f"{said}, or a damaged one; move it away to start afresh") from None
            if _code(failed) != sqlite3.SQLITE_CANTOPEN:
                said = f"{self.path}: the verdict store cannot be written ({failed})"
            raise ValueError(said) from None

    def _prepare(self) -> None:
        """Make or check the table; waits where SQLite itself would not (two processes that make one file)."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                self._schema()  # looked at first: a file that is something else is left as it is
                self.connection.execute("PRAGMA cell_size_check=ON")
                # Nodes of a cluster share a folder, where WAL, whose index is each machine's own, would lose replies.
                self.connection.execute(f"PRAGMA journal_mode={'DELETE' if 'SLURM_JOB_ID' in os.environ else 'WAL'}")
                # With synchronous=FULL every commit is synced: a returned batch survives a power cut.
                self.connection.execute("PRAGMA synchronous=FULL")
                if self._schema() != (SCHEMA_VERSION, SCHEMA_VERSION):
                    with self._transaction():
                        self._bring_to_schema()
                return
            except sqlite3.OperationalError as busy:
                if _code(busy) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def _schema(self) -> tuple[int, int]:
        """The schema of the table (0 where there is none) and the one that the file names; ValueError if unreadable."""
        version = self.connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, *_COLUMNS):
            raise ValueError(f"{self.path}: verdict store of schema {version}; this version reads {SCHEMA_VERSION}")
        tables = {name for (name,) in self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables - {"replies"}:
            raise ValueError(f"{self.path}: not a verdict store (it holds the table {min(tables - {'replies'})})")
        columns = [row[1] for row in self.connection.execute("PRAGMA table_info(replies)")]
        for schema, expected in {0: [], **_COLUMNS}.items():
            if columns == expected and version <= schema:  # another process may just be bringing it to its schema
                return schema, version
        if version == 0:
            raise ValueError(f"{self.path}: a store from before schema 1 ({', '.join(columns)})")
        raise self._damaged(f"columns {', '.join(columns) or 'are missing'}")

    def _bring_to_schema(self) -> None:
        """Make the table, or bring that of schema 1 to this one; part of a transaction."""
        schema, _ = self._schema()
        if schema == 1:
            self.connection.execute("ALTER TABLE replies RENAME TO replies_1")
        if schema != SCHEMA_VERSION:
            self.connection.execute(_SCHEMA)
        if schema == 1:
            columns = ", ".join(_COLUMNS[1])
            self.connection.create_function("checksum_of", 6, _checksum, deterministic=True)
            self.connection.execute(
                f"INSERT INTO replies ({columns}, checksum) "
                f"SELECT {columns}, checksum_of({', '.join(_COLUMNS[1][:6])}) FROM replies_1"
            )
            self.connection.execute("DROP TABLE replies_1")
        self.connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self.connection:  # commits, or rolls back what SQLite itself has not ended (as on a full disk)
            self.connection.execute("BEGIN IMMEDIATE")
            yield

    @contextmanager
    def _told(self) -> Iterator[None]:
        """SQLite's errors in a sentence that says whether the file is to blame; the caller's mistakes as they are."""
        try:
            yield
        except sqlite3.Error as failed:
            if isinstance(failed, sqlite3.IntegrityError | sqlite3.ProgrammingError):
                raise
            if _code(failed) in _PASSING:
                raise StoreFailure(f"the verdict store {self.path} failed: {failed}") from None
            raise self._damaged(str(failed)) from None

    def _damaged(self, what: str) -> DamagedStore:
        return DamagedStore(
            f"the verdict store {self.path} is damaged ({what}); move it away to start afresh "
            "(VerdictStore.to_parquet(..., damaged=True) saves the replies that are whole)"
        )

    def put(self, judge: str, decoding: str, replies: dict[str, Reply], sample: int = 0) -> None:
        """Store replies in one transaction. An ``ok`` reply is never replaced by a failed one."""
        rows = [(judge, key, decoding, sample, reply.status, dump_reply(reply)) for key, reply in replies.items()]
        with self._told(), self._transaction():
            self._put_rows(rows, "excluded.status != 'error'" if self.fresh else "replies.status = 'error'")
        if self.fresh:
            self._renewed |= {row[:4] for row in rows if row[4] != "error"}

    def _put_rows(self, rows: Iterable[tuple], replacing: str) -> None:
        self.connection.executemany(_PUT + replacing, ((*row, _checksum(*row)) for row in rows))

    def get(
        self, judge: str, decoding: str, keys: Iterable[str], sample: int = 0, failed: bool = False
    ) -> dict[str, Reply]:
        """The stored replies among ``keys``, or those of ``failed`` calls alone; DamagedStore if one has changed.

        Before a key is first said to be missing the whole file is checked: no wrong bit of a key asks again.
        """
        wanted = list(dict.fromkeys(keys))
        if self.fresh:
            wanted = [key for key in wanted if (judge, key, decoding, sample) in self._renewed]
        replies: dict[str, Reply] = {}
        with self._told():
            for start in range(0, len(wanted), _KEYS):
                some = wanted[start : start + _KEYS]
                where = f" WHERE judge=? AND decoding=? AND sample=? AND input IN ({','.join('?' * len(some))})"
                for row in self.connection.execute(_SELECT + where, (judge, decoding, sample, *some)):
                    replies[row[1]] = load_reply(self._whole(row)[5])
        if len(replies) < len(wanted) and not self._checked:
            self.check()
        return {key: reply for key, reply in replies.items() if (reply.status == "error") == failed}

    def _whole(self, row: tuple) -> tuple:
        """A row, after a look at its checksum."""
        if _checksum(*row[:6]) != row[6]:
            raise self._damaged(f"the checksum of the reply to input {str(row[1])[:12]!r} does not fit it")
        return row

    def check(self) -> None:
        """Check every page and the checksum of every reply; DamagedStore if anything has changed."""
        with self._told():
            (complaint,) = self.connection.execute("PRAGMA quick_check(1)").fetchone()
            if complaint != "ok":
                raise self._damaged(" ".join(str(complaint).split()))
            for row in self.connection.execute(_SELECT):
                self._whole(row)
        self._checked = True

    def to_parquet(self, path: str | os.PathLike[str], damaged: bool = False) -> int:
        """Write all replies to a Parquet file; their number. With ``damaged``, what can be read and is whole."""
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        schema = pa.schema([(name, pa.int64() if name == "sample" else pa.string()) for name in _COLUMNS[2]])
        count = 0
        with replaced(Path(path)) as temporary, ParquetWriter(temporary, schema) as writer:
            rows = self._rows(damaged)
            while group := list(islice(rows, _GROUP)):
                writer.write_table(pa.table([pa.array(cells) for cells in zip(*group, strict=True)], schema=schema))
                count += len(group)
        return count

    def _rows(self, damaged: bool) -> Iterator[tuple]:
        """All rows; with ``damaged`` those that are whole, up to the first page that cannot be read."""
        with suppress(DamagedStore) if damaged else nullcontext(), self._told():
            for row in self.connection.execute(_SELECT):
                if not damaged or _checksum(*row[:6]) == row[6]:
                    yield self._whole(row)

    def add_parquet(self, path: str | os.PathLike[str]) -> int:
        """Add the replies of a file that `to_parquet` wrote, all or none; their number. No ``ok`` reply is replaced.

        ValueError names file and row where one is not what was written.
        """
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        try:
            with ParquetFile(path) as table, self._told(), self._transaction():
                columns = _COLUMNS[2][:7]
                if missing := [name for name in columns if name not in table.schema_arrow.names]:
                    raise ValueError(f"{path}: no Parquet file of replies (it lacks the column {missing[0]!r})")
                batches = (batch.select(columns).to_pylist() for batch in table.iter_batches(_GROUP, columns=columns))
                rows = enumerate((tuple(row.values()) for batch in batches for row in batch), 1)
                self._put_rows((_checked_row(row, path, at) for at, row in rows), "replies.status = 'error'")
                return table.metadata.num_rows
        except pa.ArrowException as bad:
            raise ValueError(f"{path}: no Parquet file of replies ({str(bad).splitlines()[0]})") from None

    def count(self, judge: str | None = None) -> int:
        """Number of stored replies that count as done, of one judge or of all."""
        where, values = ("", ()) if judge is None else (" AND judge=?", (judge,))
        query = f"SELECT count(*) FROM replies WHERE status != 'error'{where}"
        with self._told():
            return self.connection.execute(query, values).fetchone()[0]

    def contents(self, part: Part) -> list[tuple[Any, ...]]:
        """By judge, most replies first, of a part of the store: replies, failures, tokens in and out, first, last."""
        tokens = ", ".join(f"coalesce(sum(json_extract(reply, '$.tokens_{way}')), 0)" for way in ("in", "out"))
        query = f"SELECT judge, count(*), sum(status = 'error'), {tokens}, min(written), max(written) FROM replies"
        with self._told():
            rows = self.connection.execute(f"{query}{_PART} GROUP BY judge ORDER BY count(*) DESC", part)
            return rows.fetchall()

    def prune(self, part: Part) -> int:
        """Remove a part of the replies; their number. The file shrinks."""
        with self._told():
            with self._transaction():
                count = self.connection.execute(f"DELETE FROM replies{_PART}", part).rowcount
            self.connection.execute("VACUUM")
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return count

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 255 of an error that Python's module raised itself."""
    return getattr(error, "sqlite_errorcode", -1) & 0xFF


def _checksum(judge: str, key: str, decoding: str, sample: int, status: str, reply: str) -> str:
    content = "\0".join(map(str, (judge, key, decoding, sample, status, reply)))
    return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _checked_row(row: tuple, path: str | os.PathLike[str], number: int) -> tuple:
    """The key, status and reply of a row of a table; ValueError if they are not what was written."""
    try:
        if _checksum(*row[:6]) != row[6] or load_reply(row[5]).status != row[4]:
            raise ValueError("its checksum does not fit it")
    except (ValueError, TypeError) as bad:
        raise ValueError(f"{path}, row {number}: {bad}; nothing was added") from None
    return row[:6]


def dump_reply(reply: Reply) -> str:
    """A reply as JSON without its empty fields; ASCII, so that a lone surrogate in a model's reply can be stored."""
    # `asdict` copies what it finds all the way down; the fields are plain, and a million replies feel it.
    values = ((name, getattr(reply, name)) for name in _FIELDS)
    return json.dumps({name: value for name, value in values if value is not None})


def load_reply(text: str) -> Reply:
    """The inverse of `dump_reply`; ValueError for fields of a later version, which are not dropped."""
    row = json.loads(text)
    if unknown := set(row) - set(_FIELDS):
        raise ValueError(f"verdict store holds unknown fields {sorted(unknown)}: written by a later version?")
    return Reply(**{"verdict": None} | row)


def shared_store() -> VerdictStore:
    """The one store that every run and notebook of this checkout shares: what was judged before is not judged again."""
    folder = paths.project_root() / "outputs"
    folder.mkdir(exist_ok=True)
    return VerdictStore(folder / "verdicts.sqlite")
