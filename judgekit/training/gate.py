"""Fit the gate of the encoder judge, and choose how strong it is, on pairs the encoder was not trained on."""

from dataclasses import dataclass

import numpy as np
import torch

from judgekit.davidson import outcome_probabilities
from judgekit.gate import GATE_FEATURES, gate_features, gated
from judgekit.intervals import cluster_sums, paired_bootstrap
from judgekit.judges.features import standardise
from judgekit.training.bank import embed_texts
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


def gate_table(pairs, parts, encoder, recipe, tied_sources, bf16=True):
    """The table of some pairs.

    Parameters
    ----------
    pairs : list of PreferencePair
    parts : dict of str to array
        A fitted surface-feature judge (`judgekit.training.features.fit_features`).
    encoder : TextEncoder
        The trained one.
    recipe : RelevanceRecipe
        How much is read of a text.
    tied_sources : set of str
        Sets whose annotators could say tie.
    bf16 : bool

    Returns
    -------
    GateTable
    """
    features = feature_table(pairs, tied_sources)
    limits = recipe.max_question_tokens, recipe.max_response_tokens
    texts = [sorted({p.asked for p in pairs}), sorted({text for p in pairs for text in (p.response_a, p.response_b)})]
    questions, responses = (
        dict(zip(part, embed_texts(encoder, part, limit, bf16=bf16), strict=True))
        for part, limit in zip(texts, limits, strict=True)
    )
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


def fit_gate(natural, misleading, share, natural_weight=None, l2=1e-4):
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
    fitted = w.detach().numpy()
    return {
        "weight": (10 * fitted).tolist(),
        "bias": float(b.item() - 5 * fitted[0] - 5 * fitted[2]),
        "slope": float(10 * k.item()),
    }


def compare_gates(gates, natural, misleading, n_boot=2000, seed=0):
    """Accuracy behind gates of several strengths on validation pairs, and whether ordinary pairs suffer.

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
        One row per gate, the open one (share 0) first: share, accuracy on every natural set and on ``misleading``,
        ``high`` (the most favourable end of the 95 % interval of the loss against the open gate, worst set) and
        ``harmless`` (no set's interval lies wholly below zero).
    """
    import pandas as pd

    rows = []
    for share, parts in {0.0: OPEN, **gates}.items():
        row, ends = {"share": share}, []
        for name, table in natural.items():
            hits = table.hits(parts)
            row[name] = float(hits.mean())
            if share:
                ends.append(loss_interval(hits, table.hits(OPEN), table.clusters, n_boot, seed)[1])
        row["misleading"] = float(misleading.hits(parts).mean())
        rows.append(row | {"high": min(ends, default=0.0), "harmless": min(ends, default=0.0) >= 0})
    return pd.DataFrame(rows)


def loss_interval(hits, open_hits, clusters, n_boot=2000, seed=0):
    """95 % interval of the change of accuracy that a gate brings, prompts resampled: (low, high)."""
    ones = np.ones(len(hits))
    sums = [cluster_sums(np.column_stack([one, ones]), clusters) for one in (hits, open_hits)]
    return paired_bootstrap(*sums, lambda sums: sums[..., 0] / sums[..., 1], n_boot, seed)[1:3]


def choose_share(comparison):
    """The strongest gate that does no shown harm: the largest share whose row is harmless, with all below it.

    Parameters
    ----------
    comparison : pandas.DataFrame
        Of `compare_gates`.
    """
    chosen = 0.0
    for row in comparison.sort_values("share").itertuples():
        if not row.harmless:
            break
        chosen = row.share
    return float(chosen)
