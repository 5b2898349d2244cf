"""The short form of tests/torture.py: one kill of each kind that is quick, and proofs that the torture would notice."""

import random

import pytest
from torture import Broken, Case, cases, finished, flipped, lost_and_doubled, rows_of, served, tortured, write_pairs

QUICK = {case.kind: case for case in cases(n_fast=2000, n_slow=40)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["judge_features", "judge_causal", "judge_server", "collect", "attack", "rate", "labelling"]
)
def test_a_killed_process_goes_on_and_loses_nothing(tmp_path, kind):
    with served():
        report = tortured(QUICK[kind], tmp_path / "torture", random.Random(kind), 1)
    assert report["kills"] == 1 and (report["lost"], report["doubled"]) == (0, 0)


def test_every_kind_is_tortured():
    judging = {"judge_features", "judge_encoder", "judge_causal", "judge_smollm2", "judge_server", "rate", "attack"}
    assert set(QUICK) == judging | {"collect", "labelling", "training", "notebook"}
    assert sum(case.kills for case in QUICK.values()) == 38  # and the chain twice


FORGETFUL = """
import json, os, sys, time
rows = [json.loads(line) for line in open(sys.argv[1] + "/in.jsonl")]
with open(sys.argv[1] + "/out.jsonl", "a") as out:
    for row in rows:
        print(json.dumps({"id": row["id"]}), file=out, flush=True)
        time.sleep(0.01)
"""


def test_a_program_that_doubles_rows_is_seen(tmp_path):
    """It appends to what a killed run wrote."""
    case = Case("bad", 1, [QUICK["rate"].command[0], "-c", FORGETFUL, "{}"], write_pairs(100), rows_of)
    report = tortured(case, tmp_path / "torture", random.Random(1), 1)
    assert report["doubled"] > 0 and report["lost"] == 0


def test_a_file_without_a_sum_is_seen(tmp_path):
    (tmp_path / "f.txt").write_text("some bytes")
    assert flipped(tmp_path / "f.txt", lambda path: path.read_bytes(), random.Random(1), 20)["lost"] == 20


def test_a_program_that_does_not_come_back_is_seen(tmp_path):
    case = Case("bad", 1, [QUICK["rate"].command[0], "-c", "raise SystemExit(3)", "{}"], write_pairs(1), rows_of)
    (tmp_path / "place").mkdir()
    with pytest.raises(Broken, match="bad ended with 3"):
        finished(case, tmp_path / "place")


@pytest.mark.parametrize(
    ("found", "lost", "doubled"),
    [
        ({"a": [{"p": 0.5}], "b": ["x"]}, [], []),
        ({"a": [{"p": 0.5001}], "b": ["x"]}, [], []),
        ({"a": [{"p": 0.6}], "b": ["x"]}, ["a"], []),
        ({"a": [{"p": 0.5}]}, ["b"], []),
        ({"a": [{"p": 0.5}] * 2, "b": ["x"]}, [], ["a"]),
        ({"a": [{"p": 0.5}], "b": ["x"], "file .x.part": [None]}, [], ["file .x.part"]),
    ],
)
def test_what_is_lost_and_doubled(found, lost, doubled):
    assert lost_and_doubled({"a": [{"p": 0.5}], "b": ["x"]}, found) == (lost, doubled)
