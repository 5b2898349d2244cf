"""Weights over layers as a file, with what they hold for."""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from judgekit.inside.layers.scale import checked_scores
from judgekit.inside.layers.weights import LOSSES, LayerWeights

SCHEMA = 1


class WeightsError(ValueError):
    """A file of weights cannot be used; the message names the file and the field."""


@dataclass(frozen=True)
class SavedWeights:
    """Weights over layers, and what was read to fit them.

    ``model``: fingerprint of the model (`judgekit.inside.layers.reading.LayerReader`), its files and their precision.
    ``prompt``: version of the prompt (`judgekit.prompts.Strategy`). ``normed``: whether layers went through the final
    norm. ``over``: what the weights average (`judgekit.inside.layers.aggregation.OVER`).
    """

    weights: LayerWeights
    model: str
    prompt: str
    normed: bool = False
    over: str = "logits"


def save_weights(path: str | Path, saved: SavedWeights) -> Path:
    """The path of a JSON file to which weights were written."""
    content = {"schema": SCHEMA, **asdict(saved)}
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


def load_weights(path: str | Path, **wanted: Any) -> SavedWeights:
    """Weights from a JSON file.

    ``wanted``: what they must have been fitted for: ``model``, ``prompt``, ``normed``, ``over``, ``scores``.
    WeightsError where the file is missing, no JSON, lacks a field or holds something else in it, or was fitted for
    something else.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as missing:
        raise WeightsError(f"{path}: {missing.strerror}") from None
    except ValueError as broken:
        raise WeightsError(f"{path} is not JSON ({broken})") from None
    saved = saved_of(content, path)
    found = {name: getattr(saved, name) for name in ("model", "prompt", "normed", "over")}
    found["scores"] = saved.weights.scores
    for name, value in wanted.items():
        value = tuple(value) if name == "scores" else value
        if found[name] != value:
            raise WeightsError(f"{path}: field {name!r}: weights for {found[name]!r} cannot be used for {value!r}")
    return saved


def saved_of(content: Any, path: str | Path) -> SavedWeights:
    """Checked content of a file."""

    def field(place: Any, name: str, kind: Any) -> Any:
        value = place.get(name) if isinstance(place, dict) else None
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            raise WeightsError(f"{path}: field {name!r} is missing, or not what it should be")
        return value

    if field(content, "schema", int) != SCHEMA:
        raise WeightsError(f"{path}: field 'schema' is {content['schema']}; this version reads {SCHEMA}")
    given = field(content, "weights", dict)
    values: list[Any] = [number(value) for value in field(given, "values", list)]
    if len(values) < 2 or None in values or min(values) < 0 or not math.isclose(sum(values), 1, abs_tol=1e-6):
        raise WeightsError(f"{path}: field 'values' holds no weights: numbers from 0 that sum to 1, one per layer")
    try:
        scores = checked_scores(field(given, "scores", list))
    except ValueError as wrong:
        raise WeightsError(f"{path}: field 'scores': {wrong}") from None
    loss = field(given, "loss", str)
    if loss not in LOSSES:
        raise WeightsError(f"{path}: field 'loss' is {loss!r}, none of {', '.join(LOSSES)}")
    weights = LayerWeights(
        tuple(values), scores, loss, field(given, "n_items", int), float(field(given, "training_loss", (int, float)))
    )
    texts = {name: field(content, name, str) for name in ("model", "prompt", "over")}
    return SavedWeights(weights, normed=field(content, "normed", bool), **texts)


def number(value: Any) -> float | None:
    """A finite number as a float, or None."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if plain and math.isfinite(value) else None
