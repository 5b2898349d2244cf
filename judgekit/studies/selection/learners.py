"""Small judges that learn in a second: they score a pool when cross-fitted, and are the students of what is kept."""

from collections.abc import Callable

import numpy as np

from judgekit.inside.probes import FAMILIES, make_probe
from judgekit.judges.features import scores_of
from judgekit.stats import Array, Floats, outcome_probabilities
from judgekit.studies.selection.scores import folds_of
from judgekit.studies.selection.views import Views
from judgekit.training.features import fit_features

L2 = 0.01  # of the surface features, as in the recipe of the encoder judge


def learn_features(views: Views, weight: Array, seed: int = 0) -> Callable[[Views], Floats]:
    """The surface-feature judge: views to the probability of A, shape (n_pairs,).

    ``weight``: of what is learnt from, shape (n_pairs,). The seed is not used: the fit is convex.
    """
    parts = fit_features(views.looks, weight=weight, l2=L2)

    def p_a(seen: Views) -> Floats:
        score_a, score_b, _ = scores_of(parts, seen.looks.a, seen.looks.b, seen.looks.pair)
        return outcome_probabilities(score_a - score_b, -np.inf)[:, 0]

    return p_a


def learn_probe(views: Views, weight: Array, seed: int = 0) -> Callable[[Views], Floats]:
    """The pairwise probe on states of the untrained encoder, with its family's usual setting; as `learn_features`.

    The seed is that of the projection. ValueError where all labels are the same.
    """
    if len(set(views.prefers_a.tolist())) < 2:
        raise ValueError(f"all {len(views)} pairs have the same label: a probe needs both")
    probe = make_probe("pair_logistic", FAMILIES["pair_logistic"].usual, seed=seed)
    probe.fit(views.states, views.prefers_a, classify__sample_weight=weight)
    return lambda seen: probe.predict_proba(seen.states)[:, 1]


LEARNERS = {"features": learn_features, "probe": learn_probe}


def cross_fit(
    learn: Callable[[Views, Array, int], Callable[[Views], Floats]],
    pool: Views,
    weight: Array,
    n_folds: int = 5,
    seed: int = 0,
) -> Callable[[Views], Floats]:
    """Judges that have not learnt from what they score: one per fold of questions, fitted on the other folds.

    Gives views to the probability of A: each question, of the pool or not, is judged by the judge of its fold, so
    scores of validation pairs are comparable with those of the pool.

    ``learn``: one of `LEARNERS`, or alike; ``weight``: shape (n_pairs,); folds as of
    `judgekit.studies.selection.folds_of`. ValueError where a fold is empty or holds the whole pool.
    """
    folds = folds_of(pool.questions, n_folds, seed)
    if len(set(folds.tolist())) < n_folds:
        raise ValueError(f"{len(set(pool.questions))} questions do not fill {n_folds} folds")
    judges = [learn(pool.of(folds != fold), weight[folds != fold], seed) for fold in range(n_folds)]

    def p_a(seen: Views) -> Floats:
        found, own = np.zeros(len(seen)), folds_of(seen.questions, n_folds, seed)
        for fold in np.unique(own):
            found[own == fold] = judges[fold](seen.of(own == fold))
        return found

    return p_a
