"""Bulk judging by Ray: rows once and in order, whoever is killed.

What a worker does is tested without Ray too: requests in, replies out.
"""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import psutil
import pytest
from test_bulk import lines_of, stored, verdict_of
from test_cli import read_lines
from test_pairfile import write

from judgekit.cli.messages import Stop
from judgekit.cli.ray_engine import PIECE, RayJudge, Worker
from judgekit.data.pairfile import read_pairs
from judgekit.judges import load_judge, request_of

N = 12 * PIECE + 5


@pytest.fixture
def long_file(tmp_path):
    return write(tmp_path, "\n".join(lines_of(N)))


def check_verdicts(out):
    assert [(row["id"], row["verdict"]) for row in read_lines(out)] == [(i, verdict_of(i)) for i in range(N)]


def test_a_worker_replies_as_the_judge_does_here(tmp_path):
    messages = [{"role": "user", "content": "1?"}, {"role": "assistant", "content": "1"}]
    prompt = [*messages, {"role": "user", "content": "2?\ud800"}]
    rows = [{"id": n, "prompt": prompt, "chosen": "c" * n, "rejected": "rr"} for n in range(5)]
    requests = [request_of(pair, "ba") for pair in read_pairs(write(tmp_path, "\n".join(map(json.dumps, rows))))]
    judge = load_judge("baseline/longer")
    worker = Worker({"name": "baseline/longer", "label": None, "settings": {}}, (judge.fingerprint, judge.decoding))
    sent = pickle.loads(pickle.dumps(requests))  # noqa: S301 - as Ray does
    replies = pickle.loads(pickle.dumps(worker.replies(7, sent, [0, 1, 2, 4])))  # noqa: S301
    given = judge.judge(requests)
    assert replies == {7 + n: given[n] for n in (0, 1, 2, 4)}


def test_a_worker_that_computes_otherwise_than_its_key_says_is_refused_and_the_reason_is_told(tmp_path):
    """At e4594ef1 what a worker had computed in bfloat16 was kept as the driver's float32, and Ray's own errors ended
    as unexpected ones."""
    with pytest.raises(ValueError, match=re.escape('baseline/longer computes {}, not {"dtype": "float32"}')):
        Worker({"name": "baseline/longer"}, (load_judge("baseline/longer").fingerprint, '{"dtype": "float32"}'))
    judge = RayJudge(load_judge("baseline/longer"), {}, 1)
    judge._pool = SimpleNamespace(map_unordered=watched_pool)
    pair = read_pairs(write(tmp_path, json.dumps({"question": "Q", "response_a": "a", "response_b": "b"})))[0]
    with pytest.raises(Stop, match=r"Ray gave up \(ValueError: it computes otherwise\); what was judged is kept"):
        list(judge.judge_stream([request_of(pair, "ab")], [0]))


def watched_pool(work, pieces):
    raise RayError("a worker died\n  File x\nValueError: it computes otherwise")


class RayError(Exception):
    """Ray's own are no RuntimeError."""


def started(path, out, judge="baseline/longer"):
    command = [sys.executable, "-c", "import sys; from judgekit.cli import main; sys.exit(main(sys.argv[1:]))", "judge"]
    command += [str(path), "--out", str(out), "--judge", judge, "--engine", "ray", "--workers", "2", "--quiet"]
    command += ["--store", str(out.with_name("s.sqlite"))]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def wait_for_verdicts(folder, process):
    while process.poll() is None:
        if (folder / "s.sqlite").is_file() and stored(folder / "s.sqlite"):
            return
        time.sleep(0.005)
    raise AssertionError(f"ended before a verdict was seen: {process.stderr.read()}")


def ray_workers():
    """Processes of this machine that hold a judge for Ray."""
    return [each for each in psutil.process_iter(["cmdline"]) if "ray::Worker" in " ".join(each.info["cmdline"] or ())]


@pytest.mark.ray
@pytest.mark.slow
def test_a_killed_worker_is_replaced(tmp_path, long_file):
    process = started(long_file, tmp_path / "o.jsonl")
    wait_for_verdicts(tmp_path, process)
    for worker in ray_workers()[:1]:
        worker.send_signal(signal.SIGKILL)
    assert process.wait(300) == 0, process.stderr.read()
    check_verdicts(tmp_path / "o.jsonl")


@pytest.mark.ray
@pytest.mark.slow
def test_a_killed_driver_is_gone_on_from(tmp_path, long_file):
    out = tmp_path / "o.jsonl"
    process = started(long_file, out)
    wait_for_verdicts(tmp_path, process)
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    before = stored(tmp_path / "s.sqlite")
    assert not out.exists() and 0 < before <= 2 * N
    process = started(long_file, out)
    assert process.wait(300) == 0, process.stderr.read()
    check_verdicts(out)
    assert stored(tmp_path / "s.sqlite") == 2 * N
    assert sorted(os.listdir(tmp_path)) == ["o.jsonl", "pairs.jsonl", "s.sqlite"]
