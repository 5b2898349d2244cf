"""Scores from layers held against labels, and against the published code on a model that a seed makes.

The published code (LAGER, arXiv:2508.03550) was run once on the seeded model and prompts; only its numbers are kept
(``layer_aggregation.json`` says which commit).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import resources
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.optimize import minimize_scalar
from torch.utils.data import DataLoader

from judgekit.inside.layer_logits import checked_scores, layer_logits, written_up_to
from judgekit.inside.layers import (
    OVER,
    LayerWeights,
    RatedItems,
    distribution,
    expected_score,
    last_only,
    modal_score,
    uniform_weights,
)
from judgekit.models.causal import CausalModel
from judgekit.models.one_pass import Plan
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

Measure = Callable[[Floats], Any]  # of how often each item counts, one row per resample

# ---------------------------------------------------------------- ways of making scores


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


def published_weights(
    logits: Array,
    labels: Array,
    scores: Sequence[int],
    loss: str = "mixed",
    last: bool = False,
    batch_size: int = 4,
    rate: float = 0.01,
    seed: int = 42,
) -> LayerWeights:
    """Weights after one epoch of Adam, as LAGER's code fits them; material as for `judgekit.inside.layers.fit_weights`.

    ``batch_size``: the published code has 4 with the mixed loss, and 8 with cross-entropy. The search starts from equal
    weights; with the last layer, from parameters 0 and 1 for the last. An item moves a parameter by about ``rate /
    batch_size`` at most: a thousand items cannot bring the weights far.
    """
    items = RatedItems(logits, labels, scores, loss, last)
    start = torch.zeros(items.logits.shape[1], dtype=torch.float64)
    if last:
        start[-1] = 1
    parameters = torch.nn.Parameter(start)
    optimiser = torch.optim.Adam([parameters], lr=rate)
    with torch.random.fork_rng(devices=[]):  # the caller's random numbers are not ours to use up
        torch.manual_seed(seed)
        # torch's types ask for a Dataset; any sequence will do.
        for rows in DataLoader(range(len(items.labels)), batch_size=batch_size, shuffle=True):  # type: ignore[arg-type]
            optimiser.zero_grad()
            items.loss(parameters.softmax(0), rows).backward()
            optimiser.step()
    return items.weights(parameters.detach())


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
    bins = reliability_bins(*shares, n_bins)
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
    there = np.isfinite(sides).all(0)
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


# ---------------------------------------------------------------- beside the published code

SCALE, SCORE_IDS = (1, 2, 3, 4, 5), (11, 12, 13, 14, 15)
PLAN = Plan(SCALE, tuple("12345"), (), tuple((token,) for token in SCORE_IDS))
_N_PROMPTS, _N_TRAIN, _VOCABULARY = 48, 36, 40


def seeded_model(seed: int = 0) -> Any:
    """Three Llama blocks with a final norm that is far from the identity; no token ends a reply.

    numpy promises that `RandomState` gives the same numbers in all its versions; torch promises no such thing.
    """
    from transformers import LlamaConfig, LlamaForCausalLM

    shape = {"hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 3, "head_dim": 6}
    shape |= {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128}
    tokens = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": 0, "tie_word_embeddings": False}
    model: Any = LlamaForCausalLM(LlamaConfig(vocab_size=_VOCABULARY, **shape, **tokens)).eval()
    draws = np.random.RandomState(seed)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            values = draws.standard_normal(tuple(weight.shape)) * 0.3
            values = values + 1 if "norm" in name else values * 3 if "embed_tokens" in name else values
            weight.copy_(torch.tensor(values, dtype=torch.float32))
    return model


def seeded_prompts(seed: int = 1) -> tuple[list[list[int]], list[int]]:
    """Prompts of 5 to 30 tokens, and what people are said to have rated: whole scores from 1 to 5."""
    draws = np.random.RandomState(seed)
    prompts = [draws.randint(1, _VOCABULARY, size=draws.randint(5, 31)).tolist() for _ in range(_N_PROMPTS)]
    return prompts, draws.randint(1, 6, size=_N_PROMPTS).tolist()


def beside_published() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """This package's values and the published code's, of the same shape, by part; computed now.

    ``logits`` of every layer, ``vscore`` and ``escore``, weights by both losses, and scores of the last rows by every
    aggregate, which weights from the first rows go into. ValueError where the completions differ, or scores were found
    elsewhere: what follows would compare different things.
    """
    theirs = json.loads((resources.files("judgekit.studies") / "layer_aggregation.json").read_text(encoding="utf-8"))
    engine, (prompts, labels) = CausalModel(seeded_model()), seeded_prompts()
    completions: Any = engine.generate(prompts, 10)
    logits = layer_logits(engine, written_up_to(prompts, completions, PLAN), PLAN)
    there = np.array([row is not None for row in theirs["logits"]])
    if completions != theirs["completions"] or (np.isnan(logits).any((1, 2)) == there).any():
        raise ValueError("the seeded model wrote other completions than under the published code")
    scores, train = aggregated_scores(logits, SCALE), np.arange(_N_PROMPTS) < _N_TRAIN
    pairs: dict[str, Any] = {"logits": (logits[there], [row for row in theirs["logits"] if row is not None])}
    pairs |= {name: (scores[name][there], np.array(theirs[name])[there]) for name in ("vscore", "escore")}
    known = logits[there & train], np.array(labels)[there & train], SCALE
    mixed = published_weights(*known)
    entropy = published_weights(*known, "cross_entropy", last=True, batch_size=8)
    pairs["weights_mixed"] = (mixed.values, [*theirs["weights_mixed_without_last"], 0])
    pairs["weights_cross_entropy"] = (entropy.values, theirs["weights_cross_entropy_with_last"])
    rest = logits[there & ~train]
    made = aggregated_scores(rest, SCALE, mixed.values, last=False)
    summed = distribution(rest, [1, 1, 1, 0], "double_softmax")  # the published code sums here: it does not average
    made |= {"summed": expected_score(summed, SCALE), "summed_argmax": modal_score(summed, SCALE)}
    pairs |= {name: (made[ours], theirs["test_scores"][name]) for name, ours in PUBLISHED_NAMES.items()}
    return {name: (np.asarray(ours, float), np.asarray(other, float)) for name, (ours, other) in pairs.items()}


PUBLISHED_NAMES = {  # the published code's names of aggregates, and ours
    "direct_score": "vscore",
    "e_score": "escore",
    "lager_w": "learned",
    "lager_wo": "uniform",
    "logits_agg_max_score": "uniform_argmax",
    "logits_agg_weighted_max_score": "learned_argmax",
    "prob_weighted_agg_e_score": "learned_double_softmax",
    "prob_weighted_agg_max_score": "learned_double_softmax_argmax",
    "prob_agg_e_score": "summed",
    "prob_agg_max_score": "summed_argmax",
}
