"""Ten annotation tasks in which several people and several language models labelled the same items, label by label."""

import json
from dataclasses import dataclass

import numpy as np

from judgekit.data.sources import DataError, read_document, source_hashes
from judgekit.data.votes import Votes, positions, votes_from_long

ORDERED = (
    "10k_prompts",
    "cebab_stars",
    "lesion",
    "summeval",
)  # labels are whole numbers, and near ones are nearly right
REVIEWS = ("cebab_aspects", "cebab_stars")  # an item's name ends its review's with six digits for the edited text
OPEN = ("kilogram",)  # labels are free words
TITLES = {"10k_prompts": "10k Prompts", "cebab_aspects": "CEBaB aspects", "cebab_stars": "CEBaB stars"}
TITLES |= {"framing": "framing", "kilogram": "KiloGram", "lesion": "lesion", "lgbteen": "LGBTeen", "wax": "WAX"}
TITLES |= {"mtbench": "MT-bench, AltTest", "summeval": "SummEval"}
TASKS = ("cebab_aspects", "framing", "lgbteen", "mtbench", "wax", *ORDERED, *OPEN)


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One task.

    Attributes
    ----------
    name : str
    votes : judgekit.data.votes.Votes
        Of the people. Clusters are what an item was taken from: the text, picture, document or question.
    judges : dict of str to dict of str to str
        Language model to item to label, on the same items and classes.
    scale : array of float, shape (n_classes,), or None
        The number that each class is, where labels are ordered.
    """

    name: str
    votes: Votes
    judges: dict
    scale: np.ndarray | None


def load_task(name):
    """People's votes on a task, and the language models' labels.

    Parameters
    ----------
    name : str
        One of `TASKS`.

    Returns
    -------
    Task
        A judge's label stays a class also where no person used it.

    Raises
    ------
    KeyError
        If there is no such task; the message lists those there are.
    judgekit.data.sources.DataError
        If a file cannot be had, a label is neither text nor a whole number, or a model lacks an item.

    Notes
    -----
    Calderon, Reichart and Dror (2025), arXiv:2501.10970, and the data in its repository. An item's name holds what it
    was taken from before its first double underscore; that is its cluster.
    """
    if name not in TASKS:
        raise KeyError(f"no annotation task {name!r}; there are {', '.join(TASKS)}")
    people, models = (labels_of(file) for file in files_of(name))
    used = {label for by_item in (*people.values(), *models.values()) for label in by_item.values()}
    classes = sorted(used, key=int if name in ORDERED else str)
    rows = [
        (item, annotator, label, cluster_of(name, item))
        for annotator, by_item in people.items()
        for item, label in by_item.items()
    ]
    votes, _ = votes_from_long(rows, classes)
    for model, by_item in models.items():
        if lacking := [item for item in votes.items if item not in by_item]:
            raise DataError(f"{files_of(name)[1]}: {model} has no label of {lacking[0]!r}")
    scale = np.array([float(label) for label in classes]) if name in ORDERED else None
    return Task(name, votes, models, scale)


def cluster_of(name, item):
    """What an item was taken from: edits of one review are one cluster.

    Examples
    --------
    >>> cluster_of("cebab_stars", "1024000003__stars"), cluster_of("mtbench", "100__alpaca-13b__claude-v1__2")
    ('1024', '100')
    """
    start = item.split("__")[0]
    return start[:-6] if name in REVIEWS else start


def files_of(name):
    """The files of people's and of models' labels."""
    return tuple(f"alttest/{name}/{who}_annotations.json" for who in ("human", "llm"))


def task_hashes(names):
    """File to SHA-256 of what some tasks are read from."""
    return source_hashes([file for name in names for file in files_of(name)])


def labels_of(file):
    """Annotator to item to label, as text.

    Raises
    ------
    DataError
        Names the file, the annotator and the item.
    """
    try:
        document = json.loads(read_document(file))
    except json.JSONDecodeError as error:
        raise DataError(f"{file}:{error.lineno}: is not JSON ({error.msg})") from error
    return {annotator: labels_by_item(file, annotator, given) for annotator, given in as_object(file, document).items()}


def labels_by_item(file, annotator, given):
    """The labels of one annotator, checked."""
    found = as_object(f"{file}: {annotator}", given)
    for item, label in found.items():
        if isinstance(label, bool) or not isinstance(label, str | int):
            raise DataError(f"{file}: {annotator}: {item!r} is labelled {label!r}, neither text nor a whole number")
    return {item: str(label) for item, label in found.items()}


def as_object(where, value):
    """A JSON object that is not empty."""
    if not isinstance(value, dict) or not value:
        raise DataError(f"{where}: is no object, or an empty one")
    return value


def shares_of_judges(task, leave_out=(), added=0.5):
    """How the models' labels of each item divide, as `ClassProbabilities` would have them.

    Parameters
    ----------
    task : Task
    leave_out : collection of str
        Models that are not heard.
    added : float
        Votes added to every class, so that none is impossible.

    Returns
    -------
    array of float, shape (n_items, n_classes)
    """
    counts = np.full((len(task.votes.items), len(task.votes.classes)), float(added))
    rows = np.arange(len(counts))
    for model, by_item in task.judges.items():
        if model not in leave_out:
            counts[rows, positions([by_item[item] for item in task.votes.items], task.votes.classes, "class")] += 1
    return counts / counts.sum(1, keepdims=True)
