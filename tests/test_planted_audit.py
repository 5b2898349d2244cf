"""Intervals of the audit's estimates hold planted truths as often as they say, and wrong estimators do not."""

from functools import partial

import numpy as np
import pytest
from scipy.special import ndtr

from judgekit.audit import estimates
from judgekit.audit.artefacts import cross_fitted, gain_over_majority
from judgekit.intervals import coverage

PROMPTS, EACH, N_BOOT = 90, 5, 400
CLUSTERS = np.repeat([f"p{number:03d}" for number in range(PROMPTS)], EACH)
ALONE = [f"i{number:04d}" for number in range(PROMPTS * EACH)]  # every item a prompt of its own: the wrong clusters
HELD = 930


def mixed(rng, rate, spread=0.3):
    """Hits whose rate differs between prompts and is on average what is asked for."""
    rates = rate + spread * rng.choice([-1, 1], PROMPTS)
    return rng.random(PROMPTS * EACH) < np.repeat(rates, EACH)


def odd_items(number):
    return mixed(np.random.default_rng([1, number]), 0.4)


@pytest.mark.parametrize(("clusters", "holds"), [(CLUSTERS, True), (ALONE, False)])
def test_share(clusters, holds):
    estimate = partial(estimates.share, clusters=clusters, n_boot=N_BOOT)
    assert (coverage(estimate, 0.4, odd_items) >= HELD) is holds


def two_groups(number):
    """Whole prompts are in the group, as contaminated ones are, and are hit more often."""
    rng = np.random.default_rng([2, number])
    group = np.repeat(rng.random(PROMPTS) < 0.4, EACH)
    return np.where(group, mixed(rng, 0.6), mixed(rng, 0.4)), group


@pytest.mark.parametrize(("clusters", "holds"), [(CLUSTERS, True), (ALONE, False)])
def test_difference_of_shares(clusters, holds):
    def estimate(table):
        return estimates.share_difference(*table, clusters, N_BOOT)

    assert (coverage(estimate, 0.2, two_groups) >= HELD) is holds


def repaired(number):
    """A judge is right on 70 of 100 sound items and on 40 of 100 faulty ones, which are a third: by prompt."""
    rng = np.random.default_rng([3, number])
    faulty = np.repeat(rng.random(PROMPTS) < 1 / 3, EACH)
    right = np.where(faulty, mixed(rng, 0.4), mixed(rng, 0.7, 0.2))
    return right, right, ~faulty


@pytest.mark.parametrize(("clusters", "holds"), [(CLUSTERS, True), (ALONE, False)])
def test_change_by_a_repair(clusters, holds):
    def estimate(table):
        return estimates.change(*table, clusters, N_BOOT)

    assert (coverage(estimate, 0.1, repaired) >= HELD) is holds


def planted_suspicion(number):
    """Errors come by prompt; their suspicion is higher by one, and items of a prompt are suspected together."""
    rng = np.random.default_rng([4, number])
    planted = np.repeat(rng.random(PROMPTS) < 0.25, EACH)
    return planted + np.repeat(rng.normal(size=PROMPTS), EACH) + rng.normal(size=PROMPTS * EACH), planted


@pytest.mark.parametrize(("clusters", "holds"), [(CLUSTERS, True), (ALONE, False)])
def test_detection_area(clusters, holds):
    def estimate(table):
        return estimates.detection_area(*table, clusters, 300)

    assert (coverage(estimate, ndtr(0.5), planted_suspicion) >= HELD) is holds


def equal_within(number):
    """Credits of a prompt share a third of their variance, so that the width grows by the root of 1 + 4/3."""
    rng = np.random.default_rng([5, number])
    return np.repeat(rng.normal(size=PROMPTS), EACH) + np.sqrt(2) * rng.normal(size=PROMPTS * EACH)


@pytest.mark.parametrize(("clusters", "holds"), [(CLUSTERS, True), (ALONE, False)])
def test_design_effect(clusters, holds):
    estimate = partial(estimates.design_effect, clusters=clusters)
    assert (coverage(estimate, np.sqrt(1 + (EACH - 1) / 3), equal_within) >= HELD) is holds


def told_by_a_cue(number):
    """One cue tells 7 of 10 labels, by prompt more or less; 6 of 10 are A; nine further cues say nothing."""
    rng = np.random.default_rng([6, number])
    truth = rng.random(PROMPTS * EACH) < 0.6
    cue = np.where(mixed(rng, 0.85, 0.1), truth, ~truth)
    noise = np.repeat(rng.normal(size=(PROMPTS, 9)), EACH, axis=0)
    return np.column_stack([cue * 20.0, noise * 1e-3]), (~truth).astype(int)


def cross_fitted_gain(clusters, table):
    cues, codes = table
    return gain_over_majority(cross_fitted(cues, codes, CLUSTERS, 3), codes, clusters, N_BOOT)


SIMULATED = 1000


@pytest.mark.parametrize(("clusters", "holds"), [(CLUSTERS, True)])
def test_gain_over_the_majority(clusters, holds):
    held = coverage(partial(cross_fitted_gain, clusters), 0.25, told_by_a_cue, SIMULATED)
    assert (held >= HELD) is holds


def nothing_to_tell(number):
    """Labels that no cue tells, 60 of 100 A, and as many cues as would fit them by heart."""
    rng = np.random.default_rng([7, number])
    codes = np.repeat((rng.random(PROMPTS) < 0.4).astype(int), EACH)
    return np.repeat(rng.normal(size=(PROMPTS, 30)), EACH, axis=0), codes


def test_a_fit_that_is_tested_on_what_it_saw_finds_what_is_not_there():
    from sklearn.linear_model import LogisticRegression

    found = []
    for number in range(20):
        cues, codes = nothing_to_tell(number)
        seen = LogisticRegression(max_iter=300).fit(cues, codes).predict(cues)
        found.append((gain_over_majority(seen, codes, CLUSTERS, N_BOOT), cross_fitted_gain(CLUSTERS, (cues, codes))))
    assert all(seen.low > 0 for seen, _ in found) and not any(held.low > 0 for _, held in found)
