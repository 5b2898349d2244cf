"""Estimators of consensus find what was planted: their 95 % intervals hold it in 930 of 1,000 simulations."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from intervals import coverage, held
from notebook_functions import functions_of

from judgekit.data.votes import Votes
from judgekit.people.agreement import annotator_quality, credits_of
from judgekit.people.consensus import Consensus, class_shares, majority
from judgekit.people.planted import Panel, planted_votes

STUDY = functions_of("60_human_consensus")
BOTH = ("A", "B")
ENOUGH, SIMULATIONS, N_BOOT = 930, 1000, 1000
pytestmark = pytest.mark.slow  # a thousand simulations each
RATES = tuple(np.random.default_rng(7).beta(8, 3, size=20).round(3))
PANEL = Panel(RATES, prompts=120, per_prompt=4, votes=(1, 4), prompt_spread=1.2, judge=0.6)


@cache
def drawn(number):
    return planted_votes(PANEL, number)


@cache
def large():
    """Sixty-four thousand items of the same annotators: what the estimators should find."""
    return planted_votes(replace(PANEL, prompts=16_000), 10**6)


def alone(votes):
    """The votes with every item its own prompt: the wrong belief that items are independent."""
    return Votes(votes.items, votes.annotators, votes.codes, votes.classes)


def said(planted):
    return planted.judge.values.argmax(1)


def most_frequent(votes):
    """A consensus that reads nothing: the class with most votes."""
    share = class_shares(votes)
    rows = np.tile(share, (len(votes.items), 1))
    return Consensus(votes.items, votes.classes, rows, rows.argmax(1))


METHODS = {"majority": majority, "most_frequent": most_frequent}


@cache
def hidden_scores():
    losses = (STUDY.held_out_losses(drawn(number).votes, METHODS, draws=1) for number in range(SIMULATIONS))
    return [STUDY.on_hidden(*one, METHODS, n_boot=N_BOOT) for one in losses]


@cache
def expected_on_hidden():
    """What a set of this size should find, from others: a tie rule that reads the whole set depends on its size."""
    sizes = range(SIMULATIONS, 2 * SIMULATIONS)
    losses = [STUDY.held_out_losses(planted_votes(PANEL, k).votes, METHODS, draws=1)[0] for k in sizes]
    mean = sum(part.sum(0) for part in losses) / sum(map(len, losses))
    gain = (mean[1] - mean[0]) * [1, -1, -1]
    scores = dict(zip(("accuracy", "nll", "brier"), mean[0], strict=True))
    return scores | {"accuracy_gain": gain[0], "brier_gain": gain[2]}


def test_agreement_of_people_is_held():
    truth = STUDY.people_with_people(large().votes, BOTH, 2).value
    assert coverage(lambda p: STUDY.people_with_people(p.votes, BOTH, N_BOOT), truth, drawn) >= ENOUGH
    assert coverage(lambda p: STUDY.people_with_people(alone(p.votes), BOTH, N_BOOT), truth, drawn, 400) < 0.93 * 400


def test_agreement_of_a_judge_with_people_is_held():
    truth = STUDY.judge_with_people(large().votes, said(large()), BOTH, 2).value
    assert coverage(lambda p: STUDY.judge_with_people(p.votes, said(p), BOTH, N_BOOT), truth, drawn) >= ENOUGH


@pytest.mark.parametrize(
    ("column", "row"), [("accuracy", 0), ("nll", 0), ("brier", 0), ("accuracy_gain", 1), ("brier_gain", 1)]
)
def test_scores_on_hidden_votes_are_held(column, row):
    assert held([table.iloc[row][column] for table in hidden_scores()], expected_on_hidden()[column]) >= ENOUGH


def own_vote(planted, n_boot=N_BOOT):
    return STUDY.own_vote(planted.votes, said(planted), majority, majority(planted.votes), n_boot)


def test_a_judges_score_is_held_with_the_judge_left_out_only_and_so_is_what_its_vote_adds():
    truth, found = own_vote(large(), 2), [own_vote(drawn(number)) for number in range(SIMULATIONS)]
    for name in ("left_out", "inflation"):
        assert held([one[name] for one in found], truth[name].value) >= ENOUGH
    assert held([one["own_vote"] for one in found[:200]], truth["left_out"].value) < 100


@cache
def agreement_rates():
    """Expected agreement of each annotator with the majority of the others."""
    return np.nanmean(credits_of(large().votes), 0)


@cache
def skills():
    return [annotator_quality(drawn(k).votes) for k in range(SIMULATIONS)]


def one_of(found, number, shrunk):
    """The interval of one annotator, another one in every simulation."""
    row, part = found.iloc[number % len(found)], "shrunk_" if shrunk else ""
    return int(row["annotator"].removeprefix("annotator-")), row[part + "low"], row[part + "high"]


@pytest.mark.parametrize("shrunk", [False, True])
def test_annotators_rates_are_held(shrunk):
    cells = [one_of(found, number, shrunk) for number, found in enumerate(skills())]
    assert sum(low <= agreement_rates()[j] <= high for j, low, high in cells) >= ENOUGH
