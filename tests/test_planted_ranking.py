"""Win rates and strengths of planted models: intervals hold the truth in 930 of 1,000 simulations, wrong ones do not.

Every question has a quality of its own for every model, so that its comparisons depend on each other. The judge sees
that quality, with noise, and favours the first model whatever people say.
"""

from functools import cache

import numpy as np
import pytest

from judgekit.people import ppi, ranking
from judgekit.people.ranking import model_pairs, win_rates
from judgekit.stats import outcome_probabilities
from judgekit.studies import rank_models as study

ENOUGH, SIMULATIONS = 930, 1000
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
    people, judge = (np.swapaxes(win_rates(counts), 0, 1) for counts in (people, judge))
    return people[:n_labelled], judge[:n_labelled], judge[n_labelled:]


def held(estimate, truth):
    """Simulations in which the interval holds the truth, for each model."""
    return ((estimate.low <= truth) & (truth <= estimate.high)).sum(0)


def true_rates():
    return win_rates(population()[0]).mean(0)


# ---------------------------------------------------------------- win rates


@pytest.mark.parametrize(("n_labelled", "n_other"), [(10, 70), (25, 55), (60, 20), (25, 200)])
def test_prediction_powered_rates_hold_the_truth(n_labelled, n_other):
    found = ppi.prediction_powered(*rates(n_labelled, n_other))
    assert held(found, true_rates()).min() >= ENOUGH
    alone = ppi.mean_of(rates(n_labelled, n_other)[0])
    assert held(alone, true_rates()).min() >= ENOUGH
    if n_labelled < n_other:
        assert (found.high - found.low).mean() < 0.95 * (alone.high - alone.low).mean()


def test_the_judge_alone_is_biased():
    assert held(ppi.mean_of(rates(25, 55)[2]), true_rates()).min() < 500


def test_normal_intervals_fail_on_few_questions():
    """The library's own interval, power tuned on ten questions and quantile of the normal distribution."""
    from ppi_py import ppi_mean_ci

    people, judge, elsewhere = (part[..., 2] for part in rates(10, 70))
    power = ppi.tuned_power(people, judge, elsewhere)
    low, high = ppi_mean_ci(people, judge, elsewhere, alpha=0.05, lam=power)
    assert ((low <= true_rates()[2]) & (true_rates()[2] <= high)).sum() < ENOUGH


def test_strata_hold_the_truth_and_gain_where_the_judge_errs_in_one_of_them():
    rng = np.random.default_rng(5)
    parts, alone = [], []
    for weight, bias in ((0.5, 0.0), (0.5, -1.0)):  # in the second stratum the judge says the opposite
        skill = rng.uniform(0, 1, (100, SIMULATIONS))
        people, judge = (rng.random(skill.shape) < skill).astype(float), np.abs(skill + bias)
        parts.append((people[:20], judge[:20], judge[20:], weight))
        alone.append((people[:20], judge[:20], judge[20:]))
    found = ppi.stratified(parts)
    assert held(found, 0.5) >= ENOUGH
    together = ppi.prediction_powered(*(np.concatenate(both) for both in zip(*alone, strict=True)))
    assert (found.high - found.low).mean() < 0.98 * (together.high - together.low).mean()


@cache
def errors(n):
    """Wins by people and judge, by model: the judge calls a win of the first model more readily."""
    rng = np.random.default_rng(11)
    quality = rng.standard_normal((n, SIMULATIONS, 1, 2))
    people = quality + rng.standard_normal((n, SIMULATIONS, 5, 2)) > 0.3
    called = np.where(people, [0.95, 0.7], [0.4, 0.1])
    judge = rng.random(people.shape) < called
    cells = np.stack([people & judge, people, ~people & judge, ~people], -1).sum(2).astype(float)
    return cells, np.stack([judge.sum(2), np.full(judge.sum(2).shape, 5)], -1).astype(float)


def share_of_wins():
    from scipy.stats import norm

    return float(norm.sf(0.3 / np.sqrt(2)))


def test_rogan_gladen_holds_the_truth_with_errors_of_the_model_itself_only():
    cells, judged = errors(160)
    own = study.rogan_gladen(cells[:60], judged[60:])
    assert held(own, share_of_wins()).min() >= ENOUGH
    assert own.power.mean(0) == pytest.approx([0.55, 0.6], abs=0.02)
    assert held(study.youden(cells[:60]), [0.55, 0.6]).min() >= ENOUGH
    pooled = study.rogan_gladen(cells.sum(2, keepdims=True)[:60], judged[60:])
    assert held(pooled, share_of_wins()).min() < 800


def test_mean_savings_hold_the_truth():
    r = study.correlation(*map(win_rates, population())).value
    truth = float(study.labels_saved(r, 20, 60).mean())
    people, judge, _ = rates(60, 20)
    found = [study.mean_saved(people[:, k], judge[:, k], 20) for k in range(SIMULATIONS)]
    assert sum(one.low <= truth <= one.high for one in found) >= ENOUGH
    half = np.array([(one.high - one.low) / 2 for one in found]) / np.sqrt(5)  # as if five models were independent
    assert (np.abs(np.array([one.value for one in found]) - truth) <= half).sum() < ENOUGH


# ---------------------------------------------------------------- strengths


@cache
def true_strengths(model=ranking.davidson):
    return ranking.fit(population()[0].mean(0), model)[:-1]


@cache
def tables(n_labelled, n_other):
    people, judge = questions(n_labelled + n_other, 100 + n_labelled, (SIMULATIONS,), shown=0.6)
    return people[:, :n_labelled], judge[:, :n_labelled], judge[:, n_labelled:]


def held_strengths(found, truth):
    low, high = found.ends
    return ((low <= truth) & (truth <= high)).sum(0)


@pytest.mark.parametrize("model", [ranking.davidson, ranking.rao_kupper])
def test_strengths_hold_the_truth(model):
    assert held_strengths(ranking.strengths(tables(60, 20)[0], model), true_strengths(model)).min() >= ENOUGH


@pytest.mark.parametrize(("n_labelled", "n_other"), [(10, 70), (20, 60), (60, 20)])
def test_prediction_powered_strengths_hold_the_truth(n_labelled, n_other):
    found = ranking.prediction_powered_strengths(*tables(n_labelled, n_other))
    assert held_strengths(found, true_strengths()).min() >= ENOUGH
    alone = ranking.strengths(tables(n_labelled, n_other)[0])
    if n_labelled < n_other:
        gain = [np.subtract(*one.ends[::-1]).mean() for one in (found, alone)]
        assert gain[0] < 0.95 * gain[1]


def test_comparisons_taken_as_independent_fail():
    """The inverse information, in which every comparison is a draw of its own, is too small."""
    people = tables(60, 20)[0]
    totals = people.sum(1)
    parameters = ranking.fit(totals)
    p, derivatives = ranking.slopes(parameters, ranking.davidson, 10)
    covariance = np.linalg.inv(ranking.information(totals, p, derivatives))[:, :-1, :-1]
    found = ranking.Strengths(parameters[:, :-1], covariance, parameters[:, -1], 10**6, 0)
    assert held_strengths(found, true_strengths()).min() < ENOUGH


def test_rank_sets_hold_all_ranks_at_once():
    found = ranking.strengths(tables(60, 20)[0])
    truth, wrong, right = np.arange(1, 6), 0, 0
    for k in range(SIMULATIONS):
        one = ranking.Strengths(found.value[k], found.covariance[k], found.tie[k], found.freedom, 0)
        best, worst = study.rank_sets(one, 2000)
        right += bool(((best <= truth) & (truth <= worst)).all())
        wrong += bool((np.argsort(np.argsort(-one.value)) + 1 == truth).all())
    assert right >= ENOUGH
    assert wrong < ENOUGH, "the order that was found is no set that holds the true one"


def test_agreement_of_rankings_holds_the_truth():
    people, judge = population()
    truth = float(ranking.rank_correlation(true_strengths(), ranking.fit(judge.mean(0))[:-1]))
    people, judge, _ = tables(60, 20)
    found = [ranking.ranking_agreement(people[k], judge[k], 300, k) for k in range(SIMULATIONS)]
    assert sum(low <= truth + 1e-9 and truth - 1e-9 <= high for _, low, high in found) >= ENOUGH
    assert sum(abs(value - truth) < 1e-9 for value, *_ in found) < ENOUGH, "the order that was found is no interval"
