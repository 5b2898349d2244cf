"""Differences of the hidden states of two responses: what a pairwise probe reads."""

import numpy as np

from judgekit.data.progress import progress_bar
from judgekit.inside.probes.texts import rated_text


def pair_differences(pairs, reader, poolings, step=32, shown=True):
    """States of response A minus states of response B, each read with its question by itself.

    Parameters
    ----------
    pairs : list of PreferencePair
        Earlier turns are read as part of the question, as judges do.
    reader : judgekit.inside.representations.reader.StateReader
        Best with a cache: an interrupted reading then goes on where it was.
    poolings : sequence of str
    step : int
        Pairs per step of the bar.
    shown : bool

    Returns
    -------
    dict of str to array of float32, shape (n_pairs, n_layers, width)
    """
    texts = [[rated_text(pair.asked, side) for side in (pair.response_a, pair.response_b)] for pair in pairs]
    order = sorted(range(len(texts)), key=lambda place: -max(map(len, texts[place])))  # like lengths together
    found = {name: [None] * len(texts) for name in poolings}
    with progress_bar(len(order), "reading", "pair", shown) as bar:
        for start in range(0, len(order), step):
            places = order[start : start + step]
            states = reader.read([text for place in places for text in texts[place]], tuple(poolings))
            for name in poolings:
                for row, place in enumerate(places):
                    found[name][place] = states[name][2 * row] - states[name][2 * row + 1]
            bar.update(len(places))
    return {name: np.stack(rows) for name, rows in found.items()}
