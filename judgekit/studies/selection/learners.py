"""Small judges that learn in a second: they score a pool when cross-fitted, and are the students of what is kept."""

import numpy as np

from judgekit.inside.probes.families import FAMILIES, make_probe
from judgekit.judges.features import scores_of
from judgekit.stats import outcome_probabilities
from judgekit.studies.selection.scores import folds_of
from judgekit.training.features import fit_features

L2 = 0.01  # of the surface features, as in the recipe of the encoder judge


def learn_features(views, weight, seed=0):
    """The surface-feature judge.

    Parameters
    ----------
    views : Views
        What is learnt from.
    weight : array, shape (n_pairs,)
    seed : int
        Not used: the fit is convex.

    Returns
    -------
    callable
        Views to the probability of A, shape (n_pairs,).
    """
    parts = fit_features(views.looks, weight=weight, l2=L2)

    def p_a(seen):
        score_a, score_b, _ = scores_of(parts, seen.looks.a, seen.looks.b, seen.looks.pair)
        return outcome_probabilities(score_a - score_b, -np.inf)[:, 0]

    return p_a


def learn_probe(views, weight, seed=0):
    """The pairwise probe on states of the untrained encoder, with its family's usual setting.

    Parameters and returns as for `learn_features`; the seed is that of the projection.

    Raises
    ------
    ValueError
        If all labels are the same.
    """
    if len(set(views.prefers_a.tolist())) < 2:
        raise ValueError(f"all {len(views)} pairs have the same label: a probe needs both")
    probe = make_probe("pair_logistic", FAMILIES["pair_logistic"].usual, seed=seed)
    probe.fit(views.states, views.prefers_a, classify__sample_weight=weight)
    return lambda seen: probe.predict_proba(seen.states)[:, 1]


LEARNERS = {"features": learn_features, "probe": learn_probe}


def cross_fit(learn, pool, weight, n_folds=5, seed=0):
    """Judges that have not learnt from what they score: one per fold of questions, fitted on the other folds.

    Parameters
    ----------
    learn : callable
        One of `LEARNERS`, or another with its signature.
    pool : Views
    weight : array, shape (n_pairs,)
    n_folds, seed : int
        See `judgekit.studies.selection.folds_of`.

    Returns
    -------
    callable
        Views to the probability of A: each question, of the pool or not, is judged by the judge of its fold, so scores
        of validation pairs are comparable with those of the pool.

    Raises
    ------
    ValueError
        If a fold is empty or holds the whole pool.
    """
    folds = folds_of(pool.questions, n_folds, seed)
    if len(set(folds.tolist())) < n_folds:
        raise ValueError(f"{len(set(pool.questions))} questions do not fill {n_folds} folds")
    judges = [learn(pool.of(folds != fold), weight[folds != fold], seed) for fold in range(n_folds)]

    def p_a(seen):
        found, own = np.zeros(len(seen)), folds_of(seen.questions, n_folds, seed)
        for fold in np.unique(own):
            found[own == fold] = judges[fold](seen.of(own == fold))
        return found

    return p_a
