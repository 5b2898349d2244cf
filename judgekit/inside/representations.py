"""Hidden states on disk, and the same states where a probe is fitted and where it is used."""

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from judgekit.data.files import replaced
from judgekit.data.paths import run_folder
from judgekit.inside.saved_probes import Inputs, SavedProbe
from judgekit.records import fingerprint_of
from judgekit.stats import Array

if TYPE_CHECKING:
    from judgekit.models.states import StateReader

_VERSION = 1  # of what a pooling means: raise it when the same text would give other numbers
_TENSOR = "states"


def rated_text(question: str, response: str) -> str:
    """A question and a response as one text, the same for every aspect: one forward pass serves them all.

    Joined as they are; nothing in them is interpreted.

    >>> rated_text("Why?", "Because.")
    'Question:\\nWhy?\\n\\nResponse:\\nBecause.'
    """
    return "Question:\n" + question + "\n\nResponse:\n" + response


def array_digest(array: Array) -> str:
    """SHA-256 of an array's shape, type and values."""
    array = np.ascontiguousarray(array)
    return hashlib.sha256(str((array.shape, array.dtype.str)).encode() + array.tobytes()).hexdigest()


class StateCache:
    """Arrays in a folder, one safetensors file per text and pooling, looked up by model, text and pooling.

    Two processes may fill one folder. A file that cannot be read is reported with a warning and counts as absent.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def key(self, fingerprint: str, text: str, pooling: str, limit: int, wide: bool = False) -> str:
        """SHA-256 over all that a value depends on; ``limit``: most tokens read, ``wide``: without bfloat16."""
        read = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return fingerprint_of(_VERSION, fingerprint, read, pooling, limit, wide)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.safetensors"

    def get(self, key: str) -> Array | None:
        try:
            return load_file(path := self._path(key))[_TENSOR]
        except FileNotFoundError:
            return None
        except (SafetensorError, OSError) as broken:
            warnings.warn(f"{path} cannot be read ({broken}): it is computed again", stacklevel=3)
        return None

    def put(self, key: str, array: Array) -> None:
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(path) as temporary:
            save_file({_TENSOR: np.ascontiguousarray(array)}, temporary)


def cached_reader(run: str, base: str, limit: int = 512, bf16: bool = False) -> "StateReader":
    """A reader of a frozen model's states, ``limit`` tokens of a text at most, which are cached in the run's folder."""
    from judgekit.models.states import StateReader

    return StateReader(base, limit, StateCache(run_folder(run, "models", "states")), bf16)


def inputs_of(reader: "StateReader", pooling: str, layers: Sequence[int]) -> Inputs:
    """What a probe remembers about the states it is fitted on; layers by their numbers, ascending."""
    from judgekit.models.states import POOLINGS  # here, for it needs torch

    if pooling not in POOLINGS:
        raise ValueError(f"pooling {pooling!r} is none of {', '.join(POOLINGS)}")
    if list(layers) != sorted(set(layers) & set(range(reader.n_layers))):
        raise ValueError(f"layers {list(layers)}: ascending numbers from 0 to {reader.n_layers - 1} are needed")
    width = reader.encoder.width
    return Inputs(reader.name, reader.fingerprint, pooling, tuple(layers), width, reader.limit, reader.bf16)


def states_for(probes: Mapping[str, SavedProbe], reader: "StateReader", texts: Sequence[str]) -> dict[str, Array]:
    """Hidden states that saved probes read, by probe, shape (n_texts, n_layers, width), from one pass for all."""
    for probe in probes.values():
        probe.check_model(reader)
    layers = sorted({layer for probe in probes.values() for layer in probe.inputs.layers})
    states = reader.read(texts, tuple(sorted({probe.inputs.pooling for probe in probes.values()})), layers)
    return {
        name: states[probe.inputs.pooling][:, [layers.index(layer) for layer in probe.inputs.layers]]
        for name, probe in probes.items()
    }
