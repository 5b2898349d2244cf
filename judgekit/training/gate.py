"""Fit the gate of the encoder judge, and choose how strong it is, on pairs the encoder was not trained on."""

from dataclasses import dataclass

import numpy as np
import torch

from judgekit.davidson import outcome_probabilities
from judgekit.gate import GATE_FEATURES, gate_features, gated
from judgekit.intervals import cluster_sums, resampled_sums
from judgekit.judges.features import standardise
from judgekit.training.features import feature_table

OPEN = {"weight": [0.0] * len(GATE_FEATURES), "bias": float("-inf"), "slope": 0.0}


@dataclass(frozen=True)
class GateTable:
    """What the gate is fitted and judged on, as arrays over pairs.

    Attributes
    ----------
    outcomes : array, shape (n_pairs, 3)
        Probabilities of A, B and tie by the preference model alone.
    cosines : array, shape (n_pairs, 3)
        Question with A, question with B, A with B.
    target : array, shape (n_pairs, 3)
    tied : array of bool, shape (n_pairs,)
        Whether the pair's source offers ties.
    clusters : list of str
        Prompts.
    """

    outcomes: np.ndarray
    cosines: np.ndarray
    target: np.ndarray
    tied: np.ndarray
    clusters: list

    def probabilities(self, parts):
        """Probabilities of A, B and tie behind a gate, shape (n_pairs, 3); of A and B where ties are not offered."""
        p = gated(self.outcomes, *self.cosines.T, parts)
        p[~self.tied, 2] = 0
        return p / p.sum(1, keepdims=True)

    def hits(self, parts):
        """Whether the likeliest outcome is the label's, as 0 or 1, shape (n_pairs,)."""
        return (self.probabilities(parts).argmax(1) == self.target.argmax(1)).astype(float)


def preference_outcomes(table, parts):
    """Probabilities of A, B and tie by a fitted surface-feature judge, shape (n_pairs, 3)."""
    scores = [standardise(values, parts["mean"], parts["scale"]) @ parts["weight"] for values in (table.a, table.b)]
    ties = standardise(table.pair, parts["pair_mean"], parts["pair_scale"]) @ parts["tie_weight"] + parts["tie_bias"]
    return outcome_probabilities(scores[0] - scores[1], ties)


def gate_table(pairs, parts, embedder, recipe, tied_sources):
    """The table of some pairs.

    Parameters
    ----------
    pairs : list of PreferencePair
    parts : dict of str to array
        A fitted surface-feature judge (`judgekit.training.features.fit_features`).
    embedder : judgekit.training.bank.Embedder
        With the trained encoder.
    recipe : RelevanceRecipe
        How much is read of a text.
    tied_sources : set of str
        Sets whose annotators could say tie.

    Returns
    -------
    GateTable
    """
    features = feature_table(pairs, tied_sources)
    questions = embedder.embed([p.asked for p in pairs], recipe.max_question_tokens)
    texts = [text for p in pairs for text in (p.response_a, p.response_b)]
    responses = embedder.embed(texts, recipe.max_response_tokens)
    cosines = [
        (
            questions[p.asked] @ responses[p.response_a],
            questions[p.asked] @ responses[p.response_b],
            responses[p.response_a] @ responses[p.response_b],
        )
        for p in pairs
    ]
    outcomes = preference_outcomes(features, parts)
    clusters = [p.cluster_id or p.item_id for p in pairs]
    return GateTable(outcomes, np.array(cosines, float), features.target, features.tied, clusters)


def fit_gate(natural, misleading, share, natural_weight=None, l2=1e-4, inputs=GATE_FEATURES):
    """The gate's weights by penalised maximum likelihood.

    Parameters
    ----------
    natural, misleading : GateTable
        Ordinary labelled pairs, and pairs of which one response is known to be beside the question.
    share : float
        Weight of the misleading pairs in (0, 1): how often one response is taken to be beside the question.
    natural_weight : array, shape (n_natural,), optional
    l2 : float
        Penalty on squared weights, relative to the mean loss, with cosines in tenths.
    inputs : collection of str
        Which of `judgekit.gate.GATE_FEATURES` the gate may use.

    Returns
    -------
    dict
        ``weight``, ``bias`` and ``slope``, as `judgekit.gate.gated` takes them.
    """
    weight = np.ones(len(natural.target)) if natural_weight is None else np.asarray(natural_weight, float)
    row_weight = np.concatenate([(1 - share) * weight / weight.sum(), np.full(len(misleading.target), share)])
    row_weight[len(weight) :] /= len(misleading.target)

    def both(name):
        joined = np.concatenate([getattr(natural, name), getattr(misleading, name)])
        return torch.tensor(joined if joined.dtype == bool else joined.astype(float))

    cosines, outcomes, target, tied = (both(name) for name in ("cosines", "outcomes", "target", "tied"))
    features = 10 * torch.tensor(gate_features(*cosines.numpy().T)) - torch.tensor([5.0, 0.0, 5.0])
    features = features * torch.tensor([float(name in inputs) for name in GATE_FEATURES])
    difference = 10 * (cosines[:, 0] - cosines[:, 1])
    w = torch.zeros(len(GATE_FEATURES), dtype=torch.float64, requires_grad=True)
    b = torch.tensor(-2.0, dtype=torch.float64, requires_grad=True)
    k = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    rows = torch.tensor(row_weight)
    optimiser = torch.optim.LBFGS([w, b, k], max_iter=300, line_search_fn="strong_wolfe")

    def objective():
        optimiser.zero_grad()
        off, side = torch.sigmoid(features @ w + b), torch.sigmoid(difference * k)
        p = (1 - off)[:, None] * outcomes + off[:, None] * torch.stack([side, 1 - side, torch.zeros_like(side)], 1)
        p = torch.where(tied[:, None], p, p * torch.tensor([1.0, 1.0, 0.0]))
        p = (p / p.sum(1, keepdim=True)).clamp(1e-9, 1)
        loss = -(rows * (target * p.log()).sum(1)).sum() + l2 * ((w**2).sum() + k**2)
        loss.backward()
        return loss

    optimiser.step(objective)
    fitted = w.detach().numpy() * [name in inputs for name in GATE_FEATURES]
    return {
        "weight": (10 * fitted).tolist(),
        "bias": float(b.item() - 5 * fitted[0] - 5 * fitted[2]),
        "slope": float(10 * k.item()),
    }


def compare_gates(gates, natural, misleading, n_boot=2000, seed=0):
    """Accuracy behind gates of several strengths on validation pairs.

    Parameters
    ----------
    gates : dict of float to dict
        Share of misleading pairs to the gate fitted with it.
    natural : dict of str to GateTable
        Validation sets of ordinary pairs.
    misleading : GateTable
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
    for share, parts in {0.0: OPEN, **gates}.items():
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
