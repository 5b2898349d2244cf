"""Comparisons of models, win rates and strengths: against ppi_py, statsmodels and hand-made tables."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from notebook_functions import functions_of

from judgekit.data.votes import ClassProbabilities, matchup_votes, votes_of_pairs
from judgekit.people import ppi, ranking
from judgekit.people.ranking import comparisons_of, model_pairs
from judgekit.records import PreferencePair, Verdict
from judgekit.stats import outcome_probabilities

NOTEBOOK = functions_of("63_rank_models", draws=300)


def pair(item, a, b, cluster="q", **votes):
    return PreferencePair(item, "set", "?", "x", "y", cluster_id=cluster, model_a=a, model_b=b, votes=votes)


PAIRS = [
    pair("1", "ann", "bob", x="A", y="A", z="tie"),
    pair("2", "bob", "ann", x="A"),
    pair("3", "cid", "bob", cluster="r", x="tie"),
]


def test_comparisons_are_in_the_order_of_names_and_found_by_key_and_both_ways_are_one():
    shares = NOTEBOOK.vote_shares(votes_of_pairs(PAIRS))
    found = comparisons_of(PAIRS, shares.items)
    assert found.models == ("ann", "bob", "cid") and found.questions == ("q", "r")
    counts = found.counts(shares)
    assert counts[0] == pytest.approx(np.array([[2 / 3, 1, 1 / 3], [0, 0, 0], [0, 0, 0]]))
    assert counts[1] == pytest.approx(np.array([[0, 0, 0], [0, 0, 0], [0, 0, 1]]))
    assert NOTEBOOK.win_rates(counts)[0] == pytest.approx([5 / 12, 7 / 12, np.nan], nan_ok=True)
    turned = ClassProbabilities(shares.items[::-1], shares.values[::-1])
    assert (found.counts(turned) == counts).all()
    with pytest.raises(KeyError, match="'3'"):
        found.counts(ClassProbabilities(shares.items[:2], shares.values[:2]))
    with pytest.raises(ValueError, match="elsewhere: an item that is none"):
        comparisons_of(PAIRS, ["elsewhere"])
    with pytest.raises(ValueError, match=r"set/9.*no two models"):
        comparisons_of([pair("9", "ann", "ann")], ["9"])
    votes, _ = matchup_votes(PAIRS)
    found = comparisons_of(PAIRS, votes.items, matchups=True)
    assert len(found.items) == 2
    counts = found.counts(NOTEBOOK.vote_shares(votes))
    assert counts[0, 0] == pytest.approx([2 / 3, 0, 1 / 3])  # x met the match twice: the first vote counts


def test_verdicts_without_probabilities_count_for_what_they_say():
    said = [Verdict("1", "j", "ab", "A"), Verdict("1", "j", "ba", "B"), Verdict("2", "j", "ab", "tie")]
    said.append(Verdict("3", "j", "ab", "B", p_a=0.25, p_b=0.5, p_tie=0.25))
    assert NOTEBOOK.judge_shares(said, PAIRS).values.tolist() == [[0.5, 0.5, 0], [0, 0, 1], [0.25, 0.5, 0.25]]
    with pytest.raises(ValueError, match="not one reply"):
        NOTEBOOK.judge_shares([Verdict("1", "j", "ab", None, status="error")], PAIRS)


def scores(seed=0, n=30, others=60):
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0, 1, (n + others, 3))
    people, judge = (np.clip(truth + rng.normal(0, s, truth.shape), 0, 1) for s in (0.2, 0.3))
    return people[:n], judge[:n], judge[n:]


def test_estimate_is_that_of_ppi_py_where_its_power_is_free():
    from ppi_py import ppi_mean_pointestimate

    found = ppi.prediction_powered(*scores())
    theirs = ppi_mean_pointestimate(*scores(), lam_optim_mode="element")
    assert (found.power < 1).all()
    assert found.value == pytest.approx(theirs, abs=2e-3)  # their covariance divides by n, and centres on the estimate


def test_a_hedging_judge_is_amplified_an_ignorant_one_ignored_and_bias_cancels():
    people, judge, elsewhere = scores()
    plain = ppi.prediction_powered(people, judge, elsewhere)
    hedged = ppi.prediction_powered(people, judge / 9, elsewhere / 9)
    assert (hedged.power > 1).all() and hedged.low == pytest.approx(plain.low)
    nothing = ppi.prediction_powered(people, 0 * judge + 0.4, 0 * elsewhere + 0.4)
    assert (nothing.power == 0).all() and nothing.value == pytest.approx(people.mean(0))
    assert ppi.prediction_powered(people, judge + 5, elsewhere + 5).value == pytest.approx(plain.value)
    assert ppi.prediction_powered(people, judge, elsewhere[:0]).low == pytest.approx(ppi.mean_of(people).low)


def test_a_model_that_won_every_question_is_not_without_doubt():
    """Before, ten wins of ten had the interval from 1 to 1."""
    people = np.stack([np.ones(10), np.zeros(10), np.arange(10) % 2], 1)
    for found in (ppi.mean_of(people), ppi.prediction_powered(people, people, people)):
        assert (found.low <= found.value).all() and (found.value <= found.high).all()
        assert found.low[0] < 0.75 and found.high[0] == 1 and found.low[1] == 0 and found.high[1] > 0.25


def test_too_few_questions_and_missing_scores_are_refused():
    people, judge, elsewhere = scores()
    with pytest.raises(ValueError, match="9 questions"):
        ppi.prediction_powered(people[:9], judge[:9], elsewhere)
    with pytest.raises(ValueError, match="without a score"):
        ppi.mean_of(np.where(np.arange(30)[:, None] == 3, np.nan, people))


def test_a_judge_saves_labels_as_far_as_it_knows_what_people_say():
    people, judge, _ = scores(n=90, others=0)
    blind, rows = np.random.default_rng(1).uniform(0, 1, people.shape), []
    for k, model in enumerate("abc"):
        judges = {"good": judge[:, k], "blind": blind[:, k]}
        rows += [("set", name, model, *row) for name, *row in NOTEBOOK.rates_from_few(people[:, k], judges, 15)]
    columns = ["name", "judge", "model", "n", "n_all", "coverage", "half_width", "power", "coverage_alone"]
    table = NOTEBOOK.with_savings(pd.DataFrame(rows, columns=columns))
    assert (table["n_all"] == 90).all() and (table["coverage"] > 0.9).all()
    few = table.groupby("judge")["saved"]
    assert few.min()["good"] > 0.2 and few.max()["blind"] < 0.1 and few.max()["people"] == 0
    good, alone = (table[table["judge"] == name].iloc[0] for name in ("good", "people"))
    assert good["saved"] == pytest.approx(1 - (good["half_width"] / alone["half_width"]) ** 2)


def totals(seed=0, n_models=4):
    rng = np.random.default_rng(seed)
    first, second = model_pairs(n_models * (n_models - 1) // 2)
    skills = rng.normal(0, 1, n_models)
    p = outcome_probabilities(skills[first] - skills[second], -0.5)
    return np.stack([rng.multinomial(60, row) for row in p]).astype(float)


def test_davidson_is_the_log_linear_model_of_statsmodels():
    import statsmodels.api as sm

    table = totals()
    rows, counted = [], []
    for k, (i, j) in enumerate(combinations(range(4), 2)):
        for outcome, (si, sj, tie) in enumerate([(0.5, -0.5, 0), (-0.5, 0.5, 0), (0, 0, 1)]):
            strength = np.zeros(4)
            strength[[i, j]] = si, sj
            rows.append([*np.eye(6)[k], *strength[1:], tie])
            counted.append(table[k, outcome])
    theirs = sm.GLM(counted, np.array(rows), family=sm.families.Poisson()).fit().params[6:]
    ours = ranking.fit(table)
    assert ours[:4] - ours[0] == pytest.approx([0, *theirs[:3]], abs=1e-5)
    assert ours[4] == pytest.approx(theirs[3], abs=1e-5)
    assert ranking.fit(np.stack([table, totals(3)]))[1] == pytest.approx(ranking.fit(totals(3)))


def test_a_model_that_never_lost_is_refused_by_name():
    counts = np.array([[[3.0, 0, 0], [2, 0, 0], [1, 1, 1]]])
    with pytest.raises(ValueError, match=r"ann.*never took points"):
        NOTEBOOK.refuse_separated(counts, ["ann", "bob", "cid"])
    counts[0, 0, 2] = 1
    NOTEBOOK.refuse_separated(counts, ["ann", "bob", "cid"])


def test_without_a_judge_that_varies_strengths_are_peoples():
    rng = np.random.default_rng(0)
    people = np.stack([rng.multinomial(2, [0.5, 0.3, 0.2], size=3) for _ in range(30)]).astype(float)
    same = np.tile([0.7, 0.7, 0.6], (30, 3, 1))
    found, alone = ranking.prediction_powered_strengths(people, same, same), ranking.strengths(people)
    assert found.value == pytest.approx(alone.value, abs=1e-6) and float(found.power) < 1e-12
    everywhere = ranking.prediction_powered_strengths(people, same, same[:0])  # all questions have people's votes
    assert everywhere.value == pytest.approx(alone.value)


def test_rank_sets_of_clear_and_of_equal_models():
    clear = ranking.Strengths(np.array([2.0, 0, -2]), 0.01 * np.eye(3), 50)
    assert [part.tolist() for part in NOTEBOOK.rank_sets(clear)] == [[1, 2, 3], [1, 2, 3]]
    blurred = clear._replace(value=np.array([2.0, 0.0, 0.1]))
    assert [part.tolist() for part in NOTEBOOK.rank_sets(blurred)] == [[1, 2, 2], [1, 3, 3]]
