"""Which consensus foretells a vote that it has not seen: validation that needs no truth."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from judgekit.data.votes import NO_VOTE, Votes
from judgekit.people.consensus.methods import Consensus, Method
from judgekit.scoring.metrics import probability_losses
from judgekit.scoring.scores import N_BOOT
from judgekit.stats import (
    LEVEL,
    Array,
    Floats,
    Number,
    cluster_sums,
    holm,
    percentile_interval,
    prompt_folds,
    resampled_sums,
    two_sided_p,
    widening,
)

MEASURES = {"accuracy": ".1%", "nll": ".3f", "brier": ".3f"}


def hidden_votes(votes: Votes, seed: int) -> Array:
    """One vote, drawn at random, of every item that has two or more: a mask for `Votes.masked`."""
    rng = np.random.default_rng(seed)
    drawn = np.where(votes.given, rng.random(votes.codes.shape), -1.0).argmax(1)
    return (np.arange(votes.codes.shape[1]) == drawn[:, None]) & (votes.given.sum(1) >= 2)[:, None]


def _losses_on(consensus: Consensus, codes: Array, scored: Array, folds: Array) -> Floats:
    """Right (1 or 0), negative log-likelihood and Brier score on the hidden votes of scored items, (n_scored, 3)."""
    likely = foretold(consensus.posterior[scored], codes, folds)
    nll, brier = probability_losses(np.pad(likely, ((0, 0), (0, max(0, 3 - likely.shape[1])))), codes)
    return np.column_stack([consensus.labels[scored] == codes, nll, brier])


def foretold(posterior: Floats, codes: Array, folds: Array) -> Floats:
    r"""Probabilities of a vote from probabilities of the label.

    A posterior is about the label, and people err: who is certain of a label must not be certain of a vote. A vote is
    the label with a rate :math:`\lambda`, and otherwise as votes are altogether,
    :math:`P(y = k) = \lambda P(z = k) + (1 - \lambda) s_k`, with :math:`\lambda` and :math:`s` from hidden votes on the
    prompts of other folds. The rate is the most likely one: the likelihood does not change to first order with an
    error in it, so that intervals which take it as given hold.
    """
    likely = np.empty_like(posterior)
    rows = np.arange(len(codes))
    for fold in np.unique(folds):
        here = folds == fold
        share = np.bincount(codes[~here], minlength=posterior.shape[1]) + 1.0
        share /= share.sum()
        rate = _voting_rate(posterior[rows[~here], codes[~here]], share[codes[~here]])
        likely[here] = rate * posterior[here] + (1 - rate) * share
    return likely


def _voting_rate(by_label: Floats, by_share: Floats) -> float:
    """Most likely rate of votes that are the label, by EM; with one vote that is and one that is not."""
    rate = 0.5
    for _ in range(100):
        due = rate * by_label / np.maximum(rate * by_label + (1 - rate) * by_share, 1e-12)
        rate = (due.sum() + 1) / (len(due) + 2)
    return rate


def held_out_losses(
    votes: Votes, methods: Mapping[str, Method], draws: int = 5, seed: int = 0, leak: bool = False
) -> tuple[Floats, list[str]]:
    """What each method loses on hidden votes, as the mean over draws, and the prompts of the scored items.

    Shape (n_scored, n_methods, 3), items with two or more votes, by `MEASURES`: whether the label is the hidden vote,
    and how likely that vote was held to be (`foretold`, cross-fitted by prompt). ``draws``: how often a vote is hidden
    anew in all items at once. With ``leak`` methods see the hidden vote after all: wrong, and kept to show what it
    feigns. ValueError where no item has two votes, or a method answers for other items.
    """
    scored = votes.given.sum(1) >= 2
    if not scored.any():
        raise ValueError("no item has two votes: nothing can be hidden and foretold")
    clusters = [cluster for cluster, keep in zip(votes.clusters, scored, strict=True) if keep]
    folds = prompt_folds(clusters, seed=seed)
    total = np.zeros((int(scored.sum()), len(methods), len(MEASURES)))
    for draw in range(draws):
        hidden = hidden_votes(votes, seed + draw)
        codes = np.where(hidden, votes.codes, NO_VOTE).max(1)[scored]
        seen = votes if leak else votes.masked(hidden)
        for place, (name, method) in enumerate(methods.items()):
            consensus = method(seen)
            if consensus.items != votes.items:
                raise ValueError(f"{name} answers for other items than it was given")
            total[:, place] += _losses_on(consensus, codes, scored, folds)
    return total / draws, clusters


def held_out_table(
    losses: Floats,
    clusters: Sequence[str],
    methods: Sequence[str] | Mapping[str, Any],
    baseline: str = "majority",
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> pd.DataFrame:
    """Scores on hidden votes (`held_out_losses`), and what each method gains on a baseline.

    Columns method, accuracy, nll, brier, accuracy_gain, nll_gain, brier_gain (None for the baseline; positive where the
    method is better) and p_holm of the Brier gain, corrected over methods. Prompts are resampled; for few of them the
    percentiles are expanded, so that the interval is as wide as Student's (`stats.widening`).
    """
    methods = list(methods)
    flat = np.concatenate([losses.reshape(len(losses), -1), np.ones((len(losses), 1))], 1)
    sums = cluster_sums(flat, clusters)
    drawn = resampled_sums(sums, n_boot, seed)
    level = float(2 * ndtr(ndtri((1 + LEVEL) / 2) * widening(len(sums))) - 1)
    means = (drawn[:, :-1] / drawn[:, -1:]).reshape(n_boot, len(methods), len(MEASURES))
    value = losses.mean(0)
    base, sign = methods.index(baseline), np.array([1, -1, -1])
    gains, gain = sign * (means - means[:, [base]]), sign * (value - value[base])
    rows, tails = [], {}
    for place, name in enumerate(methods):
        row: dict[str, Any] = {"method": name}
        for ending, values, resampled in (("", value, means), ("_gain", gain, gains)):
            for m, (measure, spec) in enumerate(MEASURES.items()):
                ends = percentile_interval(resampled[:, place, m], level)
                row[measure + ending] = Number(values[place, m], *ends, len(losses), spec)
        if place == base:
            row |= dict.fromkeys((f"{measure}_gain" for measure in MEASURES), None)
        else:
            tails[name] = two_sided_p(gains[:, place, list(MEASURES).index("brier")])
        rows.append(row)
    corrected = dict(zip(tails, map(float, holm(list(tails.values()))), strict=True))
    return pd.DataFrame([row | {"p_holm": corrected.get(row["method"])} for row in rows], dtype=object)
