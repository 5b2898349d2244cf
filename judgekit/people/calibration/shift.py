"""Whether a map that repairs a judge on one set repairs it on another."""

from judgekit.people.calibration.fitting import N_FOLDS, cross_fitted, restated
from judgekit.people.calibration.measures import measures, paired

KEPT = ("ece_debiased", "overconfidence")


def shift_rows(sources, targets, name="temperature", n_bins=10, n_folds=N_FOLDS, seed=0):
    """Every map measured on every set.

    Parameters
    ----------
    sources, targets : dict of str to Cases
        One judge on the sets that maps are fitted on, and on those they are measured on. A set that is both is
        cross-fitted over its prompts. Sets that share prompts are not independent: one parameter hardly learns them.
    name : str
        The map.

    Returns
    -------
    list of dict
        Keys source, target, ``nll_change`` (mapped less stated, paired: below zero the map helped), and the measures in
        `KEPT` after mapping.
    """
    rows = []
    for target, cases in targets.items():
        for source, fitted_on in sources.items():
            own = source == target
            mapped = cross_fitted(cases, name, n_folds, seed) if own else restated(name, fitted_on, cases)
            found = measures(mapped, n_bins)
            row = {"source": source, "target": target, "nll_change": paired(cases, mapped)}
            rows.append(row | {quantity: found[quantity] for quantity in KEPT})
    return rows
