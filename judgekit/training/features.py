"""Fit the surface-feature judge: penalised maximum likelihood, a second or two on a CPU."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from judgekit.judges.features import CLIP
from judgekit.judges.surface import FEATURES, PAIR_FEATURES, pair_features, surface_features
from judgekit.records import PreferencePair
from judgekit.training.losses import davidson_loss
from judgekit.training.targets import sources_with_ties, target_of


@dataclass(frozen=True)
class FeatureTable:
    """Everything the fit needs of a list of pairs, as arrays."""

    a: np.ndarray  # raw surface features of response A, shape (n_pairs, len(FEATURES)); ``b`` alike
    b: np.ndarray
    pair: np.ndarray  # shape (n_pairs, len(PAIR_FEATURES))
    target: np.ndarray  # shape (n_pairs, 3)
    tied: np.ndarray  # whether the pair's source offers ties, shape (n_pairs,)

    def of(self, indices: Any) -> "FeatureTable":
        """The table of some of the pairs."""
        return FeatureTable(*(getattr(self, name)[indices] for name in ("a", "b", "pair", "target", "tied")))


def feature_table(pairs: Sequence[PreferencePair], tied_sources: Collection[str] | None = None) -> FeatureTable:
    """Features and targets of pairs; each (question, response) is computed once."""
    tied_sources = sources_with_ties(pairs) if tied_sources is None else tied_sources
    seen = {}

    def features(question: str, response: str) -> np.ndarray:
        if (question, response) not in seen:
            seen[question, response] = surface_features(question, response)
        return seen[question, response]

    a = np.array([features(p.asked, p.response_a) for p in pairs])
    b = np.array([features(p.asked, p.response_b) for p in pairs])
    both = np.array([pair_features(p.response_a, p.response_b, x, y) for p, x, y in zip(pairs, a, b, strict=True)])
    target = np.array([target_of(p) for p in pairs])
    return FeatureTable(a, b, both, target, np.array([p.benchmark in tied_sources for p in pairs]))


def standard(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation per column; constant columns get scale 1."""
    scale = values.std(0)
    return values.mean(0), np.where(scale > 1e-9, scale, 1.0)


def fit_features(
    table: FeatureTable, weight: np.ndarray | None = None, l2: float = 0.003, l2_ties: float = 0.01
) -> dict[str, np.ndarray]:
    """Weights of the linear score (``mean, scale, weight``) and of the tie model.

    Those of the tie model are ``pair_mean, pair_scale, tie_weight, tie_bias``. ``weight``: of each pair; ``l2``,
    ``l2_ties``: penalty on the squared weights of score and tie model, relative to the mean loss.

    The score is linear in standardised features without an intercept, so exchanging the responses flips its sign.
    Minimised with L-BFGS; the problem is convex in the score's weights.
    """
    mean, scale = standard(np.concatenate([table.a, table.b]))
    tie_rows = table.pair[table.tied] if table.tied.any() else table.pair
    pair_mean, pair_scale = standard(tie_rows)

    def tensor(values: Any) -> torch.Tensor:
        return torch.tensor(np.asarray(values), dtype=torch.float64)

    def standardised(values: np.ndarray, centre: np.ndarray, spread: np.ndarray) -> torch.Tensor:
        return tensor(np.clip((values - centre) / spread, -CLIP, CLIP))

    difference = standardised(table.a, mean, scale) - standardised(table.b, mean, scale)
    pair = standardised(table.pair, pair_mean, pair_scale)
    target, tied = tensor(table.target), torch.tensor(table.tied)
    row_weight = tensor(np.ones(len(target)) if weight is None else weight)
    w = torch.zeros(len(FEATURES), dtype=torch.float64, requires_grad=True)
    t = torch.zeros(len(PAIR_FEATURES), dtype=torch.float64, requires_grad=True)
    bias = torch.tensor(-1.0, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([w, t, bias], max_iter=300, line_search_fn="strong_wolfe")

    def objective() -> torch.Tensor:
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


def rounded_parts(parts: Mapping[str, Any]) -> dict[str, Any]:
    """A fitted judge as JSON holds it: names of the features, and weights to seven digits."""
    rounded = {name: np.round(np.asarray(value, float), 7).tolist() for name, value in parts.items()}
    return {"features": list(FEATURES), "pair_features": list(PAIR_FEATURES), "parts": rounded}


def save_features(parts: Mapping[str, Any], folder: str | Path) -> Path:
    """Write a fitted surface-feature judge as ``features.json``."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "features.json"
    path.write_text(json.dumps(rounded_parts(parts), indent=1) + "\n", encoding="utf-8")
    return path
