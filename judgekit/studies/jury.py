"""Juries: one verdict from those of several judges, weights that are learnt where that is no cheating, shared errors.

A label that has more votes than any other is the jury's. Where the highest labels are level, the jury says *tie*; where
a set allows no ties, its protocol then reads the scores and, when those are level too, the response shown first, which
is half credit over the two orders. A member without a verdict abstains; where all abstain, so does the jury.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import logsumexp

from judgekit.data.benchmarks import BENCHMARKS
from judgekit.data.catalogue import SAMPLE_TESTS
from judgekit.records import LABELS, Verdict
from judgekit.scoring import N_BOOT
from judgekit.stats import (
    Array,
    Floats,
    Number,
    cluster_bootstrap,
    cluster_sums,
    interval_of,
    prompt_folds,
    ratio,
    resampled_sums,
)
from judgekit.studies.panel import Panel

RIDGE = 1.0  # penalty on logistic weights, in items: a prior that a few hundred labels outweigh
_TESTS = frozenset([*BENCHMARKS, *SAMPLE_TESTS])
_LEVEL = 1e-9  # totals closer than this are level: sums of probabilities in another order differ in the last digits
_TIE = LABELS.index("tie")

# ---------------------------------------------------------------- voting


def majority(panel: Panel) -> list[Verdict]:
    """A vote for every member: verdicts of ``jury/majority``; scores are the votes, and probabilities are not given."""
    return _ruled(panel, "majority", {order: votes.sum(1) for order, votes in panel.votes.items()})


def mean_probability(panel: Panel) -> list[Verdict]:
    """The members' probabilities averaged: verdicts of ``jury/mean-probability``; a member without any is certain."""
    totals = {order: beliefs.sum(1) for order, beliefs in panel.beliefs.items()}
    return _ruled(panel, "mean-probability", totals, totals)


def _ruled(
    panel: Panel, rule: str, totals: Mapping[str, Floats], probabilities: Mapping[str, Floats] | None = None
) -> list[Verdict]:
    """Verdicts of ``jury/<rule>`` from the totals of each order, shape (n_items, 3): the highest wins.

    ``probabilities``: by order too; rows need not sum to one.
    """
    verdicts, voters = {}, {order: votes.sum((1, 2)) for order, votes in panel.votes.items()}
    for order in panel.orders:
        labels = _highest(totals[order])
        for row, pair in enumerate(panel.pairs):
            cell = (pair.item_id, f"jury/{rule}", order)
            if not voters[order][row]:
                verdicts[row, order] = Verdict(*cell, None, status="unparsed")
                continue
            scores: dict[str, Any] = {f"score_{side}": float(totals[order][row, k]) for k, side in enumerate("ab")}
            if probabilities is not None:
                shares = probabilities[order][row] / probabilities[order][row].sum()
                scores |= dict(zip(("p_a", "p_b", "p_tie"), shares.tolist(), strict=True))
            verdicts[row, order] = Verdict(*cell, labels[row], **scores)
    return [verdicts[row, order] for row in range(len(panel.pairs)) for order in panel.orders]


def _highest(totals: Floats) -> list[str]:
    """The highest label of every row; *tie* where the highest are level."""
    level = (totals >= totals.max(1, keepdims=True) - _LEVEL).sum(1) > 1
    return ["tie" if shared else LABELS[k] for k, shared in zip(totals.argmax(1), level, strict=True)]


# ---------------------------------------------------------------- weights


class LabelLeak(ValueError):
    """Weights were about to be learnt from labels that judges are tested with, or applied where they were learnt."""


@dataclass(frozen=True)
class Weights:
    """Weights of a jury's members by a rule, one of `FITS`; 0 is a vote that does not count."""

    rule: str
    values: dict[str, float]  # negative under ``signed-logistic`` alone: it counts against what the member says
    tie_bias: float = 0.0  # added to *tie* (logistic only)
    n: int = 0  # labels they were learnt from
    prompts: frozenset[str] = field(default=frozenset(), repr=False)  # that they were learnt on


def learn_weights(panel: Panel, rule: str) -> Weights:
    """Weights from labels of pairs that are no test: of a corpus, a validation set or a part of one.

    ``rule``: log-odds, logistic or signed-logistic. LabelLeak where the panel's set, or the set that one of its pairs
    belongs to, is a test set.
    """
    if tests := sorted({panel.benchmark, *(pair.benchmark for pair in panel.pairs)} & _TESTS):
        raise LabelLeak(
            f"{tests[0]} is a test set: learn weights on other pairs, or cross-fit them ('cross_fitted') and quote the "
            "score as jury_crossfit.*"
        )
    return _fitted(panel, rule)


def _fitted(panel: Panel, rule: str) -> Weights:
    """`learn_weights` without its question where the labels come from: for folds only."""
    if rule not in FITS:
        raise ValueError(f"rule {rule!r} is not one of {', '.join(FITS)}")
    items, labels = panel.references
    if not len(items):
        raise ValueError(f"{panel.benchmark}: no item has a reference label to learn weights from")
    values, tie_bias = FITS[rule](panel, items, labels)
    weights = {member: float(value) for member, value in zip(panel.members, values, strict=True)}
    return Weights(rule, weights, float(tie_bias), len(items) * len(panel.orders), frozenset(panel.prompts))


def _log_odds(panel: Panel, items: Array, labels: Array) -> tuple[Floats, float]:
    """Log of the odds that a member is right, less that of a guess: what is best if members err independently.

    Nitzan and Paroush (1982), International Economic Review 23. Shares are smoothed by one right and one wrong
    verdict. Who is right less often than a guess is not heard rather than turned round.
    """
    votes = np.concatenate([panel.votes[order][items] for order in panel.orders])
    right = votes[np.arange(len(votes)), :, np.tile(labels, len(panel.orders))].sum(0)
    share = (right + 1) / (votes.sum((0, 2)) + 2)
    return np.maximum(np.log(share / (1 - share)) + np.log(len(panel.protocol.labels) - 1), 0), 0.0


def _logistic(panel: Panel, items: Array, labels: Array, lowest: float | None = 0) -> tuple[Floats, float]:
    """Weights of a log-linear pool: P(label) is proportional to exp(sum of weight times the member's probability).

    One weight per member, whatever the label, and a bias for *tie* where ties are allowed. Learnt by penalised
    likelihood, which has one optimum, so that members who say the same share a weight. Weights are at least ``lowest``
    (None for any): where pairs were written to mislead judges, a negative weight learns that a judge was misled.
    """
    beliefs = np.concatenate([panel.beliefs[order][items] for order in panel.orders])
    tie = np.zeros((len(beliefs), 1, len(LABELS)))
    tie[:, :, _TIE] = 1
    inputs, wanted = np.concatenate([beliefs, tie], 1), np.tile(labels, len(panel.orders))
    allowed = [LABELS.index(label) for label in panel.protocol.labels]
    closed = np.setdiff1d(np.arange(len(LABELS)), allowed)
    if set(wanted) & set(closed):
        raise ValueError(f"{panel.benchmark}: a reference label is not one of {', '.join(panel.protocol.labels)}")

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = np.einsum("j,njk->nk", weights, inputs)
        scores[:, closed] = -np.inf
        logs = scores - logsumexp(scores, axis=1, keepdims=True)
        chosen = inputs[np.arange(len(wanted)), :, wanted].sum(0)
        slope = np.einsum("nk,njk->j", np.exp(logs), inputs) - chosen + RIDGE * weights
        return -logs[np.arange(len(wanted)), wanted].sum() + RIDGE / 2 * weights @ weights, slope

    bounds = [(lowest, None)] * len(panel.members) + [(None, None)]
    start = np.zeros(inputs.shape[1])
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-12}).x
    return best[:-1], best[-1] if not len(closed) else 0.0


FITS: dict[str, Callable[..., tuple[Floats, float]]] = {
    "log-odds": _log_odds,
    "logistic": _logistic,
    "signed-logistic": partial(_logistic, lowest=None),
}


def weighted_vote(panel: Panel, weights: Weights) -> list[Verdict]:
    """The jury's verdicts with weights learnt elsewhere: of ``jury/<rule>``, with probabilities under logistic rules.

    LabelLeak where a prompt of the panel is one of those the weights were learnt on, ValueError where the weights are
    not of exactly the panel's members.
    """
    if set(weights.values) != set(panel.members):
        raise ValueError(f"weights of {', '.join(sorted(weights.values))} for the jury {', '.join(panel.members)}")
    if seen := sorted(weights.prompts & set(panel.prompts)):
        raise LabelLeak(f"the weights were learnt on {len(seen)} of these prompts, such as {seen[0]}")
    return _weighted(panel, weights, weights.rule)


def _weighted(panel: Panel, weights: Weights, name: str) -> list[Verdict]:
    values = np.array([weights.values[member] for member in panel.members])
    logs = weights.rule != "log-odds"
    totals, inputs = {}, panel.beliefs if logs else panel.votes
    for order in panel.orders:
        total = np.einsum("j,njk->nk", values, inputs[order])
        total[:, _TIE] += weights.tie_bias
        if "tie" not in panel.protocol.labels:
            total[:, _TIE] = -np.inf
        totals[order] = total
    if not logs:
        return _ruled(panel, name, totals)
    chances = {order: np.exp(total - logsumexp(total, axis=1, keepdims=True)) for order, total in totals.items()}
    return _ruled(panel, name, totals, chances)


def cross_fitted(panel: Panel, rule: str, n_folds: int = 5, seed: int = 0) -> list[Verdict]:
    """The weighted jury where only test items were judged: each prompt by weights from the other folds' prompts.

    Verdicts of the judge ``jury/crossfit-<rule>``. Their scores are ``jury_crossfit.*``, never ``scores.*``: labels of
    the same test set, though of other prompts, went into them. ``seed``: of the division of prompts into folds.
    """
    verdicts: dict[tuple[str, str], Verdict] = {}
    folds = prompt_folds(panel.prompts, n_folds, seed)
    for fold in range(n_folds):
        part, weights = panel.on(folds == fold), _fitted(panel.on(folds != fold), rule)
        if weights.prompts & set(part.prompts):
            raise LabelLeak("a fold shares a prompt with the others")  # prompt_folds keeps prompts whole
        verdicts |= {(v.item_id, v.order): v for v in _weighted(part, weights, f"crossfit-{rule}")}
    return [verdicts[pair.item_id, order] for pair in panel.pairs for order in panel.orders]


# ---------------------------------------------------------------- shared errors


def error_correlations(panel: Panel, n_boot: int = N_BOOT, seed: int = 0) -> pd.DataFrame:
    """Correlation of what every two members earn, item by item: judge_a, judge_b, value, low, high, n; in [-1, 1].

    1 where two are right on the same items, 0 where the errors of one say nothing of the other's, or one never varies.
    """
    sums, rows = _product_sums(panel), []
    value, drawn = _correlations(sums.sum(0)), _correlations(resampled_sums(sums, n_boot, seed))
    for a, b in combinations(range(len(panel.members)), 2):
        ends = interval_of(value[a, b], drawn[:, a, b], len(sums), signed=True)
        rows.append((panel.members[a], panel.members[b], value[a, b], *ends, len(panel.clusters)))
    return pd.DataFrame(rows, columns=["judge_a", "judge_b", "value", "low", "high", "n"])


def effective_members(panel: Panel, n_boot: int = N_BOOT, seed: int = 0) -> Number:
    """How many independent judges the panel is worth: ``k / (1 + (k - 1) r)``, r the mean correlation of two's errors.

    The number of independent errors whose mean varies as much (Kish, 1965, Survey Sampling), at most k.
    """
    k = len(panel.members)
    if k < 2:
        raise ValueError(f"{panel.benchmark}: one member has nobody to be independent of")
    upper = np.triu_indices(k, 1)

    def statistic(sums: Floats) -> Floats:
        return k / (1 + (k - 1) * np.maximum(_correlations(sums)[..., *upper].mean(-1), 0))

    return Number(*cluster_bootstrap(_product_sums(panel), statistic, n_boot, seed), n=len(panel.clusters), spec=".2f")


def _product_sums(panel: Panel) -> Floats:
    """Sums by prompt from which correlations follow: one, the members' credits and products; (n_clusters, k+1, k+1)."""
    values = np.column_stack([np.ones(len(panel.clusters)), panel.credits])
    return cluster_sums(values[:, :, None] * values[:, None, :], panel.clusters)


def _correlations(sums: Floats) -> Floats:
    """Pearson's correlations from `_product_sums`, shape (..., k, k); 0 where a member does not vary."""
    means = ratio(sums, sums[..., :1, :1])
    first = means[..., 0, 1:]
    covariance = means[..., 1:, 1:] - first[..., :, None] * first[..., None, :]
    spread = np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 0))
    spread = np.where(spread > 1e-9, spread, 0)
    return np.clip(ratio(covariance, spread[..., :, None] * spread[..., None, :]), -1, 1)
