"""Rates by category on judges of known skill: intervals hold the truth, and the wrong ones do not."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from judgekit.bias.kinds import COLUMNS, cells_of, design_effect, heterogeneity, mean_of_kinds, shrunken_rates
from judgekit.bias.planted import PlantedBias, Population, planted_table
from judgekit.stats import proportion_interval

SIMULATIONS, ENOUGH = 1000, 0.93
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


def skills_of(seed, spread, n=6):
    middle = len(SKILLS) // 2
    return SKILLS[np.random.default_rng(seed).integers(middle - spread, middle + spread + 1, n)]


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0, 2, 4])
def test_intervals_hold_what_was_planted(spread):
    held = dict.fromkeys(("value", "raw", "mean", "unclustered"), 0.0)
    for seed in range(SIMULATIONS):
        table, truth = kinds(seed, skills_of(seed, spread))
        rows, mean = shrunken_rates(table), mean_of_kinds(table, 300, seed)
        ends = {"value": (rows["low"], rows["high"]), "raw": (rows["raw_low"], rows["raw_high"])}
        ends["unclustered"] = proportion_interval(rows["raw"], 2 * rows["n"])  # of every item twice
        for name, (low, high) in ends.items():
            held[name] += ((low <= truth) & (truth <= high)).mean() / SIMULATIONS
        held["mean"] += (mean.low <= truth.mean() <= mean.high) / SIMULATIONS
    assert held.pop("unclustered") < ENOUGH <= min(held.values()), held


@pytest.mark.slow
def test_one_that_is_unlike_the_others_is_drawn_to_them():
    """Exchangeability is an assumption: an outlier of few items is missed, by its shrunken interval alone."""
    misses, skills = np.zeros(2), [0.0, *[2.6] * 9]
    for seed in range(100):
        table, truth = kinds(seed, skills, prompts=(4, 4))
        row = shrunken_rates(table).iloc[0]
        misses += [not row["low"] <= truth[0] <= row["high"], not row["raw_low"] <= truth[0] <= row["raw_high"]]
    assert misses[1] <= 12 < misses[0], misses


@pytest.mark.slow
def test_the_test_of_differences_is_one():
    same = [kinds(seed, [1.4] * 6)[0] for seed in range(SIMULATIONS)]
    rejected = np.mean([heterogeneity(table, 99, seed) <= 0.05 for seed, table in enumerate(same)])
    assert 0.02 <= rejected <= 1 - ENOUGH
    apart = [heterogeneity(kinds(seed, SKILLS, (10, 20))[0], 99, seed) for seed in range(100)]
    assert np.mean([p <= 0.05 for p in apart]) > 0.6
    thrice = [pd.concat([table] * 3, ignore_index=True) for table in same[:300]]
    alone = [table.assign(prompt=np.arange(len(table)).astype(str)) for table in thrice]
    assert np.mean([heterogeneity(table, 99, seed) <= 0.05 for seed, table in enumerate(alone)]) > 0.07


# ---------------------------------------------------------------- by hand


def rows(*items):
    return pd.DataFrame(items, columns=COLUMNS)


@pytest.mark.parametrize("right", [1.0, 0.0])
def test_rates_of_nothing_but_hits_or_misses_are_left_alone(right):
    """Eight kinds at exactly 100 % gave 96.2, and the interval of a mean left out the mean of its own categories."""
    table = rows(*[(c, f"{c}{k}", right, 1) for c in "abcdefgh" for k in range(10)])
    found = shrunken_rates(table)
    assert found["value"].tolist() == pytest.approx([right] * 8) and mean_of_kinds(table, 100).value == right
    assert (found["high"] - found["low"] > 0.01).all()
    uneven = rows(*[(c, f"{c}{k}", float(k < 2), 1) for c, n in (("a", 4), ("b", 10), ("c", 20)) for k in range(n)])
    assert mean_of_kinds(uneven, 100).value == pytest.approx((1 / 2 + 1 / 5 + 1 / 10) / 3)


def test_the_design_effect_of_known_designs():
    alone = rows(*[(c, f"{c}{k}", float(k % 3 > 0), 1) for c in "abc" for k in range(30)])
    assert design_effect(cells_of(alone)) == pytest.approx(1.0)
    # Four copies of every item under one prompt are worth one item.
    assert design_effect(cells_of(pd.concat([alone] * 4, ignore_index=True))) == pytest.approx(4.0, rel=0.05)
    # A mean of two independent halves has half the variance.
    halves = rows(*[(c, f"{c}{k}", (k % 2 + k // 2 % 2) / 2, 1) for c in "abc" for k in range(40)])
    assert design_effect(cells_of(halves)) == pytest.approx(0.5, rel=0.05)


def test_what_cannot_be_estimated_is_refused():
    good = rows(*[(c, f"{c}{k}", 1.0, 1) for c in "abc" for k in range(3)])
    for table, words in (
        (good.drop(columns="prompt"), "lacks prompt"),
        (good.assign(hits=2.0), "between 0 and a positive size"),
        (good[good["category"] != "c"], "2 categories are no population"),
        (good.assign(prompt="one"), "100% of the prompts stand in several categories"),
    ):
        with pytest.raises(ValueError, match=words):
            shrunken_rates(table)
