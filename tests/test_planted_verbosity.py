"""Planted judges: the estimators of verbosity find what was planted, and those that cannot, do not."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from judgekit.bias.length import (
    NoOptimum,
    Separated,
    doublings_of,
    error_gap,
    fit_latent_length,
    length_effects,
    partial_correlation,
)
from judgekit.bias.planted import PlantedBias, Population, planted_table
from judgekit.stats import coverage
from judgekit.studies.leaderboard import leaderboard
from judgekit.studies.verbosity_bias import FORMS, form_effects, length_baselines

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
    truth = error_gap(table_of(10**6, **crowd | {"prompts": 20_000}), 2)["longer"].value

    def alone(table):
        return error_gap(table.assign(prompt=table["item"]), N_BOOT)["longer"]

    assert coverage(alone, truth, lambda k: table_of(k, **crowd), 300) < 0.93 * 300


def test_error_gaps_are_confounded_where_long_is_better():
    assert error_gap(many(PlantedBias(length=0.0), richer=RICHER), 20)["gap"].value > 0.1  # no taste, and yet a gap
    assert abs(error_gap(many(PlantedBias(length=0.0)), 20)["gap"].value) < 0.01


def test_rules_that_read_nothing_and_their_intervals():
    large = length_baselines(many(richer=RICHER), n_boot=2)
    found = [length_baselines(table_of(k, richer=RICHER, prompts=200), n_boot=N_BOOT) for k in range(SIMULATIONS)]
    # What a rule learnt on so few prompts earns on average, which is below that of one learnt on very many.
    truth = {name: sum(one[name].value for one in found) / len(found) for name in large}
    assert truth["longer"] == pytest.approx(large["longer"].value, abs=0.005)
    held = {name: sum(one[name].low <= truth[name] <= one[name].high for one in found) for name in large}
    assert min(held.values()) >= ENOUGH, held


def test_what_cannot_be_told_is_an_error():
    table = table_of(0)
    rule = (table["words_a"] > table["words_b"]).astype(float)
    with pytest.raises(Separated, match="infinite"):
        length_effects(table.assign(ab=rule, ba=rule))
    with pytest.raises(ValueError, match="no pair has both"):
        length_effects(table.assign(ab=float("nan"), ba=float("nan")))
    with pytest.raises(ValueError, match="always prefer the longer"):
        error_gap(table.assign(people=rule))
    with pytest.raises(ValueError, match="more than one vote"):
        fit_latent_length(table.assign(n_votes=1, people=table["people"].round()))
    with pytest.raises(NoOptimum):
        fit_latent_length(table.assign(people=rule, ab=rule, ba=rule))


# ---------------------------------------------------------------- the latent model


def test_the_latent_model_finds_what_was_planted_where_long_is_better():
    held = coverage(lambda t: fit_latent_length(t)["length"], TASTE, lambda k: table_of(k, richer=RICHER), SIMULATIONS)
    assert held >= ENOUGH


def test_the_latent_model_sees_no_taste_in_a_skilled_judge_without():
    found = fit_latent_length(table_of(0, PlantedBias(length=0.0, skill=2.0), prompts=2000, richer=RICHER))
    assert found["length"].low <= 0 <= found["length"].high  # where the excess of the plain estimates is above 0.18
    assert found["weight"].value == pytest.approx(2.0, abs=0.3)
    assert found["people"].value == pytest.approx(0.64, abs=0.08)  # cov(quality, d) / var(d)


def test_ties_and_opinions_shrink_the_latent_model_as_its_docstring_says():
    tied = PlantedBias(length=TASTE, log_nu=0.0)
    found = fit_latent_length(table_of(1, tied, prompts=3000, log_nu=0.0, richer=RICHER))["length"]
    assert found.high < TASTE and 0.2 < found.value < 0.36
    table = table_of(0, PlantedBias(length=1.0, opinion=2.0), prompts=3000, richer=RICHER)
    both, one = (fit_latent_length(part)["length"] for part in (table, table.assign(ba=float("nan"))))
    assert both.low <= 1.0 <= both.high and one.high < 0.9


def test_one_order_and_symmetric_judges_are_read_without_opinions():
    table = table_of(0, PlantedBias(length=TASTE, opinion=0.0), prompts=1000, richer=RICHER)
    one = fit_latent_length(table.assign(ba=float("nan")))["length"]
    assert one.low <= TASTE <= one.high and fit_latent_length(table.assign(ba=table["ab"]))["length"] == one


# ---------------------------------------------------------------- form


def planted_forms(seed, judge=0.8, people=0.3):
    """Pairs whose judge and people have a taste for lists; headings go with lists and mean nothing to anyone."""
    rng, n = np.random.default_rng(seed), 300
    lists = rng.normal(size=n)
    forms = pd.DataFrame(0.0, index=np.arange(n).astype(str), columns=list(FORMS))
    forms["lists"], forms["headings"] = lists, 0.6 * lists + rng.normal(size=n)
    words = np.round(2.0 ** (6 + rng.normal(scale=0.7, size=(2, n)) + [[0.3], [0.0]] * lists)).astype(int)
    liked = [1 / (1 + np.exp(-taste * lists)) for taste in (judge, people)]
    ab, ba = (rng.random((2, n)) < liked[0]).astype(float)
    columns = {"item": forms.index, "prompt": np.repeat(np.arange(100), 3).astype(str), "ab": ab, "ba": ba}
    columns |= {"words_a": words[0], "words_b": words[1], "people": (rng.random((3, n)) < liked[1]).mean(0)}
    return pd.DataFrame(columns), forms


def test_effects_of_forms_hold_what_was_planted():
    hits = dict.fromkeys(["judge", "people", "difference", "headings"], 0)
    for seed in range(SIMULATIONS):
        found = form_effects(*planted_forms(seed)).set_index("form")
        for name, planted in {"judge": 0.8, "people": 0.3, "difference": 0.5}.items():
            hits[name] += found.at["lists", name].low <= planted <= found.at["lists", name].high
        hits["headings"] += found.at["headings", "judge"].low <= 0 <= found.at["headings", "judge"].high
    assert min(hits.values()) >= ENOUGH, hits
    table, forms = planted_forms(0)  # without lists in the model, headings take their place: the count can fail
    assert form_effects(table, forms.assign(lists=0.0)).set_index("form").at["headings", "judge"].low > 0.05


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
        assert row.shared.value == pytest.approx(truth[row.model], abs=0.01)
        assert row.controlled.value == pytest.approx(truth[row.model], abs=0.02)
    assert list(board["model"])[1:3] == ["wordy-1", "fair-1"] and truth["fair-1"] > truth["wordy-1"]
    held = {}
    for seed in range(SIMULATIONS):
        drawn, found = leaderboard(board_of(seed, taste), 50)
        for row in drawn.itertuples():
            for kind in ("controlled", "shared"):
                one = getattr(row, kind)
                held[row.model, kind] = held.get((row.model, kind), 0) + (one.low <= truth[row.model] <= one.high)
        for name, x in found.items():
            held[name] = held.get(name, 0) + (x.low <= changes[name].value <= x.high)
    assert min(held.values()) >= ENOUGH, held
