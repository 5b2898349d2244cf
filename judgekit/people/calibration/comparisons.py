"""Models compared question by question, by people or by a judge: the tables that win rates and strengths are read off.

A question is the unit of everything made from them. Its comparisons share a prompt and are not independent, so that a
question is labelled, drawn and left out as a whole.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from judgekit.data.votes import ClassProbabilities, Votes, matchup_of
from judgekit.records import PreferencePair, Verdict
from judgekit.scoring.items import TURNED, stated_probabilities
from judgekit.stats import Array, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """Matches between models, by item: who met whom on what.

    ``question``, ``first``, ``second``, shape (n_items,): places of the question and of the two models, in the order of
    their names. ``turned``: whether A of the item is the second model.
    """

    models: tuple[str, ...]
    questions: tuple[str, ...]
    items: tuple[str, ...]
    question: Array
    first: Array
    second: Array
    turned: Array

    def _outcomes(self, shares: ClassProbabilities) -> Floats:
        """Shares for the first model, for the second and for a tie, shape (n_items, 3)."""
        values = shares.at(self.items).values
        return np.where(self.turned[:, None], values[:, TURNED], values)

    def counts(self, shares: ClassProbabilities) -> Floats:
        """How often each model beat each other one, shape (n_questions, n_pairs, 3): first wins, second wins, ties.

        ``shares``: `vote_shares` or `said_shares`, found by key; KeyError where an item has none. Pairs of models as
        `itertools.combinations` gives them. An item adds one in all, spread over the outcomes.
        """
        pairs = {two: place for place, two in enumerate(combinations(range(len(self.models)), 2))}
        pair = [pairs[two] for two in zip(self.first.tolist(), self.second.tolist(), strict=True)]
        counts = np.zeros((len(self.questions), len(pairs), 3))
        np.add.at(counts, (self.question, pair), self._outcomes(shares))
        return counts

    def errors(self, people: ClassProbabilities, judge: ClassProbabilities) -> Floats:
        """Wins by people and by a judge beside each other, shape (n_questions, n_models, 4): for `ppi.rogan_gladen`.

        A model wins an item by more than half of the shares. An item counts for both of its models.
        """
        told, said = (self._outcomes(shares) > 0.5 for shares in (people, judge))
        table = np.zeros((len(self.questions), len(self.models), 4))
        for side, model in enumerate((self.first, self.second)):
            by_people, by_judge = told[:, side], said[:, side]
            cells = np.stack([by_people & by_judge, by_people, ~by_people & by_judge, ~by_people], -1)
            np.add.at(table, (self.question, model), cells.astype(float))
        return table


def comparisons_of(pairs: Sequence[PreferencePair], items: Iterable[str], matchups: bool = False) -> Comparisons:
    """The matches that some items are: ids of pairs, or with ``matchups`` those of `data.votes.matchup_votes`.

    ValueError where a pair does not name two different models, or an item belongs to none of the pairs.
    """
    sides = {}
    for pair in pairs:
        if not pair.model_a or not pair.model_b or pair.model_a == pair.model_b:
            raise ValueError(f"{pair.where}: model_a {pair.model_a!r} and model_b {pair.model_b!r} are no two models")
        key, turned = matchup_of(pair) if matchups else (pair.item_id, False)
        sides[key] = (
            (pair.cluster, pair.model_b, pair.model_a) if turned else (pair.cluster, pair.model_a, pair.model_b)
        )
    items = tuple(items)
    if stranger := next((item for item in items if item not in sides), None):
        raise ValueError(f"{stranger}: an item that is none of the pairs")
    met = [sides[item] for item in items]
    models = tuple(sorted({name for _, *two in met for name in two}))
    questions = tuple(sorted({question for question, *_ in met}))
    of_model, of_question = ({name: i for i, name in enumerate(names)} for names in (models, questions))
    a, b = (np.array([of_model[row[side]] for row in met]) for side in (1, 2))
    question = np.array([of_question[row[0]] for row in met])
    return Comparisons(models, questions, items, question, np.minimum(a, b), np.maximum(a, b), a > b)


def vote_shares(votes: Votes) -> ClassProbabilities:
    """What share of the votes on each item each class has."""
    counts = votes.counts
    return ClassProbabilities(votes.items, counts / counts.sum(1, keepdims=True), votes.classes)


def said_shares(
    verdicts: Sequence[Verdict], pairs: Sequence[PreferencePair], matchups: bool = False
) -> ClassProbabilities:
    """A judge's probabilities of each item, in the mean of both orders (`stated_probabilities`).

    A verdict without probabilities counts for what it says, one that cannot be read as a tie.
    """
    return stated_probabilities([_certain(v) if v.p_a is None else v for v in verdicts], pairs, matchups)


def _certain(verdict: Verdict) -> Verdict:
    """The verdict with all probability on what it says; an error stays without."""
    if verdict.status == "error":
        return verdict
    a, b = verdict.verdict == "A", verdict.verdict == "B"
    return replace(verdict, p_a=float(a), p_b=float(b), p_tie=float(not (a or b)))


def win_rates(counts: Array) -> Floats:
    """Share of its comparisons on a question that a model won, a tie being half: shape (..., n_models), in [0, 1].

    ``counts``, shape (..., n_pairs, 3): `Comparisons.counts`. NaN where a model took part in nothing.

    >>> win_rates(np.array([[3, 1, 0], [0, 0, 2], [0, 2, 2]])).tolist()  # first and second, first and third, ...
    [0.6666666666666666, 0.25, 0.6666666666666666]
    """
    first, second = model_pairs(counts.shape[-2])
    pairs, n_models = np.arange(len(first)), second.max() + 1
    side = np.zeros((2, len(first), n_models))
    side[0, pairs, first] = side[1, pairs, second] = 1
    ties = counts[..., 2] / 2
    won = (counts[..., 0] + ties) @ side[0] + (counts[..., 1] + ties) @ side[1]
    met = counts.sum(-1) @ side.sum(0)
    return np.divide(won, met, out=np.full(won.shape, np.nan), where=met > 0)


def model_pairs(n_pairs: int) -> tuple[Array, Array]:
    """First and second model of every pair, from how many pairs there are: two arrays of int."""
    n_models = round((1 + (1 + 8 * n_pairs) ** 0.5) / 2)
    if n_models < 2 or n_models * (n_models - 1) // 2 != n_pairs:
        raise ValueError(f"{n_pairs} pairs are not all pairs of some models")
    return np.triu_indices(n_models, 1)
