"""Do probes on a teacher's scores say what people say? Raters held against people's ratings of other responses."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from judgekit.stats import Number, spearman, weighted_bootstrap

if TYPE_CHECKING:
    from judgekit.inside.rating.rater import Rater
    from judgekit.models.states import StateReader
    from judgekit.records import Response


def transfer_numbers(
    raters: "Mapping[str, Rater]",
    ratings: "Mapping[str, Mapping[str, Sequence[Response]]]",
    reader: "StateReader",
    n_boot: int = 2000,
    seed: int = 0,
) -> dict[tuple[str, str, str], Number]:
    """Spearman's correlation of raters' totals, and of length, with what people say.

    By (set, aspect, rater or "length"); questions are resampled. ``ratings``: sets that people rated, set to what was
    rated to responses; none of their questions may stand in what the raters were fitted on.
    """
    found = {}
    for name, aspects in ratings.items():
        for aspect, items in aspects.items():
            said = np.array([item.score for item in items])
            scores = {"length": np.array([len(item.response) for item in items], float)}
            for title, rater in raters.items():
                rated = rater.rate([(item.question, item.response) for item in items], reader)
                scores[title] = np.array([sum(expected.values()) for _, expected in rated])
            for title, values in scores.items():
                groups = [item.cluster for item in items]
                # Three floats: mypy can neither tell how many, nor infer a lambda with defaults.
                value = weighted_bootstrap(
                    lambda w, v=values, s=said: spearman(v, s, w),  # type: ignore[misc]
                    groups,
                    n_boot,
                    seed,
                )
                found[name, aspect, title] = Number(  # type: ignore[misc]
                    *map(float, value),  # type: ignore[arg-type]
                    n=len(items),
                    spec=".2f",
                )
    return found


def check_unseen(
    raters_sets: "Mapping[str, Mapping[str, Sequence[Response]]]",
    ratings: "Mapping[str, Mapping[str, Sequence[Response]]]",
) -> None:
    """Refuse a check on questions that a rater was fitted on.

    ``raters_sets``: what raters were fitted on; ``ratings``: what they are held against. ValueError names a response
    whose question stands on both sides.
    """
    fitted = {item.cluster for aspects in raters_sets.values() for items in aspects.values() for item in items}
    for aspects in ratings.values():
        for items in aspects.values():
            for item in items:
                if item.cluster in fitted:
                    raise ValueError(f"{item.where}: its question is among those that the probes were fitted on")
