"""The prompt baseline of an encoder: nothing is fitted, the rubric's own words decide."""

import numpy as np

from judgekit.probes.nested import NestedResult
from judgekit.probes.texts import rated_text


def level_scores(reader, items, levels):
    """Cosines of responses with the descriptions of the levels.

    Parameters
    ----------
    reader : judgekit.representations.reader.StateReader
    items : list of Response
    levels : dict of int to str
        Score to description, ascending.

    Returns
    -------
    array, shape (n_items, n_levels)
        In [-1, 1]; mean-pooled states of the last layer.
    """
    last = [reader.n_layers - 1]
    texts = [rated_text(item.question, item.response) for item in items]
    read, said = (reader.read(part, ("mean",), last)["mean"][:, 0] for part in (texts, list(levels.values())))
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (read, said)]
    return unit[0] @ unit[1].T


def zero_shot(cell, cosines, levels):
    """The level whose description is closest to each response.

    Parameters
    ----------
    cell : judgekit.probes.study.Cell
    cosines : array, shape (n_items, n_levels)
    levels : sequence of int
        Ascending.

    Returns
    -------
    judgekit.probes.nested.NestedResult
        Predicted classes of the cell's head; for the binary head levels from 4 on are good. Ranked by how much closer
        the highest level is than the lowest.
    """
    closest = np.asarray(levels)[cosines.argmax(1)]
    predicted = (closest >= 4).astype(int) if cell.head.name == "binary" else closest
    return NestedResult(predicted, cosines[:, -1] - cosines[:, 0], np.zeros(len(closest), int), [], {})


def zero_shot_results(reader, ratings, cells, aspects):
    """`zero_shot` of every cell whose aspect has a rubric.

    Parameters
    ----------
    reader : judgekit.representations.reader.StateReader
    ratings : dict of str to dict of str to list of Response
        What the cells were made of.
    cells : list of judgekit.probes.study.Cell
    aspects : dict of str to judgekit.aspects.Aspect

    Returns
    -------
    dict of (set, aspect, head, "prompt") to judgekit.probes.nested.NestedResult
    """
    cosines, found = {}, {}
    for cell in cells:
        if cell.aspect not in aspects:
            continue
        levels, key = aspects[cell.aspect].levels, (cell.set, cell.aspect)
        if key not in cosines:
            cosines[key] = level_scores(reader, ratings[cell.set][cell.aspect], levels)
        found[*cell.name, "prompt"] = zero_shot(cell, cosines[key], list(levels))
    return found
