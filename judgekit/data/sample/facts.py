"""Families answered from what the question itself says: reading a passage or table, and putting people in order."""

from itertools import pairwise
from random import Random

from judgekit.data.sample.problems import PEOPLE, Problem, Solution, solutions

CITIES = ("Lisbon", "Turin", "Bergen")
DEEDS = (("sold", "tickets"), ("planted", "trees"), ("read", "books"), ("baked", "loaves"), ("repaired", "bicycles"))
RELATIONS = (  # who has more of it, who has less, and the words for the two ends
    ("is older than", "is younger than", "oldest", "youngest"),
    ("is taller than", "is shorter than", "tallest", "shortest"),
    ("lives farther north than", "lives farther south than", "farthest north", "farthest south"),
    ("finished before", "finished after", "first to finish", "last to finish"),
)

Entry = tuple[str, str, int]  # name, city, number


def _passage(rng: Random) -> tuple[list[Entry], str, str, str]:
    """Who of which city did how much, as rows, and as sentences or a table; the verb and the things."""
    names, (verb, things) = rng.sample(PEOPLE, 5), rng.choice(DEEDS)
    rows = [(name, rng.choice(CITIES), n) for name, n in zip(names, rng.sample(range(12, 90), 5), strict=True)]
    if rng.random() < 0.5:
        text = " ".join(f"{name} from {city} {verb} {n} {things}." for name, city, n in rows)
    else:
        lines = [f"| {name} | {city} | {n} |" for name, city, n in rows]
        text = "\n".join((f"| name | city | {things} {verb} |", "|---|---|---|", *lines))
    return rows, text, verb, things


def extreme_row(rng: Random) -> Problem:
    """Who has most or fewest; the neighbour names the other end."""
    rows, text, verb, things = _passage(rng)
    word, other = rng.sample(("most", "fewest"), 2)
    ranked = sorted(rows, key=lambda row: row[2], reverse=word == "most")

    def solve(row: Entry) -> Solution:
        return Solution(row[0], (f"Compare the numbers of {things}.", f"{row[0]} from {row[1]} {verb} {row[2]}."))

    return Problem(
        (*rows, word),
        (f"{text}\n\nWho {verb} the {word} {things}?", f"Name the person who {verb} the {word} {things}.\n\n{text}"),
        (solve(ranked[0]),),
        tuple(map(solve, ranked[1:3])),
        Solution(ranked[-1][0], (), (f"The {other} {things} were {verb} by {{}}.",)),
        ("It was {}.", f"The {word} {things} were {verb} by {{}}."),
    )


def value_of(rng: Random) -> Problem:
    """The number beside a name; the neighbour reads another row."""
    rows, text, verb, things = _passage(rng)
    (name, city, n), second, third = rng.sample(rows, 3)
    steps = (f"Find the entry of {name}, from {city}.",)
    return Problem(
        (*rows, name),
        (f"{text}\n\nHow many {things} has {name} {verb}?", f"{text}\n\nLook up the number of {things} for {name}."),
        solutions([str(n)], steps),
        solutions([str(n + 10), str(third[2])], steps),
        Solution(str(second[2]), (), (f"For {second[0]} the number is {{}}.", f"{second[0]} has {verb} {{}}.")),
        (f"{name} has {verb} {{}}.", "The number is {}."),
    )


def rows_above(rng: Random) -> Problem:
    """Everyone above a limit, where a response can miss one; the neighbour names everyone else."""
    rows, text, verb, things = _passage(rng)
    limit = sorted(row[2] for row in rows)[1]
    above, below = ([row[0] for row in rows if (row[2] > limit) == wanted] for wanted in (True, False))
    steps = (f"The limit of {limit} has to be exceeded.", "Check each person in turn.")
    return Problem(
        (*rows, limit),
        (
            f"{text}\n\nWho {verb} more than {limit} {things}? Name everyone.",
            f"{text}\n\nList all the people who {verb} more than {limit} {things}.",
        ),
        solutions([", ".join(above)], steps),
        solutions([", ".join([*above[:2], below[0]]), ", ".join(above + below[:1])], steps),
        Solution(", ".join(below), (), (f"Those who {verb} {limit} or fewer: {{}}.",)),
        ("These are {}.", f"More than {limit} {things}: {{}}."),
        solutions([", ".join(above[:2]), ", ".join(above[1:])], steps),
    )


def total_of_city(rng: Random) -> Problem:
    """Sum over the people of one city; the neighbour counts them."""
    rows, text, verb, things = _passage(rng)
    city = max(CITIES, key=lambda name: sum(row[1] == name for row in rows))
    numbers = [row[2] for row in rows if row[1] == city]

    def solve(total: int) -> Solution:
        return Solution(
            str(total), (f"{len(numbers)} people are from {city}.", f"{' + '.join(map(str, numbers))} = {total}.")
        )

    return Problem(
        (*rows, city),
        (
            f"{text}\n\nHow many {things} were {verb} by the people from {city} in all?",
            f"{text}\n\nAdd up the {things} {verb} by everyone from {city}.",
        ),
        (solve(sum(numbers)),),
        tuple(map(solve, (sum(numbers) + 10, sum(numbers) - 1, sum(numbers) + 3))),
        Solution(str(len(numbers)), (), (f"The number of people from {city} is {{}}.",)),
        ("The total is {}.", f"In {city} they {verb} {{}}."),
    )


def ordering(rng: Random) -> Problem:
    """Who stands at one end of an order told in pieces; the neighbour names the other end."""
    names = tuple(rng.sample(PEOPLE, rng.randint(3, 5)))
    more, less, top, bottom = rng.choice(RELATIONS)
    clues = [f"{a} {more} {b}." if rng.random() < 0.6 else f"{b} {less} {a}." for a, b in pairwise(names)]
    told = " ".join(rng.sample(clues, len(clues)))
    (right, asked), (other, unasked) = rng.sample(((names[0], top), (names[-1], bottom)), 2)
    return Problem(
        (names, asked),
        (f"{told} Who is the {asked}?", f"Here is what we know. {told} Which person is the {asked}?"),
        solutions([right], (f"From the {top} to the {bottom}, the order is {', '.join(names)}.",)),
        solutions(names[1:-1], ("Link the clues into one chain, and read off its end.",)),
        Solution(other, (), (f"The {unasked} is {{}}.",)),
        (f"The {asked} is {{}}.", "It is {}.", "That is {}."),
    )
