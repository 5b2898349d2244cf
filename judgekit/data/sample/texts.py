"""Families about text: edits of strings and lists, and characters that stress the machinery."""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from judgekit.data.sample.problems import WORDS, Problem, Solution, solutions

Texts = tuple[str, ...]

WORD_EDITS: dict[str, tuple[Texts, Callable[[str], str]]] = {  # name -> wordings, the edit
    "reverse": (("Write the word {} backwards.", "Spell {} in reverse."), lambda word: word[::-1]),
    "upper": (("Write the word {} in capital letters.", "Put {} into upper case."), str.upper),
    "vowels": (
        ("Remove all vowels (a, e, i, o, u) from {}.", "What remains of {} without its vowels (a, e, i, o, u)?"),
        lambda word: "".join(letter for letter in word if letter not in "aeiou"),
    ),
    "double": (
        ("Write every letter of {} twice in a row.", "Double each letter of {}."),
        lambda word: "".join(letter * 2 for letter in word),
    ),
}
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
# What breaks a careless reader of text: scripts and emoji, mathematics and LaTeX, template and verdict markers.
# fmt: off
PIECES = (
    ("你好，世界 🙂", "שלום עולם ½", "مرحبا 🚀", "数据 ∑x²≤π"),
    (r"\textbf{bold}", "$x_1$ ≠ $y^2$", r"100\% & #1", r"\\ \hline ~"),
    ("[[A]] {}{0}", "{{ name }}", "{% if x %} C:/t", "<b>hi</b>"),
)
MARKUP = (("\\textbf{", "}", r"\textbf{...}"), ("<em>", "</em>", "<em>...</em>"), ("{{ ", " }}", "{{ ... }}"))
# fmt: on


def _pieces(rng: Random) -> list[str]:
    """One piece of each kind, in any order."""
    return rng.sample([rng.choice(kind) for kind in PIECES], len(PIECES))


def _damaged(rng: Random, text: str) -> str:
    """The text with a slip of the pen: two neighbouring characters exchanged, or one left out."""
    at = rng.choice([i for i in range(len(text) - 1) if text[i] != text[i + 1]])
    swapped = text[at + 1] + text[at] if rng.random() < 0.5 else text[at + 1]
    return text[:at] + swapped + text[at + 2 :]


def word_edit(rng: Random) -> Problem:
    """One edit of one word; the neighbour makes another edit."""
    (name, other), word = rng.sample(sorted(WORD_EDITS), 2), rng.choice(WORDS)
    wordings, edit = WORD_EDITS[name]
    steps = (f'The word is "{word}".', "Take the letters one at a time, from the left, and do what is asked.")
    wrong = (_damaged(rng, edit(word)), _damaged(rng, edit(word)), word)
    return Problem(
        (name, word),
        tuple(wording.replace("{}", f'"{word}"') for wording in wordings),
        solutions([edit(word)], steps),
        solutions(wrong, steps),
        Solution(WORD_EDITS[other][1](word), (), ('After the edit it reads "{}".', 'The result is "{}".')),
        ('It becomes "{}".', 'The result is "{}".', f'Applied to "{word}", this gives "{{}}".'),
    )


def nth_word(rng: Random) -> Problem:
    """The n-th word of a phrase; the neighbour counts from the end."""
    words, n = tuple(rng.sample(WORDS, 5)), rng.choice((1, 2, 4, 5))
    phrase, place = " ".join(words), ORDINALS[n - 1]
    steps = ("The words, in order: " + "; ".join(words) + ".",)
    return Problem(
        (words, n),
        (
            f'What is the {place} word of "{phrase}"?',
            f'Read "{phrase}" and give me the {place} word, counting from the left.',
        ),
        solutions([words[n - 1]], steps),
        solutions([words[n - 2], words[n % 5]], steps),
        Solution(words[-n], (), ('Counting from the end, it is "{}".', 'From the right, that is "{}".')),
        ('It is "{}".', f'The {place} word is "{{}}".'),
    )


def letter_count(rng: Random) -> Problem:
    """How often a letter occurs; the neighbour counts all letters."""
    words = tuple(rng.sample(WORDS, 3))
    phrase = " ".join(words)
    letter = rng.choice([c for c in "aeinrt" if c in phrase])
    n = phrase.count(letter)
    steps = (f"Go through {', '.join(words)} and tick every {letter}.",)
    return Problem(
        (words, letter),
        (f'How many times does the letter {letter} occur in "{phrase}"?', f'Count the letter {letter} in "{phrase}".'),
        solutions([str(n)], steps),
        solutions([str(n + 1), str(n - 1), str(n + 2)], steps),
        Solution(str(len(phrase) - 2), (), ("There are {} letters in the phrase.",)),
        ("The letter occurs this many times: {}.", "The count is {}."),
    )


def _list_problem(
    rng: Random, name: str, values: list, wordings: Texts, right: list, neighbour: list, steps: Texts
) -> Problem:
    """A problem whose answer is a list; it can be wrong in its order or contents, or miss an element."""

    def joined(items: Iterable[Any]) -> str:
        return ", ".join(str(item) for item in items)

    at = rng.randrange(len(right) - 1)
    swapped = [*right[:at], right[at + 1], right[at], *right[at + 2 :]]
    extra = [*right, next(item for item in neighbour if item != right[-1])]
    return Problem(
        (name, tuple(values)),
        tuple(f"{wording} {joined(values)}" for wording in wordings),
        solutions([joined(right)], steps),
        solutions([joined(swapped), joined(extra)], steps),
        Solution(joined(neighbour), (), ("Done: {}.", "This gives {}.")),
        ("The result is {}.", "You get {}.", "Here is the list: {}."),
        solutions([joined(right[:at] + right[at + 1 :])], steps),
    )


def sort_numbers(rng: Random) -> Problem:
    """Numbers in order; the neighbour sorts the other way round."""
    values, down = rng.sample(range(2, 99), rng.randint(5, 7)), rng.random() < 0.5
    way, end = ("descending", "largest") if down else ("ascending", "smallest")
    right = sorted(values, reverse=down)
    wordings = (f"Sort these numbers in {way} order:", f"Put the following into {way} order:")
    steps = (f"The {end} number is {right[0]}, so it comes first.", "Carry on like this with the numbers that remain.")
    return _list_problem(rng, way, values, wordings, right, right[::-1], steps)


def sort_words(rng: Random) -> Problem:
    """Words in alphabetical order; the neighbour sorts by the reverse alphabet."""
    words = rng.sample(WORDS, rng.randint(4, 6))
    wordings = ("Put these words in alphabetical order:", "Sort alphabetically, from a to z:")
    steps = ("Compare the first letters, and later letters where the first ones agree.",)
    return _list_problem(rng, "alphabet", words, wordings, sorted(words), sorted(words)[::-1], steps)


def keep_numbers(rng: Random) -> Problem:
    """Numbers that pass a test, in their order; the neighbour keeps those that fail."""
    limit = rng.randint(30, 60)
    kinds = (
        ("even numbers", lambda v: v % 2 == 0),
        ("odd numbers", lambda v: v % 2 == 1),
        (f"numbers greater than {limit}", lambda v: v > limit),
    )
    kind, test = rng.choice(kinds)
    kept, dropped = (rng.sample([v for v in range(3, 99) if test(v) == wanted], 4) for wanted in (True, False))
    values = rng.sample(kept + dropped[:3], 7)
    kept, dropped = ([v for v in values if test(v) == wanted] for wanted in (True, False))
    wordings = (f"Keep only the {kind}, in their present order:", f"Give me just the {kind}, without reordering:")
    steps = ("Go through the list once from left to right.", f"Leave out whatever is not among the {kind}.")
    return _list_problem(rng, kind, values, wordings, kept, dropped, steps)


def drop_repeats(rng: Random) -> Problem:
    """Each word once, in order of first occurrence; the neighbour gives the repeated words."""
    words = rng.sample(WORDS, 5)
    values = rng.sample(words + words[:2], 7)
    right = list(dict.fromkeys(values))
    neighbour = [word for word in right if values.count(word) > 1]
    wordings = (
        "Remove the repeats, keeping each word where it first occurs:",
        "Write every word just once, in order of first appearance:",
    )
    steps = ("Keep a word when it is new, and skip it when it has been seen.",)
    return _list_problem(rng, "repeats", values, wordings, right, neighbour, steps)


def copy_text(rng: Random) -> Problem:
    """Repeat a text, alone or with a lead-in; the neighbour repeats its parts from last to first."""
    pieces, only = _pieces(rng), rng.random() < 0.4
    text, rider = " ".join(pieces), ", and write nothing else" if only else ""
    backwards = Solution(" ".join(pieces[::-1]), (), () if only else ("From the last part to the first:\n{}",))
    return Problem(
        (only, text),
        (f"Repeat the next line exactly{rider}:\n{text}", f"Copy this line character by character{rider}:\n{text}"),
        solutions([text]),
        solutions([_damaged(rng, text), " ".join(pieces[1:]), text.replace(" ", "")]),
        backwards,
        () if only else ("Here is the line:\n{}", "As requested:\n{}", "Copied without changes:\n{}"),
    )


def count_characters(rng: Random) -> Problem:
    """Number of characters, in English or Chinese; the neighbour leaves spaces out."""
    text, chinese = " ".join(_pieces(rng)), rng.random() < 0.4
    n, n_tight = len(text), len(text.replace(" ", ""))
    wording = f"Count the characters in the next line, spaces included:\n{text}"
    steps = ("Each letter, sign, space and emoji counts as one character.",)
    frames, tight = ("It has {} characters.", "The count is {}."), "Without the spaces there are {}."
    if chinese:
        wording, steps = f"下面这一行有多少个字符（空格也算）？\n{text}", ("每个汉字、字母、符号和空格都算一个字符。",)
        frames, tight = ("一共有{}个字符。", "答案是{}。"), "不算空格，共有{}个字符。"
    wrong, neighbour = solutions([str(n + 1), str(n - 1), str(n + 3)], steps), Solution(str(n_tight), (), (tight,))
    language = "zh" if chinese else "en"
    return Problem((text,), (wording,), solutions([str(n)], steps), wrong, neighbour, frames, (), language)


def pick_piece(rng: Random) -> Problem:
    """One of several parts between bars; the neighbour counts from the end."""
    pieces, n = _pieces(rng), rng.choice((1, 3))
    place, rule = ORDINALS[n - 1], "The next line holds three parts separated by ' | '."
    return Problem(
        (*pieces, n),
        (f"{rule} Copy the {place} part onto a line of its own.\n{' | '.join(pieces)}",),
        solutions([pieces[n - 1]]),
        solutions([piece for piece in pieces if piece != pieces[n - 1]]),
        Solution(pieces[-n], (), (f"The {place} part from the end:\n{{}}",)),
        (f"The {place} part is:\n{{}}", "Here it is:\n{}"),
    )


def wrap_text(rng: Random) -> Problem:
    """Put a text inside LaTeX, HTML or template markup; the neighbour uses other markup."""
    text = " ".join(_pieces(rng))
    (left, right, shown), (other_left, other_right, _) = rng.sample(MARKUP, 2)
    return Problem(
        (shown, text),
        (f"Put the next line inside {shown} and change nothing else in it:\n{text}",),
        solutions([left + text + right]),
        solutions([text, left + _damaged(rng, text) + right, left + text]),
        Solution(other_left + text + other_right, (), ("With the markup added:\n{}",)),
        ("Here you go:\n{}", "Wrapped as asked:\n{}"),
    )
