"""Which pairs or responses to keep, and why the others go."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from judgekit.data.cleaning.filters import drop
from judgekit.records import Item
from judgekit.stats import Array

RULES = ("top", "bottom", "random", "threshold")


@dataclass(frozen=True)
class Selection:
    """What a rule keeps of a pool."""

    kept: np.ndarray  # places in the pool, ascending
    # `judgekit.data.cleaning.filters.Dropped`: the other items, in the order of the pool, each with the rule as reason
    # and its score as detail.
    dropped: list


def keep(
    items: Sequence[Item],
    scores: Array,
    rule: str,
    share: float | None = None,
    threshold: float | None = None,
    within: Sequence[str] | None = None,
    seed: int = 0,
) -> Selection:
    """Keep a part of a pool by its scores.

    ``scores``: shape (n_items,), high for items that look good; not read by ``random``.
    ``rule``: one of `RULES`.
    ``share``: in (0, 1], for all rules but ``threshold``: of ``n`` items ``int(n * share)`` are kept.
    ``threshold``: for ``threshold``: items with at least this score are kept, on the scale of the scores.
    ``within``: group of each item, such as its corpus; of each group the share is kept: otherwise the corpus with easy
    pairs would be kept and the hard one dropped.
    ``seed``: of the random rule, and of the order of items with equal scores, which is drawn at random: the place in
    the pool must not decide.

    ValueError where the rule is unknown or lacks its share or threshold, a score is not finite, or nothing is kept.
    """
    scores = np.asarray(scores, float)
    if rule not in RULES:
        raise ValueError(f"rule {rule!r} is none of {', '.join(RULES)}")
    if scores.shape != (len(items),):
        raise ValueError(f"scores of shape {scores.shape} for {len(items)} items")
    if rule != "random" and not np.isfinite(scores).all():
        place = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise ValueError(f"{items[place].where}: its score is {scores[place]}")
    if rule == "threshold":
        if threshold is None or not math.isfinite(threshold):
            raise ValueError(f"threshold {threshold}: the rule needs a number")
        kept = np.flatnonzero(scores >= threshold)
    else:
        checked_share(share)
        sign = {"top": -1.0, "bottom": 1.0, "random": 0.0}[rule]
        lots = np.random.default_rng([seed, len(items)]).permutation(len(items))
        order = np.lexsort((lots, sign * scores if sign else lots))
        kept = np.concatenate(
            [order[places[order]][: int(places.sum() * share)] for places in groups_of(items, within)]
        )
    if not len(kept):
        raise ValueError(f"{rule} keeps none of {len(items)} items (share {share}, threshold {threshold})")
    told = rule if share is None else f"{rule} {share:g}"
    gone = np.setdiff1d(np.arange(len(items)), kept)
    return Selection(np.sort(kept), [drop(items[i], f"not kept: {told}", f"{scores[i]:.4g}") for i in gone.tolist()])


def groups_of(items: Sequence[Item], within: Sequence[str] | None) -> list[npt.NDArray[np.bool_]]:
    """Masks of the groups' items, in the order of the groups' names; one of all where there are no groups."""
    if within is None:
        return [np.ones(len(items), bool)]
    if len(within) != len(items):
        raise ValueError(f"{len(within)} groups for {len(items)} items")
    names = np.asarray(within, dtype=str)
    return [names == name for name in np.unique(names)]


def checked_share(share: float | None) -> None:
    """Refuse a share that is no share."""
    if share is None or not 0 < share <= 1:
        raise ValueError(f"share {share} is not in (0, 1]")


def drawn_like(kept: Array, within: Sequence[str], seed: int | Sequence[int]) -> npt.NDArray[np.int_]:
    """Places, ascending, of a random sample with as many items of each group as a selection has, to compare that with.

    ``kept``: places that the selection keeps; ``within``: group of every item of the pool.
    """
    rng, names, found = np.random.default_rng(seed), np.asarray(within, dtype=str), []
    for name in np.unique(names):
        found.append(rng.choice(np.flatnonzero(names == name), size=int((names[kept] == name).sum()), replace=False))
    return np.sort(np.concatenate(found))


def select_responses(rated: Sequence[dict[str, Any]], share: float, by: str = "total") -> list[dict[str, Any]]:
    """The best-rated responses, best first: what a student is trained on. The very dictionaries, not changed.

    ``rated``: as a rater gives them, with scores by aspect and their total; ``share``: in (0, 1], of ``n`` responses
    ``int(n * share)`` are kept, as in the Representation-as-a-judge code; ``by``: a field, or an aspect in the field
    ``aspects``. Equal scores stay in the order in which they came, also across the cut, so a pool with many equal
    totals had better be shuffled first.

    ValueError where a response has no such score, or one that is not a finite number; the message names its place.

    >>> rated = [{"id": 1, "total": 3}, {"id": 2, "total": 5}, {"id": 3, "total": 3}]
    >>> [row["id"] for row in select_responses(rated, 0.7)]
    [2, 1]
    """
    checked_share(share)
    scores = [score_in(row, by, place) for place, row in enumerate(rated)]
    order = sorted(range(len(rated)), key=lambda place: -scores[place])
    return [rated[place] for place in order[: int(len(rated) * share)]]


def score_in(row: Mapping[str, Any], by: str, place: int) -> float:
    """The score of one rated response."""
    aspects = row.get("aspects")
    score = row[by] if by in row else aspects.get(by) if isinstance(aspects, dict) else None
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        raise ValueError(f"rated response {place}: {by} is {score!r}, not a finite number")
    return score
