"""The verdict store: every reply a judge gave, keyed by what was asked of whom.

One SQLite file in WAL mode. A row is durable when the batch it came in returns, so a killed run loses at most the
batch in flight; two processes may write at once. A failed call is kept for the record and never counts as done.
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

SCHEMA_VERSION = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
    judge TEXT NOT NULL,
    input TEXT NOT NULL,
    decoding TEXT NOT NULL,
    sample INTEGER NOT NULL,
    status TEXT NOT NULL,
    reply TEXT NOT NULL,
    written TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (judge, input, decoding, sample)
) WITHOUT ROWID;
"""
COLUMNS = ["judge", "input", "decoding", "sample", "status", "reply", "written"]
PATIENCE = 120  # seconds to wait for another process that is writing
LOOKUP_CHUNK = 500  # keys per SELECT; SQLite's default limit on variables is far above


@dataclass(frozen=True, slots=True)
class Reply:
    """What a judge answered to a pair as shown, in terms of first and second.

    Attributes
    ----------
    verdict : {"first", "second", "tie"} or None
        None unless status is ``ok``.
    p_first, p_second, p_tie : float or None
    score_first, score_second : float or None
    status : {"ok", "unparsed", "ambiguous", "error"}
    raw : str or None
        The reply as received, or the error.
    prompt_version : str or None
    tokens_in, tokens_out : int or None
        Of all calls made for this reply.
    seconds : float or None
    truncated : int or None
        Characters of the responses that were left out to fit the judge's limit; None where nothing was.
    calls : int or None
        Calls made for this reply. One that serves both orders is counted with the order that asked first.
    earlier : str or None
        What the model wrote in the calls before the last, as JSON.
    """

    verdict: str | None
    p_first: float | None = None
    p_second: float | None = None
    p_tie: float | None = None
    score_first: float | None = None
    score_second: float | None = None
    status: str = "ok"
    raw: str | None = None
    prompt_version: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float | None = None
    truncated: int | None = None
    calls: int | None = None
    earlier: str | None = None


FIELD_ORDER = tuple(item.name for item in fields(Reply))
REPLY_FIELDS = set(FIELD_ORDER)


class VerdictStore:
    """Replies on disk, looked up by (judge fingerprint, input hash, decoding config, sample index).

    Parameters
    ----------
    path : path or ":memory:"
        The SQLite file; made if absent.

    Raises
    ------
    ValueError
        If the file is not a verdict store, or one of another schema.

    Examples
    --------
    >>> store = VerdictStore(":memory:")
    >>> store.put("judge", "{}", {"input": Reply("first")})
    >>> store.get("judge", "{}", ["input", "other"])["input"].verdict
    'first'
    """

    def __init__(self, path):
        self.path = str(path)
        if self.path != ":memory:":
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        try:
            self.connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        except sqlite3.OperationalError as broken:
            raise ValueError(f"{self.path}: not a verdict store ({broken})") from None
        try:
            self.prepare()
        except sqlite3.OperationalError as failed:
            self.connection.close()
            if failed.sqlite_errorcode & 0xFF == sqlite3.SQLITE_CANTOPEN:
                raise ValueError(f"{self.path}: not a verdict store ({failed})") from None
            raise ValueError(f"{self.path}: the verdict store cannot be written ({failed})") from None
        except sqlite3.DatabaseError as broken:
            self.connection.close()
            raise ValueError(f"{self.path}: not a verdict store ({broken}); move it away to start afresh") from None
        except ValueError:
            self.connection.close()
            raise

    def prepare(self):
        """Make or check the table; waits where SQLite itself would not (two processes that make one file)."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self.prepare_once()
            except sqlite3.OperationalError as busy:
                if busy.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def prepare_once(self):
        """One attempt of `prepare`."""
        version = self.connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, SCHEMA_VERSION):
            raise ValueError(f"{self.path}: verdict store of schema {version}; this version reads {SCHEMA_VERSION}")
        tables = {name for (name,) in self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables - {"replies"}:
            raise ValueError(f"{self.path}: not a verdict store (it holds the table {min(tables - {'replies'})})")
        if tables and version == 0:  # left before its schema was told, or made by something older
            columns = [row[1] for row in self.connection.execute("PRAGMA table_info(replies)")]
            if columns != COLUMNS:
                raise ValueError(f"{self.path}: a store from before schema {SCHEMA_VERSION} ({', '.join(columns)})")
        self.connection.execute("PRAGMA journal_mode=WAL")
        # WAL with synchronous=FULL syncs at every commit: a returned batch survives a power cut.
        self.connection.execute("PRAGMA synchronous=FULL")
        self.connection.executescript(SCHEMA)
        self.connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def put(self, judge: str, decoding: str, replies: dict[str, Reply], sample: int = 0) -> None:
        """Store replies in one transaction. An ``ok`` reply is never replaced by a failed one."""
        rows = [(judge, key, decoding, sample, reply.status, dump_reply(reply)) for key, reply in replies.items()]
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            self.connection.executemany(
                "INSERT INTO replies (judge, input, decoding, sample, status, reply) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT DO UPDATE SET status = excluded.status, reply = excluded.reply "
                "WHERE replies.status = 'error'",
                rows,
            )
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def get(self, judge: str, decoding: str, keys: Iterable[str], sample: int = 0, failed: bool = False) -> dict:
        """The stored replies among ``keys``; failed calls only with ``failed=True``."""
        keys, found = list(dict.fromkeys(keys)), {}
        for start in range(0, len(keys), LOOKUP_CHUNK):
            found.update(self.get_chunk(judge, decoding, keys[start : start + LOOKUP_CHUNK], sample, failed))
        return found

    def get_chunk(self, judge: str, decoding: str, keys: Sequence[str], sample: int, failed: bool) -> dict:
        """One SELECT of `get`."""
        marks = ",".join("?" * len(keys))
        query = f"SELECT input, reply FROM replies WHERE judge=? AND decoding=? AND sample=? AND input IN ({marks})"
        query += "" if failed else " AND status != 'error'"
        rows = self.connection.execute(query, (judge, decoding, sample, *keys))
        return {key: load_reply(text) for key, text in rows}

    def count(self, judge: str | None = None) -> int:
        """Number of stored replies that count as done, of one judge or of all."""
        where, values = ("", ()) if judge is None else (" AND judge=?", (judge,))
        query = f"SELECT count(*) FROM replies WHERE status != 'error'{where}"
        return self.connection.execute(query, values).fetchone()[0]

    def close(self):
        """Close the file; the store can be opened again at any time."""
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def dump_reply(reply):
    """A reply as JSON without its empty fields; ASCII, so that a lone surrogate in a model's reply can be stored."""
    # `asdict` copies what it finds all the way down; the fields are plain, and a million replies feel it.
    values = ((name, getattr(reply, name)) for name in FIELD_ORDER)
    return json.dumps({name: value for name, value in values if value is not None})


def load_reply(text):
    """The inverse of `dump_reply`; unknown fields of a later version are refused rather than dropped."""
    row = json.loads(text)
    if unknown := set(row) - REPLY_FIELDS:
        raise ValueError(f"verdict store holds unknown fields {sorted(unknown)}: written by a later version?")
    row.setdefault("verdict", None)
    return Reply(**row)
