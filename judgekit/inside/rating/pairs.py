"""Differences of the hidden states of two responses: what a pairwise probe reads."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from judgekit.data.progress import progress_bar
from judgekit.inside.probes.texts import rated_text

if TYPE_CHECKING:
    from judgekit.models.states import StateReader
    from judgekit.records import PreferencePair


def pair_differences(
    pairs: "Sequence[PreferencePair]",
    reader: "StateReader",
    poolings: Sequence[str],
    step: int = 32,
    shown: bool = True,
) -> dict[str, np.ndarray]:
    """States of response A minus states of response B, each read with its question by itself.

    By pooling: float32, shape (n_pairs, n_layers, width). Earlier turns are read as part of the question, as judges do.
    ``reader``: best with a cache, so that an interrupted reading goes on where it was. ``step``: pairs per step of the
    bar.
    """
    texts = [[rated_text(pair.asked, side) for side in (pair.response_a, pair.response_b)] for pair in pairs]
    order = sorted(range(len(texts)), key=lambda place: -max(map(len, texts[place])))  # like lengths together
    found: dict[str, list[Any]] = {name: [None] * len(texts) for name in poolings}
    with progress_bar(len(order), "reading", "pair", shown) as bar:
        for start in range(0, len(order), step):
            places = order[start : start + step]
            states = reader.read([text for place in places for text in texts[place]], tuple(poolings))
            for name in poolings:
                for row, place in enumerate(places):
                    found[name][place] = states[name][2 * row] - states[name][2 * row + 1]
            bar.update(len(places))
    return {name: np.stack(rows) for name, rows in found.items()}
