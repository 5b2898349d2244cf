"""Rated items that weights over layers are learned from: logits, labels, and the loss of some weights on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from judgekit.inside.layers.aggregation import checked_logits
from judgekit.inside.layers.scale import checked_scores
from judgekit.stats import Array, Floats


@dataclass(frozen=True)
class RatedItems:
    """Checked training material, as tensors.

    ``logits``: shape (n_items, n_used_layers, n_scores). ``labels``: (n_items,). ``target``: labels as probabilities
    (`soft_target`), shape (n_items, n_scores). ``scores``: the scale, (n_scores,).
    """

    logits: torch.Tensor
    labels: torch.Tensor
    target: torch.Tensor
    scores: torch.Tensor

    def loss(self, parameters: torch.Tensor, share: float, rows: Any = slice(None)) -> torch.Tensor:
        """Loss of the softmax of some parameters (n_used_layers,) as weights.

        ``share``: of cross-entropy; the rest is the squared error of the expected score, in squared points. ``rows``:
        which items.
        """
        return self.loss_of(parameters.softmax(0), share, rows)

    def loss_of(self, weights: torch.Tensor, share: float, rows: Any = slice(None)) -> torch.Tensor:
        """Loss of some weights, which need not sum to one; otherwise as `loss`."""
        logits = torch.einsum("l,nlk->nk", weights, self.logits[rows])
        gap = logits.softmax(-1) @ self.scores - self.labels[rows]
        return share * cross_entropy(logits, self.target[rows]) + (1 - share) * (gap**2).mean()


def soft_target(labels: Array, scores: Sequence[int]) -> Floats:
    """Labels as probabilities of scores, shape (n_items, n_scores): a label between two is divided between them.

    The published code drops what follows the decimal point: 3.67, the mean of three raters, becomes 3.

    >>> soft_target([2, 2.25], (1, 2, 3)).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.75, 0.25]]
    """
    return np.stack([np.interp(labels, scores, row) for row in np.eye(len(scores))], axis=-1)


def rated_items(logits: Array, labels: Array, scores: Sequence[int], last: bool) -> RatedItems:
    """Training material after a look at it.

    ``logits``: shape (n_items, n_layers, n_scores). ``last``: whether the last layer is used. ValueError where shapes
    do not fit, a number is missing, a label lies outside the scale, or no layer or item is left.
    """
    scores = checked_scores(scores)
    logits, labels = checked_logits(logits, len(scores)), np.asarray(labels, float)
    if labels.shape != logits.shape[:1] or not len(labels):
        raise ValueError(f"labels of shape {labels.shape} for {len(logits)} items")
    if not (np.isfinite(logits).all() and np.isfinite(labels).all()):
        raise ValueError("a logit or label is missing: leave items without a score out of training")
    if labels.min() < scores[0] or labels.max() > scores[-1]:
        raise ValueError(
            f"labels from {labels.min():g} to {labels.max():g} on a scale from {scores[0]} to {scores[-1]}"
        )
    used = logits if last else logits[:, :-1]
    if not used.shape[1]:
        raise ValueError("without the last layer there is none")
    target = soft_target(labels, scores)
    return RatedItems(*(torch.tensor(each, dtype=torch.float64) for each in (used, labels, target, scores)))
