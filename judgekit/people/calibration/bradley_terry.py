"""Strengths of models from comparisons with ties, by people, by a judge, or by people with a judge's help.

Two models of ties, both of strengths on the log-odds scale: Davidson's (`judgekit.stats`), and Rao and Kupper's, in
which a lead must exceed a threshold. Both are fitted to tables of outcomes, many tables at once. All errors are
clustered by question.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit

from judgekit.people.calibration.comparisons import model_pairs
from judgekit.stats import (
    LEVEL,
    Array,
    Floats,
    outcome_probabilities,
    percentile_interval,
    resampled_together,
    t_quantile,
)

STEPS, TOLERANCE, LONGEST = 60, 1e-9, 1.0
OutcomeModel: TypeAlias = Callable[[Array, Array], tuple[Floats, Floats]]

RIDGE = 1e-7  # share of a comparison: keeps the information invertible where a draw lacks a model


class Strengths(NamedTuple):
    """Strengths of models, log odds against the average model; leading axes are tables that were fitted at once.

    ``tie``: log of Davidson's nu, or of Rao and Kupper's threshold. ``freedom``: degrees of freedom of the errors.
    ``power``: what a judge's comparisons were weighed with; 0 without a judge.
    """

    value: Floats
    covariance: Floats
    tie: Floats
    freedom: int
    power: Floats

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Ends of the 95 % intervals, two arrays of shape (..., n_models)."""
        error = np.sqrt(np.diagonal(self.covariance, axis1=-2, axis2=-1))
        half = t_quantile((1 + LEVEL) / 2, self.freedom) * error
        return self.value - half, self.value + half


def davidson(difference: Array, tie: Array) -> tuple[Floats, Floats]:
    """Probabilities of the outcomes, (..., 3), and derivatives of their logs by difference and tie, (..., 3, 2)."""
    p = outcome_probabilities(difference, tie)
    plain = np.array([[0.5, 0], [-0.5, 0], [0, 1]])
    return p, plain - (p @ plain)[..., None, :]


def rao_kupper(difference: Array, tie: Array) -> tuple[Floats, Floats]:
    """As `davidson`, for Rao and Kupper (1967), JASA 62: the first wins with the logistic of ``difference - t``, the
    second with that of ``-difference - t``, ``t = exp(tie)``."""
    threshold = np.broadcast_to(np.exp(tie), np.shape(difference))
    first, second = expit(difference - threshold), expit(-difference - threshold)
    p = np.stack([first, second, 1 - first - second], -1)
    by_difference = np.stack([1 - first, second - 1, second - first], -1)
    of_tie = 2 / -np.expm1(-2 * threshold) - (1 - first) - (1 - second)
    by_threshold = np.stack([first - 1, second - 1, of_tie], -1)
    return p, np.stack([by_difference, by_threshold * threshold[..., None]], -1)


def slopes(parameters: Floats, outcome_model: OutcomeModel, n_pairs: int) -> tuple[Floats, Floats]:
    """Outcome probabilities of all pairs, (..., n_pairs, 3), and derivatives of their logarithms by all parameters,
    (..., n_pairs, 3, n_models + 1)."""
    first, second = model_pairs(n_pairs)
    pairs = np.arange(n_pairs)
    design = np.zeros((n_pairs, parameters.shape[-1] - 1))
    design[pairs, first], design[pairs, second] = 1, -1
    p, by_two = outcome_model(parameters[..., :-1] @ design.T, parameters[..., -1:])
    return p, np.concatenate([by_two[..., :1] * design[:, None, :], by_two[..., 1:]], -1)


def information(totals: Floats, p: Floats, derivatives: Floats) -> Floats:
    """Expected information of tables; a constant added to all strengths, which no table knows of, is held at zero."""
    by_pair = np.einsum("...po,...pod,...poe->...pde", p, derivatives, derivatives, optimize=True)
    found = np.einsum("...p,...pde->...de", totals.sum(-1), by_pair, optimize=True)
    size = np.abs(totals).sum((-2, -1))[..., None, None] + 1e-12
    found[..., :-1, :-1] += size / (found.shape[-1] - 1)
    return found + RIDGE * size * np.eye(found.shape[-1])


def fit(totals: Array, outcome_model: OutcomeModel = davidson) -> Floats:
    """Maximum-likelihood strengths that sum to zero, and the parameter of ties: shape (..., n_models + 1).

    ``totals``, shape (..., n_pairs, 3): outcomes summed over questions; shares of votes count as shares of outcomes.
    Fisher scoring with steps of at most one. A model that never lost runs away: `refuse_separated` sees it.
    """
    totals = np.asarray(totals, float)
    n_models = model_pairs(totals.shape[-2])[1].max() + 1
    parameters = np.zeros((*totals.shape[:-2], n_models + 1))
    parameters[..., -1] = -0.5
    for _ in range(STEPS):
        p, derivatives = slopes(parameters, outcome_model, totals.shape[-2])
        score = np.einsum("...po,...pod->...d", totals, derivatives)
        step = np.linalg.solve(information(totals, p, derivatives), score[..., None])[..., 0]
        step *= np.minimum(1, LONGEST / np.maximum(np.abs(step).max(-1, keepdims=True), 1e-12))
        parameters = parameters + step
        if np.abs(step).max() < TOLERANCE:
            break
    return parameters


def refuse_separated(counts: Array, models: Sequence[str]) -> None:
    """ValueError naming models whose strengths would be infinite: they never lost a point to the others.

    ``counts``: shape (n_questions, n_pairs, 3).
    """
    from scipy.sparse.csgraph import connected_components

    totals = np.asarray(counts).sum(0)
    first, second = model_pairs(len(totals))
    beaten = np.zeros((len(models), len(models)))
    beaten[first, second], beaten[second, first] = totals[:, 0] + totals[:, 2], totals[:, 1] + totals[:, 2]
    number, group = connected_components(beaten, connection="strong")
    if number > 1:
        apart = [model for model, one in zip(models, group, strict=True) if one == group[0]]
        raise ValueError(f"no finite strengths: {', '.join(apart)} and the others never took points from each other")


def strengths(counts: Array, outcome_model: OutcomeModel = davidson) -> Strengths:
    """Strengths with errors clustered by question, from `Comparisons.counts`, shape (..., n_questions, n_pairs, 3).

    The covariance is the jackknife's over questions: right where comparisons of a question depend on each other or the
    model does not fit, the strengths then being those of the model that fits best.
    """
    counts = np.asarray(counts, float)
    n = counts.shape[-3]
    parameters = fit(counts.mean(-3), outcome_model)
    covariance = _covariance_of(_without_each(counts, parameters, outcome_model))
    return _strengths_of(parameters, covariance, n - 1, np.zeros(counts.shape[:-3]))


def _without_each(
    counts: Floats, parameters: Floats, outcome_model: OutcomeModel = davidson, others: Floats | None = None
) -> Floats:
    """How parameters move when each question is left out in turn, by one step: shape (..., n_questions, n_models + 1).

    ``others``, shape (..., n_pairs, 3): what stays in the table beside the mean of the counts.
    """
    n = counts.shape[-3]
    left = (counts.sum(-3, keepdims=True) - counts) / (n - 1)
    if others is not None:
        left = left + others[..., None, :, :]
    p, derivatives = slopes(parameters[..., None, :], outcome_model, counts.shape[-2])
    score = np.einsum("...po,...pod->...d", left, derivatives)
    return np.linalg.solve(information(left, p, derivatives), score[..., None])[..., 0]


def _covariance_of(moves: Floats) -> Floats:
    """Jackknife covariance, from what leaving out each question does: shape (..., n, d) to (..., d, d).

    Larger in small samples than the plain sandwich, which takes the fit to follow no single question.
    """
    n = moves.shape[-2]
    centred = moves - moves.mean(-2, keepdims=True)
    return np.swapaxes(centred, -1, -2) @ centred * (n - 1) / n


def _strengths_of(parameters: Floats, covariance: Floats, freedom: int, power: Floats) -> Strengths:
    return Strengths(parameters[..., :-1], covariance[..., :-1, :-1], parameters[..., -1], freedom, power)


def prediction_powered_strengths(people: Array, judge: Array, elsewhere: Array) -> Strengths:
    """Strengths by people, from their votes on some questions and a judge's verdicts on all; its bias cancels.

    ``people``, ``judge``: outcomes of the labelled questions, of the same matches, (..., n_labelled, n_pairs, 3);
    ``elsewhere``: the judge's of other questions. Davidson's model is fitted to the table of means ``people - lambda
    judge + lambda elsewhere`` (cells may be negative, only sums enter): its score is linear in outcomes, so that this
    solves the prediction-powered estimating equation of Angelopoulos et al. (2023), arXiv:2311.01453. Lambda minimises
    the summed variance of the strengths.
    """
    people, judge, elsewhere = (np.asarray(counts, float) for counts in (people, judge, elsewhere))
    n, n_pairs = people.shape[-3], people.shape[-2]
    start = fit(people.mean(-3))
    p, derivatives = slopes(start, davidson, n_pairs)
    inverse = np.linalg.inv(information(people.mean(-3), p, derivatives))
    of_people, of_judge, of_others = (
        (np.einsum("...qpo,...pod->...qd", counts, derivatives) @ inverse)[..., :-1]
        for counts in (people, judge, elsewhere)
    )
    power = _shared_power(of_people, of_judge, of_others)[..., None, None]
    kept, imputed = people - power[..., None] * judge, power[..., None] * elsewhere
    parameters = fit(kept.mean(-3) + imputed.mean(-3))
    by_people, by_judge = (
        _covariance_of(_without_each(counts, parameters, others=rest.mean(-3)))
        for counts, rest in ((kept, imputed), (imputed, kept))
    )
    covariance = by_people * (n - 1) / (n - 2) + by_judge
    return _strengths_of(parameters, covariance, n - 2, power[..., 0, 0])


def _shared_power(people: Floats, judge: Floats, elsewhere: Floats) -> Floats:
    """The weight of a judge that minimises the variance summed over strengths, at least 0; shapes (..., n, d)."""
    n, others = people.shape[-2], elsewhere.shape[-2]
    pooled = np.concatenate([judge, elsewhere], -2)
    spread = ((pooled - pooled.mean(-2, keepdims=True)) ** 2).sum((-2, -1)) / (n + others - 1)
    parts = [scores - scores.mean(-2, keepdims=True) for scores in (people, judge)]
    together = (parts[0] * parts[1]).sum((-2, -1)) / (n - 1)
    return np.maximum(together / np.maximum(spread * (1 + n / others), 1e-12), 0)


def rank_sets(found: Strengths, n_draws: int = 20_000, seed: int = 0) -> tuple[Array, Array]:
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


def rank_correlation(one: Array, other: Array) -> Floats:
    """Kendall's tau of two lists of strengths without ties, over leading axes.

    >>> float(rank_correlation(np.array([3, 2, 1]), np.array([3, 1, 2])).round(3))
    0.333
    """
    one, other = np.asarray(one, float), np.asarray(other, float)
    first, second = np.triu_indices(one.shape[-1], 1)
    agree = np.sign(one[..., first] - one[..., second]) * np.sign(other[..., first] - other[..., second])
    return agree.mean(-1)


def ranking_agreement(people: Array, judge: Array, n_boot: int = 10_000, seed: int = 0) -> tuple[float, float, float]:
    """Kendall's tau of the strengths that people and a judge give on the same questions: value, low, high.

    Counts of shape (n_questions, n_pairs, 3); questions are resampled for both at once, strengths by one step.
    """
    fits = [fit(np.mean(counts, 0)) for counts in (people, judge)]
    moves = {str(k): _without_each(np.asarray(c, float), fits[k]) for k, c in enumerate((people, judge))}
    drawn = resampled_together(moves, n_boot, seed)
    moved = [fits[k][:-1] - (drawn[str(k)] - moves[str(k)].sum(0))[:, :-1] for k in range(2)]
    value = rank_correlation(fits[0][:-1], fits[1][:-1])
    return float(value), *percentile_interval(rank_correlation(*moved))
