"""The form every authored question takes, and the words that several families draw from."""

from dataclasses import dataclass

# fmt: off
PEOPLE = (
    "Ada", "Ben", "Carla", "Dev", "Elif", "Farid", "Grace", "Hana", "Ivan", "Jonas", "Kofi", "Lena", "Mara", "Nia",
    "Omar", "Priya", "Rosa",
)
WORDS = (
    "harbour", "lantern", "meadow", "violin", "copper", "window", "garden", "planet", "bridge", "orchard", "thunder",
    "blanket", "castle", "feather", "compass", "pepper", "journey", "mirror", "saddle", "tunnel", "ribbon", "engine",
    "pocket", "island", "winter", "marble", "hammer", "kettle", "forest", "signal", "button", "anchor", "basket",
    "candle", "desert", "falcon", "guitar", "helmet", "jacket", "ladder",
)
# fmt: on


@dataclass(frozen=True, slots=True)
class Solution:
    """One way of answering a problem, right or wrong.

    Attributes
    ----------
    answer : str
        The short answer, as a terse writer would give it.
    steps : tuple of str
        The working that leads there; a wrong solution's working contains the slip.
    frames : tuple of str
        Sentences with ``{}`` where the answer goes; empty means the problem's own.
    """

    answer: str
    steps: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """A question whose right and wrong solutions are known by construction.

    Attributes
    ----------
    parameters : tuple
        What the answer depends on, without surface wording: equal parameters are the same question.
    wordings : tuple of str
        Ways to ask it.
    right, wrong, partial : tuple of Solution
        All right solutions are equally good and all wrong ones equally bad; a partial one gives some of what
        is asked, so it loses to a right one and is never called a tie with a wrong one.
    neighbour : Solution
        The right solution of a similar, different question: it reads well and answers something else.
    frames : tuple of str
        Sentences with ``{}`` for the answer; empty when the response must be the answer and nothing else.
    language : {"en", "zh"}
    """

    parameters: tuple
    wordings: tuple[str, ...]
    right: tuple[Solution, ...]
    wrong: tuple[Solution, ...]
    neighbour: Solution
    frames: tuple[str, ...] = ()
    partial: tuple[Solution, ...] = ()
    language: str = "en"


def solutions(answers, steps=()):
    """Several solutions that share their working."""
    return tuple(Solution(answer, tuple(steps)) for answer in answers)
