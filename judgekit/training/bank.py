"""Questions with responses that were meant for them: what relevance is learnt from, and distractors are taken from."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from judgekit.data.cleaning import normalise
from judgekit.judges.encoder import PARAPHRASE
from judgekit.models.encoder import TextEncoder, token_batches
from judgekit.records import PreferencePair, Response

_CLOSE = 0.6  # cosine from which a response to one question could be mistaken for a response to the other
_NEAR, _MOST_NEAR = 0.25, 12  # cosine from which a question is a neighbour, and how many it has at most
_RESPONSES = 24  # to one question, at most
_TOKENS = 128  # read of a question
_BATCH_TOKENS = 8192


@dataclass(frozen=True)
class AnswerBank:
    """Questions, responses to each, and which other questions are close."""

    questions: list  # of str
    responses: list  # the texts of each question
    sources: list  # set that each question stands in (the first one, where several do)
    vectors: np.ndarray  # unit embeddings of the questions by the untrained base model, shape (n_questions, width)
    near: list  # for each question, indices of its neighbours, nearest first; may be empty

    def close(self, i: int) -> np.ndarray:
        """Neighbours of question ``i`` that ask almost the same (cosine of 0.6 or more), nearest first."""
        near = self.near[i]
        return near[self.vectors[near] @ self.vectors[i] >= _CLOSE]


def share_of(question: str, salt: str = "calibration") -> float:
    """A number in [0, 1) that depends on the words of a question alone: what parts of the bank are cut by."""
    digest = hashlib.sha256(f"{salt}:{normalise(question)}".encode("utf-8", "surrogatepass")).hexdigest()
    return int(digest[:8], 16) / 16**8


def meant_for(pairs: Iterable[PreferencePair], answers: Iterable[Response] = ()) -> dict[str, tuple[str, list[str]]]:
    """Distinct questions, each with its source and the responses meant for it (bad ones, too), at most 24 by hash."""
    rows = [(p.asked, text, p.benchmark) for p in pairs for text in p.responses]
    rows += [(answer.question, answer.response, answer.benchmark) for answer in answers]
    texts_of: dict[str, tuple[str, dict[str, None]]] = {}
    for question, text, source in rows:
        if question.strip() and text.strip():
            texts_of.setdefault(question, (source, {}))[1][text] = None
    return {
        question: (source, sorted(texts, key=lambda text: share_of(text, question))[:_RESPONSES])
        for question, (source, texts) in texts_of.items()
    }


class Embedder:
    """Unit embeddings of texts by one encoder, each computed once."""

    def __init__(self, encoder: TextEncoder, bf16: bool = False) -> None:
        self.encoder, self.bf16 = encoder, bf16
        self._known: dict[Any, np.ndarray] = {}

    def embed(self, texts: Iterable[str], limit: int) -> dict[str, np.ndarray]:
        """Text to unit embedding (shape (width,)), reading at most ``limit`` tokens."""
        rows = self._embedded(texts, limit, lambda text: [self.encoder.token_ids(text, limit)])
        return {text: row[0] for text, row in rows.items()}

    def ends(self, texts: Iterable[str], n: int) -> dict[str, np.ndarray]:
        """Text to the unit embeddings of its first and of its last ``n`` tokens, shape (2, width)."""
        return self._embedded(texts, ("ends", n), lambda text: self.encoder.end_ids(text, n))

    def _embedded(self, texts: Iterable[str], what: Any, ids_of: Callable[[str], Any]) -> dict[str, np.ndarray]:
        """Text to the embeddings of its parts, shape (n_parts, width)."""
        texts = dict.fromkeys(texts)
        missing = sorted(text for text in texts if (text, what) not in self._known)
        ids = [row for text in missing for row in ids_of(text)]
        lengths = {i: len(row) for i, row in enumerate(ids)}
        vectors = np.zeros((len(ids), self.encoder.width), np.float32)
        for rows in token_batches(lengths, _BATCH_TOKENS):
            vectors[rows] = self.encoder.unit_vectors([ids[i] for i in rows], self.bf16)
        parts = np.split(vectors, len(missing)) if missing else []
        self._known |= {(text, what): part for text, part in zip(missing, parts, strict=True)}
        return {text: self._known[text, what] for text in texts}


def make_bank(meant: Mapping[str, tuple[str, list[str]]], encoder: TextEncoder, bf16: bool = False) -> AnswerBank:
    """The bank of what `meant_for` gives, its questions embedded by the base model; no neighbour is a `PARAPHRASE`."""
    questions = sorted(meant)
    embedded = Embedder(encoder, bf16).embed(questions, _TOKENS)
    vectors = np.array([embedded[question] for question in questions])
    near = []
    for start in range(0, len(questions), 512):
        for row in vectors[start : start + 512] @ vectors.T:
            usable = np.flatnonzero((row >= _NEAR) & (row <= PARAPHRASE))
            near.append(usable[np.argsort(-row[usable], kind="stable")][:_MOST_NEAR])
    responses, sources = [meant[q][1] for q in questions], [meant[q][0] for q in questions]
    return AnswerBank(questions, responses, sources, vectors, near)


def draw_questions(bank: AnswerBank, usable: np.ndarray, rng: np.random.Generator, n: int, group: int) -> list[int]:
    """Indices of ``n`` distinct questions in groups of neighbours: the off-topic responses of a batch are hard ones.

    Drawn from ``usable``, sources by the square root of their size.
    """
    allowed = set(usable.tolist())
    _, inverse, counts = np.unique([bank.sources[i] for i in usable], return_inverse=True, return_counts=True)
    weight = counts[inverse] ** -0.5
    chosen: dict[int, None] = {}
    # A visit order drawn once: every question comes up at most once as the seed of a group.
    for seed in rng.choice(usable, size=len(usable), replace=False, p=weight / weight.sum()):
        if len(chosen) >= n:
            break
        if seed in chosen:
            continue
        close = [int(i) for i in bank.near[seed] if int(i) in allowed and int(i) not in chosen]
        rng.shuffle(close)
        chosen |= dict.fromkeys([int(seed), *close[: group - 1]][: n - len(chosen)])
    return list(chosen)
