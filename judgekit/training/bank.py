"""Questions with responses that were meant for them: what relevance is learnt from, and distractors are taken from."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from judgekit.data.cleaning import normalise
from judgekit.judges.gate import PARAPHRASE
from judgekit.records import PreferencePair, Response

if TYPE_CHECKING:
    from judgekit.models.encoder import TextEncoder

CLOSE = 0.6  # cosine from which a response to one question could be mistaken for a response to the other


@dataclass(frozen=True)
class AnswerBank:
    """Questions, responses to each, and which other questions are close."""

    questions: list  # of str
    responses: list  # the texts of each question
    sources: list  # set that each question stands in (the first one, where several do)
    vectors: np.ndarray  # unit embeddings of the questions by the untrained base model, shape (n_questions, width)
    near: list  # for each question, indices of its neighbours, nearest first; may be empty

    def close(self, i: int) -> np.ndarray:
        """Neighbours of question ``i`` that ask almost the same (cosine of `CLOSE` or more), nearest first."""
        near = self.near[i]
        return near[self.vectors[near] @ self.vectors[i] >= CLOSE]


def share_of(question: str, salt: str = "calibration") -> float:
    """A number in [0, 1) that depends on the words of a question alone: what parts of the bank are cut by."""
    digest = hashlib.sha256(f"{salt}:{normalise(question)}".encode()).hexdigest()
    return int(digest[:8], 16) / 16**8


def meant_for(
    pairs: Iterable[PreferencePair], answers: Iterable[Response] = (), limit: int = 24
) -> dict[str, tuple[str, list[str]]]:
    """Distinct questions, each with its source and the responses that were meant for it.

    At most ``limit`` responses of a question, in order of their hash. Both responses of a pair count: also a bad one is
    about its question.
    """
    found: dict[str, tuple[str, dict[str, None]]] = {}
    for pair in pairs:
        for text in (pair.response_a, pair.response_b):
            if text.strip():
                found.setdefault(pair.asked, (pair.benchmark, {}))[1][text] = None
    for answer in answers:
        if answer.response.strip() and answer.question.strip():
            found.setdefault(answer.question, (answer.benchmark, {}))[1][answer.response] = None
    return {
        question: (source, sorted(texts, key=lambda text: share_of(text, question))[:limit])
        for question, (source, texts) in found.items()
        if texts
    }


def embed_texts(
    encoder: "TextEncoder", texts: Sequence[str], limit: int, budget: int = 8192, bf16: bool = False
) -> np.ndarray:
    """Unit embeddings of texts, shape (n, width), each read up to ``limit`` tokens."""
    return embed_ids(encoder, [encoder.token_ids(text, limit) for text in texts], budget, bf16)


def embed_ids(
    encoder: "TextEncoder", ids: Sequence[Sequence[int]], budget: int = 8192, bf16: bool = False
) -> np.ndarray:
    """Unit embeddings of tokenised texts, shape (n, width), in batches of at most ``budget`` tokens, longest first."""
    order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
    vectors = np.zeros((len(ids), encoder.width), np.float32)
    start = 0
    while start < len(order):
        rows = order[start : start + max(1, budget // len(ids[order[start]]))]
        vectors[rows] = encoder.unit_vectors([ids[i] for i in rows], bf16)
        start += len(rows)
    return vectors


class Embedder:
    """Unit embeddings of texts by one encoder, each computed once."""

    def __init__(self, encoder: "TextEncoder", bf16: bool = False) -> None:
        self.encoder, self.bf16, self.known = encoder, bf16, {}  # type: ignore[var-annotated]  # to vectors

    def embed(self, texts: Iterable[str], limit: int) -> dict[str, np.ndarray]:
        """Text to unit embedding (shape (width,)), reading at most ``limit`` tokens."""
        texts = dict.fromkeys(texts)
        missing = sorted(text for text in texts if (text, limit) not in self.known)
        if missing:
            vectors = embed_texts(self.encoder, missing, limit, bf16=self.bf16)
            self.known |= {(text, limit): vector for text, vector in zip(missing, vectors, strict=True)}
        return {text: self.known[text, limit] for text in texts}

    def ends(self, texts: Iterable[str], n: int) -> dict[str, np.ndarray]:
        """Text to the unit embeddings of its first and of its last ``n`` tokens, shape (2, width)."""
        texts = dict.fromkeys(texts)
        missing = sorted(text for text in texts if (text, "ends", n) not in self.known)
        if missing:
            ids = [self.encoder.end_ids(text, n) for text in missing]
            vectors = embed_ids(self.encoder, [end for both in ids for end in both], bf16=self.bf16)
            vectors = vectors.reshape(len(missing), 2, -1)
            self.known |= {(text, "ends", n): both for text, both in zip(missing, vectors, strict=True)}
        return {text: self.known[text, "ends", n] for text in texts}


def make_bank(
    found: Mapping[str, tuple[str, list[str]]],
    encoder: "TextEncoder",
    n_near: int = 12,
    low: float = 0.25,
    limit: int = 128,
    bf16: bool = False,
) -> AnswerBank:
    """The bank of what `meant_for` found, its questions (``limit`` tokens of each) embedded by the base model.

    A question has up to ``n_near`` neighbours; one with a cosine below ``low`` or above `PARAPHRASE` is none.
    """
    questions = sorted(found)
    vectors = embed_texts(encoder, questions, limit, bf16=bf16)
    near = []
    for start in range(0, len(questions), 512):
        for row in vectors[start : start + 512] @ vectors.T:
            usable = np.flatnonzero((row >= low) & (row <= PARAPHRASE))
            near.append(usable[np.argsort(-row[usable], kind="stable")][:n_near])
    responses, sources = [found[q][1] for q in questions], [found[q][0] for q in questions]
    return AnswerBank(questions, responses, sources, vectors, near)


def draw_questions(bank: AnswerBank, usable: np.ndarray, rng: np.random.Generator, n: int, group: int) -> list[int]:
    """Indices of ``n`` distinct questions in groups of neighbours: the off-topic responses of a batch are hard ones.

    Drawn from ``usable``, where sources count by the square root of their size; ``group`` 1: no neighbours.
    """
    allowed = set(usable.tolist())
    sources = np.array([bank.sources[i] for i in usable])
    _, inverse, counts = np.unique(sources, return_inverse=True, return_counts=True)
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
        for i in [int(seed), *close[: group - 1]][: n - len(chosen)]:
            chosen[i] = None
    return list(chosen)
