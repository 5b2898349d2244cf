"""From rated responses to what probes are tried on: hidden states, labels of each head, and questions."""

from collections import Counter

import numpy as np

from judgekit.data.progress import progress_bar
from judgekit.inside.probes.controls import length_features
from judgekit.inside.probes.heads import HEADS, binary_labels
from judgekit.inside.probes.study import Cell
from judgekit.inside.probes.texts import rated_text

LEAST = {"binary": 15, "five": 5, "ordinal": 5}  # items that the rarest class must have: fewer say nothing
LENGTH, ATTENTION = "length", "attention_entropy"


def read_states(ratings, reader, quantities, step=64, shown=True):
    """Hidden states of all rated texts, each read once.

    Parameters
    ----------
    ratings : dict of str to dict of str to list of Response
        Set to aspect to responses.
    reader : judgekit.inside.representations.reader.StateReader
        Best with a cache: an interrupted reading then goes on where it was.
    quantities : sequence of str
    step : int
        Texts per step of the bar.
    shown : bool

    Returns
    -------
    dict of str to dict of str to array, shape (n_layers, width)
        Text to quantity to states.
    """
    texts = {text_of(item) for aspects in ratings.values() for items in aspects.values() for item in items}
    ordered, found = sorted(texts, key=lambda text: (len(text), text)), {}
    with progress_bar(len(ordered), "reading", "text", shown) as bar:
        for start in range(0, len(ordered), step):
            batch = ordered[start : start + step]
            states = reader.read(batch, tuple(quantities))
            found |= {text: {name: states[name][row] for name in quantities} for row, text in enumerate(batch)}
            bar.update(len(batch))
    return found


def text_of(item):
    """The text that is read for a response."""
    return rated_text(item.question, item.response)


def labels_of(items, head):
    """Labels of a head for rated responses; scores of 0 and 1 are labels of the binary head already.

    Raises
    ------
    ValueError
        If an item has no score.
    """
    scores = [item.score for item in items]
    if None in scores:
        raise ValueError(f"{items[scores.index(None)].where}: no score")
    if head.name == "binary":
        return np.array(scores, int) if set(scores) <= {0, 1} else binary_labels(scores)
    return np.rint(scores).astype(int)


def cells_of(ratings, states, heads):
    """Cells of a study, and those that are left out.

    Parameters
    ----------
    ratings : dict of str to dict of str to list of Response
    states : dict
        Of `read_states`.
    heads : sequence of {"binary", "five", "ordinal"}

    Returns
    -------
    cells : list of judgekit.inside.probes.study.Cell
        With the states and `length` as features.
    skipped : dict of (set, aspect, head) to str
        Why there is nothing to estimate.
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
            for head in map(HEADS.get, heads):
                labels = labels_of(items, head)
                counts = Counter(labels.tolist())
                rarest = min(counts.get(label, 0) for label in head.classes)
                if rarest < LEAST[head.name]:
                    skipped[name, aspect, head.name] = f"{rarest} of {len(items)} items in the rarest class"
                else:
                    cells.append(Cell(name, aspect, head, features, labels, groups))
    return cells, skipped
