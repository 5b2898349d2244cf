r"""Annotators whose skill is known, because it was planted, and a judge beside them.

An annotator of rate :math:`a` votes the truth of an item with probability :math:`1/K + s (a - 1/K)`, where :math:`s`
is 1 for an ordinary item and smaller for a hard one, and the log odds of the rate are moved by what the prompt adds.
Wrong votes are spread over the other classes, or all fall on one of them where an item misleads.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from judgekit.data.votes import NO_VOTE, ClassProbabilities, Votes
from judgekit.records import LABELS


@dataclass(frozen=True)
class Panel:
    """Who votes on what.

    Attributes
    ----------
    rates : tuple of float
        Of each annotator, in (0, 1): rate of right votes on an ordinary item. ``1 / 3`` is a spammer.
    prompts, per_prompt : int
    votes : tuple of int
        Fewest and most votes of an item; annotators are drawn at random.
    hard : float
        Share of hard items, on which three tenths of a skill are left.
    misleading : float
        Share of items whose wrong votes all fall on the same class: errors are then correlated.
    prompt_spread : float
        Standard deviation of what a prompt adds to the log odds of all rates.
    judge : float
        How often the judge is right. It states probabilities, and they are calibrated.
    """

    rates: tuple[float, ...]
    prompts: int = 100
    per_prompt: int = 3
    votes: tuple[int, int] = (1, 4)
    hard: float = 0.0
    misleading: float = 0.0
    prompt_spread: float = 0.0
    judge: float = 0.65


@dataclass(frozen=True, eq=False)
class Planted:
    """Votes with the truth behind them.

    Attributes
    ----------
    votes : Votes
    truth : array of int, shape (n_items,)
    judge : ClassProbabilities
    rates : dict of str to float
    """

    votes: Votes
    truth: np.ndarray
    judge: ClassProbabilities
    rates: dict


def planted_votes(panel, seed):
    """Votes of a panel on new items.

    Parameters
    ----------
    panel : Panel
    seed : int

    Returns
    -------
    Planted
        Everything the same at every call with the same seed.
    """
    rng = np.random.default_rng(seed)
    n_items, n_people, n_classes = panel.prompts * panel.per_prompt, len(panel.rates), len(LABELS)
    truth = rng.integers(n_classes, size=n_items)
    prompt = np.repeat(np.arange(panel.prompts), panel.per_prompt)
    moved = rng.normal(0, panel.prompt_spread, panel.prompts)[prompt] if panel.prompt_spread else np.zeros(n_items)
    left = np.where(rng.random(n_items) < panel.hard, 0.3, 1.0)
    rates = expit(logit(np.array(panel.rates))[None, :] + moved[:, None])
    rates = 1 / n_classes + left[:, None] * (rates - 1 / n_classes)
    wrong = other_class(rng, truth[:, None], (n_items, n_people))
    wrong = np.where((rng.random(n_items) < panel.misleading)[:, None], wrong[:, :1], wrong)
    codes = np.where(rng.random((n_items, n_people)) < rates, truth[:, None], wrong)
    rank = rng.random((n_items, n_people)).argsort(1).argsort(1)
    given = rank < rng.integers(panel.votes[0], panel.votes[1] + 1, size=n_items)[:, None]
    names = tuple(f"annotator-{j}" for j in range(n_people))
    items = tuple(f"item-{i}" for i in range(n_items))
    clusters = tuple(f"prompt-{p}" for p in prompt)
    votes = Votes(items, names, np.where(given, codes, NO_VOTE), LABELS, clusters)
    judge = ClassProbabilities(items, judge_probabilities(rng, truth, panel.judge), LABELS)
    return Planted(votes, truth, judge, dict(zip(names, panel.rates, strict=True)))


def other_class(rng, truth, shape):
    """A class that is not the true one, each alike."""
    return (truth + rng.integers(1, len(LABELS), size=shape)) % len(LABELS)


def judge_probabilities(rng, truth, accuracy, swing=0.15):
    """Calibrated probabilities of a judge that is surer of half of the items, shape (n_items, n_classes)."""
    sure = np.clip(accuracy + np.where(rng.random(len(truth)) < 0.5, swing, -swing), 1 / len(LABELS), 0.99)
    said = np.where(rng.random(len(truth)) < sure, truth, other_class(rng, truth, len(truth)))
    values = np.repeat((1 - sure)[:, None] / (len(LABELS) - 1), len(LABELS), 1)
    values[np.arange(len(truth)), said] = sure
    return values
