"""``encoder/...``: a preference model on surface features behind a gate that a small encoder works.

Each text is encoded once and alone, so no verdict depends on the order shown. A folder holds ``judge.json`` (limits and
the small parts), ``adapter/`` (LoRA weights) and ``others.safetensors`` (embeddings of training questions, which a
response's relevance is measured against); ``weights_of`` names the folder beside it that holds the rest. A defended
judge has a second gate, against responses that were tampered with (`judgekit.judges.gate`).
"""

import json
import re
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from judgekit.judges.base import Request
from judgekit.judges.features import SurfaceModel, reply_of
from judgekit.judges.gate import END, against_tampering, gated, relevance_inputs, relevance_of, tamper_odds
from judgekit.models.encoder import TextEncoder, native_bf16, padded_length, token_batches
from judgekit.models.files import check_seal, digests_of
from judgekit.records import Reply, fingerprint_of
from judgekit.stats import outcome_probabilities

FORMAT = 3
DEFENDED = 4  # format of a judge with the gate against tampering
OTHERS = "others.safetensors"
CPU_BATCH_TOKENS = 2_048
WEIGHTS = ("adapter/adapter_config.json", "adapter/adapter_model.safetensors", "model/model.safetensors")
Text = tuple[str, str]  # "question", "response", "head" or "tail", and the text
Encoded = dict[Text, tuple[np.ndarray[Any, Any], int]]  # unit embedding, and tokens


def weights_folder(folder: Path, config: dict[str, Any]) -> Path:
    """The folder that holds a judge's weights: its own, or the one beside it that ``weights_of`` names.

    ValueError where the name is no plain one: a judge from elsewhere must not point anywhere else.
    """
    name = config.get("weights_of")
    if name is None:
        return folder
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        raise ValueError(f"{folder}/judge.json: weights_of {name!r} is not the name of a folder beside this one")
    return folder.parent / name


class EncoderJudge:
    """A trained encoder judge, read from the folder that `judgekit.training.encoder` writes; nothing in it is executed.

    ``bf16``: by default where the processor computes in it natively. ``batch_tokens``: tokens per forward pass, few so
    that what a layer hands to the next stays in the processor's cache. FileNotFoundError where the folder holds no
    judge or lacks a part, ValueError where it was written in another format, Unavailable where its weights are not
    those that were sealed, or not all there.
    """

    decoding = "{}"
    batch_size = 256  # so that texts of like lengths meet
    sees_item = False
    batch_tokens = CPU_BATCH_TOKENS
    cache_size = 50_000  # embeddings kept in memory: about 80 MB for 384 dimensions

    def __init__(self, folder: str | Path, name: str | None = None, bf16: bool | None = None) -> None:
        folder = Path(folder)
        if not (folder / "judge.json").is_file():
            raise FileNotFoundError(f"{folder}: no judge here (judge.json is missing)")
        self.config = json.loads((folder / "judge.json").read_text(encoding="utf-8"))
        self.defended = "tamper" in self.config
        wanted = DEFENDED if self.defended else FORMAT
        if self.config.get("format") != wanted:
            raise ValueError(f"{folder}/judge.json: format {self.config.get('format')}; this version reads {wanted}")
        self.name = name or f"encoder/{folder.name}"
        self.surface = SurfaceModel(self.config, folder / "judge.json")
        self.bf16 = bf16 is not False and native_bf16()
        own = digests_of(folder, ("judge.json",))
        folder = weights_folder(folder, self.config)
        digests = digests_of(folder, (*WEIGHTS, OTHERS))
        self.fingerprint = fingerprint_of("encoder", FORMAT, own | digests, "bf16" if self.bf16 else "fp32")
        read = ("base", "revision", "trained", "max_question_tokens", "max_response_tokens")
        weights = {name: digests[name] for name in WEIGHTS if name in digests}
        # What embeddings depend on.
        self.encoder_key = fingerprint_of(weights, [self.config.get(name) for name in read], self.bf16)
        trained = self.config["trained"]
        adapter = folder / "adapter" if trained == "adapter" else None
        for needed in ([] if adapter is None else ["adapter/adapter_model.safetensors"]) + [OTHERS]:
            if not (folder / needed).is_file():
                raise FileNotFoundError(f"{folder}: {needed} is missing")
        check_seal(folder, digests)
        base = str(folder / "model") if trained == "model" else self.config["base"]
        self.encoder = TextEncoder(base, self.config.get("revision"), adapter)
        if self.bf16:
            self.encoder.keep_bf16()
        self.others = load_file(folder / OTHERS)["vectors"].astype(np.float32)
        self.cache: OrderedDict[Text, tuple[np.ndarray[Any, Any], int]] = OrderedDict()

    def share_embeddings(self, other: "EncoderJudge") -> None:
        """Embed no text that another judge has embedded, and the reverse; ValueError where the encoders differ."""
        if self.encoder_key != other.encoder_key:
            raise ValueError(f"{self.name} and {other.name} have different encoders: their embeddings differ")
        self.cache = other.cache

    def judge(self, requests: Sequence[Request]) -> list[Reply]:
        """Encode every text once, then compare."""
        if not requests:
            return []
        started = time.perf_counter()
        kinds = ("response", "head", "tail") if self.defended else ("response",)
        shown = {text for request in requests for text in (request.first, request.second)}
        texts = {("question", request.asked) for request in requests}
        replies = self.compare(requests, self.encode(sorted(texts | {(k, text) for k in kinds for text in shown})))
        seconds = (time.perf_counter() - started) / len(requests)
        return [replace(reply, seconds=seconds) for reply in replies]

    def encode(self, texts: Sequence[Text]) -> Encoded:
        """Embedding and token count of each (kind, text), from memory where seen before; longest first, in batches."""
        missing = [key for key in texts if key not in self.cache]
        ids = {key: self.ids_of(*key) for key in missing}
        lengths = {key: padded_length(len(ids[key])) for key in missing}
        for batch in token_batches(sorted(missing, key=lambda key: -lengths[key]), lengths, self.batch_tokens):
            vectors = self.encoder.unit_vectors([ids[key] for key in batch], self.bf16)
            for key, vector in zip(batch, vectors, strict=True):
                self.cache[key] = (vector, len(ids[key]))
        for key in texts:
            self.cache.move_to_end(key)
        encoded = {key: self.cache[key] for key in texts}
        while len(self.cache) > self.cache_size:
            self.cache.popitem(last=False)
        return encoded

    def ids_of(self, kind: str, text: str) -> list[int]:
        """Token ids of a question, of a response, or of one of its ends."""
        if kind in ("head", "tail"):
            return self.encoder.end_ids(text, END)[kind == "tail"]
        return self.encoder.token_ids(text, self.config[f"max_{kind}_tokens"])

    def compare(self, requests: Sequence[Request], encoded: Encoded) -> list[Reply]:
        """Replies from encoded texts. The scores are those of the preference part alone."""
        firsts, seconds = [request.first for request in requests], [request.second for request in requests]
        keys = [("question", request.asked) for request in requests]
        keys += [("response", text) for text in firsts + seconds]
        asked, first, second = np.split(np.stack([encoded[key][0] for key in keys]), 3)
        sides = [self.surface.sides(request) for request in requests]
        scores = np.array([self.surface.compare(*both) for both in zip(requests, sides, strict=True)])
        outcomes = outcome_probabilities(scores[:, 0] - scores[:, 1], scores[:, 2])
        if self.config["gate"]:
            one, other = (
                relevance_of(relevance_inputs(asked, side, self.others), self.config["relevance"])
                for side in (first, second)
            )
            outcomes = gated(outcomes, one, other, (first * second).sum(-1), self.config["gate"])
        if self.defended:
            odds = []
            for features, texts in zip(zip(*sides, strict=True), (firsts, seconds), strict=True):
                ends = {kind: np.stack([encoded[kind, text][0] for text in texts]) for kind in ("head", "tail")}
                inputs = {"features": self.surface.standardised(features), **ends}
                odds.append(tamper_odds(inputs, self.config["tamper"]))
            outcomes = against_tampering(outcomes, *odds)
        counts = np.array([encoded[key][1] for key in keys]).reshape(3, -1).sum(0)
        return [
            replace(reply_of(row, *map(float, pair[:2])), tokens_in=int(tokens))
            for row, pair, tokens in zip(outcomes, scores, counts, strict=True)
        ]
