"""Position bias by hand: every measure on a few pairs, margins, repair, and where verdicts come from."""

import numpy as np
import pandas as pd
import pytest

from judgekit.bias.judged import judged_table, verdict_frame
from judgekit.bias.planted import PlantedBias, PlantedJudge
from judgekit.bias.position import directions, log_odds, position_numbers
from judgekit.data.benchmarks import outputs
from judgekit.judges import load_judge
from judgekit.judges.replay import ReplayJudge
from judgekit.records import PreferencePair, Verdict
from judgekit.scoring import run_judge, score
from judgekit.scoring.store import VerdictStore
from judgekit.studies import position_bias as study

nan = np.nan


def table_of(*credits, prompts=None):
    """A judged table of (ab, ba) credits, each of its own prompt unless told."""
    names = [str(k) for k in range(len(credits))]
    ab, ba = zip(*credits, strict=True)
    return pd.DataFrame({"item": names, "prompt": prompts or names, "ab": ab, "ba": ba})


def pair(number, label="A", benchmark="autoj"):
    return PreferencePair(str(number), benchmark, "Why?", "one two three", "one", cluster_id=str(number), label=label)


def values(numbers):
    return {name: round(number.value, 4) for name, number in numbers.items()}


def test_measures_by_hand():
    found = position_numbers(table_of((1, 1), (0, 0), (1, 0), (1, 0.5), (0, 1), (0.5, 0.5), (1, nan)), 50)
    assert values(found) == {
        "coverage": round(13 / 14, 4),
        "consistency": 0.5,
        "consistency_decided": 0.5,
        "first_rate": 0.6,  # first: 1+1, of ab; ba=0 of two
        "toward_first": round(2 / 6, 4),
        "toward_second": round(1 / 6, 4),
        "delta": round(0.5 / 6, 4),
    }
    assert found["consistency"].n == 6 and found["first_rate"].n == 10 and found["coverage"].n == 14
    with pytest.raises(ValueError, match="no pair has a verdict in both orders"):
        position_numbers(table_of((1, nan)), 50)


def test_log_odds_are_half_the_log_of_the_ratio_without_ties():
    assert log_odds([30, 10], [0, 0]) == pytest.approx(np.log(30.5 / 10.5) / 2)
    assert log_odds([0, 0], [300, 100]) == pytest.approx(np.log(3), rel=0.02)  # the half pairs weigh in a little
    assert log_odds([0, 0], [0, 0]) == pytest.approx(0, abs=1e-9)
    assert "log_odds" not in position_numbers(table_of(*[(1, 0)] * 12), 50)  # not finite
    assert "log_odds" not in position_numbers(table_of(*[(1, 0)] * 8, (0, 1)), 50)  # too few
    found = position_numbers(table_of(*[(1, 0)] * 11, (0, 1), (1, 1)), 50)["log_odds"]
    assert found.n == 12 and found.value == pytest.approx(np.log(11.5 / 1.5) / 2)


def test_total_bias_sees_leanings_that_cancel():
    prompts = [str(k // 4) for k in range(80)]
    found = position_numbers(table_of(*[(1, 0)] * 40, *[(0, 1)] * 40, prompts=prompts), 50)
    assert found["delta"].value == 0 and found["total"].value == 1
    mixed = table_of(*[(1, 0), (0, 1)] * 40, prompts=prompts)  # within prompts there is nothing but noise
    assert position_numbers(mixed, 50)["total"].value == 0
    assert "total" not in position_numbers(table_of((1, 0), (1, 1)), 50)


def test_measures_of_rules_are_known_and_agree_with_the_scores():
    pairs, store = [pair(k, "AB"[k % 2]) for k in range(300)], VerdictStore(":memory:")
    for rule, delta, consistency in (("first", 1, 0), ("second", -1, 0), ("longer", 0, 1)):
        found = position_numbers(judged_table(pairs, run_judge(load_judge(f"baseline/{rule}"), pairs, store)), 50)
        assert (found["delta"].value, found["consistency"].value) == (delta, consistency)
    verdicts = run_judge(PlantedJudge(pairs, PlantedBias(position=0.8, log_nu=-1.0)), pairs, store)
    ours, theirs = position_numbers(judged_table(pairs, verdicts), 50), score(verdicts, pairs, "autoj", n_boot=50)
    for name in ("consistency", "first_rate"):
        assert ours[name].value == pytest.approx(theirs[name].value)


def test_directions_are_corrected_together():
    tables = {"first": table_of(*[(1, 0)] * 12), "none": table_of((1, 0), (0, 1)), "never": table_of((1, 1))}
    tables["second"] = table_of(*[(0, 1)] * 12)
    found = directions(pd.concat(part.assign(set="s", judge=name) for name, part in tables.items()), 400).loc["s"]
    assert found["direction"].to_dict() == {"first": "first", "none": "none", "never": "none", "second": "second"}
    assert (found["p_holm"] >= found["p_value"]).all() and found.loc["never", "p_value"] == 1


def test_differences_are_paired():
    one, other = table_of((1, 1), (1, 0), (1, 1)), table_of((1, 1), (1, 0), (1, 0))
    found = study.consistency_gain(one, other, 400)
    assert found.value == pytest.approx(1 / 3) and found.low == 0 and found.high == 1 and found.n == 3
    with pytest.raises(ValueError, match="not shown the same pairs"):
        study.consistency_gain(one, other[:2])


# ---------------------------------------------------------------- margins


def test_bins_hold_their_lower_edge_and_leave_out_what_is_unknown():
    binned = study.margin_table([0, 1, 1, nan], [1, 0, 0.5, nan], list("pqrs"), [0, 0.5, 1], 50)
    assert [(row.margin, row.rate.value, row.rate.n) for row in binned.itertuples()] == [(0, 1, 1), (0.75, 0.5, 2)]


def test_a_slope_needs_both_outcomes():
    margin, prompts = np.linspace(0, 1, 40), list(range(40))
    assert study.margin_slope(np.zeros(40), margin, prompts) is None
    assert study.margin_slope((margin < 0.5).astype(float), margin, prompts) is None  # a threshold: no finite slope
    falling = (np.random.default_rng(0).random(40) > margin).astype(float)
    assert study.margin_slope(falling, np.full(40, 0.5), prompts) is None
    assert study.margin_slope(falling, margin, [0] * 40) is None
    assert study.margin_slope(falling, margin, prompts).high < 0


# ---------------------------------------------------------------- repair


def repaired(monkeypatch, benchmark, labels, *verdicts, p=None):
    """What joining orders does, of verdicts (ab, ba) on pairs of these labels."""
    pairs = [pair(k, label, benchmark) for k, label in enumerate(labels)]
    monkeypatch.setattr(study, "load_set", lambda name: pairs)
    stated = p or [([None] * 3,) * 2] * len(pairs)
    given = [
        Verdict(str(k), "j", order, label, *probabilities)
        for k, (both, of_both) in enumerate(zip(verdicts, stated, strict=True))
        for order, label, probabilities in zip(("ab", "ba"), both, of_both, strict=True)
    ]
    return study.repair_numbers(study.repair_table(verdict_frame(pairs, given), benchmark), 50)


def test_where_ties_are_labels_joining_can_gain_and_lose(monkeypatch):
    found = repaired(monkeypatch, "autoj", ["tie", "A", "A", "B"], "AB", "AA", "AB", "AA")
    expected = {"single": 0.375, "joined": 0.5, "gain": 0.125, "kept": 0.5, "accuracy_kept": 0.5, "gain_kept": 0.125}
    assert values(found) == expected | {"order_sd": 0.125}


def test_where_no_tie_is_allowed_joining_gains_nothing(monkeypatch):
    found = repaired(monkeypatch, "llmbar_natural", "AAAA", "AB", "AA", "BA", "BB")
    assert found["gain"].value == 0 and found["gain"].low == 0 == found["gain"].high
    assert found["kept"].value == 0.5 and found["accuracy_kept"].value == 0.5


def test_probabilities_are_averaged_before_the_verdict(monkeypatch):
    p = [([0.9, 0.1, 0.0], [0.4, 0.6, 0.0]), ([0.6, 0.4, 0.0], [0.1, 0.9, 0.0])]
    found = repaired(monkeypatch, "autoj", "AB", "AB", "AB", p=p)
    assert found["averaged"].value == 1 and found["joined"].value == 0 and found["gain_averaged"].value == 0.5


# ---------------------------------------------------------------- where verdicts come from


def test_a_replay_counts_where_both_orders_are_stored_though_one_failed(monkeypatch):
    pairs = [pair(k) for k in range(3)]
    given = [Verdict("0", "replay/x", "ab", "A"), Verdict("0", "replay/x", "ba", None, status="error")]
    given += [Verdict("1", "replay/x", "ab", "A")]
    asked = [*given, Verdict("1", "replay/x", "ba", None, status="error")]
    frame = verdict_frame(pairs, asked).assign(judge="x")
    monkeypatch.setattr(study, "verdicts", lambda judges, sets, run, progress: frame)
    monkeypatch.setattr(study, "load_replay", lambda name: ReplayJudge(name, given))
    assert study.in_both_orders(["replay/x"], "autoj", "sample")["item"].tolist() == ["0", "0"]
    monkeypatch.setattr(study, "load_replay", lambda name: ReplayJudge(name, given[1:]))
    with pytest.raises(ValueError, match="replay/x: no pair was judged in both orders"):
        study.in_both_orders(["replay/x"], "autoj", "sample")


@pytest.mark.realdata
@pytest.mark.parametrize("model", ["chatgpt-rating", "skywork-gemma-2-27b", "skywork-llama-3.1-8b", "grm-gemma-2b"])
def test_judges_of_single_responses_contradict_themselves_exactly_where_scores_are_equal(model):
    by_item = {}
    for verdict in outputs.published_verdicts(model):
        by_item.setdefault(verdict.item_id, []).append(verdict)
    assert len(by_item) in (350, 419)
    for one, other in by_item.values():
        assert (one.verdict != other.verdict) == (one.score_a == one.score_b)
