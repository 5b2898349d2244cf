"""A fitted probe as two files that can be read by eye and by numpy, and that execute nothing.

``probe.safetensors``: one affine map (scaling, projection and classifier multiplied together) and, for an ordinal
probe, its thresholds. ``probe.json``: which hidden states of which model the map expects.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save
from scipy.special import expit, softmax

from judgekit.data.files import replaced
from judgekit.stats import Array, Floats

FORMAT = 1
CONFIG, TENSORS = "probe.json", "probe.safetensors"
KINDS = ("logistic", "ordinal", "pair_logistic")
WANTED = {  # fields of probe.json and their types
    "kind": str,
    "classes": list,
    "model": str,
    "model_fingerprint": str,
    "pooling": str,
    "layers": list,
    "width": int,
    "limit": int,
    "bf16": bool,
    "about": dict,
    "sha256": str,
}


class ProbeError(ValueError):
    """A saved probe that cannot be used; the message names the file and the field."""


@dataclass(frozen=True)
class Inputs:
    """The hidden states that a probe reads.

    ``model``: name, for people. ``model_fingerprint``: what is compared before the probe is used
    (``StateReader.fingerprint``). ``pooling``, ``layers`` (ascending): as in `judgekit.models.states`. ``width``: of
    one layer's pooled vector. ``limit``: tokens read of a text. ``bf16``: whether the model computed in bfloat16.
    """

    model: str
    model_fingerprint: str
    pooling: str
    layers: tuple
    width: int
    limit: int
    bf16: bool = False


@dataclass(frozen=True)
class SavedProbe:
    """An affine map from hidden states to class probabilities.

    ``kind``: one of `KINDS`. ``classes``: ascending. ``weight``: shape (len(layers) * width, n_outputs), one output per
    class; a single one for two classes, and for an ordinal probe. ``bias``: shape (n_outputs,). ``thresholds``: of an
    ordinal probe, ascending, shape (n_classes - 1,); else empty. ``about``: what else a reader should know (data,
    aspect, estimated scores), free but JSON.
    """

    kind: str
    classes: tuple
    inputs: Inputs
    weight: np.ndarray
    bias: np.ndarray
    thresholds: np.ndarray = field(default_factory=lambda: np.zeros(0))
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def tensors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weight, bias and thresholds."""
        return self.weight, self.bias, self.thresholds

    def probabilities(self, states: Array) -> Floats:
        """Probability of each class, shape (n_texts, n_classes).

        ``states``: the layers of `Inputs.layers` alone, in that order, shape (n_texts, len(layers), width); differences
        A - B for a pairwise probe. ValueError where they have another shape.
        """
        states = np.asarray(states, float)
        expected = (len(self.inputs.layers), self.inputs.width)
        if states.ndim != 3 or states.shape[1:] != expected:
            raise ValueError(f"states of shape {states.shape}: the probe reads (n_texts, {expected[0]}, {expected[1]})")
        outputs = states.reshape(len(states), -1) @ self.weight + self.bias
        if self.kind == "ordinal":
            below = expit(self.thresholds - outputs)
            return np.diff(below, axis=1, prepend=0, append=1)
        if outputs.shape[1] == 1:
            return np.concatenate([expit(-outputs), expit(outputs)], axis=1)
        return softmax(outputs, axis=1)

    def predict(self, states: Array) -> np.ndarray:
        """The most probable class of each text, shape (n_texts,)."""
        return np.asarray(self.classes)[self.probabilities(states).argmax(1)]

    def expected(self, states: Array) -> Floats:
        """Expected class of each text, shape (n_texts,): what texts are ranked by."""
        return self.probabilities(states) @ np.asarray(self.classes, float)

    def check_model(self, fingerprint: str, limit: int, bf16: bool) -> None:
        """Refuse hidden states that are not read as those the probe was fitted on: ProbeError names the field."""
        for name, given in {"model_fingerprint": fingerprint, "limit": limit, "bf16": bf16}.items():
            if given != (own := getattr(self.inputs, name)):
                raise ProbeError(f"the probe was fitted on {self.inputs.model} with {name} {own}, not with {given}")


def save_probe(probe: SavedProbe, folder: str | Path) -> None:
    """Write a probe, in place of one that is there: the tensors first, then the JSON that holds their hash."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: np.ascontiguousarray(getattr(probe, name), float) for name in ("weight", "bias", "thresholds")}
    content = save(tensors)
    config = {"format": FORMAT, "kind": probe.kind, "classes": list(probe.classes)} | asdict(probe.inputs)
    config |= {"about": probe.about, "sha256": hashlib.sha256(content).hexdigest()}
    told = json.dumps(config, indent=1) + "\n"  # before anything is written: ``about`` may not be JSON
    with replaced(folder / TENSORS) as temporary:
        temporary.write_bytes(content)
    with replaced(folder / CONFIG) as temporary:
        temporary.write_text(told, encoding="utf-8")


def load_probe(folder: str | Path) -> SavedProbe:
    """A probe from ``probe.json`` and ``probe.safetensors`` of a folder, whose parts fit together.

    ProbeError where a file is missing, damaged, or of another format, or a field does not fit; the message names both.
    """
    folder = Path(folder)
    config = read_config(folder / CONFIG)
    tensors = read_tensors(folder / TENSORS, config["sha256"])
    inputs = Inputs(**{item.name: config[item.name] for item in fields(Inputs)} | {"layers": tuple(config["layers"])})
    probe = SavedProbe(config["kind"], tuple(config["classes"]), inputs, **tensors, about=config["about"])
    check_shapes(probe, folder / TENSORS)
    return probe


def read_config(path: Path) -> dict[str, Any]:
    """The fields of ``probe.json``, each of the right type."""
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ProbeError(f"{path}: no such file") from None
    except (OSError, ValueError) as broken:
        raise ProbeError(f"{path}: not JSON ({broken})") from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        said = config.get("format") if isinstance(config, dict) else None
        raise ProbeError(f"{path}: field 'format' is {said!r}; this version reads {FORMAT}")
    for name, kind in WANTED.items():
        if name not in config:
            raise ProbeError(f"{path}: field {name!r} is missing")
        if type(config[name]) is not kind:  # isinstance would take true for a number
            raise ProbeError(f"{path}: field {name!r} is {config[name]!r}, not {kind.__name__}")
    for name, least in (("classes", 2), ("layers", 1)):
        values = config[name]
        if len(values) < least or any(type(v) is not int for v in values) or values != sorted(set(values)):
            raise ProbeError(f"{path}: field {name!r} is {values!r}, not at least {least} ascending whole numbers")
    if config["kind"] not in KINDS:
        raise ProbeError(f"{path}: field 'kind' is {config['kind']!r}, none of {', '.join(KINDS)}")
    return config


def read_tensors(path: Path, sha256: str) -> dict[str, np.ndarray]:
    """The tensors of ``probe.safetensors``, if it is the file that ``probe.json`` was written for."""
    if not path.is_file():
        raise ProbeError(f"{path}: no such file")
    if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
        raise ProbeError(f"{path}: not the file that {CONFIG} was written for (field 'sha256')")
    try:
        tensors = load_file(path)
    except SafetensorError as broken:
        raise ProbeError(f"{path}: not a safetensors file ({broken})") from None
    if set(tensors) != {"weight", "bias", "thresholds"}:
        raise ProbeError(f"{path}: tensors {', '.join(sorted(tensors))}; weight, bias and thresholds are needed")
    return tensors


def check_shapes(probe: SavedProbe, path: Path) -> None:
    """Refuse tensors that do not fit the fields beside them."""
    n_classes = len(probe.classes)
    if probe.kind == "pair_logistic" and n_classes != 2:
        raise ProbeError(f"{path.with_name(CONFIG)}: field 'classes' has {n_classes} entries; a pairwise probe has 2")
    single = probe.kind == "ordinal" or n_classes == 2
    n_outputs = 1 if single else n_classes
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
