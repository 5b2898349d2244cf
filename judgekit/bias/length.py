r"""Length: does a judge prefer the longer response, and more so than people do?

Every function reads the table of `judgekit.bias.judged`. Length is in doublings, :math:`d = \log_2(n_A / n_B)` of the
responses' words; a judge's credit :math:`c` is the mean over the orders it judged (1 for A, one half for a tie).
People prefer long responses too, often because they are better, so a judge that does is not biased by that alone: each
reading stands beside people's own on the same pairs.
"""

from typing import Any

import numpy as np
import pandas as pd

from judgekit.stats import Array, Floats, Number, interval, ratio

SEPARATED = 15.0  # log odds per doubling that no data can tell from infinity


class Separated(ValueError):
    """The outcome follows from the design, as a rule's verdicts follow from lengths: its log odds are infinite."""


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
    2. ``excess`` is free of quality only if the judge weighs quality as people do.
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


def error_gap(table: pd.DataFrame, n_boot: int = 10_000, seed: int = 0) -> Number:
    """Error rate where people prefer the shorter response, less that where they prefer the longer; a tie is half wrong.

    Saito et al. (2023), arXiv:2310.10076. Above 0, the judge errs towards length. It is 0 for a judge without a taste
    for length only if the pairs of both kinds are equally hard: where long responses are better by far, people's votes
    for the shorter one are the close calls, and any judge errs on them more.
    """
    table = readable(table)
    table = table[(table["people"] != 0.5) & (table["doublings"] != 0)]
    wrong = 1 - np.where(table["people"] > 0.5, table["credit"], 1 - table["credit"])
    longer = (table["people"] > 0.5).to_numpy() == (table["doublings"] > 0).to_numpy()
    if longer.all() or not longer.any():
        raise ValueError("people always prefer the longer response, or always the shorter: no gap can be told")
    counts = np.column_stack([wrong * ~longer, ~longer, wrong * longer, longer]).astype(float)

    def gap(sums: Floats) -> Floats:
        return ratio(sums[..., 0], sums[..., 1]) - ratio(sums[..., 2], sums[..., 3])

    return interval(gap, table["prompt"], counts, spec=".1%", n_boot=n_boot, seed=seed, signed=True)
