"""judgekit.scoring.metrics and judgekit.stats: the same numbers as scikit-learn, from counts that add up."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    brier_score_loss,
    cohen_kappa_score,
    log_loss,
    matthews_corrcoef,
    precision_recall_fscore_support,
)

from judgekit.records import LABELS
from judgekit.scoring import metrics
from judgekit.stats import expected_calibration_error, kendall, pearson, ratio, reliability_bins, spearman

STEADY = settings(deadline=None)
LABELLED = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=60)
LABEL_SETS = st.sampled_from([LABELS, ("A", "B")])


def matrix_of(reference, verdict, weight=None):
    return metrics.confusion(metrics.label_codes(reference), metrics.label_codes(verdict), weight).sum(0)


@settings(max_examples=200, deadline=None)
@given(LABELLED, LABEL_SETS)
def test_macro_averages_are_those_of_scikit_learn(items, labels):
    reference, verdict = zip(*items, strict=True)
    expected = precision_recall_fscore_support(reference, verdict, labels=labels, average="macro", zero_division=0)
    assert metrics.macro(matrix_of(reference, verdict), labels) == pytest.approx(expected[:3])


@STEADY
@given(LABELLED)
def test_accuracy_and_kappa_are_those_of_scikit_learn(items):
    reference, verdict = zip(*items, strict=True)
    matrix = matrix_of(reference, verdict)
    assert metrics.accuracy(matrix) == pytest.approx(accuracy_score(reference, verdict))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn divides by zero where both raters are constant
        expected = cohen_kappa_score(reference, verdict, labels=list(LABELS))
    assert metrics.cohen_kappa(matrix) == pytest.approx(0 if np.isnan(expected) else expected)


@STEADY
@given(LABELLED, st.integers(1, 5))
def test_a_missing_verdict_is_wrong_but_no_class_of_its_own(items, n_missing):
    reference, verdict = map(list, zip(*items, strict=True))
    matrix = matrix_of(reference + ["A"] * n_missing, verdict + [None] * n_missing)
    hits = sum(a == b for a, b in items)
    assert metrics.accuracy(matrix) == pytest.approx(hits / (len(items) + n_missing))
    precision, recall, _ = metrics.per_class(matrix)
    without = metrics.per_class(matrix_of(reference, verdict))
    assert precision == pytest.approx(without[0])
    assert recall[1:] == pytest.approx(without[1][1:])
    actual = reference.count("A")
    assert recall[0] == pytest.approx(without[1][0] * actual / (actual + n_missing))


def test_labels_are_stated_and_not_read_off_the_data():
    reference, verdict = list("AABB"), ["A", "A", "B", "tie"]
    two_way = metrics.macro(matrix_of(reference, verdict), ("A", "B"))[2]
    three_way = metrics.macro(matrix_of(reference, verdict))[2]
    assert two_way == pytest.approx((1 + 2 / 3) / 2)
    assert three_way == pytest.approx((1 + 2 / 3 + 0) / 3)


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
        assert function(matrices) == pytest.approx([float(function(matrix)) for matrix in matrices])


def test_nothing_over_nothing_is_nothing():
    assert ratio([0, 1, 0], [0, 2, 3]).tolist() == [0, 0.5, 0]
    assert metrics.accuracy(np.zeros((3, 4))) == 0
    assert metrics.macro(np.zeros((3, 4))) == (0, 0, 0)


def test_probability_losses_are_those_of_scikit_learn():
    rng = np.random.default_rng(3)
    probabilities = rng.dirichlet([1, 1, 1], size=50)
    reference = rng.integers(0, 3, 50)
    nll, brier = metrics.probability_losses(probabilities, reference)
    assert nll.mean() == pytest.approx(log_loss(reference, probabilities, labels=[0, 1, 2]))
    expected = brier_score_loss(reference, probabilities, labels=[0, 1, 2], scale_by_half=False)
    assert brier.mean() == pytest.approx(expected)


def test_logits_are_not_probabilities():
    with pytest.raises(ValueError, match="sum to one"):
        metrics.probability_losses([[2.0, -1.0, 0.5]], np.array([0]))


def test_ece_by_hand():
    bins = reliability_bins([1.0, 1.0, 0.0, 0.5], [1, 0, 0, 1], n_bins=2).sum(0)
    assert bins[0].tolist() == [1, 3]  # one half opens the upper bin, one closes it
    assert expected_calibration_error(bins) == pytest.approx((0 + abs(2.5 - 2)) / 4)


@pytest.mark.parametrize("confidence", [-0.1, 1.2, 4.0])
def test_confidence_outside_the_unit_interval_is_refused(confidence):
    with pytest.raises(ValueError, match="confidence"):
        reliability_bins([0.5, confidence], [1, 1])


@pytest.mark.parametrize("labels", [["A", "C"], ["a"], ["Tie"], [0]])
def test_unknown_labels_are_refused(labels):
    with pytest.raises(ValueError, match="not one of"):
        metrics.label_codes(labels)


def test_an_item_without_a_reference_is_refused():
    with pytest.raises(ValueError, match="without a reference"):
        metrics.confusion(metrics.label_codes(["A", None]), metrics.label_codes(["A", "A"]))


WITH_NONE = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from([*LABELS, None])), min_size=1, max_size=60)


@settings(max_examples=200, deadline=None)
@given(WITH_NONE)
def test_balanced_accuracy_and_mcc_are_those_of_scikit_learn(items):
    reference, verdict = zip(*items, strict=True)
    spoken = [label or "none" for label in verdict]
    matrix = matrix_of(reference, verdict)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns of verdicts that no reference has
        expected = balanced_accuracy_score(reference, spoken), matthews_corrcoef(reference, spoken)
    assert (metrics.balanced_accuracy(matrix), metrics.matthews_correlation(matrix)) == pytest.approx(expected)


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


def test_scores_that_do_not_pair_up_are_refused():
    with pytest.raises(ValueError, match="shape"):
        pearson([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="missing or infinite"):
        kendall([1, np.nan], [1, 2])
