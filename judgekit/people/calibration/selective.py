"""Letting a judge abstain: thresholds of confidence that come with a guarantee, and what is risked above them.

`certify` lowers the threshold step by step while a test rejects that the risk of the kept verdicts is above the wanted
one (Angelopoulos et al. 2021, Learn then Test, arXiv:2110.01052, fixed sequence). The guarantee is for new prompts like
those it was certified on, each counting once: so the tests are on prompts, a bet on their means (Waudby-Smith and
Ramdas 2024, JRSS B 86), or the binomial tail for one item drawn from each.
"""

import numpy as np
from scipy.special import bdtr

from judgekit.people.calibration.measures import Cases, number
from judgekit.stats import Array, Floats, Number, influence_interval, mean_interval

STARTS = 3  # sequences of tests, evenly begun along the thresholds: the strictest ones keep the fewest items
SPLITS = 20  # random halves of the prompts


def thresholds_at(cases: Cases, coverages: Array) -> Floats:
    """Confidences at which so many of these items are kept, prompts counting once each; 0 keeps all, labels play no
    part. They must come from other prompts than those that `certify` tests on."""
    size, order = cases.prompt_weights, np.argsort(-cases.confidence, kind="stable")
    kept = size[order].cumsum() / size.sum()
    places = np.minimum(np.searchsorted(kept, np.asarray(coverages) - 1e-12), len(order) - 1)
    return np.where(np.asarray(coverages) < 1, cases.confidence[order][places], 0.0)


def certify(cases: Cases, thresholds: Array, risk: float, delta: float, by_item: bool, seed: int = 0) -> float:
    """The least confidence of verdicts whose risk is shown to be at most the wanted one (but with probability delta);
    infinite where nothing could be certified. ValueError for a rate outside (0, 1).

    ``thresholds``: tried in this order until one fails; fixed beforehand, or made by `thresholds_at` from other prompts
    than those of the cases. ``by_item``: by the binomial tail of an item of each prompt, in place of a bet on prompts.
    """
    if not (0 < risk < 1 and 0 < delta < 1):
        raise ValueError(f"risk {risk}, delta {delta}: rates in (0, 1)")
    rng, losses = np.random.default_rng(seed), 1 - cases.hits
    best, dealt = np.inf, rng.permutation(cases.n_prompts)
    order, one = rng.permutation(len(cases.items)), np.empty(cases.n_prompts, int)
    one[cases.cluster_index[order]] = order  # an item of every prompt, drawn at random
    voted = rng.random(cases.n_prompts) < losses[one]  # people disagree: one of them, drawn
    sizes = np.bincount(cases.cluster_index)

    def shown(threshold: float) -> bool:
        kept = cases.confidence >= threshold
        if by_item:
            counted = kept[one]
            p_value = bdtr((voted & counted).sum(), counted.sum(), risk) if counted.any() else 1.0
        else:
            above = np.bincount(cases.cluster_index, (losses - risk) * kept) / sizes
            p_value = _betting_p(above[dealt], risk, delta / STARTS)
        return p_value <= delta / STARTS

    thresholds = np.asarray(thresholds, float)
    for first in np.unique(np.arange(STARTS) * len(thresholds) // STARTS)[::-1]:
        place = first
        while place < len(thresholds) and shown(thresholds[place]):
            best, place = float(thresholds[place]), place + 1
        if place > first:  # the sequences begun at stricter thresholds can show no more than this one
            break
    return best


def _betting_p(excess: Floats, risk: float, delta: float) -> float:
    """P-value of the claim that draws from [-risk, 1 - risk] have a mean above zero: capital that bets on losses below
    the wanted risk is then a supermartingale (Ville); bets are those of Waudby-Smith and Ramdas, made beforehand."""
    n = np.arange(1, len(excess) + 1)
    mean = (excess.cumsum() - risk / 2) / (n + 1)
    spread = (0.25 + ((excess - mean) ** 2).cumsum()) / (n + 1)
    known = np.concatenate([[0.25], spread[:-1]])
    bet = np.minimum(np.sqrt(2 * np.log(1 / delta) / (len(excess) * known)), 0.9 / (1 - risk))
    return float(np.exp(-max(0.0, np.log1p(-bet * excess).cumsum().max())))


def coverages_for(n_prompts: int, risk: float, delta: float) -> tuple[float, ...]:
    """Coverages worth trying, rising to 1, from the first at which a judge of half the risk would probably keep it."""
    least = next(m for m in range(1, 10**6) if bdtr(np.floor(risk / 2 * m), m, risk) <= delta)
    step = 0.05
    start = min(1.0, step * np.ceil(least / n_prompts / step))
    return tuple(np.arange(start, 1 + step / 2, step).round(6).tolist())


def kept_numbers(cases: Cases, kept: Array) -> dict[str, Number]:
    """What abstaining leaves, each prompt counting once: ``coverage``, ``all_risk``, and ``risk`` if anything is kept;
    ``kept``, shape (n_items,): whether, or how often, each verdict is."""
    size, losses = cases.prompt_weights, 1 - cases.hits
    share = size / size.sum()
    found = {
        "coverage": mean_interval(kept.astype(float), size, cases.cluster_index, proportion=True),
        "all_risk": mean_interval(losses, size, cases.cluster_index, proportion=True),
    }
    if (covered := float(share @ kept)) > 0:
        risk = float(share @ (losses * kept)) / covered
        influence = share * kept * (losses - risk) / covered
        found["risk"] = influence_interval(risk, influence, cases.cluster_index, share * kept / covered)
    return {name: number(ends, cases, ".1%") for name, ends in found.items()}


def certified(
    cases: Cases, risk: float = 0.2, delta: float = 0.1, seed: int = 0
) -> tuple[list[float], dict[str, Number]]:
    """Thresholds certified on one half of the prompts and used on the other, both ways, over several random halves, and
    `kept_numbers`, means over the splits; intervals are for prompts, thresholds as they are."""
    # A bet gains from prompts of several items; else one item of each is drawn.
    by_item = len(cases.items) < 2 * cases.n_prompts
    kept, found = np.zeros(len(cases.items)), []
    for split in range(SPLITS):
        order = np.random.default_rng(seed + split).permutation(cases.n_prompts)
        half = (order < cases.n_prompts / 2)[cases.cluster_index]  # prompts are kept whole
        for here, there in ((half, ~half), (~half, half)):
            shown, used = cases.at(here), cases.at(there)
            coverages = coverages_for(shown.n_prompts, risk, delta)
            found.append(certify(shown, thresholds_at(used, coverages), risk, delta, by_item, seed + split))
            kept[there] += (used.confidence >= found[-1]) / SPLITS
    return found, kept_numbers(cases, np.minimum(kept, 1))
