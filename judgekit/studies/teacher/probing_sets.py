"""Sets to train and test a probe on: every score as often as the rarest, and no question on both sides."""

import random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np


def balanced_probing_set(rated: Sequence[dict[str, Any]], aspect: str, seed: int = 0) -> list[dict[str, Any]]:
    """Rows with each score on an aspect equally often, as often as the rarest of them, in the order of ``rated``.

    A score that never occurs is simply not there; rows without a score on the aspect are left out. ``rated``: of
    `judgekit.studies.teacher.rate_responses`. ``seed``: of the draw, which also depends on the aspect, so that aspects
    are not all given the same rows. ValueError where fewer than two scores occur.

    A balanced set makes accuracies comparable between scores, and says nothing about how often each score occurs: a
    test set should keep the distribution that a probe will meet. Split first (`split_by_question`), and balance the
    training side alone where that is what is asked.

    >>> rated = [{"tone": 1}, {"tone": 1}, {"tone": 2}, {"tone": None}, {"tone": 2}, {"tone": 1}]
    >>> len(balanced_probing_set(rated, "tone"))
    4
    """
    places: dict[Any, list[int]] = {}
    for place, row in enumerate(rated):
        if row[aspect] is not None:
            places.setdefault(row[aspect], []).append(place)
    if len(places) < 2:
        raise ValueError(f"{aspect}: {len(places)} different scores in {len(rated)} rows; a probe needs at least two")
    rarest, draw = min(map(len, places.values())), random.Random(f"{seed}:{aspect}")
    kept = [place for score in sorted(places) for place in draw.sample(places[score], rarest)]
    return [rated[place] for place in sorted(kept)]


def split_by_question(
    rows: Sequence[dict[str, Any]], aspect: str, test_share: float = 0.2, seed: int = 0
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Train and test rows, in the order of ``rows``, with no question on both sides.

    ``rows``: with ``question`` and the aspect's score. Questions that differ in case or white space alone are one.
    Scores are spread over both sides alike, as far as whole questions allow. ``test_share``: of the rows, in (0, 0.5];
    rounded to one part of a whole number of parts.

    ValueError where there are fewer than two questions, a row has no score, or the share is none.
    """
    from sklearn.model_selection import GroupShuffleSplit, StratifiedGroupKFold  # seconds, which collecting can spare

    if not 0 < test_share <= 0.5:
        raise ValueError(f"test_share={test_share} is not in (0, 0.5]")
    scores = [row[aspect] for row in rows]
    if None in scores:
        raise ValueError(f"rows[{scores.index(None)}]: no score on {aspect}: leave such rows out before splitting")
    questions = np.array([" ".join(row["question"].casefold().split()) for row in rows])
    n_questions = len(set(questions))
    if n_questions < 2:
        raise ValueError(f"{n_questions} question in {len(rows)} rows: none is left for one of the sides")
    n_parts = min(round(1 / test_share), n_questions)
    if n_parts <= np.unique(scores, return_counts=True)[1].max():
        splitter = StratifiedGroupKFold(n_parts, shuffle=True, random_state=seed)
    else:  # no score is frequent enough to be spread over so many parts
        splitter = GroupShuffleSplit(1, test_size=test_share, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # as far as possible, as is said
        parts = [part for part in splitter.split(rows, scores, questions) if len(part[0]) and len(part[1])]
    train, test = min(parts, key=lambda part: abs(len(part[1]) / len(rows) - test_share))
    return [rows[place] for place in train], [rows[place] for place in test]
