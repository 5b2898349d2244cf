"""``encoder/...``: a preference model on surface features behind gates that a small encoder works.

Each text is encoded once and alone, so no verdict depends on the order shown. A folder holds ``judge.json`` (limits and
the small parts), ``adapter/`` (LoRA weights) and ``others.safetensors`` (embeddings of training questions, which a
response's relevance is measured against); ``weights_of`` names the folder beside it that holds the rest. A defended
judge has a second gate, against responses that were tampered with.
"""

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from safetensors.numpy import load_file

from judgekit.judges.base import Judge, Request
from judgekit.judges.surface import SurfaceModel, reply_of, standardise
from judgekit.models.encoder import PACKAGED_BASES, TextEncoder, native_bf16, padded_length, token_batches
from judgekit.models.files import check_seal, digests_of, model_files
from judgekit.records import Reply, fingerprint_of
from judgekit.stats import Array, Floats, outcome_probabilities

FORMAT = 3
DEFENDED = 4  # format of a judge with the gate against tampering
OTHERS = "others.safetensors"
CPU_BATCH_TOKENS = 2_048
WEIGHTS = ("adapter/adapter_config.json", "adapter/adapter_model.safetensors", "model/model.safetensors")
RELEVANCE_INPUTS = ("cosine", "lead", "lead_of_five")
GATE_FEATURES = ("lower_relevance", "relevance_gap", "likeness")
PARAPHRASE = 0.88  # cosine from which a question counts as another wording: its response may be right for both
CLOSED = {"weight": [0.0] * len(GATE_FEATURES), "bias": float("-inf"), "slope": 0.0}  # a gate that changes nothing
END = 40  # tokens read of either end of a response
PARTS = ("features", "head", "tail")
_CLOSEST = 5  # other questions that a response's cosine is compared with
Text = tuple[str, str]  # "question", "response", "head" or "tail", and the text


def relevance_inputs(questions: Array, responses: Array, others: Array) -> Floats:
    """`RELEVANCE_INPUTS` of responses, shape (n, 3), from unit embeddings of shape (n, width).

    Cosine with the question, its lead over the closest of the others (not other wordings), over the mean of five.
    """
    questions, responses, others = (np.asarray(each, np.float32) for each in (questions, responses, others))
    cosine = (questions * responses).sum(-1)
    closest = np.zeros((len(questions), 1), np.float32)
    if len(others):
        cosines = np.where(questions @ others.T > PARAPHRASE, 0, responses @ others.T)
        closest = -np.partition(-cosines, min(_CLOSEST, len(others)) - 1, axis=-1)[:, :_CLOSEST]
    return np.stack([cosine, cosine - closest.max(-1), cosine - closest.mean(-1)], axis=-1).astype(float)


def relevance_of(inputs: Array, parts: Mapping[str, Any]) -> Floats:
    """Log odds that each response was meant for its question; ``parts``: a weight per input, and ``bias``."""
    return np.asarray(inputs, float) @ np.asarray(parts["weight"], float) + parts["bias"]


def sigmoid(values: Array) -> Floats:
    """Logistic function, without overflow."""
    return np.exp(-np.logaddexp(0, -np.asarray(values, float)))


def _mixture(outcomes: Array, to_a: Floats, to_b: Floats) -> Floats:
    """Outcomes of which a share is decided otherwise: ``(1 - to_a - to_b) * outcomes + (to_a, to_b, 0)``."""
    other = np.stack([to_a, to_b, np.zeros_like(to_a)], axis=-1)
    return (1 - to_a - to_b)[..., None] * np.asarray(outcomes, float) + other


def gated(outcomes: Array, relevance_a: Array, relevance_b: Array, likeness: Array, parts: Mapping[str, Any]) -> Floats:
    """Outcomes (A, B, tie), shape (n, 3), behind the off-topic gate; ``parts``: ``weight`` (3), ``bias``, ``slope``.

    ``P = (1 - off) * outcomes + off * (side, 1 - side, 0)``: ``off``, the probability that one of two responses is
    off-topic, depends on what is symmetric in them, and ``side`` on the difference of their relevance (log odds), so
    exchanging the responses exchanges the probabilities and does nothing else.

    >>> shut = {"weight": [0, 0, 0], "bias": 50, "slope": 100}
    >>> gated([[0.1, 0.8, 0.1]], [2.0], [-1.0], [0.0], shut).round(3).tolist()
    [[1.0, 0.0, 0.0]]
    """
    a, b = np.asarray(relevance_a, float), np.asarray(relevance_b, float)
    features = np.stack([np.minimum(a, b), np.abs(a - b), likeness], axis=-1)  # `GATE_FEATURES`
    off = sigmoid(features @ np.asarray(parts["weight"]) + parts["bias"])
    side = sigmoid(parts["slope"] * (a - b))
    return _mixture(outcomes, off * side, off * (1 - side))


def tamper_odds(inputs: Mapping[str, Array], parts: Mapping[str, Any]) -> Floats:
    """Log odds that responses were tampered with; ``parts``: weights for each of `PARTS` that is used, and ``bias``.

    ``inputs``: ``features`` (standardised surface features), ``head`` and ``tail`` (unit embeddings of the ends).
    """
    odds = np.full(len(np.asarray(next(iter(inputs.values())))), float(parts["bias"]))
    for name in PARTS:
        if name in parts:
            odds += np.asarray(inputs[name], float) @ np.asarray(parts[name], float)
    return odds


def against_tampering(outcomes: Array, odds_a: Array, odds_b: Array) -> Floats:
    """Outcomes behind the gate against tampering: who alone was tampered with loses.

    >>> against_tampering([[0.8, 0.1, 0.1]], [50.0], [-50.0]).round(3).tolist()
    [[0.0, 1.0, 0.0]]
    """
    a, b = sigmoid(odds_a), sigmoid(odds_b)
    return _mixture(outcomes, b * (1 - a), a * (1 - b))


def weights_folder(folder: Path, config: Mapping[str, Any]) -> Path:
    """The folder that holds a judge's weights: its own, or the one beside it that ``weights_of`` names.

    ValueError where the name is no plain one: a judge from elsewhere must not point anywhere else.
    """
    name = config.get("weights_of")
    if name is None:
        return folder
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        raise ValueError(f"{folder}/judge.json: weights_of {name!r} is not the name of a folder beside this one")
    return folder.parent / name


class EncoderJudge(Judge):
    """A trained encoder judge, read from the folder that `judgekit.training.encoder` writes; nothing in it is executed.

    FileNotFoundError where the folder holds no judge or lacks a part, ValueError where it was written in another
    format, Unavailable where its weights are not those that were sealed, or not all there.
    """

    batch_size = 256  # so that texts of like lengths meet
    batch_tokens = CPU_BATCH_TOKENS  # few, so that what a layer hands to the next stays in the processor's cache
    # Unit embeddings and tokens, the last used last: judges of a process that read with one encoder embed a text once.
    cache: ClassVar[dict[tuple[str, int], tuple[Floats, int]]] = {}
    cache_size = 100_000  # embeddings: about 160 MB for 384 dimensions

    def __init__(self, folder: str | Path, name: str | None = None, bf16: bool = True) -> None:
        folder = Path(folder)
        if not (folder / "judge.json").is_file():
            raise FileNotFoundError(f"{folder}: no judge here (judge.json is missing)")
        self.config = config = json.loads((folder / "judge.json").read_text(encoding="utf-8"))
        self.defended = "tamper" in config
        wanted = DEFENDED if self.defended else FORMAT
        if config.get("format") != wanted:
            raise ValueError(f"{folder}/judge.json: format {config.get('format')}; this version reads {wanted}")
        self.name = name or f"encoder/{folder.name}"
        self.surface = SurfaceModel(config, folder / "judge.json")
        self.bf16 = bf16 and native_bf16()
        own = digests_of(folder, ("judge.json",))
        folder = weights_folder(folder, config)
        digests = digests_of(folder, (*WEIGHTS, OTHERS))
        base, revision = config["base"], config.get("revision")
        commit = f"@{revision}" if revision and not Path(base).is_dir() else ""
        # A packaged base is what its name says, and a model that was trained is among the weights.
        of_base = [] if base in PACKAGED_BASES or config["trained"] == "model" else [model_files(base + commit).digest]
        self.fingerprint = fingerprint_of("encoder", FORMAT, own | digests, "bf16" if self.bf16 else "fp32", *of_base)
        read = ("base", "revision", "trained", "max_question_tokens", "max_response_tokens")
        weights = {name: digests[name] for name in WEIGHTS if name in digests}
        # What embeddings depend on.
        self.encoder_key = fingerprint_of(weights, [config.get(name) for name in read], self.bf16, *of_base)
        adapter = folder / "adapter" if config["trained"] == "adapter" else None
        if lacking := [name for name in (WEIGHTS[1], OTHERS) if name not in digests and (adapter or name == OTHERS)]:
            raise FileNotFoundError(f"{folder}: {lacking[0]} is missing")
        check_seal(folder, digests)
        self.encoder = TextEncoder(str(folder / "model") if config["trained"] == "model" else base, revision, adapter)
        if self.bf16:
            self.encoder.keep_bf16()
        self.others = load_file(folder / OTHERS)["vectors"].astype(np.float32)

    def judge(self, requests: Sequence[Request]) -> list[Reply]:
        """Encode texts once, then compare. Scores: the preference part's; truncated: also what just fills its limit."""
        if not requests:
            return []
        started = time.perf_counter()
        kinds = ("response", "head", "tail") if self.defended else ("response",)
        texts = {(kind, text) for request in requests for text in (request.first, request.second) for kind in kinds}
        encoded = self.encode(sorted(texts | {("question", request.asked) for request in requests}))
        replies = self._compared(requests, encoded)
        seconds = (time.perf_counter() - started) / len(requests)
        return [replace(reply, seconds=seconds) for reply in replies]

    def encode(self, texts: Sequence[Text]) -> dict[Text, tuple[Floats, int]]:
        """Embedding and token count of each text, from memory where seen before; longest first, in batches."""
        places = {key: (self.encoder_key, hash(key)) for key in texts}  # not the text, which may be long
        ids = {key: self._ids(*key) for key, place in places.items() if place not in self.cache}
        lengths = {key: padded_length(len(tokens)) for key, tokens in ids.items()}
        for batch in token_batches(lengths, self.batch_tokens):
            vectors = self.encoder.unit_vectors([ids[key] for key in batch], self.bf16)
            self.cache.update({places[key]: (v, len(ids[key])) for key, v in zip(batch, vectors, strict=True)})
        encoded = {key: self.cache.pop(place) for key, place in places.items()}
        self.cache.update({places[key]: known for key, known in encoded.items()})
        for place in list(self.cache)[: -self.cache_size]:
            del self.cache[place]
        return encoded

    def _ids(self, kind: str, text: str) -> list[int]:
        """Token ids of a question, of a response, or of one of its ends."""
        if kind in ("head", "tail"):
            return self.encoder.end_ids(text, END)[kind == "tail"]
        return self.encoder.token_ids(text, self.config[f"max_{kind}_tokens"])

    def preferences(self, requests: Sequence[Request], scores: Floats) -> Floats:
        """Probabilities of first, second and tie before any gate; ``scores``: two, and the log tie parameter."""
        return outcome_probabilities(scores[:, 0] - scores[:, 1], scores[:, 2])

    def _compared(self, requests: Sequence[Request], encoded: Mapping[Text, tuple[Floats, int]]) -> list[Reply]:
        shown = [request.first for request in requests], [request.second for request in requests]
        keys = [("question", request.asked) for request in requests]
        keys += [("response", text) for text in shown[0] + shown[1]]
        asked, first, second = np.split(np.stack([encoded[key][0] for key in keys]), 3)
        sides = [self.surface.sides(request) for request in requests]
        scores = np.array([self.surface.compare(*both) for both in zip(requests, sides, strict=True)])
        outcomes = self.preferences(requests, scores)
        if self.config["gate"]:
            inputs = (relevance_inputs(asked, side, self.others) for side in (first, second))
            one, other = (relevance_of(side, self.config["relevance"]) for side in inputs)
            outcomes = gated(outcomes, one, other, (first * second).sum(-1), self.config["gate"])
        if self.defended:
            parts = self.surface.parts
            odds: list[Floats] = []
            for features, texts in zip(zip(*sides, strict=True), shown, strict=True):
                ends = {kind: np.stack([encoded[kind, text][0] for text in texts]) for kind in ("head", "tail")}
                read = {"features": standardise(np.array(features), parts["mean"], parts["scale"]), **ends}
                odds.append(tamper_odds(read, self.config["tamper"]))
            outcomes = against_tampering(outcomes, *odds)
        lengths = np.array([encoded[key][1] for key in keys]).reshape(3, -1)
        limit = min(self.config["max_response_tokens"], self.encoder.max_positions)
        cut = (lengths[1:] >= limit).sum(0)  # as long as that: shortened, nearly always
        return [
            replace(reply_of(row, *map(float, pair[:2])), tokens_in=int(tokens), truncated=int(n_cut))
            for row, pair, tokens, n_cut in zip(outcomes, scores, lengths.sum(0), cut, strict=True)
        ]
