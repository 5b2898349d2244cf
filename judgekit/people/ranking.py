"""Models ranked by comparisons with ties, by people, by a judge, or by people with a judge's help.

A question is labelled, drawn and left out as a whole: its comparisons share a prompt and are not independent. Strengths
are those of Davidson's model (`judgekit.stats`), on the log-odds scale, fitted to many tables at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from judgekit.data.votes import ClassProbabilities, matchup_of
from judgekit.scoring.items import TURNED
from judgekit.scoring.protocols import Pairs
from judgekit.stats import LEVEL, Array, Floats, outcome_probabilities, t_quantile

STEPS, TOLERANCE, LONGEST = 60, 1e-9, 1.0
RIDGE = 1e-7  # share of a comparison: keeps the information invertible where a draw lacks a model


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """Who met whom on what, by item: places of the ``question`` and of the two models in the order of their names, each
    of shape (n_items,), and whether A of the item is the second model (``turned``)."""

    models: tuple[str, ...]
    questions: tuple[str, ...]
    items: tuple[str, ...]
    question: Array
    first: Array
    second: Array
    turned: Array

    def counts(self, shares: ClassProbabilities) -> Floats:
        """How often each model beat each other one, shape (n_questions, n_pairs, 3): first wins, second wins, ties.

        ``shares``: of votes, or of a judge, found by key; KeyError where an item has none. Pairs of models in
        the order of `model_pairs`. An item adds one in all, spread over the outcomes.
        """
        pairs = {two: place for place, two in enumerate(combinations(range(len(self.models)), 2))}
        pair = [pairs[two] for two in zip(self.first.tolist(), self.second.tolist(), strict=True)]
        values, counts = shares.at(self.items).values, np.zeros((len(self.questions), len(pairs), 3))
        np.add.at(counts, (self.question, pair), np.where(self.turned[:, None], values[:, TURNED], values))
        return counts


def comparisons_of(pairs: Pairs, items: Iterable[str], matchups: bool = False) -> Comparisons:
    """The matches that some items are: ids of pairs, or with ``matchups`` those of `data.votes.matchup_votes`;
    ValueError where a pair does not name two different models, or an item belongs to none of the pairs."""
    sides = {}
    for pair in pairs:
        if not pair.model_a or not pair.model_b or pair.model_a == pair.model_b:
            raise ValueError(f"{pair.where}: no two models to rank: by {pair.model_a!r} and {pair.model_b!r}")
        key, turned = matchup_of(pair) if matchups else (pair.item_id, False)
        models = (pair.model_b, pair.model_a) if turned else (pair.model_a, pair.model_b)
        sides[key] = (pair.cluster, *models)
    items = tuple(items)
    if stranger := next((item for item in items if item not in sides), None):
        raise ValueError(f"{stranger}: an item that is none of the pairs")
    met = np.array([sides[item] for item in items], object)
    names, (a, b) = np.unique(met[:, 1:].T, return_inverse=True)
    questions, question = np.unique(met[:, 0], return_inverse=True)
    return Comparisons(tuple(names), tuple(questions), items, question, np.minimum(a, b), np.maximum(a, b), a > b)


def model_pairs(n_pairs: int) -> tuple[Array, Array]:
    """First and second model of every pair, from how many pairs there are."""
    return np.triu_indices(round((1 + (1 + 8 * n_pairs) ** 0.5) / 2), 1)


class Strengths(NamedTuple):
    """Strengths of models, log odds against the average model; leading axes are tables that were fitted at once."""

    value: Floats
    covariance: Floats
    freedom: int  # of the errors
    power: Floats | float = 0.0  # what a judge's comparisons were weighed with; 0 without a judge

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Ends of the 95 % intervals, two arrays of shape (..., n_models)."""
        error = np.sqrt(np.diagonal(self.covariance, axis1=-2, axis2=-1))
        half = t_quantile((1 + LEVEL) / 2, self.freedom) * error
        return self.value - half, self.value + half


def slopes(parameters: Floats, n_pairs: int) -> tuple[Floats, Floats]:
    """Davidson's outcome probabilities of all pairs, (..., n_pairs, 3), and derivatives of their logarithms by all
    parameters (strengths, and log of nu), (..., n_pairs, 3, n_models + 1)."""
    first, second = model_pairs(n_pairs)
    pairs = np.arange(n_pairs)
    design = np.zeros((n_pairs, parameters.shape[-1] - 1))
    design[pairs, first], design[pairs, second] = 1, -1
    p = outcome_probabilities(parameters[..., :-1] @ design.T, parameters[..., -1:])
    plain = np.array([[0.5, 0], [-0.5, 0], [0, 1]])
    by_two = plain - (p @ plain)[..., None, :]
    return p, np.concatenate([by_two[..., :1] * design[:, None, :], by_two[..., 1:]], -1)


def information(totals: Floats, p: Floats, derivatives: Floats) -> Floats:
    """Expected information of tables; a constant added to all strengths, which no table knows of, is held at zero."""
    by_pair = np.einsum("...po,...pod,...poe->...pde", p, derivatives, derivatives, optimize=True)
    found = np.einsum("...p,...pde->...de", totals.sum(-1), by_pair, optimize=True)
    size = np.abs(totals).sum((-2, -1))[..., None, None] + 1e-12
    found[..., :-1, :-1] += size / (found.shape[-1] - 1)
    return found + RIDGE * size * np.eye(found.shape[-1])


def fit(totals: Array) -> Floats:
    """Maximum-likelihood strengths that sum to zero, and the parameter of ties, (..., n_models + 1), by Fisher scoring,
    from outcomes summed over questions, (..., n_pairs, 3). A model that never lost runs away."""
    totals = np.asarray(totals, float)
    n_models = model_pairs(totals.shape[-2])[1].max() + 1
    parameters = np.zeros((*totals.shape[:-2], n_models + 1))
    parameters[..., -1] = -0.5
    for _ in range(STEPS):
        p, derivatives = slopes(parameters, totals.shape[-2])
        score = np.einsum("...po,...pod->...d", totals, derivatives)
        step = np.linalg.solve(information(totals, p, derivatives), score[..., None])[..., 0]
        step *= np.minimum(1, LONGEST / np.maximum(np.abs(step).max(-1, keepdims=True), 1e-12))
        parameters = parameters + step
        if np.abs(step).max() < TOLERANCE:
            break
    return parameters


def strengths(counts: Array) -> Strengths:
    """Strengths from `Comparisons.counts`, (..., n_questions, n_pairs, 3); their covariance is the jackknife's over
    questions, right where comparisons of a question depend on each other or the model does not fit."""
    counts = np.asarray(counts, float)
    n = counts.shape[-3]
    parameters = fit(counts.mean(-3))
    covariance = _covariance_of(without_each(counts, parameters))[..., :-1, :-1]
    return Strengths(parameters[..., :-1], covariance, n - 1)


def without_each(counts: Floats, parameters: Floats, others: Array = 0.0) -> Floats:
    """How parameters move when each question is left out in turn, by one step: shape (..., n_questions, n_models + 1);
    ``others``, shape (..., 1, n_pairs, 3): what stays in the table beside the mean of the counts."""
    left = (counts.sum(-3, keepdims=True) - counts) / (counts.shape[-3] - 1) + others
    p, derivatives = slopes(parameters[..., None, :], counts.shape[-2])
    score = np.einsum("...po,...pod->...d", left, derivatives)
    return np.linalg.solve(information(left, p, derivatives), score[..., None])[..., 0]


def _covariance_of(moves: Floats) -> Floats:
    """Jackknife covariance, from what leaving out each question does: shape (..., n, d) to (..., d, d)."""
    n = moves.shape[-2]
    centred = moves - moves.mean(-2, keepdims=True)
    return np.swapaxes(centred, -1, -2) @ centred * (n - 1) / n


def prediction_powered_strengths(people: Array, judge: Array, elsewhere: Array) -> Strengths:
    """Strengths by people, from their votes on some questions and a judge's verdicts on all; its bias cancels.

    ``people``, ``judge``: outcomes of the labelled questions, of the same matches, (..., n_labelled, n_pairs, 3);
    ``elsewhere``: the judge's of other questions. Davidson's score is linear in outcomes, so that its fit to the means
    ``people - lambda judge + lambda elsewhere`` solves the estimating equation of Angelopoulos et al. (2023),
    arXiv:2311.01453. Lambda minimises the summed variance of the strengths.
    """
    people, judge, elsewhere = (np.asarray(counts, float) for counts in (people, judge, elsewhere))
    if not elsewhere.shape[-3]:  # nothing that only the judge has seen
        return strengths(people)
    n, n_pairs = people.shape[-3], people.shape[-2]
    start = fit(people.mean(-3))
    p, derivatives = slopes(start, n_pairs)
    inverse = np.linalg.inv(information(people.mean(-3), p, derivatives))
    of_people, of_judge, of_others = (
        (np.einsum("...qpo,...pod->...qd", counts, derivatives) @ inverse)[..., :-1]
        for counts in (people, judge, elsewhere)
    )
    power = _shared_power(of_people, of_judge, of_others)[..., None, None]
    kept, imputed = people - power[..., None] * judge, power[..., None] * elsewhere
    parameters = fit(kept.mean(-3) + imputed.mean(-3))
    by_people, by_judge = (
        _covariance_of(without_each(counts, parameters, rest.mean(-3, keepdims=True)))
        for counts, rest in ((kept, imputed), (imputed, kept))
    )
    covariance = (by_people * (n - 1) / (n - 2) + by_judge)[..., :-1, :-1]
    return Strengths(parameters[..., :-1], covariance, n - 2, power[..., 0, 0])


def _shared_power(people: Floats, judge: Floats, elsewhere: Floats) -> Floats:
    """The weight of a judge that minimises the variance summed over strengths, at least 0; shapes (..., n, d)."""
    n, others = people.shape[-2], elsewhere.shape[-2]
    pooled = np.concatenate([judge, elsewhere], -2)
    spread = ((pooled - pooled.mean(-2, keepdims=True)) ** 2).sum((-2, -1)) / (n + others - 1)
    parts = [scores - scores.mean(-2, keepdims=True) for scores in (people, judge)]
    together = (parts[0] * parts[1]).sum((-2, -1)) / (n - 1)
    return np.maximum(together / np.maximum(spread * (1 + n / others), 1e-12), 0)
