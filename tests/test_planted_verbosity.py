"""Planted judges: the estimators of verbosity find what was planted, and those that cannot, do not."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from judgekit.bias.length import Separated, doublings_of, error_gap, length_effects
from judgekit.bias.planted import PlantedBias, Population, planted_table
from judgekit.stats import coverage
from judgekit.studies.verbosity_bias import leaderboard

ENOUGH, SIMULATIONS, N_BOOT = 930, 1000, 500
pytestmark = pytest.mark.slow  # a thousand simulations each
TASTE, RICHER = 0.5, 0.8
JUDGE = PlantedBias(length=TASTE, position=0.4)
ALIKE = PlantedBias(length=TASTE, skill=0.0, opinion=0.0)  # nothing but length: its pairs differ in nothing else


def table_of(seed, bias=JUDGE, prompts=120, per_prompt=2, **population):
    return planted_table(bias, Population(prompts=prompts, per_prompt=per_prompt, **population), seed)


@cache
def many(bias=JUDGE, **population):
    """So many pairs that an estimate is the truth."""
    return table_of(10**6, bias, prompts=60_000, **population)


def readings(table):
    """Every estimate of a table, by name."""
    return length_effects(table)[0] | {"error_gap": error_gap(table, N_BOOT)}


def test_intervals_hold_the_values_of_a_very_large_draw():
    truth = {name: x.value for name, x in readings(many(richer=RICHER)).items()}
    held = dict.fromkeys(truth, 0)
    for seed in range(SIMULATIONS):
        for name, x in readings(table_of(seed, richer=RICHER, prompts=240, per_prompt=1)).items():
            held[name] += x.low <= truth[name] <= x.high
    assert min(held.values()) >= ENOUGH, held


def test_the_plain_effect_is_what_was_planted_where_pairs_differ_in_length_only():
    held = coverage(lambda t: length_effects(t)[0]["given_people"], TASTE, lambda k: table_of(k, ALIKE), SIMULATIONS)
    assert held >= ENOUGH


@pytest.mark.parametrize(
    ("bias", "richer", "expected"),
    [(PlantedBias(length=0.0), RICHER, 0.31), (JUDGE, 0.0, 0.40), (JUDGE, RICHER, 0.72)],
)
def test_plain_effects_are_off_where_pairs_differ_in_quality(bias, richer, expected):
    """Quality that comes with length passes for a taste; without it, log odds shrink, to four fifths."""
    plain = length_effects(many(bias, richer=richer))[0]["given_people"]
    assert not plain.low <= bias.length <= plain.high and plain.value == pytest.approx(expected, abs=0.02)


def test_the_excess_is_free_of_quality_only_for_a_judge_as_skilled_as_people():
    alike, skilled = (
        length_effects(many(PlantedBias(length=0.0, skill=s), richer=RICHER))[0]["excess"] for s in (1.0, 2.0)
    )
    assert abs(alike.value) < 0.03 and skilled.value > 0.18


def test_intervals_that_ignore_prompts_fail_the_count():
    crowd = {"bias": PlantedBias(length=TASTE, opinion=0.0), "prompts": 40, "per_prompt": 8, "prompt_spread": 2.0}
    truth = length_effects(table_of(10**6, **crowd | {"prompts": 20_000}))[0]["judge"].value

    def alone(table):
        return length_effects(table.assign(prompt=table["item"]))[0]["judge"]

    assert coverage(alone, truth, lambda k: table_of(k, **crowd), 300) < 0.93 * 300


def test_error_gaps_are_confounded_where_long_is_better():
    assert error_gap(many(PlantedBias(length=0.0), richer=RICHER), 20).value > 0.1  # no taste, and yet a gap
    assert abs(error_gap(many(PlantedBias(length=0.0)), 20).value) < 0.01


def test_what_cannot_be_told_is_an_error():
    table = table_of(0)
    rule = (table["words_a"] > table["words_b"]).astype(float)
    with pytest.raises(Separated, match="infinite"):
        length_effects(table.assign(ab=rule, ba=rule))
    with pytest.raises(ValueError, match="no pair has both"):
        length_effects(table.assign(ab=float("nan"), ba=float("nan")))
    with pytest.raises(ValueError, match="always prefer the longer"):
        error_gap(table.assign(people=rule))


# ---------------------------------------------------------------- leaderboards

MODELS = {"good-1": 0.8, "fair-1": 0.0, "wordy-1": -0.4, "weak-1": -1.2, "base-1": 0.0}
WORDIER = {"wordy-1": 1.5, "fair-1": -0.5, "weak-1": 0.5}


def board_of(seed, bias, prompts=80):
    """A planted annotator's preferences, in one order, on the pairs of a baseline with four models."""
    table = planted_table(bias, Population(prompts, 16, MODELS, wordier=WORDIER), seed)
    table = table[(table["model_a"] == "base-1") | (table["model_b"] == "base-1")]
    turned = (table["model_a"] == "base-1").to_numpy()
    columns = {"model": np.where(turned, table["model_b"], table["model_a"]), "prompt": table["prompt"].to_numpy()}
    columns["credit"] = np.where(turned, 1 - table["ab"], table["ab"])
    columns["doublings"] = np.where(turned, -1, 1) * doublings_of(table).to_numpy()
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
        drawn, found = leaderboard(board_of(seed, taste), 50)
        for row in drawn.itertuples():
            held[row.model] = held.get(row.model, 0) + (row.controlled.low <= truth[row.model] <= row.controlled.high)
        for name, x in found.items():
            held[name] = held.get(name, 0) + (x.low <= changes[name].value <= x.high)
    assert min(held.values()) >= ENOUGH, held
