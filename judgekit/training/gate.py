"""Fit the gate of the encoder judge, and choose how strong it is, on pairs the encoder was not trained on."""

import numpy as np
from scipy.optimize import minimize

from judgekit.judges.gate import GATE_FEATURES, OPEN, RELEVANCE_INPUTS
from judgekit.stats import cluster_sums, resampled_sums
from judgekit.training.tables import joined

ALWAYS_OPEN = {"relevance": {"weight": [0.0] * len(RELEVANCE_INPUTS), "bias": 0.0}, "gate": OPEN}
START = np.array([0.0, 0.0, 0.0, -2.0, 1.0])  # weights, bias and slope of a gate, before fitting


def fit_relevance(table, l2=1e-4, inputs=RELEVANCE_INPUTS):
    """The relevance part: how likely a response was meant for its question.

    Parameters
    ----------
    table : PairTable
        Pairs of which one response was meant for the question and the other was not.
    l2 : float
        Penalty on squared weights of standardised inputs, relative to the mean loss.
    inputs : collection of str
        Which of `judgekit.judges.gate.RELEVANCE_INPUTS` may be used.

    Returns
    -------
    dict
        ``weight`` and ``bias``, as `judgekit.judges.gate.relevance_of` takes them.
    """
    right = table.target[:, :1] > table.target[:, 1:2]
    on, off = np.where(right, table.inputs_a, table.inputs_b), np.where(right, table.inputs_b, table.inputs_a)
    values, sign = np.concatenate([on, off]), np.repeat([1.0, -1.0], len(on))
    centre, spread = values.mean(0), values.std(0) + 1e-9
    used = np.array([name in inputs for name in RELEVANCE_INPUTS])
    scaled = (values - centre) / spread * used

    def loss(parts):
        logits = sign * (scaled @ parts[:-1] + parts[-1])
        slope = -sign / (1 + np.exp(logits)) / len(sign)
        gradient = np.append(slope @ scaled + 2 * l2 * parts[:-1], slope.sum())
        return np.logaddexp(0, -logits).mean() + l2 * (parts[:-1] ** 2).sum(), gradient

    found = minimize(loss, np.zeros(len(used) + 1), jac=True, method="L-BFGS-B").x
    weight = found[:-1] * used / spread
    return {"weight": weight.tolist(), "bias": float(found[-1] - weight @ centre)}


def fit_gate(natural, misleading, share, relevance, natural_weight=None, l2=1e-4, inputs=GATE_FEATURES):
    """The gate's weights by penalised maximum likelihood.

    Parameters
    ----------
    natural, misleading : PairTable
        Ordinary labelled pairs, and pairs of which one response is known to be beside the question.
    share : float
        Weight of the misleading pairs in (0, 1): how often one response is taken to be beside the question.
    relevance : dict
        Of `fit_relevance`.
    natural_weight : array, shape (n_natural,), optional
    l2 : float
        Penalty on squared weights, relative to the mean loss.
    inputs : collection of str
        Which of `judgekit.judges.gate.GATE_FEATURES` the gate may use.

    Returns
    -------
    dict
        ``weight``, ``bias`` and ``slope``, as `judgekit.judges.gate.gated` takes them.
    """
    weight = np.ones(len(natural.target)) if natural_weight is None else np.asarray(natural_weight, float)
    rows = np.concatenate([(1 - share) * weight / weight.sum(), np.full(len(misleading.target), share)])
    rows[len(weight) :] /= len(misleading.target)
    table = joined([natural, misleading])
    used = np.array([*(name in inputs for name in GATE_FEATURES), True, True])

    def gate_of(parts):
        *weight, bias, slope = (parts * used).tolist()
        return {"weight": weight, "bias": bias, "slope": slope}

    def loss(parts):
        p = table.probabilities({"relevance": relevance, "gate": gate_of(parts)})
        penalty = l2 * (parts[:3] @ parts[:3] + parts[4] ** 2)
        return -rows @ (table.target * np.log(np.clip(p, 1e-9, 1))).sum(1) + penalty

    return gate_of(minimize(loss, START, method="BFGS").x)


def compare_gates(gates, natural, misleading, n_boot=2000, seed=0):
    """Accuracy behind gates of several strengths on validation pairs.

    Parameters
    ----------
    gates : dict of float to dict
        Share of misleading pairs to the parts (``relevance`` and ``gate``) fitted with it.
    natural : dict of str to PairTable
        Validation sets of ordinary pairs.
    misleading : PairTable
        Validation pairs of which one response is beside the question.
    n_boot, seed : int

    Returns
    -------
    pandas.DataFrame
        One row per gate, the open one (share 0) first: share, accuracy on every natural set, ``mean`` of these and its
        standard error ``error`` (prompts resampled), and accuracy on ``misleading``.
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


def standard_error(hits, clusters, n_boot=2000, seed=0):
    """Bootstrap standard error of an accuracy, prompts resampled."""
    sums = cluster_sums(np.column_stack([hits, np.ones(len(hits))]), clusters)
    drawn = resampled_sums(sums, n_boot, seed)
    return float((drawn[:, 0] / drawn[:, 1]).std())


def choose_share(comparison):
    """The strongest gate whose mean accuracy on ordinary pairs is within one standard error of the best.

    Parameters
    ----------
    comparison : pandas.DataFrame
        Of `compare_gates`.

    Notes
    -----
    The one-standard-error rule (Breiman et al. 1984, Classification and Regression Trees, section 3.4.3): accuracy on
    ordinary pairs cannot tell the gates within it apart, and among those the strongest reads best.
    """
    best = comparison.loc[comparison["mean"].idxmax()]
    within = comparison[comparison["mean"] >= best["mean"] - best["error"]]
    return float(within["share"].max())
