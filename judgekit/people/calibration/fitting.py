"""Maps that never see what they are measured on: fitted, and chosen, on other prompts of the set."""

import numpy as np

from judgekit.people.calibration.maps import fit_map, maps_for
from judgekit.people.calibration.measures import log_losses

N_FOLDS = 5
NOTHING = "stated"  # the map that changes nothing


def folds_of(cases, n_folds=N_FOLDS, seed=0):
    """Which fold every row is in, prompts kept whole: array of int, shape (n_items,).

    Raises
    ------
    ValueError
        If there are fewer prompts than folds, or fewer than two folds.
    """
    n_clusters = int(cases.cluster_index.max()) + 1
    if not 2 <= n_folds <= n_clusters:
        raise ValueError(f"n_folds is {n_folds}: two at least, and at most one for each of {n_clusters} prompts")
    return (np.random.default_rng(seed).permutation(n_clusters) % n_folds)[cases.cluster_index]


def restated(name, fitted_on, cases):
    """Rows with the probabilities of a map that was fitted on other rows; `NOTHING` leaves them."""
    return cases if name == NOTHING else cases.stating(fit_map(name, fitted_on)(cases.probabilities))


def cross_fitted(cases, name, n_folds=N_FOLDS, seed=0):
    """Every row restated by a map that was fitted on the prompts of the other folds.

    Returns
    -------
    Cases
        The same rows. A judgement of the procedure, to be reported as calibration and never as a score.
    """
    folds, values = folds_of(cases, n_folds, seed), np.empty_like(cases.probabilities)
    for fold in np.unique(folds):
        here = folds == fold
        values[here] = restated(name, cases.at(~here), cases.at(here)).probabilities
    return cases.stating(values)


def best_map(cases, n_folds=N_FOLDS, seed=0, names=None):
    """The map with the smallest cross-fitted loss on these rows, of all that differ there and none at all."""
    names = (NOTHING, *maps_for(cases)) if names is None else names
    losses = [
        float(cases.weights @ log_losses(cases if name == NOTHING else cross_fitted(cases, name, n_folds, seed)))
        for name in names
    ]
    return names[int(np.argmin(losses))]


def nested(cases, n_folds=N_FOLDS, seed=0, names=None):
    """Every row restated by a map that was chosen and fitted on the prompts of the other folds.

    Returns
    -------
    cases : Cases
    chosen : list of str
        The map of every fold.
    """
    folds, values, chosen = folds_of(cases, n_folds, seed), np.empty_like(cases.probabilities), []
    for fold in np.unique(folds):
        here = folds == fold
        others = cases.at(~here)
        chosen.append(best_map(others, n_folds, seed + 1, names))
        values[here] = restated(chosen[-1], others, cases.at(here)).probabilities
    return cases.stating(values), chosen
