"""The short form of tests/torture.py: one kill of each kind that is quick, and proofs that the torture would notice."""

import random

import pytest
from torture import cases, flipped, lost_and_doubled, served, tortured

QUICK = {case.kind: case for case in cases(n_fast=2000, n_slow=40)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["judge_features", "judge_causal", "collect", "attack", "rate", "labelling"])
def test_a_killed_process_goes_on_and_loses_nothing(tmp_path, kind):
    with served():
        report = tortured(QUICK[kind], tmp_path / "torture", random.Random(kind), 1)
    assert report["kills"] == 1 and (report["lost"], report["doubled"]) == (0, 0)


def test_a_file_without_a_sum_is_seen(tmp_path):
    (tmp_path / "f.txt").write_text("some bytes")
    assert flipped(tmp_path / "f.txt", lambda path: path.read_bytes(), random.Random(1), 20)["lost"] == 20


@pytest.mark.parametrize(
    ("found", "lost", "doubled"),
    [
        ({"a": [{"p": 0.5001}], "b": ["x"]}, [], []),
        ({"a": [{"p": 0.6}], "b": ["x"]}, ["a"], []),
        ({"a": [{"p": 0.5}]}, ["b"], []),
        ({"a": [{"p": 0.5}] * 2, "b": ["x"]}, [], ["a"]),
        ({"a": [{"p": 0.5}], "b": ["x"], "file .x.part": [None]}, [], ["file .x.part"]),
    ],
)
def test_what_is_lost_and_doubled(found, lost, doubled):
    assert lost_and_doubled({"a": [{"p": 0.5}], "b": ["x"]}, found) == (lost, doubled)
