"""What docs/exercises.md answers is what happens."""

import math

import numpy as np
import pytest
from notebook_functions import functions_of

from judgekit.data.sample import load_sample
from judgekit.judges import load_judge, request_of
from judgekit.scoring import pivot_orders, verdicts
from judgekit.scoring.metrics import cohen_kappa, confusion, label_codes

RULES = [f"baseline/{rule}" for rule in ("longer", "shorter", "first", "second", "random")]


@pytest.fixture(scope="module")
def said():
    """The verdicts of rules on the sample's adversarial pairs: a row for each judge and pair."""
    return pivot_orders(verdicts(RULES, ["sample_adversarial"], "sample", progress=False)).set_index("judge")


def test_who_names_a_position_is_right_on_half_of_each_pair(said):
    right = {rule: said.loc[rule, ["ab", "ba"]].eq(said.loc[rule, "label"], axis=0).mean(axis=1) for rule in said.index}
    assert set(right["first"]) == set(right["second"]) == {0.5}
    assert set(right["random"]) > {0.5}


def test_opposites_never_agree_and_a_position_decides_no_pair(said):
    final = said["ab"].where(said["ab"] == said["ba"], "tie")
    assert set(final["first"]) == {"tie"}
    longer, shorter = final["longer"].to_numpy(), final["shorter"].to_numpy()
    assert not ((longer == shorter) & (longer != "tie")).any()
    codes = {rule: label_codes(final[rule]) for rule in ("longer", "shorter", "first")}
    assert cohen_kappa(confusion(codes["longer"], codes["shorter"]).sum(0)) < -0.5
    assert cohen_kappa(confusion(codes["longer"], codes["first"]).sum(0)) == pytest.approx(0)


def test_no_verdict_is_kept_under_a_promise_of_one_per_cent():
    labels = math.log(functions_of("61_calibration").delta) / math.log(1 - 0.01)
    assert 0.99 ** math.ceil(labels) <= 0.1 < 0.99 ** math.floor(labels) and labels > 200


@pytest.mark.parametrize(("edit", "share"), [("padded", 0), ("bold", 0), ("heading", 0), ("unmarked", 1)])
def test_a_judge_of_length_prefers_every_edit_that_leaves_out(edit, share):
    twins = functions_of("41_verbosity_bias").twins_of(load_sample("sample_natural"), edit)
    replies = load_judge("baseline/shorter").judge([request_of(pair, "ab") for pair in twins])
    edited = ["first" if pair.model_a == "edited" else "second" for pair in twins]
    assert twins and np.mean([reply.verdict == side for reply, side in zip(replies, edited, strict=True)]) == share
