"""Estimators of consensus find what was planted: their 95 % intervals hold it in 930 of 1,000 simulations."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from judgekit.data.votes import Votes
from judgekit.people.consensus.agreement import judge_with_people, people_with_people, share_number
from judgekit.people.consensus.held_out import held_out_losses, held_out_table
from judgekit.people.consensus.judges import inflation, judged_against, with_voter
from judgekit.people.consensus.methods import Consensus, class_shares, majority
from judgekit.people.consensus.planted import Panel, against_truth, auroc, planted_votes
from judgekit.people.consensus.quality import annotator_quality, credits_of, group_quality

ENOUGH, SIMULATIONS, N_BOOT = 930, 1000, 1000
pytestmark = pytest.mark.slow  # a thousand simulations each
RATES = tuple(np.random.default_rng(7).beta(8, 3, size=20).round(3))
PANEL = Panel(RATES, prompts=120, per_prompt=4, votes=(1, 4), prompt_spread=1.2, judge=0.6)
FIRST = {"first": [f"annotator-{j}" for j in range(10)], "others": [f"annotator-{j}" for j in range(10, 20)]}


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


def held(estimate, truth, simulations=SIMULATIONS):
    found = (estimate(drawn(number)) for number in range(simulations))
    return sum(bool(number.low <= truth <= number.high) for number in found)


def said(planted):
    return planted.judge.values.argmax(1)


def most_frequent(votes):
    """A consensus that reads nothing: the class with most votes."""
    share = class_shares(votes)
    rows = np.tile(share, (len(votes.items), 1))
    return Consensus("most_frequent", votes.items, votes.classes, rows, rows.argmax(1))


METHODS = {"majority": majority, "most_frequent": most_frequent}


def scores_on_hidden(planted, votes=None, leak=False, n_boot=N_BOOT):
    losses, clusters = held_out_losses(votes or planted.votes, METHODS, draws=1, seed=0, leak=leak)
    return held_out_table(losses, clusters, METHODS, n_boot=n_boot)


@cache
def hidden_scores():
    return [scores_on_hidden(drawn(number)) for number in range(SIMULATIONS)]


@cache
def expected_on_hidden():
    """What a set of this size should find, from others: a tie rule that reads the whole set depends on its size."""
    sizes = range(SIMULATIONS, 2 * SIMULATIONS)
    losses = [held_out_losses(planted_votes(PANEL, k).votes, METHODS, draws=1)[0] for k in sizes]
    mean = sum(part.sum(0) for part in losses) / sum(map(len, losses))
    gain = (mean[1] - mean[0]) * [1, -1, -1]
    return dict(zip(("accuracy", "nll", "brier"), mean[0], strict=True)) | {
        "accuracy_gain": gain[0],
        "brier_gain": gain[2],
    }


def test_agreement_of_people_is_held():
    truth = people_with_people(large().votes, n_boot=2).value
    assert held(lambda p: people_with_people(p.votes, n_boot=N_BOOT), truth) >= ENOUGH
    assert held(lambda p: people_with_people(alone(p.votes), n_boot=N_BOOT), truth, 400) < 0.93 * 400


def test_agreement_of_a_judge_with_people_is_held():
    truth = judge_with_people(large().votes, said(large()), n_boot=2).value
    assert held(lambda p: judge_with_people(p.votes, said(p), n_boot=N_BOOT), truth) >= ENOUGH


@pytest.mark.parametrize(
    ("column", "row"), [("accuracy", 0), ("nll", 0), ("brier", 0), ("accuracy_gain", 1), ("brier_gain", 1)]
)
def test_scores_on_hidden_votes_are_held(column, row):
    found = [table.iloc[row][column] for table in hidden_scores()]
    assert sum(bool(number.low <= expected_on_hidden()[column] <= number.high) for number in found) >= ENOUGH


def test_scores_on_votes_that_were_not_hidden_are_not_held():
    truth = expected_on_hidden()["accuracy"]
    assert held(lambda p: scores_on_hidden(p, leak=True).iloc[0]["accuracy"], truth, 200) < 50
    assert held(lambda p: scores_on_hidden(p, alone(p.votes)).iloc[0]["accuracy"], truth, 400) < 0.93 * 400


def test_a_judges_score_is_held_with_the_judge_left_out_only():
    truth = judged_against(majority(large().votes), said(large()), large().votes.clusters, n_boot=2).value
    left_out, own = (
        lambda p: judged_against(majority(p.votes), said(p), p.votes.clusters, n_boot=N_BOOT),
        lambda p: judged_against(
            majority(with_voter(p.votes, "the judge", said(p))), said(p), p.votes.clusters, n_boot=N_BOOT
        ),
    )
    assert held(left_out, truth) >= ENOUGH
    assert held(own, truth, 200) < 100


def rise(planted, n_boot=N_BOOT):
    joined = with_voter(planted.votes, "the judge", said(planted))
    return inflation(majority(planted.votes), majority(joined), said(planted), planted.votes.clusters, n_boot=n_boot)


def test_what_a_judges_own_vote_adds_is_held():
    assert held(rise, rise(large(), 2).value) >= ENOUGH


@cache
def agreement_rates():
    """Expected agreement of each annotator with the majority of the others."""
    return np.nanmean(credits_of(large().votes), 0)


@cache
def skills(clustered=True):
    simulations = SIMULATIONS if clustered else 400
    return [annotator_quality(drawn(k).votes, clustered) for k in range(simulations)]


def one_of(found, number, shrunk):
    """The interval of one annotator, another one in every simulation."""
    j = number % len(found.names)
    low, high = (found.shrunk_low, found.shrunk_high) if shrunk else (found.low, found.high)
    return j, low[j], high[j]


@pytest.mark.parametrize("shrunk", [False, True])
def test_annotators_rates_are_held(shrunk):
    cells = [one_of(found, number, shrunk) for number, found in enumerate(skills())]
    assert sum(low <= agreement_rates()[j] <= high for j, low, high in cells) >= ENOUGH


def test_annotators_rates_with_prompts_ignored_or_the_own_vote_in_are_not_held():
    cells = [one_of(found, number, False) for number, found in enumerate(skills(False))]
    ignored = sum(low <= agreement_rates()[j] <= high for j, low, high in cells) / 400
    cells = [one_of(found, number, False) for number, found in enumerate(skills()[:400])]
    assert ignored < sum(low <= agreement_rates()[j] <= high for j, low, high in cells) / 400
    own = [majority(drawn(k).votes).skill[f"annotator-{k % 20}"] for k in range(200)]
    inside = [low <= rate <= high for rate, (_, low, high) in zip(own, cells[:200], strict=True)]
    assert sum(inside) < 100


def test_shrunken_rates_are_nearer_to_the_truth():
    errors = {
        part: np.mean([(getattr(found, part) - agreement_rates()) ** 2 for found in skills()[:300]])
        for part in ("rate", "shrunk")
    }
    assert errors["shrunk"] < 0.9 * errors["rate"]
    assert np.mean([(found.shrunk_high - found.shrunk_low) < (found.high - found.low) for found in skills()[:50]]) > 0.9


def test_groups_and_their_difference_are_held():
    credits, size = credits_of(large().votes), len(RATES) // 2
    truths = [np.nansum(part) / (~np.isnan(part)).sum() for part in (credits[:, :size], credits[:, size:])]
    found = [group_quality(drawn(k).votes, FIRST, N_BOOT) for k in range(SIMULATIONS)]
    for name, truth in {"first": truths[0], "difference": truths[0] - truths[1]}.items():
        assert sum(bool(f[name].low <= truth <= f[name].high) for f in found) >= ENOUGH


def accuracy_number(planted, clusters=None):
    right = majority(planted.votes).labels == planted.truth
    return share_number(right, np.ones(len(right)), clusters or planted.votes.clusters, N_BOOT)


def test_accuracy_of_a_consensus_is_held():
    truth = (majority(large().votes).labels == large().truth).mean()
    assert held(accuracy_number, truth) >= ENOUGH
    assert held(lambda p: accuracy_number(p, p.votes.items), truth, 400) < 0.93 * 400


def test_auroc_of_the_quality_is_held():
    consensus, part = majority(large().votes), slice(0, 12_000)
    truth = float(auroc(consensus.quality[part], (consensus.labels == large().truth)[part]))
    own = (against_truth(majority(p.votes), p.truth, p.votes.clusters, 300)["auroc"] for p in map(drawn, range(1000)))
    assert sum(bool(number.low <= truth <= number.high) for number in own) >= ENOUGH
    shares = (share_as_quality(drawn(k)) for k in range(200))
    assert sum(bool(number.low <= truth <= number.high) for number in shares) < 100


def share_as_quality(planted):
    """The share of votes for the label, as cleanlab's agreement has it: one vote is then as sure as four."""
    found, counts = majority(planted.votes), planted.votes.counts
    shares = counts / counts.sum(1, keepdims=True)
    plain = Consensus("shares", found.items, found.classes, shares, found.labels)
    return against_truth(plain, planted.truth, planted.votes.clusters, 100)["auroc"]


@pytest.mark.parametrize("spread", [50, 3])
def test_consistency_of_three_preferences_is_held_however_alike_those_of_one_question_are(spread):
    """As many questions and triples as MT-bench has, nearly all of which fit; a question's triples are alike."""
    truth, clusters = 0.986, np.repeat(np.arange(500), 4)

    def found(seed, clusters):
        rng = np.random.default_rng(seed)
        rate = rng.beta(truth * spread, (1 - truth) * spread, size=500)
        fits = (rng.random((500, 4)) < rate[:, None]).ravel().astype(float)
        return share_number(fits, np.ones(2000), clusters, N_BOOT, seed)

    def held_by(clusters, simulations):
        return sum(bool(n.low <= truth <= n.high) for n in (found(seed, clusters) for seed in range(simulations)))

    assert held_by(clusters, SIMULATIONS) >= ENOUGH
    if spread == 3:
        assert held_by(np.arange(2000), 400) < 0.93 * 400
