"""A verdict of one of our judges taken apart: what each surface feature pushed, and what the gate made of it.

The score before the gate is linear in standardised features, so that a difference of two is a sum of pushes, one for
each feature: ``score_a - score_b = sum_k w_k (z_ak - z_bk)``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from judgekit.judges.base import Judge, Request, request_of
from judgekit.judges.features import SurfaceModel
from judgekit.judges.gate import gate_features, gated, relevance_inputs, relevance_of, sigmoid
from judgekit.judges.surface import FEATURES
from judgekit.records import PreferencePair
from judgekit.stats import Array, outcome_probabilities


@dataclass(frozen=True)
class Dissection:
    """What stands behind a verdict; the last three are None without a gate."""

    judge: str  # slug
    pushes: dict  # feature to what it adds to the score of A less that of B (they sum to it): above 0 it speaks for A
    looks: tuple  # probabilities of A, B and tie by surface features alone, before any gate
    relevance: tuple | None = None  # log odds that A, and that B, was meant for the question
    beside: float | None = None  # probability that one of the two is off-topic, in [0, 1]
    behind_gate: tuple | None = None  # probabilities of A, B and tie behind the gate

    @property
    def favoured(self) -> str:
        """The response that looks better, ``"A"`` or ``"B"``."""
        return "A" if sum(self.pushes.values()) >= 0 else "B"

    def strongest(self, side: str, n: int = 3) -> list[tuple[str, float]]:
        """The features that speak most for a side: at most ``n`` pairs of name and size of the push (above 0)."""
        sign = 1 if side == "A" else -1
        found = sorted(((sign * push, name) for name, push in self.pushes.items()), key=lambda one: (-one[0], one[1]))
        return [(name, push) for push, name in found[:n] if push > 0]

    def turning(self) -> list[str]:
        """The fewest features, largest pushes first, without which the other response would look better."""
        left, names = abs(sum(self.pushes.values())), []
        for name, push in self.strongest(self.favoured, len(self.pushes)):
            names.append(name)
            left -= push
            if left < 0:
                return names
        return []  # every feature speaks for the same side


def surface_of(judge: Judge) -> SurfaceModel | None:
    """The surface model inside a judge, or None where there is none."""
    parts = (getattr(judge, name, None) for name in ("surface", "model"))
    return next((part for part in parts if isinstance(part, SurfaceModel)), None)


def dissect(judge: Judge, pair: PreferencePair, name: str) -> Dissection:
    """A judge's verdict on a pair taken apart; ``name``: the judge's slug.

    ``judge``: ``baseline/features`` or an encoder judge. TypeError where it has no surface model: then its score is not
    a sum of features.
    """
    model = surface_of(judge)
    if model is None:
        raise TypeError(f"{judge.name} has no surface model to take apart: choose baseline/features or an encoder")
    request = request_of(pair, "ab")
    sides = model.sides(request)
    first, second = model.standardised(sides)
    pushes = (first - second) * model.parts["weight"]
    score_a, score_b, log_nu = model.compare(request, sides)
    looks = outcome_probabilities(score_a - score_b, log_nu)
    found: dict[str, Any] = {
        "judge": name,
        "pushes": dict(zip(FEATURES, pushes.tolist(), strict=True)),
        "looks": tuple(looks.tolist()),
    }
    return Dissection(**found, **at_gate(judge, request, looks))


def at_gate(judge: Any, request: Request, looks: Array) -> dict[str, Any]:
    """Relevance, the chance that a response is off-topic, and the probabilities behind the gate."""
    parts = getattr(judge, "config", {}).get("gate")
    if not parts:
        return {}
    keys = [("question", request.asked), ("response", request.first), ("response", request.second)]
    encoded = judge.encode(sorted(set(keys)))
    asked, first, second = (np.asarray(encoded[key][0], np.float32)[None] for key in keys)
    relevance = [
        relevance_of(relevance_inputs(asked, side, judge.others), judge.config["relevance"]) for side in (first, second)
    ]
    likeness = (first * second).sum(-1)
    beside = sigmoid(gate_features(*relevance, likeness) @ np.asarray(parts["weight"]) + parts["bias"])  # type: ignore[call-arg] # relevance holds two
    behind = gated(looks[None], *relevance, likeness, parts)[0]  # type: ignore[call-arg, arg-type] # relevance holds two
    odds = tuple(float(side[0]) for side in relevance)
    return {"relevance": odds, "beside": float(beside[0]), "behind_gate": tuple(behind.tolist())}
