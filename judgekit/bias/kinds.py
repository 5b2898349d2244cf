r"""How well a judge does on each kind of task, and whether kinds differ by more than chance.

Small cells say little by themselves. A category :math:`c` with rate :math:`y_c` over :math:`n_c` items is read as
:math:`n^*_c = n_c / d` independent ones, where :math:`d` is what prompts that stand several times cost, pooled over all
categories. Categories are draws from one population,

.. math:: \theta_c \sim \mathrm{Beta}(\mu, r), \quad
          L(\theta_c) = \theta_c^{n^*_c y_c} (1 - \theta_c)^{n^*_c (1 - y_c)},

with mean :math:`\mu` and standard deviation :math:`r \sqrt{\mu (1 - \mu)}`, integrated over a grid with :math:`\mu` and
:math:`r^2` flat a priori. One plugged-in estimate of the spread would leave too little doubt where it comes out near 0
(and a prior flat in :math:`r` does so, too, with many small categories); the binomial form needs no variance of a cell,
which in a cell of five may well come out as 0.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
from scipy.special import betainc, chdtri

from judgekit.stats import LEVEL, Array, Floats, Number, proportion_interval

BINS = 200  # of a rate: half a point each
RELATIVE_SPREADS = np.concatenate([np.arange(0, 0.24, 0.02), np.arange(0.24, 0.5, 0.04), np.arange(0.52, 0.95, 0.08)])
ROUNDS, MOST_HIDDEN = 20, 0.8  # of the fixed point; share of a coin's variance that a tiny category may hide
SMALLEST_DESIGN = 0.1  # a judge that earns the same credit everywhere would have no doubt at all
CROSSED = 0.2  # share of prompts in several categories from which categories are no independent samples
COLUMNS = ("category", "prompt", "hits", "size")


@dataclass(frozen=True)
class Shrunken:
    """Rates by category, raw and shrunken.

    ``table`` has one row per category, in the order of their names: category, n (items), prompts, raw, raw_low,
    raw_high (the category alone), value, low, high (shrunken), rank, rank_low, rank_high (1 is the highest rate; median
    and central 95 % of the posterior), p_below (posterior probability of a rate below the population's mean).
    """

    table: pd.DataFrame
    mean: Number  # of the population of categories
    spread: Number  # standard deviation between categories


@lru_cache(maxsize=1)
def _population_grid() -> tuple[Floats, Floats, Floats]:
    """Populations, and the probability of each bin of rates under each: means, prior weights, densities."""
    edges = np.linspace(0, 1, BINS + 1)
    centres = (edges[:-1] + edges[1:]) / 2
    mean, relative = (axis.ravel() for axis in np.meshgrid(centres[1::2], RELATIVE_SPREADS, indexing="ij"))
    many = 1 / np.maximum(relative, 1e-9) ** 2 - 1
    density = np.diff(betainc((mean * many)[:, None], ((1 - mean) * many)[:, None], edges), axis=1)
    same = relative == 0
    density[same] = np.eye(BINS)[np.searchsorted(edges, mean[same]) - 1]
    weight = np.tile(np.gradient(RELATIVE_SPREADS) * (RELATIVE_SPREADS + 0.005), BINS // 2)
    return mean, weight / weight.sum(), density


@dataclass(frozen=True)
class Cells:
    """Every prompt within every category; ``place``, ``hits``, ``size`` and ``size_squared`` have shape (n_cells,)."""

    names: list[str]  # categories, sorted
    place: Array  # category of each cell
    hits: Array
    size: Array
    size_squared: Array  # squared sizes, summed over the items
    own: Array  # (n_categories,): squared deviations of single items from their category's rate, summed

    def totals(self, values: Array) -> Array:
        """Sums over categories."""
        return np.bincount(self.place, values, len(self.names))


def cells_of(table: pd.DataFrame) -> Cells:
    """The `Cells` of a table.

    ValueError if columns are missing, there is no item, a size is not positive or hits are outside of it, or a fifth of
    the prompts stand in several categories.
    """
    if missing := [name for name in COLUMNS if name not in table.columns]:
        raise ValueError(f"the table lacks {', '.join(missing)}")
    hits, size = (table[name].to_numpy(float) for name in ("hits", "size"))
    if not len(table) or not ((size > 0) & (hits >= 0) & (hits <= size)).all():
        raise ValueError("hits must lie between 0 and a positive size, and there must be items")
    category, names = pd.factorize(table["category"], sort=True)
    prompt, prompts = pd.factorize(table["prompt"])
    key, cell = np.unique(category * len(prompts) + prompt, return_inverse=True)
    several = (np.bincount(key % len(prompts)) > 1).mean()
    if several > CROSSED:
        raise ValueError(f"{several:.0%} of the prompts stand in several categories: compare them within prompts")
    rate = np.bincount(category, hits) / np.bincount(category, size)
    own: Array = np.bincount(category, (hits - size * rate[category]) ** 2)
    by_cell: list[Array] = [np.bincount(cell, values) for values in (hits, size, size**2)]
    return Cells(list(names), key // len(prompts), by_cell[0], by_cell[1], by_cell[2], own)


def design_effects(cells: Cells) -> Floats:
    """How many items of a category are worth one independent item, shape (n_categories,).

    1 where every prompt stands once and is judged right or wrong; more where items of a prompt go together; less where
    an item is the mean of two orders.

    Two numbers are pooled over all categories: the variance of an item, and the covariance of two items of one prompt,
    both in units of the variance :math:`v_c` of a coin with the category's true rate. What a category costs depends on
    how its items stand in prompts. Moments are solved for, not read off: the rate itself was estimated from these
    items, which hides part of the variance in a small category, so :math:`v_c = y_c (1 - y_c) / (1 - d_c / n_c)` and
    the expected squares of a prompt's residuals are those of a weighted mean.
    """
    place, size, n = cells.place, cells.size, cells.totals(cells.size)
    rate = cells.totals(cells.hits) / n
    observed = rate * (1 - rate)
    whole = ((cells.hits - size * rate[place]) ** 2).sum()
    share = 1 - 2 * size / n[place] + (cells.totals(size**2) / n**2)[place]  # of a prompt's variance in residuals
    alone, pairs = cells.size_squared, size**2 - cells.size_squared
    seen = [cells.totals(share * part) for part in (alone, pairs)]
    parts = [cells.totals(part) / n for part in (alone, pairs)]
    if not (total := (observed * cells.totals(alone)).sum()):
        return np.ones(len(n))
    item, two = cells.own.sum() / total, 0.0
    for _ in range(ROUNDS):
        design = item * parts[0] + two * parts[1]
        coin = observed / (1 - np.minimum(design / n, MOST_HIDDEN))
        left = whole - item * (coin * seen[0]).sum()
        two = min(max(left / max((coin * seen[1]).sum(), 1e-12), 0.0), item)
    return np.maximum(item * parts[0] + two * parts[1], SMALLEST_DESIGN)


def shrunken_rates(table: pd.DataFrame, n_draws: int = 4000, seed: int = 0) -> Shrunken:
    """Rates by category, drawn towards the population of categories by as much as each is unsure.

    ``table`` has one row per item: category, prompt, hits and size (the item adds hits / size to a rate,
    weighted by size). ``n_draws`` are for the ranks. ValueError as of `cells_of`, or for fewer than three categories.

    Assumes that categories are exchangeable: nothing but its items is known of any. One that is unlike all others is
    drawn towards them, and its interval misses it more often (tests/test_planted_domains.py shows how much). The
    intervals of the categories together hold 95 % of the true rates, not each of them in 95 % of the cases. Credits
    that are no counts make the likelihood a quasi-likelihood (McCullagh and Nelder 1989, chapter 9).

    >>> rows = [(name, f"{name}{k}", float(k < right), 1) for name, right in zip("abc", (2, 6, 7)) for k in range(8)]
    >>> found = shrunken_rates(pd.DataFrame(rows, columns=list(COLUMNS)))
    >>> found.table["raw"].tolist(), bool(found.table["value"].between(0.25, 0.875).all())
    ([0.25, 0.75, 0.875], True)
    """
    cells = cells_of(table)
    design = design_effects(cells)
    n, prompts = cells.totals(cells.size), np.bincount(cells.place)
    if len(n) < 3:
        raise ValueError(f"{len(n)} categories are no population: three at least")
    raw, worth = cells.totals(cells.hits) / n, n / design
    likelihood = _likelihoods(raw, worth)
    mean, prior, density = _population_grid()
    marginal = likelihood @ density.T
    log_posterior = np.log(prior) + np.log(np.maximum(marginal, 1e-300)).sum(0)
    posterior = np.exp(log_posterior - log_posterior.max())
    posterior /= posterior.sum()
    rates = likelihood * ((posterior / np.maximum(marginal, 1e-300)) @ density)
    centres = (np.arange(BINS) + 0.5) / BINS
    low, high = (_binned_quantiles(rates, q) for q in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    wilson = np.array([proportion_interval(*pair) for pair in zip(raw, worth, strict=True)])
    drawn, means = _posterior_draws(likelihood, posterior, density, mean, n_draws, np.random.default_rng(seed))
    ranks = 1 + (-drawn).argsort(1).argsort(1)
    rank_low, rank, rank_high = np.quantile(ranks, [0.025, 0.5, 0.975], axis=0, method="nearest")
    columns = {"category": cells.names, "n": n, "prompts": prompts}
    columns |= {"raw": raw, "raw_low": wilson[:, 0], "raw_high": wilson[:, 1]}
    columns |= {"value": rates @ centres / rates.sum(1), "low": low, "high": high}
    columns |= {"rank": rank, "rank_low": rank_low, "rank_high": rank_high, "p_below": (drawn < means[:, None]).mean(0)}
    of_mean = np.repeat(posterior.reshape(BINS // 2, -1).sum(1) / 2, 2)[None]
    below, above = (float(_binned_quantiles(of_mean, q)[0]) for q in (0.025, 0.975))
    centre = Number(float(posterior @ mean), below, above, n=len(table), spec=".1%")
    spread = Number(*_spread_between(raw, worth), n=len(table), spec=".1%")
    return Shrunken(pd.DataFrame(columns), centre, spread)


def _likelihoods(raw: Floats, worth: Floats) -> Floats:
    """Likelihood of each bin of rates for each category, the largest 1; shape (n_categories, BINS)."""
    centres = (np.arange(BINS) + 0.5) / BINS
    hits = (worth * raw)[:, None]
    log = hits * np.log(centres) + (worth[:, None] - hits) * np.log(1 - centres)
    return np.exp(log - log.max(1, keepdims=True))


def _binned_quantiles(weights: Floats, level: float) -> Floats:
    """Quantiles of distributions over bins of [0, 1], straight within a bin; one for each row."""
    below = np.cumsum(weights, axis=1) / weights.sum(1, keepdims=True)
    index = (below < level).sum(1)
    rows = np.arange(len(weights))
    before = np.where(index > 0, below[rows, index - 1], 0.0)
    return (index + (level - before) / (below[rows, index] - before)) / BINS


def _spread_between(raw: Floats, worth: Floats) -> tuple[float, float, float]:
    """Standard deviation of the true rates between categories, in [0, 0.5]; 0 where they differ by chance only.

    ``raw``: rates, shape (n_categories,); ``worth``: how many independent items each is worth.

    Paule and Mandel's estimate, with the Q-profile interval of Viechtbauer (2007), Statistics in Medicine 26: the
    spreads under which Cochran's Q is what a chi-square variable may be. The chance part of a category is
    :math:`(\\mu (1 - \\mu) - \\tau^2) / n^*_c`, the mean variance of a coin over the population: a category whose rate
    is 0 or 1 by luck is no surer than others.
    """
    spreads = np.linspace(0, 0.5, 1001)[:, None]
    overall = (raw * worth).sum() / worth.sum()
    chance = np.maximum(overall * (1 - overall) - spreads**2, 1e-4) / worth
    weight = 1 / (chance + spreads**2)
    centre = (weight * raw).sum(1, keepdims=True) / weight.sum(1, keepdims=True)
    q = (weight * (raw - centre) ** 2).sum(1)
    freedom = len(raw) - 1
    above = [(q > bound).sum() for bound in (chdtri(freedom, 0.025), freedom, chdtri(freedom, 0.975))]
    low, value, high = (float(spreads[min(count, len(spreads) - 1), 0]) for count in above)
    return value, low, high


def _posterior_draws(
    likelihood: Floats, posterior: Floats, density: Floats, mean: Floats, n_draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Joint draws of all categories' rates, and of the population's mean; equal rates come in any order."""
    chosen = rng.choice(len(posterior), size=n_draws, p=posterior)
    drawn = np.empty((n_draws, len(likelihood)))
    for place, one in enumerate(likelihood):
        below = np.cumsum(density[chosen] * one, axis=1)
        index = (below < rng.random((n_draws, 1)) * below[:, -1:]).sum(1)
        drawn[:, place] = (index + rng.random(n_draws)) / BINS
    return drawn, mean[chosen]


def heterogeneity(table: pd.DataFrame, n_permutations: int = 5000, seed: int = 0) -> tuple[float, float]:
    """Whether categories differ by more than chance: p-value, and sum of squares between them over that of chance.

    The p-value is the share of permutations, the given one included, with at least the given sum of squares between
    categories; the second is that sum of squares over the one expected by chance, 1 where categories differ no more
    than chance has it. ``table`` as for `shrunken_rates`.

    Prompts, with all their items, are dealt out to categories anew: exact where no category's prompts are unlike the
    others' in size. Compare p-values over judges and sets with `judgekit.stats.holm`.
    """
    cells = cells_of(table)
    codes, values = cells.place, np.column_stack([cells.hits, cells.size])
    total = values.sum(0)
    mean = total[0] / total[1]
    rng, count = np.random.default_rng(seed), len(cells.names)

    def between(codes: Array) -> Floats:
        """Sum of squares between categories for each row of codes."""
        flat = (codes + count * np.arange(len(codes))[:, None]).ravel()
        hits, size = (
            np.bincount(flat, np.tile(column, len(codes)), len(codes) * count).reshape(len(codes), count)
            for column in values.T
        )
        return (size * (np.divide(hits, size, out=np.full_like(hits, mean), where=size > 0) - mean) ** 2).sum(1)

    given = float(between(codes[None])[0])
    blocks = []
    for start in range(0, n_permutations, 500):  # in blocks: the scenarios of a large set are many cells
        rows = np.tile(codes, (min(500, n_permutations - start), 1))
        blocks.append(between(rng.permuted(rows, axis=1)))
    drawn = np.concatenate(blocks)
    share = given / drawn.mean() if drawn.mean() > 0 else 1.0
    return float((1 + (drawn >= given - 1e-12).sum()) / (1 + len(drawn))), float(share)
