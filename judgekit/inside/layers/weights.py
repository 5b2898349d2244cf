"""Weights over layers, learned from rated items.

Only the rows that are passed are ever looked at. `cross_fitted` gives every row a score by weights that no row of its
question had a say in.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize, minimize_scalar
from sklearn.model_selection import GroupKFold
from torch.utils.data import DataLoader

from judgekit.inside.layers.aggregation import checked_logits, distribution, expected_score, last_only
from judgekit.inside.layers.rated import RatedItems, rated_items
from judgekit.inside.layers.scale import checked_scores
from judgekit.stats import Array, Floats

# What cross-entropy counts; the rest is the squared error of the expected score. The published code has a parameter of
# that share, started at 0.5 before a sigmoid, and reads it once per epoch: in its one epoch it never changes.
LOSSES = {"cross_entropy": 1.0, "mixed": 1 / (1 + np.exp(-0.5))}


@dataclass(frozen=True)
class LayerWeights:
    """Weights over layers, and what they hold for.

    ``values``: one for each layer, the embedding output first; they sum to one; 0 for a last layer that was left out.
    ``scores``: the scale. ``n_items``: rated items that they were fitted on. ``training_loss``: on those items, with
    these weights.
    """

    values: tuple
    scores: tuple
    loss: str
    n_items: int
    training_loss: float

    def expected_scores(self, logits: Array) -> Floats:
        """Expected scores of items, shape (n_items,), from logits of shape (n_items, n_layers, n_scores).

        ValueError where layers or scores are not those that the weights were fitted on.
        """
        return expected_score(distribution(checked_logits(logits, len(self.scores)), self.values), self.scores)


def checked_loss(loss: str) -> float:
    """The share of cross-entropy in a loss."""
    if loss not in LOSSES:
        raise ValueError(f"loss={loss!r} is none of {', '.join(LOSSES)}")
    return LOSSES[loss]


def finished(items: RatedItems, parameters: torch.Tensor, scores: Sequence[int], loss: str, last: bool) -> LayerWeights:
    """Weights from parameters that were fitted."""
    with torch.no_grad():
        reached = float(items.loss(parameters, LOSSES[loss]))
        values = parameters.softmax(0).tolist()
    return LayerWeights((*values, *([] if last else [0.0])), checked_scores(scores), loss, len(items.labels), reached)


def fit_weights(
    logits: Array, labels: Array, scores: Sequence[int], loss: str = "mixed", last: bool = True
) -> LayerWeights:
    """The weights with the least loss on rated items.

    ``logits``: of training items only, shape (n_items, n_layers, n_scores). ``labels``: what people gave, from the
    lowest score to the highest; may be fractional. ``loss``: ``cross_entropy``, or ``mixed``: 0.62 of it and 0.38 of
    the mean squared error of the expected score. ``last``: whether the last layer may have weight.

    Both losses are those of LAGER's code (arXiv 2508.03550): cross-entropy over all layers in its first version, the
    mixed one without the last layer since. There the search is a single epoch of Adam, which stops near where it
    started (`published_weights`); here it goes on to the optimum, by L-BFGS, so that the outcome depends on no seed, no
    order and no step size.

    ValueError where the material is none (`judgekit.inside.layers.rated.rated_items`), or the loss is unknown;
    RuntimeError where the search does not end.
    """
    share, items = checked_loss(loss), rated_items(logits, labels, scores, last)

    def loss_and_gradient(values: Floats) -> tuple[float, Floats]:
        parameters: Any = torch.tensor(values, requires_grad=True)
        value = items.loss(parameters, share)
        value.backward()
        return float(value.detach()), parameters.grad.numpy()

    start = np.zeros(items.logits.shape[1])
    options = {"maxiter": 5000, "ftol": 1e-13, "gtol": 1e-8}
    found = minimize(loss_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    if not found.success:
        raise RuntimeError(f"the weights did not converge: {found.message}")
    return finished(items, torch.tensor(found.x), scores, loss, last)


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
    """Weights after one epoch of Adam, as LAGER's code fits them; material as for `fit_weights`.

    ``batch_size``: the published code has 4 with the mixed loss, and 8 with cross-entropy. ``rate``: of Adam. ``seed``:
    of the order of items.

    The search starts from equal weights; with the last layer, from parameters 0 and 1 for the last. An item moves a
    parameter by about ``rate / batch_size`` at most: a thousand items cannot bring the weights far. Kept to compare
    with published numbers; fractional labels are not cut off as they are there (`inside.layers.rated.soft_target`).
    """
    share, items = checked_loss(loss), rated_items(logits, labels, scores, last)
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
            items.loss(parameters, share, rows).backward()
            optimiser.step()
    return finished(items, parameters.detach(), scores, loss, last)


def scaled_last(logits: Array, labels: Array, scores: Sequence[int], loss: str = "mixed") -> Floats:
    """All weight on the last layer, times the one number that suits rated items best: a control for learned weights.

    Shape (n_layers,), for `judgekit.inside.layers.aggregation.distribution`; sums to an inverse temperature, from 0.01
    to 100. Material and loss as for `fit_weights`.

    Layers that tell nothing have small logits. Weight on them makes the sum of the others smaller and its softmax
    flatter, as a temperature does: what weights over layers gain beyond this control, the layers have given.
    """
    share, items = checked_loss(loss), rated_items(logits, labels, scores, last=True)
    last = torch.tensor(last_only(items.logits.shape[1]))
    found = minimize_scalar(
        lambda log: float(items.loss_of(np.exp(log) * last, share)), bounds=np.log([0.01, 100]), method="bounded"
    )
    return np.exp(found.x) * last.numpy()


def cross_fitted(
    logits: Array,
    labels: Array,
    clusters: Sequence[str],
    scores: Sequence[int],
    n_folds: int = 5,
    seed: int = 0,
    fit: Callable[..., LayerWeights] = fit_weights,
    **more: Any,
) -> tuple[Floats, list[LayerWeights]]:
    """Expected scores of all items, each by weights that were fitted on other questions; and the weights, one per fold.

    ``logits``: rows of NaN (items without a score) get no score and train nothing. ``clusters``: question of each item;
    folds are drawn by question alone, without a look at labels. ``fit``: `fit_weights` or `published_weights`; ``more``
    is for it. ValueError where there are fewer questions than folds, or lengths differ.
    """
    logits, labels = checked_logits(logits), np.asarray(labels, float)
    if not len(logits) == len(labels) == len(clusters):
        raise ValueError(f"{len(logits)} items, {len(labels)} labels and {len(clusters)} questions")
    names = np.asarray(clusters, dtype=str)
    if len(set(names)) < n_folds:
        raise ValueError(f"{len(set(names))} questions cannot be cut into {n_folds} folds")
    there = ~np.isnan(logits).any((1, 2))
    predicted, weights = np.full(len(logits), np.nan), []
    splitter = GroupKFold(n_folds, shuffle=True, random_state=seed)
    for train, test in splitter.split(logits, groups=names):
        train = train[there[train]]
        weights.append(fit(logits[train], labels[train], scores, **more))
        predicted[test] = weights[-1].expected_scores(logits[test])
    return predicted, weights
