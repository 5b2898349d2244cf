r"""Length: does a judge prefer the longer response, and more so than people do?

Length is in doublings, :math:`d = \log_2(n_A / n_B)` of the responses' words; a judge's credit :math:`c` is the mean
over the orders it judged (1 for A, one half for a tie). People prefer long responses too, often because they are
better: each reading stands beside people's own on the same pairs.
"""

from typing import Any

import numpy as np
import pandas as pd

from judgekit.stats import Array, Number

SEPARATED = 15.0  # log odds per doubling that no data can tell from infinity


class Separated(ValueError):
    """Log odds that are infinite, as a rule's verdicts follow from lengths, or that no pairs of a set can tell."""


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """The pairs with a verdict and people's preference, with ``credit`` and ``doublings`` (base-2 log of the words of A
    over those of B, an empty response counting as one word); ValueError if none."""
    doublings = np.log2(table["words_a"].clip(lower=1) / table["words_b"].clip(lower=1))
    table = table.assign(credit=table[["ab", "ba"]].mean(axis=1), doublings=doublings)
    table = table[table["credit"].notna() & table["people"].notna()]
    if table.empty:
        raise ValueError("no pair has both a verdict and people's preference")
    return table


def fit_log_odds(outcome: Array, design: Array, prompts: Array) -> Any:
    """A logistic regression of fractions in [0, 1], its errors clustered by prompt; `Separated` if one is infinite."""
    import statsmodels.api as sm

    groups, design = np.unique(np.asarray(prompts, dtype=str), return_inverse=True)[1], np.asarray(design, float)
    if np.linalg.matrix_rank(design) < design.shape[1] or not groups.any():
        raise Separated("every pair has the same lengths, people say one thing, or there is one prompt")
    model = sm.GLM(np.asarray(outcome, float), design, family=sm.families.Binomial())
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # on the way to infinity, which is told below
        fit = model.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    if not fit.converged or not np.abs(fit.params).max() < SEPARATED:
        raise Separated("the outcome follows from the design: its log odds are infinite")
    return fit


def length_effects(table: pd.DataFrame) -> tuple[dict[str, Number], float]:
    r"""Log odds per doubling of length that a response is preferred, and the two-sided p-value of their ``excess``.

    ``judge`` and ``people``, each by length alone; ``excess``, the judge's less people's; ``given_people``, the
    judge's with people's preference :math:`h` as covariate.

    .. math:: \operatorname{logit} E[c] = \alpha_1 + \lambda_1 d, \quad
              \operatorname{logit} E[h] = \alpha_0 + \lambda_0 d, \quad
              \operatorname{logit} E[c] = \alpha + \lambda d + \beta h

    with ``excess`` :math:`\lambda_1 - \lambda_0`, free of quality only if the judge weighs quality as people do, and
    ``given_people`` :math:`\lambda`, only as far as few votes measure quality. All are averages over pairs: log odds
    shrink where the pairs differ in what is not in the model, here to four fifths or so of those for one pair.
    """
    table = readable(table)
    alone = np.column_stack([np.ones(len(table)), table["doublings"]])
    both, none = np.concatenate([table["credit"], table["people"]]), np.zeros_like(alone)
    # One stacked fit, so that the interval of the difference knows that the pairs are the same.
    fit = fit_log_odds(both, np.block([[alone, none], [none, alone]]), np.tile(table["prompt"], 2))
    given = fit_log_odds(table["credit"], np.column_stack([alone, table["people"]]), table["prompt"])
    excess, ends = fit.t_test([0, 1, 0, -1]), fit.conf_int()
    found: dict[str, Any] = {"judge": (fit.params[1], *ends[1]), "people": (fit.params[3], *ends[3])}
    found |= {"excess": (excess.effect[0], *excess.conf_int()[0])}
    found |= {"given_people": (given.params[1], *given.conf_int()[1])}
    effects = {name: Number(value, low, high, len(table), ".2f") for name, (value, low, high) in found.items()}
    return effects, float(excess.pvalue)
