"""Fit the surface-feature judge: penalised maximum likelihood of Davidson's model, a second or two on a CPU."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from judgekit.data.files import write_json
from judgekit.judges.surface import FEATURES, PAIR_FEATURES, pair_features, standardise, surface_features
from judgekit.records import LABELS, PreferencePair

_L2_TIES = 0.01  # penalty on squared weights of the tie model, relative to the mean loss
_MIN_TIE_SHARE = 0.02  # a source with fewer ties than this did not really offer them


def target_of(pair: PreferencePair) -> tuple[float, ...]:
    """Probabilities of A, B, tie that a pair's soft label gives, or else its label."""
    if pair.soft_label is not None and pair.label != "tie":
        return (pair.soft_label, 1 - pair.soft_label, 0.0)
    if pair.label is None:
        raise ValueError(f"{pair.where}: no label to train on")
    return tuple(float(pair.label == label) for label in LABELS)


def sources_with_ties(pairs: Iterable[PreferencePair]) -> set[str]:
    """Names of the sets whose annotators could say tie (at least 2 % of their labels are): only these teach ties."""
    labels: defaultdict[str, Counter[str | None]] = defaultdict(Counter)
    for pair in pairs:
        labels[pair.benchmark][pair.label] += 1
    return {name for name, counts in labels.items() if counts["tie"] >= _MIN_TIE_SHARE * counts.total()}


@dataclass(frozen=True)
class FeatureTable:
    """What the fit needs of a list of pairs."""

    a: np.ndarray  # raw surface features of response A, shape (n_pairs, len(FEATURES)); ``b`` alike
    b: np.ndarray
    pair: np.ndarray  # shape (n_pairs, len(PAIR_FEATURES))
    target: np.ndarray  # shape (n_pairs, 3)
    tied: np.ndarray  # whether the pair's source offers ties, shape (n_pairs,)

    def of(self, indices: Any) -> "FeatureTable":
        """The table of some of the pairs."""
        return FeatureTable(*(getattr(self, field.name)[indices] for field in fields(self)))


def feature_table(pairs: Sequence[PreferencePair], tied_sources: Collection[str] | None = None) -> FeatureTable:
    """Features and targets of pairs."""
    tied_sources = sources_with_ties(pairs) if tied_sources is None else tied_sources
    a = np.array([surface_features(p.asked, p.response_a) for p in pairs])
    b = np.array([surface_features(p.asked, p.response_b) for p in pairs])
    both = np.array([pair_features(p.response_a, p.response_b, x, y) for p, x, y in zip(pairs, a, b, strict=True)])
    target = np.array([target_of(p) for p in pairs])
    return FeatureTable(a, b, both, target, np.array([p.benchmark in tied_sources for p in pairs]))


def davidson_loss(
    difference: torch.Tensor, log_nu: torch.Tensor, target: torch.Tensor, tied: torch.Tensor
) -> torch.Tensor:
    """Negative log-likelihood of labels (``target``: of A, B and tie) under Davidson's model, shape (n_pairs,).

    Where a pair's source offers no ties, it is conditional on a decision and says nothing about ``log_nu``.
    """
    logits = torch.stack([difference / 2, -difference / 2, log_nu], dim=-1)
    free = -(target * torch.log_softmax(logits, dim=-1)).sum(-1)
    decided = target[:, :2] / target[:, :2].sum(-1, keepdim=True).clamp_min(1e-9)
    forced = -(decided * torch.log_softmax(logits[:, :2], dim=-1)).sum(-1)
    return torch.where(tied, free, forced)


def fit_features(table: FeatureTable, weight: np.ndarray | None = None, l2: float = 0.003) -> dict[str, np.ndarray]:
    """Weights of the linear score (``mean, scale, weight``) and of the tie model (``pair_mean``, ..., ``tie_bias``).

    ``l2``: penalty on squared weights of the score, relative to the mean loss. There is no intercept, so exchanging the
    responses flips the score's sign.
    """
    mean, scale = _moments(np.concatenate([table.a, table.b]))
    pair_mean, pair_scale = _moments(table.pair[table.tied] if table.tied.any() else table.pair)

    def tensor(values: Any) -> torch.Tensor:
        return torch.tensor(np.asarray(values), dtype=torch.float64)

    difference = tensor(standardise(table.a, mean, scale)) - tensor(standardise(table.b, mean, scale))
    pair = tensor(standardise(table.pair, pair_mean, pair_scale))
    target, tied = tensor(table.target), torch.tensor(table.tied)
    row_weight = tensor(np.ones(len(target)) if weight is None else weight)
    w, t = (tensor(np.zeros(len(names))).requires_grad_() for names in (FEATURES, PAIR_FEATURES))
    bias = tensor(-1.0).requires_grad_()
    optimiser = torch.optim.LBFGS([w, t, bias], max_iter=300, line_search_fn="strong_wolfe")

    def objective() -> torch.Tensor:
        optimiser.zero_grad()
        loss = davidson_loss(difference @ w, pair @ t + bias, target, tied)
        total = (row_weight * loss).sum() / row_weight.sum() + l2 * (w**2).sum() + _L2_TIES * (t**2).sum()
        total.backward()
        return total

    optimiser.step(objective)
    moments = {"mean": mean, "scale": scale, "pair_mean": pair_mean, "pair_scale": pair_scale}
    fitted = {"weight": w, "tie_weight": t, "tie_bias": bias}
    return moments | {name: value.detach().numpy() for name, value in fitted.items()}


def _moments(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation per column; constant columns get scale 1."""
    scale = values.std(0)
    return values.mean(0), np.where(scale > 1e-9, scale, 1.0)


def rounded_parts(parts: Mapping[str, Any]) -> dict[str, Any]:
    """A fitted judge as JSON holds it: names of the features, and weights to seven digits."""
    rounded = {name: np.round(np.asarray(value, float), 7).tolist() for name, value in parts.items()}
    return {"features": list(FEATURES), "pair_features": list(PAIR_FEATURES), "parts": rounded}


def save_features(parts: Mapping[str, Any], folder: str | Path) -> Path:
    """Write a fitted surface-feature judge as ``features.json``."""
    return write_json(Path(folder) / "features.json", rounded_parts(parts))
