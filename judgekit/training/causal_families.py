"""Families of tiny tasks whose right responses are known: what a causal judge can be trained on from scratch.

Words come from a small closed vocabulary, so that a model of a few layers can learn to read them. In every family
right and wrong responses are drawn alike: which one is right shows only beside the question.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

KINDS = {
    "animal": "cat dog horse cow",
    "fruit": "apple pear plum lemon",
    "colour": "red blue green white",
    "tool": "hammer saw drill rake",
    "vehicle": "car bus train boat",
    "room": "kitchen cellar attic hall",
}
WORDS = tuple(word for words in KINDS.values() for word in words.split())
LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
NUMBERS = "zero one two three four five six seven eight nine ten".split()
PLACES = ("first", "second", "third", "fourth")


@dataclass(frozen=True, slots=True)
class Task:
    """One question with right and wrong responses."""

    slots: dict  # what stands for the placeholders of a wording
    right: object  # from a random generator to one right response, a list of words
    wrong: object  # from a random generator to one wrong response
    open_ended: bool = False  # many questions fewer than responses: the responses then belong to the operands, too


def others(taken: Iterable[Any], pool: Iterable[Any] = WORDS) -> list[Any]:
    """The words of a pool that are not among those taken, in their order."""
    return [word for word in pool if word not in taken]


def listed(words: Iterable[str]) -> str:
    """Words as a prompt shows them."""
    return " ".join(words)


def copying(rng: Random) -> Task:
    """Say the words again; a wrong response has other words in some places."""
    words = rng.sample(WORDS, rng.randint(2, 4))

    def wrong(rng: Random) -> list[str]:
        changed, places = list(words), rng.sample(range(len(words)), rng.randint(1, len(words)))
        for place, word in zip(places, rng.sample(others(words), len(places)), strict=True):
            changed[place] = word
        return changed

    return Task({"words": listed(words)}, lambda rng: words, wrong)


def exchange(rng: Random) -> Task:
    """Say the words in the other order, or in the same; a wrong response does the opposite."""
    words = rng.sample(WORDS, rng.randint(2, 3))
    backwards = rng.random() < 0.5
    right, wrong = (words[::-1], words) if backwards else (words, words[::-1])
    order = "other" if backwards else "same"
    return Task({"words": listed(words), "order": order}, lambda rng: right, lambda rng: wrong)


def membership(rng: Random) -> Task:
    """Name a word of the list; a wrong response is not in it."""
    words = rng.sample(WORDS, rng.randint(2, 4))
    return Task({"words": listed(words)}, lambda rng: [rng.choice(words)], lambda rng: [rng.choice(others(words))])


def exclusion(rng: Random) -> Task:
    """Name a word that is not in the list; a wrong response is in it."""
    drawn = membership(rng)
    return Task(drawn.slots, drawn.wrong, drawn.right)


def place(rng: Random) -> Task:
    """Name the word at a place of the list; a wrong response is another word of the list."""
    words, which = rng.sample(WORDS, 4), rng.randrange(4)
    slots = {"words": listed(words), "place": PLACES[which]}
    return Task(slots, lambda rng: [words[which]], lambda rng: [rng.choice(others([words[which]], words))])


def lookup(rng: Random) -> Task:
    """Name what stands beside a word; a wrong response stands beside another one."""
    keys, values = (rng.sample(KINDS[kind].split(), 3) for kind in rng.sample(list(KINDS), 2))
    which = rng.randrange(3)
    table = " , ".join(f"{key} {value}" for key, value in zip(keys, values, strict=True))
    slots = {"table": table, "key": keys[which]}
    return Task(slots, lambda rng: [values[which]], lambda rng: [rng.choice(others([values[which]], values))])


def kind(rng: Random) -> Task:
    """Name something of a kind; a wrong response is of another kind."""
    wanted, n = rng.choice(list(KINDS)), rng.randint(1, 3)

    def wrong(rng: Random) -> list[str]:
        return rng.sample(KINDS[rng.choice(others([wanted], list(KINDS)))].split(), n)

    return Task({"kind": wanted}, lambda rng: rng.sample(KINDS[wanted].split(), n), wrong, True)


def containing(rng: Random) -> Task:
    """Write words with a given one among them; a wrong response lacks it."""
    wanted, n = rng.choice(WORDS), rng.randint(1, 3)

    def right(rng: Random) -> list[str]:
        words = rng.sample(others([wanted]), n)
        words[rng.randrange(n)] = wanted
        return words

    return Task({"word": wanted}, right, lambda rng: rng.sample(others([wanted]), n), True)


def avoiding(rng: Random) -> Task:
    """Write words without a given one; a wrong response has it."""
    drawn = containing(rng)
    return Task(drawn.slots, drawn.wrong, drawn.right, True)


def length(rng: Random) -> Task:
    """Write a given number of words; a wrong response has more or fewer."""
    wanted = rng.randint(1, 4)

    def wrong(rng: Random) -> list[str]:
        return rng.sample(WORDS, rng.choice(others([wanted], range(1, 5))))

    return Task({"number": NUMBERS[wanted]}, lambda rng: rng.sample(WORDS, wanted), wrong, True)


def ordering(rng: Random) -> Task:
    """Put letters in the order of the alphabet, or against it; a wrong response goes the other way."""
    letters = sorted(rng.sample(LETTERS, rng.randint(2, 4)))
    up = rng.random() < 0.5
    right, wrong = (letters, letters[::-1]) if up else (letters[::-1], letters)
    slots = {"letters": listed(rng.sample(letters, len(letters))), "way": "a to z" if up else "z to a"}
    return Task(slots, lambda rng: right, lambda rng: wrong)


def counting(rng: Random) -> Task:
    """Say how often a letter stands in a row of letters; a wrong response is another number."""
    n = rng.randint(1, 5)
    wanted, *rest = rng.sample(LETTERS, 4)
    row = [wanted] * n + rng.choices(rest, k=rng.randint(1, 3))
    rng.shuffle(row)
    slots = {"letter": wanted, "row": listed(row)}
    return Task(slots, lambda rng: [NUMBERS[n]], lambda rng: [NUMBERS[rng.choice(others([n], range(1, 6)))]])


def arithmetic(rng: Random) -> Task:
    """Add or take away; a wrong response is off by a little."""
    left, right = rng.randint(50, 99), rng.randint(2, 49)
    sign = rng.choice(("plus", "minus"))
    result = left + right if sign == "plus" else left - right
    offsets = (-3, -2, -1, 1, 2, 3)
    slots = {"sum": f"{left} {sign} {right}"}
    return Task(slots, lambda rng: [str(result)], lambda rng: [str(result + rng.choice(offsets))])
