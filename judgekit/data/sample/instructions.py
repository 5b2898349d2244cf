"""Families about following instructions: constraints on a text, and formats for an answer."""

import json
from random import Random

from judgekit.data.sample.problems import PEOPLE, Problem, Solution, solutions

# fmt: off
TOPICS = (
    "rain", "coffee", "music", "bread", "snow", "tea", "sunlight", "chess", "paper", "honey", "silence", "wool",
    "clay", "jazz", "soup", "ice",
)
# fmt: on
SENTENCES = (  # five to nine words; they are counted, never typed in
    "{T} makes quiet mornings better.",
    "Good {t} rewards patient people.",
    "{T} brings old friends together again.",
    "Nothing calms me quite like {t}.",
    "On slow days, {t} changes the mood.",
    "Everyone remembers {t} from their early childhood.",
    "{T} turns an ordinary day into something special.",
    "We talk about {t} far more than needed.",
    "{T} is simple, and that is exactly its charm.",
    "People who love {t} rarely agree on the details.",
)
OPENERS = ("In my view,", "For many of us,", "Year after year,", "More and more,")
MARKERS = ("however", "honestly", "perhaps", "sometimes", "luckily", "indeed")
CLOSERS = ("That is all.", "Over to you.", "And so it goes.", "End of note.")
KINDS = {
    "fruits": "apple pear plum cherry mango quince grape peach",
    "animals": "otter heron badger lynx moose gecko beaver crane",
    "colours": "red green amber violet teal ivory navy coral",
    "musical instruments": "flute cello oboe harp drum lute tuba viola",
    "tools": "hammer saw drill chisel wrench pliers rasp awl",
}


def _lines(topic: str, openers: tuple[str, ...] = OPENERS) -> list[str]:
    """All the sentences about a topic, plain and after each opening phrase."""
    plain = [pattern.replace("{T}", topic.capitalize()).replace("{t}", topic) for pattern in SENTENCES]
    return plain + [f"{opener} {line[0].lower()}{line[1:]}" for opener in openers for line in plain]


def _some(rng: Random, lines: list[str]) -> tuple[Solution, ...]:
    return solutions(rng.sample(lines, min(3, len(lines))))


def word_limit(rng: Random) -> Problem:
    """A sentence of exactly n words, perhaps in lower case; the neighbour meets another limit."""
    topic, n, low = rng.choice(TOPICS), rng.randint(5, 12), rng.random() < 0.4
    exact = [line for line in _lines(topic) if len(line.split()) == n]
    near = [line for line in _lines(topic) if 0 < abs(len(line.split()) - n) < 4]
    case, rider = (str.lower, ", all in lower case.") if low else (str, ".")
    half = _some(rng, exact) + solutions([rng.choice(near).lower()]) if low else ()
    return Problem(
        (topic, n, low),
        (
            f"Write one sentence about {topic} in exactly {n} words{rider}",
            f"Tell me something about {topic}, using exactly {n} words{rider}",
        ),
        _some(rng, [case(line) for line in exact]),
        _some(rng, near),
        Solution(case(rng.choice(near))),
        partial=half,
    )


def without_letter(rng: Random) -> Problem:
    """A sentence that avoids a letter; the neighbour avoids another one."""
    while True:
        topic, letter = rng.choice(TOPICS), rng.choice("bcdghkmpwy")
        free, marred = ([line for line in _lines(topic) if (letter in line.lower()) == has] for has in (False, True))
        if letter not in topic and len(free) > 2:
            break
    wordings = (
        f'Write a sentence about {topic} without using the letter "{letter}".',
        f'Say something about {topic}, but never use the letter "{letter}".',
    )
    return Problem((topic, letter), wordings, _some(rng, free), _some(rng, marred), Solution(rng.choice(marred)))


def letter_case(rng: Random) -> Problem:
    """A sentence in one case; the neighbour uses the other."""
    topic, low = rng.choice(TOPICS), rng.random() < 0.5
    case, other, name = (str.lower, str.upper, "lower case") if low else (str.upper, str.lower, "capital letters")
    wordings = (
        f"Write a remark about {topic}, entirely in {name}.",
        f"In {name} only, write a sentence about {topic}.",
    )
    lines = _lines(topic)
    right = _some(rng, [case(line) for line in lines])
    return Problem((topic, low), wordings, right, _some(rng, lines), Solution(other(rng.choice(lines))))


def with_word(rng: Random) -> Problem:
    """A sentence that includes a word; the neighbour includes another one."""
    topic, (word, other) = rng.choice(TOPICS), rng.sample(MARKERS, 2)
    plain, marked, off = (_lines(topic, tail) for tail in ((), (f"{word.capitalize()},",), (f"{other.capitalize()},",)))
    wordings = (
        f'Write one sentence about {topic} that includes the word "{word}".',
        f'Use the word "{word}" in a sentence about {topic}.',
    )
    right, wrong = _some(rng, marked[len(plain) :]), _some(rng, _lines(topic))
    return Problem((topic, word), wordings, right, wrong, Solution(rng.choice(off[len(plain) :])))


def with_ending(rng: Random) -> Problem:
    """A remark that ends in a given phrase; the neighbour begins with it."""
    topic, closer = rng.choice(TOPICS), rng.choice(CLOSERS)
    lines = _lines(topic)
    wordings = (
        f'Write a sentence about {topic} and finish with the exact phrase "{closer}"',
        f'Comment on {topic}. Your last words must be "{closer}"',
    )
    right = _some(rng, [f"{line} {closer}" for line in lines])
    return Problem((topic, closer), wordings, right, _some(rng, lines), Solution(f"{closer} {rng.choice(lines)}"))


def item_count(rng: Random) -> Problem:
    """Exactly n items, one to a line; the neighbour lists them in one line."""
    kind, n, (mark, name) = rng.choice(sorted(KINDS)), rng.randint(3, 6), rng.choice((("-", "hyphen"), ("*", "star")))

    def items(count: int) -> list[str]:
        return rng.sample(KINDS[kind].split(), count)

    def listed(count: int) -> str:
        return "\n".join(f"{mark} {item}" for item in items(count))

    wordings = (
        f"List exactly {n} {kind}, one per line, each line starting with a {name} ({mark}).",
        f"Name {n} {kind}, no more and no fewer. Put each on a line that starts with a {name} ({mark}).",
    )
    right, wrong = solutions(map(listed, (n, n))), solutions(map(listed, (n - 1, n + 1, n + 2)))
    return Problem((kind, n, name), wordings, right, wrong, Solution(", ".join(items(n)) + "."))


def json_keys(rng: Random) -> Problem:
    """A JSON object with given keys; the neighbour is a JSON list."""
    name, city, age = rng.choice(PEOPLE), rng.choice(("Oslo", "Lima", "Cairo", "Hanoi", "Porto")), rng.randint(19, 80)
    record = {"name": name, "city": city, "age": age}
    record = {key: record[key] for key in rng.sample(sorted(record), 3)}
    keys, plain = list(record), "; ".join(f"{key}: {value}" for key, value in record.items())
    return Problem(
        (name, city, age),
        (
            f"{name} is {age} years old and lives in {city}. Reply with nothing but a JSON object with the keys "
            f"{', '.join(keys)}.",
        ),
        solutions([json.dumps(record), json.dumps(record, indent=2)]),
        solutions([json.dumps(record)[:-1], str(record), plain]),
        Solution(json.dumps(list(record.values()))),
        partial=solutions([json.dumps({key: record[key] for key in keys[:2]})]),
    )


def _sum(rng: Random) -> tuple[str, int, int]:
    """A small sum as text, its value, and the value under another sign."""
    a, b, sign = rng.randint(31, 80), rng.randint(3, 29), rng.choice("+×−")
    values = {"+": a + b, "×": a * b, "−": a - b}
    return f"{a} {sign} {b}", values[sign], values["−" if sign == "+" else "+"]


def number_only(rng: Random) -> Problem:
    """A bare number; a sentence around it breaks the format."""
    text, value, other = _sum(rng)
    wordings = (f"What is {text}? Answer with just the number.", f"Compute {text}. Reply with the number only.")
    wrong = solutions([f"The answer is {value}.", f"{value + 1}", f"{value + 10}", f"{value - 2}"])
    return Problem((text,), wordings, solutions([f"{value}"]), wrong, Solution(f"{other}"))


def yes_or_no(rng: Random) -> Problem:
    """One word about a comparison; the neighbour gives the number compared."""
    text, value, _ = _sum(rng)
    limit = value + rng.choice((-7, -3, 2, 6))
    right, wrong = ("yes", "no") if value > limit else ("no", "yes")
    wordings = (
        f"Is {text} greater than {limit}? Answer with one word, yes or no, in lower case.",
        f"Reply with yes or no alone, in lower case: is {text} greater than {limit}?",
    )
    replies = solutions([wrong, f"{wrong}!", f"{right}, because {text} = {value}"])
    return Problem((text, limit), wordings, solutions([right]), replies, Solution(f"{value}"))


def between_marks(rng: Random) -> Problem:
    r"""A number in LaTeX's ``\boxed{}`` or between tags, working allowed; the neighbour uses another sign."""
    text, value, other = _sum(rng)
    left, right = rng.choice((("\\boxed{", "}"), ("<answer>", "</answer>")))

    def solve(n: int) -> tuple[Solution, ...]:
        marked = f"{left}{n}{right}"
        return solutions([marked, f"{text} = {n}, so {marked}", f"Working it out, {text} comes to {n}.\n\n{marked}"])

    return Problem(
        (left, text),
        (
            f"What is {text}? Show working if you like, and give the final number as {left}...{right}.",
            f"Compute {text}. You may explain; the result itself must be written as {left}...{right}.",
        ),
        solve(value),
        (*solve(value + rng.choice((1, 2, 10)))[:2], Solution(f"{text} = {value}"), Solution(f"It is **{value}**.")),
        solve(other)[1],
    )


def json_total(rng: Random) -> Problem:
    """A number in a JSON object of one key; the neighbour has the number of another sum."""
    text, value, other = _sum(rng)
    wording = f'Compute {text} and reply with a JSON object of the form {{"total": number}}, nothing else.'
    right = solutions([f'{{"total": {value}}}', f'{{\n  "total": {value}\n}}'])
    wrong = solutions([f'{{"result": {value}}}', f"total: {value}", f'{{"total": {value + 1}}}'])
    return Problem((text,), (wording,), right, wrong, Solution(f'{{"total": {other}}}'))
