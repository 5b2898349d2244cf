"""What judges and raters say of labelled pairs: a score per pair, high where the label looks right."""

import numpy as np

from judgekit.records import ORDERS
from judgekit.scoring import run_judge
from judgekit.scoring.store import VerdictStore
from judgekit.training.bank import share_of


def of_label(p_a, prefers_a):
    """The probability of the label, from the probability of A.

    Parameters
    ----------
    p_a : array of float, shape (n_pairs,), in [0, 1]
    prefers_a : array of bool, shape (n_pairs,)
    """
    return np.where(prefers_a, p_a, 1 - np.asarray(p_a))


def decided(pair):
    """Whether a pair's label is A, after checking that it is A or B.

    Raises
    ------
    ValueError
        For a tie or no label: there is no preferred response.
    """
    if pair.label not in ("A", "B"):
        raise ValueError(f"{pair.where}: the label is {pair.label!r}; only pairs labelled A or B can be selected")
    return pair.label == "A"


def judge_scores(verdicts, pairs):
    """A judge's probability of each pair's label, averaged over both orders.

    Parameters
    ----------
    verdicts : list of Verdict
        Of one judge that was not trained on these pairs, in both orders (`judgekit.scoring.run_judge`).
    pairs : list of PreferencePair
        Labelled A or B.

    Returns
    -------
    array of float, shape (n_pairs,), in [0, 1]
        Half of the probability of a tie goes to either side; a verdict without probabilities counts as certain, and a
        verdict "tie" as one half.

    Raises
    ------
    ValueError
        If a pair lacks a usable verdict in one of the orders, or is not labelled A or B.
    """
    said = {(verdict.item_id, verdict.order): verdict for verdict in verdicts if verdict.verdict is not None}
    scores = []
    for pair in pairs:
        missing = [order for order in ORDERS if (pair.item_id, order) not in said]
        if missing:
            raise ValueError(f"{pair.where}: no usable verdict in order {missing[0]}; judge it again, or leave it out")
        p_a = np.mean([first_share(said[pair.item_id, order]) for order in ORDERS])
        scores.append(p_a if decided(pair) else 1 - p_a)
    return np.array(scores)


def first_share(verdict):
    """Probability that A is better by one verdict, a tie shared between A and B."""
    if verdict.p_a is None:
        return {"A": 1.0, "B": 0.0, "tie": 0.5}[verdict.verdict]
    return verdict.p_a + (verdict.p_tie or 0.0) / 2


def rater_scores(rater, pairs, by="margin"):
    """Scores of pairs by a rater of single responses.

    Parameters
    ----------
    rater : callable
        Takes a list of (question, response) and gives a score for each, higher for better.
    pairs : list of PreferencePair
        Labelled A or B.
    by : {"margin", "chosen"}
        The preferred response's score less the other's, or the preferred response's alone.

    Returns
    -------
    array of float, shape (n_pairs,)
        On the rater's own scale.

    Raises
    ------
    ValueError
        If the rater gives another number of scores than it was asked for, or one that is not finite.
    """
    if by not in ("margin", "chosen"):
        raise ValueError(f"by={by!r} is neither 'margin' nor 'chosen'")
    sides = [pair.responses if decided(pair) else pair.responses[::-1] for pair in pairs]
    asked = [(pair.asked, side[0]) for pair, side in zip(pairs, sides, strict=True)]
    if by == "margin":
        asked += [(pair.asked, side[1]) for pair, side in zip(pairs, sides, strict=True)]
    found = np.asarray(rater(asked), float)
    if found.shape != (len(asked),):
        raise ValueError(f"the rater gave scores of shape {found.shape} for {len(asked)} responses")
    if not np.isfinite(found).all():
        place = int(np.flatnonzero(~np.isfinite(found))[0]) % len(pairs)
        raise ValueError(f"{pairs[place].where}: the rater's score of a response is {found[~np.isfinite(found)][0]}")
    return found[: len(pairs)] - found[len(pairs) :] if by == "margin" else found


def by_judge(judge):
    """A judge from elsewhere as a scorer; it must not have been trained on what it scores."""
    store = VerdictStore(":memory:")

    def scores(views):
        found, sources = np.zeros(len(views)), np.asarray(views.sources)
        for name in np.unique(sources):  # ids are unique within a set
            own = np.flatnonzero(sources == name)
            pairs = [views.pairs[i] for i in own]
            found[own] = judge_scores(run_judge(judge, pairs, store, progress=False), pairs)
        return found

    return scores


def by_rater(rater, by="margin"):
    """A rater of single responses as a scorer (`rater_scores`)."""
    return lambda views: rater_scores(rater, views.pairs, by)


def folds_of(questions, n_folds, seed=0):
    """The fold of each question, by its words alone: equal questions stand in one fold, wherever they occur.

    Parameters
    ----------
    questions : sequence of str
    n_folds : int, at least 2
    seed : int
        Other seeds give other folds.

    Returns
    -------
    array of int, shape (n_questions,), in [0, n_folds)
    """
    if n_folds < 2:
        raise ValueError(f"{n_folds} folds: what scores a pair would have learnt from it")
    return np.array([int(share_of(question, f"fold {seed}") * n_folds) for question in questions], int)
