"""The gate of the encoder judge: fitted, and its strength chosen, on questions that the encoder was not trained on."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from judgekit.judges.encoder import CLOSED, GATE_FEATURES, RELEVANCE_INPUTS, gated, relevance_inputs, relevance_of
from judgekit.judges.surface import scores_of
from judgekit.records import PreferencePair
from judgekit.stats import Floats, cluster_sums, outcome_probabilities, resampled_sums, share_of
from judgekit.training import bank
from judgekit.training.constructed import OFF_TOPIC
from judgekit.training.features import FeatureTable, feature_table
from judgekit.training.mixture import Material, source_weights

ALWAYS_CLOSED = {"relevance": {"weight": [0.0] * len(RELEVANCE_INPUTS), "bias": 0.0}, "gate": CLOSED}
_START = np.array([0.0, 0.0, 0.0, -2.0, 1.0])  # weights, bias and slope of a gate, before fitting
_ROWS = 1000  # pairs whose cosines with all other questions are in memory at once
_PER_QUESTION = 4  # misleading pairs per question that a gate is fitted on
_L2 = 1e-4  # penalty on squared weights, relative to the mean loss
_N_BOOT = 2000  # resamples of prompts for a standard error


@dataclass(frozen=True)
class PairTable:
    """What the parts of a judge say of labelled pairs, as arrays."""

    outcomes: np.ndarray  # probabilities of A, B and tie by the preference part alone, shape (n_pairs, 3)
    inputs_a: np.ndarray  # of the relevance of response A (`relevance_inputs`), shape (n_pairs, 3); ``inputs_b`` alike
    inputs_b: np.ndarray
    likeness: np.ndarray  # cosine of the two responses, shape (n_pairs,)
    target: np.ndarray  # shape (n_pairs, 3)
    tied: np.ndarray  # whether the pair's source offers ties, shape (n_pairs,)
    clusters: Sequence[str]  # prompts

    def probabilities(self, parts: Mapping[str, Any]) -> Floats:
        """Probabilities of A, B, tie by ``relevance`` and ``gate``, shape (n_pairs, 3); no ties where not offered."""
        relevance_a, relevance_b = (relevance_of(part, parts["relevance"]) for part in (self.inputs_a, self.inputs_b))
        p = gated(self.outcomes, relevance_a, relevance_b, self.likeness, parts["gate"])
        p[~self.tied, 2] = 0
        return p / p.sum(1, keepdims=True)

    def hits(self, parts: Mapping[str, Any]) -> Floats:
        """Whether the likeliest outcome is the label's, as 0 or 1, shape (n_pairs,)."""
        return (self.probabilities(parts).argmax(1) == self.target.argmax(1)).astype(float)


def joined(tables: Sequence[PairTable]) -> PairTable:
    """The pairs of several tables; ValueError if there is no table: no pair could be constructed."""
    if not tables:
        raise ValueError("no misleading pair could be constructed: more questions are needed, or longer responses")
    columns: list[Any] = [np.concatenate([getattr(t, field.name) for t in tables]) for field in fields(PairTable)]
    return PairTable(*columns)


@dataclass(frozen=True)
class Reader:
    """What makes tables of pairs."""

    quality: dict  # the preference part (`judgekit.training.features.fit_features`)
    embedder: bank.Embedder  # with the trained encoder
    others: np.ndarray  # embeddings of other questions by the same encoder, shape (n_others, width)
    tied: frozenset  # sets whose annotators could say tie
    question_tokens: int  # how much is read of a text
    response_tokens: int

    def table(self, pairs: Sequence[PreferencePair], features: FeatureTable | None = None) -> PairTable:
        """The table of some pairs (at least one), whose surface features may be known."""
        features = feature_table(pairs, self.tied) if features is None else features
        score_a, score_b, log_nu = scores_of(self.quality, features.a, features.b, features.pair)
        asked = self.embedder.embed([pair.asked for pair in pairs], self.question_tokens)
        texts = self.embedder.embed([text for pair in pairs for text in pair.responses], self.response_tokens)
        questions = np.array([asked[pair.asked] for pair in pairs])
        a, b = (np.array([texts[pair.responses[side]] for pair in pairs]) for side in (0, 1))
        return PairTable(
            outcomes=outcome_probabilities(score_a - score_b, log_nu),
            inputs_a=self._relevance(questions, a),
            inputs_b=self._relevance(questions, b),
            likeness=(a * b).sum(-1).astype(float),
            target=features.target,
            tied=features.tied,
            clusters=[pair.cluster for pair in pairs],
        )

    def _relevance(self, questions: np.ndarray, responses: np.ndarray) -> np.ndarray:
        cuts = range(_ROWS, len(questions), _ROWS)
        parts = zip(np.split(questions, cuts), np.split(responses, cuts), strict=True)
        return np.concatenate([relevance_inputs(*part, self.others) for part in parts])


def fit_relevance(table: PairTable, inputs: Collection[str] = RELEVANCE_INPUTS) -> dict[str, Any]:
    """Log odds of a response being meant for its question: ``weight`` and ``bias`` for `relevance_of`.

    ``table``: pairs of which one response was and the other was not. Weights of standardised inputs are penalised.
    """
    right = table.target[:, :1] > table.target[:, 1:2]
    on, off = np.where(right, table.inputs_a, table.inputs_b), np.where(right, table.inputs_b, table.inputs_a)
    values, sign = np.concatenate([on, off]), np.repeat([1.0, -1.0], len(on))
    centre, spread = values.mean(0), values.std(0) + 1e-9
    used = np.array([name in inputs for name in RELEVANCE_INPUTS])
    scaled = (values - centre) / spread * used

    def loss(parts: np.ndarray) -> tuple[float, np.ndarray]:
        logits = sign * (scaled @ parts[:-1] + parts[-1])
        slope = -sign / (1 + np.exp(logits)) / len(sign)
        gradient = np.append(slope @ scaled + 2 * _L2 * parts[:-1], slope.sum())
        return np.logaddexp(0, -logits).mean() + _L2 * (parts[:-1] ** 2).sum(), gradient

    found = minimize(loss, np.zeros(len(used) + 1), jac=True, method="L-BFGS-B").x
    weight = found[:-1] * used / spread
    return {"weight": weight.tolist(), "bias": float(found[-1] - weight @ centre)}


def fit_gate(
    natural: PairTable,
    misleading: PairTable,
    share: float,
    relevance: Mapping[str, Any],
    weight: Floats,
    inputs: Collection[str] = GATE_FEATURES,
) -> dict[str, Any]:
    """The gate by penalised maximum likelihood: ``weight``, ``bias``, ``slope`` for `judgekit.judges.encoder.gated`.

    ``natural``: ordinary labelled pairs; ``misleading``: pairs of which one response is off-topic, which weigh
    ``share`` in (0, 1): how often that is taken to be. ``weight``: of each ordinary pair.
    """
    n = len(misleading.target)
    rows = np.concatenate([(1 - share) * weight / weight.sum(), np.full(n, share / n)])
    table = joined([natural, misleading])
    used = np.array([*(name in inputs for name in GATE_FEATURES), True, True])

    def gate_of(parts: np.ndarray) -> dict[str, Any]:
        *weight, bias, slope = (parts * used).tolist()
        return {"weight": weight, "bias": bias, "slope": slope}

    def loss(parts: np.ndarray) -> float:
        p = table.probabilities({"relevance": relevance, "gate": gate_of(parts)})
        penalty = _L2 * (parts[:3] @ parts[:3] + parts[4] ** 2)
        return -rows @ (table.target * np.log(np.clip(p, 1e-9, 1))).sum(1) + penalty

    return gate_of(minimize(loss, _START, method="BFGS").x)


def fit_gates(
    material: Material,
    reader: Reader,
    shares: Sequence[float],
    seed: int,
    kinds: Sequence[str] = tuple(OFF_TOPIC),
    limit: int | None = None,
    inputs: Collection[str] = RELEVANCE_INPUTS + GATE_FEATURES,
) -> dict[float, dict[str, Any]]:
    """Gates from the calibration part: share of misleading pairs to ``relevance`` and ``gate``.

    ``kinds``: of misleading pairs; ``limit``: ordinary pairs, and questions of misleading ones, at most.
    """
    asked = {material.bank.questions[i] for i in material.parts["calibration"]}
    pairs = [pair for pair in material.train if pair.asked in asked]
    pairs = sorted(pairs, key=lambda pair: bank.share_of(pair.item_id, "natural"))[:limit]  # the same ones each time
    constructed = material.constructed("calibration", kinds, [seed, 1], limit, _PER_QUESTION)
    misleading = joined([reader.table(constructed)] if constructed else [])
    relevance = fit_relevance(misleading, inputs=inputs)
    natural, weight = reader.table(pairs), source_weights(pairs, material.shares)
    fitted = {share: fit_gate(natural, misleading, share, relevance, weight, inputs) for share in shares}
    return {share: {"relevance": relevance, "gate": gate} for share, gate in fitted.items()}


def compare_gates(
    gates: Mapping[float, Mapping[str, Any]], natural: Mapping[str, PairTable], misleading: PairTable, seed: int
) -> pd.DataFrame:
    """Accuracy behind gates of several strengths on validation pairs, a row per gate, the closed one (share 0) first.

    Columns: share, accuracy on every ``natural`` set, ``mean`` of these and its standard error ``error`` (prompts
    resampled), and accuracy on ``misleading``.
    """
    rows = []
    for share, parts in {0.0: ALWAYS_CLOSED, **gates}.items():
        hits = {name: table.hits(parts) for name, table in natural.items()}
        accuracies, errors = {name: own.mean() for name, own in hits.items()}, []
        for name, own in hits.items():
            sums = cluster_sums(np.column_stack([own, np.ones(len(own))]), natural[name].clusters)
            errors.append(share_of(resampled_sums(sums, _N_BOOT, seed)).std())
        error = np.sqrt(np.sum(np.square(errors))) / len(errors)
        row = {"share": share} | accuracies | {"mean": np.mean(list(accuracies.values())), "error": error}
        rows.append(row | {"misleading": misleading.hits(parts).mean()})
    return pd.DataFrame(rows)


def choose_share(comparison: pd.DataFrame) -> float:
    """The strongest gate (of `compare_gates`) whose mean accuracy is within one standard error of the best.

    Breiman et al. (1984), Classification and Regression Trees, section 3.4.3.
    """
    best = comparison.loc[comparison["mean"].idxmax()]  # type: ignore[call-overload]  # a label of the index
    within = comparison[comparison["mean"] >= best["mean"] - best["error"]]
    return float(within["share"].max())
