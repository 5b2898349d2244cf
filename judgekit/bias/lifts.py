r"""What a judge adds to a target's win rate: four estimators, each with what it takes for granted.

Each reads the rows of `judgekit.bias.self_preference.facing` and gives an `Effect` in shares of wins, with an interval
over prompts.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from judgekit.stats import Floats, Number, percentile_interval, resampled_sums, two_sided_p

STRENGTH_PRIOR = 0.1  # precision around zero: keeps an author who never wins in a resample finite
SHARPNESS_PRIOR = 1.0  # precision around one: only felt where the other authors are all alike
STEPS, TOLERANCE = 50, 1e-3  # of Fisher scoring, which takes five to ten steps


@dataclass(frozen=True)
class Effect:
    """An effect in shares of wins: value, 95 % interval, two-sided p-value and the items that hold the target."""

    value: float
    low: float
    high: float
    p_value: float
    n: int

    @property
    def number(self) -> Number:
        """As the report quotes it, in points."""
        return Number(self.value, self.low, self.high, self.n, ".1%")


@dataclass(frozen=True)
class Meetings:
    """Sums per prompt and pair of authors, and which authors the pairs are."""

    sums: np.ndarray  # (n_clusters, n_meetings, 3): items, credits by judge and by reference, for the first author
    signs: np.ndarray  # (n_meetings, n_authors): 1 for the first author, -1 for the second
    side: np.ndarray  # (n_meetings,), as in `facing`
    target: np.ndarray  # (n_authors,), bool


def meetings_of(rows: pd.DataFrame) -> Meetings:
    """Rows of `facing` as sums: all that strengths and lifts need, so that resampling prompts is cheap."""
    sides = np.concatenate([rows[f"author_{side}"].to_numpy(object) for side in "ab"])
    codes, authors = pd.factorize(sides, sort=True)
    a, b = codes.reshape(2, -1)
    side = rows["side"].to_numpy()
    credit = np.column_stack([rows["judged"].to_numpy(), rows["reference"].to_numpy()])
    credit = np.where((a > b)[:, None], 1 - credit, credit)
    pairs, cell = np.unique(np.minimum(a, b) * len(authors) + np.maximum(a, b), return_inverse=True)
    cluster, names = pd.factorize(rows["cluster"].to_numpy(object), sort=True)
    sums = np.zeros((len(names), len(pairs), 3))
    np.add.at(sums, (cluster, cell), np.column_stack([np.ones(len(rows)), credit]))
    unit = np.eye(len(authors))
    signs = unit[pairs // len(authors)] - unit[pairs % len(authors)]
    target = np.isin(np.arange(len(authors)), [*a[side == 1], *b[side == -1]])
    return Meetings(sums, signs, signs @ target, target)


def bootstrapped(rows: pd.DataFrame, statistic: Callable[[Floats, Meetings], Any], n_boot: int, seed: int) -> Effect:
    """An `Effect` of a statistic of (sums, meetings); ``sums`` have leading batch dimensions when resampled."""
    meetings = meetings_of(rows)
    value = float(statistic(meetings.sums.sum(0), meetings))
    drawn = statistic(resampled_sums(meetings.sums, n_boot, seed), meetings)
    return Effect(value, *percentile_interval(drawn), two_sided_p(drawn), int((rows["side"] != 0).sum()))


def own_lift(rows: pd.DataFrame, n_boot: int = 10_000, seed: int = 0) -> Effect:
    r"""Win rate of the target by the judge less that by the reference, on the same items.

    :math:`\frac1n\sum_i (y_i - r_i)` over items that hold the target on one side. Zheng et al. (2023),
    arXiv:2306.05685, Section 3.3. It is the self-preference only if the judge, apart from it, is as sharp as the
    reference: a sharper one lifts all who are better than those they meet, and its own family may be.
    """
    return bootstrapped(rows, lift_of, n_boot, seed)


def lift_of(sums: Floats, meetings: Meetings) -> Floats:
    weight = np.abs(meetings.side)
    gain = ((sums[..., 1] - sums[..., 2]) * meetings.side).sum(-1)
    return gain / np.maximum((sums[..., 0] * weight).sum(-1), 1e-9)


def own_contrast(rows: pd.DataFrame, n_boot: int = 10_000, seed: int = 0) -> Effect:
    r"""Difference in differences: what the judge adds to the target, less what it adds to the other authors.

    Least squares of :math:`y_i - r_i` on :math:`\beta_a - \beta_b` for authors a and b of item i; the effect is the
    mean :math:`\beta` of the target less that of the others. The item itself (its question and how good both
    responses are) cancels in the difference: this is the linear model with an effect for every item. It is the
    self-preference if judge and reference are equally sharp. Items among the others say what else the judge adds.
    """
    return bootstrapped(rows, contrast_of, n_boot, seed)


def contrast_of(sums: Floats, meetings: Meetings) -> Floats:
    signs, target = meetings.signs, meetings.target
    laplacian = np.einsum("...m,mi,mj->...ij", sums[..., 0], signs, signs)
    gains = (sums[..., 1] - sums[..., 2]) @ signs
    betas = np.einsum("...ij,...j->...i", np.linalg.pinv(laplacian, hermitian=True), gains)
    return betas @ (target / target.sum() - ~target / (~target).sum())


def calibrated_lift(rows: pd.DataFrame, n_boot: int = 10_000, seed: int = 0) -> Effect:
    r"""What the judge adds to the target's win rate beyond a sharper or duller view of the reference's strengths.

    One Bradley-Terry model of both: the log odds of the reference are :math:`\theta_a - \theta_b`, those of the judge
    :math:`\kappa(\theta_a - \theta_b) + o\,t_i`, :math:`t_i` the side of the target. The effect is the target's win
    rate by the judge less :math:`\sigma(\kappa(\theta_a - \theta_b))` in the target's favour: what it would be with
    :math:`o = 0`. The sharpness :math:`\kappa` is learnt where the other authors meet, with a prior of one, deviation
    one, in case they are all alike. Votes on single items are noise to a regression (`regressed_lift`); strengths
    average it out.

    Assumes that a judge sharpens all authors alike. Length and style that go with an author are not taken off.
    ValueError if there are fewer than two other authors.
    """
    if (~meetings_of(rows).target).sum() < 2:
        raise ValueError("sharpness needs two other authors who meet each other")
    return bootstrapped(rows, calibrated_of, n_boot, seed)


def calibrated_of(sums: Floats, meetings: Meetings) -> Floats:
    theta, kappa, _ = calibration(sums, meetings)
    weight = (sums[..., 0] * np.abs(meetings.side)).sum(-1)
    expected = sums[..., 0] * logistic(kappa[..., None] * (theta @ meetings.signs.T))
    return ((sums[..., 1] - expected) * meetings.side).sum(-1) / np.maximum(weight, 1e-9)


def sharpness_of(sums: Floats, meetings: Meetings) -> Floats:
    return calibration(sums, meetings)[1]


def calibration(sums: Floats, meetings: Meetings) -> tuple[Floats, Floats, Floats]:
    r"""Strengths :math:`\theta` (..., n_authors), sharpness :math:`\kappa` and :math:`o` of `calibrated_lift`, by
    Fisher scoring under weak priors, for many resamples at once.
    """
    k, m = meetings.signs.shape[1], len(meetings.side)
    batch = sums.shape[:-2]
    n = np.concatenate([sums[..., 0], sums[..., 0]], -1)
    wins = np.concatenate([sums[..., 2], sums[..., 1]], -1)  # the reference's, then the judge's
    centre = np.array([0.0] * k + [1.0, 0.0])
    precision = np.array([STRENGTH_PRIOR] * k + [SHARPNESS_PRIOR, STRENGTH_PRIOR])
    first = calibrated_parameters(meetings) if batch else centre  # resamples start where all the data led to
    found = np.broadcast_to(first, (*batch, k + 2)).copy()
    slopes = np.zeros((*batch, 2 * m, k + 2))
    slopes[..., :m, :k], slopes[..., m:, k + 1] = meetings.signs, meetings.side
    for _ in range(STEPS):
        gap, kappa, own = found[..., :k] @ meetings.signs.T, found[..., k, None], found[..., k + 1, None]
        p = logistic(np.concatenate([gap, kappa * gap + own * meetings.side], -1))
        slopes[..., m:, :k], slopes[..., m:, k] = kappa[..., None] * meetings.signs, gap
        gradient = np.einsum("...mk,...m->...k", slopes, wins - n * p) - precision * (found - centre)
        information = np.swapaxes(slopes, -1, -2) @ (slopes * (n * p * (1 - p))[..., None]) + np.diag(precision)
        step = np.clip(np.linalg.solve(information, gradient[..., None])[..., 0], -1, 1)
        found += step
        if np.abs(step).max() < TOLERANCE:
            break
    return found[..., :k], found[..., k], found[..., k + 1]


def calibrated_parameters(meetings: Meetings) -> Floats:
    """What `calibration` finds without resampling, as one array."""
    theta, kappa, own = calibration(meetings.sums.sum(0), meetings)
    return np.array([*theta, kappa, own])


def sharpness(rows: pd.DataFrame, n_boot: int = 10_000, seed: int = 0) -> Number:
    """The sharpness of a judge beside its reference, with the interval over prompts."""
    found = bootstrapped(rows, sharpness_of, n_boot, seed)
    return Number(found.value, found.low, found.high, len(rows), ".2f")


def logistic(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(x, -30, 30)))


def regressed_lift(rows: pd.DataFrame, adjust: Sequence[str] = ("reference", "doublings")) -> Effect | None:
    r"""What a logistic regression says the target's authorship adds to its win rate.

    Averaged over the items that hold the target: the fitted probability less that with the side set to 0. The interval
    is the delta method's, errors clustered by prompt, Student's t with a degree less than prompts. None where the judge
    follows a covariate without exception, so that nothing can be fitted. ``adjust``: covariates, the reference's share
    of the item and length; with none it is the win rate less one half.

    :math:`\operatorname{logit} P(y_i) = o\,t_i + \gamma(r_i - \tfrac12) + \lambda\log_2(n_a/n_b)`, without intercept:
    exchanging A and B changes nothing. The usual adjustment, and a half one where few people vote: three votes are a
    noisy measure of quality, so part of the quality of one's own stays in :math:`o`. Use it where authors are
    equally good, or where length is the suspect.
    """
    from scipy.stats import t as student

    columns = {"reference": rows["reference"] - 0.5, "doublings": rows["doublings"]}
    varying = [columns[name] for name in adjust if columns[name].any()]
    design = np.column_stack([rows["side"], *varying]).astype(float)
    if (fitted := clustered_logit(rows, design)) is None:
        return None
    side = design[:, 0]
    held, without = side != 0, design * np.array([0.0, *np.ones(len(varying))])
    p, base = (logistic(part[held] @ fitted.params) for part in (design, without))
    slopes = (p * (1 - p))[:, None] * design[held] - (base * (1 - base))[:, None] * without[held]
    gradient = (side[held][:, None] * slopes).mean(0)
    value, error = float((side[held] * (p - base)).mean()), float(np.sqrt(gradient @ fitted.cov_params() @ gradient))
    freedom = rows["cluster"].nunique() - 1
    half = student.ppf(0.975, freedom) * error
    p_value = float(2 * student.sf(abs(value / error), freedom)) if error else 1.0
    return Effect(value, float(value - half), float(value + half), p_value, int(held.sum()))


def clustered_logit(rows: pd.DataFrame, design: Floats) -> Any:
    """The fitted regression, errors clustered by prompt; None where a covariate predicts the judge perfectly."""
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    clusters = np.unique(rows["cluster"].astype(str), return_inverse=True)[1]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of what is looked at below
        try:
            fitted = GLM(rows["judged"].to_numpy(float), design, family=Binomial()).fit(
                cov_type="cluster", cov_kwds={"groups": clusters}
            )
        except np.linalg.LinAlgError:
            return None
    return fitted if np.isfinite(fitted.bse).all() and (fitted.bse > 0).all() else None
