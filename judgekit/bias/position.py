r"""Position bias: how far a verdict depends on which response is shown first.

Every measure is a function of sums over prompts, so that one draw of prompts gives all intervals. With
:math:`x_1, x_2` the credit of the item's A (1, 1/2 for a tie, 0) when A is shown first and second, the *shift* of a
pair is :math:`D = x_1 - x_2`: 0 where the judge says the same in both orders, 1 where it takes the first response
twice, -1 where it takes the second twice, and a half of these where one of the two verdicts is a tie.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from judgekit.stats import Floats, Number, cluster_sums, holm, percentile_interval, ratio, resampled_sums, two_sided_p

N_BOOT = 10_000
FEWEST = 10  # prompts with several pairs, or pairs that disagree, from which a total or log odds are estimated
COUNTS = (
    "shown",  # verdicts asked for
    "given",  # verdicts read
    "decided",  # verdicts that are no tie
    "first",  # of those, for the response shown first
    "pairs",  # pairs read in both orders
    "same",
    "toward_first",
    "toward_second",
    "shift",
    "both_decided",  # pairs decided in both orders
    "same_decided",
    "opposite_first",  # decided in both orders, for the first response both times
    "opposite_second",
    "half_first",  # a tie in one order, in the other the first response
    "half_second",
    "disagreeing",
    "prompts",  # prompts with several pairs
    "product",  # mean product of the shifts of two pairs of one prompt
)
PLACE = {name: k for k, name in enumerate(COUNTS)}


def shifts(table: pd.DataFrame) -> Floats:
    """The shift of every pair, in {-1, -1/2, 0, 1/2, 1}; NaN where a verdict lacks."""
    return (table["ab"] - table["ba"]).to_numpy(float)


def pair_counts(table: pd.DataFrame) -> Floats:
    """What each pair adds to the first sixteen of `COUNTS`, shape (n_pairs, 16)."""
    ab, ba, shift = table["ab"].to_numpy(float), table["ba"].to_numpy(float), shifts(table)
    decided = [np.isin(credit, (0, 1)) for credit in (ab, ba)]
    read, both, half = np.isfinite(shift), decided[0] & decided[1], np.abs(shift) == 0.5
    columns = [
        np.full(len(table), 2),
        np.isfinite(ab).astype(int) + np.isfinite(ba),
        decided[0].astype(int) + decided[1],
        (ab == 1).astype(int) + (ba == 0),
        read,
        shift == 0,
        shift > 0,
        shift < 0,
        np.nan_to_num(shift),
        both,
        both & (shift == 0),
        shift == 1,
        shift == -1,
        half & (shift > 0),
        half & (shift < 0),
        read & (shift != 0),
    ]
    return np.column_stack(columns).astype(float)


def prompt_sums(table: pd.DataFrame) -> Floats:
    """`COUNTS` of every prompt, shape (n_prompts, 18)."""
    counts, shift = pair_counts(table), np.nan_to_num(shifts(table))
    sums = cluster_sums(np.column_stack([counts, shift**2]), table["cluster"].tolist())
    m, total, squares = sums[:, PLACE["pairs"]], sums[:, PLACE["shift"]], sums[:, -1]
    several = m > 1
    product = ratio(total**2 - squares, m * (m - 1)) * several
    return np.column_stack([sums[:, :-1], several, product])


def share(part: str, whole: str) -> Callable[[Floats], Floats]:
    """The statistic that is one count over another."""
    return lambda sums: ratio(sums[..., PLACE[part]], sums[..., PLACE[whole]])


def total_bias(sums: Floats) -> Floats:
    """Root of the mean product of two shifts of one prompt; 0 where chance makes it negative."""
    return np.sqrt(np.maximum(share("product", "prompts")(sums), 0))


def log_odds(sums: Floats) -> Floats:
    r"""Position effect in log odds, given the pair: the conditional maximum of Davidson's likelihood.

    ``sums`` are `COUNTS`, shape (..., 18), of which four are read.

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
    a, b = (sums[..., PLACE[f"opposite_{side}"]] + 0.5 for side in ("first", "second"))
    c, d = (sums[..., PLACE[f"half_{side}"]] for side in ("first", "second"))
    low, high = np.full_like(a, -12.0), np.full_like(a, 12.0)
    for _ in range(36):  # the slope of the log-likelihood falls with beta: halve the range that holds its zero
        beta = (low + high) / 2
        slope = 2 * (a - (a + b) / (1 + np.exp(-2 * beta))) + c - (c + d) / (1 + np.exp(-beta))
        low, high = np.where(slope > 0, beta, low), np.where(slope > 0, high, beta)
    return (low + high) / 2


# name -> statistic, the count that is its n, the format; a measure of nothing is left out
MEASURES = {
    "coverage": (share("given", "shown"), "shown", ".1%"),
    "consistency": (share("same", "pairs"), "pairs", ".1%"),
    "consistency_decided": (share("same_decided", "both_decided"), "both_decided", ".1%"),
    "first_rate": (share("first", "decided"), "decided", ".1%"),
    "toward_first": (share("toward_first", "pairs"), "pairs", ".1%"),
    "toward_second": (share("toward_second", "pairs"), "pairs", ".1%"),
    "delta": (share("shift", "pairs"), "pairs", ".1%"),
    "total": (total_bias, "prompts", ".1%"),
    "log_odds": (log_odds, "disagreeing", ".2f"),
}


def position_numbers(table: pd.DataFrame, n_boot: int = N_BOOT, seed: int = 0) -> dict[str, Number]:
    r"""Every measure of one judge's position bias, with intervals over prompts.

    ``coverage``: verdicts that could be read. Among pairs read in both orders: ``consistency``, the same verdict
    twice; ``toward_first`` and ``toward_second``, the other verdicts by the side they lean to
    (:math:`D > 0`, :math:`D < 0`), so that the three sum to one. ``consistency_decided``: the same among pairs
    that are decided in both orders. ``first_rate``: decided verdicts for the response shown first; one half is no
    preference. ``delta``: mean shift, :math:`P(\text{first}) - P(\text{second})` averaged over the orders, in
    [-1, 1]. ``log_odds``: see `log_odds`; its n counts the pairs that disagree, and it is left out where there are
    fewer than ten, or all of them lean to one side. ValueError if no pair was read in both orders.

    Opposite leanings cancel in ``delta``, and chance alone makes verdicts inconsistent. ``total`` is

    .. math:: \sqrt{\operatorname{mean}_g \operatorname{mean}_{i \ne j \in g} D_i D_j}

    over prompts g with several pairs: the root mean square of the prompts' own deltas. Two pairs are drawn apart, so
    chance adds nothing to their product, where it would to a square or an absolute value. It lies between ``delta``
    and one less ``consistency``, and misses what differs between the pairs of one prompt. Left out where fewer than
    ten prompts have several pairs.

    >>> table = pd.DataFrame({"cluster": list("pqr"), "ab": [1.0, 1.0, 0.0], "ba": [1.0, 0.0, 0.0]})
    >>> found = position_numbers(table, n_boot=100)
    >>> [str(found[name]) for name in ("consistency", "toward_first", "delta", "first_rate")]
    ['66.7', '33.3', '33.3', '66.7']
    """
    sums = prompt_sums(table)
    counts = sums.sum(0)
    if not counts[PLACE["pairs"]]:
        raise ValueError("no pair has a verdict in both orders")
    drawn, found = resampled_sums(sums, n_boot, seed), {}
    for name, (statistic, of, spec) in MEASURES.items():
        n = int(counts[PLACE[of]])
        if n >= (FEWEST if name in ("total", "log_odds") else 1) and not (name == "log_odds" and one_sided(counts)):
            interval = percentile_interval(statistic(drawn))
            found[name] = Number(float(statistic(counts)), *interval, n=n, spec=spec)
    return found


def one_sided(counts: Floats) -> bool:
    """Whether all pairs that disagree lean to one side, so that no odds are finite."""
    return 0 in (counts[PLACE["toward_first"]], counts[PLACE["toward_second"]])


def difference(one: pd.DataFrame, other: pd.DataFrame, measure: str, n_boot: int = N_BOOT, seed: int = 0) -> Number:
    """One judge's measure (of `MEASURES`) less another's on the same pairs, over one draw of prompts.

    ``n`` is the smaller of the two. ValueError if the tables are not of the same pairs.
    """
    if sorted(one["item_id"]) != sorted(other["item_id"]):
        raise ValueError("the two judges were not shown the same pairs")
    statistic, of, spec = MEASURES[measure]
    sums = np.stack([prompt_sums(one), prompt_sums(other)], axis=1)
    counts, drawn = sums.sum(0), statistic(resampled_sums(sums, n_boot, seed))
    value = float(np.subtract(*statistic(counts)))
    n = int(counts[:, PLACE[of]].min())
    return Number(value, *percentile_interval(drawn[:, 0] - drawn[:, 1]), n=n, spec=spec)


def direction_p(table: pd.DataFrame, n_boot: int = N_BOOT, seed: int = 0) -> float:
    """Two-sided p-value of no preference for a position (``delta`` is zero), over prompts."""
    sums = prompt_sums(table)
    return two_sided_p(resampled_sums(sums, n_boot, seed)[:, PLACE["shift"]]) if sums[:, PLACE["shift"]].any() else 1.0


def direction_table(
    tables: Mapping[Any, pd.DataFrame], n_boot: int = N_BOOT, seed: int = 0, level: float = 0.05
) -> pd.DataFrame:
    """Which position each judge (or judge and set) prefers, with Holm's adjustment over all of them.

    Index as the keys of ``tables``; columns ``p_value``, ``p_holm``, ``direction`` (``first``, ``second``, or ``none``
    where the adjusted p-value is not below the level).
    """
    p_values = [direction_p(table, n_boot, seed) for table in tables.values()]
    signs = [np.nansum(shifts(table)) for table in tables.values()]
    adjusted = holm(p_values)
    said = [
        "none" if p >= level else "first" if sign > 0 else "second" for p, sign in zip(adjusted, signs, strict=True)
    ]
    index = pd.Index(list(tables), tupleize_cols=False)
    return pd.DataFrame({"p_value": p_values, "p_holm": adjusted, "direction": said}, index=index)
