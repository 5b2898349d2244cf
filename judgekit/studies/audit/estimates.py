"""What findings are measured by: shares, differences, ranks and design effects, with intervals over prompts.

Items that share a prompt are drawn together in every bootstrap here; `tests/test_planted_audit.py` counts how often
the intervals hold planted truths.
"""

import numpy as np
from scipy.special import ndtri

from judgekit.stats import Number, cluster_bootstrap, cluster_sums, ratio, share_of, weighted_bootstrap, widening

N_BOOT = 2000
LOOKS = 100  # cues times sets, about


def over_prompts(sums, statistic, n, n_boot=N_BOOT, seed=0, spec=".1%", least=-1):
    """A statistic of sums by prompt as a `Number`, its interval stretched for few prompts (`widening`).

    Parameters
    ----------
    sums : array, shape (n_prompts, ...)
    statistic : callable
        As `judgekit.stats.cluster_bootstrap` takes it; within [least, 1].
    n : int
    n_boot, seed : int
    spec : str
    least : float
    """
    found, k = Number(*cluster_bootstrap(sums, statistic, n_boot, seed), n=n, spec=spec), len(sums)
    if k < 3:
        return found
    low, high = (found.value + widening(k) * (end - found.value) for end in (found.low, found.high))
    return Number(found.value, max(low, least), min(high, 1.0), n=n, spec=spec)


def is_clear(effect, looks=LOOKS):
    """Whether an effect is clear of zero though it is one of many that were looked at (Bonferroni, 5 % together).

    Parameters
    ----------
    effect : Number
        Its interval gives its standard error.
    looks : int

    Examples
    --------
    >>> is_clear(Number(0.1, 0.06, 0.14)), is_clear(Number(0.05, 0.01, 0.09))
    (True, False)
    """
    error = (effect.high - effect.low) / (2 * ndtri(0.975))
    return bool(abs(effect.value) > ndtri(1 - 0.025 / looks) * error)


def share(hits, clusters, n_boot=N_BOOT, seed=0):
    """Share of items that something holds for.

    Parameters
    ----------
    hits : array of bool or float, shape (n_items,)
    clusters : sequence, length n_items
    n_boot, seed : int

    Returns
    -------
    Number
    """
    hits = np.asarray(hits, float)
    sums = cluster_sums(np.column_stack([hits, np.ones(len(hits))]), clusters)
    return over_prompts(sums, share_of, len(hits), n_boot, seed, least=0)


def share_difference(hits, group, clusters, n_boot=N_BOOT, seed=0):
    """Share of hits within a group of items less that among the others.

    Parameters
    ----------
    hits, group : array of bool, shape (n_items,)
    clusters : sequence, length n_items

    Returns
    -------
    Number
        ``n`` counts the group.

    Raises
    ------
    ValueError
        If the group or its complement is empty.
    """
    hits, group = np.asarray(hits, float), np.asarray(group, bool)
    if not 0 < group.sum() < len(group):
        raise ValueError(f"a group of {group.sum()} of {len(group)} items has nothing to be compared with")
    sums = cluster_sums(np.column_stack([hits * group, group, hits * ~group, ~group]), clusters)
    return over_prompts(
        sums, lambda s: share_of(s[..., :2]) - share_of(s[..., 2:]), int(group.sum()), n_boot, seed, "+.1%"
    )


def change(before, after, kept, clusters, n_boot=N_BOOT, seed=0):
    """Mean credit after a repair less that before it, on the same draws of prompts.

    Parameters
    ----------
    before, after : array of float, shape (n_items,)
        Credit of each item under the published and the repaired label.
    kept : array of bool, shape (n_items,)
        Whether an item stays after the repair.
    clusters : sequence, length n_items

    Returns
    -------
    Number
        ``n`` counts the items that stay.
    """
    before, after, kept = np.asarray(before, float), np.asarray(after, float), np.asarray(kept, bool)
    if not kept.any():
        raise ValueError("the repair keeps no item")
    sums = cluster_sums(np.column_stack([after * kept, kept, before, np.ones(len(before))]), clusters)
    return over_prompts(
        sums, lambda s: share_of(s[..., :2]) - share_of(s[..., 2:]), int(kept.sum()), n_boot, seed, "+.1%"
    )


def area(suspicion, planted, weight):
    """Area under the ROC curve of weighted items.

    Parameters
    ----------
    suspicion : array of float, shape (n_items,)
        Higher is more suspect; equal values share the credit.
    planted : array of bool, shape (n_items,)
    weight : array of float, shape (..., n_items)

    Returns
    -------
    array, shape (...), in [0, 1]
    """
    order = np.argsort(suspicion, kind="stable")
    values, weight = np.asarray(suspicion)[order], weight[..., order]
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    wrong = np.add.reduceat(weight * planted[order], starts, axis=-1)
    sound = np.add.reduceat(weight * ~planted[order], starts, axis=-1)
    below = np.cumsum(sound, -1) - sound / 2
    return ratio((wrong * below).sum(-1), wrong.sum(-1) * sound.sum(-1))


def detection_area(suspicion, planted, clusters, n_boot=N_BOOT, seed=0):
    """Probability that a planted error looks more suspect than a sound label, in [0, 1].

    Raises
    ------
    ValueError
        If everything or nothing is planted.
    """
    suspicion, planted = np.asarray(suspicion, float), np.asarray(planted, bool)
    if not 0 < planted.sum() < len(planted):
        raise ValueError(f"{planted.sum()} of {len(planted)} labels are planted errors: nothing to tell apart")
    value, low, high = weighted_bootstrap(lambda w: area(suspicion, planted, w), clusters, n_boot, seed)
    return Number(value, low, high, n=int(planted.sum()), spec=".3f")


def design_effect(credit, clusters, n_boot=N_BOOT, seed=0):
    """Width of an interval over prompts over that of one over items.

    Parameters
    ----------
    credit : array of float, shape (n_items,)
        What each item adds to a mean.
    clusters : sequence, length n_items

    Returns
    -------
    Number
        The square root of the design effect: 1 where items of a prompt have nothing in common.

    Raises
    ------
    ValueError
        If all credits are equal.

    Notes
    -----
    Kish (1965), *Survey Sampling*. The sum over prompts of squared sums of deviations, over the sum of squared
    deviations. Its interval is on the scale of logarithms, with the jackknife's standard error over prompts: the
    squares of few large prompts make percentiles of a bootstrap too narrow.
    """
    credit = np.asarray(credit, float)
    sizes = cluster_sums(np.ones(len(credit)), clusters)
    if np.ptp(credit) == 0 or len(sizes) < 3:
        raise ValueError("all items earn the same, or there are fewer than three prompts: no spread to compare")
    parts = cluster_sums(np.column_stack([credit, credit**2]), clusters)
    total, n = parts.sum(0), sizes.sum()

    def logarithm(total, n, squares, cross, sizes2):
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
