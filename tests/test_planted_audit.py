"""Intervals of the audit's estimates hold planted truths as often as they say, and wrong estimators do not."""

from functools import cache, partial

import numpy as np
import pytest
from intervals import coverage
from notebook_functions import functions_of
from scipy.special import ndtr
from sklearn import config_context

from judgekit.studies.label_errors import detection_area

pytestmark = pytest.mark.slow

PROMPTS, EACH, N_BOOT = 90, 5, 400
CLUSTERS = np.repeat([f"p{number:03d}" for number in range(PROMPTS)], EACH)
ALONE = [f"i{number:04d}" for number in range(PROMPTS * EACH)]  # every item a prompt of its own: the wrong clusters
HELD = 930
NOTEBOOK = functions_of("11_audit_benchmarks", n_boot=N_BOOT)


def mixed(rng, rate, spread=0.3):
    """Hits whose rate differs between prompts and is on average what is asked for."""
    rates = rate + spread * rng.choice([-1, 1], PROMPTS)
    return rng.random(PROMPTS * EACH) < np.repeat(rates, EACH)


def two_groups(number):
    """Whole prompts are in the group, as contaminated ones are, and are hit more often."""
    rng = np.random.default_rng([2, number])
    group = np.repeat(rng.random(PROMPTS) < 0.4, EACH)
    return np.where(group, mixed(rng, 0.6), mixed(rng, 0.4)), group


def planted_suspicion(number):
    """Errors come by prompt; their suspicion is higher by one, and items of a prompt are suspected together."""
    rng = np.random.default_rng([4, number])
    planted = np.repeat(rng.random(PROMPTS) < 0.4, EACH)
    return planted + np.repeat(rng.normal(size=PROMPTS), EACH) + rng.normal(size=PROMPTS * EACH), planted


def equal_within(number):
    """Credits of a prompt share a third of their variance, so that the width grows by the root of 1 + 4/3."""
    rng = np.random.default_rng([5, number])
    return (np.repeat(rng.normal(size=PROMPTS), EACH) + np.sqrt(2) * rng.normal(size=PROMPTS * EACH),)


@cache
def told_by_a_cue(number):
    """A cue tells 17 of 20 labels, more or less by prompt, to a fit on the other half; 6 of 10 are B."""
    rng = np.random.default_rng([6, number])
    codes = (rng.random(PROMPTS * EACH) < 0.6).astype(int)
    cue = np.where(mixed(rng, 0.85, 0.15), codes, 1 - codes)[:, None].astype(float)
    with config_context(assume_finite=True, skip_parameter_validation=True):
        return NOTEBOOK.cross_fitted(cue, codes, CLUSTERS, 2), codes


def difference(hits, group, clusters):
    return NOTEBOOK.difference(hits, group, hits, ~group, clusters)


@pytest.mark.parametrize(("clusters", "holds"), [(CLUSTERS, True), (ALONE, False)])
@pytest.mark.parametrize(
    ("estimate", "truth", "simulated"),
    [
        (difference, 0.2, two_groups),
        (partial(detection_area, n_boot=N_BOOT), ndtr(1 / 2), planted_suspicion),
        (NOTEBOOK.design_effect, np.sqrt(1 + (EACH - 1) / 3), equal_within),
        (NOTEBOOK.gain_over_majority, 0.25, told_by_a_cue),
    ],
)
def test_intervals_hold_the_truth_where_prompts_are_resampled(estimate, truth, simulated, clusters, holds):
    covered = coverage(lambda table: estimate(*table, clusters), truth, simulated)
    assert (covered >= HELD) is holds
