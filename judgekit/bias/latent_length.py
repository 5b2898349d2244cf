r"""A judge's taste for length beyond what quality explains, from the votes of several people on each pair.

Quality is not seen; people's votes measure it with noise. In this model it is a latent variable: people prefer A with
the log odds :math:`y` and the judge, shown the pair in one order, with :math:`\eta`,

.. math:: y = g d + v x, \qquad \eta = \beta y + l d + \tau z \pm p, \qquad x, z \sim N(0, 1)

with :math:`d` doublings of length, :math:`g` what people make of a doubling, :math:`v` the spread of quality of
equally long responses, :math:`\beta` the weight of people's preference for the judge, :math:`\tau` the spread of the
judge's own opinions and :math:`p` its position bias. Several votes on a pair tell :math:`v` from noise, verdicts in
both orders tell :math:`\tau`; so :math:`l` is neither confounded by quality nor shrunk.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from judgekit.bias.verbosity import SEPARATED, readable
from judgekit.stats import Array, Floats, Number

if TYPE_CHECKING:
    import pandas as pd

NODES = (11, 5)  # of quadrature, over people's preference and the judge's opinion
START = np.array([0.1, 1.0, 0.8, 0.1, 0.5, 0.0])  # g, v, beta, l, tau, p
STEP = 1e-4


class NoOptimum(ValueError):
    """The data do not determine the model."""


@dataclass(frozen=True)
class LatentLength:
    """What the model says of a judge, in log odds."""

    length: Number  # per doubling, that the judge gives to length itself: l
    people: Number  # of people per doubling, g: quality that comes with length, and people's own taste for it
    weight: Number  # the judge's log odds per log odds of people: beta


def fit_latent_length(table: "pd.DataFrame") -> LatentLength:
    """The model's estimates for one judge; intervals are of the sandwich over prompts, with t quantiles.

    ``table`` is `judgekit.bias.judged.judged_table`'s. ValueError if fewer than a tenth of its pairs have several
    votes, `NoOptimum` if the data do not determine the model, as where votes are never split.

    Maximum marginal likelihood by Gauss-Hermite quadrature. Three weaknesses. A tie, of people or of the judge, is half
    of each outcome, which shrinks log odds. A judge with one order, or one that is symmetric, has no opinions of its
    own here (:math:`\\tau = 0`), so that its log odds are over the chance that these bring in. And errors that people
    and the judge share count as quality: if people like length for its own sake, :math:`l` is what the judge adds.
    """
    from scipy.stats import t

    table = readable(table)
    if (several := int((table["n_votes"] > 1).sum())) < len(table) / 10:
        raise ValueError(f"{several} of {len(table)} pairs have more than one vote: quality cannot be told from noise")
    data = LatentData.of(table)
    place, bread = optimum(data)
    if bread is None and data.opinions:  # no opinions to be seen: the likelihood is flat in their spread
        data = replace(data, opinions=False)
        place, bread = optimum(data)
    if bread is None:
        raise NoOptimum("the likelihood is flat at its highest point: the votes do not tell quality from noise")
    by_prompt = np.zeros((data.prompt.max() + 1, len(place)))
    np.add.at(by_prompt, data.prompt, data.loss(place)[2])
    groups = len(by_prompt)
    error = np.sqrt(np.diag(bread @ (by_prompt.T @ by_prompt) @ bread) * groups / (groups - 1))
    half = t.ppf(0.975, groups - 1) * error
    low, high = place - half, place + half
    people, weight, length = (Number(place[i], low[i], high[i], len(table), ".2f") for i in (0, 2, 3))
    return LatentLength(length, people, weight)


def optimum(data: "LatentData") -> tuple[Floats, Floats | None]:
    """The most likely parameters and the inverse of the Hessian there; None for it where the likelihood is flat.

    `NoOptimum` if there is none, or an infinite one.
    """
    from scipy.optimize import minimize

    start = START[data.free]
    slopes = data.loss(start)[2]
    information = slopes.T @ slopes + 1e-3 * np.eye(len(start))
    options = {"gtol": 1e-2, "hess_inv0": symmetric_inverse(information)}
    with np.errstate(over="ignore", invalid="ignore"):  # a step too far is taken back, an infinite optimum told below
        fit = minimize(lambda x: data.loss(x)[:2], start, jac=True, method="BFGS", options=options)
    if not np.isfinite(fit.fun) or np.abs(fit.jac).max() > 1 or np.abs(fit.x).max() > SEPARATED:
        raise NoOptimum(f"no optimum was found, or an infinite one: {fit.message}")
    steps = STEP * np.eye(len(start))
    hessian = [(data.loss(fit.x + step)[1] - data.loss(fit.x - step)[1]) / (2 * STEP) for step in steps]
    rising = np.linalg.eigvalsh(np.array(hessian) + np.transpose(hessian)).min() > 0
    return fit.x, symmetric_inverse(hessian) if rising else None


@dataclass(frozen=True)
class LatentData:
    """The pairs as arrays."""

    d: np.ndarray  # doublings
    votes: np.ndarray  # for A
    n_votes: np.ndarray
    credits: np.ndarray  # in both orders; NaN where there is none
    prompt: np.ndarray
    opinions: bool  # whether the spread of the judge's opinions is estimated

    @classmethod
    def of(cls, table: "pd.DataFrame") -> "LatentData":
        """The arrays of a readable table."""
        d, n = table["doublings"].to_numpy(), table["n_votes"].to_numpy(float)
        prompt = np.unique(np.asarray(table["cluster"], dtype=str), return_inverse=True)[1]
        credits = table[["ab", "ba"]].to_numpy(float).T.copy()
        both = np.isfinite(credits).all(0)
        told_apart = bool((credits[0] != credits[1])[both].any())
        if both.any() and not told_apart:  # a symmetric judge says nothing new in the other order
            credits[1, both] = np.nan
        return cls(d, table["people"].to_numpy() * n, n, credits, prompt, told_apart)

    @property
    def free(self) -> Array:
        """Which of the six parameters are estimated."""
        return np.array([0, 1, 2, 3, 4, 5] if self.opinions else [0, 1, 2, 3, 5])

    def loss(self, values: Floats) -> tuple[float, Floats, Floats]:
        """Negative log-likelihood, its gradient, and its gradient by pair, at some values of the free parameters."""
        theta = np.zeros(6)
        theta[self.free] = values
        g, v, beta, length, tau, position = theta
        (x, log_x), (z, log_z) = (normal_nodes(n) for n in (NODES[0], NODES[1] if self.opinions else 1))
        y = (g * self.d)[:, None] + v * x
        weighed = beta * y[:, :, None] + (length * self.d)[:, None, None] + tau * z
        grown = np.exp(y)
        heard = self.votes[:, None] - self.n_votes[:, None] * grown / (1 + grown)
        spoken = self.votes[:, None] * y - self.n_votes[:, None] * np.log1p(grown)
        total = (spoken + log_x)[:, :, None] + log_z
        residuals = []
        for sign, credit in zip((1, -1), self.credits, strict=True):
            given, credit = np.isfinite(credit)[:, None, None], np.nan_to_num(credit)[:, None, None]
            eta = weighed + sign * position
            grown = np.exp(eta)
            total = total + given * (credit * eta - np.log1p(grown))
            residuals.append(given * (credit - grown / (1 + grown)))
        top = total.max((1, 2), keepdims=True)
        likely = np.exp(total - top)
        mass = likely.sum((1, 2), keepdims=True)
        likely /= mass
        pulled = likely * (residuals[0] + residuals[1])
        by_quality = pulled.sum(2)
        moved = likely.sum(2) * heard + beta * by_quality
        turned = (likely * (residuals[0] - residuals[1])).sum((1, 2))
        slopes: Any = [moved.sum(1) * self.d, moved @ x, (by_quality * y).sum(1), by_quality.sum(1) * self.d]
        slopes = -np.column_stack([*slopes, pulled.sum(1) @ z, turned])[:, self.free]
        return -float((top + np.log(mass)).sum()), slopes.sum(0), slopes


def symmetric_inverse(matrix: Array) -> Floats:
    """The inverse of a matrix that is symmetric but for rounding, and exactly symmetric itself."""
    inverse = np.linalg.inv(np.asarray(matrix))
    return (inverse + inverse.T) / 2


def normal_nodes(n: int) -> tuple[Floats, Floats]:
    """Nodes and log weights that integrate over a standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    return nodes, np.log(weights / weights.sum())
