"""The estimators of calibration find what was planted: their 95 % intervals hold it in 930 of 1,000 simulations.

Guarantees are counted too: a threshold that promises a risk with probability 1 - delta must keep its word as often.
Beside each stands a wrong estimator, which fails the same count.
"""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from intervals import held
from notebook_functions import functions_of

from judgekit.people.calibration.maps import confidence_slope
from judgekit.people.calibration.measures import measures, verdict_cells
from judgekit.people.calibration.selective import certify, coverages_for, thresholds_at
from judgekit.people.planted import PlantedJudge, planted_cases
from judgekit.stats import Number, interval, mean_interval

NOTEBOOK = functions_of("61_calibration")
DISAGREEMENT, risk_coverage_gain = NOTEBOOK.disagreement, NOTEBOOK.risk_coverage_gain

ENOUGH, SIMULATIONS = 930, 1000
pytestmark = pytest.mark.slow  # a thousand simulations each
TRUE = PlantedJudge()
SURE = PlantedJudge(temperature=1.8)  # overconfident
KNOWN = {"true": TRUE, "sure": SURE}
RISK, DELTA = 0.25, 0.1
ASKED = replace(SURE, misled=0.1, prompts=100, per_prompt=5)


@cache
def drawn(case, number):
    return planted_cases(KNOWN[case], number)


@cache
def large(case, prompts=100_000):
    return planted_cases(replace(KNOWN[case], prompts=prompts), 10**6)


def alone(cases):
    """The same rows, as if every item had a prompt of its own."""
    return replace(cases, clusters=cases.items)


@cache
def truth(case):
    """Every measure of four hundred thousand items; a calibrated judge has no gaps at all."""
    found = {name: number.value for name, number in measures(large(case)).items()}
    none = ("ece", "ece_debiased") if case == "true" else ()
    return found | dict.fromkeys(none, 0.0)


@cache
def estimates(case):
    return [measures(drawn(case, k)) for k in range(SIMULATIONS)]


@pytest.mark.parametrize("case", KNOWN)
def test_measures_hold_their_value(case):
    counts = {name: held([found[name] for found in estimates(case)], value) for name, value in truth(case).items()}
    assert min(counts.values()) >= ENOUGH, counts


def test_intervals_that_ignore_prompts_fail():
    """Items of a misled prompt are wrong together."""
    planted = replace(SURE, per_prompt=8, prompts=75)
    tables = [alone(planted_cases(planted, k)) for k in range(SIMULATIONS)]
    found = [Number(*mean_interval(t.confidence - t.hits, t.weights, t.cluster_index)) for t in tables]
    assert held(found, truth("sure")["overconfidence"]) < ENOUGH


def test_the_plain_error_of_a_calibrated_judge_is_biased_and_the_debiased_is_not():
    plain = np.array([found["ece"].value for found in estimates("true")])
    square = np.array([verdict_cells(drawn("true", k), 10).square[0] for k in range(SIMULATIONS)])
    assert plain.min() > 0 and plain.mean() > 0.03
    assert abs(square.mean()) < 4 * square.std() / np.sqrt(SIMULATIONS) < 0.03**2
    biased = np.array([float(c.weight @ c.gap**2) for c in (verdict_cells(drawn("true", k), 10) for k in range(200))])
    assert biased.mean() > 0.03**2


def test_the_planted_temperature_is_recovered():
    found = [confidence_slope(drawn("sure", k)) for k in range(SIMULATIONS)]
    assert held(found, 1 / SURE.temperature) >= ENOUGH
    assert np.mean([number.value for number in found]) == pytest.approx(1 / SURE.temperature, abs=0.02)


def test_what_confidence_is_worth_for_abstaining_is_held():
    truth = float(risk_coverage_gain(large("sure")))
    drawn_cases = (drawn("sure", k) for k in range(SIMULATIONS))
    found = [interval(partial(risk_coverage_gain, one), one.clusters, n_boot=400) for one in drawn_cases]
    assert held(found, truth) >= ENOUGH


@cache
def risk_above():
    """Risk of what is kept by every threshold, from many items, and the thresholds that are tried."""
    many = planted_cases(replace(ASKED, prompts=50_000), 10**6)
    order = np.argsort(many.confidence)
    confidence, losses = many.confidence[order], 1 - many.hits[order]
    risks = losses[::-1].cumsum()[::-1] / np.arange(len(order), 0, -1)
    return confidence, np.append(risks, 0.0), thresholds_at(many, coverages_for(100, RISK, DELTA))


def word_kept(threshold):
    confidence, risks, _ = risk_above()
    return risks[np.searchsorted(confidence, threshold)] <= RISK


@pytest.mark.parametrize("by_item", [False, True], ids=["betting", "binomial"])
def test_certified_thresholds_keep_their_word(by_item):
    thresholds = risk_above()[2]
    found = [certify(planted_cases(ASKED, k), thresholds, RISK, DELTA, by_item, k) for k in range(SIMULATIONS)]
    assert sum(map(word_kept, found)) >= SIMULATIONS * (1 - DELTA)
    assert np.isfinite(found).mean() > 0.2, "a threshold that is never given keeps its word too"


def test_thresholds_that_are_chosen_by_the_risk_they_showed_break_it():
    kept = 0
    for k in range(SIMULATIONS):
        cases = planted_cases(ASKED, k)
        losses = 1 - cases.hits
        seen = {t: losses[cases.confidence >= t].mean() for t in risk_above()[2] if (cases.confidence >= t).any()}
        kept += word_kept(min((t for t, risk in seen.items() if risk <= RISK), default=np.inf))
    assert kept < SIMULATIONS * (1 - DELTA)


def test_what_a_judge_knows_of_disagreement_is_held():
    voted = replace(SURE, prompts=80, per_prompt=3, votes=3)
    drawn_ones = [DISAGREEMENT(planted_cases(voted, k)) for k in range(SIMULATIONS)]
    for name, number in DISAGREEMENT(planted_cases(replace(voted, prompts=30_000), 10**6)).items():
        assert held([found[name] for found in drawn_ones], number.value) >= ENOUGH, name
