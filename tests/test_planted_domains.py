"""Rates by category on judges of known skill: intervals hold the truth, and the wrong ones do not."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from judgekit.bias.kinds import COLUMNS, cells_of, design_effects, heterogeneity, shrunken_rates
from judgekit.bias.planted import planted_kinds
from judgekit.stats import proportion_interval

SIMULATIONS, ENOUGH = 1000, 930
pytestmark = pytest.mark.slow  # a thousand simulations each


def held(low, truth, high):
    """Share of the intervals that hold the truth."""
    return float(np.mean((np.asarray(low) <= truth) & (truth <= np.asarray(high))))


def simulated(spread):
    """Sums over the simulations of what the intervals of each estimator hold."""
    sums = dict.fromkeys(("value", "raw", "mean", "spread", "rank", "unclustered", "plugged_in"), 0.0)
    for seed in range(SIMULATIONS):
        table, truth = planted_kinds(seed, categories=6, spread=spread)
        found = shrunken_rates(table, n_draws=100, seed=seed)
        rows = found.table
        true = np.array([truth[name] for name in rows["category"]])
        rank = 1 + (-true).argsort().argsort()
        sums["value"] += held(rows["low"], true, rows["high"])
        sums["raw"] += held(rows["raw_low"], true, rows["raw_high"])
        sums["rank"] += held(rows["rank_low"], rank, rows["rank_high"])
        sums["mean"] += held(found.mean.low, 0.65, found.mean.high)
        sums["spread"] += held(found.spread.low, spread, found.spread.high)
        for name, interval in (("unclustered", unclustered), ("plugged_in", plugged_in)):
            sums[name] += held(*interval(rows)[:1], true, interval(rows)[1])
    return sums


def unclustered(rows):
    """The wrong interval that takes every item for an independent one."""
    return proportion_interval(rows["raw"].to_numpy(), rows["n"].to_numpy())


def plugged_in(rows):
    """The wrong interval that plugs in the variance of each cell and DerSimonian and Laird's spread."""
    raw, n = rows["raw"].to_numpy(), rows["n"].to_numpy()
    variance = np.maximum(raw * (1 - raw), 1e-3) / n
    weight = 1 / variance
    centre = (weight * raw).sum() / weight.sum()
    excess = (weight * (raw - centre) ** 2).sum() - (len(raw) - 1)
    between = max(0.0, excess / (weight.sum() - (weight**2).sum() / weight.sum()))
    kept = between / (between + variance)
    middle, half = kept * raw + (1 - kept) * centre, 1.96 * np.sqrt(kept * variance)
    return middle - half, middle + half


@pytest.mark.parametrize("spread", [0.0, 0.12])
def test_intervals_hold_what_was_planted(spread):
    counts = simulated(spread)
    kinds = ["value", "raw", "mean", "spread"] + (["rank"] if spread else [])  # equal rates have no order
    assert {kind: round(counts[kind]) for kind in kinds if counts[kind] < ENOUGH} == {}
    assert counts["unclustered"] < ENOUGH
    assert counts["plugged_in"] < ENOUGH


def test_one_that_is_unlike_the_others_is_drawn_to_them():
    """Exchangeability is an assumption: an outlier of few items is missed, by its shrunken interval alone."""
    misses, bias = [], []
    for seed in range(200):
        table, truth = planted_kinds(seed, mean=0.8, spread=0.03, outlier=0.25, cells=(8, 8))
        row = shrunken_rates(table, n_draws=10).table.iloc[0]
        misses.append([not row["low"] <= 0.25 <= row["high"], not row["raw_low"] <= 0.25 <= row["raw_high"]])
        bias.append(row["value"] - truth[row["category"]])
    shrunken, raw = np.mean(misses, axis=0)
    assert raw <= 0.08 < 0.15 < shrunken
    assert 0.1 < np.mean(bias) < 0.4


def test_the_test_of_differences_is_one():
    same, apart = (partial(planted_kinds, categories=6, spread=spread) for spread in (0.0, 0.25))
    rejected = sum(heterogeneity(same(seed)[0], 99, seed)[0] <= 0.05 for seed in range(SIMULATIONS))
    assert rejected <= SIMULATIONS - ENOUGH
    assert rejected >= 20, "a test that never rejects"
    found = [heterogeneity(apart(seed)[0], 99, seed) for seed in range(100)]
    assert np.mean([p <= 0.05 for p, _ in found]) > 0.6
    assert np.mean([share for _, share in found]) > 2
    ignoring = 0
    for seed in range(300):
        table = same(seed)[0]
        alone = table.assign(prompt=np.arange(len(table)).astype(str))
        ignoring += heterogeneity(alone, 99, seed)[0] <= 0.05
    assert ignoring > 300 * 0.07


# ---------------------------------------------------------------- by hand


def rows(*items):
    return pd.DataFrame(items, columns=list(COLUMNS))


def test_the_design_effect_of_known_designs():
    alone = rows(*[(c, f"{c}{k}", float(k % 3 > 0), 1) for c in "abc" for k in range(30)])
    assert design_effects(cells_of(alone)) == pytest.approx(1.0)
    # Four copies of every item under one prompt are worth one item.
    copies = pd.concat([alone] * 4, ignore_index=True)
    assert design_effects(cells_of(copies)) == pytest.approx(4.0, rel=0.05)
    # A mean of two independent halves has half the variance.
    halves = rows(*[(c, f"{c}{k}", (k % 2 + k // 2 % 2) / 2, 1) for c in "abc" for k in range(40)])
    assert design_effects(cells_of(halves)) == pytest.approx(0.5, rel=0.05)


def test_weights_change_nothing_but_the_unit():
    table = planted_kinds(3)[0]
    doubled = table.assign(hits=2 * table["hits"], size=2 * table["size"])
    left, right = (shrunken_rates(one, 50).table for one in (table, doubled))
    assert np.allclose(left[["value", "low", "high"]], right[["value", "low", "high"]])


def test_what_cannot_be_estimated_is_refused():
    good = rows(*[(c, f"{c}{k}", 1.0, 1) for c in "abc" for k in range(3)])
    assert shrunken_rates(good, 10).table["value"].between(0.5, 1).all()
    with pytest.raises(ValueError, match="lacks prompt"):
        shrunken_rates(good.drop(columns="prompt"))
    with pytest.raises(ValueError, match="between 0 and a positive size"):
        shrunken_rates(good.assign(hits=2.0))
    with pytest.raises(ValueError, match="2 categories are no population"):
        shrunken_rates(good[good["category"] != "c"])
    with pytest.raises(ValueError, match="100% of the prompts stand in several categories"):
        shrunken_rates(good.assign(prompt="one"))
