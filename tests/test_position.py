"""Position bias by hand: every measure on a few pairs, margins, repair, and where it cannot be measured."""

import numpy as np
import pandas as pd
import pytest

from judgekit.bias.both_orders import both_orders, verdicts_of_marks
from judgekit.bias.judged import judged_table
from judgekit.bias.margin import flips, leanings, margin_slope, margin_table, others_margin, people_margin
from judgekit.bias.planted import PlantedBias, PlantedJudge
from judgekit.bias.position import difference, direction_table, log_odds, position_numbers, prompt_sums
from judgekit.bias.repair import repair_numbers, repair_table
from judgekit.data.benchmarks import outputs
from judgekit.judges import load_judge
from judgekit.judges.replay import ReplayJudge
from judgekit.records import PreferencePair, Verdict
from judgekit.scoring import score
from judgekit.scoring.store import VerdictStore

nan = np.nan


def table_of(*credits, clusters=None):
    """A judged table of (ab, ba) credits, each of its own prompt unless told."""
    names = [str(k) for k in range(len(credits))]
    ab, ba = zip(*credits, strict=True)
    return pd.DataFrame({"item_id": names, "cluster": clusters or names, "ab": ab, "ba": ba})


def pair(number, label="A", benchmark="autoj"):
    return PreferencePair(str(number), benchmark, "Why?", "one two three", "one", cluster_id=str(number), label=label)


def values(found):
    return {name: round(number.value, 4) for name, number in found.items()}


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


def test_log_odds_are_half_the_log_of_the_ratio_without_ties():
    many = table_of(*[(1, 0)] * 30, *[(0, 1)] * 10, *[(1, 1)] * 50)
    assert log_odds(prompt_sums(many).sum(0)) == pytest.approx(np.log(30.5 / 10.5) / 2)
    halves = table_of(*[(1, 0.5)] * 300, *[(0.5, 1)] * 100)  # the half pairs that are added weigh in a little
    assert log_odds(prompt_sums(halves).sum(0)) == pytest.approx(np.log(3), rel=0.02)
    assert log_odds(prompt_sums(table_of((1, 1))).sum(0)) == pytest.approx(0, abs=1e-9)


def test_log_odds_are_left_out_where_they_are_not_finite():
    assert "log_odds" not in position_numbers(table_of(*[(1, 0)] * 12), 50)
    assert "log_odds" not in position_numbers(table_of(*[(1, 0)] * 8, (0, 1)), 50)
    found = position_numbers(table_of(*[(1, 0)] * 11, (0, 1), (1, 1)), 50)["log_odds"]
    assert found.n == 12 and found.value == pytest.approx(np.log(11.5 / 1.5) / 2)


def test_differences_are_paired():
    one, other = table_of((1, 1), (1, 0), (1, 1)), table_of((1, 1), (1, 0), (1, 0))
    found = difference(one, other, "consistency", 400)
    assert found.value == pytest.approx(1 / 3) and found.low == 0 and found.high == 1 and found.n == 3
    same = difference(one, one, "delta", 50)
    assert same.value == same.low == same.high == 0
    with pytest.raises(ValueError, match="not shown the same pairs"):
        difference(one, other[:2], "consistency")


def test_total_bias_sees_leanings_that_cancel():
    prompts = [str(k // 4) for k in range(80)]
    cancel = table_of(*[(1, 0)] * 40, *[(0, 1)] * 40, clusters=prompts)
    found = position_numbers(cancel, 50)
    assert found["delta"].value == 0 and found["total"].value == 1
    mixed = table_of(*[(1, 0), (0, 1)] * 40, clusters=prompts)  # within prompts there is nothing but noise
    assert position_numbers(mixed, 50)["total"].value == 0
    assert "total" not in position_numbers(table_of((1, 0), (1, 1)), 50)


def test_rules_that_only_look_at_places_and_rules_that_never_do():
    pairs = [pair(k, "A" if k % 2 else "B") for k in range(40)]
    for rule, delta, consistency in (("first", 1, 0), ("second", -1, 0), ("longer", 0, 1)):
        _, verdicts = both_orders(load_judge(f"baseline/{rule}"), pairs, VerdictStore(":memory:"))
        found = position_numbers(judged_table(pairs, verdicts), 50)
        assert (found["delta"].value, found["consistency"].value) == (delta, consistency)
    with pytest.raises(ValueError, match="no pair has a verdict in both orders"):
        position_numbers(table_of((1, nan)), 50)


def test_measures_are_those_of_the_scores():
    pairs = [pair(k, "AB"[k % 2]) for k in range(300)]
    judge = PlantedJudge(pairs, PlantedBias(position=0.8, log_nu=-1.0))
    _, verdicts = both_orders(judge, pairs, VerdictStore(":memory:"))
    ours, theirs = position_numbers(judged_table(pairs, verdicts), 50), score(verdicts, pairs, "autoj", n_boot=50)
    for name in ("consistency", "first_rate"):
        assert ours[name].value == pytest.approx(theirs[name].value)


def test_directions_are_corrected_together():
    tables = {"first": table_of(*[(1, 0)] * 12), "none": table_of((1, 0), (0, 1)), "never": table_of((1, 1))}
    tables["second"] = table_of(*[(0, 1)] * 12)
    found = direction_table(tables, 400)
    assert found["direction"].to_dict() == {"first": "first", "none": "none", "never": "none", "second": "second"}
    assert (found["p_holm"] >= found["p_value"]).all() and found.loc["never", "p_value"] == 1
    many = direction_table(dict.fromkeys(range(400), tables["first"]), 400)  # no resample shows more than 1 in 401
    assert (many["direction"] == "none").all()


# ---------------------------------------------------------------- margins


def test_margins_by_hand():
    table = table_of((1, 1), (1, 0), (0, 1), (nan, 1)).assign(people=[1, 0.5, 0.25, nan])
    assert people_margin(table)[:3].tolist() == [1, 0, 0.5]
    assert flips(table)[:3].tolist() == [0, 1, 1] and np.isnan(flips(table)[3])
    assert leanings(table)[1:3].tolist() == [1, 0] and np.isnan(leanings(table)[[0, 3]]).all()
    binned = margin_table(flips(table), people_margin(table), table["cluster"], [0, 0.5, 1], 50)
    assert [(row.margin, row.rate.value, row.rate.n) for row in binned.itertuples()] == [(0, 1, 1), (0.75, 0.5, 2)]
    with pytest.raises(ValueError, match=r"margin 1\.0 is not in"):
        margin_table(flips(table), people_margin(table), table["cluster"], [0, 0.5], 50)


def test_the_others_margin_leaves_a_judge_out():
    tables = {"a": table_of((1, 1), (1, 0)), "b": table_of((1, 1), (1, 1)), "c": table_of((0, 0), (1, 0))}
    assert others_margin(tables, "a").tolist() == [0, 0.5]
    assert others_margin(tables, "c").tolist() == [1, 0.5]
    with pytest.raises(ValueError, match="not of the same pairs"):
        others_margin({"a": table_of((1, 1)), "b": table_of((1, 1), (0, 0))}, "a")


def test_a_slope_needs_both_outcomes():
    margin, prompts = np.linspace(0, 1, 40), list(range(40))
    assert margin_slope(np.zeros(40), margin, prompts) is None
    assert margin_slope((margin < 0.5).astype(float), margin, prompts) is None  # a threshold: no finite slope
    rng = np.random.default_rng(0)
    falling = (rng.random(40) > margin).astype(float)
    assert margin_slope(falling, np.full(40, 0.5), prompts) is None
    assert margin_slope(falling, margin, [0] * 40) is None
    assert margin_slope(falling, margin, prompts).high < 0


# ---------------------------------------------------------------- repair


def verdicts_by(*said, judge="j"):
    return [
        Verdict(str(k), judge, order, label)
        for k, labels in enumerate(said)
        for order, label in zip(("ab", "ba"), labels, strict=True)
    ]


def test_where_ties_are_labels_joining_can_gain_and_lose():
    pairs = [pair(0, "tie"), pair(1, "A"), pair(2, "A"), pair(3, "B")]
    verdicts = verdicts_by(("A", "B"), ("A", "A"), ("A", "B"), ("A", "A"))
    found = repair_numbers(repair_table(verdicts, pairs, "autoj"), 50)
    expected = {"single": 0.375, "joined": 0.5, "gain": 0.125, "kept": 0.5, "accuracy_kept": 0.5, "gain_kept": 0.125}
    assert values(found) == expected | {"order_sd": 0.125}


def test_where_no_tie_is_allowed_joining_gains_nothing():
    pairs = [pair(k, "A", "llmbar_natural") for k in range(4)]
    verdicts = verdicts_by(("A", "B"), ("A", "A"), ("B", "A"), ("B", "B"))
    found = repair_numbers(repair_table(verdicts, pairs, "llmbar_natural"), 50)
    assert found["gain"].value == 0 and found["gain"].low == 0 == found["gain"].high
    assert found["kept"].value == 0.5 and found["accuracy_kept"].value == 0.5


def test_probabilities_are_averaged_before_the_verdict():
    pairs = [pair(0, "A"), pair(1, "B")]
    stated = {"ab": ([0.9, 0.1, 0], [0.6, 0.4, 0]), "ba": ([0.4, 0.6, 0], [0.1, 0.9, 0])}
    verdicts = [
        Verdict(pair.item_id, "p", order, "A" if p[0] > p[1] else "B", *p)
        for order, rows in stated.items()
        for pair, p in zip(pairs, rows, strict=True)
    ]
    found = repair_numbers(repair_table(verdicts, pairs, "autoj"), 50)
    assert found["averaged"].value == 1 and found["joined"].value == 0 and found["gain_averaged"].value == 0.5


# ---------------------------------------------------------------- where verdicts come from


def test_a_replay_is_asked_for_what_it_has():
    pairs = [pair(k) for k in range(3)]
    stored = [
        Verdict("0", "replay/x", "ab", "A"),
        Verdict("0", "replay/x", "ba", "B"),
        Verdict("1", "replay/x", "ab", "A"),
    ]
    kept, verdicts = both_orders(ReplayJudge("replay/x", stored), pairs, VerdictStore(":memory:"))
    assert [one.item_id for one in kept] == ["0"] and [v.verdict for v in verdicts] == ["A", "B"]
    with pytest.raises(ValueError, match="replay/x: no pair was judged in both orders"):
        both_orders(ReplayJudge("replay/x", stored[2:]), pairs, VerdictStore(":memory:"))


def test_equal_marks_are_a_tie_whatever_the_order(monkeypatch):
    marked = [
        Verdict("0", "r", order, shown, score_a=7.0, score_b=7.0) for order, shown in (("ab", "A"), ("ba", "B"))
    ] + [Verdict("1", "r", order, "A", score_a=9.0, score_b=7.0) for order in ("ab", "ba")]
    monkeypatch.setattr("judgekit.bias.both_orders.published_verdicts", lambda model: marked)
    assert [v.verdict for v in verdicts_of_marks("r", [pair(0), pair(1)])] == ["tie", "tie", "A", "A"]


@pytest.mark.realdata
@pytest.mark.parametrize("model", ["chatgpt-rating", "skywork-gemma-2-27b", "skywork-llama-3.1-8b", "grm-gemma-2b"])
def test_judges_of_single_responses_contradict_themselves_exactly_where_scores_are_equal(model):
    by_item = {}
    for verdict in outputs.published_verdicts(model):
        by_item.setdefault(verdict.item_id, []).append(verdict)
    assert len(by_item) in (350, 419)
    for one, other in by_item.values():
        assert (one.verdict != other.verdict) == (one.score_a == one.score_b)
