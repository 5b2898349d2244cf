"""Bulk judging: files of several chunks, Parquet, and runs that are killed in the middle."""

import gc
import json
import os
import signal
import subprocess
import sys
import tracemalloc
from array import array

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_cli import CountingJudge, read_lines, use_judge  # noqa: F401 - a fixture
from test_pairfile import PAIR, pair_line, write

from judgekit.cli import files as sources
from judgekit.cli import main
from judgekit.cli.files import ROWS, check_source
from judgekit.cli.running import REMEMBERED
from judgekit.cli.scoring import Tally
from judgekit.data.pairfile import PairFileError
from judgekit.judges.baseline import RuleJudge
from judgekit.records import ORDERS
from judgekit.scoring.store import VerdictStore
from judgekit.stats import cluster_bootstrap, cluster_sums

LONGER = ["--judge", "baseline/longer"]
N = 3 * ROWS + 7  # rows of a file of several chunks


def lines_of(count):
    """Rows of growing first responses: the verdict of every one is known."""
    return [pair_line(id=i, question=f"q{i}", response_a="x" * (i % 7), label="A") for i in range(count)]


def verdict_of(number):
    return "A" if number % 7 > 3 else "tie" if number % 7 == 3 else "B"


@pytest.fixture
def long_file(tmp_path):
    return write(tmp_path, "\n".join(lines_of(N)))


def judged(path, out, *arguments):
    return main(["judge", str(path), "--out", str(out), *(arguments or LONGER)])


def stored(path):
    with VerdictStore(path) as store:
        return store.count()


def test_an_id_that_comes_twice_is_found_chunks_apart(tmp_path):
    lines = lines_of(N)
    lines[N - 2] = pair_line(id=5)
    path = write(tmp_path, "\n".join(lines))
    with pytest.raises(PairFileError, match=rf"line {N - 1}: field 'id' is 5, which also stands in line 6"):
        check_source(path)
    lines[-1] = "{}"  # a later fault does not hide the earlier one
    with pytest.raises(PairFileError, match="which also stands in line 6"):
        check_source(write(tmp_path, "\n".join(lines)))


def test_a_file_that_changes_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sources, "ROWS", 4)  # a file of one chunk is read once
    path = write(tmp_path, "\n".join(lines_of(9)))
    found = check_source(path)
    for count in (8, 10):
        write(tmp_path, "\n".join(lines_of(count)))
        with pytest.raises(PairFileError, match="has changed since it was checked"):
            list(found.chunks())
    monkeypatch.setattr("judgekit.cli.files.check_source", lambda *_: found)
    assert judged(path, tmp_path / "o.jsonl") == 2
    assert "has changed" in capsys.readouterr().err and not (tmp_path / "o.jsonl").exists()


KILLED = """
import os, signal, sys
import judgekit.judges.baseline as baseline
from judgekit.cli import main
judge, calls = baseline.RuleJudge.judge, []
def dying(self, requests):
    calls.append(len(requests))
    if sum(calls) > {rows}:
        {stop}
    return judge(self, requests)
baseline.RuleJudge.judge = dying
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("stop", ["os.kill(os.getpid(), signal.SIGKILL)", "raise KeyboardInterrupt"])
def test_a_killed_run_goes_on_after_its_last_chunk(tmp_path, long_file, capsys, monkeypatch, own_store, stop):
    out = tmp_path / "o.jsonl"
    command = [sys.executable, "-c", KILLED.format(stop=stop, rows=4 * ROWS), "judge", long_file, "--out", out, *LONGER]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == (-signal.SIGKILL if "kill" in stop else 130)
    assert not out.exists() and stored(own_store) == 4 * ROWS
    assert "kill" in stop or os.listdir(tmp_path) == ["pairs.jsonl"], "nor is a lock left"
    kept = f"{4 * ROWS} verdicts are kept in {own_store}, and the same command goes on from there"
    assert "kill" in stop or ("interrupted; " in done.stderr and kept in done.stderr)
    assert "Traceback" not in done.stderr
    asked, rule = [], RuleJudge.judge
    monkeypatch.setattr(RuleJudge, "judge", lambda self, requests: asked.extend(requests) or rule(self, requests))
    assert judged(long_file, out) == 0
    said, share = capsys.readouterr().err, sum(verdict_of(i) == "A" for i in range(N)) / N
    assert f"going on from {4 * ROWS} verdicts of baseline/longer" in said and f"accuracy {share:.1%}" in said
    assert len(asked) == 2 * (N - 2 * ROWS)
    assert {request.question for request in asked} == {f"q{i}" for i in range(2 * ROWS, N)}
    rows = read_lines(out)
    assert [(row["id"], row["verdict"]) for row in rows] == [(i, verdict_of(i)) for i in range(N)]
    assert sorted(os.listdir(tmp_path)) == ["o.jsonl", "pairs.jsonl"]


def test_memory_does_not_grow_with_the_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "ROWS", 64)

    def peak(count):
        path = write(tmp_path, "\n".join(lines_of(count)))
        gc.collect()
        tracemalloc.start()
        assert judged(path, tmp_path / "o.jsonl", *LONGER, "--quiet") == 0
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(10)  # what is loaded once
    assert peak(1280) < 1.3 * peak(128)


def test_a_judge_with_a_memory_of_texts_keeps_few_of_a_stream(tmp_path, use_judge, long_file):  # noqa: F811
    judge = use_judge(CountingJudge())
    judge.cache_size = 50_000
    assert judged(long_file, tmp_path / "o.jsonl", "--quiet") == 0
    assert judge.cache_size == REMEMBERED < 50_000


def table_of(path, rows, **options):
    pq.write_table(pa.Table.from_pylist(rows), path, **options)
    return path


def test_parquet_in_and_out(tmp_path, long_file):
    rows = [json.loads(line) for line in lines_of(N)]
    table = table_of(tmp_path / "p.parquet", rows, row_group_size=500)
    assert judged(table, tmp_path / "o.jsonl", *LONGER, "--quiet") == 0
    assert judged(table, tmp_path / "o.parquet", *LONGER, "--quiet") == 0
    assert judged(long_file, tmp_path / "p.jsonl", *LONGER, "--quiet") == 0
    assert read_lines(tmp_path / "o.jsonl") == read_lines(tmp_path / "p.jsonl")
    found = pq.read_table(tmp_path / "o.parquet")
    assert found.to_pylist() == read_lines(tmp_path / "o.jsonl") and found.schema.field("id").type == pa.int64()
    assert sorted(os.listdir(tmp_path)) == ["o.jsonl", "o.parquet", "p.jsonl", "p.parquet", "pairs.jsonl"]


@pytest.mark.parametrize("cut", [0, 10, 0.5])
def test_damaged_tables_are_told(tmp_path, capsys, cut):
    path = table_of(tmp_path / "p.parquet", [PAIR])
    content = path.read_bytes()
    path.write_bytes(content[: int(cut * len(content)) if isinstance(cut, float) else cut])
    assert judged(path, tmp_path / "o.jsonl") == 2
    assert "is no Parquet file, or a damaged one" in capsys.readouterr().err


def test_accuracy_is_that_of_the_bootstrap_over_clusters():
    rng = np.random.default_rng(1)
    clusters, right = rng.integers(0, 150, 400), rng.random(400) < 0.7
    first = rng.integers(0, 3, 400)
    ones = np.ones(400)
    counts = np.column_stack([right, ones, right, 0 * ones, first, 2 * ones, ones, ones, 1 - right]).astype(int)
    rates = Tally(ORDERS, clusters=array("Q", clusters.tolist()), counts=array("B", counts.ravel().tolist())).rates()
    wanted = {"accuracy": (right, 1), "first_rate": (first, 2), "coverage": (ones, 1), "tie_rate": (1 - right, 1)}
    assert rates.keys() == wanted.keys(), "no pair was read in both orders"
    for name, (total, n) in wanted.items():
        sums = cluster_sums(np.column_stack([total, np.full(400, n)]), clusters)
        value, *ends = cluster_bootstrap(sums, lambda s: s[..., 0] / s[..., 1])
        assert rates[name] | {"low": 0, "high": 0} == {
            "value": pytest.approx(value), "low": 0, "high": 0, "n": 400 * n, "questions": len(sums)
        }  # fmt: skip
        assert (rates[name]["low"], rates[name]["high"]) == pytest.approx(ends, abs=0.006)
