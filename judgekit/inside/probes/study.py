"""Probes, controls and yardsticks side by side: every cell (set, aspect, head) by every method, kept as it is done."""

import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from judgekit.data.files import replaced
from judgekit.data.progress import progress_bar
from judgekit.inside.probes.heads import Head
from judgekit.inside.probes.nested import NestedResult, nested_probe
from judgekit.inside.probes.scores import scored
from judgekit.inside.probes.selection import Choice, Space
from judgekit.records import fingerprint_of
from judgekit.stats import Array, Floats

VERSION = 2  # of the procedure: raise it when the same cell would give other predictions


@dataclass(frozen=True)
class Cell:
    """What is to be predicted, and from what.

    ``features``: by kind, shape (n_items, n_layers, width). ``labels``: of the head, shape (n_items,). ``groups``:
    question of each item.
    """

    set: str
    aspect: str
    head: Head
    features: dict
    labels: np.ndarray
    groups: np.ndarray

    @property
    def name(self) -> tuple[str, str, str]:
        """Set, aspect and head."""
        return self.set, self.aspect, self.head.name


@dataclass(frozen=True)
class Method:
    """A way of predicting: which features it may choose from, and with which families.

    ``families``: by head; a head that is not named has its own.
    """

    features: tuple
    families: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, cell: Cell) -> tuple[Cell, tuple[str, ...]]:
        """The cell with this method's features, and the families for its head."""
        missing = [name for name in self.features if name not in cell.features]
        if missing:
            raise ValueError(f"{'/'.join(cell.name)} has no features {missing[0]!r}; it has {', '.join(cell.features)}")
        families = tuple(self.families.get(cell.head.name, cell.head.families))
        return replace(cell, features={name: cell.features[name] for name in self.features}), families


def run_study(
    cells: Sequence[Cell],
    methods: Mapping[str, Method],
    folder: str | Path,
    seed: int = 0,
    n_outer: int = 5,
    workers: int = 1,
    space: Space | None = None,
    shown: bool = True,
) -> dict[tuple[str, str, str, str], NestedResult]:
    """Nested cross-validation of every cell by every method, by (set, aspect, head, method), without ``metrics``.

    ``folder``: results are kept here, one file per cell and method, named by their content: what is there is not
    computed again, and an interrupted run loses only what was in flight. ``workers``: processes. ``space``: what is
    tried, but for the families.
    """
    folder, space = Path(folder), space or Space()
    folder.mkdir(parents=True, exist_ok=True)
    wanted, found, tasks = {}, {}, {}  # type: dict[Any, Path], dict[Path, Any], dict[Any, Any]
    for cell in cells:
        for name, method in methods.items():
            part, families = method.of(cell)
            tried = replace(space, families=families)
            path = folder / f"{task_key(part, tried, seed, n_outer)}.json"
            wanted[*cell.name, name] = path
            if path not in found:  # two methods may come to the same
                found[path] = read_result(path)
                if found[path] is None:
                    shared = (cell.name, method.features, families[0])
                    tasks.setdefault(shared, (part, seed, n_outer, {}))[-1][path] = tried
    missing = sum(result is None for result in found.values())
    with progress_bar(len(found), "probes", "cell", shown, initial=len(found) - missing) as bar:
        for results in computed(list(tasks.values()), workers):
            found |= results
            bar.update(len(results))
    return {key: found[path] for key, path in wanted.items()}


def computed(tasks: Sequence[Any], workers: int) -> Iterator[dict[Path, NestedResult]]:
    """Results by path of tasks as they are finished, the long ones begun first."""
    tasks = sorted(tasks, key=lambda task: -len(task[0].labels) * len(task[-1]))
    if workers < 2:
        yield from (compute(*task) for task in tasks)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        futures = [pool.submit(compute, *task) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def compute(cell: Cell, seed: int, n_outer: int, spaces: Mapping[Path, Space]) -> dict[Path, NestedResult]:
    """One cell by methods that share their features, each kept at its path when it is done.

    On one thread, since matrices are small and cells are many.
    """
    searches, found = {}, {}  # type: dict[int, Any], dict[Path, NestedResult]
    with threadpool_limits(1), warnings.catch_warnings():
        # A candidate that has not converged is a candidate all the same: the folds say what it is worth.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for path, space in spaces.items():
            more: dict[str, Any] = {"n_boot": None, "searches": searches}
            found[path] = nested_probe(cell.features, cell.labels, cell.groups, cell.head, space, n_outer, seed, **more)
            with replaced(path) as temporary:
                temporary.write_text(json.dumps(as_row(found[path])), encoding="utf-8")
    return found


def task_key(cell: Cell, space: Space, seed: int, n_outer: int) -> str:
    """Hash of everything that a result depends on."""
    arrays = {name: digest(array) for name, array in cell.features.items()}
    parts = (arrays, digest(np.asarray(cell.labels, int)), list(map(str, cell.groups)), cell.head.classes)
    return fingerprint_of(VERSION, *parts, asdict(space), seed, n_outer)


def digest(array: Array) -> str:
    """SHA-256 of an array's shape and values."""
    array = np.ascontiguousarray(array)
    return hashlib.sha256(str((array.shape, array.dtype.str)).encode() + array.tobytes()).hexdigest()


def as_row(result: NestedResult) -> dict[str, Any]:
    """A result as JSON."""
    choices = [
        asdict(choice)
        | {"layers": list(choice.layers), "ranking": {name: array.tolist() for name, array in choice.ranking.items()}}
        for choice in result.choices
    ]
    arrays = {name: getattr(result, name).tolist() for name in ("predicted", "scores", "fold")}
    return arrays | {"choices": choices}


def read_result(path: str | Path) -> NestedResult | None:
    """A kept result; None where there is none that can be read: it is then computed again."""
    try:
        row = json.loads(Path(path).read_text(encoding="utf-8"))
        choices = [kept_choice(choice) for choice in row["choices"]]
        predicted, fold = (np.array(row[name], int) for name in ("predicted", "fold"))
        return NestedResult(predicted, np.array(row["scores"], float), fold, choices, {})
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def kept_choice(row: dict[str, Any]) -> Choice:
    """A choice from JSON."""
    ranking = {name: np.array(values) for name, values in row["ranking"].items()}
    return Choice(**row | {"layers": tuple(row["layers"]), "ranking": ranking})


def metrics_of(
    cell: Cell, result: NestedResult, n_boot: int = 2000, seed: int = 0
) -> dict[str, tuple[float, float, float]]:
    """Metrics of a result with their intervals (`judgekit.inside.probes.scores.scored`)."""
    return scored(cell.labels, result.predicted, result.scores, cell.groups, cell.head.classes, n_boot, seed)


def layer_curve(result: NestedResult, name: str) -> Floats:
    """Mean score of each single layer, shape (n_layers, 2): mean and deviation over the outer folds.

    Scores of inner folds: no layer was picked by them, so the curve is no best of many.
    """
    means = np.array([choice.ranking[name][:, 0] for choice in result.choices])
    return np.stack([means.mean(0), means.std(0)], axis=1)
