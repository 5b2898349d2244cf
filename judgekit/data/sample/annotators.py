"""The simulated panel of annotators, with error rates that are known because they are chosen."""

from random import Random
from typing import Any, NamedTuple

from judgekit.records import LABELS


class Annotator(NamedTuple):
    """One simulated annotator and the true parameters of its votes.

    A reader judges the responses; the biased ones read only part of the time: ``length`` else votes for the longer
    response, ``position`` votes A; a ``spammer`` never reads, and votes a label at random.
    """

    name: str  # the key in ``PreferencePair.votes``
    kind: str  # reader, length, position or spammer
    accuracy: float  # probability of voting the truth when reading; errors are even over the two other labels
    bias: float = 0.0  # probability of not reading


PANEL = (
    Annotator("annotator-1", "reader", 0.97),
    Annotator("annotator-2", "reader", 0.92),
    Annotator("annotator-3", "reader", 0.86),
    Annotator("annotator-4", "reader", 0.78),
    Annotator("annotator-5", "reader", 0.62),
    Annotator("annotator-6", "length", 0.88, 0.5),
    Annotator("annotator-7", "position", 0.88, 0.4),
    Annotator("annotator-8", "spammer", 1 / 3, 1.0),
)


def annotators() -> list[Annotator]:
    """The panel behind the votes, with its true parameters: best reader first, the spammer last.

    >>> [a.kind for a in annotators()][-3:]
    ['length', 'position', 'spammer']
    """
    return list(PANEL)


def vote(rng: Random, annotator: Annotator, truth: Any, longer: str) -> str:
    """One annotator's label for an item, whose ``longer`` side has more characters."""
    if rng.random() < annotator.bias:
        return {"length": longer, "position": "A", "spammer": rng.choice(LABELS)}[annotator.kind]
    if rng.random() < annotator.accuracy:
        return truth
    return rng.choice([label for label in LABELS if label != truth])
