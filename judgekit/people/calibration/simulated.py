"""What simulation shows of the estimators: where the usual ones fail and these do not."""

from dataclasses import replace

import numpy as np

from judgekit.data.progress import progress_over
from judgekit.people.calibration.maps import confidence_slope
from judgekit.people.calibration.measures import number, verdict_cells
from judgekit.people.calibration.planted import Planted, planted_cases
from judgekit.people.calibration.selective import certify, coverages_for, losses_of, thresholds_at
from judgekit.stats import Number, proportion_interval

MANY = 50_000  # prompts of the population that a promise is checked on


def simulated_errors(planted=None, simulations=300, n_bins=10):
    """The plain and the debiased calibration error of a calibrated judge, whose true error is zero.

    Returns
    -------
    dict of str to Number
        ``plain`` and ``plain_root``, means over simulations of the mean absolute gap and of the root mean square;
        ``debiased_square``, the mean of the debiased mean square.
    """
    planted, rows = planted or Planted(), []
    for k in progress_over(range(simulations), "calibrated judge"):
        cells = verdict_cells(planted_cases(planted, k), n_bins)
        rows.append((cells.absolute[0], np.sqrt(cells.weight @ cells.gap**2), cells.square[0]))
    table, found = np.array(rows), {}
    for name, values, spec in zip(
        ("plain", "plain_root", "debiased_square"), table.T, (".3f", ".3f", ".5f"), strict=True
    ):
        half = 1.96 * values.std(ddof=1) / np.sqrt(simulations)
        found[name] = Number(values.mean(), values.mean() - half, values.mean() + half, simulations, spec)
    return found


def simulated_slope(planted, seed=0):
    """The slope found in one draw, a `Number`: the planted one is the inverse of the planted temperature."""
    cases = planted_cases(planted, seed)
    return number(confidence_slope(cases), cases, ".2f")


def simulated_promises(planted, risk=0.25, delta=0.1, simulations=300):
    """How often a threshold keeps the risk that was wanted: certified ones, and those chosen by the risk they showed.

    Returns
    -------
    dict of str to Number
        ``certified`` and ``naive``, shares of simulations.
    """
    many = planted_cases(replace(planted, prompts=MANY), 10**6)
    order = np.argsort(many.confidence)
    losses = losses_of(many)[order]
    risks = np.append(losses[::-1].cumsum()[::-1] / np.arange(len(order), 0, -1), 0.0)
    thresholds = thresholds_at(many, coverages_for(planted.prompts, risk, delta))
    kept = {"certified": 0, "naive": 0}
    for k in progress_over(range(simulations), "promises"):
        cases = planted_cases(planted, k)
        lost = losses_of(cases)
        seen = [t for t in thresholds if (above := cases.confidence >= t).any() and lost[above].mean() <= risk]
        chosen = {
            "certified": certify(cases, thresholds, risk, delta, seed=k).threshold,
            "naive": min(seen, default=2.0),
        }
        for name, threshold in chosen.items():
            kept[name] += risks[np.searchsorted(many.confidence[order], threshold)] <= risk
    return {
        name: Number(count / simulations, *proportion_interval(count / simulations, simulations), simulations, ".1%")
        for name, count in kept.items()
    }
