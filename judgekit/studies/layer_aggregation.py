"""Every way of making scores of the same logits, measures of their order and size, and a tiny judge that is read."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.optimize import minimize_scalar

from judgekit.inside.layer_logits import LayerReader, checked_scores, layer_logits
from judgekit.inside.layers import (
    OVER,
    RatedItems,
    distribution,
    expected_score,
    last_only,
    uniform_weights,
)
from judgekit.models.one_pass import plan_of
from judgekit.prompts import load_strategy
from judgekit.records import PreferencePair, Response
from judgekit.stats import (
    Array,
    Floats,
    expected_calibration_error,
    kendall,
    pearson,
    ratio,
    reliability_bins,
    spearman,
    weighted_bootstrap,
)
from judgekit.studies.graded_tasks import grade_rows, graded_questions, graded_responses, single_prompts
from judgekit.training.causal import train_rows
from judgekit.training.causal_data import CausalRecipe, prompt_tokens, strategy_of
from judgekit.training.causal_tasks import tiny_tasks

_LENGTH = 128  # tokens of a prompt with its reply
Measure = Callable[[Floats], Any]  # of how often each item counts, one row per resample

# ---------------------------------------------------------------- ways of making scores


def modal_score(probabilities: Array, scores: Sequence[int]) -> Floats:
    """The most probable score of each row, the lowest of several, shape (n_items,); NaN where probabilities are."""
    probabilities, scale = np.asarray(probabilities, float), np.array(checked_scores(scores), float)
    return np.where(np.isnan(probabilities).any(-1), np.nan, scale[probabilities.argmax(-1)])


def aggregated_scores(
    logits: Array, scores: Sequence[int], learned: Array | None = None, last: bool = True
) -> dict[str, Floats]:
    """Scores of the same logits by every method and ablation, each of shape (n_items,).

    ``vscore``, the most probable score at the last layer; ``escore``, its expected score; ``uniform`` and ``learned``
    (weights that were fitted on other items), the expected score of logits averaged over layers. Ablations of the last
    two end in ``_argmax`` (most probable instead of expected), ``_probabilities`` and ``_double_softmax`` (what is
    averaged), or both. ``logits``: shape (n_items, n_layers, n_scores), NaN for an item without a score. ``last``:
    whether the uniform average counts the last layer.
    """
    n_layers = np.shape(logits)[1]
    at_last = distribution(logits, last_only(n_layers))
    made = {"vscore": modal_score(at_last, scores), "escore": expected_score(at_last, scores)}
    averages = {"uniform": uniform_weights(n_layers, last)} | ({} if learned is None else {"learned": learned})
    for name, weights in averages.items():
        for over in OVER:
            probabilities = distribution(logits, weights, over)
            stem = name if over == "logits" else f"{name}_{over}"
            made |= {stem: expected_score(probabilities, scores), f"{stem}_argmax": modal_score(probabilities, scores)}
    return made


def scaled_last(logits: Array, labels: Array, scores: Sequence[int], loss: str = "mixed") -> Floats:
    """All weight on the last layer, times the one number from 0.01 to 100 that suits rated items best: a control.

    Shape (n_layers,). Layers that tell nothing have small logits. Weight on them makes the sum of the others smaller
    and its softmax flatter, as a temperature does: what weights over layers gain beyond this, the layers have given.
    """
    items = RatedItems(logits, labels, scores, loss, last=True)
    last = torch.tensor(last_only(items.logits.shape[1]))
    fitted = minimize_scalar(
        lambda log: float(items.loss(np.exp(log) * last)), bounds=np.log([0.01, 100]), method="bounded"
    )
    return np.exp(fitted.x) * last.numpy()


# ---------------------------------------------------------------- order and size


def calibration_error(
    predicted: Array, labels: Array, scores: Sequence[int], n_bins: int = 10, weight: Array | None = None
) -> Floats:
    """Mean gap between predicted scores and people's, over bins of predicted scores, as a share of the scale.

    ``n_bins``: of equal width from the lowest score to the highest. ``weight``: how often each item counts, one row per
    resample, shape (..., n_items). This is the expected calibration error (Guo et al. 2017, arXiv:1706.04599) with
    shares of the scale in the places of confidence and accuracy: do items that get a 4 deserve a 4 on average? A
    constant at the mean label is calibrated. Biased upwards for few items. ValueError where a score lies outside the
    scale.

    >>> round(float(calibration_error([3, 3, 5], [1, 3, 5], range(1, 6))), 4)  # bins: gap 1 of 4 twice, and 0
    0.1667
    """
    scale, shares = checked_scores(scores), []
    for name, given in (("predicted scores", predicted), ("labels", labels)):
        values = np.asarray(given, float)
        if len(values) and not (values.min() >= scale[0] - 1e-9 and values.max() <= scale[-1] + 1e-9):
            ends = f"{values.min():g} to {values.max():g}"
            raise ValueError(f"{name} from {ends} on a scale from {scale[0]} to {scale[-1]}")
        shares.append(np.clip((values - scale[0]) / (scale[-1] - scale[0]), 0, 1))
    bins = reliability_bins(shares[0], shares[1], n_bins)
    weight = np.ones(len(bins)) if weight is None else np.asarray(weight, float)
    return expected_calibration_error((weight @ bins.reshape(len(bins), -1)).reshape(*weight.shape[:-1], 3, n_bins))


def _measures(predicted: Floats, labels: Floats, scores: Sequence[int], n_bins: int) -> dict[str, Measure]:
    """Every measure of some scores, as a function of how often each item counts."""
    gaps = np.abs(predicted - labels)
    measures: dict[str, Measure] = {
        metric.__name__: partial(metric, predicted, labels) for metric in (pearson, spearman, kendall)
    }
    measures["calibration_error"] = partial(calibration_error, predicted, labels, scores, n_bins)
    return measures | {"absolute_error": lambda weight: ratio(weight @ gaps, weight.sum(-1))}


def evaluated(
    predicted: Array,
    labels: Array,
    clusters: Array,
    scores: Sequence[int],
    n_bins: int = 10,
    n_boot: int = 2000,
    seed: int = 0,
    other: Array | None = None,
) -> dict[str, tuple[float, float, float]]:
    """Measures of scores held against people's, each with its interval: value, low, high.

    ``pearson``, ``spearman``, ``kendall`` (tau-b), `calibration_error` and ``absolute_error`` in points, over items
    that have a score; ``coverage``, the share that does. A correlation does not see whether scores are too high, or all
    in the middle of the scale; calibration does.

    ``predicted``: NaN where the model said no score, shape (n_items,). ``clusters``: question of each item; questions
    are resampled, not items. ``other``: scores whose measures are taken off, in the same resamples, on the items that
    have both scores. ValueError where the material does not fit together, a score is outside the scale, or fewer than
    two items have scores.
    """
    sides = [np.asarray(side, float) for side in (predicted, other) if side is not None]
    labels, clusters = np.asarray(labels, float), np.asarray(clusters, dtype=str)
    if len({len(side) for side in (*sides, labels, clusters)}) > 1:
        lengths = [len(side) for side in (*sides, labels, clusters)]
        raise ValueError(f"scores, labels and questions of different lengths: {lengths}")
    if not np.isfinite(labels).all():
        raise ValueError("a label is missing: leave the item out first")
    there = np.asarray(np.isfinite(sides).all(0))
    if there.sum() < 2:
        raise ValueError(f"{there.sum()} of {len(there)} items have a score: nothing to evaluate")
    first, *rest = (_measures(side[there], labels[there], scores, n_bins) for side in sides)

    def statistic(name: str) -> Measure:
        return lambda weight: first[name](weight) - sum(measures[name](weight) for measures in rest)

    found = {name: weighted_bootstrap(statistic(name), clusters[there], n_boot, seed) for name in first}
    if other is None:
        share = weighted_bootstrap(lambda weight: ratio(weight @ there, weight.sum(-1)), clusters, n_boot, seed)
        found["coverage"] = share
    return found


def ordered_pairs(labels: Array, clusters: Array) -> np.ndarray:
    """Pairs of items of the same question that differ in their labels, the better one first, shape (n_pairs, 2).

    >>> ordered_pairs([1, 3, 2], ["a", "a", "b"]).tolist()
    [[1, 0]]
    """
    members: Any = pd.Series(range(len(labels))).groupby(np.asarray(clusters, dtype=str)).apply(list)
    pairs = [pair for group in members for pair in combinations(group, 2) if labels[pair[0]] != labels[pair[1]]]
    return np.array([pair if labels[pair[0]] > labels[pair[1]] else pair[::-1] for pair in pairs]).reshape(-1, 2)


def _pair_hits(predicted: Array, pairs: np.ndarray) -> Floats:
    """Whether the better item of each pair has the higher score, a half where both have the same."""
    predicted = np.asarray(predicted, float)
    return (1 + np.sign(predicted[pairs[:, 0]] - predicted[pairs[:, 1]])) / 2


def measured(
    predictions: Mapping[Any, Array],
    labels: Array,
    clusters: Array,
    scores: Sequence[int],
    baseline: Any = None,
    in_pairs: bool = True,
    n_boot: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Every measure of every way of scoring: columns ``method, measure, value, low, high, n``.

    Measures are those of `evaluated`, and ``pair_accuracy``: the share of pairs of responses to the same question, with
    different labels, whose better one has the higher score (where there are any, and ``in_pairs``). ``baseline``: take
    differences from this method, in the same resamples, in place of the measures.
    """
    labels, names, rows = np.asarray(labels, float), np.asarray(clusters, dtype=str), []
    pairs: Any = ordered_pairs(labels, names) if in_pairs else ()
    other = None if baseline is None else predictions[baseline]
    for method, predicted in predictions.items():
        if method == baseline:
            continue
        found = evaluated(predicted, labels, names, scores, n_boot=n_boot, seed=seed, other=other)
        rows += [(method, measure, *ends, int(np.isfinite(predicted).sum())) for measure, ends in found.items()]
        if len(pairs):
            hits = _pair_hits(predicted, pairs) - (0 if other is None else _pair_hits(other, pairs))
            there = np.isfinite(hits)  # a pair with a missing score does not count
            share = partial(_mean, hits[there])
            ends = weighted_bootstrap(share, names[pairs[:, 0]][there], n_boot, seed)
            rows.append((method, "pair_accuracy", *ends, len(pairs)))
    return pd.DataFrame(rows, columns=["method", "measure", "value", "low", "high", "n"])


def _mean(values: Floats, weight: Floats) -> Floats:
    return ratio(weight @ values, weight.sum(-1))


# ---------------------------------------------------------------- a tiny judge that is read


def graded_material(
    n_questions: Mapping[str, int], n_pairs: int, seed: int
) -> tuple[dict[str, list[Response]], dict[str, list[PreferencePair]]]:
    """Authored responses with grades from 1 to 5, and authored pairs, by part (validation, test)."""
    items = {part: graded_responses(graded_questions(n, part, seed=seed), part) for part, n in n_questions.items()}
    return items, {part: tiny_tasks(n_pairs, part, seed=seed + 1) for part in n_questions}


def train_grader(start: Path, folder: Path, steps: int, rate: float, seed: int) -> dict[str, Any]:
    """Teach a judge that says right or wrong to say grades, on other questions; the content of its training.json."""
    given: dict[str, Any] = {"method": "drill", "base": str(start), "steps": steps, "lr": rate, "n_pairs": 0}
    recipe = CausalRecipe(**given, eval_every=max(1, steps // 4), max_length=_LENGTH)
    strategy = strategy_of(recipe)
    questions = [graded_questions(32 * steps), graded_questions(300, "validation", seed=seed + 1)]
    return train_rows(recipe, lambda words: [grade_rows(rows, strategy, words) for rows in questions], folder)


def read_layers(folder: Path, asked: Sequence[Any], said: Mapping[int, str] | None = None) -> dict[bool, Floats]:
    """Logits of what may be said at every layer, without the final norm (False) and with it (True).

    ``asked``: responses to mark or grade, or pairs to judge. ``said``: score to the text that says it; for pairs the
    verdicts, of which the second response is 1.
    """
    reader, strategy = LayerReader(str(folder)), load_strategy("letter", "strict")
    said = said or {0: strategy.said["first"], 1: strategy.said["second"]}
    plan, tokenizer = plan_of(said, reader.tokens.reply_tokens), reader.tokens.tokenizer
    if isinstance(asked[0], Response):
        prompts = single_prompts(asked, strategy, tokenizer)
    else:
        prompts = [prompt_tokens(tokenizer, strategy, pair, _LENGTH) for pair in asked]
    return {normed: layer_logits(reader.engine, prompts, plan, normed) for normed in (False, True)}
