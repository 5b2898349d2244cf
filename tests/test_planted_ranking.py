"""Win rates and strengths of planted models: intervals hold the truth in 930 of 1,000 simulations, wrong ones do not.

Every question has a quality of its own for every model, so that its comparisons depend on each other. The judge sees
that quality, with noise, and favours the first model whatever people say.
"""

from functools import cache

import numpy as np
import pytest
from notebook_functions import functions_of

from judgekit.people import ppi, ranking
from judgekit.people.ranking import model_pairs
from judgekit.stats import kendall, outcome_probabilities

ENOUGH, SIMULATIONS = 930, 1000
NOTEBOOK = functions_of("63_rank_models")
pytestmark = pytest.mark.slow  # a thousand simulations each
SKILLS = np.array([1.0, 0.5, 0.0, -0.5, -1.0])
FAVOUR = np.array([0.9, 0.0, 0.0, -0.3, 0.3])  # of the judge: it errs in one direction
FIRST, SECOND = model_pairs(10)
LOG_NU, SPREAD = -0.5, 1.0


def drawn(rng, difference):
    """Outcomes of comparisons, one each: shape (..., 3)."""
    p = outcome_probabilities(difference, LOG_NU).cumsum(-1)
    return np.eye(3)[np.minimum((rng.random(difference.shape)[..., None] > p).sum(-1), 2)]


def questions(n, seed, batch=(), shown=1.0, noise=0.5):
    """Counts by people and by the judge: two arrays of shape (*batch, n, 10, 3), two comparisons of every pair."""
    rng = np.random.default_rng(seed)
    quality = SKILLS + SPREAD * rng.standard_normal((*batch, n, len(SKILLS)))
    seen = quality + FAVOUR + noise * rng.standard_normal(quality.shape)
    people, judge = 0, 0
    for _ in range(2):
        met = rng.random((*batch, n, 10, 1)) < shown
        people = people + met * drawn(rng, quality[..., FIRST] - quality[..., SECOND])
        judge = judge + met * outcome_probabilities(seen[..., FIRST] - seen[..., SECOND], LOG_NU)
    return people, judge


@cache
def population():
    return questions(60_000, 10**6)


@cache
def rates(n_labelled, n_other):
    """Win rates of labelled questions by people and judge, of others by the judge; axes question, simulation, model."""
    people, judge = questions(n_labelled + n_other, n_labelled, (SIMULATIONS,))
    people, judge = (np.swapaxes(NOTEBOOK.win_rates(counts), 0, 1) for counts in (people, judge))
    return people[:n_labelled], judge[:n_labelled], judge[n_labelled:]


def held(ends, truth):
    """In how many simulations an interval holds the truth: of the model for which it does so least."""
    low, high = ends
    return ((low <= truth) & (truth <= high)).sum(0).min()


def helped(found, alone, truth, fewer_labels):
    """Both intervals hold the truth; where fewer questions are labelled than not, the judge's are narrower."""
    assert min(held(found, truth), held(alone, truth)) >= ENOUGH
    assert not fewer_labels or (found[1] - found[0]).mean() < 0.95 * (alone[1] - alone[0]).mean()


@pytest.mark.parametrize(("n_labelled", "n_other"), [(10, 70), (25, 55), (60, 20), (25, 200)])
def test_prediction_powered_rates_hold_the_truth(n_labelled, n_other):
    found, alone = ppi.prediction_powered(*rates(n_labelled, n_other)), ppi.mean_of(rates(n_labelled, n_other)[0])
    truth = NOTEBOOK.win_rates(population()[0]).mean(0)
    helped((found.low, found.high), (alone.low, alone.high), truth, n_labelled < n_other)


def test_where_nothing_varies_an_interval_is_that_of_so_many_equal_votes():
    found = ppi.mean_of(np.full((20, 3), [0.0, 0.5, 1.0]))
    assert (
        (found.low <= found.value).all() and (found.high - found.low > 0.1).all() and found.low[1] < 0.5 < found.high[1]
    )


@cache
def true_strengths():
    return ranking.fit(population()[0].mean(0))[:-1]


@cache
def tables(n_labelled, n_other):
    people, judge = questions(n_labelled + n_other, 100 + n_labelled, (SIMULATIONS,), shown=0.6)
    return people[:, :n_labelled], judge[:, :n_labelled], judge[:, n_labelled:]


@pytest.mark.parametrize(("n_labelled", "n_other"), [(10, 70), (20, 60), (60, 20)])
def test_prediction_powered_strengths_hold_the_truth(n_labelled, n_other):
    found = ranking.prediction_powered_strengths(*tables(n_labelled, n_other))
    alone = ranking.strengths(tables(n_labelled, n_other)[0])
    helped(found.ends, alone.ends, true_strengths(), n_labelled < n_other)


def test_comparisons_taken_as_independent_fail():
    """The inverse information, in which every comparison is a draw of its own, is too small."""
    people = tables(60, 20)[0]
    totals = people.sum(1)
    parameters = ranking.fit(totals)
    p, derivatives = ranking.slopes(parameters, 10)
    covariance = np.linalg.inv(ranking.information(totals, p, derivatives))[:, :-1, :-1]
    found = ranking.Strengths(parameters[:, :-1], covariance, 10**6)
    assert held(found.ends, true_strengths()) < ENOUGH


def test_rank_sets_hold_all_ranks_at_once():
    found = ranking.strengths(tables(60, 20)[0])
    truth, wrong, right = np.arange(1, 6), 0, 0
    for k in range(SIMULATIONS):
        one = ranking.Strengths(found.value[k], found.covariance[k], found.freedom)
        best, worst = NOTEBOOK.rank_sets(one, 2000)
        right += bool(((best <= truth) & (truth <= worst)).all())
        wrong += bool((np.argsort(np.argsort(-one.value)) + 1 == truth).all())
    assert right >= ENOUGH
    assert wrong < ENOUGH, "the order that was found is no set that holds the true one"


def test_agreement_of_rankings_holds_the_truth():
    people, judge = population()
    truth = float(kendall(true_strengths(), ranking.fit(judge.mean(0))[:-1]))
    people, judge, _ = tables(60, 20)
    agreement = functions_of("63_rank_models", n_boot=300).agreement_of_rankings
    found = [agreement(people[k], judge[k], k) for k in range(SIMULATIONS)]
    assert sum(low <= truth + 1e-9 and truth - 1e-9 <= high for _, low, high in found) >= ENOUGH
    assert sum(abs(value - truth) < 1e-9 for value, *_ in found) < ENOUGH, "the order that was found is no interval"
