"""Authored responses with known scores on two aspects: what probes are tried on where nothing is downloaded."""

from collections.abc import Callable
from itertools import cycle
from random import Random

from judgekit.data.sample.assistants import ASSISTANTS, SHAPES, dodge, respond
from judgekit.data.sample.families import FAMILIES, draw_problems, seeded
from judgekit.data.sample.problems import Problem
from judgekit.records import Response, unique_items

PER_SCORE = 24
SPLIT = "sample_train"
FINE = ("working", "rich")


def load_sample_ratings() -> dict[str, list[Response]]:
    """Rated responses of the sample by aspect, balanced over the scores 1 to 5.

    ``factuality`` is what the response states: right with its working (5), right without (4), a part of what was asked
    or a mistake at the end of a working (3), plainly wrong (2), an answer to another question (1). ``informativeness``
    is how much of the way it shows, right or wrong: all of it in order (5), all of it (4), a sentence (3), the bare
    answer (2), no answer (1).
    """
    writers = {"factuality": _factual, "informativeness": _informative}
    return {aspect: _rated_responses(aspect, write) for aspect, write in writers.items()}


def _rated_responses(aspect: str, write: Callable[[Random, Problem, int], str]) -> list[Response]:
    """Responses of one aspect: scores dealt in turn, one question each."""
    rng = seeded(SPLIT, "ratings", aspect)
    problems = {name: draw_problems(SPLIT, name) for name in FAMILIES}
    found: list[Response] = []
    for family in cycle(FAMILIES):
        if len(found) == 5 * PER_SCORE:
            break
        score = 1 + len(found) % 5
        cluster, question, problem = next(problems[family])
        if not problem.frames:  # the answer is the whole response: there is no way to show
            continue
        found.append(
            Response(
                item_id=f"{aspect}-{cluster}",
                question=question,
                response=write(rng, problem, score),
                score=float(score),
                source=f"judgekit.data.sample.ratings:{aspect}:{len(found)}",
                benchmark="sample",
                cluster_id=cluster,
                label_kind="authored",
            )
        )
    rng.shuffle(found)
    return unique_items(found)


def _factual(rng: Random, problem: Problem, score: int) -> str:
    """A response that is as right as its score says."""
    writer = rng.choice(ASSISTANTS)
    if score >= 4:
        shapes = FINE if score == 5 else ("bare", "sentence")
        return respond(rng, writer, problem, rng.choice(problem.right), shapes)
    if score == 3:
        return respond(rng, writer, problem, rng.choice(problem.partial or problem.wrong), FINE)
    if score == 2:
        return respond(rng, writer, problem, rng.choice(problem.wrong), ("bare", "sentence"))
    return respond(rng, writer, problem, problem.neighbour, SHAPES)


def _informative(rng: Random, problem: Problem, score: int) -> str:
    """A response that shows as much of the way as its score says, right or wrong."""
    if score == 1:
        return dodge(rng, problem)
    solution = rng.choice([*problem.right, *problem.wrong])
    return respond(rng, rng.choice(ASSISTANTS), problem, solution, (SHAPES[score - 2],))
