"""From rated responses to what probes are tried on: hidden states, labels of each head, and questions."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from judgekit.data.progress import progress_bar
from judgekit.inside.probes.controls import length_features
from judgekit.inside.probes.heads import HEADS, Head, binary_labels
from judgekit.inside.probes.study import Cell
from judgekit.inside.probes.texts import rated_text
from judgekit.records import Response

if TYPE_CHECKING:
    from judgekit.models.states import StateReader

LEAST = {"binary": 15, "five": 5, "ordinal": 5}  # items that the rarest class must have: fewer say nothing
LENGTH, ATTENTION = "length", "attention_entropy"


def read_states(
    ratings: Mapping[str, Mapping[str, Sequence[Response]]],
    reader: "StateReader",
    quantities: Sequence[str],
    step: int = 64,
    shown: bool = True,
) -> dict[str, dict[str, np.ndarray]]:
    """Hidden states of all rated texts, each read once: text to quantity to states of shape (n_layers, width).

    ``ratings``: set to aspect to responses. ``reader``: best with a cache, so that an interrupted reading goes on where
    it was. ``step``: texts per step of the bar.
    """
    texts = {text_of(item) for aspects in ratings.values() for items in aspects.values() for item in items}
    ordered, found = sorted(texts, key=lambda text: (len(text), text)), {}  # type: list[str], dict[str, Any]
    with progress_bar(len(ordered), "reading", "text", shown) as bar:
        for start in range(0, len(ordered), step):
            batch = ordered[start : start + step]
            states = reader.read(batch, tuple(quantities))
            found |= {text: {name: states[name][row] for name in quantities} for row, text in enumerate(batch)}
            bar.update(len(batch))
    return found


def text_of(item: Response) -> str:
    """The text that is read for a response."""
    return rated_text(item.question, item.response)


def labels_of(items: Sequence[Response], head: Head) -> np.ndarray:
    """Labels of a head for rated responses; scores of 0 and 1 are labels of the binary head already.

    ValueError where an item has no score.
    """
    scores: list[Any] = [item.score for item in items]
    if None in scores:
        raise ValueError(f"{items[scores.index(None)].where}: no score")
    if head.name == "binary":
        return np.array(scores, int) if set(scores) <= {0, 1} else binary_labels(scores)
    return np.rint(scores).astype(int)


def cells_of(
    ratings: Mapping[str, Mapping[str, Sequence[Response]]],
    states: Mapping[str, Mapping[str, np.ndarray]],
    heads: Iterable[str],
) -> tuple[list[Cell], dict[tuple[str, str, str], str]]:
    """Cells of a study, with the states and `length` as features; and those left out (set, aspect, head), to why.

    ``states``: of `read_states`. ``heads``: names, of `judgekit.inside.probes.heads.HEADS`.
    """
    cells, skipped = [], {}
    for name, aspects in ratings.items():
        for aspect, items in aspects.items():
            texts = [text_of(item) for item in items]
            features = {kind: np.stack([states[text][kind] for text in texts]) for kind in next(iter(states.values()))}
            if ATTENTION in features:
                features[ATTENTION] = features[ATTENTION][:, 1:]  # nothing attends at layer 0
            features |= {LENGTH: length_features([item.response for item in items])}
            groups = np.array([item.cluster for item in items])
            for head in (HEADS[head] for head in heads):
                labels = labels_of(items, head)
                counts = Counter(labels.tolist())
                rarest = min(counts.get(label, 0) for label in head.classes)
                if rarest < LEAST[head.name]:
                    skipped[name, aspect, head.name] = f"{rarest} of {len(items)} items in the rarest class"
                else:
                    cells.append(Cell(name, aspect, head, features, labels, groups))
    return cells, skipped
