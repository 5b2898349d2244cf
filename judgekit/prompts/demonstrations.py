"""In-context demonstrations, drawn from training pairs and from nothing that is tested."""

import random
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from judgekit.records import PreferencePair

SHARED_WORDS = 8  # a run of words this long in two questions: too much alike
ORDERS = ("drawn", "reversed", "short_first", "long_first")
POSITIONS = {"A": "first", "B": "second", "tie": "tie"}


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
    """All runs of `SHARED_WORDS` words of a text, lower case; of a shorter text the whole."""
    words = re.findall(r"\w+", text.lower())
    return {" ".join(words[i : i + SHARED_WORDS]) for i in range(max(1, len(words) - SHARED_WORDS + 1))}


def draw_demonstrations(
    pairs: Sequence[PreferencePair],
    n: int,
    seed: int = 0,
    order: Literal["drawn", "reversed", "short_first", "long_first"] = "drawn",
    ties: bool = True,
    tested: Collection[str] = (),
    longest: int = 2000,
) -> tuple[Demonstration, ...]:
    """Draw ``n`` demonstrations whose verdicts and positions are balanced; one in three is a tie, with ``ties``.

    Training pairs without a label, with earlier turns, or of more than ``longest`` characters are passed over, and
    those whose question is one of ``tested`` (the questions of every test set) or shares a run of `SHARED_WORDS` words
    with one. Same seed, same demonstrations; a larger ``n`` adds to those of a smaller one. The last one stands
    nearest to what is judged. ValueError if ``n`` is negative, the order is unknown, or too few pairs are left.
    """
    if n < 0 or order not in ORDERS:
        raise ValueError(f"n={n}, order={order!r}: n is at least 0, order one of {', '.join(ORDERS)}")
    forbidden = {run for question in tested for run in _word_runs(question)}
    usable = [pair for pair in pairs if _is_short(pair, longest) and (ties or pair.label != "tie")]
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


def _is_short(pair: PreferencePair, longest: int) -> bool:
    """Whether a pair can be shown: labelled, one turn, short."""
    size = len(pair.question) + len(pair.response_a) + len(pair.response_b)
    return pair.label is not None and not pair.turns and size <= longest


def _balanced(pairs: list[PreferencePair], n: int, chance: random.Random, ties: bool) -> list[Demonstration]:
    """Up to n demonstrations of different questions: first and second (and tie) take turns."""
    mixed = sorted(pairs, key=lambda pair: (pair.benchmark, pair.item_id))
    chance.shuffle(mixed)
    cycle = ["first", "second", "tie"] if ties and any(pair.label == "tie" for pair in mixed) else ["first", "second"]
    drawn: list[Demonstration] = []
    questions: set[str] = set()
    while len(drawn) < n:
        wanted = cycle[len(drawn) % len(cycle)]
        fits = [p for p in mixed if (p.label == "tie") == (wanted == "tie") and p.question not in questions]
        fits = fits or [pair for pair in mixed if pair.question not in questions and pair.label != "tie"]
        if not fits:
            break
        questions.add(fits[0].question)
        drawn.append(_demonstration(fits[0], wanted))
    return drawn


def _demonstration(pair: PreferencePair, wanted: str) -> Demonstration:
    """A pair as a demonstration, swapped where its verdict is to be the other position."""
    shown = pair if pair.label == "tie" or POSITIONS[str(pair.label)] == wanted else pair.swapped()
    item_id = f"{pair.benchmark}/{pair.item_id}"
    return Demonstration(shown.question, shown.response_a, shown.response_b, POSITIONS[str(shown.label)], item_id)
