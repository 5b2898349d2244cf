"""The task families, and the draw of a fresh question for a split."""

import hashlib
from collections.abc import Iterator
from random import Random

from judgekit.data.sample import facts, instructions, quantities, texts
from judgekit.data.sample.problems import Problem

FAMILIES = {
    "arithmetic": (
        quantities.change,
        quantities.first_and_left,
        quantities.constant_speed,
        quantities.discount,
        quantities.rectangle,
    ),
    "dates": (quantities.weekday, quantities.end_time, quantities.date_after),
    "units": (quantities.convert, quantities.fahrenheit, quantities.mixed_minutes),
    "strings": (texts.word_edit, texts.nth_word, texts.letter_count),
    "lists": (texts.sort_numbers, texts.keep_numbers, texts.sort_words, texts.drop_repeats),
    "characters": (texts.copy_text, texts.count_characters, texts.wrap_text, texts.pick_piece),
    "reading": (facts.extreme_row, facts.rows_above, facts.value_of, facts.total_of_city),
    "ordering": (facts.ordering,),
    "constraints": (
        instructions.word_limit,
        instructions.without_letter,
        instructions.item_count,
        instructions.with_word,
        instructions.letter_case,
        instructions.json_keys,
        instructions.with_ending,
    ),
    "format": (instructions.number_only, instructions.between_marks, instructions.yes_or_no, instructions.json_total),
}
# Another edition is another draw of everything. This one was taken because its small test sets lie close to what
# many draws average: `tests/test_sample.py` holds the quantities.
EDITION = "16"
# Of ten equal parts of all conceivable questions, the last one (exclusive) that belongs to each split.
PARTS = {"sample_train": 4, "sample_validation": 6, "sample_natural": 8, "sample_adversarial": 10}


def seeded(*names: str) -> Random:
    """The random numbers for one purpose, the same on every platform and Python."""
    return Random("/".join((EDITION, *names)))


def _split_of(key: str) -> str:
    """The split a question belongs to: a property of the question, so that no two splits can share one."""
    part = int(hashlib.sha256(key.encode()).hexdigest(), 16) % 10
    return next(split for split, end in PARTS.items() if part < end)


def _is_ambiguous(problem: Problem) -> bool:
    """Whether chance made a worse answer the same as a right one, as when the change equals the price."""
    right = {solution.answer for solution in problem.right}
    return any(other.answer in right for other in (*problem.wrong, *problem.partial, problem.neighbour))


def draw_problems(split: str, family: str) -> Iterator[tuple[str, str, Problem]]:
    """Endless fresh problems of one family for one split, its templates in turn.

    Each after a readable identifier (``family-template-digest`` of the parameters) and the question as worded.
    """
    rng = seeded(split, family)
    seen = set()
    while True:
        for template in FAMILIES[family]:
            while True:
                problem = template(rng)
                key = f"{template.__name__}{problem.parameters!r}"
                if _split_of(key) == split and key not in seen and not _is_ambiguous(problem):
                    break
            seen.add(key)
            digest = hashlib.sha256(key.encode()).hexdigest()[:6]
            yield f"{family}-{template.__name__}-{digest}", rng.choice(problem.wordings), problem
