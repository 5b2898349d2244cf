r"""How well a judge does on each kind of task.

A table has one row per item: category, prompt, hits and size (the item adds hits / size to a rate, weighted by size). A
category :math:`c` with rate :math:`y_c` over :math:`n_c` items is read as :math:`n^*_c = n_c / d` independent ones
(`design_effect`) with :math:`\theta_c \sim \mathrm{Beta}(\mu k, (1 - \mu) k)`, integrated over a grid that is flat in
:math:`\mu` and in :math:`r^2 = 1 / (k + 1)`. The value is :math:`(n^*_c y_c + k \bar y) / (n^*_c + k)` over the same
grid, with the plain mean :math:`\bar y` of the rates in the place of :math:`\mu`: where all rates are 1 it is 1.
"""

import numpy as np
import pandas as pd
from scipy.special import betainc, betaln, expit, logit

from judgekit.stats import LEVEL, Floats, proportion_interval

SPREADS = np.arange(0.02, 0.95, 0.04)  # r: standard deviation between categories over that of a coin
STEPS = np.linspace(-4, 4, 41)  # of the population's mean, in log odds: the closer to the data the finer
RATES = np.linspace(0, 1, 101)  # at which a posterior is read
NEGLIGIBLE = 1e-3  # of a population's probability, as a share of the most probable one's
ROUNDS, MOST_HIDDEN = 20, 0.8  # of the fixed point; share of a coin's variance that a tiny category may hide
SMALLEST_DESIGN = 0.1  # a judge that earns the same credit everywhere would have no doubt at all
CROSSED = 0.2  # share of prompts in several categories from which categories are no independent samples


def cells_of(table: pd.DataFrame) -> pd.DataFrame:
    """Sums of hits and size by category and prompt; ValueError if there is no item, hits leave [0, size], or a fifth of
    the prompts stand in several categories."""
    if table.empty or not ((table["size"] > 0) & (table["hits"] >= 0) & (table["hits"] <= table["size"])).all():
        raise ValueError("hits must lie between 0 and a positive size, and there must be items")
    cells = table.groupby(["category", "prompt"])[["hits", "size"]].sum()
    several = (cells.groupby("prompt").size() > 1).mean()
    if several > CROSSED:
        raise ValueError(f"{several:.0%} of the prompts stand in several categories: compare them within prompts")
    return cells


def design_effect(cells: pd.DataFrame) -> float:
    """How many items are worth one independent item, below 1 where one is a mean of orders: squares of residuals by
    prompt over those of a coin. What estimating a small category's rate hides is solved for."""
    sums = cells.groupby("category")[["hits", "size"]].sum()
    rate, prompts = sums["hits"] / sums["size"], cells.groupby("category").size()
    residuals = cells["hits"] - cells["size"] * rate.reindex(cells.index, level="category")
    squares = ((residuals**2).groupby("category").sum() * prompts / (prompts - 1).clip(lower=1)).sum()
    coin = rate * (1 - rate) * sums["size"]
    if not coin.sum():
        return float((cells["size"] ** 2).sum() / cells["size"].sum())
    design = 1.0
    for _ in range(ROUNDS):
        design = squares / (coin / (1 - np.minimum(design / sums["size"], MOST_HIDDEN))).sum()
    return max(float(design), SMALLEST_DESIGN)


def shrunken_rates(table: pd.DataFrame) -> pd.DataFrame:
    """Rates of single categories, alone and drawn towards the others by as much as each is unsure.

    A row per category, in the order of their names: category, n (items), raw, raw_low, raw_high (the category alone,
    Wilson's interval with the design effect), value, low, high (shrunken). ValueError as of `cells_of`, or for fewer
    than three categories. The intervals together hold 95 % of the true rates, not each of them in 95 % of the cases:
    one that is unlike all others is drawn towards them (tests/test_planted_bias.py).
    """
    cells = cells_of(table)
    sums = cells.groupby("category")[["hits", "size"]].sum()
    if len(sums) < 3:
        raise ValueError(f"{len(sums)} categories are no population: three at least")
    n, raw = sums["size"].to_numpy(), (sums["hits"] / sums["size"]).to_numpy()
    worth = n / design_effect(cells)
    value, low, high = _posterior(raw * worth, (1 - raw) * worth)
    raw_low, raw_high = proportion_interval(raw, worth)
    columns = {"n": n, "raw": raw, "raw_low": raw_low, "raw_high": raw_high, "value": value, "low": low, "high": high}
    return pd.DataFrame({"category": sums.index} | columns)


def _posterior(hits: Floats, misses: Floats) -> tuple[Floats, Floats, Floats]:
    """Values and central intervals of the categories' rates, integrated over populations."""
    worth = (hits + misses)[:, None]
    centre = logit((hits.sum() + 0.5) / (worth.sum() + 1))
    x, r = (axis.ravel() for axis in np.meshgrid(centre + 0.2 * np.sinh(STEPS), SPREADS, indexing="ij"))
    prior = np.repeat(np.cosh(STEPS), len(SPREADS)) * expit(x) * expit(-x) * r  # what a point of the grid stands for
    k = 1 / r**2 - 1
    right, wrong = k * expit(x), k * expit(-x)  # Beta's two parameters
    marginal = betaln(right + hits[:, None], wrong + misses[:, None]) - betaln(right, wrong)
    log = np.log(prior) + marginal.sum(0)
    weight = np.exp(log - log.max())
    kept = weight > NEGLIGIBLE
    weight = weight[kept] / weight[kept].sum()
    a, b = right[kept] + hits[:, None], wrong[kept] + misses[:, None]
    below = np.stack([betainc(a, b, rate) @ weight for rate in RATES], 1)
    low, high = ([np.interp(level, row, RATES) for row in below] for level in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    value = ((hits[:, None] + k[kept] * (hits[:, None] / worth).mean()) / (worth + k[kept])) @ weight
    return value, np.minimum(low, value), np.maximum(high, value)
