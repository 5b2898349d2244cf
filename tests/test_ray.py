"""Bulk judging by Ray: rows once and in order, whoever is killed; without Ray, how its absence is told.

What a worker does is tested without Ray too: chunks of rows in, chunks of verdicts out.
"""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np
import psutil
import pytest
from test_bulk import LONGER, PAIR, verdict_of
from test_cli import read_lines
from test_pairfile import pair_line, write

from judgekit.cli import main
from judgekit.cli.bulk.ray_engine import CHUNK, RayRun, Task, Worker
from judgekit.cli.bulk.source import check_source
from judgekit.cli.keeping import Keeping
from judgekit.cli.running import judge_file
from judgekit.judges import load_judge
from judgekit.records import ORDERS
from judgekit.scoring.store import VerdictStore

N = 12 * CHUNK + 5


def lines_of(count):
    return [pair_line(id=i, question=f"q{i}", response_a="x" * (i % 7), label="A") for i in range(count)]


@pytest.fixture
def long_file(tmp_path):
    return write(tmp_path, "\n".join(lines_of(N)))


def check_verdicts(out):
    """Every row once, in order, with its own verdict."""
    assert [(row["id"], row["verdict"]) for row in read_lines(out)] == [(i, verdict_of(i)) for i in range(N)]


class ByHand(RayRun):
    """Does what Ray would do: a worker that is called with the numbers of chunks."""

    def ask(self, store):
        os.makedirs(self.task.folder, exist_ok=True)
        self.staged = self.stage(store)
        worker, failed = Worker(vars(self.task)), {}
        for number in self.staged[0]:
            for replies in worker({"chunk": np.array([number])})["replies"]:
                failed |= self.keep(replies, store)
        return failed


def run_by_hand(path, folder, judge="baseline/longer"):
    """The exit code of a run, and what had to be judged for it: numbers of chunks, and requests."""
    source, judge = check_source(path), load_judge(judge)
    run = ByHand(source, Task(judge.name, {}, None, str(folder / "work")), judge, ORDERS, progress=False)
    keeping = Keeping(str(folder / "s.sqlite"), quiet=True)
    return judge_file(source, judge, ORDERS, str(folder / "o.jsonl"), keeping, run.ask), run.staged


# ---------------------------------------------------------------- without Ray


def test_a_worker_judges_what_is_not_in_the_store(tmp_path, long_file):
    assert run_by_hand(long_file, tmp_path) == (0, (list(range(13)), 2 * N))
    check_verdicts(tmp_path / "o.jsonl")
    with VerdictStore(tmp_path / "s.sqlite") as store:
        keys = [key for (key,) in store.connection.execute("SELECT input FROM replies")]
        assert store.count() == 2 * N == len(keys)
        store.connection.execute("DELETE FROM replies WHERE input IN (?, ?)", keys[:2])
    code, (chunks, waiting) = run_by_hand(long_file, tmp_path)
    assert (code, waiting) == (0, 2) and 1 <= len(chunks) <= 2
    check_verdicts(tmp_path / "o.jsonl")
    assert run_by_hand(long_file, tmp_path) == (0, ([], 0))


def test_failed_rows_are_told_and_judged_again(tmp_path, long_file, capsys, monkeypatch):
    from judgekit.judges.baseline import RuleJudge

    rule = RuleJudge.judge

    def failing(self, requests):
        if any(request.question == f"q{CHUNK + 2}" for request in requests):
            raise RuntimeError("the server slept")
        return rule(self, requests)

    monkeypatch.setattr(RuleJudge, "judge", failing)
    assert run_by_hand(long_file, tmp_path)[0] == 3
    said = capsys.readouterr().err
    assert f"1 of {N} pairs failed" in said and "RuntimeError: the server slept" in said
    assert read_lines(tmp_path / "o.jsonl")[CHUNK + 2]["status"] == "error"
    monkeypatch.undo()
    assert run_by_hand(long_file, tmp_path) == (0, ([1], 2))
    check_verdicts(tmp_path / "o.jsonl")


def test_texts_survive_their_journey(tmp_path):
    messages = [{"role": "user", "content": "1?"}, {"role": "assistant", "content": "1"}]
    prompt = [*messages, {"role": "user", "content": "2?\ud800"}]
    rows = [{"id": "é", "prompt": prompt, "chosen": "c", "rejected": "r"}]
    path = write(tmp_path, "\n".join(map(json.dumps, rows)))
    assert run_by_hand(path, tmp_path)[0] == 0  # what was asked has the key of what was to be asked
    assert run_by_hand(path, tmp_path) == (0, ([], 0))


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is here")
def test_without_ray_there_is_one_clear_sentence(tmp_path, capsys):
    path = write(tmp_path, json.dumps(PAIR))
    assert main(["judge", str(path), "--out", str(tmp_path / "o.jsonl"), *LONGER, "--engine", "ray"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: --engine ray needs the package ray") and err.count("\n") == 1
    assert os.listdir(tmp_path) == [path.name]


def test_what_ray_cannot_do_is_refused(tmp_path, capsys):
    path = write(tmp_path, json.dumps(PAIR))
    assert main(["judge", str(path), "--out", "-", *LONGER, "--engine", "ray"]) == 2
    assert "--out must name one" in capsys.readouterr().err
    assert main(["judge", str(path), "--out", str(tmp_path / "o"), *LONGER, "--workers", "2"]) == 2
    assert "only --engine ray has workers" in capsys.readouterr().err


# ---------------------------------------------------------------- with Ray


def started(path, out, judge="baseline/longer"):
    """The command in a process of its own."""
    command = [sys.executable, "-c", "import sys; from judgekit.cli import main; sys.exit(main(sys.argv[1:]))", "judge"]
    command += [str(path), "--out", str(out), "--judge", judge, "--engine", "ray", "--workers", "2", "--quiet"]
    command += ["--store", str(out.with_name("s.sqlite"))]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def stored(folder):
    """Verdicts that have come back so far."""
    if not (folder / "s.sqlite").is_file():
        return 0
    with VerdictStore(folder / "s.sqlite") as store:
        return store.count()


def wait_for_verdicts(folder, process):
    """Wait until some verdicts have come back."""
    while process.poll() is None:
        if stored(folder):
            return
        time.sleep(0.005)
    raise AssertionError(f"ended before a verdict was seen: {process.stderr.read()}")


def ray_workers():
    """Processes of this machine that hold a judge for Ray."""
    return [each for each in psutil.process_iter(["cmdline"]) if "MapBatches" in " ".join(each.info["cmdline"] or ())]


@pytest.mark.ray
@pytest.mark.slow
def test_rows_come_once_and_in_order(tmp_path, long_file):
    process = started(long_file, tmp_path / "o.jsonl")
    assert process.wait(300) == 0, process.stderr.read()
    check_verdicts(tmp_path / "o.jsonl")
    assert sorted(os.listdir(tmp_path)) == ["o.jsonl", "pairs.jsonl", "s.sqlite"]


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
    before = stored(tmp_path)
    assert not out.exists() and 0 < before <= 2 * N
    process = started(long_file, out)
    assert process.wait(300) == 0, process.stderr.read()
    check_verdicts(out)
    assert stored(tmp_path) == 2 * N
