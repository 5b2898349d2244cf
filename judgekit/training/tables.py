"""What the parts of an encoder judge say of labelled pairs, as arrays: what its gate is fitted and judged on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from judgekit.judges.features import scores_of
from judgekit.judges.gate import gated, relevance_inputs, relevance_of
from judgekit.records import PreferencePair
from judgekit.stats import Floats, outcome_probabilities
from judgekit.training.features import FeatureTable, feature_table

ROWS = 1000  # pairs whose cosines with all other questions are in memory at once


@dataclass(frozen=True)
class PairTable:
    """What the parts of a judge say of pairs, as arrays."""

    outcomes: np.ndarray  # probabilities of A, B and tie by the preference part alone, shape (n_pairs, 3)
    inputs_a: np.ndarray  # of the relevance of response A (`relevance_inputs`), shape (n_pairs, 3); ``inputs_b`` alike
    inputs_b: np.ndarray
    likeness: np.ndarray  # cosine of the two responses, shape (n_pairs,)
    target: np.ndarray  # shape (n_pairs, 3)
    tied: np.ndarray  # whether the pair's source offers ties, shape (n_pairs,)
    clusters: list  # prompts

    def probabilities(self, parts: Mapping[str, Any]) -> Floats:
        """Probabilities of A, B and tie by a judge, shape (n_pairs, 3); of A and B where ties are not offered.

        ``parts``: ``relevance`` and ``gate``, as `judgekit.judges.gate` takes them.
        """
        relevance: Any = [relevance_of(inputs, parts["relevance"]) for inputs in (self.inputs_a, self.inputs_b)]
        p = gated(self.outcomes, *relevance, self.likeness, parts["gate"])  # type: ignore[call-arg]  # two of relevance
        p[~self.tied, 2] = 0
        return p / p.sum(1, keepdims=True)

    def hits(self, parts: Mapping[str, Any]) -> Floats:
        """Whether the likeliest outcome is the label's, as 0 or 1, shape (n_pairs,)."""
        return (self.probabilities(parts).argmax(1) == self.target.argmax(1)).astype(float)


def joined(tables: Sequence[PairTable]) -> PairTable:
    """The pairs of several tables; ValueError if there is no table: no pair could be constructed."""
    if not tables:
        raise ValueError("no misleading pair could be constructed: more questions are needed, or longer responses")
    parts = [vars(table) for table in tables]
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0] if name != "clusters"}
    return PairTable(**arrays, clusters=[cluster for table in tables for cluster in table.clusters])


@dataclass(frozen=True)
class Reader:
    """What makes tables of pairs."""

    quality: dict  # the preference part (`judgekit.training.features.fit_features`)
    embedder: object  # a `judgekit.training.bank.Embedder` with the trained encoder
    others: np.ndarray  # embeddings of other questions by the same encoder, shape (n_others, width)
    tied: frozenset  # sets whose annotators could say tie
    question_tokens: int  # how much is read of a text
    response_tokens: int

    def table(self, pairs: Sequence[PreferencePair], features: FeatureTable | None = None) -> PairTable:
        """The table of some pairs (at least one), whose surface features may be known."""
        features = feature_table(pairs, self.tied) if features is None else features
        score_a, score_b, log_nu = scores_of(self.quality, features.a, features.b, features.pair)
        found = self.embedder.embed([pair.asked for pair in pairs], self.question_tokens)  # type: ignore[attr-defined]  # an Embedder
        questions = np.array([found[pair.asked] for pair in pairs])
        found = self.embedder.embed([t for p in pairs for t in (p.response_a, p.response_b)], self.response_tokens)  # type: ignore[attr-defined]  # an Embedder
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
