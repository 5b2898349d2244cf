"""Planted judges and votes: what is said of active labelling holds, and what ignores prompts or the choice does not."""

from functools import cache

import numpy as np
import pytest
from intervals import coverage
from notebook_functions import functions_of

from judgekit.data.votes import ClassProbabilities, Votes
from judgekit.stats import Number
from judgekit.studies.replace_annotators import gain_curves

ENOUGH, SIMULATIONS = 274, 300  # of 0.95, three standard errors below
pytestmark = pytest.mark.slow  # replays of whole labellings: four minutes each
CLASSES = ("A", "B", "tie")
LARGE = 10**6
NOTEBOOK = functions_of("62_replace_annotators")


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
    curves = [replayed(LARGE + seed)[kind] for seed in range(SIMULATIONS)]
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
        assert coverage(estimate, truth, lambda seed: replayed(seed)[kind], SIMULATIONS) >= ENOUGH


def test_accuracies_that_ignore_prompts_are_not():
    _, final = expected(0)

    def alone(seed):
        curves = replayed(seed)[0]
        return curves._replace(clusters=range(len(curves.clusters)))

    assert coverage(at_the_end, final, alone, SIMULATIONS) < ENOUGH
