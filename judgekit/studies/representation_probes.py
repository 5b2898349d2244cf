"""Probes, controls and yardsticks side by side: every cell by every method, stored as it is done."""

import json
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from judgekit.data.files import replaced
from judgekit.data.progress import progress_bar
from judgekit.inside.aspects import Aspect, load_aspects
from judgekit.inside.probes import (
    FAMILIES,
    METRICS,
    Choice,
    NestedResult,
    Space,
    binary_labels,
    class_counts,
    grouped_folds,
    joined_layers,
    make_probe,
    nested_probe,
)
from judgekit.inside.representations import array_digest, rated_text
from judgekit.prompts.rubrics import Rubric, score_prompt
from judgekit.records import Response, fingerprint_of
from judgekit.stats import Floats, Number, cluster_bootstrap, cluster_sums, weighted_bootstrap
from judgekit.studies.fitted_raters import Cell, Ratings, Results

if TYPE_CHECKING:
    from judgekit.models.states import StateReader

_VERSION = 3  # of the procedure: raise it when the same cell would give other predictions


@dataclass(frozen=True)
class Method:
    """Which features a method may choose from, and with which families, by head; a head not named has its own."""

    features: tuple[str, ...]
    families: dict[str, tuple[str, ...]] = field(default_factory=dict)


def run_study(
    cells: Sequence[Cell],
    methods: Mapping[str, Method],
    folder: str | Path,
    seed: int = 0,
    n_outer: int = 5,
    workers: int = 1,
    space: Space | None = None,
    shown: bool = True,
) -> Results:
    """Nested cross-validation of every cell by every method.

    ``folder``: results are stored here, one file per cell and method, named by their content: what is there is not
    computed again, and an interrupted run loses only what was in flight. ``workers``: processes. ``space``: what is
    tried, but for the families.
    """
    for cell in cells:
        if missing := {name for method in methods.values() for name in method.features} - set(cell.features):
            raise ValueError(
                f"{'/'.join(cell.name)} has no features {min(missing)!r}; it has {', '.join(cell.features)}"
            )
    Path(folder).mkdir(parents=True, exist_ok=True)
    work = partial(_study_cell, methods=dict(methods), folder=Path(folder), seed=seed, n_outer=n_outer, space=space)
    results: Results = {}
    with progress_bar(len(cells), "probes", "cell", shown) as bar:
        if workers < 2:
            for cell in cells:
                results |= work(cell)
                bar.update()
        else:
            with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
                for future in as_completed([pool.submit(work, cell) for cell in cells]):
                    results |= future.result()
                    bar.update()
    return {(*cell.name, name): results[*cell.name, name] for cell in cells for name in methods}


def _study_cell(
    cell: Cell, methods: Mapping[str, Method], folder: Path, seed: int, n_outer: int, space: Space | None
) -> Results:
    """One cell by every method, on one thread: matrices are small, and cells are many."""
    results: Results = {}
    searches: dict[Any, dict[int, Any]] = {}  # methods of the same features share what was scored
    with threadpool_limits(1), warnings.catch_warnings():
        # A candidate that has not converged is a candidate all the same: the folds say what it is worth.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name, method in methods.items():
            features = {kind: cell.features[kind] for kind in method.features}
            families = tuple(method.families.get(cell.head.name, cell.head.families))
            tried = replace(space or Space(), families=families)
            arrays = {kind: array_digest(array) for kind, array in features.items()}
            about = (arrays, array_digest(cell.labels), list(map(str, cell.groups)), cell.head.classes, asdict(tried))
            path = folder / f"{fingerprint_of(_VERSION, *about, seed, n_outer)}.json"
            result = _stored(path)
            if result is None:
                shared = searches.setdefault((method.features, families[0]), {})
                result = nested_probe(features, cell.labels, cell.groups, cell.head, tried, n_outer, seed, shared)
                with replaced(path) as temporary:
                    temporary.write_text(json.dumps(asdict(result), default=lambda array: array.tolist()))
            results[*cell.name, name] = result
    return results


def _stored(path: Path) -> NestedResult | None:
    """A stored result; None where there is none that can be read: it is then computed again."""
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        for choice in row["choices"]:
            choice["layers"] = tuple(choice["layers"])
            choice["ranking"] = {name: np.array(values) for name, values in choice["ranking"].items()}
        predicted, fold = (np.array(row[name], int) for name in ("predicted", "fold"))
        return NestedResult(predicted, np.array(row["scores"], float), fold, [Choice(**c) for c in row["choices"]])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def tuned_results(
    ratings: Ratings,
    cells: Sequence[Cell],
    folder: str | Path,
    recipe: Mapping[str, Any],
    seed: int = 0,
    method: str = "encoder",
    n_outer: int = 5,
) -> Results:
    """Out-of-fold predictions of an encoder tuned on all aspects of a set together (`judgekit.training.rater`).

    Folds are of questions over all aspects: a response that stands under several aspects is held out of all.
    ``recipe``: fields of `judgekit.training.rater.TunedRecipe` beside its defaults.
    """
    from judgekit.training.rater import TunedRecipe, readings, tuned_predictions

    results, given = {}, TunedRecipe(**{"seed": seed} | dict(recipe))
    for name in dict.fromkeys(cell.set for cell in cells):
        rows: list[tuple[Any, str]] = [(item, aspect) for aspect, items in ratings[name].items() for item in items]
        scores = np.array([int(item.score) for item, _ in rows])
        groups = np.array([item.cluster for item, _ in rows])
        aspects = np.array([aspect for _, aspect in rows])
        kinds = np.unique(aspects, return_inverse=True)[1] * (scores.max() + 1) + scores  # spread evenly over folds
        folds = grouped_folds(kinds, groups, n_outer, seed)
        texts = [(item.question, item.response) for item, _ in rows]
        probabilities = tuned_predictions(texts, aspects, scores, groups, folds, given, folder)
        for cell in (cell for cell in cells if cell.set == name):
            predicted, ranked = readings(probabilities[aspects == cell.aspect], cell.head.name, given.classes)
            results[*cell.name, method] = NestedResult(predicted, ranked, np.zeros(len(predicted), int), [])
    return results


def mean_difference(
    cells: Sequence[Cell], results: Results, method: str, other: str, n_boot: int = 2000, seed: int = 0
) -> Number:
    """Mean over cells of one method's weighted F1 minus another's, on the same items; ``n`` counts ratings.

    ``cells``: of one set and head; their questions are resampled together, since aspects share them.
    """
    groups, metric = np.concatenate([cell.groups for cell in cells]), METRICS["weighted_f1"]
    ends = np.cumsum([len(cell.labels) for cell in cells])[:-1]
    counts = [
        [
            class_counts(cell.labels, results[*cell.name, which].predicted, cell.head.classes)
            for which in (method, other)
        ]
        for cell in cells
    ]

    def difference(weight: Floats) -> Floats:
        parts = zip(np.split(weight, ends, axis=-1), counts, strict=True)
        gaps = [metric(np.tensordot(part, a, 1)) - metric(np.tensordot(part, b, 1)) for part, (a, b) in parts]
        return np.mean(gaps, axis=0)

    return Number(*weighted_bootstrap(difference, groups, n_boot, seed), n=len(groups), spec=".1%")


def level_shares(reader: "StateReader", items: Sequence[Response], aspect: Aspect) -> tuple[Floats, Floats]:
    """What a frozen model says by the rubric alone: values by item and level, and what responses are ranked by.

    A causal model is asked for a score: probabilities of the levels, and their mean. An encoder cannot be asked:
    cosines of the response with the descriptions of the levels (mean-pooled states of the last layer), and by how much
    closer the highest level is than the lowest.
    """
    levels = list(aspect.levels)
    if any(name.endswith("ForCausalLM") for name in reader.model.config.architectures or ()):
        from judgekit.inside.layer_logits import LayerReader, read_scores

        rubric = Rubric(aspect.definition, tuple(levels), tuple(aspect.levels.items()))
        asked = LayerReader(reader.name, device=reader.encoder.device)
        shares = softmax(read_scores(asked, score_prompt("direct", rubric), items, levels)[:, -1], axis=-1)
        return shares, shares @ levels
    texts = [rated_text(item.question, item.response) for item in items]
    last = [reader.n_layers - 1]
    sides = [reader.read(part, ("mean",), last)["mean"][:, 0] for part in (texts, list(aspect.levels.values()))]
    of_items, of_levels = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)
    cosines = of_items @ of_levels.T
    return cosines, cosines[:, -1] - cosines[:, 0]


def prompt_results(reader: "StateReader", ratings: Ratings, cells: Sequence[Cell]) -> Results:
    """The level with the greatest value (`level_shares`) in every cell whose aspect has a rubric; nothing is fitted."""
    aspects, shares, results = load_aspects("reasoning"), {}, {}
    for cell in (cell for cell in cells if cell.aspect in aspects):
        aspect, key = aspects[cell.aspect], (cell.set, cell.aspect)
        if key not in shares:
            shares[key] = level_shares(reader, ratings[cell.set][cell.aspect], aspect)
        best = np.asarray(aspect.scores)[shares[key][0].argmax(1)]
        predicted = binary_labels(best) if cell.head.name == "binary" else best
        results[*cell.name, "prompt"] = NestedResult(predicted, shares[key][1], np.zeros(len(best), int), [])
    return results


def published_estimate(cell: Cell, kinds: Sequence[str], seed: int = 731, n_boot: int = 2000) -> Number:
    """Weighted F1 of the best single layer on one test fold, chosen by it: what the published procedure quotes.

    Not an estimate of anything: the published code looks through layers and poolings, prints the report on the test
    fold of each, and quotes the best; items of one question may stand on both sides. Logistic regression on scaled
    features, without projection. ``seed``: of the split of four to one, stratified by label; 731 in the published code.
    """
    rows, labels = np.arange(len(cell.labels)), cell.labels
    train, test = train_test_split(rows, test_size=0.2, stratify=labels, random_state=seed)
    family, metric = cell.head.families[0], METRICS["weighted_f1"]
    tried = []
    for array in (cell.features[kind] for kind in kinds):
        for layer in range(array.shape[1]):
            X = joined_layers(array, (layer,))
            probe = make_probe(family, FAMILIES[family].usual, None, seed).fit(X[train], labels[train])
            tried.append(class_counts(labels[test], probe.predict(X[test]), cell.head.classes))
    counts = max(tried, key=lambda counts: float(metric(counts.sum(0))))
    sums = cluster_sums(counts, np.arange(len(test)))
    return Number(*cluster_bootstrap(sums, metric, n_boot), n=len(test), spec=".1%")
