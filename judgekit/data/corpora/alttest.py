"""Ten annotation tasks in which several people and several language models labelled the same items, label by label.

Calderon, Reichart and Dror (2025), arXiv:2501.10970, and the data in its repository.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from judgekit.data.sources.rows import parse_json, read_document
from judgekit.data.votes import Votes, votes_from_long

# Of the last, KiloGram, labels are free words.
TASKS = "cebab_aspects framing lgbteen mtbench wax 10k_prompts cebab_stars lesion summeval kilogram".split()
ORDERED = ("10k_prompts", "cebab_stars", "lesion", "summeval")  # labels are whole numbers; near ones are nearly right
REVIEWS = ("cebab_aspects", "cebab_stars")  # an item's name ends its review's with six digits for the edited text

Labels = dict[str, dict[str, str]]  # annotator to item to label


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One task; clusters of its votes are what an item was taken from: the text, picture, document or question."""

    votes: Votes  # of the people
    judges: Labels  # of language models, on the same items and classes
    scale: npt.NDArray[np.float64] | None  # (n_classes,): the number that each class is, where labels are ordered


def load_task(name: str) -> Task:
    """People's votes on one of `TASKS`, and language models' labels; KeyError if there is no such task."""
    if name not in TASKS:
        raise KeyError(f"no annotation task {name!r}; there are {', '.join(TASKS)}")
    people, models = (_labels_of(f"alttest/{name}/{whose}_annotations.json") for whose in ("human", "llm"))
    used = {label for by_item in (*people.values(), *models.values()) for label in by_item.values()}
    classes = sorted(used, key=int if name in ORDERED else str)
    given = ((item, who, label) for who, by_item in people.items() for item, label in by_item.items())
    votes, _ = votes_from_long(((*vote, _cluster_of(name, vote[0])) for vote in given), classes)
    scale = np.array([float(label) for label in classes]) if name in ORDERED else None
    return Task(votes, models, scale)


def _cluster_of(name: str, item: str) -> str:
    """What an item was taken from, which stands before its first double underscore; edits of a review are one cluster.

    >>> _cluster_of("cebab_stars", "1024000003__stars"), _cluster_of("mtbench", "100__alpaca-13b__claude-v1__2")
    ('1024', '100')
    """
    start = item.split("__")[0]
    return start[:-6] if name in REVIEWS else start


def _labels_of(file: str) -> Labels:
    """Annotator to item to label, as text."""
    found = parse_json(read_document(file), file)
    return {annotator: {item: str(label) for item, label in given.items()} for annotator, given in found.items()}
