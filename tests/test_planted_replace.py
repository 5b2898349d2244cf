"""Planted judges and annotators: the alt-test errs as rarely as it says, and its intervals hold what was planted.

So do those of active labelling; what ignores prompts does not.
"""

from functools import cache

import numpy as np
import pytest
from intervals import coverage
from notebook_functions import functions_of

from judgekit.data.votes import NO_VOTE, ClassProbabilities, Votes
from judgekit.people.alt_test import MIN_CLUSTERS, advantage_of, alt_test, hold_duels
from judgekit.stats import Number
from judgekit.studies.replace_annotators import gain_curves

ENOUGH, SIMULATIONS = 930, 1000
MOST_OF_THEM, REPLAYS = 274, 300  # of whole labellings, four minutes each test: 0.95 less three standard errors
NOTEBOOK = functions_of("62_replace_annotators")
pytestmark = pytest.mark.slow  # a thousand simulations each
CLASSES = ("A", "B", "tie")
SKILL, SPREAD = 1.0, 2.0  # log odds of a right label, and how far they differ between prompts for each person


def drawn(seed, judge=SKILL, prompts=40, per_prompt=8, people=4, asked=0.8):
    """Votes and a judge's labels: each labeller is good on some prompts and bad on others, independently."""
    rng = np.random.default_rng(seed)
    n = prompts * per_prompt
    truth = rng.integers(3, size=n)
    skill = np.repeat(rng.normal(0, SPREAD, (prompts, people + 1)), per_prompt, axis=0)
    skill += np.append(np.full(people, SKILL), judge)
    right = rng.random((n, people + 1)) < 1 / (1 + np.exp(-skill))
    codes = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, 3, (n, people + 1))) % 3)
    codes[:, :people][rng.random((n, people)) >= asked] = NO_VOTE
    items, clusters = [str(i) for i in range(n)], [i // per_prompt for i in range(n)]
    votes = Votes(items, [f"p{j}" for j in range(people)], codes[:, :people], CLASSES, clusters)
    return votes, {item: CLASSES[code] for item, code in zip(items, codes[:, people], strict=True)}


@cache
def many(judge):
    """So many prompts that an estimate is the truth."""
    return hold_duels(*drawn(10**6, judge, prompts=20_000))


@cache
def judge_at(epsilon):
    """The skill at which a judge is worse than the annotators by just what an annotator costs."""
    low, high = SKILL - 3, SKILL + 0.2
    for _ in range(12):
        middle = (low + high) / 2
        duels = many(middle)
        margin = ((duels.judge - duels.human).sum(0) / duels.shared.sum(0)).mean() + epsilon
        low, high = (low, middle) if margin > 0 else (middle, high)
    return middle


def rejections(judge, epsilon, blind=False):
    """Shares of single tests at 5 % and of simulations that pass, and in which the set's p-value is below 5 %."""
    single, passed, small = [], 0, 0
    for seed in range(SIMULATIONS):
        votes, said = drawn(seed, judge)
        duels = hold_duels(votes, said)
        if blind:  # prompts forgotten: the paper's own standard errors
            duels = duels._replace(clusters=tuple(range(len(duels.clusters))))
        outcome = alt_test(duels, epsilon)
        single.append((outcome.annotators["p_value"] <= 0.05).mean())
        passed += outcome.passes
        small += outcome.p_value <= 0.05
    return np.mean(single), passed / SIMULATIONS, small / SIMULATIONS


ERROR = 2 * np.sqrt(0.05 * 0.95 / SIMULATIONS)  # two standard errors of a share of simulations


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_a_judge_at_the_bar_is_accepted_no_more_often_than_said(epsilon):
    judge = judge_at(epsilon) if epsilon else SKILL
    single, passed, small = rejections(judge, epsilon)
    assert 0.03 <= single <= 0.05 + ERROR
    assert passed <= 0.05 + ERROR and small <= 0.05 + ERROR


def test_a_test_that_ignores_prompts_accepts_it_too_often():
    single, _, _ = rejections(SKILL, 0.0, blind=True)
    assert single > 0.05 + 2 * ERROR


def test_intervals_of_the_advantage_hold_it():
    truth = advantage_of(many(SKILL)).value
    assert coverage(lambda d: advantage_of(hold_duels(*d)), truth, drawn, SIMULATIONS) >= ENOUGH


def test_the_fewest_prompts_that_are_taken_are_enough():
    few = {"prompts": MIN_CLUSTERS, "per_prompt": 4, "asked": 0.9}
    truth = advantage_of(hold_duels(*drawn(10**6, **few | {"prompts": 10_000}))).value
    found = [hold_duels(*drawn(seed, **few)) for seed in range(SIMULATIONS)]
    assert coverage(advantage_of, truth, found.__getitem__, SIMULATIONS) >= ENOUGH
    single = [(alt_test(duels, 0.0).annotators["p_value"] <= 0.05).mean() for duels in found]
    assert np.mean(single) <= 0.05 + ERROR


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


@cache
def replayed(seed):
    """One replay of a data set: with the truth, and with votes put aside."""
    votes, stated, truth = voted(seed)
    asked = {"strategies": ("entropy", "random"), "rounds": 4, "share": 0.3, "seeds": [seed]}
    return gain_curves(votes, stated, truth=truth, **asked), gain_curves(votes, stated, **asked)


@cache
def expected(kind):
    """Means over other data sets: of the lead in area, and of the accuracy at the end."""
    curves = [replayed(10**6 + seed)[kind] for seed in range(REPLAYS)]
    leads = [lead_of(found).value for found in curves]
    return np.mean(leads), np.mean([found.right["entropy"][-1].mean() for found in curves])


def lead_of(curves):
    return NOTEBOOK.lead_table({"set": curves})["lead"][0]


def at_the_end(curves):
    return Number(*NOTEBOOK.clustered_mean(curves.right["entropy"][-1], curves.clusters, 0.0, 1.0))


@pytest.mark.parametrize("kind", [0, 1], ids=["truth", "votes put aside"])
def test_leads_and_accuracies_are_held(kind):
    lead, final = expected(kind)
    assert lead > 0.01
    for estimate, truth in ((lead_of, lead), (at_the_end, final)):
        assert coverage(estimate, truth, lambda seed: replayed(seed)[kind], REPLAYS) >= MOST_OF_THEM
