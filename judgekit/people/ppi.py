"""A model's win rate from few questions that people labelled and many that a judge judged.

Axis 0 is questions, each with its mean over comparisons; further axes (models, simulations) are taken each for itself.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from judgekit.stats import LEVEL, Array, Floats, odds_interval, proportion_interval, t_quantile

SMALLEST = 10  # labelled questions below which no interval is given: the tuned power then follows the noise


class Estimate(NamedTuple):
    """An estimate with its 95 % interval, and the weight of the judge's verdicts; in the shape of the further axes."""

    value: Floats
    low: Floats
    high: Floats
    power: Floats


def _around_rate(value: Floats, error: Floats, freedom: int, power: Array = 0.0) -> Estimate:
    """Student's interval on the scale of log odds; plain where the value is no rate, Wilson's where nothing varies."""
    inside, half = (value > 0) & (value < 1), t_quantile((1 + LEVEL) / 2, freedom) * error
    ends = odds_interval(np.where(inside, value, 0.5), error, freedom)
    alike = proportion_interval(np.clip(value, 0, 1), freedom + 1)
    plain = np.where(error > 0, (value - half, value + half), alike)
    low, high = (np.where(inside & (error > 0), *both) for both in zip(ends, plain, strict=True))
    return Estimate(value, low, high, np.broadcast_to(power, np.shape(value)))


def checked(*arrays: Array) -> list[Floats]:
    """Arrays of floats; ValueError for too few labelled questions (the first array's), or where a value is NaN."""
    scores = [np.asarray(array, float) for array in arrays]
    if len(scores[0]) < SMALLEST:
        raise ValueError(f"{len(scores[0])} questions: an interval needs {SMALLEST} or more")
    if not all(np.isfinite(array).all() for array in scores):
        raise ValueError("a question without a score: leave out questions on which a model took part in nothing")
    return scores


def mean_of(scores: Array) -> Estimate:
    """Mean over questions with Student's interval of the log odds; ``scores``, shape (n_questions, ...)."""
    (scores,) = checked(scores)
    n = len(scores)
    return _around_rate(scores.mean(0), scores.std(0, ddof=1) / np.sqrt(n), n - 1)


def prediction_powered(people: Array, judge: Array, elsewhere: Array) -> Estimate:
    """What people would say of all questions, from their votes on some and a judge's verdicts on all.

    ``people``, ``judge``: scores in [0, 1] of ten labelled questions or more; ``elsewhere``: the judge's of other
    questions; none gives people's votes alone. Mean of people plus ``power (mean(elsewhere) - mean(judge))``: whatever
    the judge's bias, it cancels. Angelopoulos, Duchi and Zrnic (2023), arXiv:2311.01453; estimate and normal interval
    are ppi_py's. But the power may exceed one, or a judge that hedges is not amplified; and the interval is Student's
    with two degrees of freedom lost: the normal one holds too rarely on few questions.
    """
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    people, judge, elsewhere = checked(people, judge, elsewhere)
    if not len(elsewhere):
        return mean_of(people)
    n, shape = len(people), people.shape[1:]
    # The weight that minimises the variance, at least 0.
    together = ((people - people.mean(0)) * (judge - judge.mean(0))).mean(0)
    spread = np.concatenate([judge, elsewhere]).var(0, ddof=1) * (1 + n / len(elsewhere))
    power = np.maximum(np.divide(together, spread, out=np.zeros_like(together), where=spread > 1e-12), 0)
    columns = [array.reshape(len(array), -1) for array in (people, judge, elsewhere)]
    value = np.reshape(ppi_mean_pointestimate(*columns, lam=power.ravel()), shape)
    low, high = (np.reshape(end, shape) for end in ppi_mean_ci(*columns, alpha=1 - LEVEL, lam=power.ravel()))
    error = (high - low) / (2 * ndtri((1 + LEVEL) / 2)) * np.sqrt(n / (n - 2))
    return _around_rate(value, error, n - 2, power)
