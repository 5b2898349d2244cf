"""``encoder/...``: looks first, then reads: a surface model behind a gate that a small encoder works.

The preference part says which response looks better; the gate, from cosines of embeddings, says whether one of them is
beside the question (`judgekit.gate`). Each text is encoded once and alone, so no verdict depends on the order shown.
"""

import hashlib
import json
import time
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from judgekit.davidson import outcome_probabilities
from judgekit.gate import gated
from judgekit.judges.base import fingerprint_of
from judgekit.judges.batching import token_batches
from judgekit.judges.encoder_model import TextEncoder
from judgekit.judges.features import ROUNDING, SurfaceModel
from judgekit.store import Reply

FORMAT = 2
CACHE_SIZE = 50_000  # embeddings kept in memory: about 80 MB for 384 dimensions


def folder_fingerprint(folder):
    """Hash of the files that a judge's replies depend on."""
    weights = ("adapter/adapter_config.json", "adapter/adapter_model.safetensors", "model/model.safetensors")
    files = [(name, Path(folder) / name) for name in ("judge.json", *weights)]
    digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files if path.is_file()}
    return fingerprint_of("encoder", FORMAT, digests)


class EncoderJudge:
    """A trained encoder judge, read from its folder.

    Parameters
    ----------
    folder : path
        Holds ``judge.json`` and ``adapter/`` (PEFT), as `judgekit.training.encoder` writes them. Nothing in it is
        executed.
    name : str, optional
        ``encoder/<folder name>`` by default.
    batch_tokens : int
        Tokens per forward pass, padding included. Results do not depend on it beyond float rounding.

    Raises
    ------
    FileNotFoundError
        If the folder holds no judge, or one without its adapter.
    ValueError
        If it was written in another format.
    """

    decoding = "{}"
    batch_size = 64
    sees_item = False

    def __init__(self, folder, name=None, batch_tokens=8192, device="cpu"):
        folder = Path(folder)
        if not (folder / "judge.json").is_file():
            raise FileNotFoundError(f"{folder}: no judge here (judge.json is missing)")
        self.config = json.loads((folder / "judge.json").read_text(encoding="utf-8"))
        if self.config.get("format") != FORMAT:
            raise ValueError(f"{folder}/judge.json: format {self.config.get('format')}; this version reads {FORMAT}")
        self.name = name or f"encoder/{folder.name}"
        self.fingerprint = folder_fingerprint(folder)
        self.batch_tokens = batch_tokens
        self.surface = SurfaceModel(self.config, folder / "judge.json")
        trained = self.config["trained"]
        adapter = folder / "adapter" if trained == "adapter" else None
        if adapter is not None and not (adapter / "adapter_model.safetensors").is_file():
            raise FileNotFoundError(f"{folder}: adapter/adapter_model.safetensors is missing")
        base = str(folder / "model") if trained == "model" else self.config["base"]
        self.encoder = TextEncoder(base, self.config.get("revision"), adapter, device=device)
        self.cache = OrderedDict()

    def judge(self, requests):
        """Encode every text once, then compare."""
        started = time.perf_counter()
        texts = {("question", request.asked) for request in requests}
        texts |= {("response", text) for request in requests for text in (request.first, request.second)}
        encoded = self.encode(sorted(texts))
        replies = [self.reply(request, encoded) for request in requests]
        seconds = (time.perf_counter() - started) / max(len(requests), 1)
        return [replace(reply, seconds=seconds) for reply in replies]

    def encode(self, texts):
        """Embedding and token count of each (kind, text), from memory where it was seen before.

        A question is asked about many responses, a response stands in many pairs and in both orders: each text is
        encoded once. What is missing goes through the encoder longest first, in batches of like lengths.
        """
        missing = [key for key in texts if key not in self.cache]
        ids = {key: self.encoder.token_ids(key[1], self.config[f"max_{key[0]}_tokens"]) for key in missing}
        lengths = {key: len(ids[key]) for key in missing}
        for batch in token_batches(sorted(missing, key=lambda key: -lengths[key]), lengths, self.batch_tokens):
            with torch.inference_mode():
                vectors = torch.nn.functional.normalize(self.encoder.embed([ids[key] for key in batch]), dim=-1)
            vectors = vectors.cpu().double().numpy()
            for key, vector in zip(batch, vectors, strict=True):
                self.cache[key] = (vector, len(ids[key]))
        for key in texts:
            self.cache.move_to_end(key)
        encoded = {key: self.cache[key] for key in texts}
        while len(self.cache) > CACHE_SIZE:
            self.cache.popitem(last=False)
        return encoded

    def reply(self, request, encoded):
        """One comparison of two encoded responses. The scores are those of the preference part alone."""
        keys = ("question", request.asked), ("response", request.first), ("response", request.second)
        asked, first, second = (encoded[key] for key in keys)
        score_first, score_second, log_nu = self.surface.compare(request)
        outcomes = outcome_probabilities(score_first - score_second, log_nu)
        cosines = [float(a[0] @ b[0]) for a, b in ((asked, first), (asked, second), (first, second))]
        if self.config["gate"]:
            outcomes = gated(outcomes[None], *np.array([cosines]).T, self.config["gate"])[0]
        if not np.isfinite(outcomes).all():
            raise ValueError(f"probabilities that are no numbers ({outcomes}): damaged weights?")
        reply = Reply(likeliest(outcomes), *map(float, outcomes), score_first, score_second)
        return replace(reply, tokens_in=asked[1] + first[1] + second[1])


def likeliest(outcomes):
    """The verdict of probabilities of first, second and tie; differences of a rounding error are none."""
    first, second, tie = outcomes
    if tie >= max(first, second) or abs(first - second) <= ROUNDING:
        return "tie"
    return "first" if first > second else "second"
