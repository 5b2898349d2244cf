"""A model's win rate from few questions that people labelled and many that a judge judged.

Every function reads axis 0 as questions, which are independent; further axes (models, simulations) are taken each for
itself. Comparisons on one question share its prompt, so a question enters as its mean.
"""

from collections.abc import Sequence
from typing import NamedTuple

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


def around(value: Array, error: Array, freedom: Array, power: Array = 0.0) -> Estimate:
    """Value and t interval."""
    half = t_quantile((1 + LEVEL) / 2, freedom) * error
    return Estimate(value, value - half, value + half, np.broadcast_to(power, np.shape(value)))


def _around_rate(value: Array, error: Array, freedom: Array, power: Array = 0.0) -> Estimate:
    """As `around`, on the scale of log odds: rates near 0 or 1 are skewed. Plain where the value is no rate."""
    inside = (value > 0) & (value < 1)
    rate = np.where(inside, value, 0.5)
    low, high = odds_interval(rate, error, freedom)
    plain = around(value, error, freedom, power)
    return Estimate(value, np.where(inside, low, plain.low), np.where(inside, high, plain.high), plain.power)


def checked(*arrays: Array) -> list[Floats]:
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
    (scores,) = checked(scores)
    n = len(scores)
    return _around_rate(scores.mean(0), scores.std(0, ddof=1) / np.sqrt(n), n - 1)


def prediction_powered(people: Array, judge: Array, elsewhere: Array) -> Estimate:
    """What people would say of all questions, from their votes on some and a judge's verdicts on all.

    ``people``, ``judge``: scores in [0, 1] of ten labelled questions or more; ``elsewhere``: the judge's of other
    questions; none gives people's votes alone. ``power`` is the weight lambda of the judge: 0 ignores it.

    Mean of people plus ``lambda (mean(elsewhere) - mean(judge))``: whatever the judge's bias, it cancels.
    Angelopoulos, Duchi and Zrnic (2023), arXiv:2311.01453; estimate and normal interval are ppi_py's. But lambda may
    exceed one, or a judge that hedges is not amplified; and the interval is Student's with two degrees of freedom lost:
    the normal one holds too rarely on few questions.
    """
    people, judge, elsewhere = checked(people, judge, elsewhere)
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
    values, errors, freedoms, powers = zip(*(_powered(*checked(*three)) for *three, _ in parts), strict=True)
    variances = np.stack([(weight * error) ** 2 for weight, error in zip(weights, errors, strict=True)])
    variance = variances.sum(0)
    freedom = variance**2 / np.tensordot(1 / np.array(freedoms), variances**2, 1)
    value, power = (np.tensordot(weights, parts, 1) for parts in (values, powers))
    return _around_rate(value, np.sqrt(variance), freedom, power)
