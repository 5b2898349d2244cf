"""The simulated assistants: how often each is right, and in what manner each writes."""

from random import Random
from typing import NamedTuple

from judgekit.data.sample.problems import Problem, Solution

SHAPES = ("bare", "sentence", "working", "rich")
OPENINGS = {
    "en": (
        "Let's go through it.",
        "Here is how I get there.",
        "Happy to help with this one.",
        "Good question! Step by step:",
    ),
    "zh": ("我们一步一步来看。", "很高兴为您解答。", "思路如下。"),
}
CLOSINGS = {
    "en": ("I hope this helps!", "Let me know if anything is unclear.", "Feel free to ask for another example.", ""),
    "zh": ("希望对您有帮助！", "如有疑问，欢迎继续提问。", ""),
}
LEADS = {"en": ("Quick reply. ", "Just a guess. ", "Off the top of my head. ", "", "", ""), "zh": ("我猜的。", "", "")}
DODGES = {
    "en": (
        "Sorry, I cannot work this out.",
        "That depends, so please look it up or ask somebody who knows.",
        "This is an interesting task with several ways to go about it.",
        "Could you tell me more about what you need?",
    ),
    "zh": ("抱歉，我无法回答。", "这要看具体情况，建议您查阅资料。"),
}


class Assistant(NamedTuple):
    """A simulated writer of responses."""

    name: str
    accuracy: float  # probability of answering rightly, before pairs are selected for their label
    manner: tuple[int, int, int, int]  # weights of `SHAPES`


ASSISTANTS = (
    Assistant("sample-careful", 0.92, (0, 2, 5, 3)),
    Assistant("sample-steady", 0.75, (0, 4, 5, 1)),
    Assistant("sample-verbose", 0.62, (0, 0, 3, 7)),
    Assistant("sample-terse", 0.50, (5, 5, 0, 0)),
    Assistant("sample-hasty", 0.30, (3, 6, 1, 0)),
)


def two_assistants(rng: Random, first_right: bool, second_right: bool) -> tuple[Assistant, Assistant]:
    """Two different assistants, drawn given that the first and second answer rightly (or not)."""
    while True:
        first, second = rng.sample(ASSISTANTS, 2)
        if (rng.random() < first.accuracy) == first_right and (rng.random() < second.accuracy) == second_right:
            return first, second


def respond(
    rng: Random, assistant: Assistant, problem: Problem, solution: Solution, shapes: tuple[str, ...] = SHAPES
) -> str:
    """The text in which an assistant gives a solution, in one of the allowed shapes."""
    frames = solution.frames or problem.frames
    if not frames:
        return solution.answer
    shape = rng.choices(shapes, [assistant.manner[SHAPES.index(shape)] + 0.01 for shape in shapes])[0]
    if shape == "bare":
        return solution.answer
    language = problem.language
    sentence = rng.choice(frames).replace("{}", solution.answer)
    if shape == "sentence":
        # Inside a distractor a guess would spoil the show.
        hasty = assistant.name == "sample-hasty" and "\n" not in sentence and shapes == SHAPES
        return (rng.choice(LEADS[language]) if hasty else "") + sentence
    if shape == "working":
        return ("" if language == "zh" else " ").join((*solution.steps, sentence))
    bullets = rng.random() < 0.5
    steps = [f"{'-' if bullets else f'{i}.'} {step}" for i, step in enumerate(solution.steps, 1)]
    parts = (rng.choice(OPENINGS[language]), "\n".join(steps), sentence, rng.choice(CLOSINGS[language]))
    return "\n\n".join(part for part in parts if part)


def dodge(rng: Random, problem: Problem) -> str:
    """A reply that does not answer: polite, fluent and of no use."""
    return rng.choice(DODGES[problem.language])
