"""Everything that is asked of one judge on one set, by name of the quantity: what notebooks save and show."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from judgekit.data.catalogue import load_set
from judgekit.judges import load_judge
from judgekit.judges.base import Judge
from judgekit.people.calibration.cases import Cases, cases_of
from judgekit.people.calibration.maps import confidence_slope, cross_fitted, maps_for, nested
from judgekit.people.calibration.measures import measures, paired
from judgekit.people.calibration.selective import areas, certified, risk_at, set_numbers
from judgekit.records import ORDERS, PreferencePair
from judgekit.scoring import pairs_judged_by, run_judge
from judgekit.scoring.store import VerdictStore
from judgekit.stats import Number

KEPT = ("ece_debiased", "nll")


def judged(
    name: str,
    target: str,
    judges: Iterable[Judge],
    slugs: Mapping[str, str],
    store: VerdictStore,
    pairs: Sequence[PreferencePair] | None = None,
) -> dict[str, Cases]:
    """Our judges on a set (or some ``pairs`` of it) beside a target of `cases_of`, by slug."""
    pairs = load_set(name) if pairs is None else pairs
    return {
        slugs[judge.name]: cases_of(
            name, pairs, run_judge(judge, pairs, store, getattr(judge, "orders", ORDERS)), target
        )
        for judge in judges
    }


def published_cases(name: str, target: str, names: Sequence[str], slugs: Mapping[str, str]) -> dict[str, Cases]:
    """Published judges on the items of a set that all of them judged, by slug."""
    replayed: dict[str, Any] = {judge: load_judge(judge) for judge in names}
    stored = {judge: list(replay.stored.values()) for judge, replay in replayed.items()}
    pairs = pairs_judged_by(load_set(name), *stored.values())
    return {slugs[judge]: cases_of(name, pairs, verdicts, target) for judge, verdicts in stored.items()}


def stated_numbers(cases: Cases, n_bins: int = 10) -> dict[str, Number]:
    """The judge as it is: `measures`, `areas`, ``risk_at_half`` and ``slope``, the temperature's inverse."""
    at_half = {"risk_at_half": risk_at(cases), "slope": confidence_slope(cases)}
    return measures(cases, n_bins) | areas(cases) | at_half


def mapped_numbers(cases: Cases, n_bins: int = 10, seed: int = 0) -> tuple[dict[tuple[str, str], Number], list[str]]:
    """Every map, cross-fitted by prompt, and the one that other prompts would have chosen (``nested``), by map and
    quantity: `KEPT` after mapping, and ``nll_change`` by it; and the map chosen in every fold."""
    chosen_cases, chosen = nested(cases, seed=seed)
    tables = {name: cross_fitted(cases, name, seed=seed) for name in maps_for(cases)} | {"nested": chosen_cases}
    numbers: dict[tuple[str, str], Number] = {}
    for name, mapped in tables.items():
        after = measures(mapped, n_bins)
        numbers |= {(name, quantity): after[quantity] for quantity in KEPT}
        numbers[name, "nll_change"] = paired(cases, mapped)
    return numbers, chosen


def abstaining_numbers(cases: Cases, risks: Sequence[float], delta: float = 0.1, seed: int = 0) -> dict[str, Number]:
    """What is kept under promises of these risks, each with probability 1 - delta, and prediction sets.

    ``at_20_coverage``, ``at_20_risk`` (where something is kept) for a promise of 0.2; ``all_risk``; `set_numbers`,
    which miss at a rate of delta.
    """
    numbers: dict[str, Number] = {}
    for risk in risks:
        kept = certified(cases, risk, delta, seed=seed)[1]
        numbers["all_risk"] = kept.pop("all_risk")
        numbers |= {f"at_{round(100 * risk)}_{name}": value for name, value in kept.items()}
    return numbers | set_numbers(cases, delta, seed)
