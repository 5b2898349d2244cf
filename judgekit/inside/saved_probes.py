"""A fitted probe as two files that can be read by eye and by NumPy, and that execute nothing.

``probe.safetensors``: one affine map (scaling, projection and classifier multiplied together) and, for an ordinal
probe, its thresholds. ``probe.json``: which hidden states of which model the map expects. Needs no scikit-learn.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, ConfigDict, Field, FiniteFloat, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass
from safetensors import SafetensorError
from safetensors.numpy import load_file, save
from scipy.special import expit, logit, softmax

from judgekit.data.files import replaced, write_json
from judgekit.stats import Array, Floats, outcome_probabilities

CONFIG, _TENSORS = "probe.json", "probe.safetensors"
_PARTS = ("weight", "bias", "thresholds")
Kind = Literal["logistic", "ordinal", "pair_logistic"]


class ProbeError(ValueError):
    """A saved probe that cannot be used; the message names the file and the field."""


def _ascending(values: tuple[int, ...]) -> tuple[int, ...]:
    if list(values) != sorted(set(values)):
        raise ValueError("ascending whole numbers are needed")
    return values


_STRICT = ConfigDict(strict=True)
_Ascending = Annotated[tuple[int, ...], AfterValidator(_ascending)]


@checked_dataclass(frozen=True, config=_STRICT)
class Inputs:
    """The hidden states that a probe reads."""

    model: str  # name, for people
    model_fingerprint: str  # ``StateReader.fingerprint``: what is compared before the probe is used
    pooling: str  # as in `judgekit.models.states`, as are ``layers``
    layers: Annotated[_Ascending, Field(min_length=1)]
    width: int  # of one layer's pooled vector
    limit: int  # tokens read of a text
    bf16: bool = False  # whether the model multiplied in bfloat16, where the processor has it


@dataclass(frozen=True)
class SavedProbe:
    """An affine map from hidden states to class probabilities.

    One output per class; a single one for two classes, and for an ordinal probe.
    """

    kind: Kind
    classes: tuple[int, ...]  # ascending
    inputs: Inputs
    weight: np.ndarray  # shape (len(layers) * width, n_outputs)
    bias: np.ndarray  # shape (n_outputs,)
    thresholds: np.ndarray = field(default_factory=lambda: np.zeros(0))  # of an ordinal probe, shape (n_classes - 1,)
    about: dict[str, Any] = field(default_factory=dict)  # data, aspect, estimated scores: free but JSON

    @property
    def tensors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.weight, self.bias, self.thresholds

    def probabilities(self, states: Array) -> Floats:
        """Probability of each class, shape (n_texts, n_classes).

        ``states``: the layers of `Inputs.layers` alone, in that order, shape (n_texts, len(layers), width); differences
        A - B for a pairwise probe.
        """
        states = np.asarray(states, float)
        expected = (len(self.inputs.layers), self.inputs.width)
        if states.ndim != 3 or states.shape[1:] != expected:
            raise ValueError(f"states of shape {states.shape}: the probe reads (n_texts, {expected[0]}, {expected[1]})")
        outputs = states.reshape(len(states), -1) @ self.weight + self.bias
        if self.kind == "ordinal":
            return np.diff(expit(self.thresholds - outputs), axis=1, prepend=0, append=1)
        if outputs.shape[1] == 1:
            return np.concatenate([expit(-outputs), expit(outputs)], axis=1)
        return softmax(outputs, axis=1)

    def predict(self, states: Array) -> np.ndarray:
        """The most probable class of each text, shape (n_texts,)."""
        return np.asarray(self.classes)[self.probabilities(states).argmax(1)]

    def expected(self, states: Array) -> Floats:
        """Expected class of each text, shape (n_texts,): what texts are ranked by."""
        return self.probabilities(states) @ np.asarray(self.classes, float)

    def check_model(self, reader: Any) -> None:
        """Refuse a `StateReader` of another model, or that reads otherwise: ProbeError names the field."""
        for name in ("model_fingerprint", "limit", "bf16"):
            given = getattr(reader, name.removeprefix("model_"))
            if given != (own := getattr(self.inputs, name)):
                raise ProbeError(f"the probe was fitted on {self.inputs.model} with {name} {own}, not with {given}")


def saved_probe(fitted: Any, family: str, inputs: Inputs, about: dict[str, Any] | None = None) -> SavedProbe:
    """The steps of a fitted linear probe multiplied into one affine map, whose probabilities equal the pipeline's.

    ``fitted``: a pipeline of `judgekit.inside.probes.make_probe`, fitted on the inputs' layers side by side.
    """
    scale, classifier, ordinal = fitted.named_steps["scale"], fitted.named_steps["classify"], family == "ordinal"
    uncentred = np.zeros(len(scale.scale_))  # what is taken off first where a step has no mean
    # From the last step back to the first: each turns weights on what it gives into weights on what it takes.
    weight = classifier.coef_[:, None] if ordinal else classifier.coef_.T
    bias = np.zeros(1) if ordinal else np.broadcast_to(classifier.intercept_, weight.shape[1:])
    if "project" in fitted.named_steps:
        projection = fitted.named_steps["project"].fitted_
        weight = projection.components_.T @ weight
        bias = bias - getattr(projection, "mean_", uncentred) @ weight
    weight = weight / scale.scale_[:, None]
    bias = bias - getattr(scale, "mean_", uncentred) @ weight
    thresholds = classifier.thresholds_ if ordinal else np.zeros(0)
    classes = tuple(int(value) for value in classifier.classes_)
    kind: Any = family
    return SavedProbe(kind, classes, inputs, weight, bias, thresholds, about or {})


def save_probe(probe: SavedProbe, folder: str | Path) -> None:
    """Write a probe, in place of one that is there: the tensors first, then the JSON that holds their hash."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    content = save({name: np.ascontiguousarray(getattr(probe, name), float) for name in _PARTS})
    config = {"format": 1, "kind": probe.kind, "classes": list(probe.classes)} | asdict(probe.inputs)
    config |= {"about": probe.about, "sha256": hashlib.sha256(content).hexdigest()}
    json.dumps(config)  # before anything is written: ``about`` may not be JSON
    with replaced(folder / _TENSORS) as temporary:
        temporary.write_bytes(content)
    write_json(folder / CONFIG, config)


@checked_dataclass(frozen=True, config=_STRICT, kw_only=True)
class _Config(Inputs):
    """The fields of ``probe.json``."""

    format: Literal[1]
    kind: Kind
    classes: Annotated[_Ascending, Field(min_length=2)]
    about: dict[str, Any]
    sha256: str


def load_probe(folder: str | Path) -> SavedProbe:
    """A probe from ``probe.json`` and ``probe.safetensors`` of a folder; ProbeError names file and field."""
    config, path = read_json(Path(folder) / CONFIG, _Config, ProbeError), Path(folder) / _TENSORS
    if not path.is_file():
        raise ProbeError(f"{path}: no such file")
    if hashlib.sha256(path.read_bytes()).hexdigest() != config.sha256:
        raise ProbeError(f"{path}: not the file that {CONFIG} was written for (field 'sha256')")
    inputs = Inputs(**{item.name: getattr(config, item.name) for item in fields(Inputs)})
    try:
        tensors = load_file(path)
        weight, bias, thresholds = (tensors[name] for name in _PARTS)
    except (SafetensorError, KeyError) as broken:
        raise ProbeError(f"{path}: not the tensors of a probe ({broken})") from None
    probe = SavedProbe(config.kind, config.classes, inputs, weight, bias, thresholds, config.about)
    _check_shapes(probe, path)
    return probe


def read_json(path: Path, kind: Any, refusal: type[ValueError]) -> Any:
    """A JSON file as a pydantic model or dataclass; ``refusal`` names the file and the first field that is wrong."""
    try:
        return TypeAdapter(kind).validate_json(path.read_bytes())
    except FileNotFoundError:
        raise refusal(f"{path}: no such file") from None
    except OSError as broken:
        raise refusal(f"{path}: {broken.strerror}") from None
    except ValidationError as wrong:
        first = wrong.errors()[0]
        field = f"field {'.'.join(map(str, first['loc']))!r} is {first['input']!r:.60}: " if first["loc"] else ""
        raise refusal(f"{path}: {field}{first['msg']}") from None


def _check_shapes(probe: SavedProbe, path: Path) -> None:
    """Refuse tensors that do not fit the fields beside them."""
    n_classes = len(probe.classes)
    if probe.kind == "pair_logistic" and n_classes != 2:
        raise ProbeError(f"{path.with_name(CONFIG)}: field 'classes' has {n_classes} entries; a pairwise probe has 2")
    n_outputs = 1 if probe.kind == "ordinal" or n_classes == 2 else n_classes
    expected = {
        "weight": (len(probe.inputs.layers) * probe.inputs.width, n_outputs),
        "bias": (n_outputs,),
        "thresholds": (n_classes - 1 if probe.kind == "ordinal" else 0,),
    }
    for name, shape in expected.items():
        tensor = getattr(probe, name)
        if tensor.shape != shape:
            raise ProbeError(f"{path}: tensor {name!r} has shape {tensor.shape}; the fields of {CONFIG} say {shape}")
        if not np.isfinite(tensor).all():
            raise ProbeError(f"{path}: tensor {name!r} holds values that are not finite")
    if (np.diff(probe.thresholds) <= 0).any():
        raise ProbeError(f"{path}: tensor 'thresholds' is not ascending")


@checked_dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class TieModel:
    """Davidson's model on top of a pairwise probe's margin."""

    scale: Annotated[float, Field(gt=0)]  # how much of the margin holds on questions that the probe has not seen
    log_nu: FiniteFloat  # log of the tie parameter
    n_pairs: int  # what it was fitted on, as is ``n_ties``
    n_ties: int

    def probabilities(self, margins: Array) -> Floats:
        """Probabilities of A, B and tie from log-odds that A is preferred, shape (n_pairs, 3)."""
        return outcome_probabilities(self.scale * np.asarray(margins, float), self.log_nu)


def margins_of(probability: Array) -> Floats:
    """Log-odds of probabilities that A is preferred; certainty is taken for six nines."""
    return logit(np.clip(np.asarray(probability, float), 1e-6, 1 - 1e-6))
