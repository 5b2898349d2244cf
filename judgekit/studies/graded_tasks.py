"""Single responses to the tiny tasks with graded quality: how many of a response's words are right.

Every response has as many words as there can be right ones, so that neither its length nor its words by themselves say
how good it is; only beside the question can that be told.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from judgekit.prompts import Strategy
from judgekit.records import Response
from judgekit.training.causal_families import KINDS, WORDS, listed, others
from judgekit.training.causal_tasks import PARTS, part_of
from judgekit.training.causal_tiny import drill_rows
from judgekit.training.causal_wordings import HELD_OUT, TRAIN

BENCHMARK = "graded_tasks"
N_WORDS = 4
GRADES = tuple(range(1, N_WORDS + 2))  # one more than the number of right words


def graded_copying(rng: Random) -> tuple[dict[str, str], Callable[[Collection[int]], list[str]]]:
    """Say four words again; a wrong word stands in the place of a right one."""
    words = rng.sample(WORDS, N_WORDS)
    fresh = rng.sample(others(words), N_WORDS)
    return {"words": listed(words)}, lambda kept: [w if n in kept else fresh[n] for n, w in enumerate(words)]


def graded_membership(rng: Random) -> tuple[dict[str, str], Callable[[Collection[int]], list[str]]]:
    """Name words of a list of four; a wrong word is not in it."""
    words = rng.sample(WORDS, N_WORDS)
    said, fresh = rng.sample(words, N_WORDS), rng.sample(others(words), N_WORDS)
    return {"words": listed(words)}, lambda kept: [w if n in kept else fresh[n] for n, w in enumerate(said)]


def graded_kind(rng: Random) -> tuple[dict[str, str], Callable[[Collection[int]], list[str]]]:
    """Name things of a kind; a wrong word is of another kind."""
    kind = rng.choice(list(KINDS))
    words = KINDS[kind].split()
    said, fresh = rng.sample(words, N_WORDS), rng.sample(others(words), N_WORDS)
    return {"kind": kind}, lambda kept: [w if n in kept else fresh[n] for n, w in enumerate(said)]


FAMILIES = {"copying": graded_copying, "membership": graded_membership, "kind": graded_kind}


@dataclass(frozen=True, slots=True)
class GradedQuestion:
    """A question with several graded responses."""

    question: str
    family: str
    responses: tuple  # of (text, how good it is, from 1 to 5)
    predictable: bool = False  # always: what is learnt are grades, not the words of good responses


def graded_questions(n_questions: int, part: str = "train", responses: int = 5, seed: int = 0) -> list[GradedQuestion]:
    """Questions with graded responses, the families in turn; no two parts share operands, as with `tiny_tasks`.

    ``part``: ``"train"``, ``"validation"`` or ``"test"``, which has the held-out wordings; ValueError if it is none of
    them. ``responses``: of each question, their grades drawn evenly and independently.
    """
    if part not in PARTS:
        raise ValueError(f"part is {part!r}; there are {', '.join(PARTS)}")
    found, names = [], list(FAMILIES)
    for n in range(n_questions):
        family, rng = names[n % len(names)], Random(f"{seed}/{part}/grades/{n}")
        wordings = (HELD_OUT if part == "test" else TRAIN)[family]
        while True:
            slots, write = FAMILIES[family](rng)
            texts = [graded_text(write, rng) for _ in range(responses)]
            # Kinds are few and stand in all parts: there, the first response belongs to the operands.
            operands = f"{family} | {slots} | {texts[0] if family == 'kind' else ''}"
            if part_of(operands) == part:
                break
        found.append(GradedQuestion(rng.choice(wordings).format(**slots), family, tuple(texts)))
    return found


def graded_text(write: Callable[[Collection[int]], list[str]], rng: Random) -> tuple[str, int]:
    """One response and its grade."""
    kept = rng.sample(range(N_WORDS), rng.randint(0, N_WORDS))
    return " ".join(write(kept)), len(kept) + 1


def graded_responses(questions: Iterable[GradedQuestion], part: str) -> list[Response]:
    """Questions with graded responses as records, a response each; clustered by the text of the question."""
    return [
        Response(
            item_id=f"{part}-{n}-{m}",
            question=shown.question,
            response=text,
            score=float(grade),
            source=f"judgekit.training.causal_grades:{part}:{shown.family}:{n}",
            benchmark=f"{BENCHMARK}_{part}",
            cluster_id=hashlib.sha256(shown.question.encode()).hexdigest()[:12],
            label_kind="authored",
        )
        for n, shown in enumerate(questions)
        for m, (text, grade) in enumerate(shown.responses)
    ]


def grade_rows(questions: Sequence[GradedQuestion], strategy: Strategy, tokenizer: Any) -> list[dict[str, Any]]:
    """Rows ``input_ids, labels`` that teach to say a grade where a response ends (`drill_rows`)."""
    return drill_rows(questions, strategy, tokenizer, {grade: str(grade) for grade in GRADES})


def single_prompts(items: Iterable[Response], strategy: Strategy, tokenizer: Any) -> list[list[int]]:
    """Token ids of a question and one response, up to where a mark or grade of it is due (`drill_rows`)."""
    shown = [GradedQuestion(item.question, "", ((item.response, GRADES[0]),)) for item in items]
    return [row["input_ids"][:-1] for row in grade_rows(shown, strategy, tokenizer)]
