"""What the parts of an encoder judge say of labelled pairs, as arrays: what its gate is fitted and judged on."""

from dataclasses import dataclass

import numpy as np

from judgekit.judges.features import scores_of
from judgekit.judges.gate import gated, relevance_inputs, relevance_of
from judgekit.stats import outcome_probabilities
from judgekit.training.features import feature_table

ROWS = 1000  # pairs whose cosines with all other questions are in memory at once


@dataclass(frozen=True)
class PairTable:
    """Arrays over pairs.

    Attributes
    ----------
    outcomes : array, shape (n_pairs, 3)
        Probabilities of A, B and tie by the preference part alone.
    inputs_a, inputs_b : array, shape (n_pairs, 3)
        What the relevance of each response is read from (`judgekit.judges.gate.relevance_inputs`).
    likeness : array, shape (n_pairs,)
        Cosine of the two responses.
    target : array, shape (n_pairs, 3)
    tied : array of bool, shape (n_pairs,)
        Whether the pair's source offers ties.
    clusters : list of str
        Prompts.
    """

    outcomes: np.ndarray
    inputs_a: np.ndarray
    inputs_b: np.ndarray
    likeness: np.ndarray
    target: np.ndarray
    tied: np.ndarray
    clusters: list

    def probabilities(self, parts):
        """Probabilities of A, B and tie by a judge, shape (n_pairs, 3); of A and B where ties are not offered.

        Parameters
        ----------
        parts : dict
            ``relevance`` and ``gate``, as `judgekit.judges.gate` takes them.
        """
        relevance = [relevance_of(inputs, parts["relevance"]) for inputs in (self.inputs_a, self.inputs_b)]
        p = gated(self.outcomes, *relevance, self.likeness, parts["gate"])
        p[~self.tied, 2] = 0
        return p / p.sum(1, keepdims=True)

    def hits(self, parts):
        """Whether the likeliest outcome is the label's, as 0 or 1, shape (n_pairs,)."""
        return (self.probabilities(parts).argmax(1) == self.target.argmax(1)).astype(float)


def joined(tables):
    """The pairs of several tables.

    Raises
    ------
    ValueError
        If there is no table: no pair could be constructed.
    """
    if not tables:
        raise ValueError("no misleading pair could be constructed: more questions are needed, or longer responses")
    parts = [vars(table) for table in tables]
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0] if name != "clusters"}
    return PairTable(**arrays, clusters=[cluster for table in tables for cluster in table.clusters])


@dataclass(frozen=True)
class Reader:
    """What makes tables of pairs.

    Attributes
    ----------
    quality : dict of str to array
        The preference part (`judgekit.training.features.fit_features`).
    embedder : judgekit.training.bank.Embedder
        With the trained encoder.
    others : array, shape (n_others, width)
        Embeddings of other questions, by the same encoder.
    tied : set of str
        Sets whose annotators could say tie.
    question_tokens, response_tokens : int
        How much is read of a text.
    """

    quality: dict
    embedder: object
    others: np.ndarray
    tied: frozenset
    question_tokens: int
    response_tokens: int

    def table(self, pairs, features=None):
        """The table of some pairs (at least one), whose surface features may be known."""
        features = feature_table(pairs, self.tied) if features is None else features
        score_a, score_b, log_nu = scores_of(self.quality, features.a, features.b, features.pair)
        found = self.embedder.embed([pair.asked for pair in pairs], self.question_tokens)
        questions = np.array([found[pair.asked] for pair in pairs])
        found = self.embedder.embed([t for p in pairs for t in (p.response_a, p.response_b)], self.response_tokens)
        sides = [np.array([found[getattr(pair, side)] for pair in pairs]) for side in ("response_a", "response_b")]
        inputs = [
            np.concatenate(
                [
                    relevance_inputs(questions[rows : rows + ROWS], side[rows : rows + ROWS], self.others)
                    for rows in range(0, len(pairs), ROWS)
                ]
            )
            for side in sides
        ]
        return PairTable(
            outcomes=outcome_probabilities(score_a - score_b, log_nu),
            inputs_a=inputs[0],
            inputs_b=inputs[1],
            likeness=(sides[0] * sides[1]).sum(-1).astype(float),
            target=features.target,
            tied=features.tied,
            clusters=[pair.cluster for pair in pairs],
        )
