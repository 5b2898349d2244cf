"""Planted judges and votes: what is said of active labelling holds, and what ignores prompts or the choice does not."""

from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import pytest

from judgekit.data.votes import ClassProbabilities, Votes
from judgekit.people.clustered import clustered_mean
from judgekit.stats import coverage
from judgekit.studies.replace_annotators import (
    area_gain,
    asking_chances,
    estimated_accuracy,
    gain_curves,
    hold_out,
    votes_saved,
)

ENOUGH, SIMULATIONS = 930, 1000
pytestmark = pytest.mark.slow  # a thousand simulations each
CLASSES = ("A", "B", "tie")
LARGE = 10**6


def voted(seed, prompts=60, per_prompt=3, people=6):
    """Votes of equal people, a judge in doubt where people differ, and the truth; prompts are hard or easy."""
    rng = np.random.default_rng(seed)
    n = prompts * per_prompt
    ease = np.repeat(rng.normal(1.0, 1.5, prompts), per_prompt) + rng.normal(0, 0.3, n)
    truth = rng.integers(3, size=n)
    right = rng.random((n, people)) < 1 / (1 + np.exp(-ease))[:, None]
    codes = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, 3, (n, people))) % 3)
    logits = rng.normal(0, 1, (n, 3))
    logits[np.arange(n), truth] += ease
    values = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    items = [str(i) for i in range(n)]
    votes = Votes(items, [f"p{j}" for j in range(people)], codes, CLASSES, [i // per_prompt for i in range(n)])
    return votes, ClassProbabilities(items, values, CLASSES), truth


def alone(curves):
    """The curves with prompts forgotten."""
    names = tuple(str(i) for i in range(len(curves.clusters)))
    return type(curves)(curves.bought, curves.right, names)


@cache
def replayed(seed):
    """One replay of a data set: with the truth, and with votes put aside."""
    votes, stated, truth = voted(seed)
    asked = {"strategies": ("entropy", "random"), "rounds": 4, "share": 0.3, "seeds": [seed]}
    return gain_curves(votes, stated, truth=truth, **asked), gain_curves(votes, stated, **asked)


@cache
def expected(kind):
    """Means over other data sets: of the lead in area, and of the accuracy at the end."""
    curves = [replayed(LARGE + seed)[kind] for seed in range(SIMULATIONS)]
    leads = [area_gain(found, "entropy").value for found in curves]
    return np.mean(leads), np.mean([found.right["entropy"][-1].mean() for found in curves])


def at_the_end(curves):
    _, low, high = clustered_mean(curves.right["entropy"][-1], curves.clusters, 0.0, 1.0)
    return SimpleNamespace(low=low, high=high)


@pytest.mark.parametrize("kind", [0, 1], ids=["truth", "votes put aside"])
def test_leads_and_accuracies_are_held(kind):
    lead, final = expected(kind)
    table = lambda seed: replayed(seed)[kind]  # noqa: E731
    assert lead > 0.01
    assert coverage(partial(area_gain, strategy="entropy"), lead, table, SIMULATIONS) >= ENOUGH
    assert coverage(at_the_end, final, table, SIMULATIONS) >= ENOUGH


def test_accuracies_that_ignore_prompts_are_not():
    _, final = expected(0)
    assert coverage(lambda c: at_the_end(alone(c)), final, lambda seed: replayed(seed)[0], SIMULATIONS) < ENOUGH


def test_graded_by_a_vote_that_was_bought_the_consensus_looks_better_than_it_is():
    _, final = expected(1)

    def bought_too(seed):
        votes, stated, _ = voted(seed)
        graded = hold_out(votes, seed)[1]  # a vote that stays for sale
        return gain_curves(votes, stated, ["entropy"], truth=graded, rounds=4, share=0.3, seeds=[seed])

    assert coverage(at_the_end, final, bought_too, 300) < 0.93 * 300


def bought_mostly(seed):
    """A set that is large enough for the rival's own gain to be known well."""
    votes, stated, truth = voted(seed, prompts=160, per_prompt=4, people=4)
    strategies = ("entropy", "random")
    return gain_curves(votes, stated, strategies, truth=truth, rounds=4, share=0.6, seeds=[seed])


def test_votes_saved_are_held():
    leads, rises = [], []
    for seed in range(300):
        curves = bought_mostly(LARGE + seed)
        ours, random = (curves.right[name].mean(1) for name in ("entropy", "random"))
        leads.append(np.trapezoid(ours - random, curves.bought) / curves.bought[-1])
        rises.append(random[-1] - random[0])
    found = [votes_saved(bought_mostly(seed), "entropy") for seed in range(SIMULATIONS)]
    truth = np.mean(leads) / np.mean(rises)
    assert sum(number is not None and number.low <= truth <= number.high for number in found) >= ENOUGH


# ---------------------------------------------------------------- a judge's accuracy


def judged(seed, prompts=150, per_prompt=3):
    """A judge that is surer than it should be: right or not, confidence, prompts, one draw per item."""
    rng = np.random.default_rng(seed)
    n = prompts * per_prompt
    z = np.abs(np.repeat(rng.normal(0, 1.2, prompts), per_prompt) + rng.normal(1.2, 1, n))
    right = rng.random(n) < 1 / (1 + np.exp(-z))
    return right, 1 / (1 + np.exp(-1.5 * z)), np.repeat(np.arange(prompts), per_prompt), rng.random(n)


@cache
def true_accuracy():
    return judged(LARGE, 300_000)[0].mean()


def by_doubt(table, share=0.2):
    right, confidence, prompts, chance = table
    chances = asking_chances(confidence, share)
    return estimated_accuracy(np.where(chance < chances, right, np.nan), chance < chances, chances, confidence, prompts)


def at_random(table, known=False, share=0.2):
    right, confidence, prompts, chance = table
    even = np.full(len(right), share)
    return estimated_accuracy(right, chance < even, even, confidence if known else None, prompts)


def naive(table, share=0.2):
    """The share of right verdicts among items that were asked by doubt, as it stands."""
    right, confidence, prompts, chance = table
    asked = chance < asking_chances(confidence, share)
    value, low, high = clustered_mean(right[asked], prompts[asked], 0.0, 1.0)
    return SimpleNamespace(value=value, low=low, high=high)


@pytest.mark.parametrize("estimate", [by_doubt, at_random, partial(at_random, known=True)])
def test_accuracies_are_held_however_items_were_chosen(estimate):
    assert coverage(estimate, true_accuracy(), judged, SIMULATIONS) >= ENOUGH


def test_the_share_among_chosen_items_is_not():
    assert coverage(naive, true_accuracy(), judged, SIMULATIONS) < ENOUGH - 50
