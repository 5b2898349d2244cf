"""Off-topic responses that look on topic: each question meets the responses of its nearest neighbours."""

from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True)
class Neighbours:
    """Questions, a good response to each, and which other questions are close.

    Attributes
    ----------
    questions : list of str
    responses : list of list of str
        Responses to each question, preferred ones only.
    near : list of array of int
        For each question, the indices of its neighbours, nearest first; may be empty.
    """

    questions: list
    responses: list
    near: list


def preferred_responses(pairs):
    """Distinct questions and the responses that were preferred (or tied) there."""
    found = {}
    for pair in pairs:
        texts = found.setdefault(pair.asked, {})
        if pair.label in ("A", "tie") and pair.response_a.strip():
            texts[pair.response_a] = None
        if pair.label in ("B", "tie") and pair.response_b.strip():
            texts[pair.response_b] = None
    return {question: list(texts) for question, texts in found.items() if texts}


def embed_texts(encoder, texts, limit, batch=64):
    """Unit embeddings of texts, shape (n, width), longest first and back in order."""
    ids = [encoder.token_ids(text, limit) for text in texts]
    order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
    vectors = np.zeros((len(ids), encoder.width), np.float32)
    with torch.inference_mode():
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            vectors[rows] = torch.nn.functional.normalize(encoder.embed([ids[i] for i in rows]), dim=-1).numpy()
    return vectors


def mine_neighbours(pairs, encoder, n_near=12, low=0.3, high=0.88, limit=128):
    """Nearest neighbours among the questions of training pairs, by the untrained encoder.

    Parameters
    ----------
    pairs : list of PreferencePair
        Training pairs only.
    encoder : TextEncoder
        The base model.
    n_near : int
        Neighbours kept per question.
    low, high : float
        Cosine range: below it a mismatch is too easy, above it the neighbour may be a paraphrase whose response is
        right for both.

    Returns
    -------
    Neighbours
    """
    found = preferred_responses(pairs)
    questions = sorted(found)
    vectors = embed_texts(encoder, questions, limit)
    near = []
    for start in range(0, len(questions), 512):
        cosine = vectors[start : start + 512] @ vectors.T
        for row in cosine:
            usable = np.flatnonzero((row >= low) & (row <= high))
            near.append(usable[np.argsort(-row[usable], kind="stable")][:n_near])
    return Neighbours(questions, [found[question] for question in questions], near)


def draw_quads(neighbours, rng, n):
    """Draw pairs of neighbouring questions with a response each.

    Parameters
    ----------
    neighbours : Neighbours
    rng : numpy.random.Generator
    n : int

    Returns
    -------
    list of tuple of four str
        Question, response, other question, other response. Shorter than ``n`` only when no question has a neighbour.
    """
    usable = [i for i, near in enumerate(neighbours.near) if len(near)]
    quads = []
    for _ in range(n if usable else 0):
        i = usable[rng.integers(len(usable))]
        j = neighbours.near[i][rng.integers(len(neighbours.near[i]))]
        texts = [neighbours.responses[k][rng.integers(len(neighbours.responses[k]))] for k in (i, j)]
        quads.append((neighbours.questions[i], texts[0], neighbours.questions[j], texts[1]))
    return quads
