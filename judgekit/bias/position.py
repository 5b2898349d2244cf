r"""Position bias: how far a verdict depends on which response is shown first.

With :math:`x_1, x_2` the credit of a pair's A (1, 1/2 for a tie, 0) when A is shown first and second, the *shift* of
the pair is :math:`D = x_1 - x_2`: 0 where the judge gives the same verdict in both orders, 1 where it takes the first
response twice, -1 where it takes the second twice, and a half of these where one of the two verdicts is a tie.
"""

import numpy as np
import pandas as pd

from judgekit.stats import (
    Array,
    Floats,
    Number,
    cluster_sums,
    holm,
    interval_of,
    ratio,
    resampled_sums,
    share_of,
    two_sided_p,
)

N_BOOT = 10_000
FEWEST = 10  # prompts with several pairs, or pairs that disagree, from which a total or log odds are estimated


def shifts(table: pd.DataFrame) -> Floats:
    """The shift of every pair, in {-1, -1/2, 0, 1/2, 1}; NaN where a verdict is missing."""
    return (table["ab"] - table["ba"]).to_numpy(float)


def _parts(table: pd.DataFrame) -> dict[str, tuple[Array, Array]]:
    """What each pair adds to the two counts of which a measure is the quotient."""
    ab, ba, shift = table["ab"].to_numpy(float), table["ba"].to_numpy(float), shifts(table)
    decided = [np.isin(credit, (0, 1)) for credit in (ab, ba)]
    read, both = np.isfinite(shift), decided[0] & decided[1]
    return {
        "coverage": (np.isfinite(ab) * 1 + np.isfinite(ba), np.full(len(table), 2)),
        "consistency": (shift == 0, read),
        "consistency_decided": (both & (shift == 0), both),
        "first_rate": ((ab == 1) * 1 + (ba == 0), decided[0] * 1 + decided[1]),
        "toward_first": (shift > 0, read),
        "toward_second": (shift < 0, read),
        "delta": (np.nan_to_num(shift), read),
        "opposite": (shift == 1, shift == -1),
        "half": (shift == 0.5, shift == -0.5),
        "squares": (np.nan_to_num(shift) ** 2, read),
    }


def _sums(table: pd.DataFrame) -> tuple[list[str], Floats]:
    """Names of the parts, and their sums by prompt, shape (n_prompts, n_parts, 2); ``total`` is the last."""
    parts = _parts(table)
    values = np.stack([np.column_stack(part) for part in parts.values()], axis=1)
    sums, place = cluster_sums(values, table["prompt"].tolist()), list(parts).index
    (shift, n), squares = sums[:, place("delta")].T, sums[:, place("squares"), 0]
    product = ratio(shift**2 - squares, n * (n - 1)) * (n > 1)  # mean product of the shifts of two pairs of a prompt
    return [*parts, "total"], np.concatenate([sums, np.stack([product, n > 1], -1)[:, None]], axis=1)


def log_odds(opposite: Floats, half: Floats) -> Floats:
    r"""Position effect in log odds, given the pair: the conditional maximum of Davidson's likelihood.

    ``opposite``: pairs with opposite verdicts, for the first and for the second response both times, shape (..., 2);
    ``half``: those with one tie, by the side that the other verdict takes.

    Let the judge's log odds for A be :math:`\theta \pm \beta`, plus where A is shown first, and ties be drawn by
    Davidson's model. Given how many ties a pair got and the sum of its two verdicts, neither the pair's
    :math:`\theta` nor its tie parameter is left in the likelihood: opposite verdicts go to the first response with
    probability :math:`\sigma(2\beta)`, a tie and a decided verdict with :math:`\sigma(\beta)`, and equal verdicts tell
    nothing. Without ties the maximum is :math:`\frac12\log(n_1/n_2)`. Half a pair is added to both :math:`n_1` and
    :math:`n_2`, which keeps the estimate finite and takes off its first-order bias (Haldane, 1956).

    It is :math:`\beta` only where :math:`\beta` is one number. Where it varies, this is the :math:`\beta` of an
    average pair among those that disagree with themselves; and where a judge's two verdicts are not independent given
    the pair (one mood, one cache), it is not defined at all.
    """
    (a, b), (c, d) = (np.moveaxis(np.asarray(counts, float), -1, 0) for counts in (opposite, half))
    a, b = a + 0.5, b + 0.5
    low, high = np.full_like(a, -12.0), np.full_like(a, 12.0)
    for _ in range(36):  # the slope of the log-likelihood falls with beta: halve the range that holds its zero
        beta = (low + high) / 2
        slope = 2 * (a - (a + b) / (1 + np.exp(-2 * beta))) + c - (c + d) / (1 + np.exp(-beta))
        low, high = np.where(slope > 0, beta, low), np.where(slope > 0, high, beta)
    return (low + high) / 2


def position_numbers(table: pd.DataFrame, n_boot: int = N_BOOT, seed: int = 0) -> dict[str, Number]:
    r"""Every measure of one judge's position bias on a `judgekit.bias.judged` table, with intervals over prompts.

    ``coverage``: verdicts that could be read. Among pairs read in both orders: ``consistency``, the same verdict
    twice (one less the flip rate); ``toward_first`` and ``toward_second``, the other verdicts by the side they lean to
    (:math:`D > 0`, primacy, and :math:`D < 0`, recency), so that the three sum to one. ``consistency_decided``: the
    same among pairs that are decided in both orders. ``first_rate``: decided verdicts for the response shown first; one
    half is no preference. ``delta``: mean shift, :math:`P(\text{first}) - P(\text{second})` averaged over the orders,
    in [-1, 1]. ``log_odds``: see `log_odds`; its n counts the pairs that disagree, and it is left out where there are
    fewer than ten, or all of them lean to one side. ValueError if no pair was read in both orders.

    Opposite leanings cancel in ``delta``, and chance alone makes verdicts inconsistent. ``total`` is

    .. math:: \sqrt{\operatorname{mean}_g \operatorname{mean}_{i \ne j \in g} D_i D_j}

    over prompts g with several pairs: the root mean square of the prompts' own deltas. Two pairs are drawn apart, so
    chance adds nothing to their product, where it would to a square or an absolute value. It lies between ``delta``
    and one less ``consistency``, and misses what differs between the pairs of one prompt. Left out where fewer than
    ten prompts have several pairs.

    >>> table = pd.DataFrame({"prompt": list("pqr"), "ab": [1.0, 1.0, 0.0], "ba": [1.0, 0.0, 0.0]})
    >>> numbers = position_numbers(table, n_boot=100)
    >>> [str(numbers[name]) for name in ("consistency", "toward_first", "delta", "first_rate")]
    ['66.7', '33.3', '33.3', '66.7']
    """
    names, sums = _sums(table)
    together = (sums.sum(0), resampled_sums(sums, n_boot, seed))
    counts, drawn = (dict(zip(names, np.moveaxis(part, -2, 0), strict=True)) for part in together)
    if not counts["consistency"][1]:
        raise ValueError("no pair has a verdict in both orders")
    numbers = {}
    for name in names[:7]:
        if n := counts[name][1]:
            rate = float(share_of(counts[name]))
            ends = interval_of(rate, share_of(drawn[name]), len(sums), signed=name == "delta")
            numbers[name] = Number(rate, *ends, n=int(n), spec=".1%")
    if (n := counts["total"][1]) >= FEWEST:
        value, many = (np.sqrt(np.maximum(share_of(part["total"]), 0)) for part in (counts, drawn))
        numbers["total"] = Number(float(value), *interval_of(value, many, len(sums)), n=int(n), spec=".1%")
    leaning = counts["opposite"] + counts["half"]  # towards the first, towards the second
    if leaning.sum() >= FEWEST and leaning.all():
        value, many = (log_odds(part["opposite"], part["half"]) for part in (counts, drawn))
        ends = interval_of(value, many, len(sums))
        numbers["log_odds"] = Number(float(value), *ends, n=int(leaning.sum()), spec=".2f")
    return numbers


def directions(table: pd.DataFrame, n_boot: int = N_BOOT, seed: int = 0, level: float = 0.05) -> pd.DataFrame:
    """Which position each judge prefers on each set, with Holm's adjustment over all of them.

    ``table``: `judgekit.bias.judged.judged` of them. Indexed by set and judge, columns p_value (two-sided, that
    ``delta`` is zero), p_holm, direction (``first``, ``second``, or ``none`` where p_holm is not below the level).
    """
    rows = []
    for key, part in table.groupby(["set", "judge"], sort=False):
        shift = np.nan_to_num(shifts(part))
        drawn = resampled_sums(cluster_sums(shift, part["prompt"].tolist()), n_boot, seed)
        rows.append((*key, two_sided_p(drawn) if shift.any() else 1.0, shift.sum()))
    found = pd.DataFrame(rows, columns=["set", "judge", "p_value", "shift"]).set_index(["set", "judge"])
    found["p_holm"] = holm(found["p_value"])
    sides = np.where(found["shift"] > 0, "first", "second")
    return found.assign(direction=np.where(found["p_holm"] < level, sides, "none")).drop(columns="shift")
