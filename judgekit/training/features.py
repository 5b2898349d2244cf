"""Fit the surface-feature judge: penalised maximum likelihood, a second or two on a CPU."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from judgekit.judges.features import CLIP
from judgekit.judges.surface import FEATURES, PAIR_FEATURES, pair_features, surface_features
from judgekit.training.losses import davidson_loss
from judgekit.training.targets import sources_with_ties, target_of


@dataclass(frozen=True)
class FeatureTable:
    """Everything the fit needs of a list of pairs, as arrays.

    Attributes
    ----------
    a, b : array, shape (n_pairs, len(FEATURES))
        Raw surface features of the two responses.
    pair : array, shape (n_pairs, len(PAIR_FEATURES))
    target : array, shape (n_pairs, 3)
    tied : array of bool, shape (n_pairs,)
        Whether the pair's source offers ties.
    """

    a: np.ndarray
    b: np.ndarray
    pair: np.ndarray
    target: np.ndarray
    tied: np.ndarray

    def of(self, indices):
        """The table of some of the pairs."""
        return FeatureTable(*(getattr(self, name)[indices] for name in ("a", "b", "pair", "target", "tied")))


def feature_table(pairs, tied_sources=None):
    """Features and targets of pairs; each (question, response) is computed once."""
    tied_sources = sources_with_ties(pairs) if tied_sources is None else tied_sources
    seen = {}

    def features(question, response):
        if (question, response) not in seen:
            seen[question, response] = surface_features(question, response)
        return seen[question, response]

    a = np.array([features(p.asked, p.response_a) for p in pairs])
    b = np.array([features(p.asked, p.response_b) for p in pairs])
    both = np.array([pair_features(p.response_a, p.response_b, x, y) for p, x, y in zip(pairs, a, b, strict=True)])
    target = np.array([target_of(p) for p in pairs])
    return FeatureTable(a, b, both, target, np.array([p.benchmark in tied_sources for p in pairs]))


def standard(values):
    """Mean and standard deviation per column; constant columns get scale 1."""
    scale = values.std(0)
    return values.mean(0), np.where(scale > 1e-9, scale, 1.0)


def fit_features(table, weight=None, l2=0.003, l2_ties=0.01):
    """Weights of the linear score and of the tie model.

    Parameters
    ----------
    table : FeatureTable
    weight : array, shape (n_pairs,), optional
    l2, l2_ties : float
        Penalty on the squared weights of the score and of the tie model, relative to the mean loss.

    Returns
    -------
    dict of str to array
        ``mean, scale, weight`` of the features and ``pair_mean, pair_scale, tie_weight, tie_bias`` of the tie model.

    Notes
    -----
    The score is linear in standardised features without an intercept, so exchanging the responses flips its sign.
    Minimised with L-BFGS; the problem is convex in the score's weights.
    """
    mean, scale = standard(np.concatenate([table.a, table.b]))
    tie_rows = table.pair[table.tied] if table.tied.any() else table.pair
    pair_mean, pair_scale = standard(tie_rows)

    def tensor(values):
        return torch.tensor(np.asarray(values), dtype=torch.float64)

    def standardised(values, centre, spread):
        return tensor(np.clip((values - centre) / spread, -CLIP, CLIP))

    difference = standardised(table.a, mean, scale) - standardised(table.b, mean, scale)
    pair = standardised(table.pair, pair_mean, pair_scale)
    target, tied = tensor(table.target), torch.tensor(table.tied)
    row_weight = tensor(np.ones(len(target)) if weight is None else weight)
    w = torch.zeros(len(FEATURES), dtype=torch.float64, requires_grad=True)
    t = torch.zeros(len(PAIR_FEATURES), dtype=torch.float64, requires_grad=True)
    bias = torch.tensor(-1.0, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([w, t, bias], max_iter=300, line_search_fn="strong_wolfe")

    def objective():
        optimiser.zero_grad()
        loss = davidson_loss(difference @ w, pair @ t + bias, target, tied)
        total = (row_weight * loss).sum() / row_weight.sum() + l2 * (w**2).sum() + l2_ties * (t**2).sum()
        total.backward()
        return total

    optimiser.step(objective)
    fitted = {"weight": w, "tie_weight": t, "tie_bias": bias}
    return {
        "mean": mean,
        "scale": scale,
        "pair_mean": pair_mean,
        "pair_scale": pair_scale,
        **{name: value.detach().numpy() for name, value in fitted.items()},
    }


def rounded_parts(parts):
    """A fitted judge as JSON holds it: names of the features, and weights to seven digits."""
    rounded = {name: np.round(np.asarray(value, float), 7).tolist() for name, value in parts.items()}
    return {"features": list(FEATURES), "pair_features": list(PAIR_FEATURES), "parts": rounded}


def save_features(parts, folder):
    """Write a fitted surface-feature judge as ``features.json``."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "features.json"
    path.write_text(json.dumps(rounded_parts(parts), indent=1) + "\n", encoding="utf-8")
    return path
