"""The form every authored question takes, and the words that several families draw from."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

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


class Solution(NamedTuple):
    """A right, wrong or partial solution."""

    answer: str  # the short answer, as a terse writer would give it
    steps: tuple[str, ...] = ()  # the working that leads there; a wrong solution's working contains the slip
    frames: tuple[str, ...] = ()  # sentences with ``{}`` where the answer goes; empty means the problem's own


@dataclass(frozen=True, slots=True)
class Problem:
    """A question and what may be said to it.

    All right solutions are equally good and all wrong ones equally bad; a partial one gives some of what is asked, so
    it loses to a right one and is never called a tie with a wrong one.
    """

    parameters: tuple  # what the answer depends on, without surface wording: equal parameters are the same question
    wordings: tuple[str, ...]  # ways to ask it
    right: tuple[Solution, ...]
    wrong: tuple[Solution, ...]
    neighbour: Solution  # the right one of a similar, different question: it reads well and answers something else
    frames: tuple[str, ...] = ()  # as of `Solution`; empty when the response must be the answer and nothing else
    partial: tuple[Solution, ...] = ()
    language: str = "en"  # or zh


def solutions(answers: Iterable[str], steps: Iterable[str] = ()) -> tuple[Solution, ...]:
    """Solutions that share their working."""
    return tuple(Solution(answer, tuple(steps)) for answer in answers)
