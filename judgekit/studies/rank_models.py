"""What a judge is worth for ranking models: its correlation with people, its errors, and estimates from few labels.

Axis 0 is questions, as in `people.ppi`. Estimates are tried on a set that is fully labelled, as if it were everything.
Questions are drawn with replacement, labelled ones and others alike: drawn without, most of a small set would be in
every sample, and intervals would hold the set's own value more often than their level says.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from judgekit.data.progress import progress_bar
from judgekit.data.votes import ClassProbabilities
from judgekit.people import ppi, ranking
from judgekit.stats import LEVEL, Array, Floats

DRAWS = 1000


def errors_of(met: ranking.Comparisons, people: ClassProbabilities, judge: ClassProbabilities) -> Floats:
    """Wins by people and by a judge beside each other, shape (n_questions, n_models, 4): for `rogan_gladen`.

    A model wins an item by more than half of the shares. An item counts for both of its models.
    """
    by_people, by_judge = (met.outcomes(shares) > 0.5 for shares in (people, judge))
    table = np.zeros((len(met.questions), len(met.models), 4))
    for side, model in enumerate((met.first, met.second)):
        won, called = by_people[:, side], by_judge[:, side]
        cells = np.stack([won & called, won, ~won & called, ~won], -1)
        np.add.at(table, (met.question, model), cells.astype(float))
    return table


def rogan_gladen(errors: Array, judged: Array) -> ppi.Estimate:
    """Share of wins, from the judge's with its errors taken out; not cut to [0, 1]. ``power`` is Youden's J: where it
    is near zero the estimate is worth nothing.

    ``errors``, shape (n_labelled, ..., 4): `errors_of`, of one model or summed over models: wins by
    people that the judge calls wins, wins by people, no wins that it calls wins, no wins. ``judged``, shape (n_other,
    ..., 2): wins by the judge on each other question, all items.

    ``(p - a) / (b - a)`` with the judge's share of wins p, its rate of wins b where people see one and a where they
    do not. Rogan and Gladen (1978), American Journal of Epidemiology 107; interval by linearisation over questions,
    which holds too rarely where J is near zero or a model wins on few questions (GPT-4 on MT-bench's weakest model).
    Pooled errors put the models into the judge's order whatever people say, since the map is one and monotone.
    """
    errors, judged = ppi.checked(errors, judged)
    n, others = len(errors), len(judged)
    hit, wins, alarm, none = np.moveaxis(errors, -1, 0)
    called, items = np.moveaxis(judged, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        b, a, p = hit.sum(0) / wins.sum(0), alarm.sum(0) / none.sum(0), called.sum(0) / items.sum(0)
        youden = b - a
        value = (p - a) / youden
        of_rates = value * (hit - b * wins) / wins.mean(0) + (1 - value) * (alarm - a * none) / none.mean(0)
        of_share = (called - p * items) / items.mean(0)
        variance = (of_rates**2).sum(0) / (n * (n - 1)) + (of_share**2).sum(0) / (others * (others - 1))
        return ppi.around(value, np.sqrt(variance) / np.abs(youden), n - 1, youden)


def youden(errors: Array) -> ppi.Estimate:
    """How much more readily a judge calls a win where people see one: Youden's J, in [-1, 1]; 0 if it pays no heed.

    ``errors``, shape (n_questions, ..., 4): as `rogan_gladen` reads them.
    """
    (errors,) = ppi.checked(errors)
    n = len(errors)
    hit, wins, alarm, none = np.moveaxis(errors, -1, 0)
    b, a = hit.sum(0) / wins.sum(0), alarm.sum(0) / none.sum(0)
    each = (hit - b * wins) / wins.mean(0) - (alarm - a * none) / none.mean(0)
    return ppi.around(b - a, np.sqrt((each**2).sum(0) / (n * (n - 1))), n - 1)


def correlation(people: Array, judge: Array) -> ppi.Estimate:
    """Pearson's r of people's scores of questions with a judge's: the one figure that decides what the judge saves.

    Interval on the scale of Fisher's z, its error by leaving out each question in turn.
    """
    people, judge = ppi.checked(people, judge)
    n = len(people)
    x, y = people - people.mean(0), judge - judge.mean(0)  # about zero, or the sums lose their digits
    parts = np.stack([x, y, x * x, y * y, x * y])
    left_out = _fisher_z((parts.sum(1)[:, None] - parts) / (n - 1))
    error = np.sqrt(((left_out - left_out.mean(0)) ** 2).sum(0) * (n - 1) / n)
    z = ppi.around(_fisher_z(parts.mean(1)), error, n - 2)
    return ppi.Estimate(np.tanh(z.value), np.tanh(z.low), np.tanh(z.high), np.zeros_like(error))


def _fisher_z(means: Floats) -> Floats:
    """Fisher's z of the correlation that means of x, y, their squares and their product give; 0 without any spread."""
    x, y, xx, yy, xy = means
    spread = (xx - x**2) * (yy - y**2)
    r = np.divide(xy - x * y, np.sqrt(np.maximum(spread, 0)), out=np.zeros_like(xy), where=spread > 1e-18)
    return np.arctanh(np.clip(r, -1 + 1e-9, 1 - 1e-9))


def labels_saved(r: Array, n_labelled: int, n_all: Array) -> Any:
    """Share of people's labels, in [0, 1], that a judge of `correlation` r saves at the same width of the interval.

    The variance at the best power is ``1 - r^2 (1 - n/N)`` of people's, N with the labelled ones. The t quantile and
    the tuning are not in it: the widths that `rates_from_few` finds do hold them.

    >>> float(labels_saved(0.5, 20, 80))
    0.1875
    """
    return np.maximum(r, 0) ** 2 * (1 - n_labelled / n_all)


def mean_saved(people: Array, judge: Array, n_labelled: int) -> ppi.Estimate:
    """`labels_saved` on average over models, of scores (n_questions, n_models), NaN where a model took no part.

    Interval by leaving out each question in turn, on the scale of Fisher's z of the root mean square correlation.
    """
    people, judge = np.asarray(people, float), np.asarray(judge, float)
    there = np.isfinite(people)
    if there.sum(0).min() < ppi.SMALLEST:
        raise ValueError(f"a model on {there.sum(0).min()} questions: an interval needs {ppi.SMALLEST} or more")
    n = len(people)
    x, y = (np.where(there, scores - np.nanmean(scores, 0), 0.0) for scores in (people, judge))
    parts = np.stack([x, y, x * x, y * y, x * y])
    left_out = _fisher_z((parts.sum(1)[:, None] - parts) / (there.sum(0) - there))
    overall = _fisher_z(parts.sum(1) / there.sum(0))
    together = [np.arctanh(np.sqrt((np.tanh(z) ** 2).mean(-1))) for z in (left_out, overall)]
    error = np.sqrt(((together[0] - together[0].mean()) ** 2).sum() * (n - 1) / n)
    share = float((1 - n_labelled / there.sum(0)).mean())
    z = ppi.around(together[1], error, n - 2)
    value, low, high = (share * np.tanh(np.maximum(end, 0)) ** 2 for end in z[:3])
    return ppi.Estimate(value, low, high, np.zeros(()))


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

    ``people``, ``judges``, shape (n_questions, n_models): `win_rates`. ``sizes``: labelled questions, 10 or more; a
    size above a model's questions is all of them. Columns judge (``"people"`` for people alone), model, n (labelled),
    n_all, coverage, half_width, power (mean lambda), coverage_alone (of the judge's own rate on all questions as if it
    were people's; NaN for people), effective (labelled questions that people alone would need for the interval's
    width) and saved (the share of them that the judge saves, below 0 where it costs), both by the squared ratio of the
    mean widths, which holds the price of tuning.
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


def strata_from_few(
    people: Floats, judge: Floats, strata: Array, n_labelled: int, draws: int = DRAWS, seed: int = 0
) -> tuple[float, float]:
    """Win rates of one model from so many labelled questions of each stratum: their coverage, and the share of labels
    that a power for each stratum saves beside one power for all of as many questions.

    ``people``, ``judge``, ``strata``: shape (n_questions,); ``n_labelled``: 10 or more.
    """
    strata, parts = np.asarray(strata), []
    for k, name in enumerate(np.unique(strata)):
        own, by_judge = people[strata == name], judge[strata == name]
        labelled, others = _positions_of(len(own), n_labelled, draws, seed + k)
        parts.append((own[labelled], by_judge[labelled], by_judge[others], len(own) / len(people)))
    found = ppi.stratified(parts)
    labelled, others = _positions_of(len(people), n_labelled * len(parts), draws, seed)
    plain = ppi.prediction_powered(people[labelled], judge[labelled], judge[others])
    widths = [float((one.high - one.low).mean()) for one in (found, plain)]
    return float(_coverage(found[1:3], people.mean())), 1 - (widths[0] / widths[1]) ** 2


def signs_from_few(
    people: Floats, judge: Floats, errors: Floats, n_labelled: int, draws: int = DRAWS, seed: int = 0
) -> dict[str, tuple[float, float]]:
    """How often two models are put into the wrong order, and how often intervals cover shares of wins, by each method.

    ``people``, ``judge``, shape (n_questions, n_models): win rates; questions on which a model took part in nothing are
    left out. ``errors``: `errors_of`. Methods are ``people``, ``judge``, ``ppi``, ``pooled`` and ``own``
    (Rogan and Gladen's correction with errors of all models or of each). Each has the share of wrong orders among pairs
    of models and draws, and the smallest share of draws, over models, in which the interval holds people's value of the
    whole set.
    """
    there = np.isfinite(people).all(1)
    people, judge, errors = people[there], judge[there], errors[there]
    judged = np.stack([errors[..., 0] + errors[..., 2], errors[..., 1] + errors[..., 3]], -1)
    labelled, others = _positions_of(len(people), n_labelled, draws, seed)
    everywhere = np.concatenate([labelled, others])
    pooled = np.broadcast_to(errors.sum(1, keepdims=True), errors.shape)
    shares = errors[..., 1].sum(0) / judged[..., 1].sum(0)
    found = {
        "people": (ppi.mean_of(people[labelled]), people.mean(0)),
        "judge": (ppi.mean_of(judge[everywhere]), people.mean(0)),
        "ppi": (ppi.prediction_powered(people[labelled], judge[labelled], judge[others]), people.mean(0)),
        "pooled": (rogan_gladen(pooled[labelled], judged[others]), shares),
        "own": (rogan_gladen(errors[labelled], judged[others]), shares),
    }
    return {
        name: (float(_wrong_orders(one.value, truth).mean()), float(_coverage(one[1:3], truth).min()))
        for name, (one, truth) in found.items()
    }


def _wrong_orders(values: Floats, truth: Array) -> Array:
    """Whether each pair of models stands in the wrong order: shape (..., n_models) to (..., n_pairs).

    >>> _wrong_orders(np.array([0.5, 0.6, 0.1]), np.array([3, 2, 1])).tolist()
    [True, False, False]
    """
    first, second = np.triu_indices(len(truth), 1)
    by_judge = np.sign(values[..., first] - values[..., second])
    return by_judge != np.sign(truth[first] - truth[second])


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
