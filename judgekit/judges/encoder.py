"""``encoder/...``: looks first, then reads: a surface model behind a gate that a small encoder works.

The preference part says which response looks better; the gate, from cosines of embeddings, says whether one of them is
beside the question (`judgekit.gate`). Each text is encoded once and alone, so no verdict depends on the order shown.

``judge.json`` holds the recipe's limits and the small parts, ``adapter/`` the encoder's LoRA weights and
``others.safetensors`` embeddings of training questions, which a response's relevance is measured against. A judge that
differs from another one in its small parts alone names the folder beside its own that holds the rest (``weights_of``).
A defended judge has a second gate, against responses that were tampered with (`judgekit.tamper_gate`).
"""

import json
import re
import time
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from judgekit.davidson import outcome_probabilities
from judgekit.fingerprints import fingerprint_of
from judgekit.gate import gated, relevance_inputs, relevance_of
from judgekit.judges.features import SurfaceModel, reply_of
from judgekit.models.batching import token_batches
from judgekit.models.encoder import TextEncoder, native_bf16, padded_length
from judgekit.models.seal import check_seal, digests_of
from judgekit.tamper_gate import END, against_tampering, tamper_odds

FORMAT = 3
DEFENDED = 4  # format of a judge with the gate against tampering
OTHERS = "others.safetensors"
CPU_BATCH_TOKENS, GPU_BATCH_TOKENS = 2_048, 65_536
CACHE_SIZE = 50_000  # embeddings kept in memory: about 80 MB for 384 dimensions
WEIGHTS = ("adapter/adapter_config.json", "adapter/adapter_model.safetensors", "model/model.safetensors")


def folder_fingerprint(digests, bf16):
    """Hash of the files, and of the numeric format, that a judge's replies depend on."""
    return fingerprint_of("encoder", FORMAT, digests, "bf16" if bf16 else "fp32")


def encoder_key(digests, config, bf16):
    """Hash of what a judge's embeddings depend on."""
    parts = ("base", "revision", "trained", "max_question_tokens", "max_response_tokens")
    weights = {name: digests[name] for name in WEIGHTS if name in digests}
    return fingerprint_of(weights, [config.get(name) for name in parts], bf16)


def weights_folder(folder, config):
    """The folder that holds a judge's weights: its own, or the one beside it that ``weights_of`` names.

    Raises
    ------
    ValueError
        If the name is no plain one: a judge from elsewhere must not point anywhere else.
    """
    name = config.get("weights_of")
    if name is None:
        return folder
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        raise ValueError(f"{folder}/judge.json: weights_of {name!r} is not the name of a folder beside this one")
    return folder.parent / name


class EncoderJudge:
    """A trained encoder judge, read from its folder.

    Parameters
    ----------
    folder : path
        Holds what `judgekit.training.encoder` writes. Nothing in it is executed.
    name : str, optional
        ``encoder/<folder name>`` by default.
    batch_tokens : int, optional
        Tokens per forward pass, padding included: by default few on a processor, where what a layer hands to the next
        then stays in the cache, and many on a GPU. Results do not depend on it beyond float rounding.
    bf16 : bool, optional
        Whether the encoder computes in bfloat16; by default where the processor does so natively, which halves the
        time at least (``make bench`` measures how many verdicts differ).

    Attributes
    ----------
    cache_size : int
        Embeddings that are kept in memory, the last used ones; may be changed at any time.

    Raises
    ------
    FileNotFoundError
        If the folder holds no judge, or a part of it is missing.
    ValueError
        If it was written in another format, or its weights are not those that were sealed (`judgekit.models.seal`).
    """

    decoding = "{}"
    batch_size = 256  # so that texts of like lengths meet
    sees_item = False

    def __init__(self, folder, name=None, batch_tokens=None, device="cpu", bf16=None):
        folder = Path(folder)
        if not (folder / "judge.json").is_file():
            raise FileNotFoundError(f"{folder}: no judge here (judge.json is missing)")
        self.config = json.loads((folder / "judge.json").read_text(encoding="utf-8"))
        wanted = DEFENDED if "tamper" in self.config else FORMAT
        if self.config.get("format") != wanted:
            raise ValueError(f"{folder}/judge.json: format {self.config.get('format')}; this version reads {wanted}")
        self.name = name or f"encoder/{folder.name}"
        self.surface = SurfaceModel(self.config, folder / "judge.json")
        self.bf16 = native_bf16() if bf16 is None else bf16
        digests = digests_of(folder, ("judge.json",))
        folder = weights_folder(folder, self.config)
        digests |= digests_of(folder, (*WEIGHTS, OTHERS))
        self.fingerprint = folder_fingerprint(digests, self.bf16)
        self.encoder_key = encoder_key(digests, self.config, self.bf16)
        self.batch_tokens = batch_tokens or (CPU_BATCH_TOKENS if device == "cpu" else GPU_BATCH_TOKENS)
        trained = self.config["trained"]
        adapter = folder / "adapter" if trained == "adapter" else None
        needed = [OTHERS] if adapter is None else ["adapter/adapter_model.safetensors", OTHERS]
        if missing := [name for name in needed if not (folder / name).is_file()]:
            raise FileNotFoundError(f"{folder}: {missing[0]} is missing")
        check_seal(folder, {name: digest for name, digest in digests.items() if name != "judge.json"})
        base = str(folder / "model") if trained == "model" else self.config["base"]
        self.encoder = TextEncoder(base, self.config.get("revision"), adapter, device=device)
        if self.bf16:
            self.encoder.keep_bf16()
        self.others = load_file(folder / OTHERS)["vectors"].astype(np.float32)
        self.cache, self.cache_size = OrderedDict(), CACHE_SIZE

    @property
    def defended(self):
        """Whether there is a gate against tampering."""
        return "tamper" in self.config

    def share_embeddings(self, other):
        """Embed no text that another judge with the same encoder has embedded, and let it do the same.

        Raises
        ------
        ValueError
            If the other one's encoder, or what it reads of a text, is not the same (`encoder_key`).
        """
        if self.encoder_key != other.encoder_key:
            raise ValueError(f"{self.name} and {other.name} have different encoders: their embeddings differ")
        self.cache = other.cache

    def judge(self, requests):
        """Encode every text once, then compare."""
        started = time.perf_counter()
        texts = {("question", request.asked) for request in requests}
        kinds = ("response", "head", "tail") if self.defended else ("response",)
        shown = {text for request in requests for text in (request.first, request.second)}
        texts |= {(kind, text) for kind in kinds for text in shown}
        encoded = self.encode(sorted(texts))
        replies = self.compare(requests, encoded) if requests else []
        seconds = (time.perf_counter() - started) / max(len(requests), 1)
        return [replace(reply, seconds=seconds) for reply in replies]

    def encode(self, texts):
        """Embedding and token count of each (kind, text), from memory where it was seen before.

        A question is asked about many responses, a response stands in many pairs and in both orders: each text is
        encoded once. What is missing goes through the encoder longest first, in batches of like lengths.
        """
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

    def ids_of(self, kind, text):
        """Token ids of a question, of a response, or of one of its ends."""
        if kind in ("head", "tail"):
            return self.encoder.end_ids(text, END)[kind == "tail"]
        return self.encoder.token_ids(text, self.config[f"max_{kind}_tokens"])

    def tampered(self, features, texts, encoded):
        """Log odds that responses were tampered with, shape (n,)."""
        ends = {kind: np.stack([encoded[kind, text][0] for text in texts]) for kind in ("head", "tail")}
        return tamper_odds({"features": self.surface.standardised(features), **ends}, self.config["tamper"])

    def compare(self, requests, encoded):
        """Replies from encoded texts. The scores are those of the preference part alone."""
        keys = [("question", request.asked) for request in requests]
        keys += [("response", request.first) for request in requests]
        keys += [("response", request.second) for request in requests]
        vectors = np.stack([encoded[key][0] for key in keys])
        asked, first, second = np.split(vectors, 3)
        sides = [self.surface.sides(request) for request in requests]
        scores = np.array([self.surface.compare(*both) for both in zip(requests, sides, strict=True)])
        outcomes = outcome_probabilities(scores[:, 0] - scores[:, 1], scores[:, 2])
        if self.config["gate"]:
            relevance = [
                relevance_of(relevance_inputs(asked, side, self.others), self.config["relevance"])
                for side in (first, second)
            ]
            outcomes = gated(outcomes, *relevance, (first * second).sum(-1), self.config["gate"])
        if self.defended:
            shown = ([request.first for request in requests], [request.second for request in requests])
            features = zip(*sides, strict=True)
            outcomes = against_tampering(
                outcomes, *(self.tampered(own, texts, encoded) for own, texts in zip(features, shown, strict=True))
            )
        counts = np.array([encoded[key][1] for key in keys]).reshape(3, -1).sum(0)
        return [
            replace(reply_of(row, *map(float, pair[:2])), tokens_in=int(tokens))
            for row, pair, tokens in zip(outcomes, scores, counts, strict=True)
        ]
