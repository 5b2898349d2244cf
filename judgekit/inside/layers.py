"""Scores from the logits of all layers: how layers are weighed, what is averaged, and weights kept in a file.

With z_l the logits of the scores at layer l, LAGER (arXiv:2508.03550) is the expected score under
``softmax(sum_l w_l z_l)``. Which logits: `judgekit.inside.layer_logits`.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import AfterValidator, ConfigDict, Field
from pydantic.dataclasses import dataclass
from scipy.optimize import minimize
from scipy.special import softmax
from torch.nn.functional import cross_entropy

from judgekit.data.files import write_json
from judgekit.inside.saved_probes import read_json
from judgekit.prompts.rubrics import checked_scores
from judgekit.stats import Array, Floats

OVER = ("logits", "probabilities", "double_softmax")
# What cross-entropy counts; the rest is the squared error of the expected score. The published code has a parameter of
# that share, started at 0.5 before a sigmoid, and reads it once per epoch: in its one epoch it never changes.
LOSSES = {"cross_entropy": 1.0, "mixed": 1 / (1 + np.exp(-0.5))}


def _checked_logits(logits: Array, n_scores: int | None = None) -> Floats:
    """Logits as an array of shape (n_items, n_layers, n_scores); ValueError where it is another."""
    logits = np.asarray(logits, float)
    if logits.ndim != 3 or 0 in logits.shape[1:]:
        raise ValueError(f"logits of shape {logits.shape}: (items, layers, scores) is needed")
    if n_scores is not None and logits.shape[2] != n_scores:
        raise ValueError(f"logits of {logits.shape[2]} scores, but the scale has {n_scores}")
    return logits


def distribution(logits: Array, weights: Array, over: str = "logits") -> Floats:
    """Probabilities of the scores from all layers, shape (n_items, n_scores); NaN where logits are.

    ``logits``: shape (n_items, n_layers, n_scores). ``weights``: shape (n_layers,), not negative, not all zero.
    ``over``: what is averaged: ``logits``, before the softmax (LAGER); each layer's ``probabilities``; or these, with
    another softmax after it (``double_softmax``, the published code's ablation: all but flat).

    >>> logits = np.log([[[0.5, 0.5], [0.9, 0.1]]])
    >>> [distribution(logits, [0.5, 0.5], over).round(2).tolist() for over in OVER]
    [[[0.75, 0.25]], [[0.7, 0.3]], [[0.6, 0.4]]]
    """
    logits, weights = _checked_logits(logits), np.asarray(weights, float)
    if weights.shape != logits.shape[1:2]:
        raise ValueError(f"weights of shape {weights.shape} for {logits.shape[1]} layers")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError("weights must be finite, not negative, and not all zero")
    if over not in OVER:
        raise ValueError(f"over={over!r} is none of {', '.join(OVER)}")
    if over == "logits":
        return softmax(np.einsum("l,nlk->nk", weights, logits), axis=-1)
    mixed = np.einsum("l,nlk->nk", weights, softmax(logits, axis=-1))
    return softmax(mixed, axis=-1) if over == "double_softmax" else mixed / weights.sum()


def expected_score(probabilities: Array, scores: Sequence[int]) -> Floats:
    """Mean of the scale under each row of probabilities, shape (n_items,)."""
    return np.asarray(probabilities, float) @ np.array(checked_scores(scores), float)


def _sum_to_one(values: tuple[float, ...]) -> tuple[float, ...]:
    if not math.isclose(sum(values), 1, abs_tol=1e-6):
        raise ValueError("weights over layers must sum to 1")
    return values


_STRICT = ConfigDict(strict=True, allow_inf_nan=False)


@dataclass(frozen=True, config=_STRICT)
class LayerWeights:
    """Weights over layers, and what they hold for."""

    # one for each layer, the embedding output first
    values: Annotated[tuple[Annotated[float, Field(ge=0)], ...], Field(min_length=2), AfterValidator(_sum_to_one)]
    scores: Annotated[tuple[int, ...], AfterValidator(checked_scores)]  # the scale
    loss: Literal["cross_entropy", "mixed"]
    n_items: int  # rated items that they were fitted on
    training_loss: float  # on those items, with these weights

    def expected_scores(self, logits: Array) -> Floats:
        """Expected scores of items, shape (n_items,), from logits of shape (n_items, n_layers, n_scores)."""
        return expected_score(distribution(_checked_logits(logits, len(self.scores)), self.values), self.scores)


class RatedItems:
    """Checked items to fit weights on, as tensors: ``logits`` (n_items, n_layers, n_scores), ``labels`` (n_items,).

    ``labels``: what people gave, from the lowest score to the highest; may be fractional. ``loss``: of `LOSSES`.
    """

    def __init__(self, logits: Array, labels: Array, scores: Sequence[int], loss: str) -> None:
        if loss not in LOSSES:
            raise ValueError(f"loss={loss!r} is none of {', '.join(LOSSES)}")
        scale = checked_scores(scores)
        logits, labels = _checked_logits(logits, len(scale)), np.asarray(labels, float)
        if labels.shape != logits.shape[:1] or not len(labels):
            raise ValueError(f"labels of shape {labels.shape} for {len(logits)} items")
        if not (np.isfinite(logits).all() and np.isfinite(labels).all()):
            raise ValueError("a logit or label is missing: leave items without a score out of training")
        if labels.min() < scale[0] or labels.max() > scale[-1]:
            ends = f"{labels.min():g} to {labels.max():g}"
            raise ValueError(f"labels from {ends} on a scale from {scale[0]} to {scale[-1]}")
        # A label between two scores is divided between them.
        target = np.stack([np.interp(labels, scale, row) for row in np.eye(len(scale))], axis=-1)
        given = (logits, labels, target, scale)
        self.logits, self.labels, self._target, self._scores = (torch.tensor(x, dtype=torch.float64) for x in given)
        self._kind, self._scale = loss, scale

    def loss(self, weights: torch.Tensor, rows: Any = slice(None)) -> torch.Tensor:
        """Loss of some weights (n_layers,), which need not sum to one, on some of the items."""
        share = LOSSES[self._kind]
        logits = torch.einsum("l,nlk->nk", weights, self.logits[rows])
        gap = logits.softmax(-1) @ self._scores - self.labels[rows]
        return share * cross_entropy(logits, self._target[rows]) + (1 - share) * (gap**2).mean()

    def weights(self, parameters: torch.Tensor) -> LayerWeights:
        """The softmax of some parameters (n_layers,), as weights with their loss."""
        values = parameters.detach().softmax(0)
        loss: Any = self._kind
        return LayerWeights(tuple(values.tolist()), self._scale, loss, len(self.labels), float(self.loss(values)))


def fit_weights(logits: Array, labels: Array, scores: Sequence[int], loss: str = "mixed") -> LayerWeights:
    """The weights with the least loss on rated items.

    ``loss``: ``cross_entropy``, or ``mixed``: 0.62 of it and 0.38 of the mean squared error of the expected score. Both
    are those of LAGER's code, whose search is a single epoch of Adam, which stops near where it started
    (`judgekit.studies.published_layers.published_weights`); here it goes on to the optimum, by L-BFGS, so that the
    outcome depends on no seed, no order and no step size. RuntimeError where the search does not end.
    """
    items = RatedItems(logits, labels, scores, loss)

    def loss_and_gradient(values: Floats) -> tuple[float, Floats]:
        parameters: Any = torch.tensor(values, requires_grad=True)
        value = items.loss(parameters.softmax(0))
        value.backward()
        return float(value.detach()), parameters.grad.numpy()

    options = {"maxiter": 5000, "ftol": 1e-13, "gtol": 1e-8}
    fitted = minimize(loss_and_gradient, np.zeros(items.logits.shape[1]), jac=True, method="L-BFGS-B", options=options)
    if not fitted.success:
        raise RuntimeError(f"the weights did not converge: {fitted.message}")
    return items.weights(torch.tensor(fitted.x))


class WeightsError(ValueError):
    """A file of weights cannot be used; the message names the file and the field."""


@dataclass(frozen=True, config=_STRICT)
class SavedWeights:
    """Weights over layers, and what was read to fit them."""

    weights: LayerWeights
    model: str  # fingerprint of the model (`judgekit.inside.layer_logits.LayerReader`), its files and their precision
    prompt: str  # version of the prompt (`judgekit.prompts.Strategy`)
    normed: bool = False  # whether layers went through the final norm
    over: Literal["logits", "probabilities", "double_softmax"] = "logits"  # what the weights average
    schema: Literal[1] = 1


def save_weights(path: str | Path, saved: SavedWeights) -> Path:
    """The path of a JSON file to which weights were written."""
    return write_json(path, asdict(saved))


def load_weights(path: str | Path, **wanted: Any) -> SavedWeights:
    """Weights from a JSON file; WeightsError where it is missing or damaged, or was fitted for something else.

    ``wanted``: what they must have been fitted for: ``model``, ``prompt``, ``normed``, ``over``, ``scores``.
    """
    saved: SavedWeights = read_json(Path(path), SavedWeights, WeightsError)
    for name, value in wanted.items():
        value = tuple(value) if name == "scores" else value
        if value != (given := saved.weights.scores if name == "scores" else getattr(saved, name)):
            raise WeightsError(f"{path}: field {name!r}: weights for {given!r} cannot be used for {value!r}")
    return saved
