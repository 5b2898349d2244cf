"""judgekit.stats: intervals that cover what they say, tests by hand, folds and power."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as theirs

from judgekit import stats as intervals
from judgekit.records import LABELS
from judgekit.scoring import metrics
from judgekit.stats import cluster_bootstrap, cluster_sums, interval, kendall, pearson, share_of, spearman

STEADY = settings(deadline=None)
TRUTH, PROMPTS, ITEMS, CONCENTRATION = 0.6, 100, 6, 2.0


def clustered_hits(rng):
    """Hits of a judge whose prompts differ in difficulty: items of one prompt stand and fall together."""
    difficulty = rng.beta(CONCENTRATION * TRUTH, CONCENTRATION * (1 - TRUTH), PROMPTS)
    hits = rng.random((PROMPTS, ITEMS)) < difficulty[:, None]
    return np.column_stack([hits.sum(1), np.full(PROMPTS, ITEMS)]).astype(float), hits.ravel()


def covers(interval):
    return interval[1] <= TRUTH <= interval[2]


def test_cluster_intervals_cover_and_item_intervals_do_not():
    rng = np.random.default_rng(20)
    n_runs, n_boot = 1000, 300
    by_prompt, by_item = 0, 0
    for seed in range(n_runs):
        sums, hits = clustered_hits(rng)
        by_prompt += covers(cluster_bootstrap(sums, share_of, n_boot, seed))
        # An item is 0 or 1, so how many ones a resample of single items holds is binomial: no draws are needed.
        means = rng.binomial(len(hits), hits.mean(), n_boot) / len(hits)
        by_item += covers((None, *np.quantile(means, [0.025, 0.975])))
    assert 0.92 <= by_prompt / n_runs <= 0.98
    assert by_item / n_runs < 0.85


def drawn(*arguments, **named):
    """The blocks of `cluster_draws` as one matrix."""
    return np.concatenate(list(intervals.cluster_draws(*arguments, **named)))


def test_the_seed_decides_and_clusters_are_drawn_with_replacement():
    draws = drawn(5, 2000, seed=7)
    assert (draws.sum(1) == 5).all()
    assert (draws == drawn(5, 2000, seed=7)).all()
    assert (draws != drawn(5, 2000, seed=8)).any()
    assert draws.mean(0) == pytest.approx(np.ones(5), abs=0.1)
    assert draws.var() == pytest.approx(0.8, abs=0.1)  # multinomial: 5 * (1/5) * (4/5)


def test_sums_are_by_cluster_in_sorted_order():
    sums = cluster_sums([[1, 10], [2, 20], [3, 30]], ["b", "a", "b"])
    assert sums.tolist() == [[2, 20], [4, 40]]


def test_draws_kept_for_the_next_judge_are_the_same_draws(monkeypatch):
    sums = np.random.default_rng(0).random((40, 3))
    kept = intervals.resampled_sums(sums, 60, 2)
    monkeypatch.setattr(intervals, "KEPT", 0)
    assert (intervals.resampled_sums(sums, 60, 2) == kept).all()
    monkeypatch.setattr(intervals, "BLOCK", 80)  # two rows at a time
    shares = intervals.cluster_draws(40, 60, 2)
    assert [draws.sum(1).tolist() for draws in shares] == [[40, 40]] * 30


def test_a_p_value_from_resamples():
    assert intervals.two_sided_p([1.0] * 99, 10**6) == pytest.approx(2 / 100, rel=1e-3)
    assert intervals.two_sided_p([0.0] * 99, 10**6) == 1
    assert intervals.two_sided_p([1.0] * 90 + [-1.0] * 9, 10**6) == pytest.approx(2 * 10 / 100, rel=1e-3)


def test_a_p_value_allows_for_few_prompts_as_the_interval_does():
    """Before, one prompt gave p = 0.0002 beside no interval, and eight prompts one in ten below 0.05 by chance."""
    assert intervals.two_sided_p([1.0] * 9_999, 1) == 1
    assert intervals.student_p(intervals.Number(0.3, -1.0, 1.0), 1) == 1
    found, excluded = [], []
    for number in range(400):
        gaps = np.random.default_rng(number).normal(size=8)
        drawn = share_of(intervals.resampled_sums(np.column_stack([gaps, np.ones(8)]), 2999, number))
        low, high = intervals.interval_of(gaps.mean(), drawn, 8, signed=True)
        found.append(intervals.two_sided_p(drawn, 8) < 0.05)
        excluded.append(low > 0 or high < 0)
    assert np.mean(found) < 0.1 and np.mean(np.equal(found, excluded)) > 0.97


@pytest.mark.parametrize("shared", [False, True])
def test_prompts_without_a_case_are_none_of_the_interval(shared):
    """Before, five hits of five prompts among a hundred had the interval of a hundred hits."""
    sums = np.zeros((100, 2))
    sums[:5] = 1
    drawn = intervals.resampled_sums(sums, 2000, 0) if shared else None
    low = intervals.proportion_interval(1.0, 5)[0]
    assert cluster_bootstrap(sums, share_of, 2000, drawn=drawn)[1] == pytest.approx(float(low))
    sums[1:5] = 0
    assert np.isnan(cluster_bootstrap(sums, share_of, 200)[1:]).all()


def test_a_correlation_does_not_depend_on_the_unit():
    x, y = np.arange(5), np.array([1.0, 3, 2, 5, 4])
    assert pearson(x * 1e-7, y) == pytest.approx(float(pearson(x, y)))
    assert pearson(np.full(5, 0.1) + 1e-17 * x, y) == 0


def test_one_door_to_every_interval():
    _, hits = clustered_hits(np.random.default_rng(2))
    prompts = np.repeat(np.arange(PROMPTS), ITEMS)
    given = cluster_bootstrap(cluster_sums(np.column_stack([hits, np.ones(len(hits))]), prompts), share_of, 200, seed=5)
    single = interval(share_of, prompts, hits, n_boot=200, seed=5)
    columns = interval(share_of, prompts, np.column_stack([hits, np.ones(len(hits))]), n=7, n_boot=200, seed=5)
    weights = interval(lambda weight: (weight * hits).sum(-1) / weight.sum(-1), prompts, n_boot=200, seed=5)
    assert (single.value, single.low, single.high) == given == (columns.value, columns.low, columns.high)
    assert (weights.value, weights.low, weights.high) == pytest.approx(given)
    assert (single.n, columns.n) == (len(hits), 7)


def test_folds_keep_prompts_whole():
    prompts = [f"p{n % 23}" for n in range(200)]
    folds = intervals.prompt_folds(prompts, 5, seed=1)
    assert sorted(set(folds)) == [0, 1, 2, 3, 4]
    assert len({(prompt, fold) for prompt, fold in zip(prompts, folds, strict=True)}) == 23
    assert (folds == intervals.prompt_folds(prompts, 5, seed=1)).all()
    assert (folds != intervals.prompt_folds(prompts, 5, seed=2)).any()


def test_power_by_hand():
    sums, smallest = [[1, 1], [-1, 1]] * 50, intervals.detectable_difference
    assert smallest(sums) == pytest.approx((1.959964 + 0.841621) * np.sqrt(100 * 100 / 99) / 100)
    assert smallest(sums * 4) == pytest.approx(smallest(sums) / 2, rel=0.01)
    assert smallest([[0, 2], [0, 3]]) == 0


@pytest.mark.parametrize(
    ("value", "signed", "low", "high"), [(1, False, 0.722, 1), (0, False, 0, 0.278), (0, True, -0.278, 0.278)]
)
def test_an_interval_has_a_width_where_all_resamples_are_equal(value, signed, low, high):
    prompts = [f"p{i}" for i in range(10)]
    number = interval(share_of, prompts, [value] * 10, n_boot=200, signed=signed)
    assert (number.low, number.high) == pytest.approx((low, high), abs=0.001)


@pytest.mark.parametrize("hits", [[1, 1, 1], [0, 0, 0], [1, 0, 1]])
def test_one_prompt_has_no_interval(hits):
    """Every resample of a single prompt is that prompt: a width of zero would be read as certainty."""
    rows = np.column_stack([hits, np.ones(3)])
    for number in (
        interval(share_of, ["p"] * 3, hits, n_boot=50),
        interval(lambda weight: (weight * hits).sum(-1) / weight.sum(-1), ["p"] * 3, n_boot=50),
        intervals.Number(*cluster_bootstrap(cluster_sums(rows, ["p"] * 3), share_of, 50)),
    ):
        assert number.value == pytest.approx(np.mean(hits))
        assert (number.low, number.high, number.interval) == (None, None, None)


def test_resamples_of_one_label_alone_have_no_kappa_and_are_left_out():
    """Nineteen pairs agree on A and one on B, which every third resample lacks: before, those counted 0."""
    codes, prompts = np.array([0] * 19 + [1]), [f"p{i}" for i in range(20)]
    kappa = interval(metrics.cohen_kappa, prompts, metrics.confusion(codes, codes), n_boot=300, signed=True)
    assert (kappa.value, kappa.low) == (1, pytest.approx(float(intervals.proportion_interval(1.0, 20)[0])))
    assert np.isnan(intervals.interval_of(1.0, np.full(5, np.nan), 20)).all()
    with pytest.raises(ValueError, match="value is nan"):
        interval(metrics.cohen_kappa, prompts, metrics.confusion(0 * codes, 0 * codes), n_boot=20)


def test_where_no_influence_is_left_a_proportion_has_wilsons_interval_and_nothing_else_any():
    """Before, both had one without a width."""
    ones, prompts = np.ones(12), np.repeat(range(4), 3)
    assert intervals.mean_interval(0.1 * ones, ones, prompts)[1:] == (-np.inf, np.inf)
    found = [intervals.mean_interval(value * ones, ones, prompts, proportion=True) for value in (0, 0.5)]
    wilson = [intervals.proportion_interval(value, 4) for value in (0, 0.5)]
    assert [ends[1:] for ends in found] == [pytest.approx(ends) for ends in wilson]
    assert intervals.mean_interval(ones, prompts == 0, prompts, proportion=True)[1:] == (-np.inf, np.inf), "one prompt"
    assert [intervals.student_p(intervals.Number(value), 4) for value in (0.0, 0.1)] == [1, 0]


def test_rounding_is_no_width():
    rounded = intervals.interval_of(2e-17, np.array([-2e-16, 0, 2e-16] * 10), 20, signed=True)
    assert rounded == intervals.interval_of(0.0, np.zeros(30), 20, signed=True)


def test_an_interval_is_wider_the_fewer_prompts_there_are():
    rng = np.random.default_rng(0)
    for count, more in ((5, 1.2), (20, 1.03), (200, 1.0)):
        values, prompts = rng.integers(0, 2, count), [f"p{i}" for i in range(count)]
        now = interval(share_of, prompts, values, n_boot=4000)
        sums = cluster_sums(np.column_stack([values, np.ones(count)]), prompts)
        plain = np.quantile(share_of(intervals.resampled_sums(sums, 4000, 0)), [0.025, 0.975])
        assert now.high - now.low >= more * (plain[1] - plain[0])
        assert 0 <= now.low <= now.value <= now.high <= 1


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.5, 0.8])
@pytest.mark.parametrize("count", [10, 20, 90])
def test_an_interval_covers_what_it_promises(count, rate):
    """Prompts of one to four items whose rates differ by a beta distribution; binomial error of the share is 0.01."""
    covered = 0
    for number in range(500):
        rng = np.random.default_rng(number)
        sizes = rng.integers(1, 5, count)
        own = np.repeat(rng.beta(rate * 7 / 3, (1 - rate) * 7 / 3, count), sizes)
        prompts = np.repeat([f"p{i}" for i in range(count)], sizes)
        estimate = interval(share_of, prompts, rng.random(len(own)) < own, n_boot=1000)
        covered += estimate.low <= rate <= estimate.high
    assert 0.91 <= covered / 500 <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("rate", [0.9, 0.95])
def test_a_rate_that_few_prompts_have_cases_of_is_covered(share, rate):
    """Before, at 5 to 20 % of a hundred prompts, 40 to 67 % of the intervals held the rate."""
    covered, given = 0, 0
    for number in range(300):
        rng = np.random.default_rng(number)
        cases = rng.random(100) < share
        hits = cases & (rng.random(100) < rate)
        _, low, high = cluster_bootstrap(np.column_stack([hits, cases]), share_of, 1000)
        given += not np.isnan(low)
        covered += bool(low <= rate <= high)
    assert given > 280 and covered / given >= 0.93


SPOKEN = st.sampled_from(LABELS)
LABELLED = st.lists(st.tuples(SPOKEN, SPOKEN), min_size=1, max_size=60)
WITH_NONE = st.lists(st.tuples(SPOKEN, SPOKEN | st.none()), min_size=1, max_size=60)
LABEL_SETS = st.sampled_from([LABELS, ("A", "B")])


def matrix_of(reference, verdict):
    return metrics.confusion(metrics.label_codes(reference), metrics.label_codes(verdict)).sum(0)


@settings(max_examples=200, deadline=None)
@given(WITH_NONE, LABEL_SETS)
def test_metrics_are_those_of_scikit_learn(items, labels):
    """A missing verdict is a class that is never right, and no class of its own; kappa leaves it out."""
    reference, verdict = zip(*items, strict=True)
    matrix, spoken = matrix_of(reference, verdict), [label or "none" for label in verdict]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of verdicts that no reference has, and where both raters are constant
        macro = theirs.precision_recall_fscore_support(
            reference, spoken, labels=labels, average="macro", zero_division=0
        )
        balanced, mcc = theirs.balanced_accuracy_score(reference, spoken), theirs.matthews_corrcoef(reference, spoken)
        read = list(zip(*(item for item in items if item[1]), strict=True)) or [["A"], ["A"]]
        kappa = theirs.cohen_kappa_score(*read, labels=list(LABELS))
    assert metrics.macro(matrix, labels) == pytest.approx(macro[:3])
    assert metrics.accuracy(matrix) == pytest.approx(theirs.accuracy_score(reference, spoken))
    assert metrics.cohen_kappa(matrix) == pytest.approx(kappa, nan_ok=True)
    assert (metrics.balanced_accuracy(matrix), metrics.matthews_correlation(matrix)) == pytest.approx((balanced, mcc))


@STEADY
@given(st.lists(LABELLED, min_size=2, max_size=4))
def test_batches_of_matrices_give_each_matrix_its_own_value(batches):
    matrices = np.stack([matrix_of(*zip(*items, strict=True)) for items in batches])
    for function in (
        metrics.accuracy,
        metrics.cohen_kappa,
        metrics.balanced_accuracy,
        metrics.matthews_correlation,
        lambda m: metrics.macro(m)[2],
    ):
        assert function(matrices) == pytest.approx([float(function(matrix)) for matrix in matrices], nan_ok=True)


def test_nothing_over_nothing_is_nothing():
    assert intervals.ratio([0, 1, 0], [0, 2, 3]).tolist() == [0, 0.5, 0]
    assert metrics.accuracy(np.zeros((3, 4))) == 0
    assert metrics.macro(np.zeros((3, 4))) == (0, 0, 0)


def test_probability_losses_are_those_of_scikit_learn():
    rng = np.random.default_rng(3)
    probabilities = rng.dirichlet([1, 1, 1], size=50)
    reference = rng.integers(0, 3, 50)
    nll, brier = metrics.probability_losses(probabilities, reference)
    assert nll.mean() == pytest.approx(theirs.log_loss(reference, probabilities, labels=[0, 1, 2]))
    expected = theirs.brier_score_loss(reference, probabilities, labels=[0, 1, 2], scale_by_half=False)
    assert brier.mean() == pytest.approx(expected)


def test_ece_by_hand():
    bins = intervals.reliability_bins([1.0, 1.0, 0.0, 0.5], [1, 0, 0, 1], n_bins=2).sum(0)
    assert bins[0].tolist() == [1, 3]  # one half opens the upper bin, one closes it
    assert intervals.expected_calibration_error(bins) == pytest.approx((0 + abs(2.5 - 2)) / 4)


SCORES = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=3, max_size=40)
CORRELATIONS = {pearson: stats.pearsonr, spearman: stats.spearmanr, kendall: stats.kendalltau}


@pytest.mark.parametrize("own", CORRELATIONS, ids=lambda function: function.__name__)
@STEADY
@given(items=SCORES, seed=st.integers(0, 1000))
def test_correlations_are_those_of_scipy_on_every_resample(own, items, seed):
    x, y = np.array(items, float).T
    chosen = np.random.default_rng(seed).integers(len(x), size=(4, len(x)))
    weight = np.stack([np.bincount(row, minlength=len(x)) for row in chosen])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns where a side is constant
        expected = [CORRELATIONS[own](x[row], y[row]).statistic for row in (np.arange(len(x)), *chosen)]
    found = [float(own(x, y)), *own(x, y, weight)]
    assert found == pytest.approx(np.nan_to_num(expected), abs=1e-9)


@pytest.mark.parametrize(
    ("function", "arguments", "words"),
    [
        (cluster_sums, ([1, 2, 3], ["a", "b"]), "3 items but 2 clusters"),
        (interval, (share_of, []), "of no items"),
        (interval, (share_of, [], []), "of no items"),
        (intervals.detectable_difference, ([[1, 1]],), "at least two"),
        (intervals.prompt_folds, (["a", "b"], 1), "n_folds"),
        (intervals.prompt_folds, (["a", "b"], 3), "n_folds"),
        (intervals.reliability_bins, ([0.5, -0.1], [1, 1]), "confidence"),
        (intervals.reliability_bins, ([0.5, 1.2], [1, 1]), "confidence"),
        (metrics.probability_losses, ([[2.0, -1.0, 0.5]], np.array([0])), "sum to one"),
        (metrics.label_codes, (["A", "C"],), "not one of"),
        (metrics.label_codes, (["Tie"],), "not one of"),
        (metrics.confusion, ([0, 3], [0, 0]), "without a reference"),
        (pearson, ([1, 2], [1, 2, 3]), "shape"),
        (kendall, ([1, np.nan], [1, 2]), "missing or infinite"),
    ],
)
def test_what_cannot_be_counted_is_refused(function, arguments, words):
    with pytest.raises(ValueError, match=words):
        function(*arguments)
