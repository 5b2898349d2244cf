"""Labelled pairs as small judges see them: surface features, and states of an encoder that is not trained."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from judgekit.records import SWAPPED, PreferencePair
from judgekit.stats import Array, Floats
from judgekit.studies.selection.scores import decided
from judgekit.training.features import FeatureTable, feature_table

if TYPE_CHECKING:
    from judgekit.models.states import StateReader


@dataclass(frozen=True)
class Views:
    """Pairs labelled A or B, with all that scorers and students read of them."""

    pairs: list  # of PreferencePair
    looks: FeatureTable
    # Of A less of B, shape (n_pairs, 2 * width): mean states of the responses, and their products with the question's.
    # Exchanging the responses changes the sign and nothing else.
    states: np.ndarray

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def prefers_a(self) -> npt.NDArray[np.bool_]:
        """Whether the label is A, shape (n_pairs,)."""
        return np.array([pair.label == "A" for pair in self.pairs])

    @property
    def questions(self) -> list[str]:
        """What is asked, by pair."""
        return [pair.asked for pair in self.pairs]

    @property
    def sources(self) -> list[str]:
        """The set of each pair."""
        return [pair.benchmark for pair in self.pairs]

    @property
    def clusters(self) -> list[str]:
        """The prompt of each pair."""
        return [pair.cluster for pair in self.pairs]

    def of(self, rows: Array) -> "Views":
        """The views of some of the pairs (places, or a mask)."""
        rows = np.arange(len(self))[rows]
        return Views([self.pairs[i] for i in rows], self.looks.of(rows), self.states[rows])

    def flipped(self, where: Array) -> "Views":
        """The same pairs with the labels exchanged where a mask says so; the responses stay where they are."""
        pairs = [exchanged(pair) if flip else pair for pair, flip in zip(self.pairs, where, strict=True)]
        target = np.where(np.asarray(where)[:, None], self.looks.target[:, [1, 0, 2]], self.looks.target)
        return replace(self, pairs=pairs, looks=replace(self.looks, target=target))


def exchanged(pair: PreferencePair) -> PreferencePair:
    """A pair with the other label, everything else left."""
    soft = None if pair.soft_label is None else 1 - pair.soft_label
    return replace(pair, label=SWAPPED[pair.label], soft_label=soft)


class States:
    """Mean states of texts at the last layer of an encoder that no label of the pool went into.

    Each is read once, at unit length.
    """

    def __init__(self, reader: "StateReader") -> None:
        self.reader, self.known = reader, {}  # type: StateReader, dict[str, Floats]

    def of(self, texts: Sequence[str]) -> Floats:
        """States of texts, shape (n_texts, width)."""
        if missing := [text for text in dict.fromkeys(texts) if text not in self.known]:
            states = self.reader.read(missing, ("mean",), [self.reader.n_layers - 1])["mean"][:, 0]
            states = states / np.linalg.norm(states, axis=1, keepdims=True)
            self.known |= dict(zip(missing, states, strict=True))
        return np.array([self.known[text] for text in texts])

    def rate(self, asked: Iterable[tuple[str, str]]) -> Floats:
        """The rater that asks whether a response is about its question: the cosine of their states, shape (n,).

        ``asked``: questions with a response.
        """
        questions, responses = zip(*asked, strict=True)
        return (self.of(questions) * self.of(responses)).sum(1)


def view(pairs: Sequence[PreferencePair], states: States) -> Views:
    """Read pairs; ValueError where there is no pair, or one is not labelled A or B."""
    if not pairs:
        raise ValueError("no pairs to look at")
    for pair in pairs:
        decided(pair)
    states.of([text for pair in pairs for text in (pair.asked, *pair.responses)])  # all in one go: fewer batches
    texts = zip(*((pair.asked, *pair.responses) for pair in pairs), strict=True)
    question, a, b = (states.of(side) for side in texts)
    gaps = np.concatenate([a - b, question * (a - b)], axis=1)
    return Views(list(pairs), feature_table(pairs, frozenset()), gaps)
