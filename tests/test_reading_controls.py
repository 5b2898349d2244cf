"""What reading adds to our judge, taken apart in notebook 30: a gate that opens as ours does and then tosses a coin."""

import json
import shutil

import numpy as np
import pytest
from notebook_functions import functions_of

from judgekit.data import paths
from judgekit.data.sample import load_sample
from judgekit.judges import load_judge
from judgekit.records import ORDERS, Verdict
from judgekit.scoring import run_judge
from judgekit.scoring.comparison import Contest
from judgekit.scoring.store import VerdictStore

PAIRS = load_sample("sample_adversarial")[:40]


def given(judge, labels):
    return [
        Verdict(pair.item_id, judge, order, label)
        for pair, label in zip(PAIRS, labels, strict=True)
        for order in ORDERS
    ]


def test_a_coin_earns_half_where_the_gate_decides_and_what_looks_earn_where_it_is_shut():
    right = [pair.label for pair in PAIRS]
    wrong = [{"A": "B", "B": "A"}[label] for label in right]
    # Shut for the first thirty, of which looks have ten; then reading decides ten pairs, eight of them rightly.
    shut = right[:10] + wrong[10:30]
    verdicts = {
        "features": given("features", shut + wrong[30:]),
        "minilm": given("minilm", shut + right[30:38] + wrong[38:]),
        "minilm_backwards": given("minilm_backwards", shut + wrong[30:38] + right[38:]),
    }
    contest = Contest("sample_adversarial", "sample_adversarial", PAIRS, verdicts)
    earned, prompts = functions_of("30_score_benchmarks").earned_by(contest)
    found = earned.sum().to_dict()  # a quarter by a coin, wherever it falls: 0.25 * 20 + 0.75 * 10
    assert found == {"features": 10, "minilm": 18, "coin_gate": 15, "random_gate": 12.5} and len(prompts) == len(PAIRS)


def test_the_gate_of_a_control_is_always_open_or_reads_backwards(tmp_path, monkeypatch):
    """With the shipped judge's weights: what the one says of a pair the other denies, whatever looks say."""
    monkeypatch.setattr(paths, "project_root", lambda: tmp_path)
    models = paths.run_folder("any", "models")
    own = load_judge("encoder/minilm", folder=shutil.copytree(paths.PRETRAINED / "minilm", models / "minilm")).config
    gate = own["gate"]
    with_gate = functions_of("30_score_benchmarks", own=own, run="any").with_gate
    always = gate | {"weight": [0.0] * len(gate["weight"]), "bias": 50.0}
    for name, changed in (("reading", always), ("averse", always | {"slope": -gate["slope"]})):
        assert with_gate(name, changed) == f"encoder/{name}"
    said = {}
    for name in ("reading", "averse"):
        assert json.loads((models / name / "judge.json").read_text())["weights_of"] == "minilm"
        judge = load_judge(f"encoder/{name}", folder=models / name)
        replies = run_judge(judge, PAIRS, VerdictStore(tmp_path / "store"))
        said[name] = np.array([reply.verdict for reply in replies])
    assert (said["reading"] != said["averse"]).all() and set(said["reading"]) == {"A", "B"}
    labels = np.repeat([pair.label for pair in PAIRS], 2)
    assert (said["reading"] == labels).mean() == pytest.approx(1 - (said["averse"] == labels).mean())
