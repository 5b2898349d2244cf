"""The estimators of position bias find what was planted: their 95 % intervals hold it in 930 of 1,000 simulations."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from judgekit.bias.margin import flips, leanings, margin_slope, margin_table, own_margin, people_margin
from judgekit.bias.planted import PlantedBias, Population, planted_table
from judgekit.bias.position import MEASURES, difference, log_odds, position_numbers, prompt_sums
from judgekit.bias.repair import repair_numbers
from judgekit.stats import cluster_bootstrap

ENOUGH, SIMULATIONS, N_BOOT = 930, 1000, 300
pytestmark = pytest.mark.slow  # a thousand simulations each
PEOPLE = Population(prompts=150, per_prompt=4)
PLAIN = PlantedBias(position=0.6)
RICH = PlantedBias(position=0.6, position_spread=0.7, opinion=1.0, log_nu=-0.5)
CASES = {"plain": PLAIN, "rich": RICH, "none": PlantedBias(), "second": PlantedBias(position=-0.4, log_nu=-1.0)}


@cache
def drawn(case, number):
    return planted_table(CASES[case], PEOPLE, number)


@cache
def large(case):
    return planted_table(CASES[case], replace(PEOPLE, prompts=100_000), 10**6)


@cache
def truth(case):
    """Every measure under the planted judge, from four hundred thousand pairs."""
    sums = prompt_sums(large(case)).sum(0)
    return {name: float(statistic(sums)) for name, (statistic, _, _) in MEASURES.items()}


@cache
def estimates(case, simulations=SIMULATIONS):
    """All measures of all simulations, each table read once."""
    return [position_numbers(drawn(case, k), N_BOOT) for k in range(simulations)]


def held(numbers, value):
    return sum(bool(number.low <= value <= number.high) for number in numbers)


def interval(table, name):
    """One measure alone."""
    found = cluster_bootstrap(prompt_sums(table), MEASURES[name][0], N_BOOT)
    return SimpleNamespace(**dict(zip(("value", "low", "high"), found, strict=True)))


@pytest.mark.parametrize("case", ["plain", "rich"])
@pytest.mark.parametrize("name", [name for name in MEASURES if name != "coverage"])
def test_measures_hold_their_value_under_the_planted_judge(case, name):
    assert held([found[name] for found in estimates(case)], truth(case)[name]) >= ENOUGH


@pytest.mark.parametrize("case", ["plain", "none", "second"])
def test_the_planted_position_itself_is_recovered(case):
    """Whatever the judge's skill, opinion and ties are: they are conditioned away."""
    found = [interval(drawn(case, k), "log_odds") for k in range(SIMULATIONS)]
    assert held(found, CASES[case].position) >= ENOUGH
    assert np.mean([number.value for number in found]) == pytest.approx(CASES[case].position, abs=0.02)


def test_a_bias_that_varies_is_recovered_as_that_of_the_pairs_that_disagree():
    """The estimand moves away from the mean bias, by this much; the report says so where it quotes the measure."""
    assert truth("rich")["log_odds"] != pytest.approx(RICH.position, abs=0.03)
    assert truth("rich")["log_odds"] == pytest.approx(RICH.position, abs=0.2)
    assert truth("plain")["log_odds"] == pytest.approx(PLAIN.position, abs=0.02)


def test_intervals_that_ignore_prompts_fail():
    alone = [interval(table.assign(cluster=table["item_id"]), "delta") for table in map(rich_table, range(SIMULATIONS))]
    assert held(alone, truth("rich")["delta"]) < ENOUGH


def rich_table(number):
    return drawn("rich", number)


def test_log_odds_of_the_first_rate_are_not_the_planted_position():
    """What pairs differ in pulls the marginal log odds towards zero; conditioning on the pair does not let it."""
    found = []
    for numbers in estimates("plain", 300):
        rate = numbers["first_rate"]
        low, high = (np.log(end / (1 - end)) for end in (rate.low, rate.high))
        found.append(SimpleNamespace(low=low, high=high))
    assert held(found, PLAIN.position) < 0.5 * len(found)


def test_inconsistency_is_no_measure_of_bias_but_total_is():
    """A judge without any position bias contradicts itself when it is unsure; the total bias stays at zero."""
    unbiased, moody = truth("none"), planted_table(PlantedBias(position_spread=0.7), replace(PEOPLE, prompts=50_000), 1)
    assert unbiased["consistency"] < 0.8 and unbiased["total"] < 0.01
    spread = position_numbers(moody, 100)
    assert abs(spread["delta"].value) < 0.01 and spread["total"].value > 0.1


def test_one_mood_for_both_orders_breaks_the_conditional_model():
    """Given the pair, verdicts must be independent: a judge that repeats itself hides its position bias partly."""
    table = large("plain")
    rng = np.random.default_rng(0)
    common = pd.Series(rng.random(len(table)))  # one draw decides both orders
    table = table.assign(ab=(common < table["p_ab"]).astype(float), ba=(common < table["p_ba"]).astype(float))
    assert log_odds(prompt_sums(table).sum(0)) > 2 * PLAIN.position


def test_differences_of_two_judges_hold_their_value():
    expected = truth("rich")["consistency"] - truth("second")["consistency"]
    found = [difference(drawn("rich", k), drawn("second", k), "consistency", N_BOOT) for k in range(SIMULATIONS)]
    assert held(found, expected) >= ENOUGH


# ---------------------------------------------------------------- by margin


def people_slope(table):
    return margin_slope(flips(table), people_margin(table), table["cluster"])


def test_slope_on_margins_holds_its_value():
    value = people_slope(large("rich")).value
    assert value < -0.1  # the planted judge is less unsure where people are less divided
    assert held([people_slope(drawn("rich", k)) for k in range(SIMULATIONS)], value) >= ENOUGH


@pytest.mark.parametrize("outcome", [flips, leanings])
def test_bins_hold_their_rates(outcome):
    expected = by_own_margin(large("rich"), outcome, 20)
    found = [by_own_margin(drawn("rich", k), outcome, N_BOOT) for k in range(SIMULATIONS)]
    for k, value in enumerate(expected["rate"]):
        assert held([table["rate"][k] for table in found], value.value) >= ENOUGH
    if outcome is flips:
        assert expected["rate"].map(lambda number: number.value).is_monotonic_decreasing


def by_own_margin(table, outcome, n_boot):
    return margin_table(outcome(table), own_margin(table), table["cluster"], [0, 0.25, 0.5, 1], n_boot)


# ---------------------------------------------------------------- repair

VOTED = Population(prompts=150, per_prompt=4, voters=1, log_nu=-0.5)
BIASED = PlantedBias(position=1.0, log_nu=-1.0)


def credits(table):
    """A repair table of a planted judge against one vote, of three labels."""
    said = np.where(table["ab"] == table["ba"], table["ab"], 0.5)
    return pd.DataFrame(
        {
            "cluster": table["cluster"],
            "single_ab": (table["ab"] == table["people"]).astype(float),
            "single_ba": (table["ba"] == table["people"]).astype(float),
            "joined": (said == table["people"]).astype(float),
            "kept": table["ab"] == table["ba"],
        }
    )


def test_what_joining_gains_holds_its_value():
    expected = repair_numbers(credits(planted_table(BIASED, replace(VOTED, prompts=100_000), 10**6)), 20)
    found = [repair_numbers(credits(planted_table(BIASED, VOTED, k)), N_BOOT) for k in range(SIMULATIONS)]
    for name in ("single", "joined", "gain", "kept", "accuracy_kept", "gain_kept"):
        assert held([numbers[name] for numbers in found], expected[name].value) >= ENOUGH, name


def test_order_sd_is_what_random_orders_do():
    table, rng = credits(planted_table(BIASED, VOTED, 0)), np.random.default_rng(0)
    first = rng.random((4000, len(table))) < 0.5
    scores = np.where(first, table["single_ab"], table["single_ba"]).mean(axis=1)
    assert repair_numbers(table, 20)["order_sd"].value == pytest.approx(scores.std(), rel=0.05)
