"""A judge whose miscalibration is known because it is planted, and what simulation shows of the estimators."""

from dataclasses import dataclass, replace

import numpy as np

from judgekit.data.progress import progress_over
from judgekit.people.calibration.cases import Cases
from judgekit.people.calibration.measures import verdict_cells
from judgekit.people.calibration.selective import certify, coverages_for, losses_of, thresholds_at
from judgekit.stats import Number, outcome_probabilities, proportion_interval

MANY = 50_000  # prompts of the population that a promise is checked on


@dataclass(frozen=True)
class Planted:
    """A population of prompts and a judge of it.

    ``skill``: standard deviation of the difference in strength that the judge sees. ``misled``: probability that a
    prompt turns people's preferences against what the judge sees, for all of its items together: what makes items of a
    prompt alike. ``log_nu``: how likely ties are (Davidson); -inf for none. ``temperature``: the judge states
    calibrated probabilities raised to this power and scaled to one: 1 is calibrated, more is overconfident, and
    temperature scaling by exactly this repairs it. ``votes``: per item.
    """

    prompts: int = 150
    per_prompt: int = 4
    skill: float = 3.0
    misled: float = 0.15
    log_nu: float = -1.0
    temperature: float = 1.0
    votes: int = 1


def planted_cases(planted: Planted, seed: int) -> Cases:
    """One draw, with the votes of people who saw the prompts that the judge saw.

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


def simulated_errors(simulations: int = 300, n_bins: int = 10) -> dict[str, Number]:
    """The plain and the debiased calibration error of a calibrated judge, whose true error is zero.

    ``plain`` and ``plain_root``, means over simulations of the mean absolute gap and of the root mean square;
    ``debiased_square``, the mean of the debiased mean square.
    """
    rows = []
    for k in progress_over(range(simulations), "calibrated judge"):
        cells = verdict_cells(planted_cases(Planted(), k), n_bins)
        rows.append((cells.absolute[0], np.sqrt(cells.weight @ cells.gap**2), cells.square[0]))
    specs, numbers = {"plain": ".3f", "plain_root": ".3f", "debiased_square": ".5f"}, {}
    for (name, spec), values in zip(specs.items(), np.array(rows).T, strict=True):
        half = 1.96 * values.std(ddof=1) / np.sqrt(simulations)
        numbers[name] = Number(values.mean(), values.mean() - half, values.mean() + half, simulations, spec)
    return numbers


def simulated_promises(
    planted: Planted, risk: float = 0.25, delta: float = 0.1, simulations: int = 300
) -> dict[str, Number]:
    """How often a threshold keeps the risk that was wanted: shares of simulations for ``certified`` thresholds, and for
    ``naive`` ones, which are chosen by the risk they showed."""
    many = planted_cases(replace(planted, prompts=MANY), 10**6)
    order = np.argsort(many.confidence)
    losses = losses_of(many)[order]
    risks = np.append(losses[::-1].cumsum()[::-1] / np.arange(len(order), 0, -1), 0.0)
    thresholds = thresholds_at(many, coverages_for(planted.prompts, risk, delta))
    kept = {"certified": 0, "naive": 0}
    for k in progress_over(range(simulations), "promises"):
        cases = planted_cases(planted, k)
        lost = losses_of(cases)
        naive = [t for t in thresholds if (above := cases.confidence >= t).any() and lost[above].mean() <= risk]
        chosen = {
            "certified": certify(cases, thresholds, risk, delta, seed=k),
            "naive": min(naive, default=2.0),
        }
        for name, threshold in chosen.items():
            kept[name] += int(risks[np.searchsorted(many.confidence[order], threshold)] <= risk)
    return {
        name: Number(count / simulations, *proportion_interval(count / simulations, simulations), simulations, ".1%")
        for name, count in kept.items()
    }
