"""Uncertainty: bootstrap over clusters, single and paired, McNemar's test and Holm's correction."""

from functools import lru_cache

import numpy as np
from scipy.special import bdtr, chdtrc, expit, logit, ndtri, stdtrit  # scipy.stats takes half a second to import

LEVEL = 0.95
EXACT_BELOW = 25  # discordant items from which McNemar's statistic is close to its chi-square limit
BLOCK = 10_000_000  # multiplicities drawn at once: 80 MB
KEPT = 3 * BLOCK  # multiplicities kept for the next judge: a byte each, so 30 MB


def cluster_sums(values, clusters):
    """Sum per-item contributions within clusters.

    Parameters
    ----------
    values : array, shape (n_items, ...)
    clusters : sequence, length n_items
        Cluster of each item (the prompt).

    Returns
    -------
    array, shape (n_clusters, ...)
        In the order of the clusters' sorted names, so that the order of items plays no part.
    """
    values = np.asarray(values, float)
    if len(values) != len(clusters):
        raise ValueError(f"{len(values)} items but {len(clusters)} clusters")
    names, index = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
    sums = np.zeros((len(names), *values.shape[1:]))
    np.add.at(sums, index, values)
    return sums


def cluster_draws(n_clusters, n_boot, seed):
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
def kept_draws(n_clusters, n_boot, seed):
    """`cluster_draws` in one array of bytes, kept for the next judge on the same set."""
    blocks = list(cluster_draws(n_clusters, n_boot, seed))
    kind = np.uint8 if max(block.max() for block in blocks) < 256 else np.int64
    return np.concatenate([block.astype(kind) for block in blocks])


def repeated_draws(n_clusters, n_boot, seed):
    """Blocks of `cluster_draws`, from memory where all of them fit: judges of a set are drawn alike."""
    if n_boot and n_clusters * n_boot <= KEPT:
        draws, rows = kept_draws(n_clusters, n_boot, seed), max(1, BLOCK // n_clusters)
        return (draws[start : start + rows].astype(float) for start in range(0, n_boot, rows))
    return cluster_draws(n_clusters, n_boot, seed)


def resampled_sums(sums, n_boot, seed):
    """Sums over resampled clusters: (n_clusters, ...) in, (n_boot, ...) out.

    The same seed gives the same draws for the same number of clusters.
    """
    flat = sums.reshape(len(sums), -1)
    drawn = np.concatenate([draws @ flat for draws in repeated_draws(len(sums), n_boot, seed)])
    return drawn.reshape(n_boot, *sums.shape[1:])


def resampled_together(parts, n_boot, seed):
    """`resampled_sums` of several sums over the same clusters, drawn once for all.

    Parameters
    ----------
    parts : dict of str to array, shape (n_clusters, ...)

    Returns
    -------
    dict of str to array, shape (n_boot, ...)
    """
    n_clusters = len(next(iter(parts.values())))
    flat = {name: sums.reshape(n_clusters, -1) for name, sums in parts.items()}
    drawn = resampled_sums(np.concatenate(list(flat.values()), axis=1), n_boot, seed)
    ends = np.cumsum([values.shape[1] for values in flat.values()])
    pieces = np.split(drawn, ends[:-1], axis=1)
    return {name: piece.reshape(n_boot, *parts[name].shape[1:]) for name, piece in zip(parts, pieces, strict=True)}


def percentile_interval(statistics, level=LEVEL):
    """The central interval of bootstrap statistics, (low, high)."""
    low, high = np.quantile(statistics, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def cluster_bootstrap(sums, statistic, n_boot=10_000, seed=0, level=LEVEL):
    """Percentile interval of a statistic of sums, resampling clusters.

    Parameters
    ----------
    sums : array, shape (n_clusters, ...)
        Additive contributions per cluster (`cluster_sums`).
    statistic : callable
        Maps sums of shape (..., *rest) to values of shape (...): it must accept leading batch dimensions.
    n_boot : int
        Resamples.
    seed : int
        The same seed gives the same draws for the same number of clusters, which pairs judges on one set.

    Returns
    -------
    value, low, high : float

    Notes
    -----
    Items that share a prompt are not independent; resampling items would give intervals that are too narrow (on the
    PandaLM test set by a third). Cameron, Gelbach and Miller (2008), Review of Economics and Statistics 90.

    Examples
    --------
    >>> sums = cluster_sums([[1, 1], [0, 1], [1, 1], [1, 1]], ["p", "p", "q", "r"])
    >>> value, low, high = cluster_bootstrap(sums, lambda s: s[..., 0] / s[..., 1], n_boot=200)
    >>> value, bool(0.5 <= low < high <= 1)
    (0.75, True)
    """
    sums = np.asarray(sums, float)
    statistics = statistic(resampled_sums(sums, n_boot, seed))
    return float(statistic(sums.sum(0))), *percentile_interval(statistics, level)


def weighted_bootstrap(statistic, clusters, n_boot=10_000, seed=0, level=LEVEL):
    """Percentile interval of a statistic that no sums determine, such as a rank correlation.

    Parameters
    ----------
    statistic : callable
        Maps weights of shape (..., n_items), how often each item counts, to values of shape (...); for example
        ``functools.partial(metrics.kendall, x, y)``.
    clusters : sequence, length n_items
    n_boot, seed, level
        As for `cluster_bootstrap`.

    Returns
    -------
    value, low, high : float
    """
    names, index = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
    rows, statistics = max(1, BLOCK // max(1, len(index))), []
    for draws in repeated_draws(len(names), n_boot, seed):
        statistics += [
            statistic(draws[start : start + rows, index].astype(float)) for start in range(0, len(draws), rows)
        ]
    value = statistic(np.ones(len(index)))
    return float(value), *percentile_interval(np.concatenate(statistics), level)


def two_sided_p(differences):
    """P-value of a difference from its bootstrap resamples.

    Twice the smaller share of resamples on one side of zero, with one added to both counts so that it is never 0,
    and at most 1.
    """
    differences = np.asarray(differences, float)
    tail = min((differences <= 0).sum(), (differences >= 0).sum())
    return float(min(1.0, 2 * (tail + 1) / (len(differences) + 1)))


def mcnemar(only_a, only_b, exact=None):
    """McNemar's test of two judges on the same independent items.

    Parameters
    ----------
    only_a, only_b : int
        Items that one judge gets right and the other does not; the rest play no part.
    exact : bool, optional
        Whether to use the binomial distribution or the chi-square limit with continuity correction; by default the
        former below 25 discordant items.

    Returns
    -------
    float
        Two-sided p-value.

    Notes
    -----
    McNemar (1947), Psychometrika 12; correction by Edwards (1948). Items that share a prompt are not independent:
    prefer the paired bootstrap there.

    Examples
    --------
    >>> round(mcnemar(59, 6), 12), round(mcnemar(1, 9), 4), mcnemar(0, 0)
    (1.12e-10, 0.0215, 1.0)
    >>> round(mcnemar(40, 20, exact=True), 4), round(mcnemar(40, 20), 4)
    (0.0135, 0.0142)
    """
    discordant = only_a + only_b
    if not discordant:
        return 1.0
    if discordant < EXACT_BELOW if exact is None else exact:
        return float(min(1.0, 2 * bdtr(min(only_a, only_b), discordant, 0.5)))
    return float(chdtrc(1, max(abs(only_a - only_b) - 1, 0) ** 2 / discordant))


def t_quantile(probability, df):
    """Quantile of Student's t; arrays are taken each for itself."""
    return stdtrit(df, probability)


def widening(n_clusters, level=LEVEL):
    """By how much an interval made for many clusters must be longer where there are few, as a factor above 1.

    Notes
    -----
    Hesterberg (2015), The American Statistician 69: a bootstrap of n draws is too narrow by the square root of
    n / (n - 1), and takes normal quantiles where Student's are due. With ninety clusters that is two in a hundred.

    Examples
    --------
    >>> round(widening(90), 3), round(widening(5), 2)
    (1.019, 1.58)
    """
    upper = (1 + level) / 2
    return float(t_quantile(upper, n_clusters - 1) / ndtri(upper) * np.sqrt(n_clusters / (n_clusters - 1)))


def clustered_error(sums):
    """Standard error of a mean whose items come in clusters.

    Parameters
    ----------
    sums : array, shape (n_clusters, 2)
        By cluster: sum of the items' values, and number of items (or their weights).

    Returns
    -------
    float

    Notes
    -----
    The linearised variance of a ratio: residuals ``d_c - mean * n_c`` summed in squares over clusters, with the
    factor C / (C - 1). Cameron and Miller (2015), Journal of Human Resources 50, Section II.
    """
    sums = np.asarray(sums, float)
    n_clusters, (total, n_items) = len(sums), sums.sum(0)
    if n_clusters < 2:
        raise ValueError("a variance between clusters needs at least two of them")
    residuals = sums[:, 0] - total / n_items * sums[:, 1]
    return float(np.sqrt((residuals**2).sum() * n_clusters / (n_clusters - 1)) / n_items)


def odds_interval(value, error, df, level=LEVEL):
    """Student's interval of a rate on the scale of log odds: rates far from a half are skewed.

    Parameters
    ----------
    value, error : array
        In (0, 1), and its standard error.
    df : int or array

    Returns
    -------
    low, high : array

    Examples
    --------
    >>> [round(float(end), 3) for end in odds_interval(0.9, 0.03, 20)]
    [0.818, 0.947]
    """
    half = t_quantile((1 + level) / 2, df) * error / (value * (1 - value))
    return expit(logit(value) - half), expit(logit(value) + half)


def proportion_interval(value, n, level=LEVEL, quantile=None):
    """Wilson's interval of a proportion of independent items: low, high.

    For figures of which only the value and the number of items are known; where items share prompts it is too narrow,
    unless ``n`` is what they are worth. A ``quantile`` takes the normal one's place.

    Examples
    --------
    >>> [round(float(end), 3) for end in proportion_interval(0.5, 100)]
    [0.404, 0.596]
    """
    z = float(ndtri((1 + level) / 2)) if quantile is None else quantile
    centre = (value + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(value * (1 - value) / n + z**2 / (4 * n**2))
    return centre - half, centre + half


def mean_of_independent(estimates):
    """Mean of independent estimates, with its interval.

    Parameters
    ----------
    estimates : list of (value, low, high)
        From sets that share no items.

    Returns
    -------
    value, low, high : float

    Notes
    -----
    The half-widths on either side add in squares, as standard errors of independent means do.

    Examples
    --------
    >>> [round(float(x), 3) for x in mean_of_independent([(0.5, 0.4, 0.6), (0.7, 0.6, 0.8)])]
    [0.6, 0.529, 0.671]
    """
    value, low, high = np.asarray(estimates, float).T
    count = len(value)
    below, above = np.sqrt(((value - low) ** 2).sum()) / count, np.sqrt(((high - value) ** 2).sum()) / count
    return value.mean(), value.mean() - below, value.mean() + above


def holm(p_values):
    """Holm's step-down adjustment: p-values that may be compared with one level for all tests together.

    Examples
    --------
    >>> [round(float(p), 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    p_values = np.asarray(p_values, float)
    order = np.argsort(p_values)
    stepped = np.maximum.accumulate(p_values[order] * (len(p_values) - np.arange(len(p_values))))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(stepped, 1)
    return adjusted


def coverage(estimate, truth, make_table, simulations=1000):
    """In how many simulations an estimator's interval holds the truth.

    Parameters
    ----------
    estimate : callable
        A table to an interval: anything with ``low`` and ``high``.
    truth : float
    make_table : callable
        Number of the simulation, from 0, to a table.
    simulations : int

    Returns
    -------
    int
    """
    found = (estimate(make_table(number)) for number in range(simulations))
    return sum(bool(number.low <= truth <= number.high) for number in found)
