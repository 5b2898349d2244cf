r"""Letting a judge abstain: what is risked at every coverage, and thresholds and sets that come with a guarantee.

A verdict is kept where the judge's confidence reaches a threshold; its loss is the share of people who say otherwise.
`certify` lowers the threshold step by step while a test rejects that the risk of the kept verdicts is above the wanted
one (Angelopoulos et al. 2021, Learn then Test, arXiv:2110.01052, fixed sequence). The guarantee is for new prompts like
those it was certified on: with probability :math:`1 - \delta` over these the risk of what is kept is at most
:math:`\alpha`, each prompt counting once. Prompts are the independent draws, so the tests are on prompts: a bet on
their means (Waudby-Smith and Ramdas 2024, JRSS B 86), or the binomial tail for one item drawn from each.
"""

import numpy as np
import pandas as pd
from scipy.special import bdtr

from judgekit.people.calibration.cases import Cases
from judgekit.people.calibration.measures import number
from judgekit.people.clustered import mean_interval
from judgekit.stats import Array, Floats, Number

TESTS = ("betting", "binomial")
SHARES = np.linspace(0.1, 1, 37).round(3)


def losses_of(cases: Cases) -> Floats:
    """Share of people who do not say what the judge says, per item."""
    return 1 - cases.hits


def _ordered(cases: Cases, losses: Floats, ranking: Floats) -> tuple[Array, Floats, Array]:
    """Groups of equal ranking, the highest first: their weight shares and mean losses, and the group of every item."""
    values, group = np.unique(-np.asarray(ranking).round(12), return_inverse=True)
    share = cases.weights / cases.weights.sum()
    mass = np.bincount(group, share, len(values))
    return mass, np.bincount(group, share * losses, len(values)) / mass, group


def risk_coverage(cases: Cases, shares: Array = SHARES) -> pd.DataFrame:
    """Risk of the verdicts that are kept at every coverage, the most confident first.

    Columns share, risk, oracle (kept by the losses themselves). Items of equal confidence are kept in part, at the mean
    over their sequences.
    """
    losses, table = losses_of(cases), {"share": np.asarray(shares)}
    for name, ranking in (("risk", cases.confidence), ("oracle", -losses)):
        mass, mean, _ = _ordered(cases, losses, ranking)
        kept = np.concatenate([[0], mass.cumsum()])
        lost = np.concatenate([[0], (mass * mean).cumsum()])
        table[name] = np.interp(table["share"], kept / kept[-1], lost) / table["share"]
    return pd.DataFrame(table)


def _area_influence(cases: Cases, losses: Floats, ranking: Floats) -> tuple[float, Floats]:
    """Area under the risk-coverage curve, and the influence of every item on it.

    The area is the mean of an item's loss times -log of the share of items that are ranked as high.
    """
    mass, mean, group = _ordered(cases, losses, ranking)
    above = np.minimum(mass.cumsum(), 1.0)
    before = above - mass
    held = np.where(before > 1e-12, before, 1.0)  # u - u log u is 0 at 0
    steps = above - above * np.log(above) - np.where(before > 1e-12, before - before * np.log(held), 0.0)
    factor = steps / mass
    area = float((mass * mean) @ factor)
    # An item of some rank enlarges the share that is ranked as high for everybody below it.
    pressure = mass * mean / above
    below = pressure[::-1].cumsum()[::-1]
    influence = losses * factor[group] - area - (below[group] - mass @ below)
    return area, influence * cases.weights / cases.weights.sum()


def areas(cases: Cases) -> dict[str, Number]:
    """``risk_coverage_auc``, area under the risk-coverage curve, in [0, 1], lower is better; its ``excess`` over the
    ranking by the losses themselves; and its ``gain`` on the risk without abstaining: 0 if confidence says nothing."""
    losses = losses_of(cases)
    area, influence = _area_influence(cases, losses, cases.confidence)
    oracle, at_oracle = _area_influence(cases, losses, -losses)
    share = cases.weights / cases.weights.sum()
    risk = float(share @ losses)
    found = {
        "risk_coverage_auc": (area, influence),
        "risk_coverage_excess": (area - oracle, influence - at_oracle),
        "risk_coverage_gain": (risk - area, share * (losses - risk) - influence),
    }
    return {
        name: number(mean_interval(value, None, cases.cluster_index, moved), cases)
        for name, (value, moved) in found.items()
    }


def risk_at(cases: Cases, share: float = 0.5) -> Number:
    """Risk of the most confident verdicts, a share in (0, 1] of all; ValueError for another."""
    if not 0 < share <= 1:
        raise ValueError(f"a share of {share} cannot be kept")
    losses = losses_of(cases)
    mass, _, group = _ordered(cases, losses, cases.confidence)
    before = np.concatenate([[0], mass.cumsum()[:-1]])
    kept = np.clip((share - before) / mass, 0, 1)[group]  # items of equal confidence are kept in part
    weight = cases.weights / cases.weights.sum()
    risk = float(weight @ (kept * losses)) / share
    # What moving the place of the last one kept costs: the mean loss of a tenth of the items on either side of it.
    near = np.abs((before + mass / 2)[group] - share) <= max(0.1, float(mass.max()))
    edge = float(weight[near] @ losses[near] / weight[near].sum())
    influence = weight * (kept * losses - edge * (kept - share) - risk * share) / share
    return number(mean_interval(risk, None, cases.cluster_index, influence), cases, ".1%")


def thresholds_at(cases: Cases, coverages: Array) -> Floats:
    """Confidences at which so many of these items are kept, highest first; prompts count once each, and 0 keeps all.

    They must come from other prompts than those that `certify` tests on; labels play no part.
    """
    size, order = cases.prompt_weights, np.argsort(-cases.confidence, kind="stable")
    kept = size[order].cumsum() / size.sum()
    places = np.minimum(np.searchsorted(kept, np.asarray(coverages) - 1e-12), len(order) - 1)
    return np.where(np.asarray(coverages) < 1, cases.confidence[order][places], 0.0)


def certify(
    cases: Cases,
    thresholds: Array,
    risk: float = 0.2,
    delta: float = 0.1,
    test: str = "betting",
    starts: int = 3,
    seed: int = 0,
) -> float:
    """The least confidence of verdicts whose risk is shown, by one of `TESTS`, to be at most the wanted one.

    But with probability delta; infinite where nothing could be certified. ValueError for a rate outside (0, 1).

    ``thresholds``: tried in this order until one fails; fixed beforehand, or made by `thresholds_at` from other prompts
    than those of the cases. ``starts``: sequences of tests, evenly begun along the thresholds, each at its part of
    delta: the strictest thresholds keep the fewest items, so that one sequence may end before it has begun.
    """
    if test not in TESTS or not (0 < risk < 1 and 0 < delta < 1) or starts < 1:
        raise ValueError(
            f"test {test!r} at risk {risk}, delta {delta}, {starts} starts: {' or '.join(TESTS)}, rates in (0, 1)"
        )
    rng, losses = np.random.default_rng(seed), losses_of(cases)
    best, dealt = np.inf, rng.permutation(cases.n_prompts)
    one = _drawn_items(cases, rng)
    voted = rng.random(cases.n_prompts) < losses[one]  # people disagree: one of them, drawn
    sizes = np.bincount(cases.cluster_index)

    def shown(threshold: float) -> bool:
        kept = cases.confidence >= threshold
        if test == "binomial":
            counted = kept[one]
            p_value = bdtr((voted & counted).sum(), counted.sum(), risk) if counted.any() else 1.0
        else:
            above = np.bincount(cases.cluster_index, (losses - risk) * kept) / sizes
            p_value = betting_p(above[dealt], risk, delta / starts)
        return p_value <= delta / starts

    thresholds = np.asarray(thresholds, float)
    for first in np.unique(np.arange(starts) * len(thresholds) // starts)[::-1]:
        place = first
        while place < len(thresholds) and shown(thresholds[place]):
            best, place = float(thresholds[place]), place + 1
        if place > first:  # the sequences begun at stricter thresholds can show no more than this one
            break
    return best


def betting_p(excess: Floats, risk: float, delta: float) -> float:
    """P-value of the claim that draws from [-risk, 1 - risk] have a mean above zero, against one below.

    Capital that bets on losses below the wanted risk is a supermartingale under the claim (Ville's inequality); bets
    are those of Waudby-Smith and Ramdas, made before each draw.
    """
    n = np.arange(1, len(excess) + 1)
    mean = (excess.cumsum() - risk / 2) / (n + 1)
    spread = (0.25 + ((excess - mean) ** 2).cumsum()) / (n + 1)
    known = np.concatenate([[0.25], spread[:-1]])
    bet = np.minimum(np.sqrt(2 * np.log(1 / delta) / (len(excess) * known)), 0.9 / (1 - risk))
    return float(np.exp(-max(0.0, np.log1p(-bet * excess).cumsum().max())))


def _drawn_items(cases: Cases, rng: np.random.Generator) -> Array:
    """One item of every prompt, drawn at random: their places."""
    order = rng.permutation(len(cases.items))
    places = np.empty(cases.n_prompts, int)
    places[cases.cluster_index[order]] = order
    return places


def coverages_for(n_prompts: int, risk: float = 0.2, delta: float = 0.1) -> tuple[float, ...]:
    """Coverages worth trying, rising to 1: from the first at which a judge of half the risk would probably keep it.

    From numbers of prompts alone, so that no label chooses where to start.
    """
    least = next(m for m in range(1, 10**6) if bdtr(np.floor(risk / 2 * m), m, risk) <= delta)
    step = 0.05
    start = min(1.0, step * np.ceil(least / n_prompts / step))
    return tuple(np.arange(start, 1 + step / 2, step).round(6).tolist())


def kept_numbers(cases: Cases, kept: Array) -> dict[str, Number]:
    """What abstaining leaves, each prompt counting once: ``coverage``, ``all_risk``, and ``risk`` if anything is kept.

    ``kept``, shape (n_items,): whether, or how often, each verdict is kept.
    """
    size, losses = cases.prompt_weights, losses_of(cases)
    share = size / size.sum()
    found = {
        "coverage": mean_interval(kept.astype(float), size, cases.cluster_index),
        "all_risk": mean_interval(losses, size, cases.cluster_index),
    }
    if (covered := float(share @ kept)) > 0:
        risk = float(share @ (losses * kept)) / covered
        influence = share * kept * (losses - risk) / covered
        found["risk"] = mean_interval(risk, None, cases.cluster_index, influence)
    return {name: number(ends, cases, ".1%") for name, ends in found.items()}


def halves(cases: Cases, seed: int = 0) -> tuple[Array, Array]:
    """Two parts of the rows, prompts kept whole."""
    order = np.random.default_rng(seed).permutation(cases.n_prompts)
    first = (order < cases.n_prompts / 2)[cases.cluster_index]
    return first, ~first


def certified(
    cases: Cases, risk: float = 0.2, delta: float = 0.1, test: str | None = None, seed: int = 0, splits: int = 20
) -> tuple[list[float], dict[str, Number]]:
    """Thresholds certified on one half of the prompts and used on the other, both ways, over several random halves, and
    `kept_numbers`, means over the splits; intervals are for prompts, thresholds as they are.

    ``test``: by default the bet where prompts have two items or more on average, else the binomial tail. Thresholds to
    be tried are set by the confidences of the half they are used on, whose labels play no part.
    """
    test = test or ("betting" if len(cases.items) >= 2 * cases.n_prompts else "binomial")
    kept, found = np.zeros(len(cases.items)), []
    for split in range(splits):
        parts = halves(cases, seed + split)
        for here, there in (parts, parts[::-1]):
            shown, used = cases.at(here), cases.at(there)
            coverages = coverages_for(shown.n_prompts, risk, delta)
            found.append(certify(shown, thresholds_at(used, coverages), risk, delta, test, seed=seed + split))
            kept[there] += (used.confidence >= found[-1]) / splits
    return found, kept_numbers(cases, np.minimum(kept, 1))


def sets_cutoff(cases: Cases, miss: float = 0.1, seed: int = 0) -> float:
    """Least probability of a label that belongs into a prediction set; 0 where there are too few prompts.

    Split conformal, one item per prompt; Vovk, Gammerman and Shafer (2005): the label of a new prompt's item is in its
    set with probability at least 1 - miss, over prompts and calibration together, not for every prompt or label.
    """
    rng = np.random.default_rng(seed)
    one = _drawn_items(cases, rng)
    heights = cases.shares[one].cumsum(1)[:, :-1]
    label = (rng.random((len(one), 1)) > heights).sum(1)
    conformity = np.sort(cases.probabilities[one, label])
    place = int(np.floor((len(one) + 1) * miss)) - 1  # the rank below which labels may be missed
    return float(conformity[place]) if place >= 0 else 0.0


def set_numbers(cases: Cases, miss: float = 0.1, seed: int = 0) -> dict[str, Number]:
    """Prediction sets over the labels, each half with the cut-off of the other; each prompt counts once.

    ``set_coverage``, share of people whose label is in it; ``set_size``; ``single_rate``, sets of one label.
    """
    inside = np.zeros(cases.probabilities.shape, bool)
    parts = halves(cases, seed)
    for here, there in (parts, parts[::-1]):
        inside[there] = cases.probabilities[there] >= sets_cutoff(cases.at(here), miss, seed)
    columns = {
        "set_coverage": ((inside * cases.shares).sum(1), ".1%"),
        "set_size": (inside.sum(1), ".2f"),
        "single_rate": ((inside.sum(1) == 1).astype(float), ".1%"),
    }
    return {
        name: number(mean_interval(values, cases.prompt_weights, cases.cluster_index), cases, spec)
        for name, (values, spec) in columns.items()
    }
