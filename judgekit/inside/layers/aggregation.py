"""Scores from logits of all layers: which layers count, what is averaged, and what is read off the result."""

from collections.abc import Sequence

import numpy as np
from scipy.special import softmax

from judgekit.inside.layers.scale import checked_scores
from judgekit.stats import Array, Floats

OVER = ("logits", "probabilities", "double_softmax")


def checked_logits(logits: Array, n_scores: int | None = None) -> Floats:
    """Logits as an array of shape (n_items, n_layers, n_scores).

    ValueError where the shape is another one, or the number of scores is not that of the scale.
    """
    logits = np.asarray(logits, float)
    if logits.ndim != 3 or 0 in logits.shape[1:]:
        raise ValueError(f"logits of shape {logits.shape}: (items, layers, scores) is needed")
    if n_scores is not None and logits.shape[2] != n_scores:
        raise ValueError(f"logits of {logits.shape[2]} scores, but the scale has {n_scores}")
    return logits


def uniform_weights(n_layers: int, last: bool = True) -> Floats:
    """Equal weights that sum to one, with 0 for the last layer where it is left out, shape (n_layers,).

    >>> uniform_weights(3, last=False).tolist()
    [0.5, 0.5, 0.0]
    """
    used = n_layers if last else n_layers - 1
    if used < 1:
        raise ValueError(f"{n_layers} layers leave none to average")
    return np.r_[np.full(used, 1 / used), np.zeros(n_layers - used)]


def last_only(n_layers: int) -> Floats:
    """All weight on the last layer, shape (n_layers,)."""
    return np.eye(n_layers)[-1]


def distribution(logits: Array, weights: Array, over: str = "logits") -> Floats:
    """Probabilities of the scores (or verdicts) from all layers, shape (n_items, n_scores).

    Rows sum to one; NaN where logits are. ``logits``: shape (n_items, n_layers, n_scores). ``weights``: shape
    (n_layers,), not negative. ``over``: what is averaged: ``logits``, before the softmax; each layer's
    ``probabilities``; or these, with another softmax after it (``double_softmax``).

    With z_l the logits of layer l, ``softmax(sum_l w_l z_l)`` is LAGER (arXiv 2508.03550). Its code's "aggregate
    probabilities" is ``softmax(sum_l w_l softmax(z_l))``: exponents that lie within [0, 1] are all but flat, so that
    this ablation compares with a method that hardly can score. ``probabilities``, ``sum_l w_l softmax(z_l)``, is the
    fair one.

    ValueError where the weights are not one for each layer, negative, or all zero, or ``over`` is unknown.

    >>> logits = np.log([[[0.5, 0.5], [0.9, 0.1]]])
    >>> distribution(logits, [0.5, 0.5]).round(2).tolist()
    [[0.75, 0.25]]
    >>> distribution(logits, [0.5, 0.5], "probabilities").round(2).tolist()
    [[0.7, 0.3]]
    >>> distribution(logits, [0.5, 0.5], "double_softmax").round(2).tolist()
    [[0.6, 0.4]]
    """
    logits, weights = checked_logits(logits), np.asarray(weights, float)
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
    """Mean of the scale under each row of probabilities, shape (n_items,).

    >>> expected_score([[0.25, 0.75]], (1, 5)).tolist()
    [4.0]
    """
    return np.asarray(probabilities, float) @ np.array(checked_scores(scores), float)


def modal_score(probabilities: Array, scores: Array) -> Floats:
    """The most probable score of each row, the lowest of several, shape (n_items,); NaN where probabilities are."""
    probabilities, scores = np.asarray(probabilities, float), np.array(checked_scores(scores), float)
    return np.where(np.isnan(probabilities).any(-1), np.nan, scores[probabilities.argmax(-1)])


def aggregated_scores(
    logits: Array, scores: Sequence[int], learned: Array | None = None, last: bool = True
) -> dict[str, Floats]:
    """Scores of the same logits by every method and ablation, each of shape (n_items,).

    ``vscore``, the most probable score at the last layer; ``escore``, its expected score; ``uniform`` and ``learned``,
    the expected score of logits averaged over layers. Ablations of the last two end in ``_argmax`` (most probable
    instead of expected), ``_probabilities`` and ``_double_softmax`` (what is averaged, `distribution`), or both.

    ``logits``: shape (n_items, n_layers, n_scores), NaN for an item without a score. ``learned``: weights that were
    fitted on other items (`judgekit.inside.layers.weights`), shape (n_layers,). ``last``: whether the uniform average
    counts the last layer. ValueError where logits, scale and weights do not fit together.
    """
    scores = checked_scores(scores)
    logits = checked_logits(logits, len(scores))
    n_layers = logits.shape[1]
    at_last = distribution(logits, last_only(n_layers))
    found = {"vscore": modal_score(at_last, scores), "escore": expected_score(at_last, scores)}
    averages = {"uniform": uniform_weights(n_layers, last)} | ({} if learned is None else {"learned": learned})
    for name, weights in averages.items():
        for over in OVER:
            probabilities = distribution(logits, weights, over)
            stem = name if over == "logits" else f"{name}_{over}"
            found[stem] = expected_score(probabilities, scores)
            found[f"{stem}_argmax"] = modal_score(probabilities, scores)
    return found
