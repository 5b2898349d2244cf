"""A judge whose miscalibration is known because it is planted: what the estimators are tested and shown on."""

from dataclasses import dataclass

import numpy as np

from judgekit.people.calibration.cases import Cases
from judgekit.stats import outcome_probabilities


@dataclass(frozen=True)
class Planted:
    """A population of prompts and a judge of it.

    Attributes
    ----------
    prompts, per_prompt : int
    skill : float
        Standard deviation of the difference in strength that the judge sees.
    misled : float
        Probability in [0, 1] that a prompt turns people's preferences against what the judge sees, for all of its
        items together: what makes items of a prompt alike.
    log_nu : float
        How likely ties are (Davidson); -inf for none.
    temperature : float
        The judge states calibrated probabilities raised to this power and scaled to one: 1 is calibrated, more is
        overconfident. Temperature scaling by exactly this repairs it.
    votes : int
        Per item.
    """

    prompts: int = 150
    per_prompt: int = 4
    skill: float = 3.0
    misled: float = 0.15
    log_nu: float = -1.0
    temperature: float = 1.0
    votes: int = 1


def planted_cases(planted, seed):
    """One draw: `Cases` with the votes of people who saw the prompts that the judge saw.

    Notes
    -----
    Given what the judge sees, people hold one of two opposite opinions, so the calibrated probabilities are the mixture
    of both: nothing is approximate.
    """
    rng = np.random.default_rng([seed, planted.prompts, planted.per_prompt])
    n_items = planted.prompts * planted.per_prompt
    cluster = np.repeat(np.arange(planted.prompts), planted.per_prompt)
    seen = planted.skill * rng.standard_normal(n_items)
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
