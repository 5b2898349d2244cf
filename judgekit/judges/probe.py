"""``probe/<name>``: a linear probe on the difference of two responses' hidden states in a frozen model.

A folder holds the probe (`judgekit.probes.saved`, of the kind ``pair_logistic``) and ``ties.json``. Each response is
read with its question, by itself, so no verdict depends on the order shown.
"""

import json
import time
from collections import OrderedDict
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from judgekit.fingerprints import fingerprint_of
from judgekit.judges.features import reply_of
from judgekit.probes.pairs import TieModel, margins_of
from judgekit.probes.saved import CONFIG, ProbeError, load_probe, save_probe
from judgekit.probes.texts import rated_text
from judgekit.results.files import replaced

TIES = "ties.json"
CACHE_SIZE = 50_000  # texts whose states are kept in memory: 3 kB per layer of MiniLM


def save_probe_judge(probe, ties, folder):
    """Write a judge: the probe, then the tie model.

    Parameters
    ----------
    probe : judgekit.probes.saved.SavedProbe
    ties : judgekit.probes.pairs.TieModel
    folder : path
    """
    save_probe(probe, folder)
    with replaced(Path(folder) / TIES) as temporary:
        temporary.write_text(json.dumps(asdict(ties), indent=1) + "\n", encoding="utf-8")


def load_ties(path):
    """The tie model of a judge.

    Raises
    ------
    judgekit.probes.saved.ProbeError
        If it is missing or damaged.
    """
    try:
        ties = TieModel(**json.loads(path.read_text(encoding="utf-8")))
        sound = ties.scale > 0 and abs(ties.log_nu) < float("inf")
    except FileNotFoundError:
        raise ProbeError(f"{path}: no such file") from None
    except (OSError, ValueError, TypeError) as broken:
        raise ProbeError(f"{path}: no tie model ({broken})") from None
    if not sound:
        raise ProbeError(f"{path}: scale {ties.scale} and log_nu {ties.log_nu} are no tie model")
    return ties


class ProbeJudge:
    """A judge of pairs that reads from inside a frozen model.

    Parameters
    ----------
    folder : path
    name : str, optional
        ``probe/<folder name>`` by default.
    device : str
    cache : judgekit.representations.cache.StateCache, optional
        Where hidden states are kept.

    Raises
    ------
    judgekit.probes.saved.ProbeError
        If the folder holds no such judge, or its model is another one.
    """

    decoding = "{}"
    batch_size = 64
    sees_item = False

    def __init__(self, folder, name=None, device="cpu", cache=None):
        from judgekit.representations.reader import StateReader

        folder = Path(folder)
        self.name = name or f"probe/{folder.name}"
        self.probe, self.ties = load_probe(folder), load_ties(folder / TIES)
        if self.probe.kind != "pair_logistic":
            raise ProbeError(
                f"{folder / CONFIG}: field 'kind' is {self.probe.kind!r}: a judge of pairs needs a pairwise one"
            )
        inputs = self.probe.inputs
        self.reader = StateReader(inputs.model, limit=inputs.limit, bf16=inputs.bf16, device=device, cache=cache)
        self.probe.check_model(self.reader.fingerprint, inputs.limit, inputs.bf16)
        self.read = OrderedDict()
        digests = [tensor.tobytes().hex() for tensor in self.probe.tensors]
        self.fingerprint = fingerprint_of("probe", asdict(inputs), digests, asdict(self.ties))

    def judge(self, requests):
        """Read every response once, then compare."""
        if not requests:
            return []
        started = time.perf_counter()
        firsts, seconds = (
            self.states([rated_text(request.asked, getattr(request, side)) for request in requests])
            for side in ("first", "second")
        )
        outcomes = self.ties.probabilities(margins_of(self.probe.probabilities(firsts - seconds)[:, 1]))
        taken = (time.perf_counter() - started) / len(requests)
        return [replace(reply_of(row), seconds=taken) for row in outcomes]

    def states(self, texts):
        """States of texts, shape (n_texts, n_layers, width), from memory where they were read before.

        A response stands in many pairs and in both orders: it is read once.
        """
        inputs = self.probe.inputs
        if missing := [text for text in dict.fromkeys(texts) if text not in self.read]:
            states = self.reader.read(missing, (inputs.pooling,), inputs.layers)[inputs.pooling]
            self.read.update(zip(missing, states.astype(float), strict=True))
        found = np.stack([self.read[text] for text in texts])
        while len(self.read) > CACHE_SIZE:
            self.read.popitem(last=False)
        return found
