"""In-context demonstrations, drawn from training pairs and from nothing that is tested."""

import random
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from judgekit.records import PreferencePair

_SHARED_WORDS = 8  # a run of words this long in two questions: too much alike
_MOST_CHARACTERS = 2000  # of a pair that is shown
_ORDERS = ("drawn", "reversed", "short_first", "long_first")
_POSITIONS = {"A": "first", "B": "second", "tie": "tie"}


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A judged pair as a prompt shows it; the verdict is first, second or tie, ``item_id`` says where it was drawn."""

    question: str
    first: str
    second: str
    verdict: str
    item_id: str = ""
    reference: str | None = None
    turns: tuple = ()


def _word_runs(text: str) -> set[str]:
    """All runs of `_SHARED_WORDS` words of a text, lower case; of a shorter text the whole."""
    words = re.findall(r"\w+", text.lower())
    return {" ".join(words[i : i + _SHARED_WORDS]) for i in range(max(1, len(words) - _SHARED_WORDS + 1))}


def draw_demonstrations(
    pairs: Sequence[PreferencePair],
    n: int,
    seed: int = 0,
    order: str = "drawn",
    ties: bool = True,
    tested: Collection[str] = (),
) -> tuple[Demonstration, ...]:
    """Draw ``n`` demonstrations whose verdicts and positions are balanced; one in three is a tie, with ``ties``.

    Training pairs without a label, with earlier turns, or of more than 2,000 characters are passed over, and those
    whose question is one of ``tested`` (the questions of every test set) or shares a run of eight words with one.
    ``order``: drawn, reversed, short_first or long_first; the last one stands nearest to what is judged. Same seed,
    same demonstrations; a larger ``n`` adds to those of a smaller one. ValueError if ``n`` is negative, the order is
    unknown, or too few pairs are left.
    """
    if n < 0 or order not in _ORDERS:
        raise ValueError(f"n={n}, order={order!r}: n is at least 0, order one of {', '.join(_ORDERS)}")
    forbidden = {run for question in tested for run in _word_runs(question)}
    usable = [pair for pair in pairs if _is_usable(pair) and (ties or pair.label != "tie")]
    clean = [pair for pair in usable if not _word_runs(pair.question) & forbidden]
    drawn = _balanced(clean, n, random.Random(seed), ties)
    if len(drawn) < n:
        leaks = len(usable) - len(clean)
        raise ValueError(f"{len(drawn)} of {n} demonstrations: {len(pairs)} pairs, {len(usable)} usable, {leaks} leak")
    if order == "reversed":
        drawn = drawn[::-1]
    elif order != "drawn":
        drawn = sorted(drawn, key=lambda shown: len(shown.first) + len(shown.second), reverse=order == "long_first")
    return tuple(drawn)


def _is_usable(pair: PreferencePair) -> bool:
    """Whether a pair can be shown: labelled, one turn, short."""
    size = len(pair.question) + len(pair.response_a) + len(pair.response_b)
    return pair.label is not None and not pair.turns and size <= _MOST_CHARACTERS


def _balanced(pairs: list[PreferencePair], n: int, chance: random.Random, ties: bool) -> list[Demonstration]:
    """Up to n demonstrations of different questions: first and second (and tie) take turns, by swapping pairs."""
    left = sorted(pairs, key=lambda pair: (pair.benchmark, pair.item_id))
    chance.shuffle(left)
    cycle = ["first", "second", "tie"] if ties and any(pair.label == "tie" for pair in left) else ["first", "second"]
    drawn: list[Demonstration] = []
    while len(drawn) < n:
        wanted = cycle[len(drawn) % len(cycle)]
        decided = [pair for pair in left if pair.label != "tie"]
        fits = [pair for pair in left if pair.label == "tie"] if wanted == "tie" else decided
        if not (fits := fits or decided):
            break
        pair = fits[0]
        left = [other for other in left if other.question != pair.question]
        shown = pair if pair.label == "tie" or _POSITIONS[str(pair.label)] == wanted else pair.swapped()
        item_id, verdict = f"{pair.benchmark}/{pair.item_id}", _POSITIONS[str(shown.label)]
        drawn.append(Demonstration(shown.question, shown.response_a, shown.response_b, verdict, item_id))
    return drawn
