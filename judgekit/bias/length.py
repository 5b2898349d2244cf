r"""Length: does a judge prefer the longer response, and more so than people do?

Every function reads the table of `judgekit.bias.judged`. Length is in doublings, :math:`d = \log_2(n_A / n_B)` of the
responses' words; a judge's credit :math:`c` is the mean over the orders it judged (1 for A, one half for a tie).
People prefer long responses too, often because they are better, so a judge that does is not biased by that alone: each
reading stands beside people's own on the same pairs.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from judgekit.stats import Array, Floats, Number, cluster_bootstrap, cluster_sums, interval, ratio

SEPARATED = 15.0  # log odds per doubling that no data can tell from infinity
NODES = (11, 5)  # of quadrature in the latent model, over people's preference and the judge's opinion
START = np.array([0.1, 1.0, 0.8, 0.1, 0.5, 0.0])  # g, v, beta, l, tau, p
STEP = 1e-4


class Separated(ValueError):
    """The outcome follows from the design, as a rule's verdicts follow from lengths: its log odds are infinite."""


class NoOptimum(ValueError):
    """The data do not determine the latent model."""


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """The pairs with a verdict and people's preference, with ``credit`` and ``doublings``; ValueError if none."""
    table = table.assign(credit=table[["ab", "ba"]].mean(axis=1), doublings=doublings_of(table))
    table = table[table["credit"].notna() & table["people"].notna()]
    if table.empty:
        raise ValueError("no pair has both a verdict and people's preference")
    return table


def doublings_of(table: pd.DataFrame) -> Array:
    """Base-2 log of the words of A over those of B; an empty response counts as one word."""
    return np.log2(table["words_a"].clip(lower=1) / table["words_b"].clip(lower=1))


def fit_log_odds(outcome: Array, design: Array, prompts: Array) -> Any:
    """A logistic regression of fractions in [0, 1], with standard errors clustered by prompt and t quantiles.

    `Separated` if an effect is infinite.
    """
    import statsmodels.api as sm

    groups = np.unique(np.asarray(prompts, dtype=str), return_inverse=True)[1]
    model = sm.GLM(np.asarray(outcome, float), np.asarray(design, float), family=sm.families.Binomial())
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # on the way to infinity, which is told below
        fit = model.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    if not fit.converged or not np.abs(fit.params).max() < SEPARATED:
        raise Separated("the outcome follows from the design: its log odds are infinite")
    return fit


def coefficient(fit: Any, place: int, n: int) -> Number:
    """One coefficient with its interval."""
    low, high = fit.conf_int()[place]
    return Number(fit.params[place], low, high, n, ".2f")


def contrast(fit: Any, weights: Array, n: int) -> tuple[Number, float]:
    """A weighted sum of coefficients with its interval, and its two-sided p-value."""
    test = fit.t_test(weights)
    low, high = test.conf_int()[0]
    return Number(test.effect[0], low, high, n=n, spec=".2f"), float(test.pvalue)


def beside_people(table: pd.DataFrame, design: Array) -> Any:
    """One fit of the judge's and people's preferences on a design each, the judge's coefficients first.

    From one stacked fit, so that the interval of a difference knows that the pairs are the same.
    """
    none = np.zeros_like(design)
    stacked = np.block([[design, none], [none, design]])
    return fit_log_odds(np.concatenate([table["credit"], table["people"]]), stacked, np.tile(table["prompt"], 2))


def length_effects(table: pd.DataFrame) -> tuple[dict[str, Number], float]:
    r"""Log odds per doubling of length that a response is preferred, and the two-sided p-value of their ``excess``.

    ``judge`` and ``people``, each by length alone; ``excess``, the judge's less people's; ``given_people``, the
    judge's with people's preference :math:`h` as covariate.

    .. math:: \operatorname{logit} E[c] = \alpha_1 + \lambda_1 d, \quad
              \operatorname{logit} E[h] = \alpha_0 + \lambda_0 d, \quad
              \operatorname{logit} E[c] = \alpha + \lambda d + \beta h

    with ``excess`` :math:`\lambda_1 - \lambda_0`. Three things to know:

    1. ``given_people`` is free of quality only as far as people's preference is: a few votes measure quality with
       noise, and :math:`\lambda` keeps a part of what length and quality share. It is a judge's own taste for length
       only where long responses are no better than short ones.
    2. ``excess`` is free of quality only if the judge weighs quality as people do. `fit_latent_length` needs neither
       assumption, but several votes on a pair.
    3. All are averages over pairs: log odds shrink where the pairs differ in what is not in the model (quality, the
       judge's opinions), here to four fifths or so of the log odds for one pair.
    """
    table = readable(table)
    n, alone = len(table), np.column_stack([np.ones(len(table)), table["doublings"]])
    fit = beside_people(table, alone)
    given = fit_log_odds(table["credit"], np.column_stack([alone, table["people"]]), table["prompt"])
    excess, p_value = contrast(fit, [0, 1, 0, -1], n)
    effects = {"judge": coefficient(fit, 1, n), "people": coefficient(fit, 3, n), "excess": excess}
    return effects | {"given_people": coefficient(given, 1, n)}, p_value


def error_gap(table: pd.DataFrame, n_boot: int = 10_000, seed: int = 0) -> dict[str, Number]:
    """Error rate where people prefer the shorter response, less that where they prefer the longer.

    ``shorter`` and ``longer``, the error rates (a judge's tie is half an error), and ``gap``.

    Saito et al. (2023), arXiv:2310.10076, who compare rates of being right: the same difference. Above 0, the judge
    errs towards length. It is 0 for a judge without a taste for length only if the pairs of both kinds are equally
    hard: where long responses are better by far, people's votes for the shorter one are the close calls, and any judge
    errs on them more.
    """
    table = readable(table)
    table = table[(table["people"] != 0.5) & (table["doublings"] != 0)]
    wrong = 1 - np.where(table["people"] > 0.5, table["credit"], 1 - table["credit"])
    longer = (table["people"] > 0.5).to_numpy() == (table["doublings"] > 0).to_numpy()
    if longer.all() or not longer.any():
        raise ValueError("people always prefer the longer response, or always the shorter: no gap can be told")
    values = np.stack([np.column_stack([wrong * side, side]) for side in (~longer, longer)], 1).astype(float)

    def rate(of: tuple[float, float]) -> Any:
        return lambda sums: ratio(sums[..., 0], sums[..., 1]) @ np.array(of)

    kinds = {"shorter": ((1, 0), ~longer), "longer": ((0, 1), longer), "gap": ((1, -1), longer | True)}
    return {
        name: interval(rate(of), table["prompt"], values, n=int(on.sum()), spec=".1%", n_boot=n_boot, seed=seed)
        for name, (of, on) in kinds.items()
    }


def partial_correlation(table: pd.DataFrame, n_boot: int = 10_000, seed: int = 0) -> Number:
    """Correlation of the judge's preference with length, with people's preference held fixed; in [-1, 1].

    The judge's probability (of A, and half that of a tie) where it gave probabilities throughout, its credit
    otherwise. Pearson's, on doublings; what is said of ``given_people`` in `length_effects` holds for it too.
    """
    table = readable(table)
    stated = table[["p_ab", "p_ba"]].mean(axis=1)
    leaning = table["credit"] if stated.isna().any() else stated
    x = np.column_stack([np.ones(len(table)), leaning, table["doublings"], table["people"]])
    sums = cluster_sums(x[:, :, None] * x[:, None, :], table["prompt"])
    return Number(*cluster_bootstrap(sums, _partial_of_moments, n_boot, seed), n=len(table), spec=".2f")


def _partial_of_moments(sums: Floats) -> Floats:
    """Correlation of the second and third variable given the fourth, from sums of products; the first is one."""
    mean = sums[..., 0, 1:] / sums[..., 0, :1]
    covariance = sums[..., 1:, 1:] / sums[..., :1, :1] - mean[..., :, None] * mean[..., None, :]
    spread = np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 0))
    r = ratio(covariance, spread[..., :, None] * spread[..., None, :])
    xy, xz, yz = r[..., 0, 1], r[..., 0, 2], r[..., 1, 2]
    return ratio(xy - xz * yz, np.sqrt(np.maximum((1 - xz**2) * (1 - yz**2), 0)))


# ---------------------------------------------------------------- the latent model


def fit_latent_length(table: pd.DataFrame) -> dict[str, Number]:
    r"""A judge's taste for length beyond what quality explains, from the votes of several people on each pair.

    ``length``, log odds per doubling that the judge gives to length itself; ``people``, of people per doubling:
    quality that comes with length, and people's own taste for it; ``weight``, the judge's log odds per log odds of
    people. Intervals are of the sandwich over prompts, with t quantiles. ValueError if fewer than a tenth of the pairs
    have several votes, `NoOptimum` if the data do not determine the model, as where votes are never split.

    Quality is not seen; people's votes measure it with noise. Here it is a latent variable: people prefer A with the
    log odds :math:`y` and the judge, shown the pair in one order, with :math:`\eta`,

    .. math:: y = g d + v x, \qquad \eta = \beta y + l d + \tau z \pm p, \qquad x, z \sim N(0, 1)

    with :math:`g` what people make of a doubling, :math:`v` the spread of quality of equally long responses,
    :math:`\beta` the weight, :math:`\tau` the spread of the judge's own opinions and :math:`p` its position bias.
    Several votes on a pair tell :math:`v` from noise, verdicts in both orders tell :math:`\tau`; so :math:`l` is
    neither confounded by quality nor shrunk. Maximum marginal likelihood by Gauss-Hermite quadrature.

    Three weaknesses. A tie, of people or of the judge, is half of each outcome, which shrinks log odds. A judge with
    one order, or one that is symmetric, has no opinions of its own here (:math:`\tau = 0`), so that its log odds are
    over the chance that these bring in. And errors that people and the judge share count as quality: if people like
    length for its own sake, :math:`l` is what the judge adds.
    """
    from scipy.stats import t

    table = readable(table)
    if (several := int((table["n_votes"] > 1).sum())) < len(table) / 10:
        raise ValueError(f"{several} of {len(table)} pairs have more than one vote: quality cannot be told from noise")
    data = _latent_data(table)
    place, bread = _optimum(data)
    if bread is None and data.opinions:  # no opinions to be seen: the likelihood is flat in their spread
        data = replace(data, opinions=False)
        place, bread = _optimum(data)
    if bread is None:
        raise NoOptimum("the likelihood is flat at its highest point: the votes do not tell quality from noise")
    by_prompt = np.zeros((data.prompt.max() + 1, len(place)))
    np.add.at(by_prompt, data.prompt, data.loss(place)[2])
    groups = len(by_prompt)
    error = np.sqrt(np.diag(bread @ (by_prompt.T @ by_prompt) @ bread) * groups / (groups - 1))
    half = t.ppf(0.975, groups - 1) * error
    low, high = place - half, place + half
    names = {"length": 3, "people": 0, "weight": 2}
    return {name: Number(place[i], low[i], high[i], len(table), ".2f") for name, i in names.items()}


def _optimum(data: "_LatentData") -> tuple[Floats, Floats | None]:
    """The most likely parameters and the inverse of the Hessian there; None for it where the likelihood is flat.

    `NoOptimum` if there is none, or an infinite one.
    """
    from scipy.optimize import minimize

    start = START[data.free]
    slopes = data.loss(start)[2]
    information = slopes.T @ slopes + 1e-3 * np.eye(len(start))
    options = {"gtol": 1e-2, "hess_inv0": _symmetric_inverse(information)}
    with np.errstate(over="ignore", invalid="ignore"):  # a step too far is taken back, an infinite optimum told below
        fit = minimize(lambda x: data.loss(x)[:2], start, jac=True, method="BFGS", options=options)
    if not np.isfinite(fit.fun) or np.abs(fit.jac).max() > 1 or np.abs(fit.x).max() > SEPARATED:
        raise NoOptimum(f"no optimum was found, or an infinite one: {fit.message}")
    steps = STEP * np.eye(len(start))
    hessian = np.array([(data.loss(fit.x + step)[1] - data.loss(fit.x - step)[1]) / (2 * STEP) for step in steps])
    rising = np.linalg.eigvalsh(hessian + hessian.T).min() > 0
    return fit.x, _symmetric_inverse(hessian) if rising else None


def _symmetric_inverse(matrix: Floats) -> Floats:
    """The inverse of a matrix that is symmetric but for rounding, and exactly symmetric itself."""
    inverse = np.linalg.inv(matrix)
    return (inverse + inverse.T) / 2


def _latent_data(table: pd.DataFrame) -> "_LatentData":
    d, n = table["doublings"].to_numpy(), table["n_votes"].to_numpy(float)
    prompt = np.unique(np.asarray(table["prompt"], dtype=str), return_inverse=True)[1]
    credits = table[["ab", "ba"]].to_numpy(float).T.copy()
    both = np.isfinite(credits).all(0)
    differ = bool((credits[0] != credits[1])[both].any())
    if both.any() and not differ:  # the second order of a symmetric judge adds nothing
        credits[1, both] = np.nan
    return _LatentData(d, table["people"].to_numpy() * n, n, credits, prompt, differ)


@dataclass(frozen=True)
class _LatentData:
    """The pairs as arrays."""

    d: Floats  # doublings
    votes: Floats  # for A
    n_votes: Floats
    credits: Floats  # in both orders; NaN where there is none
    prompt: Array
    opinions: bool  # whether the spread of the judge's opinions is estimated

    @property
    def free(self) -> Array:
        """Which of the six parameters are estimated."""
        return np.array([0, 1, 2, 3, 4, 5] if self.opinions else [0, 1, 2, 3, 5])

    def loss(self, values: Floats) -> tuple[float, Floats, Floats]:
        """Negative log-likelihood, its gradient, and its gradient by pair, at some values of the free parameters."""
        theta = np.zeros(6)
        theta[self.free] = values
        g, v, beta, length, tau, position = theta
        (x, log_x), (z, log_z) = (_normal_nodes(n) for n in (NODES[0], NODES[1] if self.opinions else 1))
        y = (g * self.d)[:, None] + v * x
        weighed = beta * y[:, :, None] + (length * self.d)[:, None, None] + tau * z
        grown = np.exp(y)
        of_votes = self.votes[:, None] - self.n_votes[:, None] * grown / (1 + grown)
        total = (self.votes[:, None] * y - self.n_votes[:, None] * np.log1p(grown) + log_x)[:, :, None] + log_z
        residuals = []
        for sign, credit in zip((1, -1), self.credits, strict=True):
            given, known = np.isfinite(credit)[:, None, None], np.nan_to_num(credit)[:, None, None]
            eta = weighed + sign * position
            grown = np.exp(eta)
            total = total + given * (known * eta - np.log1p(grown))
            residuals.append(given * (known - grown / (1 + grown)))
        top = total.max((1, 2), keepdims=True)
        likely = np.exp(total - top)
        mass = likely.sum((1, 2), keepdims=True)
        likely /= mass
        pulled = likely * (residuals[0] + residuals[1])
        by_quality = pulled.sum(2)
        moved = likely.sum(2) * of_votes + beta * by_quality
        turned = (likely * (residuals[0] - residuals[1])).sum((1, 2))
        slopes: Any = [moved.sum(1) * self.d, moved @ x, (by_quality * y).sum(1), by_quality.sum(1) * self.d]
        slopes = -np.column_stack([*slopes, pulled.sum(1) @ z, turned])[:, self.free]
        return -float((top + np.log(mass)).sum()), slopes.sum(0), slopes


def _normal_nodes(n: int) -> tuple[Floats, Floats]:
    """Nodes and log weights that integrate over a standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    return nodes, np.log(weights / weights.sum())
