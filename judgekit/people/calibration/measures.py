"""How far stated probabilities are from the shares of people, with intervals clustered by prompt.

Binned measures are made of the gaps of cells (the bins that are not empty): share of people minus mean probability.
The plain calibration error is the mean of their absolute values; noise alone makes it positive. The debiased one
is the root of the mean square less what noise adds to it, after Kumar, Liang and Ma (2019), arXiv:1909.10155, and
Broecker (2012), Climate Dynamics 39, with the noise measured between prompts instead of items.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtri

from judgekit.people.calibration.cases import Cases
from judgekit.people.clustered import Ends, mean_interval
from judgekit.stats import LEVEL, Floats, Number, proportion_interval, ratio, t_quantile

KINDS = ("mass", "width")
N_DRAWS, SEED = 1000, 0  # of the noise of cells; fixed, so that a number does not move
FLOOR = 1e-12  # of probabilities in a logarithm, as in judgekit.scoring.metrics


def _error(sums: Floats) -> float:
    """Standard error of a sum over prompts, from its centred parts; infinite for one prompt."""
    return float(np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum())) if len(sums) > 1 else np.inf


def bin_edges(confidence: Floats, n_bins: int, kind: str = "mass") -> Floats:
    """Inner edges of bins: quantiles of the values (``mass``), or equal steps on [0, 1] (``width``)."""
    if kind not in KINDS or n_bins < 1:
        raise ValueError(f"{n_bins} bins of equal {kind!r}: at least one, of equal {' or '.join(KINDS)}")
    steps = np.linspace(0, 1, n_bins + 1)[1:-1]
    return np.unique(np.quantile(confidence, steps)) if kind == "mass" else steps


@dataclass(frozen=True, eq=False)
class Cells:
    """Gaps of cells: ``weight``, share of the items, and ``gap``, mean residual, (n_cells,); ``noise``, covariance of
    the gaps over prompts; ``by_prompt``, centred influence of every prompt on the weighted mean square."""

    weight: Floats
    gap: Floats
    noise: Floats
    by_prompt: Floats

    @property
    def square(self) -> Ends:
        """Weighted mean square of the true gaps, low and high end: unbiased, so it may be negative. The variance is
        that of a quadratic form in normal gaps, kept above its value for no gaps."""
        value = float(self.weight @ self.gap**2) - float(self.weight @ np.diag(self.noise))
        form = np.sqrt(np.outer(self.weight, self.weight)) * self.noise
        null = 2 * float((form**2).sum())
        spread = np.sqrt(max(_error(self.by_prompt) ** 2 - null, null))
        half = t_quantile((1 + LEVEL) / 2, len(self.by_prompt) - 1) * spread
        return value, value - half, value + half

    @property
    def root(self) -> Ends:
        """Root mean square of the true gaps, low and high end, none below zero: near zero the square is close to its
        limit, far from zero the root is, and the interval holds both of theirs."""
        value, low, high = self.square
        root = np.sqrt(max(0.0, value))
        aside = (high - value) / (2 * root) if root else 0.0
        return float(root), float(np.sqrt(max(0.0, low))), float(max(np.sqrt(max(0.0, high)), root + aside))

    @property
    def absolute(self) -> Ends:
        """Weighted mean of absolute gaps, and an interval that holds the true one: absolute gaps differ from true ones
        by no more than their noise, whose mean is rarely exceeded."""
        value = float(self.weight @ np.abs(self.gap))
        levels, axes = np.linalg.eigh(self.noise)
        normal = np.random.default_rng(SEED).standard_normal((N_DRAWS, len(levels)))
        drawn = np.abs(normal * np.sqrt(np.maximum(levels, 0)) @ axes.T) @ self.weight
        few = t_quantile((1 + LEVEL) / 2, len(self.by_prompt) - 1) / ndtri((1 + LEVEL) / 2)
        half = float(np.quantile(drawn, LEVEL) * few)
        return value, max(0.0, value - half), value + half


def verdict_cells(cases: Cases, n_bins: int, kind: str = "mass") -> Cells:
    """Cells of the verdict's probability: whether people say what the judge says as often as it states."""
    bins = np.searchsorted(bin_edges(cases.confidence, n_bins, kind), cases.confidence, side="right")
    residuals, prompt = cases.hits - cases.confidence, cases.cluster_index
    sums, counts = (
        np.bincount(prompt * n_bins + bins, part, cases.n_prompts * n_bins).reshape(-1, n_bins)
        for part in (cases.weights * residuals, cases.weights)
    )
    sums, counts = (table[:, counts.any(0)] for table in (sums, counts))
    size = counts.sum(0)
    gap, weight = sums.sum(0) / size, size / cases.weights.sum()
    apart = sums - gap * counts
    # A cell that few prompts share is measured by fewer differences than there are prompts in all.
    prompts = np.maximum(size**2 / (counts**2).sum(0), 2)
    scaled = apart / size * np.sqrt(prompts / (prompts - 1))
    own = (2 * apart @ gap + counts @ gap**2) / cases.weights.sum()
    by_prompt = own - float(weight @ gap**2) * counts.sum(1) / counts.sum()
    return Cells(weight, gap, scaled.T @ scaled, by_prompt)


def measures(cases: Cases, n_bins: int = 10) -> dict[str, Number]:
    """What says how far a judge's probabilities can be believed; ``n`` is the number of rows.

    ``ece`` (mean absolute gap) and ``ece_debiased`` (root mean square gap, debiased), in bins of equal mass;
    ``overconfidence``, mean ``confidence`` less mean ``hit_rate``; with ties ``tie_excess``, their mean probability
    less their share; ``nll`` in nats; ``brier`` (per vote).
    """
    cells = verdict_cells(cases, n_bins)
    columns = {
        "overconfidence": cases.confidence - cases.hits,
        "confidence": cases.confidence,
        "hit_rate": cases.hits,
        "brier": ((cases.probabilities - cases.shares) ** 2 + cases.shares * (1 - cases.shares)).sum(1),
        "nll": log_losses(cases),
    }
    if cases.n_classes == 3:
        columns["tie_excess"] = cases.probabilities[:, 2] - cases.shares[:, 2]
    ends = {"ece": cells.absolute, "ece_debiased": cells.root}
    ends |= {name: mean_interval(values, cases.weights, cases.cluster_index) for name, values in columns.items()}
    return {name: number(one, cases) for name, one in ends.items()}


def number(ends: Ends, cases: Cases, spec: str = ".3f") -> Number:
    """A `Number` of value, low and high; without an interval where one prompt gives none. Rates stay in [0, 1]."""
    value, low, high = ends
    low, high = (max(low, 0.0), min(high, 1.0)) if spec.endswith("%") and np.isfinite(high) else (low, high)
    return Number(value, low, high, len(cases.items), spec) if np.isfinite(high) else Number(value, n=1, spec=spec)


def log_losses(cases: Cases) -> Floats:
    """Cross entropy of people's shares against the judge's probabilities, per item, in nats."""
    return -(cases.shares * np.log(np.maximum(cases.probabilities, FLOOR))).sum(1)


def paired(cases: Cases, other: Cases) -> Number:
    """Mean difference in log loss on the same rows, ``other`` less ``cases``; ValueError where the rows differ."""
    if cases.items != other.items or not np.array_equal(cases.shares, other.shares):
        raise ValueError("the two are not about the same items and votes")
    change = log_losses(other) - log_losses(cases)
    return number(mean_interval(change, cases.weights, cases.cluster_index), cases)


def reliability_table(cases: Cases, n_bins: int = 10, kind: str = "mass") -> pd.DataFrame:
    """The diagram, one row per bin that is not empty: columns confidence, accuracy, low, high, count.

    Wilson's interval at the number of independent items that the spread between prompts amounts to.
    """
    edges, rows = bin_edges(cases.confidence, n_bins, kind), []
    places = np.searchsorted(edges, cases.confidence, side="right")
    for place in np.unique(places):
        here = cases.at(places == place)
        share = here.weights / here.weights.sum()
        hit, stated = float(share @ here.hits), float(share @ here.confidence)
        error = _error(np.asarray(np.bincount(here.cluster_index, share * (here.hits - hit)), float))
        prompts = 1 / (np.bincount(here.cluster_index, share) ** 2).sum()
        worth = float(ratio(hit * (1 - hit), error**2)) if np.isfinite(error) else 1.0
        low, high = proportion_interval(hit, min(max(worth, 1.0), here.weights.sum()) if worth else prompts)
        rows.append((stated, hit, low, high, len(here.items)))
    return pd.DataFrame(rows, columns=["confidence", "accuracy", "low", "high", "count"])
