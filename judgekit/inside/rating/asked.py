"""The prompt baseline: the same frozen model is asked with the rubric, and nothing is fitted.

A causal model is asked for a score. An encoder cannot be asked: there the level whose description is closest wins.
"""

import numpy as np

from judgekit.inside.probes.heads import binary_labels
from judgekit.inside.probes.nested import NestedResult
from judgekit.inside.probes.texts import rated_text


def level_scores(reader, items, levels):
    """Cosines of responses with the descriptions of the levels.

    Parameters
    ----------
    reader : judgekit.inside.representations.reader.StateReader
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


def model_scores(reader, items, aspect):
    """Probabilities of the scores that a causal model would give, shape (n_items, n_levels).

    Parameters
    ----------
    reader : judgekit.inside.representations.reader.StateReader
    items : list of Response
    aspect : judgekit.inside.aspects.Aspect
    """
    from scipy.special import softmax

    from judgekit.inside.layers.asking import read_scores
    from judgekit.inside.layers.reading import LayerReader
    from judgekit.prompts.rubrics import Rubric, score_prompt

    rubric = Rubric(aspect.definition, tuple(aspect.levels), tuple(aspect.levels.items()))
    asked = LayerReader(reader.name, device=reader.encoder.device)
    return softmax(read_scores(asked, score_prompt("direct", rubric), items, rubric.scores)[:, -1], axis=-1)


def is_causal(reader):
    """Whether the frozen model writes text."""
    return any(name.endswith("ForCausalLM") for name in reader.model.config.architectures or ())


def prompted(cell, shares, levels, ranked):
    """The best-rated level of each response, as a result of a cell.

    Parameters
    ----------
    cell : judgekit.inside.probes.study.Cell
    shares : array, shape (n_items, n_levels)
    levels : sequence of int
        Ascending; from 4 on they are good.
    ranked : array, shape (n_items,)
        What responses are ranked by.

    Returns
    -------
    judgekit.inside.probes.nested.NestedResult
    """
    best = np.asarray(levels)[shares.argmax(1)]
    predicted = binary_labels(best) if cell.head.name == "binary" else best
    return NestedResult(predicted, ranked, np.zeros(len(best), int), [], {})


def prompt_results(reader, ratings, cells, aspects):
    """The prompt baseline of every cell whose aspect has a rubric.

    Parameters
    ----------
    reader : judgekit.inside.representations.reader.StateReader
    ratings : dict of str to dict of str to list of Response
        What the cells were made of.
    cells : list of judgekit.inside.probes.study.Cell
    aspects : dict of str to judgekit.inside.aspects.Aspect

    Returns
    -------
    dict of (set, aspect, head, "prompt") to judgekit.inside.probes.nested.NestedResult
        A causal model's responses are ranked by their expected score, an encoder's by how much closer the highest
        level is than the lowest.
    """
    shares, found = {}, {}
    for cell in cells:
        if cell.aspect not in aspects:
            continue
        aspect, key = aspects[cell.aspect], (cell.set, cell.aspect)
        items, levels = ratings[cell.set][cell.aspect], list(aspect.levels)
        if key not in shares:
            causal = is_causal(reader)
            said = model_scores(reader, items, aspect) if causal else level_scores(reader, items, aspect.levels)
            shares[key] = said, said @ levels if causal else said[:, -1] - said[:, 0]
        said, ranked = shares[key]
        found[*cell.name, "prompt"] = prompted(cell, said, levels, ranked)
    return found
