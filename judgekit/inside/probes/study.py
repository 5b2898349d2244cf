"""Probes, controls and yardsticks side by side: every cell (set, aspect, head) by every method, kept as it is done."""

import hashlib
import json
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path

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

VERSION = 2  # of the procedure: raise it when the same cell would give other predictions


@dataclass(frozen=True)
class Cell:
    """What is to be predicted, and from what.

    Attributes
    ----------
    set, aspect : str
    head : judgekit.inside.probes.heads.Head
    features : dict of str to array, shape (n_items, n_layers, width)
    labels : array of int, shape (n_items,)
    groups : array of str, shape (n_items,)
        Question of each item.
    """

    set: str
    aspect: str
    head: Head
    features: dict
    labels: np.ndarray
    groups: np.ndarray

    @property
    def name(self):
        """Set, aspect and head."""
        return self.set, self.aspect, self.head.name


@dataclass(frozen=True)
class Method:
    """A way of predicting: which features it may choose from, and with which families.

    Attributes
    ----------
    features : tuple of str
    families : dict of str to tuple of str
        Head to families; a head that is not named has its own.
    """

    features: tuple
    families: dict = field(default_factory=dict)

    def of(self, cell):
        """The cell with this method's features, and the families for its head."""
        missing = [name for name in self.features if name not in cell.features]
        if missing:
            raise ValueError(f"{'/'.join(cell.name)} has no features {missing[0]!r}; it has {', '.join(cell.features)}")
        families = tuple(self.families.get(cell.head.name, cell.head.families))
        return replace(cell, features={name: cell.features[name] for name in self.features}), families


def run_study(cells, methods, folder, seed=0, n_outer=5, workers=1, space=None, shown=True):
    """Nested cross-validation of every cell by every method.

    Parameters
    ----------
    cells : list of Cell
    methods : dict of str to Method
    folder : path
        Results are kept here, one file per cell and method, named by their content: what is there is not computed
        again, and an interrupted run loses only what was in flight.
    seed, n_outer : int
    workers : int
        Processes.
    space : judgekit.inside.probes.selection.Space, optional
        What is tried, but for the families.
    shown : bool
        Whether a bar shows.

    Returns
    -------
    dict of (set, aspect, head, method) to NestedResult
        Without ``metrics`` (`metrics_of`).
    """
    folder, space = Path(folder), space or Space()
    folder.mkdir(parents=True, exist_ok=True)
    wanted, found, tasks = {}, {}, {}
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


def computed(tasks, workers):
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


def compute(cell, seed, n_outer, spaces):
    """One cell by methods that share their features, kept when each is done.

    On one thread, since matrices are small and cells are many.

    Parameters
    ----------
    cell : Cell
    seed, n_outer : int
    spaces : dict of path to judgekit.inside.probes.selection.Space
        Where each result is kept.

    Returns
    -------
    dict of path to NestedResult
    """
    searches, found = {}, {}
    with threadpool_limits(1), warnings.catch_warnings():
        # A candidate that has not converged is a candidate all the same: the folds say what it is worth.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for path, space in spaces.items():
            more = {"n_boot": None, "searches": searches}
            found[path] = nested_probe(cell.features, cell.labels, cell.groups, cell.head, space, n_outer, seed, **more)
            with replaced(path) as temporary:
                temporary.write_text(json.dumps(as_row(found[path])), encoding="utf-8")
    return found


def task_key(cell, space, seed, n_outer):
    """Hash of everything that a result depends on."""
    arrays = {name: digest(array) for name, array in cell.features.items()}
    parts = (arrays, digest(np.asarray(cell.labels, int)), list(map(str, cell.groups)), cell.head.classes)
    return fingerprint_of(VERSION, *parts, asdict(space), seed, n_outer)


def digest(array):
    """SHA-256 of an array's shape and values."""
    array = np.ascontiguousarray(array)
    return hashlib.sha256(str((array.shape, array.dtype.str)).encode() + array.tobytes()).hexdigest()


def as_row(result):
    """A result as JSON."""
    choices = [
        asdict(choice)
        | {"layers": list(choice.layers), "ranking": {name: array.tolist() for name, array in choice.ranking.items()}}
        for choice in result.choices
    ]
    arrays = {name: getattr(result, name).tolist() for name in ("predicted", "scores", "fold")}
    return arrays | {"choices": choices}


def read_result(path):
    """A kept result; None where there is none that can be read: it is then computed again."""
    try:
        row = json.loads(Path(path).read_text(encoding="utf-8"))
        choices = [kept_choice(choice) for choice in row["choices"]]
        predicted, fold = (np.array(row[name], int) for name in ("predicted", "fold"))
        return NestedResult(predicted, np.array(row["scores"], float), fold, choices, {})
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def kept_choice(row):
    """A choice from JSON."""
    ranking = {name: np.array(values) for name, values in row["ranking"].items()}
    return Choice(**row | {"layers": tuple(row["layers"]), "ranking": ranking})


def metrics_of(cell, result, n_boot=2000, seed=0):
    """Metrics of a result with their intervals (`judgekit.inside.probes.scores.scored`)."""
    return scored(cell.labels, result.predicted, result.scores, cell.groups, cell.head.classes, n_boot, seed)


def layer_curve(result, name):
    """Mean score of each single layer, shape (n_layers, 2): mean and deviation over the outer folds.

    Notes
    -----
    Scores of inner folds: no layer was picked by them, so the curve is no best of many.
    """
    means = np.array([choice.ranking[name][:, 0] for choice in result.choices])
    return np.stack([means.mean(0), means.std(0)], axis=1)
