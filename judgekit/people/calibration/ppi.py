"""A model's win rate from few questions that people labelled and many that a judge judged.

Every function reads axis 0 as questions, which are independent; further axes (models, simulations) are taken each for
itself. Comparisons on one question share its prompt, so a question enters as its mean.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from judgekit.stats import LEVEL, Array, Floats, odds_interval, t_quantile

SMALLEST = 10  # labelled questions below which no interval is given: the tuned power then follows the noise


class Estimate(NamedTuple):
    """An estimate with its 95 % interval; arrays in the shape of the axes after the first.

    ``power`` is what the judge's verdicts were weighed with, or Youden's J for the Rogan-Gladen estimate.
    """

    value: Floats
    low: Floats
    high: Floats
    power: Floats


def _around(value: Array, error: Array, freedom: Array, power: Array = 0.0) -> Estimate:
    """Value and t interval."""
    half = t_quantile((1 + LEVEL) / 2, freedom) * error
    return Estimate(value, value - half, value + half, np.broadcast_to(power, np.shape(value)))


def _around_rate(value: Array, error: Array, freedom: Array, power: Array = 0.0) -> Estimate:
    """As `_around`, on the scale of log odds: rates near 0 or 1 are skewed. Plain where the value is no rate."""
    inside = (value > 0) & (value < 1)
    rate = np.where(inside, value, 0.5)
    low, high = odds_interval(rate, error, freedom)
    plain = _around(value, error, freedom, power)
    return Estimate(value, np.where(inside, low, plain.low), np.where(inside, high, plain.high), plain.power)


def _checked(*arrays: Array) -> list[Floats]:
    """Arrays of floats; ValueError for too few labelled questions (the first array's), or where a value is NaN."""
    scores = [np.asarray(array, float) for array in arrays]
    if len(scores[0]) < SMALLEST:
        raise ValueError(f"{len(scores[0])} questions: an interval needs {SMALLEST} or more")
    if not all(np.isfinite(array).all() for array in scores):
        raise ValueError("a question without a score: leave out questions on which a model took part in nothing")
    return scores


def mean_of(scores: Array) -> Estimate:
    """Mean over questions with Student's interval of the log odds; ``scores``, shape (n_questions, ...).

    Of people's votes alone, or of a judge's verdicts as if they were people's.
    """
    (scores,) = _checked(scores)
    n = len(scores)
    return _around_rate(scores.mean(0), scores.std(0, ddof=1) / np.sqrt(n), n - 1)


def prediction_powered(people: Array, judge: Array, elsewhere: Array) -> Estimate:
    """What people would say of all questions, from their votes on some and a judge's verdicts on all.

    ``people``, ``judge``: scores in [0, 1] of ten labelled questions or more; ``elsewhere``: the judge's of other
    questions; none gives people's votes alone. ``power`` is the weight lambda of the judge: 0 ignores it.

    Mean of people plus ``lambda (mean(elsewhere) - mean(judge))``: whatever the judge's bias, it cancels.
    Angelopoulos, Duchi and Zrnic (2023), arXiv:2311.01453; estimate and normal interval are ppi_py's. Two things are
    ours. Lambda may exceed one, where ppi_py stops: a judge that states probabilities near a half must be amplified.
    And the interval is Student's with two degrees of freedom lost: the normal one holds too rarely on few questions.
    """
    people, judge, elsewhere = _checked(people, judge, elsewhere)
    return _around_rate(*_powered(people, judge, elsewhere)) if len(elsewhere) else mean_of(people)


def _powered(people: Floats, judge: Floats, elsewhere: Floats) -> tuple[Floats, Floats, int, Floats]:
    """Value, standard error, degrees of freedom and power of `prediction_powered`."""
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    n, shape = len(people), people.shape[1:]
    power = tuned_power(people, judge, elsewhere)
    columns = [array.reshape(len(array), -1) for array in (people, judge, elsewhere)]
    value = np.reshape(ppi_mean_pointestimate(*columns, lam=power.ravel()), shape)
    low, high = (np.reshape(end, shape) for end in ppi_mean_ci(*columns, alpha=1 - LEVEL, lam=power.ravel()))
    error = (high - low) / (2 * ndtri((1 + LEVEL) / 2)) * np.sqrt(n / (n - 2))
    return value, error, n - 2, power


def tuned_power(people: Floats, judge: Floats, elsewhere: Floats) -> Floats:
    """The weight of the judge that minimises the variance, at least 0."""
    n = len(people)
    together = ((people - people.mean(0)) * (judge - judge.mean(0))).mean(0)
    spread = np.concatenate([judge, elsewhere]).var(0, ddof=1) * (1 + n / len(elsewhere))
    return np.maximum(np.divide(together, spread, out=np.zeros_like(together), where=spread > 1e-12), 0)


def stratified(parts: Sequence[tuple[Array, Array, Array, float]]) -> Estimate:
    """Prediction-powered estimates of strata, joined: each has a power of its own, of which ``power`` is the mean.

    ``parts``: people, judge, elsewhere and weight of every stratum, ten labelled questions or more in each, weights
    summing to one. Fisch et al. (2024), arXiv:2406.04291. Degrees of freedom after Satterthwaite.
    """
    weights = np.array([weight for *_, weight in parts])
    if abs(weights.sum() - 1) > 1e-6:
        raise ValueError(f"weights of strata sum to {weights.sum():g}")
    values, errors, freedoms, powers = zip(*(_powered(*_checked(*three)) for *three, _ in parts), strict=True)
    variances = np.stack([(weight * error) ** 2 for weight, error in zip(weights, errors, strict=True)])
    variance = variances.sum(0)
    freedom = variance**2 / np.tensordot(1 / np.array(freedoms), variances**2, 1)
    value, power = (np.tensordot(weights, parts, 1) for parts in (values, powers))
    return _around_rate(value, np.sqrt(variance), freedom, power)


def rogan_gladen(errors: Array, judged: Array) -> Estimate:
    """Share of wins, from the judge's with its errors taken out; not cut to [0, 1]. ``power`` is Youden's J: where it
    is near zero the estimate is worth nothing.

    ``errors``, shape (n_labelled, ..., 4): `Comparisons.errors`, of one model or summed over models: wins by people
    that the judge calls wins, wins by people, no wins that it calls wins, no wins. ``judged``, shape (n_other, ..., 2):
    wins by the judge on each other question, all items.

    ``(p - a) / (b - a)`` with the judge's share of wins p, its rate of wins b where people see one and a where they
    do not. Rogan and Gladen (1978), American Journal of Epidemiology 107; interval by linearisation over questions,
    which holds too rarely where J is near zero or a model wins on few questions (GPT-4 on MT-bench's weakest model).
    Pooled errors put the models into the judge's order whatever people say, since the map is one and monotone.
    """
    errors, judged = _checked(errors, judged)
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
        return _around(value, np.sqrt(variance) / np.abs(youden), n - 1, youden)


def youden(errors: Array) -> Estimate:
    """How much more readily a judge calls a win where people see one: Youden's J, in [-1, 1]; 0 if it pays no heed.

    ``errors``, shape (n_questions, ..., 4): as `rogan_gladen` reads them.
    """
    (errors,) = _checked(errors)
    n = len(errors)
    hit, wins, alarm, none = np.moveaxis(errors, -1, 0)
    b, a = hit.sum(0) / wins.sum(0), alarm.sum(0) / none.sum(0)
    each = (hit - b * wins) / wins.mean(0) - (alarm - a * none) / none.mean(0)
    return _around(b - a, np.sqrt((each**2).sum(0) / (n * (n - 1))), n - 1)


def correlation(people: Array, judge: Array) -> Estimate:
    """Pearson's r of people's scores of questions with a judge's: the one figure that decides what the judge saves.

    Interval on the scale of Fisher's z, its error by leaving out each question in turn.
    """
    people, judge = _checked(people, judge)
    n = len(people)
    x, y = people - people.mean(0), judge - judge.mean(0)  # about zero, or the sums lose their digits
    parts = np.stack([x, y, x * x, y * y, x * y])
    left_out = _fisher_z((parts.sum(1)[:, None] - parts) / (n - 1))
    error = np.sqrt(((left_out - left_out.mean(0)) ** 2).sum(0) * (n - 1) / n)
    z = _around(_fisher_z(parts.mean(1)), error, n - 2)
    return Estimate(np.tanh(z.value), np.tanh(z.low), np.tanh(z.high), np.zeros_like(error))


def _fisher_z(means: Floats) -> Floats:
    """Fisher's z of the correlation that means of x, y, their squares and their product give; 0 without any spread."""
    x, y, xx, yy, xy = means
    spread = (xx - x**2) * (yy - y**2)
    r = np.divide(xy - x * y, np.sqrt(np.maximum(spread, 0)), out=np.zeros_like(xy), where=spread > 1e-18)
    return np.arctanh(np.clip(r, -1 + 1e-9, 1 - 1e-9))


def labels_saved(r: Array, n_labelled: int, n_all: Array) -> Any:
    """Share of people's labels, in [0, 1], that a judge of `correlation` r saves at the same width of the interval.

    The variance at the best power is ``1 - r^2 (1 - n/N)`` of people's, N with the labelled ones. The t quantile and
    the tuning are not in it: the widths that `people.calibration.resampling` finds do hold them.

    >>> float(labels_saved(0.5, 20, 80))
    0.1875
    """
    return np.maximum(r, 0) ** 2 * (1 - n_labelled / n_all)


def mean_saved(people: Array, judge: Array, n_labelled: int) -> Estimate:
    """`labels_saved` on average over models, of scores (n_questions, n_models), NaN where a model took no part.

    Interval by leaving out each question in turn, on the scale of Fisher's z of the root mean square correlation.
    """
    people, judge = np.asarray(people, float), np.asarray(judge, float)
    there = np.isfinite(people)
    if there.sum(0).min() < SMALLEST:
        raise ValueError(f"a model on {there.sum(0).min()} questions: an interval needs {SMALLEST} or more")
    n = len(people)
    x, y = (np.where(there, scores - np.nanmean(scores, 0), 0.0) for scores in (people, judge))
    parts = np.stack([x, y, x * x, y * y, x * y])
    left_out = _fisher_z((parts.sum(1)[:, None] - parts) / (there.sum(0) - there))
    overall = _fisher_z(parts.sum(1) / there.sum(0))
    together = [np.arctanh(np.sqrt((np.tanh(z) ** 2).mean(-1))) for z in (left_out, overall)]
    error = np.sqrt(((together[0] - together[0].mean()) ** 2).sum() * (n - 1) / n)
    share = float((1 - n_labelled / there.sum(0)).mean())
    z = _around(together[1], error, n - 2)
    value, low, high = (share * np.tanh(np.maximum(end, 0)) ** 2 for end in z[:3])
    return Estimate(value, low, high, np.zeros(()))
