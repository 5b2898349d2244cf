"""The simulated panel of annotators, with error rates that are known because they are chosen."""

from dataclasses import dataclass

from judgekit.records import LABELS


@dataclass(frozen=True, slots=True)
class Annotator:
    """One simulated annotator and the true parameters of its votes.

    Attributes
    ----------
    name : str
        The key in ``PreferencePair.votes``.
    kind : {"reader", "length", "position", "spammer"}
        A reader judges the responses; the biased ones read only part of the time; a spammer never does.
    accuracy : float
        Probability in [0, 1] of voting the truth when reading. Errors are spread evenly over the two
        other labels.
    bias : float
        Probability in [0, 1] of not reading: ``length`` then votes for the longer response, ``position``
        votes A, and ``spammer`` (always 1) votes a label at random.
    """

    name: str
    kind: str
    accuracy: float
    bias: float = 0.0


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


def annotators():
    """The panel behind the votes, with its true parameters.

    Returns
    -------
    list of Annotator
        Eight annotators, best reader first, the spammer last.

    Examples
    --------
    >>> [a.kind for a in annotators()][-3:]
    ['length', 'position', 'spammer']
    """
    return list(PANEL)


def vote(rng, annotator, truth, longer):
    """One annotator's label for an item.

    Parameters
    ----------
    rng : random.Random
    annotator : Annotator
    truth, longer : {"A", "B", "tie"}
        The label by construction, and the side with more characters.

    Returns
    -------
    {"A", "B", "tie"}
    """
    if rng.random() < annotator.bias:
        return {"length": longer, "position": "A", "spammer": rng.choice(LABELS)}[annotator.kind]
    if rng.random() < annotator.accuracy:
        return truth
    return rng.choice([label for label in LABELS if label != truth])


def cast_votes(rng, truth, longer):
    """Votes of two to five annotators drawn from the panel, in the panel's order."""
    chosen = rng.sample(range(len(PANEL)), rng.randint(2, 5))
    return {PANEL[i].name: vote(rng, PANEL[i], truth, longer) for i in sorted(chosen)}
