r"""Self-preference: which family a model is of, and what a judge adds to the win rate of what its own family wrote.

A family is whose weights a model started from, by a table with a reason for each decision: the question is whether a
judge knows its own kind, so descendants count by their base and not by who tuned them. No estimator can tell a taste
for one's own from a taste for something that only one's own family does.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy.special import expit

from judgekit.stats import Array, Floats, Number, interval_of, resampled_sums, two_sided_p

TABLE = Path(__file__).with_name("families.yaml")
NO_FAMILY = ("other", "none")  # names of no family: what has one of them is akin to nothing
STRENGTH_PRIOR = 0.1  # precision around zero: keeps an author who never wins in a resample finite
SHARPNESS_PRIOR = 1.0  # precision around one: only felt where the other authors are all alike
STEPS, TOLERANCE = 50, 1e-3  # of Fisher scoring


@cache
def _patterns() -> list[tuple[str, str]]:
    entries = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return [(entry["family"], pattern) for entry in entries for pattern in entry["names"]]


def family_of(name: str) -> str:
    """The family of an author or a judge: ``"other"`` if its base is unknown or mixed, ``"none"`` if no model writes.

    ``name`` as the sets spell an author (``"vicuna-13b:20230322-clean-lang"``), or a judge (``"replay/pandalm-7b"``).
    KeyError if no pattern of the table matches it: somebody has to decide, and write down why; ValueError if two do.
    """
    short = name.split("/")[-1].split(":")[0].lower()
    found = [(family, pattern) for family, pattern in _patterns() if re.fullmatch(pattern, short)]
    if not found:
        raise KeyError(f"no family is known for {name!r}: add it to {TABLE.name} with a reason")
    if len(found) > 1:
        matched = ", ".join(f"{pattern} ({family})" for family, pattern in found)
        raise ValueError(f"{name!r} is matched by several patterns of {TABLE.name}: {matched}")
    return found[0][0]


@dataclass(frozen=True)
class _Matchups:
    """Sums per prompt and pair of authors: resampling prompts is cheap."""

    sums: Floats  # (n_prompts, n_matchups, 3): items, credits by judge and by reference, for the first author
    signs: Floats  # (n_matchups, n_authors): 1 for the first author, -1 for the second
    side: Floats  # (n_matchups,): 1 where the first author is the target's, -1 where the second, else 0
    free: Floats  # (n_matchups,): 1 where neither author is the target's, else 0


def _matchups(rows: pd.DataFrame) -> _Matchups:
    codes, names = pd.factorize(np.concatenate([rows["author_a"], rows["author_b"]]), sort=True)
    a, b = codes.reshape(2, -1)
    credit = rows[["judged", "reference"]].to_numpy(float)
    credit = np.where((a > b)[:, None], 1 - credit, credit)
    pairs, cell = np.unique(np.minimum(a, b) * len(names) + np.maximum(a, b), return_inverse=True)
    prompt, prompts = pd.factorize(rows["prompt"].to_numpy(object), sort=True)
    sums = np.zeros((len(prompts), len(pairs), 3))
    np.add.at(sums, (prompt, cell), np.column_stack([np.ones(len(rows)), credit]))
    unit, side = np.eye(len(names)), rows["side"].to_numpy()
    signs = unit[pairs // len(names)] - unit[pairs % len(names)]
    target = np.isin(np.arange(len(names)), [*a[side == 1], *b[side == -1]])
    return _Matchups(sums, signs, signs @ target, 1.0 - (np.abs(signs) @ target > 0))


def lifts(rows: pd.DataFrame, n_boot: int = 10_000, seed: int = 0) -> pd.DataFrame:
    r"""What a judge adds to the win rate of a target (one author, or a family's), over one draw of prompts.

    ``rows``: an item each, with prompt, author_a, author_b, judged and reference (credits for A) and side: 1 where the
    target wrote A, -1 where it wrote B, 0 where the others meet. Indexed by way, columns ``value`` (n: items that hold
    the target) and ``p_value`` (two-sided). ``lift``: win rate by the judge less that by the reference (Zheng et al.
    2023, arXiv:2306.05685, section 3.3); a judge sharper than the reference lifts all who are better than those they
    meet. ``calibrated``, only where other authors meet: in one Bradley-Terry model the log odds of the reference are
    :math:`\theta_a - \theta_b` and those of the judge, where other authors meet, :math:`\kappa(\theta_a - \theta_b)`;
    the win rate by the judge less :math:`\sigma(\kappa(\theta_a - \theta_b))`. ``sharpness``: :math:`\kappa`.
    Assumes that a judge sharpens all authors alike; length and style that go with an author are not taken off.
    """
    meetings = _matchups(rows)
    once, drawn = meetings.sums.sum(0), resampled_sums(meetings.sums, n_boot, seed)
    values: dict[str, tuple[Array, Array]] = {"lift": (_lift(once, meetings), _lift(drawn, meetings))}
    if meetings.free.any():
        one, many = _calibrated(once, meetings), _calibrated(drawn, meetings)
        values |= {"calibrated": (one[0], many[0]), "sharpness": (one[1], many[1])}
    found = {}
    for way, (value, draws) in values.items():
        signed = way != "sharpness"
        counted = np.abs(meetings.side) if signed else meetings.free
        met, held = (sums[..., 0] @ counted for sums in (meetings.sums, drawn))  # items by prompt, and by resample
        draws, n_prompts = draws[held > 0], int((met > 0).sum())
        ends = interval_of(value, draws, n_prompts, signed)
        number = Number(float(value), *ends, n=int(met.sum()), spec=".1%" if signed else ".2f")
        found[way] = {"value": number, "p_value": two_sided_p(draws, n_prompts)}
    return pd.DataFrame.from_dict(found, orient="index")


def _lift(sums: Floats, meetings: _Matchups) -> Array:
    gain = ((sums[..., 1] - sums[..., 2]) * meetings.side).sum(-1)
    return gain / np.maximum((sums[..., 0] * np.abs(meetings.side)).sum(-1), 1e-9)


def _calibrated(sums: Floats, meetings: _Matchups) -> tuple[Array, Array]:
    """The calibrated lift, and the sharpness."""
    strengths, kappa = _calibration(sums, meetings)
    weight = (sums[..., 0] * np.abs(meetings.side)).sum(-1)
    expected = sums[..., 0] * expit(kappa[..., None] * (strengths @ meetings.signs.T))
    return ((sums[..., 1] - expected) * meetings.side).sum(-1) / np.maximum(weight, 1e-9), kappa


def _calibration(sums: Floats, meetings: _Matchups) -> tuple[Floats, Floats]:
    """Strengths (..., n_authors) and sharpness, by Fisher scoring; the judge is heard where other authors meet."""
    k, m = meetings.signs.shape[1], len(meetings.side)
    batch = sums.shape[:-2]
    n = np.concatenate([sums[..., 0], sums[..., 0] * meetings.free], -1)
    wins = np.concatenate([sums[..., 2], sums[..., 1] * meetings.free], -1)  # the reference's, then the judge's
    centre, precision = np.zeros(k + 1), np.full(k + 1, STRENGTH_PRIOR)
    centre[k], precision[k] = 1.0, SHARPNESS_PRIOR
    first = np.hstack(_calibration(meetings.sums.sum(0), meetings)) if batch else centre  # resamples start there
    place = np.broadcast_to(first, (*batch, k + 1)).copy()
    slopes: Any = np.zeros((*batch, 2 * m, k + 1))
    slopes[..., :m, :k] = meetings.signs
    for _ in range(STEPS):
        gap, kappa = place[..., :k] @ meetings.signs.T, place[..., k, None]
        p = expit(np.concatenate([gap, kappa * gap], -1))
        slopes[..., m:, :k], slopes[..., m:, k] = kappa[..., None] * meetings.signs, gap
        gradient = np.einsum("...mk,...m->...k", slopes, wins - n * p) - precision * (place - centre)
        information = np.swapaxes(slopes, -1, -2) @ (slopes * (n * p * (1 - p))[..., None]) + np.diag(precision)
        step = np.clip(np.linalg.solve(information, gradient[..., None])[..., 0], -1, 1)
        place += step
        if np.abs(step).max() < TOLERANCE:
            break
    return place[..., :k], place[..., k]
