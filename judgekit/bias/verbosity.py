r"""Verbosity: does a judge prefer the longer response, and more so than people do?

Every function reads the table of `judgekit.bias.judged`. Length is told in doublings, :math:`d = \log_2(n_A / n_B)` of
the responses' words; a judge's credit :math:`c` is the mean over the orders it judged (1 for A, one half for a tie).
People prefer long responses too, often because they are better, so a judge that does is not biased by that alone: each
reading stands beside people's own on the same pairs.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from judgekit.stats import Array, Floats, Number, cluster_bootstrap, cluster_sums, ratio

if TYPE_CHECKING:
    import pandas as pd

SEPARATED = 15.0  # log odds per doubling that no data can tell from infinity


class Separated(ValueError):
    """The outcome follows from the design, as a rule's verdicts follow from lengths: its log odds are infinite."""


def readable(table: "pd.DataFrame") -> "pd.DataFrame":
    """The pairs that the judge judged and people spoke on, with ``credit`` and ``doublings``; ValueError if none."""
    table = table.assign(credit=table[["ab", "ba"]].mean(axis=1), doublings=doublings_of(table))
    table = table[table["credit"].notna() & table["people"].notna()]
    if table.empty:
        raise ValueError("no pair has both a verdict and people's preference")
    return table


def doublings_of(table: "pd.DataFrame") -> Array:
    """Base-2 log of the words of A over those of B; an empty response counts as one word."""
    return np.log2(table["words_a"].clip(lower=1) / table["words_b"].clip(lower=1))


def fit_log_odds(outcome: Array, design: Array, clusters: Array) -> Any:
    """A logistic regression of fractions in [0, 1], with standard errors clustered by prompt and t quantiles.

    `Separated` if an effect is infinite.
    """
    import statsmodels.api as sm

    groups = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)[1]
    model = sm.GLM(np.asarray(outcome, float), np.asarray(design, float), family=sm.families.Binomial())
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # on the way to infinity, which is told below
        fit = model.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    if not fit.converged or not np.abs(fit.params).max() < SEPARATED:
        raise Separated("the outcome follows from the design: its log odds are infinite")
    return fit


def number_of(fit: Any, place: int, n: int, spec: str = ".2f") -> Number:
    """One coefficient with its interval."""
    low, high = fit.conf_int()[place]
    return Number(fit.params[place], low, high, n, spec)


def length_effects(table: "pd.DataFrame") -> tuple[dict[str, Number], float]:
    r"""Log odds per doubling of length that a response is preferred, and the two-sided p-value of their ``excess``.

    ``judge`` and ``people``, each by length alone; ``excess``, the judge's less people's; ``given_people``, the
    judge's with people's preference :math:`h` as covariate.

    .. math:: \operatorname{logit} E[c] = \alpha_1 + \lambda_1 d, \quad
              \operatorname{logit} E[h] = \alpha_0 + \lambda_0 d, \quad
              \operatorname{logit} E[c] = \alpha + \lambda d + \beta h

    with ``excess`` :math:`\lambda_1 - \lambda_0`, both from one stacked fit, so that its interval knows that the pairs
    are the same. Three things to know:

    1. ``given_people`` is free of quality only as far as people's preference is: a few votes measure quality with
       noise, and :math:`\lambda` keeps a part of what length and quality share. It is a judge's own taste for length
       only where long responses are no better than short ones.
    2. ``excess`` is free of quality only if the judge weighs quality as people do. `judgekit.bias.latent_length`
       needs neither assumption, but several votes on a pair.
    3. All are averages over pairs: log odds shrink where the pairs differ in what is not in the model (quality, the
       judge's opinions), here to four fifths or so of the log odds for one pair.
    """
    table = readable(table)
    n, ones, d = len(table), np.ones(len(table)), table["doublings"].to_numpy()
    alone = np.column_stack([ones, d])
    none = np.zeros_like(alone)
    stacked = np.block([[alone, none], [none, alone]])  # the judge's rows, then people's
    fit = fit_log_odds(np.concatenate([table["credit"], table["people"]]), stacked, np.tile(table["cluster"], 2))
    given = fit_log_odds(table["credit"], np.column_stack([alone, table["people"]]), table["cluster"])
    contrast = fit.t_test([0, 1, 0, -1])
    excess = Number(contrast.effect[0], *contrast.conf_int()[0], n, ".2f")  # type: ignore[call-arg]  # two ends
    found = {"judge": number_of(fit, 1, n), "people": number_of(fit, 3, n), "excess": excess}
    return found | {"given_people": number_of(given, 1, n)}, float(contrast.pvalue)


def rate(numerator: Array, denominator: Array, clusters: Array, n_boot: int, seed: int, n: int | None = None) -> Number:
    """A ratio of sums with its interval over prompts, in per cent of one."""
    sums = cluster_sums(np.column_stack([numerator, denominator]), clusters)
    found = cluster_bootstrap(sums, lambda s: ratio(s[..., 0], s[..., 1]), n_boot, seed)
    return Number(*found, n=int(np.sum(denominator)) if n is None else n, spec=".1%")


def prefers_longer(table: "pd.DataFrame", n_boot: int = 10_000, seed: int = 0) -> dict[str, Number]:
    """How often the longer response is preferred, of the pairs whose lengths differ; a tie counts half.

    ``judge``, ``people``, and ``difference``, the judge's less people's on the same pairs.
    """
    table = readable(table)
    table = table[table["doublings"] != 0]
    longer = table["doublings"].to_numpy() > 0
    said = {name: np.where(longer, table[column], 1 - table[column]) for name, column in SPEAKERS.items()}
    said["difference"] = said["judge"] - said["people"]
    return {name: rate(x, np.ones(len(x)), table["cluster"], n_boot, seed) for name, x in said.items()}


SPEAKERS = {"judge": "credit", "people": "people"}


def error_gap(table: "pd.DataFrame", n_boot: int = 10_000, seed: int = 0) -> dict[str, Number]:
    """Error rate where people prefer the shorter response, less that where they prefer the longer.

    ``shorter`` and ``longer``, the error rates (a judge's tie is half an error), and ``gap``.

    Saito et al. (2023), arXiv:2310.10076, who compare rates of being right: the same difference. Above 0, the judge
    errs towards length. It is 0 for a judge without a taste for length only if the pairs of both kinds are equally
    hard: where long responses are better by far, people's votes for the shorter one are the close calls, and any judge
    errs on them more.
    """
    table = readable(table)
    table = table[(table["people"] != 0.5) & (table["doublings"] != 0)]
    right = np.where(table["people"] > 0.5, table["credit"], 1 - table["credit"])
    longer = (table["people"] > 0.5).to_numpy() == (table["doublings"] > 0).to_numpy()
    if longer.all() or not longer.any():
        raise ValueError("people always prefer the longer response, or always the shorter: no gap can be told")
    columns = [(1 - right) * ~longer, ~longer, (1 - right) * longer, longer]
    sums = cluster_sums(np.column_stack(columns).astype(float), table["cluster"])
    short, long = (lambda s: ratio(s[..., 0], s[..., 1])), (lambda s: ratio(s[..., 2], s[..., 3]))
    rates = {"shorter": short, "longer": long, "gap": lambda s: short(s) - long(s)}
    counts = {"shorter": int((~longer).sum()), "longer": int(longer.sum()), "gap": len(longer)}
    return {
        name: Number(*cluster_bootstrap(sums, statistic, n_boot, seed), n=counts[name], spec=".1%")
        for name, statistic in rates.items()
    }


def partial_correlation(table: "pd.DataFrame", n_boot: int = 10_000, seed: int = 0) -> Number:
    """Correlation of the judge's preference with length, with people's preference held fixed; in [-1, 1].

    The judge's probability (of A, and half that of a tie) where it gave probabilities throughout, its credit
    otherwise. Pearson's, on doublings; what is said of ``given_people`` in `length_effects` holds for it too.
    """
    table = readable(table)
    stated = table[["p_ab", "p_ba"]].mean(axis=1)
    leaning = table["credit"] if stated.isna().any() else stated
    x = np.column_stack([np.ones(len(table)), leaning, table["doublings"], table["people"]])
    sums = cluster_sums(x[:, :, None] * x[:, None, :], table["cluster"])
    return Number(*cluster_bootstrap(sums, partial_of_moments, n_boot, seed), n=len(table), spec=".2f")


def partial_of_moments(sums: Floats) -> Floats:
    """Correlation of the second and third variable given the fourth, from sums of products; the first is one."""
    mean = sums[..., 0, 1:] / sums[..., 0, :1]
    covariance = sums[..., 1:, 1:] / sums[..., :1, :1] - mean[..., :, None] * mean[..., None, :]
    spread = np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 0))
    r = ratio(covariance, spread[..., :, None] * spread[..., None, :])
    xy, xz, yz = r[..., 0, 1], r[..., 0, 2], r[..., 1, 2]
    return ratio(xy - xz * yz, np.sqrt(np.maximum((1 - xz**2) * (1 - yz**2), 0)))


def length_baselines(table: "pd.DataFrame", n_folds: int = 5, n_boot: int = 10_000, seed: int = 0) -> dict[str, Number]:
    """How far length alone goes: agreement with people, of the pairs on which they have a preference.

    ``longer``: the rule that prefers the longer response (equal is half right). ``threshold``: the rule that
    prefers it unless it is longer by more than some doublings, and then the shorter; the threshold is learnt on
    other prompts (cross-fitted). ``gain``: the second less the first.
    """
    table = table.assign(doublings=doublings_of(table))
    table = table[table["people"].notna() & (table["people"] != 0.5)]
    towards = np.where(table["people"] > 0.5, 1, -1) * table["doublings"].to_numpy()  # how much longer people's is
    longer = (1 + np.sign(towards)) / 2
    names, prompt = np.unique(np.asarray(table["cluster"], dtype=str), return_inverse=True)
    folds = np.random.default_rng(seed).permutation(len(names))[prompt] % n_folds
    grid = np.append(np.quantile(np.abs(towards), np.linspace(0.05, 0.95, 19)), np.inf)
    right = np.where(np.abs(towards)[:, None] <= grid, longer[:, None], 1 - longer[:, None])
    # Of equals the widest: nothing learnt is the rule that prefers the longer response.
    best = [len(grid) - 1 - right[folds != fold].mean(0)[::-1].argmax() for fold in range(n_folds)]
    learnt = right[np.arange(len(right)), np.array(best)[folds]]
    rules = {"longer": longer, "threshold": learnt, "gain": learnt - longer}
    return {name: rate(x, np.ones(len(x)), table["cluster"], n_boot, seed) for name, x in rules.items()}
