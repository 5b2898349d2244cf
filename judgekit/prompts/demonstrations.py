"""In-context demonstrations, drawn from training pairs and from nothing that is tested."""

import random
import re
from dataclasses import dataclass

SHARED_WORDS = 8  # a run of words this long in two questions: too much alike
ORDERS = ("drawn", "reversed", "short_first", "long_first")
POSITIONS = {"A": "first", "B": "second", "tie": "tie"}


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A judged pair as a prompt shows it.

    Attributes
    ----------
    question, first, second : str
    verdict : {"first", "second", "tie"}
    item_id : str
        Where it was drawn from, e.g. ``alpaca_eval/17``.
    """

    question: str
    first: str
    second: str
    verdict: str
    item_id: str = ""
    reference: str | None = None
    turns: tuple = ()


def words_of(text):
    """Words of a text, lower case."""
    return re.findall(r"\w+", text.lower())


def runs_of(text):
    """All runs of `SHARED_WORDS` words of a text; of a shorter text the whole."""
    words = words_of(text)
    return {" ".join(words[i : i + SHARED_WORDS]) for i in range(max(1, len(words) - SHARED_WORDS + 1))}


def draw_demonstrations(pairs, n, seed=0, order="drawn", ties=True, tested=(), longest=2000):
    """Draw demonstrations whose verdicts and positions are balanced.

    Parameters
    ----------
    pairs : list of PreferencePair
        Training pairs; those without a label and those with earlier turns are passed over.
    n : int
        How many.
    seed : int
        Same seed, same demonstrations. A larger ``n`` adds to those of a smaller one.
    order : {"drawn", "reversed", "short_first", "long_first"}
        Order in the prompt; the last one stands nearest to what is judged.
    ties : bool
        Whether ties may be shown (one in three then, as far as there are any).
    tested : iterable of str
        Questions of every test set. A training pair with the same question, or one that shares a run of
        `SHARED_WORDS` words, is never drawn.
    longest : int
        Characters of question and responses together; longer pairs are passed over.

    Returns
    -------
    tuple of Demonstration

    Raises
    ------
    ValueError
        If ``n`` is negative, the order is unknown, or too few pairs are left (the message says how many and why).
    """
    if n < 0 or order not in ORDERS:
        raise ValueError(f"n={n}, order={order!r}: n is at least 0, order one of {', '.join(ORDERS)}")
    forbidden = set().union(*(runs_of(question) for question in tested)) if tested else set()
    usable = [pair for pair in pairs if is_short(pair, longest) and (ties or pair.label != "tie")]
    clean = [pair for pair in usable if not runs_of(pair.question) & forbidden]
    drawn = balanced(clean, n, random.Random(seed), ties)
    if len(drawn) < n:
        leaks = len(usable) - len(clean)
        raise ValueError(f"{len(drawn)} of {n} demonstrations: {len(pairs)} pairs, {len(usable)} usable, {leaks} leak")
    if order == "reversed":
        drawn = drawn[::-1]
    elif order != "drawn":
        drawn = sorted(drawn, key=lambda shown: len(shown.first) + len(shown.second), reverse=order == "long_first")
    return tuple(drawn)


def is_short(pair, longest):
    """Whether a pair can be shown: labelled, one turn, short."""
    size = len(pair.question) + len(pair.response_a) + len(pair.response_b)
    return pair.label is not None and not pair.turns and size <= longest


def balanced(pairs, n, chance, ties):
    """Up to n demonstrations of different questions: first and second (and tie) take turns."""
    mixed = sorted(pairs, key=lambda pair: (pair.benchmark, pair.item_id))
    chance.shuffle(mixed)
    cycle = ["first", "second", "tie"] if ties and any(pair.label == "tie" for pair in mixed) else ["first", "second"]
    drawn, questions = [], set()
    while len(drawn) < n:
        wanted = cycle[len(drawn) % len(cycle)]
        fits = [p for p in mixed if (p.label == "tie") == (wanted == "tie") and p.question not in questions]
        fits = fits or [pair for pair in mixed if pair.question not in questions and pair.label != "tie"]
        if not fits:
            break
        questions.add(fits[0].question)
        drawn.append(shown_as(fits[0], wanted))
    return drawn


def shown_as(pair, wanted):
    """A pair as a demonstration, exchanged where its verdict is to stand in the other place."""
    shown = pair if pair.label == "tie" or POSITIONS[pair.label] == wanted else pair.swapped()
    place = f"{pair.benchmark}/{pair.item_id}"
    return Demonstration(shown.question, shown.response_a, shown.response_b, POSITIONS[shown.label], place)
