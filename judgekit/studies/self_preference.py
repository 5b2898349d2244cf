r"""Self-preference for notebook 42: what a judge adds to the win rate of what its own family wrote.

A target (one author, or the authors of a family) meets the other authors. On these items a judge gives the target a
credit :math:`y` (1, 0.5 for a tie, 0; the mean of its orders), and a reference gives :math:`r`. No estimator can tell a
taste for one's own from a taste for something that only one's own family does.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from judgekit.bias.family import NO_FAMILY, same_family
from judgekit.bias.judged import CREDIT, judged, with_slugs
from judgekit.data.catalogue import load_set
from judgekit.judges.names import unique_slugs
from judgekit.judges.surface import words_of
from judgekit.records import PreferencePair
from judgekit.scoring import verdicts
from judgekit.stats import Array, Floats, Number, interval_of, resampled_sums, two_sided_p

STRENGTH_PRIOR = 0.1  # precision around zero: keeps an author who never wins in a resample finite
SHARPNESS_PRIOR = 1.0  # precision around one: only felt where the other authors are all alike
STEPS, TOLERANCE = 50, 1e-3  # of Fisher scoring


@dataclass(frozen=True)
class Effect:
    """An effect in shares of wins, its two-sided p-value and the items that hold the target."""

    value: float
    low: float
    high: float
    p_value: float
    n: int

    @property
    def number(self) -> Number:
        return Number(self.value, self.low, self.high, self.n, ".1%")


# ---------------------------------------------------------------- who meets whom


def judged_sets(
    asked: Mapping[str, Iterable[str]], slugs: Mapping[str, str], run: str
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """Verdicts of judges on sets, the same by pair (`judgekit.bias.judged.judged`) with authors, and slugs by judge."""
    short = unique_slugs(dict.fromkeys(judge for judges in asked.values() for judge in judges), dict(slugs))
    parts = [verdicts(with_slugs(judges, slugs), [name], run, progress=False) for name, judges in asked.items()]
    table = pd.concat(parts, ignore_index=True)
    return table, judged(table, {name: load_set(name) for name in asked}), short


def credit_of(table: pd.DataFrame) -> "pd.Series[float]":
    """Mean credit of a judge's orders by item; NaN where one of those it was asked in is missing."""
    return table.set_index("item")[["ab", "ba"]].dropna(axis=1, how="all").mean(axis=1, skipna=False)


def compared(table: pd.DataFrame, reference: "pd.Series[float] | None" = None) -> pd.DataFrame:
    """A judge beside a reference, on the items that both have judged.

    Columns item, prompt, author_a, author_b, judged, reference (credits for A; people's by default), doublings (of
    words, A over B). Where a judge was asked in both orders it counts with both or not at all; items of one author
    alone, or without authors, are left out. ValueError if nothing is left.
    """
    rows = table[["item", "prompt"]].assign(
        author_a=table["model_a"],
        author_b=table["model_b"],
        judged=credit_of(table).to_numpy(),
        reference=table["people"] if reference is None else table["item"].map(reference),
        doublings=np.log2((1 + table["words_a"]) / (1 + table["words_b"])),
    )
    rows = rows.dropna()
    rows = rows[rows["author_a"] != rows["author_b"]]
    if rows.empty:
        raise ValueError("no item has two known authors, a verdict of the judge and one of the reference")
    return rows.reset_index(drop=True)


def others_opinion(tables: Mapping[str, pd.DataFrame], families: Mapping[str, str], judge: str) -> "pd.Series[float]":
    """The verdict of judges of other families: the mean over families of the mean over their judges.

    Credit for A by item, where every other family has a verdict; a judge without family is one of its own. ValueError
    if there is no judge of another family.
    """
    credits: dict[str, list[Any]] = {}
    for name in tables:
        if name != judge and not same_family(families[name], families[judge]):
            voice = name if families[name] in NO_FAMILY else families[name]
            credits.setdefault(voice, []).append(credit_of(tables[name]))
    if not credits:
        raise ValueError(f"no judge of another family than {judge}'s ({families[judge]})")
    means = [pd.concat(of_family, axis=1).mean(axis=1) for of_family in credits.values()]
    return pd.concat(means, axis=1).mean(axis=1, skipna=False)


def annotated_table(pairs: Sequence[PreferencePair], annotator: str) -> pd.DataFrame:
    """One annotator's preferences in a corpus, in the columns of `judgekit.bias.judged`, to be set beside another's.

    The same item and author as A for the same prompt and authors, whoever annotated. ValueError where one pair of
    authors is annotated twice on a prompt.
    """
    rows = []
    for pair in pairs:
        if pair.subset == annotator:
            pair = pair if str(pair.model_a) <= str(pair.model_b) else pair.swapped()
            credit = CREDIT[pair.label] if pair.soft_label is None else pair.soft_label
            words = [len(words_of(text)) for text in pair.responses]
            item = f"{pair.cluster}:{pair.model_a}:{pair.model_b}"
            rows.append((item, pair.cluster, pair.model_a, pair.model_b, credit, np.nan, *words))
    columns = ["item", "prompt", "model_a", "model_b", "ab", "ba", "words_a", "words_b"]
    table = pd.DataFrame(rows, columns=columns).assign(people=np.nan)
    if table.empty:
        raise ValueError(f"{annotator!r} annotated none of these")
    if twice := table["item"][table["item"].duplicated()].tolist():
        raise ValueError(f"{annotator!r} annotated {twice[0]} twice")
    return table


def with_target(rows: pd.DataFrame, target: Sequence[str], others: Sequence[str]) -> pd.DataFrame:
    """The items on which the authors of a target and the others meet each other or among themselves.

    Rows of `compared` with a column ``side``: 1 where the target wrote A alone, -1 where it wrote B alone, otherwise 0.
    Leave authors of the judge's family out of ``others``. ValueError if the target never meets another author.
    """
    if both := sorted(set(target) & set(others)):
        raise ValueError(f"{', '.join(both)}: target and others at once")
    authors = [*target, *others]
    rows = rows[rows["author_a"].isin(authors) & rows["author_b"].isin(authors)]
    rows = rows.assign(side=rows["author_a"].isin(target).astype(int) - rows["author_b"].isin(target).astype(int))
    if not rows["side"].any():
        raise ValueError(f"{', '.join(target)} never meets {', '.join(others) or 'another author'}")
    return rows.reset_index(drop=True)


# ---------------------------------------------------------------- estimators


@dataclass(frozen=True)
class _Matchups:
    """Sums per prompt and pair of authors, of the rows of `with_target`: resampling prompts is cheap."""

    sums: Floats  # (n_prompts, n_matchups, 3): items, credits by judge and by reference, for the first author
    signs: Floats  # (n_matchups, n_authors): 1 for the first author, -1 for the second
    side: Floats  # (n_matchups,), as in `with_target`
    target: Array  # (n_authors,), bool


def _matchups(rows: pd.DataFrame) -> _Matchups:
    authors = np.concatenate([rows[f"author_{side}"].to_numpy(object) for side in "ab"])
    codes, names = pd.factorize(authors, sort=True)
    a, b = codes.reshape(2, -1)
    side = rows["side"].to_numpy()
    credit = np.column_stack([rows["judged"].to_numpy(), rows["reference"].to_numpy()])
    credit = np.where((a > b)[:, None], 1 - credit, credit)
    pairs, cell = np.unique(np.minimum(a, b) * len(names) + np.maximum(a, b), return_inverse=True)
    prompt, prompts = pd.factorize(rows["prompt"].to_numpy(object), sort=True)
    sums = np.zeros((len(prompts), len(pairs), 3))
    np.add.at(sums, (prompt, cell), np.column_stack([np.ones(len(rows)), credit]))
    unit = np.eye(len(names))
    signs = unit[pairs // len(names)] - unit[pairs % len(names)]
    target = np.isin(np.arange(len(names)), [*a[side == 1], *b[side == -1]])
    return _Matchups(sums, signs, signs @ target, target)


def _resampled(rows: pd.DataFrame, statistic: Callable[[Floats, _Matchups], Any], n_boot: int, seed: int) -> Effect:
    meetings = _matchups(rows)
    value = float(statistic(meetings.sums.sum(0), meetings))
    drawn = statistic(resampled_sums(meetings.sums, n_boot, seed), meetings)
    ends = interval_of(value, drawn, len(meetings.sums), signed=True)
    return Effect(value, *ends, two_sided_p(drawn), int((rows["side"] != 0).sum()))


def own_lift(rows: pd.DataFrame, n_boot: int = 10_000, seed: int = 0) -> Effect:
    r"""Win rate of the target by the judge less that by the reference, on the same items.

    Zheng et al. (2023), arXiv:2306.05685, Section 3.3. It is the self-preference only if the judge, apart from it, is
    as sharp as the reference: a sharper one lifts all who are better than those they meet.
    """
    return _resampled(rows, _lift, n_boot, seed)


def _lift(sums: Floats, meetings: _Matchups) -> Floats:
    weight = np.abs(meetings.side)
    gain = ((sums[..., 1] - sums[..., 2]) * meetings.side).sum(-1)
    return gain / np.maximum((sums[..., 0] * weight).sum(-1), 1e-9)


def own_contrast(rows: pd.DataFrame, n_boot: int = 10_000, seed: int = 0) -> Effect:
    r"""Difference in differences: what the judge adds to the target, less what it adds to the other authors.

    Least squares of :math:`y_i - r_i` on :math:`\beta_a - \beta_b` for the authors of item i; the effect is the mean
    :math:`\beta` of the target less that of the others. Right if judge and reference are equally sharp.
    """
    return _resampled(rows, _contrast, n_boot, seed)


def _contrast(sums: Floats, meetings: _Matchups) -> Floats:
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
    :math:`o = 0`. The sharpness :math:`\kappa` is learnt where the other authors meet (ValueError if there are fewer
    than two). Votes on single items are noise to a regression; strengths average it out. Assumes that a judge sharpens
    all authors alike; length and style that go with an author are not taken off.
    """
    if (~_matchups(rows).target).sum() < 2:
        raise ValueError("sharpness needs two other authors who meet each other")
    return _resampled(rows, _calibrated, n_boot, seed)


def sharpness(rows: pd.DataFrame, n_boot: int = 10_000, seed: int = 0) -> Number:
    effect = _resampled(rows, lambda sums, meetings: _calibration(sums, meetings)[1], n_boot, seed)
    return Number(effect.value, effect.low, effect.high, len(rows), ".2f")


def _logistic(x: Floats) -> Floats:
    return expit(np.clip(x, -30, 30))


def _calibrated(sums: Floats, meetings: _Matchups) -> Floats:
    theta, kappa, _ = _calibration(sums, meetings)
    weight = (sums[..., 0] * np.abs(meetings.side)).sum(-1)
    expected = sums[..., 0] * _logistic(kappa[..., None] * (theta @ meetings.signs.T))
    return ((sums[..., 1] - expected) * meetings.side).sum(-1) / np.maximum(weight, 1e-9)


def _calibration(sums: Floats, meetings: _Matchups) -> tuple[Floats, Floats, Floats]:
    """Strengths (..., n_authors), sharpness and o of `calibrated_lift`, by Fisher scoring."""
    k, m = meetings.signs.shape[1], len(meetings.side)
    batch = sums.shape[:-2]
    n = np.concatenate([sums[..., 0], sums[..., 0]], -1)
    wins = np.concatenate([sums[..., 2], sums[..., 1]], -1)  # the reference's, then the judge's
    centre, precision = np.zeros(k + 2), np.full(k + 2, STRENGTH_PRIOR)
    centre[k], precision[k] = 1.0, SHARPNESS_PRIOR
    first = np.hstack(_calibration(meetings.sums.sum(0), meetings)) if batch else centre  # resamples start there
    place = np.broadcast_to(first, (*batch, k + 2)).copy()
    slopes = np.zeros((*batch, 2 * m, k + 2))
    slopes[..., :m, :k], slopes[..., m:, k + 1] = meetings.signs, meetings.side
    for _ in range(STEPS):
        gap, kappa, own = place[..., :k] @ meetings.signs.T, place[..., k, None], place[..., k + 1, None]
        p = _logistic(np.concatenate([gap, kappa * gap + own * meetings.side], -1))
        slopes[..., m:, :k], slopes[..., m:, k] = kappa[..., None] * meetings.signs, gap
        gradient = np.einsum("...mk,...m->...k", slopes, wins - n * p) - precision * (place - centre)
        information = np.swapaxes(slopes, -1, -2) @ (slopes * (n * p * (1 - p))[..., None]) + np.diag(precision)
        step = np.clip(np.linalg.solve(information, gradient[..., None])[..., 0], -1, 1)
        place += step
        if np.abs(step).max() < TOLERANCE:
            break
    return place[..., :k], place[..., k], place[..., k + 1]


def regressed_lift(rows: pd.DataFrame, adjust: Sequence[str] = ("reference", "doublings")) -> Effect | None:
    r"""What a logistic regression says the target's authorship adds to its win rate.

    :math:`\operatorname{logit} P(y_i) = o\,t_i + \gamma(r_i - \tfrac12) + \lambda\log_2(n_a/n_b)`, without intercept:
    exchanging A and B changes nothing. Averaged over the items that hold the target: the fitted probability less that
    with the side set to 0, its interval by the delta method, errors clustered by prompt. None where the judge follows a
    covariate without exception. Without covariates it is the win rate less one half. Where few people vote, part of the
    quality of one's own stays in :math:`o`.
    """
    import statsmodels.api as sm
    from scipy.stats import t as student

    columns = {"reference": rows["reference"] - 0.5, "doublings": rows["doublings"]}
    varying = [columns[name] for name in adjust if columns[name].any()]
    design = np.column_stack([rows["side"], *varying]).astype(float)
    groups = {"groups": np.unique(rows["prompt"].astype(str), return_inverse=True)[1]}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of what is looked at below
        try:
            model = sm.GLM(rows["judged"].to_numpy(float), design, family=sm.families.Binomial())
            fitted = model.fit(cov_type="cluster", cov_kwds=groups)
        except np.linalg.LinAlgError:
            return None
    if not np.isfinite(fitted.bse).all() or not (fitted.bse > 0).all():
        return None
    side = design[:, 0]
    there, without = side != 0, design * np.array([0.0, *np.ones(len(varying))])
    p, base = (_logistic(part[there] @ fitted.params) for part in (design, without))
    slopes = (p * (1 - p))[:, None] * design[there] - (base * (1 - base))[:, None] * without[there]
    gradient = (side[there][:, None] * slopes).mean(0)
    value, error = float((side[there] * (p - base)).mean()), float(np.sqrt(gradient @ fitted.cov_params() @ gradient))
    freedom = rows["prompt"].nunique() - 1
    half = float(student.ppf(0.975, freedom) * error)
    p_value = float(2 * student.sf(abs(value / error), freedom)) if error else 1.0
    return Effect(value, value - half, value + half, p_value, int(there.sum()))
