"""Fit the gate of the encoder judge, and choose how strong it is, on pairs the encoder was not trained on."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize

from judgekit.judges.gate import GATE_FEATURES, OPEN, RELEVANCE_INPUTS
from judgekit.stats import Array, cluster_sums, resampled_sums
from judgekit.training.tables import PairTable, joined

if TYPE_CHECKING:
    import pandas as pd

ALWAYS_OPEN = {"relevance": {"weight": [0.0] * len(RELEVANCE_INPUTS), "bias": 0.0}, "gate": OPEN}
START = np.array([0.0, 0.0, 0.0, -2.0, 1.0])  # weights, bias and slope of a gate, before fitting


def fit_relevance(table: PairTable, l2: float = 1e-4, inputs: Collection[str] = RELEVANCE_INPUTS) -> dict[str, Any]:
    """How likely a response was meant for its question: ``weight`` and ``bias`` for `relevance_of`.

    ``table``: pairs of which one response was meant for the question and the other was not. ``l2``: penalty on squared
    weights of standardised inputs, relative to the mean loss. ``inputs``: which of `RELEVANCE_INPUTS` may be used.
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
        gradient = np.append(slope @ scaled + 2 * l2 * parts[:-1], slope.sum())
        return np.logaddexp(0, -logits).mean() + l2 * (parts[:-1] ** 2).sum(), gradient

    found = minimize(loss, np.zeros(len(used) + 1), jac=True, method="L-BFGS-B").x
    weight = found[:-1] * used / spread
    return {"weight": weight.tolist(), "bias": float(found[-1] - weight @ centre)}


def fit_gate(
    natural: PairTable,
    misleading: PairTable,
    share: float,
    relevance: Mapping[str, Any],
    natural_weight: Array | None = None,
    l2: float = 1e-4,
    inputs: Collection[str] = GATE_FEATURES,
) -> dict[str, Any]:
    """The gate by penalised maximum likelihood: ``weight``, ``bias``, ``slope`` for `judgekit.judges.gate.gated`.

    ``natural``: ordinary labelled pairs, with a weight each; ``misleading``: pairs of which one response is known to be
    off-topic, with a weight of ``share`` in (0, 1): how often one response is taken to be. ``l2``: penalty on squared
    weights, relative to the mean loss. ``inputs``: which of `GATE_FEATURES` may be used.
    """
    weight = np.ones(len(natural.target)) if natural_weight is None else np.asarray(natural_weight, float)
    rows = np.concatenate([(1 - share) * weight / weight.sum(), np.full(len(misleading.target), share)])
    rows[len(weight) :] /= len(misleading.target)
    table = joined([natural, misleading])
    used = np.array([*(name in inputs for name in GATE_FEATURES), True, True])

    def gate_of(parts: np.ndarray) -> dict[str, Any]:
        *weight, bias, slope = (parts * used).tolist()
        return {"weight": weight, "bias": bias, "slope": slope}

    def loss(parts: np.ndarray) -> float:
        p = table.probabilities({"relevance": relevance, "gate": gate_of(parts)})
        penalty = l2 * (parts[:3] @ parts[:3] + parts[4] ** 2)
        return -rows @ (table.target * np.log(np.clip(p, 1e-9, 1))).sum(1) + penalty

    return gate_of(minimize(loss, START, method="BFGS").x)


def compare_gates(
    gates: Mapping[float, Mapping[str, Any]],
    natural: Mapping[str, PairTable],
    misleading: PairTable,
    n_boot: int = 2000,
    seed: int = 0,
) -> "pd.DataFrame":
    """Accuracy behind gates of several strengths on validation pairs, a row per gate, the open one (share 0) first.

    ``gates``: share of misleading pairs to the parts fitted with it; ``natural``: sets of ordinary pairs;
    ``misleading``: pairs of which one response is off-topic. Columns: share, accuracy on every natural set, ``mean`` of
    these and its standard error ``error`` (prompts resampled), and accuracy on ``misleading``.
    """
    import pandas as pd

    rows = []
    for share, parts in {0.0: ALWAYS_OPEN, **gates}.items():
        hits = {name: table.hits(parts) for name, table in natural.items()}
        row = {"share": share} | {name: float(values.mean()) for name, values in hits.items()}
        errors = [standard_error(values, natural[name].clusters, n_boot, seed) for name, values in hits.items()]
        row["mean"] = float(np.mean([values.mean() for values in hits.values()]))
        row["error"] = float(np.sqrt(np.sum(np.square(errors))) / len(errors))
        rows.append(row | {"misleading": float(misleading.hits(parts).mean())})
    return pd.DataFrame(rows)


def standard_error(hits: Array, clusters: Array, n_boot: int = 2000, seed: int = 0) -> float:
    """Bootstrap standard error of an accuracy, prompts resampled."""
    sums = cluster_sums(np.column_stack([hits, np.ones(len(hits))]), clusters)
    drawn = resampled_sums(sums, n_boot, seed)
    return float((drawn[:, 0] / drawn[:, 1]).std())


def choose_share(comparison: "pd.DataFrame") -> float:
    """The strongest gate whose mean accuracy on ordinary pairs is within one standard error of the best.

    ``comparison``: of `compare_gates`.

    The one-standard-error rule (Breiman et al. 1984, Classification and Regression Trees, section 3.4.3): accuracy on
    ordinary pairs cannot tell the gates within it apart, and among those the strongest reads best.
    """
    best = comparison.loc[comparison["mean"].idxmax()]  # type: ignore[call-overload]  # a label of the index
    within = comparison[comparison["mean"] >= best["mean"] - best["error"]]
    return float(within["share"].max())
