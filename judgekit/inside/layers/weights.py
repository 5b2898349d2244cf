"""Weights over layers, learned from rated items.

Only the rows that are passed are ever looked at. `cross_fitted` gives every row a score by weights that no row of its
question had a say in.
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize, minimize_scalar
from sklearn.model_selection import GroupKFold
from torch.utils.data import DataLoader

from judgekit.inside.layers.aggregation import checked_logits, distribution, expected_score, last_only
from judgekit.inside.layers.rated import rated_items
from judgekit.inside.layers.scale import checked_scores

# What cross-entropy counts; the rest is the squared error of the expected score. The published code has a parameter of
# that share, started at 0.5 before a sigmoid, and reads it once per epoch: in its one epoch it never changes.
LOSSES = {"cross_entropy": 1.0, "mixed": 1 / (1 + np.exp(-0.5))}


@dataclass(frozen=True)
class LayerWeights:
    """Weights over layers, and what they hold for.

    Attributes
    ----------
    values : tuple of float
        One for each layer, the embedding output first; they sum to one. 0 for a last layer that was left out.
    scores : tuple of int
        The scale.
    loss : str
    n_items : int
        Rated items that they were fitted on.
    training_loss : float
        On those items, with these weights.
    """

    values: tuple
    scores: tuple
    loss: str
    n_items: int
    training_loss: float

    def expected_scores(self, logits):
        """Expected scores of items, shape (n_items,), from logits of shape (n_items, n_layers, n_scores).

        Raises
        ------
        ValueError
            If layers or scores are not those that the weights were fitted on.
        """
        return expected_score(distribution(checked_logits(logits, len(self.scores)), self.values), self.scores)


def checked_loss(loss):
    """The share of cross-entropy in a loss."""
    if loss not in LOSSES:
        raise ValueError(f"loss={loss!r} is none of {', '.join(LOSSES)}")
    return LOSSES[loss]


def finished(items, parameters, scores, loss, last):
    """Weights from parameters that were fitted."""
    with torch.no_grad():
        reached = float(items.loss(parameters, LOSSES[loss]))
        values = parameters.softmax(0).tolist()
    return LayerWeights((*values, *([] if last else [0.0])), checked_scores(scores), loss, len(items.labels), reached)


def fit_weights(logits, labels, scores, loss="mixed", last=True):
    """The weights with the least loss on rated items.

    Parameters
    ----------
    logits : array, shape (n_items, n_layers, n_scores)
        Of training items only.
    labels : array, shape (n_items,)
        What people gave, from the lowest score to the highest; may be fractional.
    scores : sequence of int
    loss : {"mixed", "cross_entropy"}
        Cross-entropy, or 0.62 of it and 0.38 of the mean squared error of the expected score.
    last : bool
        Whether the last layer may have weight.

    Returns
    -------
    LayerWeights

    Raises
    ------
    ValueError
        If the material is none (`judgekit.inside.layers.rated.rated_items`), or the loss is unknown.
    RuntimeError
        If the search does not end.

    Notes
    -----
    Both losses are those of LAGER's code (arXiv 2508.03550): cross-entropy over all layers in its first version,
    the mixed one without the last layer since. There the search is a single epoch of Adam, which stops near where it
    started (`published_weights`); here it goes on to the optimum, by L-BFGS, so that the outcome depends on no seed,
    no order and no step size.
    """
    share, items = checked_loss(loss), rated_items(logits, labels, scores, last)

    def loss_and_gradient(values):
        parameters = torch.tensor(values, requires_grad=True)
        value = items.loss(parameters, share)
        value.backward()
        return float(value.detach()), parameters.grad.numpy()

    start = np.zeros(items.logits.shape[1])
    options = {"maxiter": 5000, "ftol": 1e-13, "gtol": 1e-8}
    found = minimize(loss_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    if not found.success:
        raise RuntimeError(f"the weights did not converge: {found.message}")
    return finished(items, torch.tensor(found.x), scores, loss, last)


def published_weights(logits, labels, scores, loss="mixed", last=False, batch_size=4, rate=0.01, seed=42):
    """Weights after one epoch of Adam, as LAGER's code fits them.

    Parameters
    ----------
    logits, labels, scores, loss, last
        As for `fit_weights`.
    batch_size : int
        The published code has 4 with the mixed loss, and 8 with cross-entropy.
    rate : float
        Of Adam.
    seed : int
        Of the order of items.

    Returns
    -------
    LayerWeights

    Notes
    -----
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
        for rows in DataLoader(range(len(items.labels)), batch_size=batch_size, shuffle=True):
            optimiser.zero_grad()
            items.loss(parameters, share, rows).backward()
            optimiser.step()
    return finished(items, parameters.detach(), scores, loss, last)


def scaled_last(logits, labels, scores, loss="mixed"):
    """All weight on the last layer, times the one number that suits rated items best: a control for learned weights.

    Layers that tell nothing have small logits. Weight on them makes the sum of the others smaller and its softmax
    flatter, as a temperature does: what weights over layers gain beyond this control, the layers have given.

    Parameters
    ----------
    logits, labels, scores, loss
        As for `fit_weights`.

    Returns
    -------
    array, shape (n_layers,)
        For `judgekit.inside.layers.aggregation.distribution`; sums to an inverse temperature, from 0.01 to 100.
    """
    share, items = checked_loss(loss), rated_items(logits, labels, scores, last=True)
    last = torch.tensor(last_only(items.logits.shape[1]))
    found = minimize_scalar(
        lambda log: float(items.loss_of(np.exp(log) * last, share)), bounds=np.log([0.01, 100]), method="bounded"
    )
    return np.exp(found.x) * last.numpy()


def cross_fitted(logits, labels, clusters, scores, n_folds=5, seed=0, fit=fit_weights, **more):
    """Expected scores of all items, each by weights that were fitted on other questions.

    Parameters
    ----------
    logits : array, shape (n_items, n_layers, n_scores)
        Rows of NaN (items without a score) get no score and train nothing.
    labels : array, shape (n_items,)
    clusters : sequence, length n_items
        Question of each item.
    scores : sequence of int
    n_folds, seed : int
        Folds are drawn by question alone, without a look at labels.
    fit : callable
        `fit_weights` or `published_weights`; ``more`` is for it.

    Returns
    -------
    predicted : array, shape (n_items,)
    weights : list of LayerWeights, one per fold

    Raises
    ------
    ValueError
        If there are fewer questions than folds, or lengths differ.
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
