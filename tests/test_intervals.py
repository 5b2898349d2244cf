"""judgekit.stats: intervals that cover what they say, and tests that reject as often as they say."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgekit import stats as intervals
from judgekit.stats import (
    cluster_bootstrap,
    cluster_draws,
    cluster_sums,
    clustered_error,
    detectable_difference,
    holm,
    interval,
    kendall,
    mcnemar,
    mean_of_independent,
    pearson,
    percentile_interval,
    prompt_folds,
    resampled_sums,
    share_of,
    spearman,
    two_sided_p,
    weighted_bootstrap,
)

STEADY = settings(deadline=None)
TRUTH, PROMPTS, ITEMS, CONCENTRATION = 0.6, 100, 6, 2.0


def share(sums):
    return sums[..., 0] / sums[..., 1]


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
        by_prompt += covers(cluster_bootstrap(sums, share, n_boot, seed))
        # An item is 0 or 1, so how many ones a resample of single items holds is binomial: no draws are needed.
        means = rng.binomial(len(hits), hits.mean(), n_boot) / len(hits)
        by_item += covers((None, *percentile_interval(means)))
    assert 0.92 <= by_prompt / n_runs <= 0.98
    assert by_item / n_runs < 0.85


@STEADY
@given(st.permutations(range(12)))
def test_the_order_of_items_plays_no_part(order):
    hits = np.array([1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1])
    clusters = np.array(list("abcabcabcabc"))
    rows = np.column_stack([hits, np.ones(12)])
    expected = cluster_bootstrap(cluster_sums(rows, clusters), share, 50)
    order = list(order)
    assert cluster_bootstrap(cluster_sums(rows[order], clusters[order]), share, 50) == expected


def drawn(*arguments, **named):
    """The blocks of `cluster_draws` as one matrix."""
    return np.concatenate(list(cluster_draws(*arguments, **named)))


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


def test_no_clusters_and_ragged_input_are_refused():
    with pytest.raises(ValueError, match="no clusters"):
        list(cluster_draws(0, 10, 0))
    with pytest.raises(ValueError, match="3 items but 2 clusters"):
        cluster_sums([1, 2, 3], ["a", "b"])


def difference_of(sums_a, sums_b, n_boot, seed=0):
    """Difference of two judges on shared items, its interval and p-value, as `judgekit.scoring.compare` has it."""
    sums = np.column_stack([sums_a[:, 0] - sums_b[:, 0], sums_a[:, 1]])
    p_value = two_sided_p(share(resampled_sums(sums, n_boot, seed)))
    return *cluster_bootstrap(sums, share, n_boot, seed), p_value


def paired_runs(gap, n_runs=300, n_boot=200):
    """P-values of two judges that share difficult prompts and whose accuracies differ by ``gap``."""
    rng = np.random.default_rng(5)
    p_values, contained, paired_width, single_width = [], 0, [], []
    for seed in range(n_runs):
        difficulty = rng.beta(2, 1, (80, 1)).clip(0.15, 0.85)
        sums = [
            np.column_stack([(rng.random((80, 4)) < difficulty + shift).sum(1), np.full(80, 4)])
            for shift in (gap / 2, -gap / 2)
        ]
        difference, low, high, p_value = difference_of(*sums, n_boot, seed)
        assert difference == pytest.approx(share(sums[0].sum(0)) - share(sums[1].sum(0)))
        p_values.append(p_value)
        contained += low <= gap <= high
        paired_width.append(high - low)
        single_width.append(np.ptp(cluster_bootstrap(sums[0], share, n_boot, seed)[1:]))
    return np.array(p_values), contained / n_runs, np.mean(paired_width), np.mean(single_width)


def test_equal_judges_are_rarely_told_apart():
    p_values, contained, _, _ = paired_runs(gap=0.0)
    assert (p_values <= 0.05).mean() <= 0.09
    assert (p_values <= 0.5).mean() == pytest.approx(0.5, abs=0.1)
    assert 0.90 <= contained <= 0.99


def test_unequal_judges_are_told_apart_because_prompts_are_shared():
    p_values, contained, paired_width, single_width = paired_runs(gap=0.12)
    assert (p_values <= 0.05).mean() >= 0.7
    assert 0.90 <= contained <= 0.99
    assert paired_width < 1.3 * single_width  # two independent intervals would give 1.41


@pytest.mark.parametrize(
    ("given", "adjusted"),
    [
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),  # 4 x .005, 3 x .01, 2 x .03, then not below .06
        ([0.5, 0.6], [1.0, 1.0]),
        ([0.02], [0.02]),
        ([0.2, 0.2, 0.001], [0.4, 0.4, 0.003]),
    ],
)
def test_holm_by_hand(given, adjusted):
    assert holm(given).tolist() == pytest.approx(adjusted)


def test_independent_half_widths_add_in_squares():
    value, low, high = mean_of_independent([(0.5, 0.47, 0.54), (0.7, 0.66, 0.73)])
    assert (value, value - low, high - value) == pytest.approx((0.6, 0.025, 0.025))


def test_draws_kept_for_the_next_judge_are_the_same_draws(monkeypatch):
    sums = np.random.default_rng(0).random((40, 3))
    kept = resampled_sums(sums, 60, 2)
    monkeypatch.setattr(intervals, "KEPT", 0)
    assert (resampled_sums(sums, 60, 2) == kept).all()
    monkeypatch.setattr(intervals, "BLOCK", 80)  # two rows at a time
    shares = cluster_draws(40, 60, 2)
    assert [draws.sum(1).tolist() for draws in shares] == [[40, 40]] * 30


# ---------------------------------------------------------------- McNemar


@pytest.mark.parametrize(
    ("only_a", "only_b", "p_value"),
    [
        (0, 0, 1.0),
        (3, 3, 1.0),
        (1, 9, 22 / 1024),  # (1 + 10) / 2 ** 10, twice
        (0, 5, 2 / 32),
        (150, 86, 4.1e-5),  # Agresti (2013), Categorical Data Analysis: 63 squared over 236
        (121, 59, 5.45e-6),  # 61 squared over 180
    ],
)
def test_mcnemar_by_hand(only_a, only_b, p_value):
    assert mcnemar(only_a, only_b) == mcnemar(only_b, only_a) == pytest.approx(p_value, rel=0.02)


def test_a_p_value_from_resamples():
    assert two_sided_p([1.0] * 99) == pytest.approx(2 / 100)
    assert two_sided_p([0.0] * 99) == 1
    assert two_sided_p([1.0] * 90 + [-1.0] * 9) == pytest.approx(2 * 10 / 100)


# ---------------------------------------------------------------- statistics that no sums determine


def test_a_correlation_is_bounded_by_its_interval():
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    y = x + rng.normal(size=120)
    for correlation in (pearson, spearman, kendall):
        value, low, high = weighted_bootstrap(partial(correlation, x, y), np.arange(120) // 3, n_boot=300)
        assert value == pytest.approx(float(correlation(x, y)))
        assert 0 < low < value < high < 1


def test_one_door_to_every_interval():
    _, hits = clustered_hits(np.random.default_rng(2))
    prompts = np.repeat(np.arange(PROMPTS), ITEMS)
    given = cluster_bootstrap(cluster_sums(np.column_stack([hits, np.ones(len(hits))]), prompts), share, 200, seed=5)
    single = interval(share_of, prompts, hits, n_boot=200, seed=5)
    columns = interval(share_of, prompts, np.column_stack([hits, np.ones(len(hits))]), n=7, n_boot=200, seed=5)
    weights = interval(lambda weight: (weight * hits).sum(-1) / weight.sum(-1), prompts, n_boot=200, seed=5)
    assert (single.value, single.low, single.high) == given == (columns.value, columns.low, columns.high)
    assert (weights.value, weights.low, weights.high) == pytest.approx(given)
    assert (single.n, columns.n) == (len(hits), 7)


def test_folds_keep_prompts_whole():
    prompts = [f"p{n % 23}" for n in range(200)]
    folds = prompt_folds(prompts, 5, seed=1)
    assert sorted(set(folds)) == [0, 1, 2, 3, 4]
    assert len({(prompt, fold) for prompt, fold in zip(prompts, folds, strict=True)}) == 23
    assert (folds == prompt_folds(prompts, 5, seed=1)).all() and (folds != prompt_folds(prompts, 5, seed=2)).any()
    for n_folds in (1, 24):
        with pytest.raises(ValueError, match="n_folds"):
            prompt_folds(prompts, n_folds)


# ---------------------------------------------------------------- power


def test_power_by_hand():
    sums = [[1, 1], [-1, 1]] * 50
    assert clustered_error(sums) == pytest.approx(np.sqrt(100 * 100 / 99) / 100)
    assert detectable_difference(sums) == pytest.approx((1.959964 + 0.841621) * np.sqrt(100 * 100 / 99) / 100)
    assert detectable_difference(sums * 4) == pytest.approx(detectable_difference(sums) / 2, rel=0.01)
    assert detectable_difference([[0, 2], [0, 3]]) == 0
    with pytest.raises(ValueError, match="at least two"):
        clustered_error([[1, 1]])


# ---------------------------------------------------------------- few prompts, and nothing that varies


@pytest.mark.parametrize(
    ("value", "signed", "low", "high"), [(1, False, 0.722, 1), (0, False, 0, 0.278), (0, True, -0.278, 0.278)]
)
def test_an_interval_has_a_width_where_all_resamples_are_equal(value, signed, low, high):
    prompts = [f"p{i}" for i in range(10)]
    number = interval(share_of, prompts, [value] * 10, n_boot=200, signed=signed)
    assert (number.low, number.high) == pytest.approx((low, high), abs=0.001)


def test_rounding_is_no_width():
    rounded = intervals.interval_of(2e-17, np.array([-2e-16, 0, 2e-16] * 10), 20, signed=True)
    assert rounded == intervals.interval_of(0.0, np.zeros(30), 20, signed=True)


def test_an_interval_is_wider_the_fewer_prompts_there_are():
    rng = np.random.default_rng(0)
    for count, more in ((5, 1.2), (20, 1.03), (200, 1.0)):
        values, prompts = rng.integers(0, 2, count), [f"p{i}" for i in range(count)]
        now = interval(share_of, prompts, values, n_boot=4000)
        plain = percentile_interval(
            share_of(resampled_sums(cluster_sums(np.column_stack([values, np.ones(count)]), prompts), 4000, 0))
        )
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
