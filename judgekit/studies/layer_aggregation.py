"""Marks that a language model gives when it is asked, read at every layer, held against people's."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize_scalar

from judgekit.data.files import replaced
from judgekit.data.paths import run_folder
from judgekit.inside.layer_logits import LayerReader, checked_scores, read_scores
from judgekit.inside.layers import RatedItems, last_only
from judgekit.prompts.rubrics import Rubric, score_prompt
from judgekit.records import Response, fingerprint_of
from judgekit.stats import (
    Array,
    Floats,
    Number,
    expected_calibration_error,
    interval,
    kendall,
    pearson,
    ratio,
    reliability_bins,
    spearman,
)

Measure = Callable[[Floats], Any]  # of how often each item counts, one row per resample


def read_marks(run: str, reader: LayerReader, rubric: Rubric, items: Sequence[Response]) -> Floats:
    """Logits of the marks at every layer, shape (n_items, n_layers + 1, n_marks), kept among the run's models."""
    prompt = score_prompt("direct", rubric)
    texts = [(item.question, item.response, item.reference) for item in items]
    key = fingerprint_of(reader.fingerprint, prompt.version, texts)
    path = run_folder(run, "models", "layers") / f"{key}.npy"
    if not path.is_file():
        logits = read_scores(reader, prompt, items, rubric.scores, progress=True)
        with replaced(path) as temporary, temporary.open("wb") as file:
            np.save(file, logits)
    kept: Floats = np.load(path)
    return kept


def scaled_last(logits: Array, labels: Array, scores: Sequence[int], loss: str = "mixed") -> Floats:
    """All weight on the last layer, times the one number from 0.01 to 100 that suits rated items best: a control.

    Shape (n_layers,). Layers that tell nothing have small logits. Weight on them makes the sum of the others smaller
    and its softmax flatter, as a temperature does: what weights over layers gain beyond this, the layers have given.
    """
    items = RatedItems(logits, labels, scores, loss)
    last = torch.tensor(last_only(items.logits.shape[1]))
    fitted = minimize_scalar(
        lambda log: float(items.loss(np.exp(log) * last)), bounds=np.log([0.01, 100]), method="bounded"
    )
    return np.exp(fitted.x) * last.numpy()


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


def evaluated(
    predicted: Array,
    labels: Array,
    clusters: Array,
    scores: Sequence[int],
    n_boot: int = 2000,
    seed: int = 0,
    other: Array | None = None,
) -> dict[str, Number]:
    """Measures of scores held against people's, with intervals from a bootstrap over questions.

    ``pearson``, ``spearman``, ``kendall`` (tau-b), `calibration_error` and ``absolute_error`` in points. A correlation
    does not see whether scores are too high, or all in the middle of the scale; calibration does. ``predicted``: shape
    (n_items,). ``clusters``: question of each item. ``other``: scores whose measures are taken off, in the same
    resamples. ValueError where the material does not fit together, a score is missing or outside the scale, or there
    are fewer than two items.
    """
    sides = [np.asarray(side, float) for side in (predicted, other) if side is not None]
    labels = np.asarray(labels, float)
    if len({len(side) for side in (*sides, labels, clusters)}) > 1 or len(labels) < 2:
        raise ValueError(f"{len(labels)} labels, {len(clusters)} questions, {[len(side) for side in sides]} scores")
    if not (np.isfinite(labels).all() and np.isfinite(sides).all()):
        raise ValueError("a score or label is missing: leave the item out first")

    def measures_of(side: Floats) -> dict[str, Measure]:
        gaps = np.abs(side - labels)
        return {
            "pearson": partial(pearson, side, labels),
            "spearman": partial(spearman, side, labels),
            "kendall": partial(kendall, side, labels),
            "calibration_error": lambda weight: calibration_error(side, labels, scores, weight=weight),
            "absolute_error": lambda weight: ratio(weight @ gaps, weight.sum(-1)),
        }

    first, *rest = map(measures_of, sides)

    def number(name: str) -> Number:
        def statistic(weight: Floats) -> Floats:
            return first[name](weight) - sum(measures[name](weight) for measures in rest)

        return interval(statistic, clusters, n_boot=n_boot, seed=seed, spec=".2f", signed=bool(rest))

    return {name: number(name) for name in first}
