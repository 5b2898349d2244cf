"""The surface-feature judge: a Bradley-Terry model that looks without reading."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from judgekit.judges.base import Request
from judgekit.judges.surface import FEATURES, PAIR_FEATURES, pair_features, surface_features
from judgekit.records import Reply, fingerprint_of
from judgekit.stats import outcome_probabilities

CLIP = 4.0  # standard deviations; one freak response must not decide by its freakishness
_ROUNDING = 1e-5  # probabilities this close are equal: single-precision sums differ by less from row to row of a batch
Array = np.ndarray[Any, Any]


def standardise(values: ArrayLike, mean: Array, scale: Array) -> Array:
    """Features in standard deviations from the training mean, clipped to ±`CLIP`."""
    return np.clip((values - mean) / scale, -CLIP, CLIP)


def scores_of(parts: Mapping[str, Array], first: ArrayLike, second: ArrayLike, pair: ArrayLike) -> tuple[Any, Any, Any]:
    """Scores of the first and the second responses, and log tie parameters; ``parts`` as `fit_features` fits them."""
    one, other = (standardise(side, parts["mean"], parts["scale"]) @ parts["weight"] for side in (first, second))
    log_nu = standardise(pair, parts["pair_mean"], parts["pair_scale"]) @ parts["tie_weight"] + parts["tie_bias"]
    return one, other, log_nu


def reply_of(outcomes: ArrayLike, score_first: float | None = None, score_second: float | None = None) -> Reply:
    """The reply that probabilities of first, second and tie give; ValueError where one is not a number."""
    outcomes = np.asarray(outcomes)
    if not np.isfinite(outcomes).all():
        raise ValueError(f"probabilities that are no numbers ({outcomes}): damaged weights?")
    first, second, tie = map(float, outcomes)
    verdict = "first" if first > second else "second"
    if tie >= max(first, second) or abs(first - second) <= _ROUNDING:
        verdict = "tie"
    return Reply(verdict, first, second, tie, score_first, score_second)


class SurfaceModel:
    """A fitted preference model over surface features; ValueError where it was made for other features than these."""

    def __init__(self, model: Mapping[str, Any], path: str | Path) -> None:
        if model.get("features") != list(FEATURES) or model.get("pair_features") != list(PAIR_FEATURES):
            raise ValueError(f"{path}: trained on other features than this version computes; train it again")
        self.parts = {key: np.array(value) for key, value in model["parts"].items()}

    def standardised(self, features: ArrayLike) -> Array:
        """Surface features, shape (n, len(FEATURES)), in standard deviations from the training mean."""
        return standardise(np.asarray(features), self.parts["mean"], self.parts["scale"])

    def sides(self, request: Request) -> list[Array]:
        """Surface features of the two responses shown."""
        return [surface_features(request.asked, text) for text in (request.first, request.second)]

    def compare(self, request: Request, sides: Sequence[Array] | None = None) -> tuple[float, float, float]:
        """Scores of the two responses shown, and the log tie parameter."""
        first, second = self.sides(request) if sides is None else sides
        one, other, log_nu = scores_of(
            self.parts, first, second, pair_features(request.first, request.second, first, second)
        )
        return float(one), float(other), float(log_nu)


class FeaturesJudge:
    """``baseline/features``: linear score of surface features, ties by Davidson's model, from ``features.json``."""

    decoding = "{}"
    batch_size = 512
    sees_item = False
    name = "baseline/features"

    def __init__(self, folder: str | Path) -> None:
        path = Path(folder) / "features.json"
        model = json.loads(path.read_text(encoding="utf-8"))
        self.model = SurfaceModel(model, path)
        self.fingerprint = fingerprint_of("features", 2, model["parts"])

    def judge(self, requests: Sequence[Request]) -> list[Reply]:
        """Score each response alone, then compare."""
        scored = [self.model.compare(request) for request in requests]
        return [
            reply_of(outcome_probabilities(first - second, log_nu), first, second) for first, second, log_nu in scored
        ]
