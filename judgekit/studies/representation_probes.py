"""Probes, controls and yardsticks side by side: every cell by every method, stored as it is done."""

import json
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from judgekit.data.files import write_text
from judgekit.data.progress import progress_bar
from judgekit.inside.probes import Choice, NestedResult, Space, grouped_folds, nested_probe
from judgekit.inside.representations import array_digest
from judgekit.records import fingerprint_of
from judgekit.studies.fitted_raters import Cell, Ratings, Results

_VERSION = 3  # of the procedure: raise it when the same cell would give other predictions
_N_OUTER = 5  # folds


@dataclass(frozen=True)
class Method:
    """Which features a method may choose from, and with which families, by head; a head not named has its own."""

    features: tuple[str, ...]
    families: dict[str, tuple[str, ...]] = field(default_factory=dict)


def run_study(
    cells: Sequence[Cell], methods: Mapping[str, Method], folder: Path, seed: int = 0, workers: int = 1
) -> Results:
    """Nested cross-validation of every cell by every method, on some processes.

    ``folder`` holds a file per cell and method, named by their content: what is there is not computed again.
    """
    work = partial(_study_cell, methods=dict(methods), folder=folder, seed=seed)
    results: Results = {}
    pool: Any = ProcessPoolExecutor(workers, get_context("spawn")) if workers > 1 else nullcontext()
    with progress_bar(len(cells), "probes", "cell") as bar, pool as processes:
        for done in (processes.map if processes else map)(work, cells):
            results |= done
            bar.update()
    return {(*cell.name, name): results[*cell.name, name] for cell in cells for name in methods}


def _study_cell(cell: Cell, methods: Mapping[str, Method], folder: Path, seed: int) -> Results:
    results: Results = {}
    searches: dict[Any, dict[int, Any]] = {}  # methods of the same features share what was scored
    with warnings.catch_warnings():
        # A candidate that has not converged is a candidate all the same: the folds say what it is worth.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name, method in methods.items():
            features = {kind: cell.features[kind] for kind in method.features}
            families = tuple(method.families.get(cell.head.name, cell.head.families))
            tried = Space(families=families)
            arrays = {kind: array_digest(array) for kind, array in features.items()}
            about = (arrays, array_digest(cell.labels), list(map(str, cell.groups)), cell.head.classes, asdict(tried))
            path = folder / f"{fingerprint_of(_VERSION, *about, seed, _N_OUTER)}.json"
            result = _stored(path)
            if result is None:
                shared = searches.setdefault((method.features, families[0]), {})
                result = nested_probe(features, cell.labels, cell.groups, cell.head, tried, _N_OUTER, seed, shared)
                write_text(path, json.dumps(asdict(result), default=lambda array: array.tolist()))
            results[*cell.name, name] = result
    return results


def _stored(path: Path) -> NestedResult | None:
    """A stored result; None where there is none that can be read: it is then computed again."""
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        for choice in row["choices"]:
            choice["layers"] = tuple(choice["layers"])
            choice["ranking"] = {name: np.array(values) for name, values in choice["ranking"].items()}
        choices = [Choice(**choice) for choice in row["choices"]]
        return NestedResult(np.array(row["predicted"], int), np.array(row["scores"], float), choices)
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def tuned_results(
    ratings: Ratings, cells: Sequence[Cell], folder: str | Path, recipe: Mapping[str, Any], seed: int, method: str
) -> Results:
    """Out-of-fold predictions of an encoder tuned on all aspects of a set together (`judgekit.training.rater`).

    Folds are of questions over all aspects: a response is held out under all of them. ``recipe``: of `TunedRecipe`.
    """
    from judgekit.training.rater import TunedRecipe, readings, tuned_predictions

    results, given = {}, TunedRecipe(**{"seed": seed} | dict(recipe))
    for name in dict.fromkeys(cell.set for cell in cells):
        rows: list[Any] = [item for items in ratings[name].values() for item in items]
        scores, groups = np.array([int(item.score) for item in rows]), np.array([item.cluster for item in rows])
        aspects = np.repeat(list(ratings[name]), [len(items) for items in ratings[name].values()])
        kinds = np.unique(aspects, return_inverse=True)[1] * (scores.max() + 1) + scores  # spread evenly over folds
        folds = grouped_folds(kinds, groups, _N_OUTER, seed)
        texts = [(item.question, item.response) for item in rows]
        probabilities = tuned_predictions(texts, aspects, scores, groups, folds, given, folder)
        for cell in (cell for cell in cells if cell.set == name):
            predicted, ranked = readings(probabilities[aspects == cell.aspect], cell.head.name, given.classes)
            results[*cell.name, method] = NestedResult(predicted, ranked, [])
    return results
