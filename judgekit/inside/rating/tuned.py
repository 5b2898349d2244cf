"""The tuned encoder on the material of a study: one model per set and fold, read for every head."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from judgekit.inside.probes.nested import NestedResult
from judgekit.inside.probes.selection import grouped_folds

if TYPE_CHECKING:
    from judgekit.inside.probes.study import Cell
    from judgekit.records import Response


def tuned_results(
    ratings: "Mapping[str, Mapping[str, Sequence[Response]]]",
    cells: "Sequence[Cell]",
    folder: str | Path,
    recipe: dict[str, Any],
    seed: int = 0,
    method: str = "encoder",
    n_outer: int = 5,
) -> dict[tuple[str, str, str, str], NestedResult]:
    """Out-of-fold predictions of an encoder tuned on all aspects of a set together, by (set, aspect, head, method).

    Folds are of questions over all aspects: a response that stands under several aspects is held out of all.

    ``ratings``: set to aspect to responses, what the cells were made of. ``folder``: finished folds are kept here
    (`judgekit.training.rater`). ``recipe``: fields of `judgekit.training.rater.TunedRecipe` beside its
    defaults. ``seed``: of the folds. ``n_outer``: outer folds, as for `judgekit.inside.probes.study.run_study`.
    """
    from judgekit.training.rater import TunedRecipe, readings, tuned_predictions

    found = {}
    for name in dict.fromkeys(cell.set for cell in cells):
        rows: list[tuple[Any, str]] = [(item, aspect) for aspect, items in ratings[name].items() for item in items]
        scores = np.array([int(item.score) for item, _ in rows])
        groups = np.array([item.cluster for item, _ in rows])
        aspects = np.array([aspect for _, aspect in rows])
        kinds = np.unique(aspects, return_inverse=True)[1] * (scores.max() + 1) + scores  # spread evenly over folds
        folds = grouped_folds(kinds, groups, n_outer, seed)
        given = TunedRecipe(**{"seed": seed} | recipe)
        texts = [(item.question, item.response) for item, _ in rows]
        probabilities = tuned_predictions(texts, aspects, scores, groups, folds, given, folder)
        for cell in (cell for cell in cells if cell.set == name):
            part = probabilities[aspects == cell.aspect]
            predicted, ranked = readings(part, cell.head.name, given.classes)
            found[*cell.name, method] = NestedResult(predicted, ranked, np.zeros(len(part), int), [], {})
    return found
