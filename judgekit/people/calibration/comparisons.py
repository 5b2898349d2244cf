"""Models compared question by question, by people or by a judge: the tables that win rates and strengths are read off.

A question is the unit of everything made from them. Its comparisons share a prompt and are not independent, so that a
question is labelled, drawn and left out as a whole.
"""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from judgekit.data.votes import ClassProbabilities, matchup_of
from judgekit.scoring.items import TURNED, stated_probabilities


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """Matches between models, by item: who met whom on what.

    Attributes
    ----------
    models, questions : tuple of str
        By name.
    items : tuple of str
    question : array of int, shape (n_items,)
    first, second : array of int, shape (n_items,)
        The two models, in the order of their names.
    turned : array of bool, shape (n_items,)
        Whether A of the item is the second model.
    """

    models: tuple[str, ...]
    questions: tuple[str, ...]
    items: tuple[str, ...]
    question: np.ndarray
    first: np.ndarray
    second: np.ndarray
    turned: np.ndarray

    def outcomes(self, shares):
        """Shares for the first model, for the second and for a tie: array, shape (n_items, 3)."""
        values = shares.at(self.items).values
        return np.where(self.turned[:, None], values[:, TURNED], values)

    def counts(self, shares):
        """How often each model beat each other one, question by question.

        Parameters
        ----------
        shares : judgekit.data.votes.ClassProbabilities
            `vote_shares` or `said_shares` of the items, found by key.

        Returns
        -------
        array of float, shape (n_questions, n_pairs, 3)
            Won by the first model, won by the second, ties; pairs of models as `itertools.combinations` gives them. An
            item adds one in all, spread over the outcomes as votes or probabilities are.

        Raises
        ------
        KeyError
            If an item has no shares.
        """
        pairs = {two: place for place, two in enumerate(combinations(range(len(self.models)), 2))}
        pair = [pairs[two] for two in zip(self.first.tolist(), self.second.tolist(), strict=True)]
        counts = np.zeros((len(self.questions), len(pairs), 3))
        np.add.at(counts, (self.question, pair), self.outcomes(shares))
        return counts

    def errors(self, people, judge):
        """Wins by people and by a judge beside each other, question by question and model by model.

        Parameters
        ----------
        people, judge : judgekit.data.votes.ClassProbabilities
            A model wins an item by more than half of what is said.

        Returns
        -------
        array of float, shape (n_questions, n_models, 4)
            As `judgekit.people.calibration.ppi.rogan_gladen` reads it. An item counts for both of its models.
        """
        told, said = (self.outcomes(shares) > 0.5 for shares in (people, judge))
        table = np.zeros((len(self.questions), len(self.models), 4))
        for side, model in enumerate((self.first, self.second)):
            by_people, by_judge = told[:, side], said[:, side]
            cells = np.stack([by_people & by_judge, by_people, ~by_people & by_judge, ~by_people], -1)
            np.add.at(table, (self.question, model), cells.astype(float))
        return table


def comparisons_of(pairs, items, matchups=False):
    """The matches that some items are.

    Parameters
    ----------
    pairs : list of PreferencePair
        With names of models.
    items : iterable of str
        Ids of pairs, or matches in canonical order (`judgekit.data.votes.matchup_votes`).
    matchups : bool
        Whether they are the latter.

    Returns
    -------
    Comparisons

    Raises
    ------
    ValueError
        If a pair does not name two different models, or an item belongs to none of the pairs.
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


def vote_shares(votes):
    """What share of the votes on each item each class has, a `judgekit.data.votes.ClassProbabilities`."""
    counts = votes.counts
    return ClassProbabilities(votes.items, counts / counts.sum(1, keepdims=True), votes.classes)


def said_shares(verdicts, pairs, matchups=False):
    """What a judge says of each item, in the mean of both orders: its probabilities, or its verdicts without any.

    Parameters
    ----------
    verdicts : list of judgekit.records.Verdict
        Of one judge. One that states no probability counts for what it says, one that cannot be read as a tie.
    pairs : list of PreferencePair
    matchups : bool
        As `judgekit.scoring.items.stated_probabilities`.

    Returns
    -------
    judgekit.data.votes.ClassProbabilities
    """
    return stated_probabilities([certain(v) if v.p_a is None else v for v in verdicts], pairs, matchups)


def certain(verdict):
    """The verdict with all probability on what it says; an error stays without."""
    if verdict.status == "error":
        return verdict
    a, b = verdict.verdict == "A", verdict.verdict == "B"
    return replace(verdict, p_a=float(a), p_b=float(b), p_tie=float(not (a or b)))


def win_rates(counts):
    """Share of its comparisons on a question that a model won, a tie being half.

    Parameters
    ----------
    counts : array, shape (..., n_pairs, 3)
        As `Comparisons.counts`.

    Returns
    -------
    array, shape (..., n_models)
        In [0, 1]; NaN where a model took part in nothing.

    Examples
    --------
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


def model_pairs(n_pairs):
    """First and second model of every pair, from how many pairs there are: two arrays of int."""
    n_models = round((1 + (1 + 8 * n_pairs) ** 0.5) / 2)
    if n_models < 2 or n_models * (n_models - 1) // 2 != n_pairs:
        raise ValueError(f"{n_pairs} pairs are not all pairs of some models")
    return np.triu_indices(n_models, 1)
