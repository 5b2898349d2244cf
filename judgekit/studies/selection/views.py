"""Labelled pairs as small judges see them: surface features, and states of an encoder that is not trained."""

from dataclasses import dataclass, replace

import numpy as np

from judgekit.records import SWAPPED
from judgekit.studies.selection.scores import decided
from judgekit.training.features import FeatureTable, feature_table


@dataclass(frozen=True)
class Views:
    """Pairs labelled A or B, with all that scorers and students read of them.

    Attributes
    ----------
    pairs : list of PreferencePair
    looks : judgekit.training.features.FeatureTable
    states : array of float, shape (n_pairs, 2 * width)
        Of A less of B: mean states of the responses, and their products with the question's. Exchanging the
        responses changes the sign and nothing else.
    """

    pairs: list
    looks: FeatureTable
    states: np.ndarray

    def __len__(self):
        return len(self.pairs)

    @property
    def prefers_a(self):
        """Whether the label is A, shape (n_pairs,)."""
        return np.array([pair.label == "A" for pair in self.pairs])

    @property
    def questions(self):
        """What is asked, by pair."""
        return [pair.asked for pair in self.pairs]

    @property
    def sources(self):
        """The set of each pair."""
        return [pair.benchmark for pair in self.pairs]

    @property
    def clusters(self):
        """The prompt of each pair."""
        return [pair.cluster for pair in self.pairs]

    def of(self, rows):
        """The views of some of the pairs (places, or a mask)."""
        rows = np.arange(len(self))[rows]
        return Views([self.pairs[i] for i in rows], self.looks.of(rows), self.states[rows])

    def flipped(self, where):
        """The same pairs with the labels exchanged where a mask says so; the responses stay where they are."""
        pairs = [exchanged(pair) if flip else pair for pair, flip in zip(self.pairs, where, strict=True)]
        target = np.where(np.asarray(where)[:, None], self.looks.target[:, [1, 0, 2]], self.looks.target)
        return replace(self, pairs=pairs, looks=replace(self.looks, target=target))


def exchanged(pair):
    """A pair with the other label, everything else left."""
    soft = None if pair.soft_label is None else 1 - pair.soft_label
    return replace(pair, label=SWAPPED[pair.label], soft_label=soft)


class States:
    """Mean states of texts at the last layer of an encoder, each read once, at unit length.

    Parameters
    ----------
    reader : judgekit.inside.representations.reader.StateReader
        Of an encoder that no label of the pool went into.
    """

    def __init__(self, reader):
        self.reader, self.known = reader, {}

    def of(self, texts):
        """States of texts, shape (n_texts, width)."""
        if missing := [text for text in dict.fromkeys(texts) if text not in self.known]:
            states = self.reader.read(missing, ("mean",), [self.reader.n_layers - 1])["mean"][:, 0]
            states = states / np.linalg.norm(states, axis=1, keepdims=True)
            self.known |= dict(zip(missing, states, strict=True))
        return np.array([self.known[text] for text in texts])

    def rate(self, asked):
        """The rater that asks whether a response is about its question: the cosine of their states.

        Parameters
        ----------
        asked : list of (question, response)

        Returns
        -------
        array of float, shape (n,), in [-1, 1]
        """
        questions, responses = zip(*asked, strict=True)
        return (self.of(questions) * self.of(responses)).sum(1)


def view(pairs, states):
    """Read pairs.

    Parameters
    ----------
    pairs : list of PreferencePair
        Labelled A or B.
    states : States

    Returns
    -------
    Views

    Raises
    ------
    ValueError
        If there is no pair, or one is not labelled A or B.
    """
    if not pairs:
        raise ValueError("no pairs to look at")
    for pair in pairs:
        decided(pair)
    states.of([text for pair in pairs for text in (pair.asked, *pair.responses)])  # all in one go: fewer batches
    texts = zip(*((pair.asked, *pair.responses) for pair in pairs), strict=True)
    question, a, b = (states.of(side) for side in texts)
    gaps = np.concatenate([a - b, question * (a - b)], axis=1)
    return Views(list(pairs), feature_table(pairs, frozenset()), gaps)
