"""Every way of making scores of the same logits, held against labels: tidy tables for a study.

Weights are fitted on validation items; test items are scored and measured, and nothing else is done with them.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from judgekit.inside.layers.aggregation import aggregated_scores, distribution, expected_score
from judgekit.inside.layers.evaluation import differences, evaluated
from judgekit.inside.layers.weights import LayerWeights, fit_weights, published_weights, scaled_last
from judgekit.stats import Array, Floats, ratio, weighted_bootstrap

# The two losses, with and without the last layer; the published code fits one epoch of each of two of them.
FITTED: dict[str, dict[str, Any]] = {
    "learned": {"loss": "mixed", "last": True},
    "learned_no_last": {"loss": "mixed", "last": False},
    "learned_entropy": {"loss": "cross_entropy", "last": True},
    "learned_entropy_no_last": {"loss": "cross_entropy", "last": False},
}
PUBLISHED: dict[str, dict[str, Any]] = {
    "published": {"loss": "mixed", "last": False, "batch_size": 4},
    "published_entropy": {"loss": "cross_entropy", "last": True, "batch_size": 8},
}


def fitted_weights(logits: Floats, labels: Array, scores: Sequence[int]) -> dict[str, LayerWeights]:
    """Weights over layers by every way of fitting them.

    By keys of `FITTED`, to the optimum, and of `PUBLISHED`, one epoch. ``logits``: of validation items, shape (n_items,
    n_layers, n_scores); rows of NaN are left out.
    """
    there = ~np.isnan(logits).any((1, 2))
    rated = logits[there], np.asarray(labels, float)[there], scores
    found = {name: fit_weights(*rated, **how) for name, how in FITTED.items()}
    return found | {name: published_weights(*rated, **how) for name, how in PUBLISHED.items()}


def scores_by_method(
    validation: Mapping[bool, Floats], labels: Array, test: Mapping[bool, Floats], scores: Sequence[int]
) -> tuple[dict[str, Floats], dict[str, LayerWeights]]:
    """Scores of test items by every method and ablation, each of shape (n_test,), and the fitted weights.

    ``vscore``, ``escore``; ``escore_scaled``, with one number fitted (`inside.layers.weights.scaled_last`); ``uniform``
    and ``uniform_no_last``; each of `fitted_weights`; ``uniform_normed`` and ``learned_normed``; ablations of
    ``uniform`` and ``learned`` (`judgekit.inside.layers.aggregation.aggregated_scores`).

    ``validation``, ``test``: logits without the final norm (False) and with it (True), shape (n_items, n_layers,
    n_scores). ``labels``: of the validation items.
    """
    weights = fitted_weights(validation[False], labels, scores)
    there = ~np.isnan(validation[False]).any((1, 2))
    rated = validation[False][there], np.asarray(labels, float)[there], scores
    logits = test[False]
    found = aggregated_scores(logits, scores, weights["learned"].values)
    found["escore_scaled"] = expected_score(distribution(logits, scaled_last(*rated)), scores)
    found["uniform_no_last"] = aggregated_scores(logits, scores, last=False)["uniform"]
    found |= {name: fitted.expected_scores(logits) for name, fitted in weights.items()}
    weights["learned_normed"] = fit_weights(validation[True][there], rated[1], scores)
    normed = aggregated_scores(test[True], scores, weights["learned_normed"].values)
    return found | {f"{name}_normed": normed[name] for name in ("uniform", "learned")}, weights


def scores_by_layer(logits: Floats, scores: Sequence[int]) -> Floats:
    """Expected scores by each layer alone, shape (n_layers, n_items)."""
    n_layers = logits.shape[1]
    return np.stack([expected_score(distribution(logits, row), scores) for row in np.eye(n_layers)])


def ordered_pairs(labels: Array, clusters: Array) -> np.ndarray:
    """Pairs of items of the same question that differ in their labels, the better one first, shape (n_pairs, 2).

    >>> ordered_pairs([1, 3, 2], ["a", "a", "b"]).tolist()
    [[1, 0]]
    """
    members: Any = pd.Series(range(len(labels))).groupby(np.asarray(clusters, dtype=str)).apply(list)
    pairs = [pair for group in members for pair in combinations(group, 2) if labels[pair[0]] != labels[pair[1]]]
    return np.array([pair if labels[pair[0]] > labels[pair[1]] else pair[::-1] for pair in pairs]).reshape(-1, 2)


def pair_hits(predicted: Array, pairs: np.ndarray) -> Floats:
    """Whether the better item of each pair has the higher score, a half where both have the same."""
    predicted = np.asarray(predicted, float)
    return (1 + np.sign(predicted[pairs[:, 0]] - predicted[pairs[:, 1]])) / 2


def measured(
    predictions: Mapping[str, Array],
    labels: Array,
    clusters: Array,
    scores: Sequence[int],
    baseline: str | None = None,
    in_pairs: bool = True,
    n_boot: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Every measure of every way of scoring: columns ``method, measure, value, low, high, n``.

    Measures are those of `inside.layers.evaluation.evaluated`, and ``pair_accuracy``: the share of pairs of responses
    to the same question, with different labels, whose better one has the higher score (where there are any).

    ``predictions``: by method, shape (n_items,). ``clusters``: question of each item; questions are resampled.
    ``baseline``: take differences from this one, in the same resamples, in place of the measures. ``in_pairs``: whether
    responses to the same question are also compared with each other.
    """
    labels, names = np.asarray(labels, float), np.asarray(clusters, dtype=str)
    how = {"n_boot": n_boot, "seed": seed}
    pairs: Any = ordered_pairs(labels, names) if in_pairs else ()
    rows = []
    for method, predicted in predictions.items():
        if baseline is None:
            found = evaluated(predicted, labels, names, scores, **how)
        elif method != baseline:
            found = differences(predicted, predictions[baseline], labels, names, scores, **how)
        else:
            continue
        n = dict.fromkeys(found, int(np.isfinite(predicted).sum()))
        if len(pairs):
            hits = pair_hits(predicted, pairs) - (0 if baseline is None else pair_hits(predictions[baseline], pairs))
            found["pair_accuracy"] = mean_over_questions(hits, names[pairs[:, 0]], **how)
            n["pair_accuracy"] = len(pairs)
        rows += [(method, measure, *found[measure], n[measure]) for measure in found]
    return pd.DataFrame(rows, columns=["method", "measure", "value", "low", "high", "n"])


def mean_over_questions(values: Floats, clusters: np.ndarray, n_boot: int, seed: int) -> tuple[float, float, float]:
    """A mean with its interval; pairs with a missing score count in neither."""
    there = np.isfinite(values)
    values, clusters = values[there], clusters[there]
    return weighted_bootstrap(lambda weight: ratio(weight @ values, weight.sum(-1)), clusters, n_boot, seed)
