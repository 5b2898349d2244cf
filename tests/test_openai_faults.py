"""openai/ judges against a real server that fails on purpose, and a client that is killed on the way."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing

import pytest
from chat_server import FAULTS, KEY, ChatServer, faults_at, running

from judgekit.records import PreferencePair
from judgekit.scoring.store import load_reply

N_PAIRS, N_CALM = 1000, 150
N_ITEMS = 2 * (N_PAIRS + N_CALM)
MOST = 32
CLIENT = """
import json, logging, sys
logging.basicConfig(level=logging.DEBUG, filename=sys.argv[2])
sys.path.insert(0, sys.argv[3])
from test_openai_faults import MOST, pairs
from judgekit.judges import load_judge
from judgekit.scoring import run_judge
from judgekit.scoring.store import VerdictStore

settings = {"timeout": float(sys.argv[4]), "backoff": 0.01, "attempts": 10, "concurrency": MOST}
judge = load_judge("openai/tiny", settings=settings)
with VerdictStore(sys.argv[1]) as store:
    verdicts = run_judge(judge, pairs(), store)
print(json.dumps({v.item_id + v.order: [v.verdict, v.status] for v in verdicts}))
"""


def pairs():
    """Pairs whose better response can be told; the calm ones are shorter, so that they are asked about last."""
    found = []
    for n in range(N_PAIRS + N_CALM):
        question = f"A question about number {n:05d}, please?" if n < N_PAIRS else f"calm {n:05d}?"
        answers = f"this is right, {n:05d}", f"this is wrong, {n:05d}"
        pair = PreferencePair(str(n), "authored", question, *answers, label="A")
        found.append(pair if n % 3 else pair.swapped())
    return found


def plan(text, attempt):
    return None if "calm" in text else faults_at(0.05)(text, attempt)


def slowness():
    """Wall time over processor time of a piece of work: how many others want this machine."""
    wall, processor = time.perf_counter(), time.process_time()
    sum(range(20_000_000))
    return (time.perf_counter() - wall) / (time.process_time() - processor)


def start_client(tmp_path, server, number):
    environment = os.environ | {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY, "PYTHONFAULTHANDLER": "1"}
    command = [sys.executable, "-c", CLIENT, tmp_path / "verdicts.sqlite", tmp_path / f"{number}.log"]
    streams = {"stdout": subprocess.PIPE, "stderr": open(tmp_path / f"{number}.err", "w")}  # noqa: SIM115
    command += [os.path.dirname(__file__), server.hang / 5]
    return subprocess.Popen([*map(str, command)], env=environment, text=True, **streams)


def count_stored(path):
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as store:
            return store.execute("SELECT count(*) FROM replies").fetchone()[0]
    except sqlite3.OperationalError:  # not made yet
        return 0


def kill_when(client, path, n_stored):
    """Kill the client as soon as so many replies are stored; how many are in the end."""
    deadline = time.monotonic() + 300
    try:
        while count_stored(path) < n_stored:
            assert client.poll() is None, "the client ended before it could be killed"
            assert time.monotonic() < deadline, f"{count_stored(path)} replies in five minutes: is the machine busy?"
            time.sleep(0.05)
    finally:
        os.kill(client.pid, signal.SIGKILL)
        client.wait()
        client.stdout.close()
    return count_stored(path)


@pytest.mark.slow
def test_every_item_is_judged_once_whatever_fails_and_whoever_is_killed(tmp_path):
    path, server = tmp_path / "verdicts.sqlite", ChatServer(plan, hang=2 * min(10, slowness()))
    with running(server):
        kept = [kill_when(start_client(tmp_path, server, number), path, 400 * (number + 1)) for number in range(2)]
        before_last = Counter(server.answered)
        last = start_client(tmp_path, server, 2)
        printed = json.loads(last.communicate(timeout=600)[0])
    assert last.returncode == 0 and 400 <= kept[0] < kept[1] < N_ITEMS

    # Every item once, with the verdict on itself and on no other.
    expected = {pair.item_id + order: [pair.label, "ok"] for pair in pairs() for order in ("ab", "ba")}
    assert printed == expected
    with closing(sqlite3.connect(path)) as store:
        rows = store.execute("SELECT status, reply FROM replies").fetchall()
    assert len(rows) == N_ITEMS and {status for status, _ in rows} == {"ok"}
    assert all(load_reply(reply).calls == 1 for _, reply in rows)

    # Every fault struck, at about its rate.
    struck = {fault: sum(plan(text, 0) == fault for text in server.asked) for fault in FAULTS}
    assert all(60 <= n <= 140 for n in struck.values()), struck

    # A kill loses what was in flight, and nothing that was stored is asked again.
    assert len(server.answered) == N_ITEMS
    assert sum(before_last.values()) - kept[1] <= 2 * MOST
    # Nor is more, but for good replies after a busy client's time-out: at most one for each repeat nobody planned.
    late = sum(n - 1 - (plan(text, 0) not in (None, "twice")) for text, n in server.asked.items())
    assert sum(server.answered.values()) - N_ITEMS <= 2 * MOST + late

    assert server.most_at_once <= MOST

    # The key is in no file, although the server put it into its messages.
    files = [file for file in tmp_path.iterdir() if file.is_file()]
    assert len(files) >= 7 and (tmp_path / "2.log").stat().st_size > 1000
    assert [file.name for file in files if KEY.encode() in file.read_bytes()] == []
