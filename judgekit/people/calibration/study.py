"""Everything that is asked of one judge on one set, by name of the quantity: what notebooks save and show."""

from judgekit.data.catalogue import load_set
from judgekit.judges import load_judge
from judgekit.people.calibration.cases import cases_of
from judgekit.people.calibration.fitting import N_FOLDS, cross_fitted, nested
from judgekit.people.calibration.maps import confidence_slope, maps_for
from judgekit.people.calibration.measures import measures, number, paired
from judgekit.people.calibration.selective import areas, certified, risk_at, set_numbers
from judgekit.records import ORDERS
from judgekit.scoring import pairs_judged_by, run_judge

KEPT = ("ece_debiased", "nll")


def judged(name, target, judges, slugs, store, pairs=None):
    """Our judges on a set.

    Parameters
    ----------
    name : str
    target : str
        One of `judgekit.people.calibration.cases.TARGETS`.
    judges : iterable of Judge
    slugs : dict of str to str
        Judge's name to slug.
    store : judgekit.scoring.store.VerdictStore
    pairs : list of PreferencePair, optional
        Some of the set; all by default.

    Returns
    -------
    dict of str to Cases
        By slug.
    """
    pairs = load_set(name) if pairs is None else pairs
    return {
        slugs[judge.name]: cases_of(
            name, pairs, run_judge(judge, pairs, store, getattr(judge, "orders", ORDERS)), target
        )
        for judge in judges
    }


def published_cases(name, target, names, slugs):
    """Published judges on the items of a set that all of them judged: dict of slug to `Cases`."""
    stored = {judge: list(load_judge(judge).stored.values()) for judge in names}
    pairs = pairs_judged_by(load_set(name), *stored.values())
    return {slugs[judge]: cases_of(name, pairs, verdicts, target) for judge, verdicts in stored.items()}


def stated_numbers(cases, n_bins=10):
    """The judge as it is: `measures`, `areas`, ``risk_at_half`` and ``slope``, the temperature's inverse."""
    slope = number(confidence_slope(cases), cases, ".2f")
    return measures(cases, n_bins) | areas(cases) | {"risk_at_half": risk_at(cases), "slope": slope}


def mapped_numbers(cases, n_bins=10, n_folds=N_FOLDS, seed=0):
    """Every map, cross-fitted by prompt, and the one that other prompts would have chosen.

    Returns
    -------
    numbers : dict of (str, str) to Number
        By map (``nested`` for the chosen one) and quantity: `KEPT` after mapping, and ``nll_change`` by it.
    chosen : list of str
        The map of every fold.
    """
    chosen_cases, chosen = nested(cases, n_folds, seed)
    tables = {name: cross_fitted(cases, name, n_folds, seed) for name in maps_for(cases)} | {"nested": chosen_cases}
    found = {}
    for name, mapped in tables.items():
        after = measures(mapped, n_bins)
        found |= {(name, quantity): after[quantity] for quantity in KEPT}
        found[name, "nll_change"] = paired(cases, mapped)
    return found, chosen


def abstaining_numbers(cases, risks, delta=0.1, seed=0):
    """What is kept under a promise, and prediction sets.

    Parameters
    ----------
    cases : Cases
    risks : sequence of float
        Promised, each with probability 1 - delta.

    Returns
    -------
    dict of str to Number
        ``at_20_coverage``, ``at_20_risk`` (where something is kept) for a promise of 0.2; ``all_risk``; the numbers of
        `judgekit.people.calibration.selective.set_numbers`, which miss at a rate of delta.
    """
    found = {}
    for risk in risks:
        kept = certified(cases, risk, delta, seed=seed)[1]
        found["all_risk"] = kept.pop("all_risk")
        found |= {f"at_{round(100 * risk)}_{name}": value for name, value in kept.items()}
    return found | set_numbers(cases, delta, seed)
