"""``probe/<name>``: a linear probe on the difference of two responses' hidden states in a frozen model.

A folder holds the probe (`judgekit.inside.saved_probes`, of the kind ``pair_logistic``) and ``ties.json``. Each
response is read with its question, by itself, so no verdict depends on the order shown.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from judgekit.data.files import write_json
from judgekit.inside import saved_probes
from judgekit.inside.representations import rated_text
from judgekit.inside.saved_probes import ProbeError, SavedProbe, TieModel, margins_of
from judgekit.judges.base import Judge, Request
from judgekit.judges.surface import reply_of
from judgekit.models.states import Array, StateReader
from judgekit.records import Reply, fingerprint_of

_TIES = "ties.json"
_REMEMBERED = 20_000  # texts whose states are kept in memory: 7 kB per layer of 896 numbers


def save_probe_judge(probe: SavedProbe, ties: TieModel, folder: str | Path) -> None:
    """Write a judge: the probe, then the tie model."""
    saved_probes.save_probe(probe, folder)
    write_json(Path(folder) / _TIES, asdict(ties))


class ProbeJudge(Judge):
    """A judge of pairs that reads from inside a frozen model; ProbeError where a folder holds none, or of another."""

    batch_size = 64

    def __init__(self, folder: str | Path, name: str | None = None) -> None:
        folder = Path(folder)
        self.name = name or f"probe/{folder.name}"
        self.probe = saved_probes.load_probe(folder)
        self.ties = saved_probes.read_json(folder / _TIES, TieModel, ProbeError)
        if self.probe.kind != "pair_logistic":
            wrong = f"field 'kind' is {self.probe.kind!r}: a judge of pairs needs a pairwise one"
            raise ProbeError(f"{folder / saved_probes.CONFIG}: {wrong}")
        inputs = self.probe.inputs
        self.reader = StateReader(inputs.model, limit=inputs.limit, bf16=inputs.bf16, top=inputs.layers[-1])
        self.probe.check_model(self.reader)
        self._read: dict[int, Any] = {}  # by the hash of a text, which may be long
        digests = [tensor.tobytes().hex() for tensor in self.probe.tensors]
        read = asdict(inputs) | {"bf16": self.reader.reads_bf16}
        self.fingerprint = fingerprint_of("probe", read, digests, asdict(self.ties))

    def judge(self, requests: Sequence[Request]) -> list[Reply]:
        """Read every response once, then compare. A text that just fills the limit counts as truncated, too."""
        if not requests:
            return []
        started = time.perf_counter()
        firsts, cut = self._states([rated_text(request.asked, request.first) for request in requests])
        seconds, also_cut = self._states([rated_text(request.asked, request.second) for request in requests])
        outcomes = self.ties.probabilities(margins_of(self.probe.probabilities(firsts - seconds)[:, 1]))
        taken = (time.perf_counter() - started) / len(requests)
        counts = (cut + also_cut).tolist()
        return [replace(reply_of(row), seconds=taken, truncated=n) for row, n in zip(outcomes, counts, strict=True)]

    def _states(self, texts: Sequence[str]) -> tuple[Array, Array]:
        """States of texts, shape (n_texts, n_layers, width), and which fill the limit, from memory if read before."""
        inputs = self.probe.inputs
        if len(self._read) > _REMEMBERED:
            self._read.clear()
        if missing := [text for text in dict.fromkeys(texts) if hash(text) not in self._read]:
            states = self.reader.read(missing, (inputs.pooling,), inputs.layers)[inputs.pooling]
            full = map(self.reader.fills, missing)
            self._read.update(zip(map(hash, missing), zip(states.astype(float), full, strict=True), strict=True))
        read = [self._read[hash(text)] for text in texts]
        return np.stack([states for states, _ in read]), np.array([full for _, full in read], int)
