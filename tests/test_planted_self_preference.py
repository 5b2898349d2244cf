"""Estimators of self-preference hold what was planted, and fail where their docstrings say that they do."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

from judgekit.bias.planted import PlantedBias, Population, judged_again, planted_table
from judgekit.stats import coverage
from judgekit.studies.self_preference import (
    calibrated_lift,
    compared,
    credit_of,
    own_contrast,
    own_lift,
    regressed_lift,
    sharpness,
    with_target,
)

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


def made(bias, population, beside=None):
    """A thousand sets of rows: a planted judge beside people, or beside another judge."""
    table = drawn(bias, population)
    reference = None if beside is None else credit_of(judged_again(table, beside, 1))
    return split(with_target(compared(table, reference), OWN, OTHERS))


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


def covered(estimate, rows, truth):
    return coverage(estimate, truth, rows.__getitem__, len(rows))


@pytest.mark.parametrize("estimate", [own_lift, own_contrast, calibrated_lift])
def test_planted_taste_is_held_where_all_write_equally_well(equal, estimate):
    rows, truth = equal
    assert truth > 0.1
    assert covered(partial(estimate, n_boot=N_BOOT), rows, truth) >= ENOUGH


@pytest.mark.parametrize("adjust", [(), ("reference", "doublings")])
def test_regression_holds_it_where_all_write_equally_well(equal, adjust):
    rows, truth = equal
    assert covered(partial(regressed_lift, adjust=adjust), rows, truth) >= ENOUGH


def test_calibration_holds_it_where_the_family_writes_better_and_the_judge_is_sharper(unequal):
    rows, truth = unequal
    assert covered(partial(calibrated_lift, n_boot=N_BOOT), rows, truth) >= ENOUGH


@pytest.mark.parametrize(
    ("estimate", "most"),
    [
        (partial(own_lift, n_boot=N_BOOT), 800),
        (partial(own_contrast, n_boot=N_BOOT), 800),
        (regressed_lift, 300),  # three votes are a noisy measure of quality
        (partial(regressed_lift, adjust=()), 10),
    ],
)
def test_the_others_do_not(unequal, estimate, most):
    rows, truth = unequal
    assert covered(estimate, rows[:300], truth) * SIMULATIONS / 300 <= most


def test_a_judge_that_differs_in_taste_alone_needs_no_calibration():
    rows, truth = made(SHARP, UNEQUAL, PlantedBias(skill=2.0)), planted_gain(SHARP, UNEQUAL, OWN)
    assert covered(partial(own_contrast, n_boot=N_BOOT), rows, truth) >= ENOUGH


def test_sharpness_is_held():
    """In logs of odds that quality's spread dulls alike for judge and people, the planted ratio of skills is close."""
    judge = PlantedBias(skill=2.0, opinion=0.0)
    rows = split(with_target(compared(drawn(judge, UNEQUAL)), OWN, OTHERS))
    values = [sharpness(part, 2).value for part in rows]
    large = with_target(compared(planted_table(judge, replace(UNEQUAL, prompts=40_000), 0)), OWN, OTHERS)
    limit = sharpness(large, 2).value
    assert 1.3 < limit < 2.0
    assert abs(np.mean(values) - limit) < 0.1
    assert covered(partial(sharpness, n_boot=N_BOOT), rows, limit) >= ENOUGH


def lengthened(table, seed):
    """The same pairs, the family's responses three times as long, and a judge that likes length and not its own."""
    words = {f"words_{side}": table[f"words_{side}"] * (1 + 2 * table[f"model_{side}"].isin(OWN)) for side in "ab"}
    return judged_again(table.assign(**words), PlantedBias(length=0.5), seed)


def test_a_taste_for_length_passes_for_self_preference_unless_length_is_in_the_model():
    rows = split(with_target(compared(lengthened(drawn(PlantedBias(), EQUAL), 1)), OWN, OTHERS))
    assert covered(regressed_lift, rows, 0.0) >= ENOUGH
    for estimate in (own_lift, own_contrast, calibrated_lift):
        assert covered(partial(estimate, n_boot=N_BOOT), rows[:50], 0.0) <= 5


def test_rows_that_repeat_a_prompt_are_no_further_evidence(equal):
    rows, truth = equal
    repeated = [pd.concat([part] * 3, ignore_index=True) for part in rows[:300]]
    loose = [part.assign(prompt=np.arange(len(part)).astype(str)) for part in repeated]
    estimate = partial(own_lift, n_boot=N_BOOT)
    assert covered(estimate, loose, truth) < 0.85 * len(loose)
    assert covered(estimate, repeated, truth) > 0.9 * len(repeated)
