"""Shares, differences, ranks and design effects of findings, with intervals over prompts.

Items that share a prompt are drawn together; `tests/test_planted_audit.py` counts how often planted truths are covered.
"""

import numpy as np
from scipy.special import ndtri

from judgekit.stats import (
    Array,
    Floats,
    Number,
    Statistic,
    cluster_bootstrap,
    cluster_sums,
    ratio,
    share_of,
    weighted_bootstrap,
    widening,
)

N_BOOT = 2000
LOOKS = 100  # cues times sets, about


def over_prompts(
    sums: Floats,
    statistic: Statistic,
    n: int,
    n_boot: int = N_BOOT,
    seed: int = 0,
    spec: str = ".1%",
    least: float = -1,
) -> Number:
    """A statistic, within [least, 1], of sums by prompt, (n_prompts, ...), its interval stretched for few prompts.

    ``statistic``: as `judgekit.stats.cluster_bootstrap` takes it; the stretch is `judgekit.stats.widening`.
    """
    found, k = Number(*cluster_bootstrap(sums, statistic, n_boot, seed), n=n, spec=spec), len(sums)
    if k < 3:
        return found
    low, high = (found.value + widening(k) * (end - found.value) for end in (found.low, found.high))
    return Number(found.value, max(low, least), min(high, 1.0), n=n, spec=spec)


def is_clear(effect: Number, looks: int = LOOKS) -> bool:
    """Whether an effect is clear of zero though it is one of many that were looked at (Bonferroni, 5 % together).

    Its interval gives its standard error.

    >>> is_clear(Number(0.1, 0.06, 0.14)), is_clear(Number(0.05, 0.01, 0.09))
    (True, False)
    """
    error = (effect.high - effect.low) / (2 * ndtri(0.975))
    return bool(abs(effect.value) > ndtri(1 - 0.025 / looks) * error)


def share(hits: Array, clusters: Array, n_boot: int = N_BOOT, seed: int = 0) -> Number:
    """Share of items that something holds for; ``hits``: bool or float, shape (n_items,)."""
    hits = np.asarray(hits, float)
    sums = cluster_sums(np.column_stack([hits, np.ones(len(hits))]), clusters)
    return over_prompts(sums, share_of, len(hits), n_boot, seed, least=0)


def share_difference(hits: Array, group: Array, clusters: Array, n_boot: int = N_BOOT, seed: int = 0) -> Number:
    """Share of hits within a group of items less that among the others; ``n`` counts the group.

    ``hits``, ``group``: bool, shape (n_items,). ValueError where the group or its complement is empty.
    """
    hits, group = np.asarray(hits, float), np.asarray(group, bool)
    if not 0 < group.sum() < len(group):
        raise ValueError(f"a group of {group.sum()} of {len(group)} items has nothing to be compared with")
    sums = cluster_sums(np.column_stack([hits * group, group, hits * ~group, ~group]), clusters)
    return over_prompts(
        sums, lambda s: share_of(s[..., :2]) - share_of(s[..., 2:]), int(group.sum()), n_boot, seed, "+.1%"
    )


def change(before: Array, after: Array, kept: Array, clusters: Array, n_boot: int = N_BOOT, seed: int = 0) -> Number:
    """Mean credit after a repair less that before it, on the same draws of prompts; ``n`` counts the items that stay.

    ``before``, ``after``: credit of each item under the published and the repaired label, shape (n_items,); ``kept``:
    whether an item stays after the repair, bool, shape (n_items,).
    """
    before, after, kept = np.asarray(before, float), np.asarray(after, float), np.asarray(kept, bool)
    if not kept.any():
        raise ValueError("the repair keeps no item")
    sums = cluster_sums(np.column_stack([after * kept, kept, before, np.ones(len(before))]), clusters)
    return over_prompts(
        sums, lambda s: share_of(s[..., :2]) - share_of(s[..., 2:]), int(kept.sum()), n_boot, seed, "+.1%"
    )


def area(suspicion: Array, planted: Array, weight: Array) -> Floats:
    """Area under the ROC curve of weighted items, in [0, 1], shape (...).

    ``suspicion``: shape (n_items,), higher is more suspect, equal values share the credit; ``planted``: bool, shape
    (n_items,); ``weight``: shape (..., n_items).
    """
    order = np.argsort(suspicion, kind="stable")
    values, weight = np.asarray(suspicion)[order], weight[..., order]
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    wrong = np.add.reduceat(weight * planted[order], starts, axis=-1)
    sound = np.add.reduceat(weight * ~planted[order], starts, axis=-1)
    below = np.cumsum(sound, -1) - sound / 2
    return ratio((wrong * below).sum(-1), wrong.sum(-1) * sound.sum(-1))


def detection_area(suspicion: Array, planted: Array, clusters: Array, n_boot: int = N_BOOT, seed: int = 0) -> Number:
    """Probability that a planted error looks more suspect than a sound label, in [0, 1].

    ValueError where everything or nothing is planted.
    """
    suspicion, planted = np.asarray(suspicion, float), np.asarray(planted, bool)
    if not 0 < planted.sum() < len(planted):
        raise ValueError(f"{planted.sum()} of {len(planted)} labels are planted errors: nothing to tell apart")
    value, low, high = weighted_bootstrap(lambda w: area(suspicion, planted, w), clusters, n_boot, seed)
    return Number(value, low, high, n=int(planted.sum()), spec=".3f")


def design_effect(credit: Array, clusters: Array, n_boot: int = N_BOOT, seed: int = 0) -> Number:
    """Width of an interval over prompts over that of one over items: 1 where items of a prompt have nothing in common.

    ``credit``: what each item adds to a mean, shape (n_items,). The square root of the design effect of Kish (1965),
    *Survey Sampling*: the sum over prompts of squared sums of deviations, over the sum of squared deviations. Its
    interval is on the scale of logarithms, with the jackknife's standard error over prompts: the squares of few large
    prompts make percentiles of a bootstrap too narrow. ValueError where all credits are equal.
    """
    credit = np.asarray(credit, float)
    sizes = cluster_sums(np.ones(len(credit)), clusters)
    if np.ptp(credit) == 0 or len(sizes) < 3:
        raise ValueError("all items earn the same, or there are fewer than three prompts: no spread to compare")
    parts = cluster_sums(np.column_stack([credit, credit**2]), clusters)
    total, n = parts.sum(0), sizes.sum()

    def logarithm(total: Array, n: Array, squares: Array, cross: Array, sizes2: Array) -> Array:
        mean = total[0] / n
        between = squares - 2 * mean * cross + mean**2 * sizes2
        return 0.5 * np.log(between / (total[1] - n * mean**2))

    whole = (total, n, (parts[:, 0] ** 2).sum(), (parts[:, 0] * sizes).sum(), (sizes**2).sum())
    value = logarithm(*whole)
    own = (parts, sizes, parts[:, 0] ** 2, parts[:, 0] * sizes, sizes**2)
    without = [part - each for part, each in zip(whole, own, strict=True)]
    left_out = logarithm(without[0].T, *without[1:])
    count = len(sizes)
    error = np.sqrt((count - 1) / count * ((left_out - left_out.mean()) ** 2).sum())
    low, high = np.exp(value - 1.96 * error), np.exp(value + 1.96 * error)
    return Number(float(np.exp(value)), float(low), float(high), n=len(credit), spec=".2f")
