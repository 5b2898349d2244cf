"""The estimators of position bias find what was planted: their 95 % intervals hold it in 930 of 1,000 simulations."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from judgekit.bias.planted import PlantedBias, Population, planted_table
from judgekit.bias.position import position_numbers

ENOUGH, SIMULATIONS, N_BOOT = 930, 1000, 300
pytestmark = pytest.mark.slow  # a thousand simulations each
PEOPLE = Population(prompts=150, per_prompt=4)
PLAIN = PlantedBias(position=0.6)
RICH = PlantedBias(position=0.6, position_spread=0.7, opinion=1.0, log_nu=-0.5)
CASES = {"plain": PLAIN, "rich": RICH, "none": PlantedBias(), "second": PlantedBias(position=-0.4, log_nu=-1.0)}
MEASURES = ("consistency", "first_rate", "toward_first", "toward_second", "delta", "log_odds")


@cache
def drawn(case, number):
    return planted_table(CASES[case], PEOPLE, number)


@cache
def large(case):
    return planted_table(CASES[case], replace(PEOPLE, prompts=100_000), 10**6)


@cache
def truth(case):
    """Every measure under the planted judge, from four hundred thousand pairs."""
    return {name: number.value for name, number in position_numbers(large(case), 2).items()}


@cache
def estimates(case):
    """All measures of all simulations, each table read once."""
    return [position_numbers(drawn(case, k), N_BOOT) for k in range(SIMULATIONS)]


def held(numbers, value):
    return sum(bool(number.low <= value <= number.high) for number in numbers)


@pytest.mark.parametrize("case", ["plain", "rich"])
@pytest.mark.parametrize("name", MEASURES)
def test_measures_hold_their_value_under_the_planted_judge(case, name):
    assert held([found[name] for found in estimates(case)], truth(case)[name]) >= ENOUGH


@pytest.mark.parametrize("case", ["plain", "none", "second"])
def test_the_planted_position_itself_is_recovered(case):
    """Whatever the judge's skill, opinion and ties are: they are conditioned away."""
    found = [numbers["log_odds"] for numbers in estimates(case)]
    assert held(found, CASES[case].position) >= ENOUGH
    assert np.mean([number.value for number in found]) == pytest.approx(CASES[case].position, abs=0.02)


def test_a_bias_that_varies_is_recovered_as_that_of_the_pairs_that_disagree():
    """The estimand moves away from the mean bias, by this much; the report says so where it quotes the measure."""
    assert truth("rich")["log_odds"] != pytest.approx(RICH.position, abs=0.03)
    assert truth("rich")["log_odds"] == pytest.approx(RICH.position, abs=0.2)


def test_intervals_that_ignore_prompts_fail():
    tables = [drawn("rich", k) for k in range(SIMULATIONS)]
    alone = [position_numbers(table.assign(prompt=table["item"]), N_BOOT)["delta"] for table in tables]
    assert held(alone, truth("rich")["delta"]) < ENOUGH
