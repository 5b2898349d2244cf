"""In-context demonstrations, drawn from training pairs and from nothing that is tested."""

import random
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from judgekit.records import PreferencePair

_SHARED_WORDS = 8  # a run of words this long in two questions: too much alike
_MOST_CHARACTERS = 2000  # of a pair that is shown
_POSITIONS: dict[str | None, str] = {"A": "first", "B": "second", "tie": "tie"}


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
    """Draw ``n`` demonstrations of different questions with balanced verdicts; one in three is a tie, with ``ties``.

    Training pairs without a label, with earlier turns, or of more than 2,000 characters are passed over, and those
    whose question is one of ``tested`` (the questions of every test set) or shares a run of eight words with one.
    ``order``: drawn or reversed; the last one stands nearest to what is judged. Same seed, same demonstrations; a
    larger ``n`` adds to those of a smaller one. ValueError for a wrong ``n`` or order, or too few pairs.
    """
    if n < 0 or order not in ("drawn", "reversed"):
        raise ValueError(f"n={n}, order={order!r}: n is at least 0, order one of drawn, reversed")
    labels = ("A", "B", "tie") if ties else ("A", "B")
    usable = [pair for pair in pairs if pair.label in labels and not pair.turns]
    usable = [p for p in usable if len(p.question) + len(p.response_a) + len(p.response_b) <= _MOST_CHARACTERS]
    forbidden = {run for question in tested for run in _word_runs(question)}
    clean = [pair for pair in usable if not _word_runs(pair.question) & forbidden]
    left = sorted(clean, key=lambda pair: (pair.benchmark, pair.item_id))
    random.Random(seed).shuffle(left)
    cycle = ["first", "second", "tie"] if any(pair.label == "tie" for pair in left) else ["first", "second"]
    drawn: list[Demonstration] = []
    while len(drawn) < n:
        wanted = cycle[len(drawn) % len(cycle)]
        decided = [pair for pair in left if pair.label != "tie"]
        fits = [pair for pair in left if pair.label == "tie"] if wanted == "tie" else decided
        if not (fits := fits or decided):
            leaks = f"{len(usable)} usable, {len(usable) - len(clean)} leak"
            raise ValueError(f"{len(drawn)} of {n} demonstrations: {len(pairs)} pairs, {leaks}")
        pair = fits[0]
        left = [other for other in left if other.question != pair.question]
        shown = pair if _POSITIONS[pair.label] in (wanted, "tie") else pair.swapped()
        given = (shown.question, shown.response_a, shown.response_b, _POSITIONS[shown.label])
        drawn.append(Demonstration(*given, f"{pair.benchmark}/{pair.item_id}"))
    return tuple(drawn if order == "drawn" else drawn[::-1])
