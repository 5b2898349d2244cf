"""Planted judges: the estimators of verbosity find what was planted, and those that cannot, do not."""

from functools import cache

import pytest

from judgekit.bias.planted import PlantedBias, Population, planted_table
from judgekit.bias.verbosity import (
    Separated,
    error_gap,
    length_baselines,
    length_effects,
    partial_correlation,
    prefers_longer,
)
from judgekit.stats import coverage

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
    found, _ = length_effects(table)
    found |= {f"prefers_{name}": x for name, x in prefers_longer(table, N_BOOT).items()}
    found |= {f"error_{name}": x for name, x in error_gap(table, N_BOOT).items()}
    return found | {"partial": partial_correlation(table, N_BOOT)}


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


@pytest.mark.parametrize(("bias", "richer"), [(PlantedBias(length=0.0), RICHER), (JUDGE, 0.0), (JUDGE, RICHER)])
def test_plain_effects_are_off_where_pairs_differ_in_quality(bias, richer):
    plain = length_effects(many(bias, richer=richer))[0]["given_people"]
    assert not plain.low <= bias.length <= plain.high
    # Quality that comes with length passes for a taste; without it, log odds shrink, to four fifths.
    assert plain.value == pytest.approx(
        {(0.0, RICHER): 0.31, (TASTE, 0.0): 0.40}.get((bias.length, richer), 0.72), abs=0.02
    )
    held = coverage(
        lambda t: length_effects(t)[0]["given_people"],
        bias.length,
        lambda k: table_of(k, bias, prompts=400, richer=RICHER),
        100,
    )
    assert held < 70


def test_the_excess_is_free_of_quality_only_for_a_judge_as_skilled_as_people():
    alike, skilled = (
        length_effects(many(PlantedBias(length=0.0, skill=s), richer=RICHER))[0]["excess"] for s in (1.0, 2.0)
    )
    assert abs(alike.value) < 0.03
    assert skilled.value > 0.18


def test_intervals_that_ignore_prompts_fail_the_count():
    crowd = {"bias": PlantedBias(length=TASTE, opinion=0.0), "prompts": 40, "per_prompt": 8, "prompt_spread": 2.0}
    truth = prefers_longer(table_of(10**6, **crowd | {"prompts": 20_000}), 2)["people"].value

    def alone(table):
        return error_gap(table.assign(cluster=table["item_id"]), N_BOOT)["longer"]

    truth = error_gap(table_of(10**6, **crowd | {"prompts": 20_000}), 2)["longer"].value
    assert coverage(alone, truth, lambda k: table_of(k, **crowd), 300) < 0.93 * 300


def test_error_gaps_are_confounded_where_long_is_better():
    gap = error_gap(many(PlantedBias(length=0.0), richer=RICHER), 20)["gap"]
    assert gap.value > 0.1  # no taste for length, and yet a gap
    assert abs(error_gap(many(PlantedBias(length=0.0)), 20)["gap"].value) < 0.01


def test_rules_that_read_nothing_and_their_intervals():
    large = length_baselines(many(richer=RICHER), n_boot=2)
    held = dict.fromkeys(large, 0)
    found = [length_baselines(table_of(k, richer=RICHER, prompts=200), n_boot=N_BOOT) for k in range(SIMULATIONS)]
    # What a rule learnt on so few prompts earns on average, which is below that of one learnt on very many.
    truth = {name: sum(one[name].value for one in found) / len(found) for name in large}
    assert truth["longer"] == pytest.approx(large["longer"].value, abs=0.005)
    for name in held:
        held[name] = sum(one[name].low <= truth[name] <= one[name].high for one in found)
    assert min(held.values()) >= ENOUGH, held


def test_what_cannot_be_told_is_an_error():
    table = table_of(0)
    rule = (table["words_a"] > table["words_b"]).astype(float)
    with pytest.raises(Separated, match="infinite"):
        length_effects(table.assign(ab=rule, ba=rule))
    with pytest.raises(ValueError, match="no pair has both"):
        prefers_longer(table.assign(ab=float("nan"), ba=float("nan")))
    with pytest.raises(ValueError, match="always prefer the longer"):
        error_gap(table.assign(people=rule))
