"""Judges on sets as calibration reads them, maps measured where they were not fitted, and simulated judges."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from judgekit.data.catalogue import load_set
from judgekit.data.paths import verdict_store_path
from judgekit.data.progress import progress_over
from judgekit.judges import load_judge
from judgekit.judges.base import Judge
from judgekit.people.calibration.cases import Cases, cases_of
from judgekit.people.calibration.maps import cross_fitted, restated
from judgekit.people.calibration.measures import FLOOR, measures, number, paired, verdict_cells
from judgekit.people.calibration.selective import (
    certify,
    coverages_for,
    drawn_items,
    halves,
    losses_of,
    thresholds_at,
)
from judgekit.people.clustered import Ends, mean_interval
from judgekit.people.planted import PlantedJudge, planted_cases
from judgekit.records import ORDERS, PreferencePair
from judgekit.scoring import pairs_judged_by, run_judge
from judgekit.scoring.store import VerdictStore
from judgekit.stats import LEVEL, Array, Floats, Number, pearson, proportion_interval, ratio

SHARES = np.linspace(0.1, 1, 37).round(3)
MANY = 50_000  # prompts of the population that a promise is checked on


@cache
def _loaded(name: str, run: str) -> Judge:
    return load_judge(name, run=run)


def judged(
    name: str, target: str, judges: Mapping[str, str], run: str, pairs: Sequence[PreferencePair] | None = None
) -> dict[str, Cases]:
    """Our judges (names by slug) on a set, or some ``pairs`` of it, beside a target of `cases_of`, by slug."""
    pairs, found = load_set(name) if pairs is None else pairs, {}
    with VerdictStore(verdict_store_path()) as store:
        for slug, one in judges.items():
            judge = _loaded(one, run)
            verdicts = run_judge(judge, pairs, store, getattr(judge, "orders", ORDERS))
            found[slug] = cases_of(name, pairs, verdicts, target)
    return found


def published_cases(name: str, target: str, judges: Mapping[str, str]) -> dict[str, Cases]:
    """Published judges (names by slug) on the items of a set that all of them judged, by slug."""
    replayed: dict[str, Any] = {slug: load_judge(judge) for slug, judge in judges.items()}
    stored = {slug: list(replay.stored.values()) for slug, replay in replayed.items()}
    pairs = pairs_judged_by(load_set(name), *stored.values())
    return {slug: cases_of(name, pairs, verdicts, target) for slug, verdicts in stored.items()}


def shift_rows(
    sources: Mapping[str, Cases],
    targets: Mapping[str, Cases],
    name: str = "temperature",
    n_bins: int = 10,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Every map measured on every set: source, target, ``nll_change`` (below zero it helped), and measures after it.

    ``sources``, ``targets``: one judge on the sets that maps are fitted on, and on those they are measured on. A set
    that is both is cross-fitted over its prompts. Sets that share prompts are not independent: one parameter hardly
    learns them.
    """
    rows = []
    for target, cases in targets.items():
        for source, fitted_on in sources.items():
            own = source == target
            mapped = cross_fitted(cases, name, seed=seed) if own else restated(name, fitted_on, cases)
            after = measures(mapped, n_bins)
            row = {"source": source, "target": target, "nll_change": paired(cases, mapped)}
            rows.append(row | {quantity: after[quantity] for quantity in ("ece_debiased", "overconfidence")})
    return rows


def p_value(found: Number) -> float:
    """Two-sided p-value of no difference, from a symmetric 95 % interval about a difference of means.

    >>> round(p_value(Number(1.96, 0.0, 3.92)), 3)
    0.05
    """
    error = (found.high - found.low) / (2 * float(ndtri((1 + LEVEL) / 2)))
    return float(2 * ndtr(-abs(found.value) / error)) if error > 0 else float(found.value == 0)


def _entropy(shares: Floats) -> Floats:
    """Of each row, in nats."""
    return -(shares * np.log(np.maximum(shares, FLOOR))).sum(1)


def _correlation(x: Floats, y: Floats, cluster_index: NDArray[np.int_]) -> Ends:
    """Pearson's correlation, with the 95 % interval over prompts of Fisher's z, from its influence function."""
    value = float(pearson(x, y))
    x, y = (ratio(side - side.mean(), side.std()) for side in (x, y))
    influence = (x * y - value * (x**2 + y**2) / 2) / len(x)
    narrow = 1 - value**2 if value**2 < 1 else 1.0
    _, low, high = mean_interval(np.arctanh(value * (1 - 1e-12)), None, cluster_index, influence / narrow)
    return value, float(np.tanh(low)), float(np.tanh(high))


def disagreement(cases: Cases) -> dict[str, Number]:
    """Whether a judge's confidence knows where people disagree, on the items with two votes or more; else ValueError.

    ``share_correlation`` of the confidence with the share of people's largest party, ``entropy_correlation`` of both
    entropies (too low: a few votes are a poor measure of an item's people); ``stated_agreement`` of two people, which
    the sum of squared probabilities implies, ``people_agreement``, unbiased over pairs of votes, and their gap.
    """
    several = cases.weights >= 2
    if not several.any():
        raise ValueError("no item has two votes: nobody can disagree")
    cases = cases.at(several)
    votes = np.round(cases.shares * cases.weights[:, None])
    people = (votes * (votes - 1)).sum(1) / (cases.weights * (cases.weights - 1))
    stated = (cases.probabilities**2).sum(1)
    sides = {
        "share_correlation": (cases.confidence, cases.shares.max(1)),
        "entropy_correlation": (_entropy(cases.probabilities), _entropy(cases.shares)),
    }
    ends = {name: _correlation(x, y, cases.cluster_index) for name, (x, y) in sides.items()}
    columns = {"stated_agreement": stated, "people_agreement": people, "agreement_gap": stated - people}
    ones = np.ones(len(stated))
    ends |= {name: mean_interval(values, ones, cases.cluster_index) for name, values in columns.items()}
    return {name: number(interval, cases) for name, interval in ends.items()}


def _ordered(cases: Cases, losses: Floats, ranking: Floats) -> tuple[Array, Floats, Array]:
    """Groups of equal ranking, the highest first: their weight shares and mean losses, and the group of every item."""
    values, group = np.unique(-np.asarray(ranking).round(12), return_inverse=True)
    share = cases.weights / cases.weights.sum()
    mass = np.bincount(group, share, len(values))
    return mass, np.bincount(group, share * losses, len(values)) / mass, group


def risk_coverage(cases: Cases, shares: Array = SHARES) -> pd.DataFrame:
    """Risk of the verdicts that are kept at every coverage, the most confident first.

    Columns share, risk, oracle (kept by the losses themselves). Items of equal confidence are kept in part, at the mean
    over their sequences.
    """
    losses, table = losses_of(cases), {"share": np.asarray(shares)}
    for name, ranking in (("risk", cases.confidence), ("oracle", -losses)):
        mass, mean, _ = _ordered(cases, losses, ranking)
        kept = np.concatenate([[0], mass.cumsum()])
        lost = np.concatenate([[0], (mass * mean).cumsum()])
        table[name] = np.interp(table["share"], kept / kept[-1], lost) / table["share"]
    return pd.DataFrame(table)


def _area_influence(cases: Cases, losses: Floats) -> tuple[float, Floats]:
    """Area under the risk-coverage curve, and the influence of every item on it.

    The area is the mean of an item's loss times -log of the share of items that are ranked as high.
    """
    mass, mean, group = _ordered(cases, losses, cases.confidence)
    above = np.minimum(mass.cumsum(), 1.0)
    before = above - mass
    safe = np.where(before > 1e-12, before, 1.0)  # u - u log u is 0 at 0
    steps = above - above * np.log(above) - np.where(before > 1e-12, before - before * np.log(safe), 0.0)
    factor = steps / mass
    area = float((mass * mean) @ factor)
    # An item of some rank enlarges the share that is ranked as high for everybody below it.
    pressure = mass * mean / above
    below = pressure[::-1].cumsum()[::-1]
    influence = losses * factor[group] - area - (below[group] - mass @ below)
    return area, influence * cases.weights / cases.weights.sum()


def areas(cases: Cases) -> dict[str, Number]:
    """``risk_coverage_auc``, area under the risk-coverage curve, in [0, 1], lower is better; and its ``gain`` on the
    risk without abstaining: 0 if confidence says nothing."""
    losses, share = losses_of(cases), cases.weights / cases.weights.sum()
    area, influence = _area_influence(cases, losses)
    risk = float(share @ losses)
    ends = {
        "risk_coverage_auc": mean_interval(area, None, cases.cluster_index, influence),
        "risk_coverage_gain": mean_interval(
            risk - area, None, cases.cluster_index, share * (losses - risk) - influence
        ),
    }
    return {name: number(one, cases) for name, one in ends.items()}


def risk_at(cases: Cases, share: float = 0.5) -> Number:
    """Risk of the most confident verdicts, a share in (0, 1] of all; ValueError for another."""
    if not 0 < share <= 1:
        raise ValueError(f"a share of {share} cannot be kept")
    losses = losses_of(cases)
    mass, _, group = _ordered(cases, losses, cases.confidence)
    before = np.concatenate([[0], mass.cumsum()[:-1]])
    kept = np.clip((share - before) / mass, 0, 1)[group]  # items of equal confidence are kept in part
    weight = cases.weights / cases.weights.sum()
    risk = float(weight @ (kept * losses)) / share
    # What moving the place of the last one kept costs: the mean loss of a tenth of the items on either side of it.
    near = np.abs((before + mass / 2)[group] - share) <= max(0.1, float(mass.max()))
    edge = float(weight[near] @ losses[near] / weight[near].sum())
    influence = weight * (kept * losses - edge * (kept - share) - risk * share) / share
    return number(mean_interval(risk, None, cases.cluster_index, influence), cases, ".1%")


def sets_cutoff(cases: Cases, miss: float = 0.1, seed: int = 0) -> float:
    """Least probability of a label that belongs into a prediction set; 0 where there are too few prompts.

    Split conformal, one item per prompt; Vovk, Gammerman and Shafer (2005): the label of a new prompt's item is in its
    set with probability at least 1 - miss, over prompts and calibration together, not for every prompt or label.
    """
    rng = np.random.default_rng(seed)
    one = drawn_items(cases, rng)
    heights = cases.shares[one].cumsum(1)[:, :-1]
    label = (rng.random((len(one), 1)) > heights).sum(1)
    conformity = np.sort(cases.probabilities[one, label])
    place = int(np.floor((len(one) + 1) * miss)) - 1  # the rank below which labels may be missed
    return float(conformity[place]) if place >= 0 else 0.0


def set_numbers(cases: Cases, miss: float = 0.1, seed: int = 0) -> dict[str, Number]:
    """Prediction sets over the labels, each half with the cut-off of the other; each prompt counts once.

    ``set_coverage``, share of people whose label is in it; ``set_size``; ``single_rate``, sets of one label.
    """
    inside = np.zeros(cases.probabilities.shape, bool)
    parts = halves(cases, seed)
    for here, there in (parts, parts[::-1]):
        inside[there] = cases.probabilities[there] >= sets_cutoff(cases.at(here), miss, seed)
    columns = {
        "set_coverage": ((inside * cases.shares).sum(1), ".1%"),
        "set_size": (inside.sum(1), ".2f"),
        "single_rate": ((inside.sum(1) == 1).astype(float), ".1%"),
    }
    return {
        name: number(mean_interval(values, cases.prompt_weights, cases.cluster_index), cases, spec)
        for name, (values, spec) in columns.items()
    }


def simulated_errors(simulations: int = 300, n_bins: int = 10) -> dict[str, Number]:
    """The plain and the debiased calibration error of a calibrated judge, whose true error is zero.

    ``plain`` and ``plain_root``, means over simulations of the mean absolute gap and of the root mean square;
    ``debiased_square``, the mean of the debiased mean square.
    """
    rows = []
    for k in progress_over(range(simulations), "calibrated judge"):
        cells = verdict_cells(planted_cases(PlantedJudge(), k), n_bins)
        rows.append((cells.absolute[0], np.sqrt(cells.weight @ cells.gap**2), cells.square[0]))
    specs, numbers = {"plain": ".3f", "plain_root": ".3f", "debiased_square": ".5f"}, {}
    for (name, spec), values in zip(specs.items(), np.array(rows).T, strict=True):
        half = 1.96 * values.std(ddof=1) / np.sqrt(simulations)
        numbers[name] = Number(values.mean(), values.mean() - half, values.mean() + half, simulations, spec)
    return numbers


def simulated_promises(
    planted: PlantedJudge, risk: float = 0.25, delta: float = 0.1, simulations: int = 300
) -> dict[str, Number]:
    """How often a threshold keeps the risk that was wanted: shares of simulations for ``certified`` thresholds, and for
    ``naive`` ones, which are chosen by the risk they showed."""
    many = planted_cases(replace(planted, prompts=MANY), 10**6)
    order = np.argsort(many.confidence)
    losses = losses_of(many)[order]
    risks = np.append(losses[::-1].cumsum()[::-1] / np.arange(len(order), 0, -1), 0.0)
    thresholds = thresholds_at(many, coverages_for(planted.prompts, risk, delta))
    kept = {"certified": 0, "naive": 0}
    for k in progress_over(range(simulations), "promises"):
        cases = planted_cases(planted, k)
        lost = losses_of(cases)
        naive = [t for t in thresholds if (above := cases.confidence >= t).any() and lost[above].mean() <= risk]
        chosen = {
            "certified": certify(cases, thresholds, risk, delta, seed=k),
            "naive": min(naive, default=2.0),
        }
        for name, threshold in chosen.items():
            kept[name] += int(risks[np.searchsorted(many.confidence[order], threshold)] <= risk)
    return {
        name: Number(count / simulations, *proportion_interval(count / simulations, simulations), simulations, ".1%")
        for name, count in kept.items()
    }
