"""Judges on sets as calibration reads them, and the risk of the verdicts that are kept when the least sure go."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import xlogy

from judgekit.data.catalogue import load_set
from judgekit.data.paths import verdict_store_path
from judgekit.judges import load_judge
from judgekit.people.calibration.measures import Cases, cases_of
from judgekit.people.calibration.selective import losses_of
from judgekit.records import ORDERS, PreferencePair
from judgekit.scoring import pairs_judged_by, run_judge
from judgekit.scoring.store import VerdictStore
from judgekit.stats import Array, Floats, ratio

SHARES = np.linspace(0.1, 1, 37).round(3)
_loaded = cache(load_judge)


def cases_by_judge(
    name: str, target: str, judges: Mapping[str, str], run: str, pairs: Sequence[PreferencePair] | None = None
) -> dict[str, Cases]:
    """Judges (names by slug) on a set, or some ``pairs`` of it, beside a target of `cases_of`, by slug; published ones
    on the items that all of them judged."""
    pairs = load_set(name) if pairs is None else pairs
    loaded: dict[str, Any] = {slug: _loaded(judge, run=run) for slug, judge in judges.items()}
    given = {slug: list(judge.stored.values()) for slug, judge in loaded.items() if hasattr(judge, "stored")}
    pairs = pairs_judged_by(pairs, *given.values()) if given else pairs
    with VerdictStore(verdict_store_path()) as store:
        for slug, judge in loaded.items():
            if slug not in given:
                given[slug] = run_judge(judge, pairs, store, getattr(judge, "orders", ORDERS))
    return {slug: cases_of(name, pairs, given[slug], target) for slug in judges}


def _groups(cases: Cases, ranking: Floats, weight: Array) -> tuple[Floats, Floats]:
    """Weight and loss of the groups of equal ranking, the highest first: shape (..., n_groups)."""
    ranking = -np.asarray(ranking).round(12)
    order = np.argsort(ranking, kind="stable")
    starts = np.flatnonzero(np.diff(ranking[order], prepend=-np.inf))
    weight = (weight * cases.weights)[..., order]
    return np.add.reduceat(weight, starts, -1), np.add.reduceat(weight * losses_of(cases)[order], starts, -1)


def risk_coverage(cases: Cases, shares: Array = SHARES) -> pd.DataFrame:
    """Risk of the verdicts that are kept at every coverage, the most confident first.

    Columns share, risk, oracle (kept by the losses themselves). Items of equal confidence are kept in part, at the mean
    over their sequences.
    """
    table = {"share": np.asarray(shares)}
    for name, ranking in (("risk", cases.confidence), ("oracle", -losses_of(cases))):
        kept, lost = (np.append(0, part.cumsum()) for part in _groups(cases, ranking, 1.0))
        table[name] = np.interp(table["share"], kept / kept[-1], lost / kept[-1]) / table["share"]
    return pd.DataFrame(table)


def risk_coverage_gain(cases: Cases, weight: Array = 1.0) -> Floats:
    """Risk without abstaining less the mean risk over all coverages (`risk_coverage`): 0 if confidence says nothing.

    ``weight``, shape (..., n_items): how often each item counts, a row per resample.
    """
    mass, lost = _groups(cases, cases.confidence, weight)
    above = mass.cumsum(-1) / mass.sum(-1, keepdims=True)
    # The mean risk is that of an item's loss times -log of the share of items that are ranked as high.
    steps = np.diff(above - xlogy(above, above), prepend=0.0)
    return lost.sum(-1) / mass.sum(-1) - (ratio(lost, mass) * steps).sum(-1)
