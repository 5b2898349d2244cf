"""What a judge is worth for ranking models: ranks that may be, and estimates from few labels.

Axis 0 is questions, as in `people.ppi`. Estimates are tried on a set that is fully labelled, as if it were everything.
Questions are drawn with replacement, labelled ones and others alike: drawn without, most of a small set would be in
every sample, and intervals would hold the set's own value more often than their level says.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from judgekit.data.progress import progress_bar
from judgekit.people import ppi, ranking
from judgekit.stats import LEVEL, Array, Floats

DRAWS = 1000


def rank_sets(found: ranking.Strengths, n_draws: int = 20_000, seed: int = 0) -> tuple[Array, Array]:
    """The best and the worst rank (1 is the strongest) each model of one table may have, for all with 95 %.

    Simultaneous intervals of all differences; Klein, Wright and Wieczorek (2020), JRSS C 69.
    """
    first, second = np.triu_indices(len(found.value), 1)
    rng = np.random.default_rng(seed)
    values, vectors = np.linalg.eigh(found.covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    drawn = rng.standard_normal((n_draws, len(root))) @ root.T
    drawn /= np.sqrt(rng.chisquare(found.freedom, (n_draws, 1)) / found.freedom)
    errors = np.sqrt(
        found.covariance[first, first] + found.covariance[second, second] - 2 * found.covariance[first, second]
    )
    largest = np.abs((drawn[:, first] - drawn[:, second]) / errors).max(1)
    reach = np.quantile(largest, LEVEL) * errors
    lead = found.value[first] - found.value[second]
    above, below = lead > reach, lead < -reach
    n_models = len(found.value)
    stronger = np.bincount(second[above], minlength=n_models) + np.bincount(first[below], minlength=n_models)
    weaker = np.bincount(first[above], minlength=n_models) + np.bincount(second[below], minlength=n_models)
    return 1 + stronger, n_models - weaker


# ---------------------------------------------------------------- drawn from a set that is fully labelled


def _positions_of(n_questions: int, n_labelled: int, draws: int, seed: int) -> tuple[Array, Array]:
    """Positions of labelled and of other questions, as many as the set has: shapes (n, draws)."""
    drawn = np.random.default_rng(seed).integers(n_questions, size=(n_questions, draws))
    return drawn[:n_labelled], drawn[n_labelled:]


def _coverage(interval: Sequence[Floats], truth: Array) -> Any:
    """Share of draws whose interval holds the truth, over axis 0."""
    low, high = interval
    return ((low <= truth) & (truth <= high)).mean(0)


def rates_from_few(
    people: Floats,
    judges: Mapping[str, Floats],
    models: Sequence[str],
    sizes: Sequence[int],
    draws: int = DRAWS,
    seed: int = 0,
) -> pd.DataFrame:
    """Win rates from few labelled questions, by people alone, with each judge, and by the judge alone.

    ``people``, ``judges``, shape (n_questions, n_models): `win_rates`. ``sizes``: labelled questions, 10 or more.
    Columns judge (``"people"`` for people alone), model, n (labelled), n_all, coverage, half_width, power (mean
    lambda), coverage_alone (of the judge's own rate on all questions as if it were people's; NaN for people), effective
    (labelled questions that people alone would need for the interval's width) and saved (the share of them that the
    judge saves, below 0 where it costs), by the squared ratio of the mean widths, which holds the price of tuning.
    """
    rows = []
    with progress_bar(len(models) * len(sizes), "few labels", "size") as bar:
        for k, model in enumerate(models):
            there = np.isfinite(people[:, k])
            own, n_all = people[there, k], int(there.sum())
            for size in dict.fromkeys(min(size, n_all) for size in sizes):
                labelled, others = _positions_of(n_all, size, draws, seed)
                estimates = {"people": (ppi.mean_of(own[labelled]), np.nan)}
                for judge, rates in judges.items():
                    by_judge = rates[there, k]
                    judge_only = ppi.mean_of(by_judge[np.concatenate([labelled, others])])
                    both = ppi.prediction_powered(own[labelled], by_judge[labelled], by_judge[others])
                    estimates[judge] = both, _coverage(judge_only[1:3], own.mean())
                for judge, (one, covered) in estimates.items():
                    width, power = float((one.high - one.low).mean() / 2), float(np.mean(one.power))
                    rows.append((judge, model, size, n_all, _coverage(one[1:3], own.mean()), width, power, covered))
                bar.update(1)
    columns = ["judge", "model", "n", "n_all", "coverage", "half_width", "power", "coverage_alone"]
    table = pd.DataFrame(rows, columns=columns)
    alone = table[table["judge"] == "people"].set_index(["model", "n"])["half_width"]
    base = alone.reindex(pd.MultiIndex.from_frame(table[["model", "n"]])).to_numpy()
    effective = table["n"] * (base / table["half_width"]) ** 2
    return table.assign(effective=effective, saved=1 - table["n"] / effective)


def strengths_from_few(
    people: Floats, judges: Mapping[str, Floats], n_labelled: int, draws: int = DRAWS, seed: int = 0
) -> pd.DataFrame:
    """Strengths from few labelled questions, by people alone and with each judge.

    ``people``, ``judges``, shape (n_questions, n_pairs, 3): `Comparisons.counts`. Columns judge (``"people"`` for
    people alone), n, coverage (the smallest over models), half_width (the median), tau (mean Kendall correlation with
    people's order of the whole set), best (share of draws that put people's strongest model first), power.
    """
    truth = ranking.fit(people.mean(0))[:-1]
    labelled, others = (positions.T for positions in _positions_of(len(people), n_labelled, draws, seed))
    found = {"people": ranking.strengths(people[labelled])}
    for judge, counts in judges.items():
        found[judge] = ranking.prediction_powered_strengths(people[labelled], counts[labelled], counts[others])
    rows = []
    for judge, one in found.items():
        low, high = one.ends
        tau = ranking.rank_correlation(one.value, np.broadcast_to(truth, one.value.shape)).mean()
        best = (one.value.argmax(-1) == truth.argmax()).mean()
        covered = _coverage((low, high), truth).min()
        width = float(np.median(high - low) / 2)  # in a few draws a model has lost everything
        rows.append((judge, n_labelled, covered, width, tau, best, float(one.power.mean())))
    return pd.DataFrame(rows, columns=["judge", "n", "coverage", "half_width", "tau", "best", "power"])
