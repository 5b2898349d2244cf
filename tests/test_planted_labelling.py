"""The interval of an annotator's agreement with the others holds what was planted, prompts included."""

import numpy as np
import pytest

from judgekit.data.votes import Votes
from judgekit.people.labelling import agreement_with_others, share_right
from judgekit.stats import Number, coverage, proportion_interval

OTHERS = 3


def shared_votes(number, agreement, prompts, items_per_prompt, spread):
    """Votes of one annotator and three others: prompts differ in how often the annotator is of the others' mind."""
    rng = np.random.default_rng([number, prompts])
    chance = (
        np.full(prompts, agreement) if not spread else rng.beta(agreement * spread, (1 - agreement) * spread, prompts)
    )
    clusters = np.repeat(np.arange(prompts), items_per_prompt)
    own = rng.integers(3, size=len(clusters))
    # On an item the others say the same, so an item is one draw, not three: the hardest case.
    agreeing = rng.random(len(clusters)) < chance[clusters]
    others = np.where(agreeing, own, (own + 1) % 3)
    met = rng.random((len(clusters), OTHERS)) < 0.6
    met[:, 0] = True
    codes = np.column_stack([own, np.where(met, others[:, None], -1)])
    return Votes([f"i{n}" for n in range(len(own))], ("ann", "b", "c", "d"), codes, clusters=[str(c) for c in clusters])


def one_draw_per_meeting(votes):
    """Wrong: every meeting of two votes as a draw of its own."""
    found = agreement_with_others(votes, "ann")
    return Number(found.value, *proportion_interval(found.value, found.n), n=found.n)


def right_in_items(votes):
    """Where the annotator is of the first other's mind: one draw per item."""
    return votes.codes[:, 0] == votes.codes[:, 1]


def share_of_votes(votes):
    return share_right(right_in_items(votes), votes.clusters)


def one_draw_per_item(votes):
    """Wrong: items that share a prompt as independent."""
    right = right_in_items(votes)
    return Number(right.mean(), *proportion_interval(right.mean(), len(right)), n=len(right))


CASES = [(0.5, 20, 1, 0), (0.8, 20, 1, 0), (0.93, 25, 1, 0), (0.7, 30, 4, 4), (0.85, 40, 3, 6)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_interval_holds_what_was_planted(case):
    assert coverage(lambda t: agreement_with_others(t, "ann"), case[0], lambda n: shared_votes(n, *case)) >= 930


@pytest.mark.parametrize("case", [*CASES, (0.97, 12, 2, 0)], ids=str)
def test_the_share_of_right_votes_is_held_too(case):
    assert coverage(share_of_votes, case[0], lambda n: shared_votes(n, *case)) >= 930


@pytest.mark.parametrize("case", [CASES[3], (0.6, 20, 10, 3)], ids=str)
def test_a_share_that_ignores_prompts_does_not(case):
    assert coverage(one_draw_per_item, case[0], lambda n: shared_votes(n, *case)) < 900


@pytest.mark.parametrize("case", CASES[3:], ids=str)
def test_an_interval_that_ignores_prompts_does_not(case):
    assert coverage(one_draw_per_meeting, case[0], lambda n: shared_votes(n, *case)) < 900
