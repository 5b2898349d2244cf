"""judgekit.scoring.store: a verdict that was put is there, whatever happens to the process."""

import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from torture import flipped, flips, many_replies

from judgekit.records import Reply
from judgekit.scoring.store import SCHEMA_VERSION, VerdictStore, dump_reply, load_reply, user_store_path

JUDGE, DECODING, LATER = "fingerprint", "{}", SCHEMA_VERSION + 1
FAILED = Reply(None, status="error", raw="TimeoutError: no answer")

WRITER = """
import sys
from judgekit.records import Reply
from judgekit.scoring.store import VerdictStore

store, name = VerdictStore(sys.argv[1]), sys.argv[2]
for n in range(100_000):
    store.put("fingerprint", "{}", {f"{name}-{n}-{k}": Reply("first", raw="x" * 200) for k in range(5)})
    print(n, flush=True)  # only what the store has acknowledged
"""


def put(store, replies, **where):
    store.put(JUDGE, DECODING, replies, **where)


def get(store, keys, **where):
    return store.get(JUDGE, DECODING, keys, **where)


def everything(store):
    """All replies of the store, those of failed calls too."""
    rows = store.connection.execute("SELECT input, reply FROM replies WHERE sample = 0")
    return {key: load_reply(reply) for key, reply in rows}


def kill_after(writer, n_lines):
    """Read some acknowledgements, kill, read the rest: how many batches had returned."""
    returned = [writer.stdout.readline() for _ in range(n_lines)]
    os.kill(writer.pid, signal.SIGKILL)
    returned += writer.stdout.readlines()
    writer.wait()
    writer.stdout.close()
    assert writer.returncode == -signal.SIGKILL
    return sum(line.endswith("\n") for line in returned)


@pytest.mark.parametrize("names", ["a", "ab"])
def test_what_was_put_survives_killed_processes_that_write_at_once(tmp_path, names):
    path = tmp_path / "new" / "verdicts.sqlite"
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = {name: subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in names}
    counts = {name: kill_after(writer, 30) for name, writer in writers.items()}
    assert min(counts.values()) >= 30
    keys = {f"{name}-{n}-{k}" for name, n_batches in counts.items() for n in range(n_batches) for k in range(5)}
    with VerdictStore(path) as store:
        assert get(store, keys).keys() == keys
        assert store.count() - len(keys) in range(0, 5 * len(names) + 1, 5)  # a batch is there as a whole or not at all


def test_a_reply_comes_back_as_it_was(store):
    reply = Reply("tie", 0.25, 0.25, 0.5, -1.5, 2.0, "ok", "Tie.\n≤ “x” \U0001f600", "v1", 10, 0, 0.125)
    put(store, {"k": reply})
    assert get(store, ["k"]) == {"k": reply}


def test_a_failed_reply_is_kept_but_not_done_and_replaced_by_a_later_one(store):
    put(store, {"k": FAILED, "good": Reply("first")})
    assert set(get(store, ["k", "good"])) == {"good"} and everything(store)["k"] == FAILED
    assert store.count() == store.count(JUDGE) == 1
    later = Reply(None, status="error", raw="again")
    put(store, {"k": later})
    assert everything(store)["k"] == later
    put(store, {"k": Reply("second")})
    assert get(store, ["k"]) == {"k": Reply("second")}


@pytest.mark.parametrize("later", [FAILED, Reply("second"), Reply(None, status="unparsed")])
def test_a_good_reply_is_never_replaced(store, later):
    put(store, {"k": Reply("first")})
    put(store, {"k": later})
    assert everything(store) == {"k": Reply("first")}


def test_judge_decoding_and_sample_are_part_of_the_key(store):
    store.put("one", "{}", {"k": Reply("first")})
    store.put("one", '{"t":1}', {"k": Reply("second")})
    store.put("one", "{}", {"k": Reply("tie")}, sample=1)
    assert store.get("one", "{}", ["k"])["k"].verdict == "first"
    assert store.get("one", '{"t":1}', ["k"])["k"].verdict == "second"
    assert store.get("one", "{}", ["k"], sample=1)["k"].verdict == "tie"
    assert store.get("two", "{}", ["k"]) == {}
    assert (store.count("one"), store.count("two")) == (3, 0)


def test_a_batch_is_stored_as_a_whole_or_not_at_all(store):
    with pytest.raises(TypeError):
        put(store, {"a": Reply("first"), "b": Reply("first", raw=object())})
    with pytest.raises(sqlite3.DatabaseError):
        put(store, {"a": Reply("first"), "b": Reply("first", status=None)})
    assert store.count() == 0
    put(store, {"a": Reply("first")})
    assert store.count() == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (f"PRAGMA user_version={LATER}", f"schema {LATER}; this version reads {SCHEMA_VERSION}"),
        ("CREATE TABLE visits (url TEXT)", "not a verdict store"),  # the database of another program
        ("item_id,verdict\n" * 200, r"verdicts\.sqlite: not a verdict store"),  # no database
    ],
)
def test_what_is_no_store_of_ours_is_refused_and_left_alone(tmp_path, content, words):
    path = tmp_path / "verdicts.sqlite"
    if content.startswith("item_id"):
        path.write_text(content)
    else:
        with sqlite3.connect(path) as raw:
            raw.execute(content)
        raw.close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match=words):
        VerdictStore(path)
    assert path.read_bytes() == before


def test_a_field_of_a_later_version_is_refused():
    with pytest.raises(ValueError, match="colour"):
        load_reply('{"verdict": "first", "colour": "red"}')


def test_a_user_has_one_store(monkeypatch, tmp_path, own_store):
    assert user_store_path() == own_store
    monkeypatch.setenv("JUDGEKIT_STORE", "~/v.sqlite")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_store_path() == tmp_path / "v.sqlite"
    monkeypatch.delenv("JUDGEKIT_STORE")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert user_store_path() == tmp_path / ".local" / "share" / "judgekit" / "verdicts.sqlite"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "x"))
    assert user_store_path() == tmp_path / "x" / "judgekit" / "verdicts.sqlite"


def test_a_flipped_bit_is_a_sentence_and_never_another_reply(tmp_path):
    report = flipped(*flips(tmp_path)["store"], random.Random(20), 500)
    assert report["lost"] == 0 and report["refused"] > 100


def test_damage_to_a_key_is_found_before_anybody_is_asked_again(tmp_path):
    path = tmp_path / "s.sqlite"
    with VerdictStore(path) as store:
        put(store, {"a": Reply("first"), "b": Reply("second")})
        store.connection.execute("UPDATE replies SET input = 'c' WHERE input = 'a'")
        assert get(store, ["b"]) == {"b": Reply("second")}
        with pytest.raises(ValueError, match=r"s\.sqlite is damaged .* move it away to start afresh"):
            get(store, ["a", "b"])
        assert store.to_parquet(tmp_path / "rest.parquet", damaged=True) == 1
        with pytest.raises(ValueError, match="is damaged"):
            store.to_parquet(tmp_path / "all.parquet")
    assert not (tmp_path / "all.parquet").exists()
    with VerdictStore(tmp_path / "new.sqlite") as store:
        assert store.add_parquet(tmp_path / "rest.parquet") == 1
        assert get(store, ["a", "b"]) == {"b": Reply("second")}


VERSION_1 = """
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


@pytest.fixture
def version_1(tmp_path):
    """A store as it was before replies had checksums, and what it holds."""
    path, replies = tmp_path / "old.sqlite", many_replies() | {"failed": FAILED}
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA journal_mode=WAL")
        raw.executescript(VERSION_1)
        raw.execute("PRAGMA user_version=1")
        raw.executemany(
            "INSERT INTO replies VALUES (?, ?, ?, 0, ?, ?, '2026-01-02T03:04:05.000Z')",
            [(JUDGE, key, DECODING, reply.status, dump_reply(reply)) for key, reply in replies.items()],
        )
    raw.close()
    return path, replies


def test_a_store_of_schema_1_is_brought_to_this_one(version_1):
    path, replies = version_1
    for _ in range(2):
        with VerdictStore(path) as store:
            store.check()
            assert everything(store) == replies
            assert store.connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
            written = store.connection.execute("SELECT DISTINCT written FROM replies").fetchall()
            assert written == [("2026-01-02T03:04:05.000Z",)]


def migrate_and_die(path):
    store = VerdictStore.__new__(VerdictStore)
    store.path, store.connection = str(path), sqlite3.connect(path, isolation_level=None)
    store.connection.execute("BEGIN IMMEDIATE")
    store._bring_to_schema()
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_migration_that_is_killed_leaves_the_old_store(version_1):
    path, replies = version_1
    worker = multiprocessing.get_context("fork").Process(target=migrate_and_die, args=(path,))
    worker.start()
    worker.join()
    assert worker.exitcode == -signal.SIGKILL
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (1,)
        assert raw.execute("SELECT count(*) FROM replies").fetchone() == (len(replies),)
    raw.close()
    with VerdictStore(path) as store:
        assert everything(store) == replies


def test_replies_go_to_parquet_and_back(tmp_path):
    path, replies = tmp_path / "r.parquet", many_replies() | {"failed": FAILED}
    with VerdictStore(tmp_path / "a.sqlite") as store:
        put(store, replies)
        put(store, {"sampled": Reply("tie")}, sample=3)
        assert store.to_parquet(path) == len(replies) + 1
    assert pq.read_schema(path).names == "judge input decoding sample status reply checksum written".split()
    with VerdictStore(tmp_path / "b.sqlite") as store:
        own = next(key for key, reply in replies.items() if reply.status == "ok")
        put(store, {own: Reply("second"), "failed": Reply("first")})
        assert store.add_parquet(path) == store.add_parquet(path) == len(replies) + 1
        assert everything(store) == replies | {own: Reply("second"), "failed": Reply("first")}
        assert get(store, ["sampled"], sample=3) == {"sampled": Reply("tie")}


@pytest.mark.parametrize(
    "change", [{"reply": '{"verdict": "second", "status": "ok"}'}, {"sample": 7}, {"reply": None}, {"checksum": None}]
)
def test_a_row_that_is_not_what_was_written_is_refused_and_nothing_is_added(tmp_path, store, change):
    put(store, {"a": Reply("first"), "b": Reply("first")})
    store.to_parquet(tmp_path / "r.parquet")
    rows = pq.read_table(tmp_path / "r.parquet").to_pylist()
    rows[1] |= change
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "r.parquet")
    with VerdictStore(":memory:") as other:
        with pytest.raises(ValueError, match=r"r\.parquet, row 2: its checksum does not fit it; nothing was added"):
            other.add_parquet(tmp_path / "r.parquet")
        assert other.count() == 0


def test_what_is_no_table_of_replies_is_refused(tmp_path, store):
    pq.write_table(pa.table({"id": [1]}), tmp_path / "other.parquet")
    (tmp_path / "text.parquet").write_text("no table")
    for name in ("other", "text"):
        with pytest.raises(ValueError, match=rf"{name}\.parquet: no Parquet file of replies"):
            store.add_parquet(tmp_path / f"{name}.parquet")


@pytest.mark.parametrize("variables", [{}, {"SLURM_JOB_ID": "7"}])
def test_nodes_of_a_cluster_share_no_memory_of_a_write_ahead_log(tmp_path, monkeypatch, variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with VerdictStore(tmp_path / "s.sqlite") as store:
        assert store.connection.execute("PRAGMA journal_mode").fetchone() == ("delete" if variables else "wal",)
