"""Which consensus foretells a vote that it has not seen: validation that needs no truth."""

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from judgekit.data.progress import progress_over
from judgekit.data.votes import NO_VOTE
from judgekit.scoring.metrics import probability_losses
from judgekit.scoring.scores import N_BOOT
from judgekit.stats import LEVEL, Number, cluster_sums, holm, percentile_interval, resampled_sums, two_sided_p, widening

MEASURES = {"accuracy": ".1%", "nll": ".3f", "brier": ".3f"}


def hidden_votes(votes, seed, at_least=2):
    """One vote, drawn at random, of every item that has so many.

    Returns
    -------
    array of bool, shape (n_items, n_annotators)
        True where a vote is hidden: `Votes.masked` takes it away.
    """
    if at_least < 2:
        raise ValueError("an item must keep a vote: hide one of two or more")
    rng = np.random.default_rng(seed)
    drawn = np.where(votes.given, rng.random(votes.codes.shape), -1.0).argmax(1)
    hidden = np.zeros(votes.codes.shape, bool)
    hidden[np.arange(len(drawn)), drawn] = True
    return hidden & (votes.given.sum(1) >= at_least)[:, None]


def losses_on(consensus, codes, scored, folds):
    """Right (1 or 0), negative log-likelihood and Brier score on hidden votes, shape (n_scored, 3).

    Parameters
    ----------
    consensus : Consensus
    codes : array of int, shape (n_scored,)
        The hidden votes.
    scored : array of bool, shape (n_items,)
    folds : array of int, shape (n_scored,)
        Of prompts, for `foretold`.
    """
    likely = foretold(consensus.posterior[scored], codes, folds)
    nll, brier = probability_losses(np.pad(likely, ((0, 0), (0, max(0, 3 - likely.shape[1])))), codes)
    return np.column_stack([consensus.labels[scored] == codes, nll, brier])


def foretold(posterior, codes, folds):
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
        rate = voting_rate(posterior[rows[~here], codes[~here]], share[codes[~here]])
        likely[here] = rate * posterior[here] + (1 - rate) * share
    return likely


def voting_rate(by_label, by_share, n_iter=100):
    """Most likely rate of votes that are the label, by EM; with one vote that is and one that is not."""
    rate = 0.5
    for _ in range(n_iter):
        due = rate * by_label / np.maximum(rate * by_label + (1 - rate) * by_share, 1e-12)
        rate = (due.sum() + 1) / (len(due) + 2)
    return rate


def folds_of(clusters, seed, n_folds=5):
    """A fold for every item, whole prompts together."""
    names, index = np.unique(np.asarray(clusters, str), return_inverse=True)
    return np.random.default_rng(seed).permutation(np.arange(len(names)) % n_folds)[index]


def held_out_losses(votes, methods, draws=5, seed=0, leak=False, progress=False):
    """What each method loses on hidden votes, item by item, as the mean over draws.

    Parameters
    ----------
    votes : Votes
    methods : dict of str to callable
        Votes to `Consensus` on the same items.
    draws : int
        How often a vote is hidden anew in all items at once.
    seed : int
    leak : bool
        Whether methods see the hidden vote after all: wrong, and kept to show what it feigns.
    progress : bool

    Returns
    -------
    losses : array, shape (n_scored, n_methods, 3)
        Measures as `MEASURES`, for items with two or more votes: whether the label is the hidden vote, and how likely
        that vote was held to be (`foretold`, cross-fitted by prompt).
    clusters : list of str
        Their prompts.

    Raises
    ------
    ValueError
        If no item has two votes, or a method answers for other items.
    """
    scored = votes.given.sum(1) >= 2
    if not scored.any():
        raise ValueError("no item has two votes: nothing can be hidden and foretold")
    clusters = [cluster for cluster, keep in zip(votes.clusters, scored, strict=True) if keep]
    folds = folds_of(clusters, seed)
    total = np.zeros((int(scored.sum()), len(methods), len(MEASURES)))
    for draw in progress_over(list(range(draws)), "hidden votes", "draw") if progress else range(draws):
        hidden = hidden_votes(votes, seed + draw)
        codes = np.where(hidden, votes.codes, NO_VOTE).max(1)[scored]
        seen = votes if leak else votes.masked(hidden)
        for place, (name, method) in enumerate(methods.items()):
            found = method(seen)
            if found.items != votes.items:
                raise ValueError(f"{name} answers for other items than it was given")
            total[:, place] += losses_on(found, codes, scored, folds)
    return total / draws, clusters


def expanded_level(n_clusters, level=LEVEL):
    """Level at which a percentile interval of few clusters is as wide as Student's (`judgekit.stats.widening`)."""
    return float(2 * ndtr(ndtri((1 + level) / 2) * widening(n_clusters, level)) - 1)


def held_out_table(losses, clusters, methods, baseline="majority", n_boot=N_BOOT, seed=0):
    """Scores on hidden votes, and what each method gains on a baseline.

    Parameters
    ----------
    losses, clusters
        Of `held_out_losses`.
    methods : sequence of str
        Names of the second axis.
    baseline : str

    Returns
    -------
    pandas.DataFrame
        Columns ``method``, ``accuracy``, ``nll``, ``brier``, ``accuracy_gain``, ``nll_gain``, ``brier_gain``
        (`Number`; None for the baseline; a gain is positive where the method is better) and ``p_holm`` of the Brier
        gain, corrected over methods. Prompts are resampled; for their number the percentiles are expanded.
    """
    methods = list(methods)
    flat = np.concatenate([losses.reshape(len(losses), -1), np.ones((len(losses), 1))], 1)
    sums = cluster_sums(flat, clusters)
    drawn = resampled_sums(sums, n_boot, seed)
    level = expanded_level(len(sums))
    means = (drawn[:, :-1] / drawn[:, -1:]).reshape(n_boot, len(methods), len(MEASURES))
    value = losses.mean(0)
    base, sign = methods.index(baseline), np.array([1, -1, -1])
    gains, gain = sign * (means - means[:, [base]]), sign * (value - value[base])
    rows, tails = [], {}
    for place, name in enumerate(methods):
        row = {"method": name}
        for m, (measure, spec) in enumerate(MEASURES.items()):
            row[measure] = Number(value[place, m], *percentile_interval(means[:, place, m], level), len(losses), spec)
        for m, (measure, spec) in enumerate(MEASURES.items()):
            other = Number(gain[place, m], *percentile_interval(gains[:, place, m], level), len(losses), spec)
            row[f"{measure}_gain"] = None if place == base else other
        if place != base:
            tails[name] = two_sided_p(gains[:, place, list(MEASURES).index("brier")])
        rows.append(row)
    corrected = dict(zip(tails, map(float, holm(list(tails.values()))), strict=True)) if tails else {}
    return pd.DataFrame([row | {"p_holm": corrected.get(row["method"])} for row in rows], dtype=object)
