"""The prompt baseline: the same frozen model is asked with the rubric, and nothing is fitted.

A causal model is asked for a score. An encoder cannot be asked: there the level whose description is closest wins.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from judgekit.inside.probes.heads import binary_labels
from judgekit.inside.probes.nested import NestedResult
from judgekit.inside.probes.texts import rated_text
from judgekit.stats import Floats

if TYPE_CHECKING:
    from judgekit.inside.aspects import Aspect
    from judgekit.inside.probes.study import Cell
    from judgekit.models.states import StateReader
    from judgekit.records import Response


def level_scores(reader: "StateReader", items: "Sequence[Response]", levels: Mapping[int, str]) -> Floats:
    """Cosines of responses with the descriptions of the levels, in [-1, 1], shape (n_items, n_levels).

    ``levels``: score to description, ascending. Mean-pooled states of the last layer.
    """
    last = [reader.n_layers - 1]
    texts = [rated_text(item.question, item.response) for item in items]
    read, said = (reader.read(part, ("mean",), last)["mean"][:, 0] for part in (texts, list(levels.values())))
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (read, said)]
    return unit[0] @ unit[1].T


def model_scores(reader: "StateReader", items: "Sequence[Response]", aspect: "Aspect") -> Floats:
    """Probabilities of the scores that a causal model would give, shape (n_items, n_levels)."""
    from scipy.special import softmax

    from judgekit.inside.layers.asking import read_scores
    from judgekit.inside.layers.reading import LayerReader
    from judgekit.prompts.rubrics import Rubric, score_prompt

    rubric = Rubric(aspect.definition, tuple(aspect.levels), tuple(aspect.levels.items()))
    asked = LayerReader(reader.name, device=reader.encoder.device)
    return softmax(read_scores(asked, score_prompt("direct", rubric), items, rubric.scores)[:, -1], axis=-1)


def is_causal(reader: "StateReader") -> bool:
    """Whether the frozen model writes text."""
    return any(name.endswith("ForCausalLM") for name in reader.model.config.architectures or ())


def prompted(cell: "Cell", shares: np.ndarray, levels: Sequence[int], ranked: np.ndarray) -> NestedResult:
    """The best-rated level of each response, as a result of a cell.

    ``shares``: shape (n_items, n_levels). ``levels``: ascending; from 4 on they are good. ``ranked``: what responses
    are ranked by, shape (n_items,).
    """
    best = np.asarray(levels)[shares.argmax(1)]
    predicted = binary_labels(best) if cell.head.name == "binary" else best
    return NestedResult(predicted, ranked, np.zeros(len(best), int), [], {})


def prompt_results(
    reader: "StateReader",
    ratings: "Mapping[str, Mapping[str, Sequence[Response]]]",
    cells: "Sequence[Cell]",
    aspects: "Mapping[str, Aspect]",
) -> dict[tuple[str, str, str, str], NestedResult]:
    """The prompt baseline of every cell whose aspect has a rubric, by (set, aspect, head, "prompt").

    ``ratings``: set to aspect to responses, what the cells were made of. A causal model's responses are ranked by their
    expected score, an encoder's by how much closer the highest level is than the lowest.
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
