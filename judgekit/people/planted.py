"""People and judges whose skill and calibration are known because they are planted."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from judgekit.data.votes import NO_VOTE, ClassProbabilities, Votes
from judgekit.people.calibration.measures import Cases
from judgekit.records import LABELS
from judgekit.stats import Array, outcome_probabilities

SKILL = 3.0  # of the judge of `planted_cases`: spread of the log odds that it sees


@dataclass(frozen=True)
class Panel:
    """Who votes on what, and a judge with calibrated probabilities."""

    rates: tuple[float, ...]  # of right votes on an ordinary item, by annotator; 1/3 is a spammer
    prompts: int = 100
    per_prompt: int = 3
    votes: tuple[int, int] = (1, 4)  # fewest and most of an item
    hard: float = 0.0  # share of items on which three tenths of a skill are left
    misleading: float = 0.0  # share of items whose wrong votes all fall on one class
    prompt_spread: float = 0.0  # standard deviation of what a prompt adds to all log odds
    judge: float = 0.65  # how often it is right


@dataclass(frozen=True, eq=False)
class PlantedVotes:
    """Votes with the truth behind them, class codes of shape (n_items,); a judge beside them; rates by annotator."""

    votes: Votes
    truth: Array
    judge: ClassProbabilities
    rates: dict[str, float]


def planted_votes(panel: Panel, seed: int) -> PlantedVotes:
    rng = np.random.default_rng(seed)
    n_items, n_people, n_classes = panel.prompts * panel.per_prompt, len(panel.rates), len(LABELS)
    truth = rng.integers(n_classes, size=n_items)
    prompt = np.repeat(np.arange(panel.prompts), panel.per_prompt)
    moved = rng.normal(0, panel.prompt_spread, panel.prompts)[prompt] if panel.prompt_spread else np.zeros(n_items)
    left = np.where(rng.random(n_items) < panel.hard, 0.3, 1.0)
    rates = expit(logit(np.array(panel.rates))[None, :] + moved[:, None])
    rates = 1 / n_classes + left[:, None] * (rates - 1 / n_classes)
    wrong = _other_class(rng, truth[:, None], (n_items, n_people))
    wrong = np.where((rng.random(n_items) < panel.misleading)[:, None], wrong[:, :1], wrong)
    codes = np.where(rng.random((n_items, n_people)) < rates, truth[:, None], wrong)
    rank = rng.random((n_items, n_people)).argsort(1).argsort(1)
    given = rank < rng.integers(panel.votes[0], panel.votes[1] + 1, size=n_items)[:, None]
    names = tuple(f"annotator-{j}" for j in range(n_people))
    items = tuple(f"item-{i}" for i in range(n_items))
    clusters = tuple(f"prompt-{p}" for p in prompt)
    votes = Votes(items, names, np.where(given, codes, NO_VOTE), LABELS, clusters)
    # The judge's probabilities are calibrated, and surer of half of the items.
    sure = np.clip(panel.judge + np.where(rng.random(n_items) < 0.5, 0.15, -0.15), 1 / n_classes, 0.99)
    verdicts = np.where(rng.random(n_items) < sure, truth, _other_class(rng, truth, n_items))
    stated = np.repeat((1 - sure)[:, None] / (n_classes - 1), n_classes, 1)
    stated[np.arange(n_items), verdicts] = sure
    judge = ClassProbabilities(items, stated, LABELS)
    return PlantedVotes(votes, truth, judge, dict(zip(names, panel.rates, strict=True)))


def _other_class(rng: np.random.Generator, truth: Array, shape: int | tuple[int, int]) -> Array:
    """A class that is not the true one, each alike."""
    return (truth + rng.integers(1, len(LABELS), size=shape)) % len(LABELS)


@dataclass(frozen=True)
class PlantedJudge:
    """A population of prompts and a judge of it."""

    prompts: int = 150
    per_prompt: int = 4
    misled: float = 0.15  # probability that a prompt turns people against the judge, for all of its items together
    log_nu: float = -1.0  # how likely ties are (Davidson); -inf for none
    temperature: float = 1.0  # power to which the calibrated probabilities are raised: overconfident above 1
    votes: int = 1  # on each item


def planted_cases(planted: PlantedJudge, seed: int) -> Cases:
    """One draw: given what the judge sees, people hold one of two opposite opinions; calibrated is the mixture."""
    rng = np.random.default_rng([seed, planted.prompts, planted.per_prompt])
    n_items = planted.prompts * planted.per_prompt
    cluster = np.repeat(np.arange(planted.prompts), planted.per_prompt)
    seen = SKILL * rng.standard_normal(n_items)
    turned = (rng.random(planted.prompts) < planted.misled)[cluster]
    right, wrong = (outcome_probabilities(sign * seen, planted.log_nu) for sign in (1, -1))
    people = np.where(turned[:, None], wrong, right)
    heights = rng.random((n_items, planted.votes, 1))
    voted = (heights > people.cumsum(1)[:, None, :-1]).sum(2)
    shares = (voted[:, :, None] == np.arange(3)).mean(1)
    stated = ((1 - planted.misled) * right + planted.misled * wrong) ** planted.temperature
    stated /= stated.sum(1, keepdims=True)
    columns = slice(0, 2) if np.isneginf(planted.log_nu) else slice(0, 3)
    weights = np.full(n_items, float(planted.votes))
    return Cases(tuple(map(str, range(n_items))), stated[:, columns], shares[:, columns], tuple(cluster), weights)
