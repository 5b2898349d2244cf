"""Categories of known skill: what the estimators of `judgekit.bias.domains` are held against."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class PlantedDomains:
    """A judge whose rate on each category is known."""

    categories: int = 12
    cells: tuple[int, int] = (5, 24)  # least and most items of a category
    per_prompt: int = 3  # most items of a prompt
    mean: float = 0.65  # of the categories' true rates, which are normal, kept within [0.02, 0.98]
    spread: float = 0.1  # standard deviation of these
    together: float = 0.4  # correlation of the verdicts on one prompt, in [0, 1)
    outlier: float | None = None  # true rate of the first category, whatever the others'

    def draw(self, seed: int) -> tuple[pd.DataFrame, dict[str, float]]:
        """A table for `shrunken_rates`, and the true rate of each category by name."""
        rng = np.random.default_rng(seed)
        truth = np.clip(rng.normal(self.mean, self.spread, self.categories), 0.02, 0.98)
        if self.outlier is not None:
            truth[0] = self.outlier
        sizes = rng.integers(self.cells[0], self.cells[1] + 1, self.categories)
        category = np.repeat(np.arange(self.categories), sizes)
        cluster: Any = np.cumsum(rng.random(len(category)) < 2 / (1 + self.per_prompt))  # a new prompt begins
        cluster = 1000 * category + cluster
        _, prompt = np.unique(cluster, return_inverse=True)
        same = rng.random(len(category)) < np.sqrt(self.together)  # right or wrong as the prompt is, or by itself
        draw = np.where(same, rng.random(prompt.max() + 1)[prompt], rng.random(len(category)))
        names = np.char.add("kind ", np.char.zfill(category.astype(str), 2))
        columns: dict[str, Any] = {"category": names, "cluster": cluster.astype(str)}
        columns |= {"hits": (draw < truth[category]).astype(float), "size": 1}
        return pd.DataFrame(columns), dict(zip(pd.unique(names), truth, strict=True))
