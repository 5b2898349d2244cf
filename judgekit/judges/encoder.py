"""``encoder/...``: a small encoder that scores each response alone."""

import hashlib
import json
import time
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

from judgekit.judges.base import fingerprint_of
from judgekit.judges.encoder_model import ScoreHeads, TextEncoder
from judgekit.judges.features import reply_of
from judgekit.surface import pair_features, surface_features

FORMAT = 1
CACHE_SIZE = 50_000  # embeddings kept in memory: about 80 MB for 384 dimensions


def folder_fingerprint(folder):
    """Hash of the files that a judge's replies depend on."""
    names = ("judge.json", "heads.safetensors", "adapter/adapter_config.json", "adapter/adapter_model.safetensors")
    files = [(name, Path(folder) / name) for name in names]
    digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files if path.is_file()}
    return fingerprint_of("encoder", FORMAT, digests)


class EncoderJudge:
    """A trained encoder judge, read from its folder.

    Parameters
    ----------
    folder : path
        Holds ``judge.json``, ``heads.safetensors`` and ``adapter/`` (PEFT), as `judgekit.training.encoder` writes
        them. Nothing in it is executed.
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
        adapter = folder / "adapter" if self.config.get("adapter", True) else None
        if adapter is not None and not (adapter / "adapter_model.safetensors").is_file():
            raise FileNotFoundError(f"{folder}: adapter/adapter_model.safetensors is missing")
        self.encoder = TextEncoder(self.config["base"], self.config.get("revision"), adapter, device=device)
        self.heads = ScoreHeads(self.encoder.width, self.config["hidden"]).to(device).eval()
        self.heads.load_state_dict(
            {key: value.float() for key, value in load_file(folder / "heads.safetensors").items()}
        )
        self.cache = OrderedDict()

    def judge(self, requests):
        """Score each response alone, then compare under Davidson's model."""
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
        for batch in token_batches(sorted(missing, key=lambda key: -len(ids[key])), ids, self.batch_tokens):
            with torch.inference_mode():
                vectors = self.encoder.embed([ids[key] for key in batch]).cpu()
            for key, vector in zip(batch, vectors, strict=True):
                self.cache[key] = (vector, len(ids[key]))
        for key in texts:
            self.cache.move_to_end(key)
        encoded = {key: self.cache[key] for key in texts}
        while len(self.cache) > CACHE_SIZE:
            self.cache.popitem(last=False)
        return encoded

    def reply(self, request, encoded):
        """One comparison of two encoded responses."""
        question = request.asked
        sides = [request.first, request.second]
        asked, answered = encoded["question", question], [encoded["response", text] for text in sides]
        features = [surface_features(question, text) for text in sides]
        with torch.inference_mode():
            scores, _ = self.heads(
                asked[0].expand(2, -1),
                torch.stack([vector for vector, _ in answered]),
                torch.tensor(np.array(features), dtype=torch.float32),
            )
            pair = torch.tensor(pair_features(*sides, *features), dtype=torch.float32)
            log_nu = self.heads.log_nu(pair.unsqueeze(0)).item()
        first, second = scores.tolist()
        tokens = asked[1] + sum(count for _, count in answered)
        return replace(reply_of(first - second, log_nu, first, second), tokens_in=tokens)


def token_batches(keys, ids, budget):
    """Consecutive batches of at most ``budget`` tokens, padding included (at least one text each)."""
    batch, longest = [], 0
    for key in keys:
        longest_with = max(longest, len(ids[key]))
        if batch and longest_with * (len(batch) + 1) > budget:
            yield batch
            batch, longest_with = [], len(ids[key])
        batch.append(key)
        longest = longest_with
    if batch:
        yield batch
