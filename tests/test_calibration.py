"""Calibration by hand: what is read, what is measured, and that a map keeps sides alike and sees no fold it serves."""

import json
from dataclasses import replace

import numpy as np
import pytest
from notebook_functions import functions_of

from judgekit.data.catalogue import load_set
from judgekit.people.calibration import Cases, cases_of, maps, measures, paired, reliability_table
from judgekit.people.calibration.maps import LINEAR, MAPS, cross_fitted, fit_map, load_map, nested
from judgekit.people.calibration.selective import certified, certify, coverages_for, kept_numbers, thresholds_at
from judgekit.people.planted import PlantedJudge, planted_cases
from judgekit.records import PreferencePair, Verdict
from judgekit.scoring.tables import load_judges
from judgekit.stats import expected_calibration_error, prompt_folds, proportion_interval, reliability_bins, student_p

NOTEBOOK = functions_of("61_calibration")
risk_coverage, risk_coverage_gain = NOTEBOOK.risk_coverage, NOTEBOOK.risk_coverage_gain
SURE = planted_cases(PlantedJudge(temperature=1.8), 1)
MANY = planted_cases(PlantedJudge(temperature=1.8, prompts=2000), 2)
FORCED = planted_cases(PlantedJudge(temperature=1.8, log_nu=-np.inf), 1)
ROUGH = SURE.stating(SURE.probabilities.round(1) / SURE.probabilities.round(1).sum(1, keepdims=True))  # has equals
SWAP = [1, 0, 2]


def cases(stated, shares, clusters=None, **options):
    n = len(stated)
    return Cases(tuple(map(str, range(n))), stated, shares, clusters or tuple(map(str, range(n))), **options)


def pair(item_id, label="A", **options):
    return PreferencePair(item_id, "pandalm", "Why?", "So.", "Thus.", label=label, **options)


def said(item_id, order="ab", p=(0.6, 0.3, 0.1), **options):
    return Verdict(item_id, "encoder/x", order, "A", *p, **options)


def test_labels_meet_the_probabilities_of_their_items_whatever_their_order():
    pairs = [pair("x", "tie", cluster_id="p"), pair("y", "B", cluster_id="p"), pair("z", None)]
    found = cases_of("pandalm", pairs, [said("y", p=(0, 1, 0)), said("x"), said("z")])
    assert found.items == ("x", "y") and found.clusters == ("p", "p") and not found.symmetric
    assert found.probabilities == pytest.approx(np.array([[0.6, 0.3, 0.1], [0, 1, 0]]))
    assert found.hits.tolist() == [0, 1]


def test_votes_become_shares_scores_log_odds_and_a_set_without_ties_reads_what_is_left():
    found = cases_of("pandalm", [pair("x", votes={"a": "A", "b": "tie", "c": "A"})], [said("x")], "votes")
    assert found.shares[0] == pytest.approx([2 / 3, 0, 1 / 3]) and found.weights.tolist() == [3]
    found = cases_of("llmbar_natural", [pair("x")], [said("x")])
    assert found.probabilities[0] == pytest.approx([2 / 3, 1 / 3]) and found.n_classes == 2
    verdicts = [Verdict("x", "r", order, "A", score_a=1.0 + np.log(3), score_b=1.0) for order in ("ab", "ba")]
    assert cases_of("judgebench", [pair("x")], verdicts).probabilities[0] == pytest.approx([0.75, 0.25])


def test_matchups_join_what_was_shown_both_ways():
    models = [{"model_a": "m", "model_b": "n"}, {"model_a": "n", "model_b": "m"}]
    pairs = [pair(str(k), votes={f"v{k}": "A"}, cluster_id="q", **side) for k, side in enumerate(models)]
    found = cases_of("mtbench", pairs, [said("0"), said("1")], "matchups")
    assert len(found.items) == 1 and found.shares.tolist() == [[0.5, 0.5, 0]]
    assert found.probabilities[0] == pytest.approx([0.45, 0.45, 0.1])
    scored = [Verdict(str(k), "r", "ab", "A", score_a=score, score_b=0.0) for k, score in enumerate((2.0, -1.0))]
    found = cases_of("mtbench", pairs, scored, "matchups")
    assert len(found.items) == 1 and found.probabilities[0, 0] == pytest.approx(1 / (1 + np.exp(-1.5)))


def test_what_cannot_be_read_is_refused():
    with pytest.raises(ValueError, match="no probabilities of encoder/x"):
        cases_of("pandalm", [pair("x"), pair("y")], [said("x")])
    with pytest.raises(ValueError, match="no item has votes"):
        cases_of("pandalm", [pair("x")], [said("x")], "votes")
    with pytest.raises(ValueError, match="target 'gold'"):
        cases_of("pandalm", [pair("x")], [said("x")], "gold")
    with pytest.raises(ValueError, match="1: the probabilities are no distribution"):
        cases([[1, 0], [0.7, 0.7]], [[1, 0], [0, 1]])
    with pytest.raises(ValueError, match="'x' stands twice"):
        Cases(("x", "x"), [[1, 0]] * 2, [[1, 0]] * 2, ("p", "q"))


def test_measures_of_a_judge_that_can_be_checked_by_hand():
    """Ten verdicts at 0.9 of which six are right, in one bin: 0.3 too sure."""
    found = measures(cases([[0.9, 0.1]] * 10, [[1, 0]] * 6 + [[0, 1]] * 4), n_bins=1)
    assert found["overconfidence"].value == pytest.approx(0.3) == found["ece"].value
    assert found["ece_debiased"].value == pytest.approx(np.sqrt(0.09 - 0.24 / 9))
    assert found["brier"].value == pytest.approx(0.6 * 0.02 + 0.4 * 1.62)
    assert found["nll"].value == pytest.approx(-0.6 * np.log(0.9) - 0.4 * np.log(0.1))


def test_one_prompt_has_no_interval_of_any_measure():
    rows = [[0.9, 0.1]] * 10, [[1, 0]] * 6 + [[0, 1]] * 4
    found = measures(Cases(tuple("abcdefghij"), *rows, ("p",) * 10), n_bins=2)
    assert {one.interval for one in found.values()} == {None} and found["ece_debiased"].value > 0


def test_copies_of_items_widen_nothing_but_the_number_of_rows():
    places = np.repeat(np.arange(len(SURE.items)), 5)
    copied = cases(SURE.probabilities[places], SURE.shares[places], tuple(np.array(SURE.clusters)[places]))
    for name, number in measures(SURE).items():
        again = measures(copied)[name]
        assert (again.value, again.low, again.high) == pytest.approx((number.value, number.low, number.high)), name


def test_reliability_has_a_row_per_bin_and_wider_intervals_for_alike_items():
    table = reliability_table(SURE, 10)
    assert ((table["low"] < table["accuracy"]) | (table["accuracy"] == 0)).all()
    gaps = table["count"] / len(SURE.items) * (table["accuracy"] - table["confidence"]).abs()
    error = expected_calibration_error(reliability_bins(SURE.confidence, SURE.hits, 10).sum(0))
    assert gaps.sum() == pytest.approx(float(error))
    same = cases([[0.8, 0.2]] * 40, np.eye(2)[np.repeat([0, 1, 0, 0, 1, 0, 1, 0], 5)], tuple(np.repeat(range(8), 5)))
    single = replace(same, clusters=same.items)
    width = [float((t["high"] - t["low"]).iloc[0]) for t in (reliability_table(same, 1), reliability_table(single, 1))]
    assert width[0] > 1.5 * width[1]


@pytest.mark.parametrize("name", MAPS)
def test_the_sides_of_the_data_play_no_part(name):
    turned = np.random.default_rng(0).random(len(SURE.items)) < 0.5
    tables = {name: getattr(SURE, name) for name in ("probabilities", "shares")}
    tables = {name: np.where(turned[:, None], values[:, SWAP], values) for name, values in tables.items()}
    fitted, turned = fit_map(name, SURE), fit_map(name, replace(SURE, **tables))
    values = fitted(SURE.probabilities)
    assert turned(SURE.probabilities) == pytest.approx(values, abs=1e-6)
    assert fitted(SURE.probabilities[:, SWAP]) == pytest.approx(values[:, SWAP])
    assert values.sum(1) == pytest.approx(1)


def test_a_judge_with_one_order_may_lean_to_a_side():
    """Stated one way only, a preference for A is a fault that a map can mend."""
    leaning = SURE.probabilities * [3, 1, 1]
    leaning = replace(SURE, probabilities=leaning / leaning.sum(1, keepdims=True), symmetric=False)
    forced = fit_map("temperature", leaning)
    assert forced.parameters[-1] < -0.4 and not forced.symmetric
    blind = fit_map("temperature", replace(leaning, symmetric=True))
    assert paired(*(leaning.stating(one(leaning.probabilities)) for one in (blind, forced))).high < 0


def test_davidson_mends_ties_that_temperature_cannot():
    fewer = MANY.probabilities * [1, 1, 0.1]
    shy = MANY.stating(fewer / fewer.sum(1, keepdims=True))
    repaired = [shy.stating(fit_map(name, shy)(shy.probabilities)) for name in ("temperature", "davidson")]
    assert paired(*repaired).high < 0
    slope, ties = fit_map("davidson", MANY).parameters
    assert fit_map("davidson", shy).parameters[1] == pytest.approx(ties + slope * np.log(10), abs=0.05)


def test_without_ties_the_linear_maps_are_one():
    values = [fit_map(name, FORCED)(FORCED.probabilities) for name in LINEAR]
    assert all(value == pytest.approx(values[0], abs=1e-3) for value in values)
    assert maps.maps_for(FORCED) == ("temperature", "isotonic") and maps.maps_for(SURE) == MAPS


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("rows", [SURE, FORCED, replace(FORCED, symmetric=False)], ids=["ties", "none", "one order"])
def test_maps_come_back_from_their_files(name, rows, tmp_path):
    fitted = fit_map(name, rows)
    again = load_map(maps.save_map(fitted, tmp_path / "maps" / f"{name}.json"))
    assert np.array_equal(again(rows.probabilities), fitted(rows.probabilities))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"schema": 2}, "schema 2"),
        ({"schema": 1}, "there is no 'map'"),
        ({"schema": 1, "map": "cubic", "parameters": [1], "classes": 3, "symmetric": True}, "'cubic'"),
        ({"schema": 1, "map": "davidson", "parameters": [1], "classes": 3, "symmetric": True}, "2 finite parameters"),
        ({"schema": 1, "map": "isotonic", "curves": [[[0, 1], [0.9, 0.2]]], "classes": 2}, "does not increase"),
        ([], "no calibration map"),
    ],
)
def test_damaged_files_are_named(document, message, tmp_path):
    path = tmp_path / "map.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=message) as raised:
        load_map(path)
    assert str(path) in str(raised.value)


def test_maps_refuse_what_they_were_not_fitted_for():
    with pytest.raises(ValueError, match="fitted for 3 classes, not 2"):
        fit_map("davidson", SURE)(FORCED.probabilities)
    with pytest.raises(ValueError, match="fitted for 2 classes, not 3"):
        fit_map("isotonic", FORCED)(SURE.probabilities)
    assert fit_map("temperature", FORCED)(SURE.probabilities).shape == SURE.probabilities.shape
    with pytest.raises(ValueError, match="'cubic'"):
        fit_map("cubic", SURE)


@pytest.mark.parametrize("way", [lambda rows: cross_fitted(rows, "isotonic"), lambda rows: nested(rows)[0]])
def test_a_fold_plays_no_part_in_its_own_map(way):
    here = prompt_folds(SURE.clusters) == 1
    turned = replace(SURE, shares=np.where(here[:, None], SURE.shares[:, SWAP], SURE.shares))
    tables = [way(rows).probabilities for rows in (SURE, turned)]
    assert np.array_equal(tables[0][here], tables[1][here]) and not np.allclose(tables[0][~here], tables[1][~here])


def test_a_map_helps_where_it_was_fitted_and_harms_elsewhere():
    true = planted_cases(PlantedJudge(prompts=2000), 7)
    repaired = cross_fitted(MANY, "temperature")
    assert paired(MANY, repaired).high < 0 < paired(true, maps.restated("temperature", MANY, true)).low
    assert abs(measures(repaired)["overconfidence"].value) < 0.03


def test_risk_is_that_of_the_most_confident():
    rows = cases([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]], [[1, 0], [0, 1], [1, 0], [0, 1]])
    curve = risk_coverage(rows, (0.25, 0.5, 0.75, 1))
    assert curve["risk"].tolist() == pytest.approx([0, 1 / 2, 1 / 3, 1 / 2])
    assert curve["oracle"].tolist() == pytest.approx([0, 0, 1 / 3, 1 / 2])


@pytest.mark.parametrize("rows", [SURE, ROUGH], ids=["sure", "equals"])
def test_the_gain_is_the_risk_less_the_area_under_the_curve(rows):
    shares = (np.arange(200_000) + 0.5) / 200_000
    curve = risk_coverage(rows, tuple(shares))["risk"]
    assert risk_coverage_gain(rows) == pytest.approx(curve.iloc[-1] - curve.mean(), abs=1e-4)
    weight = np.random.default_rng(0).integers(0, 3, (4, len(rows.items))).astype(float)
    for found, times in zip(risk_coverage_gain(rows, weight), weight.astype(int), strict=True):
        drawn = np.repeat(np.arange(len(times)), times)  # an item that counts twice is two items
        copied = [getattr(rows, part)[drawn] for part in ("probabilities", "shares")]
        assert found == pytest.approx(risk_coverage_gain(cases(*copied)))
    assert risk_coverage_gain(rows.stating(np.full((len(rows.items), 3), 1 / 3))) == pytest.approx(0)


def test_a_threshold_is_certified_where_the_judge_is_good_and_nowhere_else():
    good = cases([[0.9, 0.1]] * 60 + [[0.6, 0.4]] * 60, [[1, 0]] * 60 + [[1, 0], [0, 1]] * 30)
    for by_item in (False, True):
        assert certify(good, [0.9, 0.6], 0.2, 0.1, by_item) == 0.9
        assert certify(good, [0.9, 0.6], 0.4, 0.1, by_item) == 0.6
        assert certify(good.at(slice(60, 120)), [0.9, 0.6], 0.2, 0.1, by_item) == np.inf
    with pytest.raises(ValueError, match="rates in"):
        certify(good, [0.9], 1.2, 0.1, False)


def test_each_prompt_counts_once_in_what_is_kept():
    rows = cases([[0.9, 0.1]] * 4, [[1, 0], [1, 0], [1, 0], [0, 1]], ("p", "p", "p", "q"))
    found = kept_numbers(rows, np.array([True, False, False, True]))
    assert found["coverage"].value == pytest.approx((1 / 3 + 1) / 2) and found["all_risk"].value == 0.5
    assert found["risk"].value == pytest.approx(1 / (1 / 3 + 1))
    assert "risk" not in kept_numbers(rows, np.zeros(4, bool))
    right = cases([[0.9, 0.1]] * 5, [[1, 0]] * 5)
    found = kept_numbers(right, np.arange(5) < 3)["risk"]  # no error on three prompts
    assert (found.value, found.low, found.high) == (0, 0, pytest.approx(float(proportion_interval(0.0, 3)[1])))
    same = paired(right, right)
    assert (same.value, same.low, same.n, student_p(same, 5)) == (0, None, 5, 1)


def test_thresholds_keep_the_share_they_are_named_by_and_what_one_half_certified_is_used_on_the_other():
    rows = cases([[p, 1 - p] for p in (0.9, 0.8, 0.7, 0.6)], [[1, 0]] * 4)
    assert thresholds_at(rows, (0.25, 0.5, 1)).tolist() == [0.9, 0.8, 0]
    many, few, some = (coverages_for(n_prompts, 0.2, 0.1) for n_prompts in (10_000, 5, 200))
    assert many[0] == 0.05 and few == (1.0,) and some[-1] == 1
    thresholds, found = certified(SURE, 0.3)
    assert len(thresholds) == 40 and 0 < found["coverage"].value < 1
    assert found["risk"].value < found["all_risk"].value


def test_agreement_counts_pairs_of_people():
    rows = cases([[0.5, 0.5, 0]] * 2 + [[1, 0, 0]], [[2 / 3, 1 / 3, 0], [1, 0, 0], [1, 0, 0]], weights=[3.0, 2.0, 1.0])
    found = NOTEBOOK.disagreement(rows)
    assert found["people_agreement"].value == pytest.approx((1 / 3 + 1) / 2) and found["people_agreement"].n == 2
    assert found["stated_agreement"].value == pytest.approx(0.5)


def test_a_p_value_is_that_of_the_interval_it_is_read_from():
    """Nine prompts: an interval of Student's that ends at zero is a p-value of five in a hundred, not one of two."""
    few = SURE.at(np.isin(SURE.cluster_index, range(9)))
    change = paired(few, cross_fitted(few, "temperature"))
    moved = replace(change, value=change.value - change.low, low=0.0, high=change.high - change.low)
    assert student_p(moved, few.n_prompts) == pytest.approx(0.05)
    turned = replace(change, value=-change.value, low=-change.high, high=-change.low)
    assert student_p(change, few.n_prompts) == student_p(turned, 9)


@pytest.mark.realdata
def test_published_judges_are_read_on_what_all_of_them_judged():
    judges = load_judges(["replay/grm-gemma-2b", "replay/internlm2-7b-reward"], "sample")
    notebook = functions_of("61_calibration", loaded=judges, store=None)
    found = notebook.cases_by_judge("judgebench", "label", load_set("judgebench"), judges)
    assert list(found) == list(judges) and len({one.items for one in found.values()}) == 1
