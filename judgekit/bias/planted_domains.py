"""Categories of known skill: what the estimators of `judgekit.bias.domains` are held against."""

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class PlantedDomains:
    """A judge whose rate on each category is known.

    Attributes
    ----------
    categories : int
    cells : tuple of int
        Least and most items of a category.
    per_prompt : int
        Most items of a prompt.
    mean, spread : float
        Of the categories' true rates: a normal distribution, kept within [0.02, 0.98].
    together : float
        Correlation of the verdicts on one prompt, in [0, 1).
    outlier : float, optional
        True rate of the first category, whatever the others'.
    """

    categories: int = 12
    cells: tuple = (5, 24)
    per_prompt: int = 3
    mean: float = 0.65
    spread: float = 0.1
    together: float = 0.4
    outlier: float = None

    def draw(self, seed):
        """A table for `shrunken_rates`, and the true rate of each category by name."""
        rng = np.random.default_rng(seed)
        truth = np.clip(rng.normal(self.mean, self.spread, self.categories), 0.02, 0.98)
        if self.outlier is not None:
            truth[0] = self.outlier
        sizes = rng.integers(self.cells[0], self.cells[1] + 1, self.categories)
        category = np.repeat(np.arange(self.categories), sizes)
        cluster = np.cumsum(rng.random(len(category)) < 2 / (1 + self.per_prompt))  # a new prompt begins
        cluster = 1000 * category + cluster
        _, prompt = np.unique(cluster, return_inverse=True)
        same = rng.random(len(category)) < np.sqrt(self.together)  # right or wrong as the prompt is, or by itself
        draw = np.where(same, rng.random(prompt.max() + 1)[prompt], rng.random(len(category)))
        names = np.char.add("kind ", np.char.zfill(category.astype(str), 2))
        columns = {"category": names, "cluster": cluster.astype(str)}
        columns |= {"hits": (draw < truth[category]).astype(float), "size": 1}
        return pd.DataFrame(columns), dict(zip(pd.unique(names), truth, strict=True))
