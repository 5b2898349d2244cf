"""How far stated probabilities are from the shares of people, with intervals clustered by prompt.

Binned measures are made of the gaps of cells (a bin, or a bin of a class): share of people minus mean probability.
The plain calibration error is the mean of their absolute values; noise alone makes it positive. The debiased one
is the root of the mean square less what noise adds to it, after Kumar, Liang and Ma (2019), arXiv:1909.10155, and
Broecker (2012), Climate Dynamics 39, with the noise measured between prompts instead of items.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from judgekit.people.calibration.cases import Cases
from judgekit.stats import LEVEL, Array, Floats, Number, pearson, proportion_interval, ratio, t_quantile

KINDS = ("mass", "width")
N_DRAWS, SEED = 1000, 0  # of the noise of cells; fixed, so that a number does not move
FLOOR = 1e-12  # of probabilities in a logarithm, as in judgekit.scoring.metrics


def mean_interval(
    values: Array, weights: Array, cluster_index: Array, influence: Floats | None = None
) -> tuple[float, float, float]:
    """Weighted mean of ``values``, shape (n_items,), with its 95 % interval over prompts: value, low, high.

    ``influence``: of the items on a statistic that is no mean, weights included and centred; then ``values`` is the
    statistic. Linearised, with Student's t (Cameron and Miller 2015, Journal of Human Resources 50); infinite ends for
    one prompt.
    """
    if influence is None:
        share = np.asarray(weights, float) / np.sum(weights)
        value = float(np.clip(share @ values, np.min(values), np.max(values)))  # rounding may leave them
        influence = share * (values - value)
    else:
        value = float(values)
    spread = _deviation(np.bincount(cluster_index, influence))
    half = t_quantile((1 + LEVEL) / 2, int(cluster_index.max())) * spread if np.isfinite(spread) else np.inf
    return value, value - half, value + half


def _deviation(sums: Array) -> float:
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
    def square(self) -> tuple[float, float, float]:
        """Weighted mean square of the true gaps, low and high end: unbiased, so it may be negative.

        The variance is that of a quadratic form in normal gaps; its estimate is kept above its value for no gaps.
        """
        value = float(self.weight @ self.gap**2) - float(self.weight @ np.diag(self.noise))
        form = np.sqrt(np.outer(self.weight, self.weight)) * self.noise
        null = 2 * float((form**2).sum())
        spread = np.sqrt(max(_deviation(self.by_prompt) ** 2 - null, null))
        half = t_quantile((1 + LEVEL) / 2, len(self.by_prompt) - 1) * spread
        return value, value - half, value + half

    @property
    def root(self) -> tuple[float, float, float]:
        """Root mean square of the true gaps, low and high end, none below zero.

        Near zero the square is close to its limit, far from zero the root is: the interval holds both of theirs.
        """
        value, low, high = self.square
        root = np.sqrt(max(0.0, value))
        aside = (high - value) / (2 * root) if root else 0.0
        return float(root), float(np.sqrt(max(0.0, low))), float(max(np.sqrt(max(0.0, high)), root + aside))

    @property
    def absolute(self) -> tuple[float, float, float]:
        """Weighted mean of absolute gaps, and an interval that holds the true one; conservative where gaps are wide.

        Absolute gaps differ from true ones by no more than their noise, whose mean is rarely exceeded.
        """
        value = float(self.weight @ np.abs(self.gap))
        levels, axes = np.linalg.eigh(self.noise)
        normal = np.random.default_rng(SEED).standard_normal((N_DRAWS, len(levels)))
        drawn = np.abs(normal * np.sqrt(np.maximum(levels, 0)) @ axes.T) @ self.weight
        few = t_quantile((1 + LEVEL) / 2, len(self.by_prompt) - 1) / ndtri((1 + LEVEL) / 2)
        half = float(np.quantile(drawn, LEVEL) * few)
        return value, max(0.0, value - half), value + half


def _cells_of(residuals: Floats, places: Array, weights: Floats, cluster_index: Array, n_cells: int) -> Cells:
    """The cells that are not empty; ``residuals``, ``places`` (below ``n_cells``): shape (n_items, n_columns)."""
    n_clusters, total = int(cluster_index.max()) + 1, float(weights.sum())
    flat = (cluster_index[:, None] * n_cells + places).ravel()
    heavy = np.repeat(weights, residuals.shape[1])
    sums, counts = (
        np.bincount(flat, part, n_clusters * n_cells).reshape(n_clusters, n_cells)
        for part in (heavy * residuals.ravel(), heavy)
    )
    size = counts.sum(0)
    sums, counts, size = sums[:, size > 0], counts[:, size > 0], size[size > 0]
    gap, weight = sums.sum(0) / size, size / total
    apart = sums - gap * counts
    # A cell that few prompts share is measured by fewer differences than there are prompts in all.
    prompts = size**2 / (counts**2).sum(0)
    wide = np.sqrt(np.maximum(prompts, 2) / (np.maximum(prompts, 2) - 1))
    scaled = apart / size * wide
    own = (2 * apart @ gap + counts @ gap**2) / total
    by_prompt = own - float(weight @ gap**2) * counts.sum(1) / counts.sum()
    return Cells(weight, gap, scaled.T @ scaled, by_prompt)


def verdict_cells(cases: Cases, n_bins: int, kind: str = "mass") -> Cells:
    """Cells of the verdict's probability: whether people say what the judge says as often as it thinks."""
    places = np.searchsorted(bin_edges(cases.confidence, n_bins, kind), cases.confidence, side="right")
    residuals = (cases.hits - cases.confidence)[:, None]
    return _cells_of(residuals, places[:, None], cases.weights, cases.cluster_index, n_bins)


def class_cells(cases: Cases, n_bins: int, kind: str = "mass", around: Floats | None = None) -> Cells:
    """Cells of every class' probability; residuals are against it, or against constant rates of the classes."""
    places = np.empty(cases.probabilities.shape, int)
    for k, column in enumerate(cases.probabilities.T):
        places[:, k] = k * n_bins + np.searchsorted(bin_edges(column, n_bins, kind), column, side="right")
    residuals = cases.shares - (cases.probabilities if around is None else around)
    return _cells_of(residuals, places, cases.weights, cases.cluster_index, n_bins * cases.n_classes)


def measures(cases: Cases, n_bins: int = 10, width_bins: int = 15) -> dict[str, Number]:
    """Everything that says how far a judge's probabilities can be believed; ``n`` is the number of rows.

    ``ece``, ``ece_width`` (mean absolute gap, in bins of equal mass and width), ``ece_debiased`` (root mean square gap,
    debiased) and ``classwise_ece`` (the same over all classes' bins); ``overconfidence``, mean ``confidence`` less mean
    ``hit_rate``; with ties ``tie_excess``, their mean probability less their share; ``nll`` in nats; ``brier`` (per
    vote) and its parts ``reliability`` - ``resolution`` + ``uncertainty``, debiased, in bins of equal width, which add
    up to it but for what varies within bins (Stephenson, Coelho and Jolliffe 2008, Weather and Forecasting 23).
    """
    cells, by_class = verdict_cells(cases, n_bins), class_cells(cases, n_bins)
    rates = cases.weights @ cases.shares / cases.weights.sum()
    found = {
        "ece": cells.absolute,
        "ece_width": verdict_cells(cases, width_bins, "width").absolute,
        "ece_debiased": cells.root,
        "classwise_ece": tuple(end / np.sqrt(cases.n_classes) for end in by_class.root),
        "reliability": tuple(end**2 for end in class_cells(cases, n_bins, "width").root),
        "resolution": tuple(end**2 for end in class_cells(cases, n_bins, "width", rates).root),
    }
    brier = ((cases.probabilities - cases.shares) ** 2 + cases.shares * (1 - cases.shares)).sum(1)
    columns = {
        "overconfidence": cases.confidence - cases.hits,
        "confidence": cases.confidence,
        "hit_rate": cases.hits,
        "brier": brier,
        "nll": log_losses(cases),
    }
    if cases.n_classes == 3:
        columns["tie_excess"] = cases.probabilities[:, 2] - cases.shares[:, 2]
    found |= {name: mean_interval(values, cases.weights, cases.cluster_index) for name, values in columns.items()}
    spread = (cases.shares - rates) @ (1 - 2 * rates) * cases.weights / cases.weights.sum()
    found["uncertainty"] = mean_interval(float(rates @ (1 - rates)), None, cases.cluster_index, spread)
    return {name: number(ends, cases) for name, ends in found.items()}


def number(ends: tuple[float, float, float], cases: Cases, spec: str = ".3f") -> Number:
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
        error = _deviation(np.bincount(here.cluster_index, share * (here.hits - hit)))
        prompts = 1 / (np.bincount(here.cluster_index, share) ** 2).sum()
        worth = float(ratio(hit * (1 - hit), error**2)) if np.isfinite(error) else 1.0
        low, high = proportion_interval(hit, min(max(worth, 1.0), here.weights.sum()) if worth else prompts)
        rows.append((stated, hit, low, high, len(here.items)))
    return pd.DataFrame(rows, columns=["confidence", "accuracy", "low", "high", "count"])


def p_value(found: Number) -> float:
    """Two-sided p-value of no difference, from a symmetric 95 % interval about a difference of means.

    >>> round(p_value(Number(1.96, 0.0, 3.92)), 3)
    0.05
    """
    error = (found.high - found.low) / (2 * float(ndtri((1 + LEVEL) / 2)))
    return float(2 * ndtr(-abs(found.value) / error)) if error > 0 else float(found.value == 0)


# ---------------------------------------------------------------- people's disagreement


def _entropy(shares: Floats) -> Floats:
    """Of each row, in nats."""
    return -(shares * np.log(np.maximum(shares, FLOOR))).sum(1)


def _correlation(x: Floats, y: Floats, cluster_index: Array) -> tuple[float, float, float]:
    """Pearson's correlation, with the 95 % interval over prompts of Fisher's z, from its influence function."""
    value = float(pearson(x, y))
    x, y = (ratio(side - side.mean(), side.std()) for side in (x, y))
    influence = (x * y - value * (x**2 + y**2) / 2) / len(x)
    narrow = 1 - value**2 if value**2 < 1 else 1.0
    _, low, high = mean_interval(np.arctanh(value * (1 - 1e-12)), None, cluster_index, influence / narrow)
    return value, float(np.tanh(low)), float(np.tanh(high))


def disagreement(cases: Cases) -> dict[str, Number]:
    """Whether a judge's confidence knows where people disagree, on the items with two votes or more; else ValueError.

    ``share_correlation`` of the confidence with the share of people's largest party, ``entropy_correlation`` of both
    entropies (too low: a few votes are a poor measure of an item's people); ``stated_agreement`` of two people, which
    the sum of squared probabilities implies, ``people_agreement``, unbiased over pairs of votes, and their gap.
    """
    several = cases.weights >= 2
    if not several.any():
        raise ValueError("no item has two votes: nobody can disagree")
    cases = cases.at(several)
    votes = np.round(cases.shares * cases.weights[:, None])
    people = (votes * (votes - 1)).sum(1) / (cases.weights * (cases.weights - 1))
    stated = (cases.probabilities**2).sum(1)
    sides = {
        "share_correlation": (cases.confidence, cases.shares.max(1)),
        "entropy_correlation": (_entropy(cases.probabilities), _entropy(cases.shares)),
    }
    ends = {name: _correlation(x, y, cases.cluster_index) for name, (x, y) in sides.items()}
    columns = {"stated_agreement": stated, "people_agreement": people, "agreement_gap": stated - people}
    ones = np.ones(len(stated))
    ends |= {name: mean_interval(values, ones, cases.cluster_index) for name, values in columns.items()}
    return {name: number(interval, cases) for name, interval in ends.items()}
