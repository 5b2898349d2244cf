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
from test_bulk import LONGER, PAIR, partials, verdict_of
from test_cli import read_lines
from test_pairfile import pair_line, write

from judgekit.bulk.ray_engine import CHUNK, RayRun, Task, Worker, chunk_path, line_of, read_json_lines, row_of
from judgekit.bulk.source import check_source
from judgekit.cli import main
from judgekit.pairfile import read_pair_rows

N = 12 * CHUNK + 5


def lines_of(count):
    return [pair_line(id=i, question=f"q{i}", response_a="x" * (i % 7), label="A") for i in range(count)]


@pytest.fixture
def long_file(tmp_path):
    return write(tmp_path, "\n".join(lines_of(N)))


def check_verdicts(out):
    """Every row once, in order, with its own verdict."""
    assert [(row["id"], row["verdict"]) for row in read_lines(out)] == [(i, verdict_of(i)) for i in range(N)]


def work_folder(folder):
    return next((path for path in folder.iterdir() if path.suffix == ".ray"), None)


# ---------------------------------------------------------------- without Ray


def test_rows_survive_their_journey(tmp_path):
    messages = [{"role": "user", "content": "1?"}, {"role": "assistant", "content": "1"}]
    prompt = [*messages, {"role": "user", "content": "2?\ud800"}]
    rows = read_pair_rows(write(tmp_path, json.dumps({"id": "é", "prompt": prompt, "chosen": "c", "rejected": "r"})))
    rows += read_pair_rows(write(tmp_path, pair_line(reference="ref"), "q.jsonl"))
    for row in rows:
        found = row_of(json.loads(json.dumps(line_of(row))))
        names = ("item_id", "question", "response_a", "response_b", "reference", "turns")
        assert found.id == row.id and found.place.line == row.place.line
        assert all(getattr(found.pair, name) == getattr(row.pair, name) for name in names)


def by_hand(run, *numbers):
    """What Ray would do: a worker that is called with numbers of chunks."""
    worker = Worker(vars(run.task) | {"orders": list(run.task.orders)})
    return worker({"chunk": np.array(numbers)})


def run_of(path, folder, judge="baseline/longer"):
    for kind in ("rows", "verdicts"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    return RayRun(check_source(path), Task(judge, {}, None, ("ab", "ba"), str(folder)), progress=False)


def test_a_worker_judges_what_is_not_finished(tmp_path, long_file):
    run = run_of(long_file, tmp_path / "work")
    waiting, done = run.stage()
    assert (waiting, done) == (list(range(13)), 0)
    found = by_hand(run, *waiting)
    assert sum(found["rows"]) == N and sum(found["failed"]) == 0
    edited = chunk_path(run.folder, "verdicts", 3)
    rows = read_json_lines(edited)
    rows[0] |= {"judge": "not judged again"}
    rows[1] |= {"verdict": None, "status": "error", "reason": "the server slept"}
    edited.write_text("".join(json.dumps(row) + "\n" for row in rows))
    chunk_path(run.folder, "verdicts", 5).unlink()
    assert run.stage() == ([3, 5], N - 2 * CHUNK)
    by_hand(run, 3, 5)
    tally = run.write(str(tmp_path / "o.jsonl"))
    assert (tally.n_rows, tally.n_failed) == (N, 0) and not run.folder.exists()
    check_verdicts(tmp_path / "o.jsonl")
    assert [row["id"] for row in read_lines(tmp_path / "o.jsonl") if row["judge"] == "not judged again"] == [3 * CHUNK]


def test_failed_rows_are_told_and_kept(tmp_path, long_file):
    run = run_of(long_file, tmp_path / "work")
    by_hand(run, *run.stage()[0])
    path = chunk_path(run.folder, "verdicts", 1)
    rows = read_json_lines(path)
    rows[2] |= {"verdict": None, "status": "error", "reason": "the server slept"}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tally = run.write(str(tmp_path / "o.jsonl"))
    assert tally.n_failed == 1 and run.reasons == {CHUNK + 2: "the server slept"} and run.folder.exists()
    assert "reason" not in read_lines(tmp_path / "o.jsonl")[CHUNK + 2]


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
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def wait_for_chunks(folder, count, process):
    """Wait until so many chunks are finished; their work folder."""
    while process.poll() is None:
        work = work_folder(folder)
        if work and len(list(work.glob("verdicts/*.jsonl"))) >= count:
            return work
        time.sleep(0.005)
    raise AssertionError(f"ended before {count} chunks were seen: {process.stderr.read()}")


def ray_workers():
    """Processes of this machine that hold a judge for Ray."""
    return [each for each in psutil.process_iter(["cmdline"]) if "MapBatches" in " ".join(each.info["cmdline"] or ())]


@pytest.mark.ray
@pytest.mark.slow
def test_rows_come_once_and_in_order(tmp_path, long_file):
    process = started(long_file, tmp_path / "o.jsonl")
    assert process.wait(300) == 0, process.stderr.read()
    check_verdicts(tmp_path / "o.jsonl")
    assert sorted(os.listdir(tmp_path)) == ["o.jsonl", "pairs.jsonl"]


@pytest.mark.ray
@pytest.mark.slow
def test_a_killed_worker_is_replaced(tmp_path, long_file):
    process = started(long_file, tmp_path / "o.jsonl")
    wait_for_chunks(tmp_path, 1, process)
    killed = ray_workers()[0]
    killed.send_signal(signal.SIGKILL)
    assert process.wait(300) == 0, process.stderr.read()
    check_verdicts(tmp_path / "o.jsonl")


@pytest.mark.ray
@pytest.mark.slow
def test_a_killed_driver_is_gone_on_from(tmp_path, long_file):
    out = tmp_path / "o.jsonl"
    process = started(long_file, out)
    work = wait_for_chunks(tmp_path, 2, process)
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    assert not out.exists() and not partials(tmp_path)
    marked = sorted(work.glob("verdicts/*.jsonl"))[0]
    rows = read_json_lines(marked)
    rows[0] |= {"judge": "not judged again"}
    marked.write_text("".join(json.dumps(row) + "\n" for row in rows))
    process = started(long_file, out)
    assert process.wait(300) == 0, process.stderr.read()
    check_verdicts(out)
    assert sum(row["judge"] == "not judged again" for row in read_lines(out)) == 1
