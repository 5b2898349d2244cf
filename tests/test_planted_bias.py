"""Estimators of bias find what was planted: 95 % intervals hold it in 930 of 1,000 simulations, wrong ones do not."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from intervals import coverage, held
from notebook_functions import functions_of

from judgekit.bias.kinds import shrunken_rates
from judgekit.bias.length import length_effects, readable
from judgekit.bias.planted import PlantedBias, Population, planted_table
from judgekit.bias.position import position_numbers
from judgekit.bias.self_preference import lifts
from judgekit.stats import proportion_interval

ENOUGH, SIMULATIONS, N_BOOT = 930, 1000, 300
pytestmark = pytest.mark.slow  # a thousand simulations each
PEOPLE = Population(prompts=150, per_prompt=4)
PLAIN = PlantedBias(position=0.6)
RICH = PlantedBias(position=0.6, position_spread=0.7, opinion=1.0, log_nu=-0.5)
POSITIONS = {"plain": PLAIN, "rich": RICH, "none": PlantedBias(), "second": PlantedBias(position=-0.4, log_nu=-1.0)}
MEASURES = ("consistency", "first_rate", "toward_first", "toward_second", "delta", "log_odds")


@cache
def position_drawn(case, number):
    return planted_table(POSITIONS[case], PEOPLE, number)


@cache
def position_truth(case):
    """Every measure under the planted judge, from four hundred thousand pairs."""
    large = planted_table(POSITIONS[case], replace(PEOPLE, prompts=100_000), 10**6)
    return {name: number.value for name, number in position_numbers(large, 2).items()}


@cache
def position_estimates(case):
    """All measures of all simulations, each table read once."""
    return [position_numbers(position_drawn(case, k), N_BOOT) for k in range(SIMULATIONS)]


@pytest.mark.parametrize("case", ["plain", "rich"])
@pytest.mark.parametrize("name", MEASURES)
def test_measures_hold_their_value_under_the_planted_judge(case, name):
    assert held([found[name] for found in position_estimates(case)], position_truth(case)[name]) >= ENOUGH


@pytest.mark.parametrize("case", ["plain", "none", "second"])
def test_the_planted_position_itself_is_recovered(case):
    """Whatever the judge's skill, opinion and ties are: they are conditioned away."""
    found = [numbers["log_odds"] for numbers in position_estimates(case)]
    assert held(found, POSITIONS[case].position) >= ENOUGH
    assert np.mean([number.value for number in found]) == pytest.approx(POSITIONS[case].position, abs=0.02)


def test_intervals_that_ignore_prompts_fail():
    tables = [position_drawn("rich", k) for k in range(SIMULATIONS)]
    alone = [position_numbers(table.assign(prompt=table["item"]), N_BOOT)["delta"] for table in tables]
    assert held(alone, position_truth("rich")["delta"]) < ENOUGH


LIKING, RICHER = 0.5, 0.8
VERBOSITY = functions_of("41_verbosity_bias")
ERROR_GAP, leaderboard = VERBOSITY.error_gap, VERBOSITY.leaderboard
JUDGE = PlantedBias(length=LIKING, position=0.4)
ALIKE = PlantedBias(length=LIKING, skill=0.0, opinion=0.0)  # nothing but length: its pairs differ in nothing else


def table_of(seed, bias=JUDGE, prompts=120, per_prompt=2, **population):
    return planted_table(bias, Population(prompts=prompts, per_prompt=per_prompt, **population), seed)


@cache
def many(bias=JUDGE, **population):
    """So many pairs that an estimate is the truth."""
    return table_of(10**6, bias, prompts=60_000, **population)


def readings(table):
    """Every estimate of a table, by name."""
    return length_effects(table)[0] | {"error_gap": ERROR_GAP(readable(table), 500)}


def test_intervals_hold_the_values_of_a_very_large_draw():
    truth = {name: x.value for name, x in readings(many(richer=RICHER)).items()}
    held = dict.fromkeys(truth, 0)
    for seed in range(SIMULATIONS):
        for name, x in readings(table_of(seed, richer=RICHER, prompts=240, per_prompt=1)).items():
            held[name] += x.low <= truth[name] <= x.high
    assert min(held.values()) >= ENOUGH, held


def test_the_plain_effect_is_what_was_planted_where_pairs_differ_in_length_only():
    held = coverage(lambda t: length_effects(t)[0]["given_people"], LIKING, lambda k: table_of(k, ALIKE), SIMULATIONS)
    assert held >= ENOUGH


def test_the_excess_is_free_of_quality_only_for_a_judge_as_skilled_as_people():
    alike, skilled = (
        length_effects(many(PlantedBias(length=0.0, skill=s), richer=RICHER))[0]["excess"] for s in (1.0, 2.0)
    )
    assert abs(alike.value) < 0.03 and skilled.value > 0.18


def test_intervals_that_ignore_prompts_fail_the_count():
    def repeated(seed):
        return pd.concat([table_of(seed)] * 3, ignore_index=True)

    def together(table):
        return length_effects(table)[0]["judge"]

    def alone(table):
        return together(table.assign(prompt=np.arange(len(table)).astype(str)))

    truth = together(many()).value
    assert coverage(alone, truth, repeated, 300) < 0.85 * 300 < 0.93 * 300 <= coverage(together, truth, repeated, 300)


def test_error_gaps_are_confounded_where_long_is_better():
    fair, rich = (readable(many(PlantedBias(length=0.0), **how)) for how in ({}, {"richer": RICHER}))
    assert ERROR_GAP(rich, 20).value > 0.1  # no taste, and yet a gap
    assert abs(ERROR_GAP(fair, 20).value) < 0.01


MODELS = {"good-1": 0.8, "fair-1": 0.0, "wordy-1": -0.4, "weak-1": -1.2, "base-1": 0.0}
WORDIER = {"wordy-1": 1.5, "fair-1": -0.5, "weak-1": 0.5}


def board_of(seed, bias, prompts=80):
    """A planted annotator's preferences, in one order, on the pairs of a baseline with four models."""
    table = planted_table(bias, Population(prompts, 16, MODELS, wordier=WORDIER), seed)
    table = table[(table["model_a"] == "base-1") | (table["model_b"] == "base-1")]
    turned = (table["model_a"] == "base-1").to_numpy()
    columns = {"model": np.where(turned, table["model_b"], table["model_a"]), "prompt": table["prompt"].to_numpy()}
    columns["credit"] = np.where(turned, 1 - table["ab"], table["ab"])
    columns["doublings"] = np.where(turned, -1, 1) * np.log2(table["words_a"] / table["words_b"]).to_numpy()
    return pd.DataFrame(columns)


def test_win_rates_at_equal_length_are_those_of_a_judge_without_the_taste():
    taste, none = PlantedBias(length=0.5, opinion=0.3), PlantedBias(length=0.0, opinion=0.3)
    board, changes = leaderboard(board_of(10**6, taste, 20_000), 2)
    truth = {row.model: row.raw.value for row in leaderboard(board_of(10**6, none, 20_000), 2)[0].itertuples()}
    for row in board.itertuples():
        assert row.controlled.value == pytest.approx(truth[row.model], abs=0.02)
    assert list(board["model"])[1:3] == ["wordy-1", "fair-1"] and truth["fair-1"] > truth["wordy-1"]
    held = {}
    for seed in range(SIMULATIONS):
        one, found = leaderboard(board_of(seed, taste), 50)
        for row in one.itertuples():
            held[row.model] = held.get(row.model, 0) + (row.controlled.low <= truth[row.model] <= row.controlled.high)
        for name, x in found.items():
            held[name] = held.get(name, 0) + (x.low <= changes[name].value <= x.high)
    assert min(held.values()) >= ENOUGH, held


OWN, OTHERS = ["amber-1"], ["birch-1", "cedar-1", "cedar-2"]
NOTEBOOK = functions_of("42_self_preference", family=OWN)
compared, with_target, planted_gain = NOTEBOOK.compared, NOTEBOOK.with_target, NOTEBOOK.gain
EQUAL = Population(prompts=100, per_prompt=4, models=dict.fromkeys([*OWN, *OTHERS], 0.0))
UNEQUAL = replace(EQUAL, models=dict(zip([*OWN, *OTHERS], (1.0, 0.8, 0.0, -0.8), strict=True)))
TASTE = PlantedBias(own=0.8)
SHARP = PlantedBias(own=0.8, skill=2.0)


def made(bias, population, simulations=SIMULATIONS):
    """The rows of each of many simulations, a planted judge beside people.

    Drawn one after the other: prompts are independent, so every hundred of them is one.
    """
    table = planted_table(bias, replace(population, prompts=population.prompts * simulations), 0)
    rows = with_target(compared(table), OWN, OTHERS)
    number = rows["prompt"].astype(int).to_numpy() // EQUAL.prompts
    ends = np.searchsorted(number, np.arange(1, number[-1] + 2))
    return [rows.iloc[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


@pytest.fixture(scope="module")
def equal():
    return made(TASTE, EQUAL), planted_gain(TASTE, EQUAL)


def covered(way, rows, truth):
    return coverage(lambda part: lifts(part, N_BOOT)["value"][way], truth, rows.__getitem__, len(rows))


@pytest.mark.parametrize("way", ["lift", "calibrated"])
def test_planted_taste_is_held_where_all_write_equally_well(equal, way):
    rows, truth = equal
    assert truth > 0.1 and covered(way, rows, truth) >= ENOUGH


def test_only_calibration_holds_it_where_the_family_writes_better_and_the_judge_is_sharper():
    rows, truth = made(SHARP, UNEQUAL), planted_gain(SHARP, UNEQUAL)
    assert covered("calibrated", rows, truth) >= ENOUGH
    assert covered("lift", rows[:300], truth) <= 0.8 * 300


def test_sharpness_is_held():
    """In logs of odds that quality's spread dulls alike for judge and people, the planted ratio of skills is close."""
    judge = PlantedBias(skill=2.0, opinion=0.0)
    rows = made(judge, UNEQUAL)
    large = with_target(compared(planted_table(judge, replace(UNEQUAL, prompts=40_000), 0)), OWN, OTHERS)
    limit = lifts(large, 2)["value"]["sharpness"].value
    assert 1.3 < limit < 2.0 and covered("sharpness", rows, limit) >= ENOUGH


def test_rows_that_repeat_a_prompt_are_no_further_evidence(equal):
    rows, truth = equal
    repeated = [pd.concat([part] * 3, ignore_index=True) for part in rows[:300]]
    loose = [part.assign(prompt=np.arange(len(part)).astype(str)) for part in repeated]
    assert covered("lift", loose, truth) < 0.85 * len(loose)
    assert covered("lift", repeated, truth) > 0.9 * len(repeated)


DOMAINS = functions_of("44_domains")
SKILLS = np.linspace(0.2, 2.6, 9)


def one_kind(name, skill, prompts, seed, per_prompt=2):
    """A kind of task: the judge is right where its verdict goes to the response of higher quality."""
    people = Population(prompts=prompts, per_prompt=per_prompt, prompt_spread=1.5)
    table = planted_table(PlantedBias(skill=skill), people, seed)
    right = ((table["ab"] - 0.5) * table["quality"] > 0).astype(float)
    columns = {"category": name, "prompt": f"{name}-" + table["prompt"], "hits": right, "size": 1.0}
    return pd.DataFrame(columns)


@cache
def rate_of(skill):
    return one_kind("x", skill, 20_000, 10**6)["hits"].mean()


def kinds(seed, skills, prompts=(4, 12)):
    """A table of kinds with these skills, and their true rates."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(prompts[0], prompts[1] + 1, len(skills))
    parts = [
        one_kind(f"k{k}", skill, n, 100 * seed + k) for k, (skill, n) in enumerate(zip(skills, sizes, strict=True))
    ]
    return pd.concat(parts, ignore_index=True), np.array([rate_of(skill) for skill in skills])


@pytest.mark.parametrize("spread", [0, 2, 4])
def test_intervals_hold_what_was_planted(spread):
    held = dict.fromkeys(("value", "raw", "mean", "unclustered"), 0.0)
    for seed in range(SIMULATIONS):
        skills = np.random.default_rng(seed).choice(SKILLS[4 - spread : 5 + spread], 6)
        table, truth = kinds(seed, skills)
        rows, mean = shrunken_rates(table), DOMAINS.mean_of_kinds(table, 300, seed)
        ends = {"value": (rows["low"], rows["high"]), "raw": (rows["raw_low"], rows["raw_high"])}
        ends["unclustered"] = proportion_interval(rows["raw"], 2 * rows["n"])  # of every item twice
        for name, (low, high) in ends.items():
            held[name] += ((low <= truth) & (truth <= high)).mean() / SIMULATIONS
        held["mean"] += (mean.low <= truth.mean() <= mean.high) / SIMULATIONS
    assert held.pop("unclustered") < ENOUGH / 1000 <= min(held.values()), held


def test_one_that_is_unlike_the_others_is_drawn_to_them():
    """Exchangeability is an assumption: an outlier of few items is missed, by its shrunken interval alone."""
    misses, skills = np.zeros(2), [0.0, *[2.6] * 9]
    for seed in range(100):
        table, truth = kinds(seed, skills, prompts=(4, 4))
        row = shrunken_rates(table).iloc[0]
        misses += [not row["low"] <= truth[0] <= row["high"], not row["raw_low"] <= truth[0] <= row["raw_high"]]
    assert misses[1] <= 12 < misses[0], misses


def test_the_test_of_differences_is_one():
    same = [kinds(seed, [1.4] * 6)[0] for seed in range(SIMULATIONS)]
    rejected = np.mean([DOMAINS.heterogeneity(table, 99, seed) <= 0.05 for seed, table in enumerate(same)])
    assert 0.02 <= rejected <= 1 - ENOUGH / 1000
    apart = [DOMAINS.heterogeneity(kinds(seed, SKILLS, (10, 20))[0], 99, seed) for seed in range(100)]
    assert np.mean([p <= 0.05 for p in apart]) > 0.6
    thrice = [pd.concat([table] * 3, ignore_index=True) for table in same[:300]]
    alone = [table.assign(prompt=np.arange(len(table)).astype(str)) for table in thrice]
    assert np.mean([DOMAINS.heterogeneity(table, 99, seed) <= 0.05 for seed, table in enumerate(alone)]) > 0.07
