"""Estimators of self-preference hold what was planted, and fail where their docstrings say that they do."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from notebook_functions import functions_of

from judgekit.bias.lifts import lifts
from judgekit.bias.planted import PlantedBias, Population, planted_table
from judgekit.stats import coverage

NOTEBOOK = functions_of("42_self_preference")
compared, with_target = NOTEBOOK.compared, NOTEBOOK.with_target
SIMULATIONS, N_BOOT = 1000, 300
pytestmark = pytest.mark.slow  # a thousand simulations each
ENOUGH = 930
OWN, OTHERS = ["amber-1"], ["birch-1", "cedar-1", "cedar-2"]
EQUAL = Population(prompts=100, per_prompt=4, models=dict.fromkeys([*OWN, *OTHERS], 0.0))
UNEQUAL = replace(EQUAL, models=dict(zip([*OWN, *OTHERS], (1.0, 0.8, 0.0, -0.8), strict=True)))
TASTE = PlantedBias(own=0.8)
SHARP = PlantedBias(own=0.8, skill=2.0)


def drawn(bias, population, simulations=SIMULATIONS):
    """A table of many simulations, one after the other: prompts are independent, so every hundred of them is one."""
    return planted_table(bias, replace(population, prompts=population.prompts * simulations), 0)


def split(rows):
    """The rows of each simulation."""
    number = rows["prompt"].astype(int).to_numpy() // EQUAL.prompts
    ends = np.searchsorted(number, np.arange(1, number[-1] + 2))
    return [rows.iloc[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def made(bias, population):
    """A thousand sets of rows: a planted judge beside people."""
    return split(with_target(compared(drawn(bias, population)), OWN, OTHERS))


def planted_gain(bias, population, target):
    """What a planted judge's taste for its own adds to their win rate: the truth that estimators are held against."""
    large = replace(population, prompts=20_000)
    with_taste, plain = (planted_table(one, large, 0) for one in (bias, replace(bias, own=0.0)))
    side = with_taste["model_a"].isin(target).astype(int) - with_taste["model_b"].isin(target).astype(int)
    gain = (with_taste["p_ab"] + with_taste["p_ba"] - plain["p_ab"] - plain["p_ba"]) / 2
    return float((side * gain)[side != 0].mean())


@pytest.fixture(scope="module")
def equal():
    return made(TASTE, EQUAL), planted_gain(TASTE, EQUAL, OWN)


@pytest.fixture(scope="module")
def unequal():
    return made(SHARP, UNEQUAL), planted_gain(SHARP, UNEQUAL, OWN)


def covered(way, rows, truth):
    return coverage(lambda part: lifts(part, N_BOOT)["value"][way], truth, rows.__getitem__, len(rows))


@pytest.mark.parametrize("way", ["lift", "calibrated"])
def test_planted_taste_is_held_where_all_write_equally_well(equal, way):
    rows, truth = equal
    assert truth > 0.1 and covered(way, rows, truth) >= ENOUGH


def test_only_calibration_holds_it_where_the_family_writes_better_and_the_judge_is_sharper(unequal):
    rows, truth = unequal
    assert covered("calibrated", rows, truth) >= ENOUGH
    assert covered("lift", rows[:300], truth) <= 0.8 * 300


def test_sharpness_is_held():
    """In logs of odds that quality's spread dulls alike for judge and people, the planted ratio of skills is close."""
    judge = PlantedBias(skill=2.0, opinion=0.0)
    rows = split(with_target(compared(drawn(judge, UNEQUAL)), OWN, OTHERS))
    large = with_target(compared(planted_table(judge, replace(UNEQUAL, prompts=40_000), 0)), OWN, OTHERS)
    limit = lifts(large, 2)["value"]["sharpness"].value
    assert 1.3 < limit < 2.0 and covered("sharpness", rows, limit) >= ENOUGH


def test_a_taste_for_length_passes_for_self_preference():
    """The family's responses three times as long, and a judge that likes length and not its own."""
    wordy = replace(EQUAL, wordier=dict.fromkeys(OWN, np.log2(3)))
    rows = split(with_target(compared(drawn(PlantedBias(length=0.5), wordy, 50)), OWN, OTHERS))
    assert covered("lift", rows, 0.0) <= 5 and covered("calibrated", rows, 0.0) <= 5


def test_rows_that_repeat_a_prompt_are_no_further_evidence(equal):
    rows, truth = equal
    repeated = [pd.concat([part] * 3, ignore_index=True) for part in rows[:300]]
    loose = [part.assign(prompt=np.arange(len(part)).astype(str)) for part in repeated]
    assert covered("lift", loose, truth) < 0.85 * len(loose)
    assert covered("lift", repeated, truth) > 0.9 * len(repeated)
