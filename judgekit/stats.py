"""Uncertainty and what it rests on: sums by cluster, one interval, tests, folds, correlations, Davidson's model.

Every metric is a function of sums over items. Sums can be resampled by cluster without touching the items again, so ten
thousand resamples are one matrix product; functions of sums accept leading batch dimensions.
"""

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit, ndtr, ndtri, softmax, stdtr, stdtrit  # scipy.stats is slow to import

Array: TypeAlias = Any  # whatever NumPy reads as an array
Floats: TypeAlias = npt.NDArray[np.float64]
Statistic: TypeAlias = Callable[[Floats], Any]
Ends: TypeAlias = tuple[float, float, float]  # value, low, high

LEVEL = 0.95
POWER = 0.8
ROUNDING = 1e-12  # below it a difference of resamples is one of floating-point sums
BLOCK = 10_000_000  # multiplicities drawn at once: 80 MB
KEPT = 3 * BLOCK  # multiplicities kept for the next judge: a byte each, so 30 MB


def ratio(numerator: Array, denominator: Array) -> Floats:
    """Element-wise quotient, with 0/0 counted as 0 (scikit-learn's ``zero_division=0``)."""
    numerator, denominator = np.asarray(numerator, float), np.asarray(denominator, float)
    out = np.zeros(np.broadcast(numerator, denominator).shape)
    return np.divide(numerator, denominator, out=out, where=denominator > 0)


def share_of(sums: Floats) -> Floats:
    """First column over second: a rate of (hits, n), a mean of (total, n)."""
    return ratio(sums[..., 0], sums[..., 1])


def cluster_sums(values: Array, clusters: Array) -> Floats:
    """Sums of what each item adds, (n_items, ...), by cluster: (n_clusters, ...).

    In the order of the clusters' sorted names, so that the order of items plays no part.
    """
    values = np.asarray(values, float)
    if len(values) != len(clusters):
        raise ValueError(f"{len(values)} items but {len(clusters)} clusters")
    names, index = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
    sums = np.zeros((len(names), *values.shape[1:]))
    np.add.at(sums, index, values)
    return sums


def cluster_draws(n_clusters: int, n_boot: int, seed: int) -> Iterator[Array]:
    """How often each cluster is drawn in each resample: blocks of rows that sum to n_clusters.

    Blocks, so that memory stays flat however many clusters there are; together they have ``n_boot`` rows.
    """
    if n_clusters < 1:
        raise ValueError("no clusters to resample")
    rng = np.random.default_rng(seed)
    rows = max(1, BLOCK // n_clusters)
    for start in range(0, n_boot, rows):
        count = min(rows, n_boot - start)
        chosen = rng.integers(n_clusters, size=(count, n_clusters)) + n_clusters * np.arange(count)[:, None]
        yield np.bincount(chosen.ravel(), minlength=count * n_clusters).reshape(count, n_clusters)


@lru_cache(maxsize=2)
def _kept_draws(n_clusters: int, n_boot: int, seed: int) -> list[Array]:
    """`cluster_draws` as bytes, kept for the next judge on the same set."""
    # Nothing is drawn 256 times: with as many clusters as that, the chance is 1 in 256 factorial.
    return [block.astype(np.uint8) for block in cluster_draws(n_clusters, n_boot, seed)]


def repeated_draws(n_clusters: int, n_boot: int, seed: int) -> Iterator[Array]:
    """Blocks of `cluster_draws`, from memory where all of them fit: judges of a set are drawn alike."""
    if n_clusters * n_boot <= KEPT:
        return (block.astype(float) for block in _kept_draws(n_clusters, n_boot, seed))
    return cluster_draws(n_clusters, n_boot, seed)


def resampled_sums(sums: Floats, n_boot: int, seed: int) -> Floats:
    """Sums over resampled clusters: (n_clusters, ...) in, (n_boot, ...) out.

    The same seed gives the same draws for the same number of clusters, which pairs judges on one set.
    """
    return np.concatenate([np.tensordot(draws, sums, 1) for draws in repeated_draws(len(sums), n_boot, seed)])


def resampled_together(parts: Mapping[str, Floats], n_boot: int, seed: int) -> dict[str, Floats]:
    """`resampled_sums` of several sums over the same clusters, drawn once for all."""
    n_clusters = len(next(iter(parts.values())))
    flat = {name: sums.reshape(n_clusters, -1) for name, sums in parts.items()}
    drawn = resampled_sums(np.concatenate(list(flat.values()), axis=1), n_boot, seed)
    ends = np.cumsum([values.shape[1] for values in flat.values()])
    pieces = np.split(drawn, ends[:-1], axis=1)
    return {name: piece.reshape(n_boot, *parts[name].shape[1:]) for name, piece in zip(parts, pieces, strict=True)}


def interval(
    statistic: Statistic,
    clusters: Array,
    values: Array | None = None,
    *,
    n: int | None = None,
    spec: str = "",
    n_boot: int = 10_000,
    seed: int = 0,
    signed: bool = False,
) -> "Number":
    """A statistic of items with its interval (none for one prompt): the items' clusters, prompts, are resampled.

    The percentile interval of the cluster bootstrap, at levels that allow for few prompts (`expanded_level`), and with
    a width where all resamples are equal: a rate of 0 or 1 gets Wilson's interval of as many prompts. Resamples in
    which the statistic is undefined (NaN) are left out; ValueError where it is undefined for the items themselves.

    ``statistic``: with ``values`` maps their sums, shape ``(..., *rest)``, to (...), such as `share_of`; without, how
    often each item counts, shape (..., n_items), to (...): ``partial(kendall, x, y)``. ``clusters``: prompt of each
    item (Cameron, Gelbach and Miller 2008, Review of Economics and Statistics 90). ``values``: what each item adds,
    shape (n_items, ...); a single column is a mean. ``n``: items that the number is quoted with, all by default.
    ``signed``: whether the statistic may be negative (a difference); asked where all resamples are 0.

    >>> str(interval(share_of, ["p", "p", "q", "r"], [True, False, True, True], spec=".1%", n_boot=200))
    '75.0'
    """
    if not len(clusters):
        raise ValueError("an interval of no items")
    if values is None:
        ends = _weighted_bootstrap(statistic, clusters, n_boot, seed, signed)
    else:
        values = np.asarray(values, float)
        rows = np.column_stack([values, np.ones(len(values))]) if values.ndim == 1 else values
        ends = cluster_bootstrap(cluster_sums(rows, clusters), statistic, n_boot, seed, None, signed)
    return Number(*ends, n=len(clusters) if n is None else n, spec=spec)


def cluster_bootstrap(
    sums: Array,
    statistic: Statistic,
    n_boot: int = 10_000,
    seed: int = 0,
    drawn: Floats | None = None,
    signed: bool = False,
) -> Ends:
    """Value, low, high: `interval` of sums by cluster, shape (n_clusters, ...).

    ``drawn``: the sums as resampled before (`resampled_sums`), where one draw serves several statistics. A cluster that
    adds nothing has no case of what is measured: it is drawn, but is none of the prompts that the interval rests on.

    >>> sums = cluster_sums([[1, 1], [0, 1], [1, 1], [1, 1]], ["p", "p", "q", "r"])
    >>> value, low, high = cluster_bootstrap(sums, share_of, n_boot=200)
    >>> value, bool(0.5 <= low < high <= 1)
    (0.75, True)
    """
    sums = np.asarray(sums, float)
    drawn = resampled_sums(sums, n_boot, seed) if drawn is None else drawn
    value = float(statistic(sums.sum(0)))
    with_cases, drawn_cases = (part.reshape(len(part), -1).any(1) for part in (sums, drawn))
    return value, *interval_of(value, statistic(drawn[drawn_cases]), int(with_cases.sum()), signed)


def _weighted_bootstrap(statistic: Statistic, clusters: Array, n_boot: int, seed: int, signed: bool) -> Ends:
    """Value, low, high: `interval` of a statistic that no sums determine, such as a rank correlation."""
    names, index = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
    rows, statistics = max(1, BLOCK // max(1, len(index))), []
    for draws in repeated_draws(len(names), n_boot, seed):
        statistics += [
            statistic(draws[start : start + rows, index].astype(float)) for start in range(0, len(draws), rows)
        ]
    value = float(statistic(np.ones(len(index))))
    return value, *interval_of(value, np.concatenate(statistics), len(names), signed)


def interval_of(value: Any, statistics: Array, n_clusters: int, signed: bool = False) -> tuple[float, float]:
    """The one place where a value and its resamples, of ``n_clusters`` prompts, become low and high; NaN for one."""
    statistics = np.asarray(statistics)[~np.isnan(statistics)]
    if n_clusters < 2 or not len(statistics):  # all resamples are the same, which tells nothing
        return math.nan, math.nan
    level = expanded_level(n_clusters)
    low, high = np.quantile(statistics, [(1 - level) / 2, (1 + level) / 2])
    whole = float(np.clip(np.round(value), -1, 1))
    if np.allclose([low, high, value], whole, rtol=0, atol=ROUNDING):  # nothing varied: what so many cannot rule out
        low, high = np.sort(np.array(proportion_interval(abs(whole), n_clusters)) * (whole or 1.0))
        low = -high if whole == 0 and signed else low
    return float(low), float(high)


def expanded_level(n_clusters: int) -> float:
    """The level of a percentile interval that covers `LEVEL` where there are few clusters; below five it covers less.

    Hesterberg (2015), The American Statistician 69: a bootstrap of n draws is too narrow by the square root of
    n / (n - 1), and takes normal quantiles where Student's are due. With ninety clusters that is two in a hundred.

    >>> round(expanded_level(90), 4), round(expanded_level(5), 4)
    (0.9543, 0.9981)
    """
    upper = (1 + LEVEL) / 2
    widening = float(t_quantile(upper, n_clusters - 1) / ndtri(upper) * np.sqrt(n_clusters / (n_clusters - 1)))
    return float(2 * ndtr(ndtri(upper) * widening) - 1)


def two_sided_p(differences: Array, n_clusters: int) -> float:
    """P-value of a paired difference from its bootstrap resamples, of ``n_clusters`` prompts: the test to quote.

    Twice the smaller share of resamples on one side of zero, with one added to both counts: above 0, at most 1. It
    allows for few prompts as the interval does (`expanded_level`), and for one, which tells nothing, it is 1.

    >>> [round(two_sided_p([1.0] * 9_999, n_clusters), 4) for n_clusters in (1, 5, 90)]
    [1.0, 0.0292, 0.0004]
    """
    differences = np.asarray(differences, float)
    tail = min((differences <= 0).sum(), (differences >= 0).sum())
    if n_clusters < 2 or (share := (tail + 1) / (len(differences) + 1)) >= 0.5:
        return 1.0
    return float(2 * stdtr(n_clusters - 1, ndtri(share) * np.sqrt((n_clusters - 1) / n_clusters)))


def proportion_interval(value: Any, n: Any) -> tuple[Any, Any]:
    """Wilson's interval of a proportion of independent items: low, high.

    For figures of which only value and number of items are known; too narrow where items share prompts.

    >>> [round(float(end), 3) for end in proportion_interval(0.5, 100)]
    [0.404, 0.596]
    """
    share, z = np.asarray(value, float), ndtri((1 + LEVEL) / 2)  # statsmodels has it, too, and comes with studies alone
    half = z * np.sqrt(share * (1 - share) / n + (z / n) ** 2 / 4)
    low, high = ((share + z**2 / n / 2 + side * half) / (1 + z**2 / n) for side in (-1, 1))
    return np.clip(low, 0, share), np.clip(high, share, 1)


def holm(p_values: Array) -> Floats:
    """Holm's step-down adjustment: p-values that may be compared with one level for all tests together.

    >>> [round(float(p), 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    from statsmodels.stats.multitest import multipletests

    p_values = np.asarray(p_values, float)
    return multipletests(p_values, method="holm")[1] if len(p_values) else p_values


def t_quantile(probability: Array, df: Array) -> Any:
    """Quantile of Student's t; arrays are taken each for itself."""
    return stdtrit(df, probability)


def odds_interval(value: Any, error: Any, df: Array) -> tuple[Any, Any]:
    """Student's interval of rates in (0, 1) on the scale of log odds, for rates far from a half are skewed: low, high.

    >>> [round(float(end), 3) for end in odds_interval(0.9, 0.03, 20)]
    [0.818, 0.947]
    """
    half = t_quantile((1 + LEVEL) / 2, df) * error / (value * (1 - value))
    return expit(logit(value) - half), expit(logit(value) + half)


def mean_interval(values: Array, weights: Array, cluster_index: Array, proportion: bool = False) -> Ends:
    """Weighted mean of ``values``, shape (n_items,), with its 95 % interval over prompts: value, low, high."""
    share = np.asarray(weights, float) / np.sum(weights)
    value = float(np.clip(share @ values, np.min(values), np.max(values)))  # rounding may leave them
    return influence_interval(value, share * (values - value), cluster_index, share if proportion else None)


def influence_interval(value: float, influence: Floats, cluster_index: Array, share: Floats | None = None) -> Ends:
    """A statistic with its 95 % interval over prompts, from the centred influence of each item on it, (n_items,).

    Linearised, with Student's t (Cameron and Miller 2015, Journal of Human Resources 50); infinite ends for one prompt.
    Where nothing varies, too, but for a proportion, of which each item has a ``share`` (they sum to one): Wilson's.
    """
    parts = np.bincount(cluster_index, influence)
    if (n := len(parts)) < 2:
        return value, -np.inf, np.inf
    half = t_quantile((1 + LEVEL) / 2, n - 1) * float(np.sqrt((parts**2).sum() * n / (n - 1)))
    if half > ROUNDING:
        return value, value - half, value + half
    sizes = np.zeros(n) if share is None else np.bincount(cluster_index, share)
    ends = proportion_interval(value, 1 / (sizes**2).sum()) if np.count_nonzero(sizes) > 1 else (-np.inf, np.inf)
    return value, float(ends[0]), float(ends[1])


def student_p(found: "Number", n_prompts: int) -> float:
    """Two-sided p-value of no difference, from the Student's interval of a difference (`mean_interval`)."""
    width = (found.high or 0.0) - (found.low or 0.0)  # none where nothing varies, or of one prompt
    error = width / (2 * t_quantile((1 + LEVEL) / 2, n_prompts - 1))
    chance = 2 * stdtr(n_prompts - 1, -abs(found.value) / error) if error > 0 else found.value == 0 or n_prompts < 2
    return float(chance)


def mean_of_independent(estimates: Sequence[Ends]) -> Ends:
    """Mean of independent estimates (value, low, high), from sets that share no items, with its interval.

    The half-widths on either side add in squares, as standard errors of independent means do.

    >>> [round(float(x), 3) for x in mean_of_independent([(0.5, 0.4, 0.6), (0.7, 0.6, 0.8)])]
    [0.6, 0.529, 0.671]
    """
    value, low, high = np.asarray(estimates, float).T
    count = len(value)
    below, above = np.sqrt(((value - low) ** 2).sum()) / count, np.sqrt(((high - value) ** 2).sum()) / count
    return value.mean(), value.mean() - below, value.mean() + above


def detectable_difference(sums: Array) -> float:
    """The smallest true difference that a two-sided test on this set shows at the 5 % level with a power of `POWER`.

    ``sums``, shape (n_clusters, 2): by cluster, sum of the items' differences of two judges like those to be told
    apart, and number of items. ``z_{0.975} + z_{POWER}`` standard errors of their mean, at the observed difference: the
    linearised variance of a ratio, squares of ``d_c - mean * n_c`` summed over clusters, with the factor C / (C - 1).
    Cameron and Miller (2015), Journal of Human Resources 50, Section II. ValueError where there is one cluster.

    >>> sums = [[1, 1], [-1, 1]] * 50  # 100 items, each won by one of the two judges
    >>> round(detectable_difference(sums), 3)
    0.282
    """
    sums = np.asarray(sums, float)
    n_clusters, (total, n_items) = len(sums), sums.sum(0)
    if n_clusters < 2:
        raise ValueError("a variance between clusters needs at least two of them")
    residuals = sums[:, 0] - total / n_items * sums[:, 1]
    error = float(np.sqrt((residuals**2).sum() * n_clusters / (n_clusters - 1)) / n_items)
    return float(ndtri(1 - 0.05 / 2) + ndtri(POWER)) * error


def prompt_folds(clusters: Array, n_folds: int = 5, seed: int = 0) -> npt.NDArray[np.int64]:
    """The fold of each item, shape (n_items,), in [0, n_folds): prompts are kept whole.

    ValueError where there are fewer prompts than folds, or fewer than two folds.
    """
    names, index = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
    if not 2 <= n_folds <= len(names):
        raise ValueError(f"n_folds is {n_folds}: two at least, and at most one for each of {len(names)} prompts")
    return np.random.default_rng(seed).permutation(len(names))[index] % n_folds


def outcome_logits(difference: Array, log_nu: Array) -> Floats:
    """Unnormalised log-probabilities of A, B and tie, shape (..., 3): Davidson's (1970) model of comparisons with ties.

    ``difference``: score of A minus score of B; ``log_nu``: log of the tie parameter; -inf forbids ties.
    """
    difference, log_nu = np.broadcast_arrays(np.asarray(difference, float), np.asarray(log_nu, float))
    return np.stack([difference / 2, -difference / 2, log_nu], axis=-1)


def outcome_probabilities(difference: Array, log_nu: Array) -> Floats:
    """Probabilities of A, B and tie (`outcome_logits`), shape (..., 3); rows sum to one.

    >>> outcome_probabilities(0.0, 0.0).round(3).tolist()
    [0.333, 0.333, 0.333]
    """
    return softmax(outcome_logits(difference, log_nu), axis=-1)


def reliability_bins(confidence: Array, correct: Array, n_bins: int = 15) -> Floats:
    """What each item adds to a reliability diagram, shape (n_items, 3, n_bins): count, confidence and hits, in its bin.

    ``confidence``: probability the judge gives to the verdict it returned; bins are of equal width on [0, 1].
    ValueError where one leaves [0, 1] (logits passed by mistake).
    """
    confidence, correct = np.asarray(confidence, float), np.asarray(correct, float)
    if len(confidence) and (confidence.min() < 0 or confidence.max() > 1 + 1e-9):
        raise ValueError("confidence must lie in [0, 1]")
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    sums = np.zeros((len(confidence), 3, n_bins))
    rows = np.arange(len(confidence))
    sums[rows, 0, bins], sums[rows, 1, bins], sums[rows, 2, bins] = 1, confidence, correct
    return sums


def expected_calibration_error(bins: Floats) -> Floats:
    """Mean ``|accuracy - confidence|`` over sums of `reliability_bins`, in [0, 1]; 0 is calibrated.

    Guo et al. (2017), arXiv:1706.04599. Biased upwards for few items, as resamples are.

    >>> bins = reliability_bins([0.9, 0.9, 0.9, 0.9], [1, 1, 1, 0]).sum(0)
    >>> round(float(expected_calibration_error(bins)), 3)
    0.15
    """
    return ratio(np.abs(bins[..., 1, :] - bins[..., 2, :]).sum(-1), bins[..., 0, :].sum(-1))


def pearson(x: Array, y: Array, weight: Array | None = None) -> Floats:
    """Pearson's correlation, in [-1, 1]; 0 where a side is constant.

    ``x``, ``y``: shape (n_items,) or, with weights, (..., n_items); ``weight``, shape (..., n_items): how often each
    item counts, one row per resample (`interval` without values).
    """
    x, y, weight = _paired_scores(x, y, weight)
    total = weight.sum(-1, keepdims=True)
    wholes = [(weight * side**2).sum(-1) for side in (x, y)]
    x, y = (side - (weight * side).sum(-1, keepdims=True) / total for side in (x, y))
    spread = [(weight * side**2).sum(-1) for side in (x, y)]
    # Rounding leaves a spread of 1e-30 of the whole to a constant side: nothing to correlate with.
    spread = [np.where(each > 1e-12 * whole, each, 0) for each, whole in zip(spread, wholes, strict=True)]
    return ratio((weight * x * y).sum(-1), np.sqrt(spread[0] * spread[1]))


def spearman(x: Array, y: Array, weight: Array | None = None) -> Floats:
    """Spearman's rank correlation: `pearson` of mid-ranks, which are taken anew in every resample."""
    x, y, weight = _paired_scores(x, y, weight)
    x, y = (weight @ ((1 + np.sign(side[None, :] - side[:, None])) / 2) for side in (x, y))
    return pearson(x, y, weight)


def kendall(x: Array, y: Array, weight: Array | None = None) -> Floats:
    """Kendall's tau-b, in [-1, 1]; 0 where a side is constant.

    A quadratic form of the weights, so that all resamples are two matrix products; memory grows with n_items squared
    (72 MB a matrix for 3,000 items). Without weights also of many lists at once: shape (..., n_items) to (...).
    """
    x, y, weight = _paired_scores(x, y, weight)
    signs = [np.sign(side[..., :, None] - side[..., None, :]) for side in (x, y)]
    agreeing, *untied = (
        ((weight @ form) * weight).sum(-1) for form in (signs[0] * signs[1], np.abs(signs[0]), np.abs(signs[1]))
    )
    return ratio(agreeing, np.sqrt(untied[0] * untied[1]))


def _paired_scores(x: Array, y: Array, weight: Array | None) -> tuple[Floats, Floats, Floats]:
    """Two lists of scores and weights as arrays; ValueError where lengths differ, or a score is NaN or infinite."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    if x.shape != y.shape or not x.size:
        raise ValueError(f"scores of shape {x.shape} against {y.shape}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("a score is missing or infinite: leave the item out first")
    return x, y, np.ones(x.shape[-1]) if weight is None else np.asarray(weight, float)


@dataclass(frozen=True)
class Number:
    """One value that the report may quote: with its 95 % interval, its n and the format it is quoted in.

    ValueError for NaN and infinity, half an interval, ``low > high``, a percentage outside [-100, 100] (a rate that was
    multiplied by 100 already), or a specification that does not fit the value.

    >>> Number(0.611, 0.58, 0.64, n=999, spec=".1%").row()["interval"]
    '58.0-64.0'
    >>> str(Number(1234)), Number(0.011, -0.02, 0.04, spec=".1%").whole
    ('1,234', '1.1 (-2.0 to 4.0)')
    """

    value: Any  # rates are kept in [0, 1]
    low: Any = None  # None (or NaN, for both) without an interval; of a skewed statistic, it may not hold the value
    high: Any = None
    n: Any = None  # items (or votes, prompts, steps) that the value comes from
    # A rate with ".1%" is quoted as 61.1: its unit stands in the text. Integers default to ",d", others to ".3f".
    spec: str = ""

    def __post_init__(self) -> None:
        ends = (None, None) if self.low != self.low and self.high != self.high else (self.low, self.high)
        for name, given in zip(("value", "low", "high"), (self.value, *ends), strict=True):
            object.__setattr__(self, name, _plain(name, given))
        if self.value is None:
            raise ValueError("value is None: a number without a value is not a result")
        if (self.low is None) != (self.high is None):
            raise ValueError(f"half an interval: low={self.low}, high={self.high}")
        if self.low is not None and self.low > self.high:
            raise ValueError(f"low {self.low} is above high {self.high}")
        if self.n is not None:
            n = int(self.n) if isinstance(self.n, float) and self.n.is_integer() else operator.index(self.n)
            if n < 0:
                raise ValueError(f"n is {n}")
            object.__setattr__(self, "n", n)
        if not self.spec:
            object.__setattr__(self, "spec", ",d" if isinstance(self.value, int) else ".3f")
        if self.spec.endswith("%") and abs(self.value) > 1:
            raise ValueError(f"{self.value} with spec {self.spec!r}: rates are kept in [0, 1]")
        self.row()  # a specification that does not fit the value fails here, where it was written

    def __str__(self) -> str:
        return _format(self.value, self.spec)

    @property
    def interval(self) -> str | None:
        """``"58.0-64.0"``; ``"-1.2 to 0.4"`` where a bound holds a minus sign; None without an interval."""
        if self.low is None:
            return None
        spec = ",.1f" if self.spec.endswith("d") else self.spec
        low, high = _format(self.low, spec), _format(self.high, spec)
        return f"{low} to {high}" if "-" in low + high else f"{low}-{high}"

    @property
    def whole(self) -> str:
        """The value, with its interval in parentheses where it has one."""
        return f"{self} ({self.interval})" if self.interval else str(self)

    def row(self) -> dict[str, Any]:
        """The form kept in ``results/*.json``."""
        row = {"value": self.value, "text": str(self), "low": self.low, "high": self.high}
        return row | {"interval": self.interval, "n": self.n}


def _plain(name: str, value: Any) -> int | float | None:
    """A Python int or float from what NumPy, pandas or torch gave."""
    value = value.item() if hasattr(value, "item") else value
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{name} is {value}: NaN and infinity are no results")
    return value


def _format(value: Any, spec: str) -> str:
    if spec == "p":  # of a p-value: further digits tell nothing
        return format(value, ".3f") if value >= 0.0005 else "<0.001"
    text = format(value, spec).removesuffix("%")
    # "-0.0" says that a difference is negative where the digits shown say that it is not.
    return text.removeprefix("-") if text.startswith("-") and not re.search("[1-9]", text) else text
