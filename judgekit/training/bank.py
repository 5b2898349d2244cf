"""Questions with responses that were meant for them: what relevance is learnt from, and distractors are taken from."""

import hashlib
from dataclasses import dataclass

import numpy as np

from judgekit.data.cleaning import normalise
from judgekit.judges.gate import PARAPHRASE

CLOSE = 0.6  # cosine from which a response to one question could be mistaken for a response to the other


@dataclass(frozen=True)
class AnswerBank:
    """Questions, responses to each, and which other questions are close.

    Attributes
    ----------
    questions : list of str
    responses : list of list of str
    sources : list of str
        Set that each question stands in (the first one, where several do).
    vectors : array, shape (n_questions, width)
        Unit embeddings of the questions by the untrained base model.
    near : list of array of int
        For each question, indices of its neighbours, nearest first; may be empty.
    """

    questions: list
    responses: list
    sources: list
    vectors: np.ndarray
    near: list

    def close(self, i):
        """Neighbours of question ``i`` that ask almost the same (cosine of `CLOSE` or more), nearest first."""
        near = self.near[i]
        return near[self.vectors[near] @ self.vectors[i] >= CLOSE]


def share_of(question, salt="calibration"):
    """A number in [0, 1) that depends on the words of a question alone: what parts of the bank are cut by."""
    digest = hashlib.sha256(f"{salt}:{normalise(question)}".encode()).hexdigest()
    return int(digest[:8], 16) / 16**8


def meant_for(pairs, answers=(), limit=24):
    """Distinct questions with the responses that were meant for them.

    Parameters
    ----------
    pairs : iterable of PreferencePair
        Both responses count, the preferred one first: also a bad response is about its question.
    answers : iterable
        Single responses, with ``question``, ``response`` and ``benchmark``.
    limit : int
        Responses kept per question, in order of their hash.

    Returns
    -------
    dict of str to (str, list of str)
        Question to its source and responses.
    """
    found = {}
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


def embed_texts(encoder, texts, limit, budget=8192, bf16=False):
    """Unit embeddings of texts, shape (n, width), each read up to ``limit`` tokens."""
    return embed_ids(encoder, [encoder.token_ids(text, limit) for text in texts], budget, bf16)


def embed_ids(encoder, ids, budget=8192, bf16=False):
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
    """Unit embeddings of texts by one encoder, each computed once.

    Parameters
    ----------
    encoder : TextEncoder
    bf16 : bool
    """

    def __init__(self, encoder, bf16=False):
        self.encoder, self.bf16, self.known = encoder, bf16, {}

    def embed(self, texts, limit):
        """Text to unit embedding (shape (width,)), reading at most ``limit`` tokens."""
        texts = dict.fromkeys(texts)
        missing = sorted(text for text in texts if (text, limit) not in self.known)
        if missing:
            vectors = embed_texts(self.encoder, missing, limit, bf16=self.bf16)
            self.known |= {(text, limit): vector for text, vector in zip(missing, vectors, strict=True)}
        return {text: self.known[text, limit] for text in texts}

    def ends(self, texts, n):
        """Text to the unit embeddings of its first and of its last ``n`` tokens, shape (2, width)."""
        texts = dict.fromkeys(texts)
        missing = sorted(text for text in texts if (text, "ends", n) not in self.known)
        if missing:
            ids = [self.encoder.end_ids(text, n) for text in missing]
            vectors = embed_ids(self.encoder, [end for both in ids for end in both], bf16=self.bf16)
            vectors = vectors.reshape(len(missing), 2, -1)
            self.known |= {(text, "ends", n): both for text, both in zip(missing, vectors, strict=True)}
        return {text: self.known[text, "ends", n] for text in texts}


def make_bank(found, encoder, n_near=12, low=0.25, limit=128, bf16=False):
    """A bank of what `meant_for` found.

    Parameters
    ----------
    found : dict of str to (str, list of str)
    encoder : TextEncoder
        The base model.
    n_near : int
        Neighbours kept per question.
    low : float
        Cosine below which another question is no neighbour; above `PARAPHRASE` it is none either.
    limit : int
        Tokens read of a question.
    bf16 : bool

    Returns
    -------
    AnswerBank
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


def draw_questions(bank, usable, rng, n, group):
    """Indices of ``n`` questions in groups of neighbours: the off-topic responses of a batch are hard ones.

    Parameters
    ----------
    bank : AnswerBank
    usable : array of int
        Questions to draw from; sources count by the square root of their size.
    rng : numpy.random.Generator
    n, group : int
        Questions in all, and in a group of neighbours (1: no neighbours).

    Returns
    -------
    list of int
        Distinct.
    """
    allowed = set(usable.tolist())
    sources = np.array([bank.sources[i] for i in usable])
    _, inverse, counts = np.unique(sources, return_inverse=True, return_counts=True)
    weight = counts[inverse] ** -0.5
    chosen = {}
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
