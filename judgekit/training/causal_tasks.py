"""Preference pairs from the tiny tasks, in any number: what a causal judge is trained on and tested with.

The questions of the parts ``train`` and ``validation`` use the training wordings, those of ``test`` the held-out ones;
no two parts share operands. Labels are true by construction, sides are dealt, and a question stands in one pair only.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from judgekit.records import PreferencePair
from judgekit.training import causal_families
from judgekit.training.causal_families import Task
from judgekit.training.causal_wordings import HELD_OUT, TRAIN

BENCHMARK = "tiny_tasks"
FAMILIES = tuple(TRAIN)
# What the tiny model learns in minutes was found out on the validation part, in trials that were not kept. The families
# apart are not trained on and are reported by themselves: they stayed near one half there, or were not tried again.
# Negation (exclusion, avoiding) was learnt in some of the trials and not in others, and held up the rest.
APART = ("exchange", "exclusion", "place", "lookup", "avoiding", "ordering", "counting", "arithmetic")
LEARNABLE = tuple(name for name in FAMILIES if name not in APART)
ANY_WORDS = ("exclusion", "avoiding", "length")  # nearly any words are a right response: there are none to be learnt
PARTS = {"train": 14, "validation": 15, "test": 20}  # of twenty equal parts of all operands, the last one (exclusive)


def part_of(operands: str) -> str:
    """The part that operands belong to: a property of theirs, so that no two parts can share them."""
    share = int(hashlib.sha256(operands.encode()).hexdigest(), 16) % 20
    return next(part for part, end in PARTS.items() if share < end)


def tiny_tasks(
    n_pairs: int, part: str = "train", families: Sequence[str] = LEARNABLE, tie_share: float = 0.0, seed: int = 0
) -> list[PreferencePair]:
    """Preference pairs, the families in turn; the same seed gives the same pairs on every machine.

    ``families``: keys of `judgekit.training.causal_wordings.TRAIN`. ``tie_share``: share of pairs in which both
    responses are right, or both wrong, in [0, 1). ``reference`` is a right response, ``subset`` the family. ValueError
    if a part or family is unknown, a number is out of range, or a family runs out of operands.

    >>> [(pair.question, pair.label) for pair in tiny_tasks(1, families=("copying",))]
    [('repeat these words : cow rake', 'B')]
    """
    if part not in PARTS:
        raise ValueError(f"part is {part!r}; there are {', '.join(PARTS)}")
    if unknown := [name for name in families if name not in TRAIN] or ([] if families else ["none at all"]):
        raise ValueError(f"families: {unknown[0]!r} is not one of {', '.join(TRAIN)}")
    if not (isinstance(n_pairs, int) and n_pairs > 0 and 0 <= tie_share < 1):
        raise ValueError(f"n_pairs={n_pairs!r}, tie_share={tie_share!r}: a positive whole number, a share below 1")
    streams = {name: family_pairs(name, part, tie_share, seed) for name in families}
    pairs = [next(streams[families[n % len(families)]]) for n in range(n_pairs)]
    Random(f"{seed}/{part}/mixed").shuffle(pairs)
    return pairs


@dataclass(frozen=True, slots=True)
class Drawn:
    """A task with its wording, and the two responses that are to be told apart."""

    family: str
    task: Task
    question: str
    right: str
    wrong: str
    operands: str


def drawn_tasks(family: str, part: str, seed: int | str, patience: int = 2000) -> Iterator[Drawn]:
    """Endless tasks of one family and part, with operands that were not used before."""
    rng, seen = Random(f"{seed}/{part}/{family}"), set()  # type: ignore[var-annotated]  # of str
    make = getattr(causal_families, family)
    wordings = (HELD_OUT if part == "test" else TRAIN)[family]
    while True:
        for _ in range(patience):
            task = make(rng)
            right, wrong = " ".join(task.right(rng)), " ".join(task.wrong(rng))
            operands = operands_of(family, task, right, wrong)
            if part_of(operands) == part and operands not in seen:
                break
        else:
            raise ValueError(f"family {family!r} has no more than {len(seen)} operands for {part}")
        wording = wordings[len(seen) % len(wordings)]
        seen.add(operands)
        yield Drawn(family, task, wording.format(**task.slots), right, wrong, operands)


def operands_of(family: str, task: Task, right: str, wrong: str) -> str:
    """What a question is about, without its wording; of an open question also what is to be told apart."""
    slots = [f"{name} {task.slots[name]}" for name in sorted(task.slots)]
    return " | ".join([family, *slots, *(sorted((right, wrong)) if task.open_ended else ())])


def family_pairs(family: str, part: str, tie_share: float, seed: int | str) -> Iterator[PreferencePair]:
    """Endless pairs of one family and part."""
    rng = Random(f"{seed}/{part}/{family}/sides")
    for n, drawn in enumerate(drawn_tasks(family, part, seed)):
        label = "tie" if rng.random() < tie_share else rng.choice("AB")
        yield record(drawn, label, rng.random() < 0.5, part, n)


def record(drawn: Drawn, label: str, right_tie: bool, part: str, n: int) -> PreferencePair:
    """The record of a task; the responses of a tie are the same words, both right or both wrong."""
    first, second = (drawn.right, drawn.wrong) if label == "A" else (drawn.wrong, drawn.right)
    if label == "tie":
        first = second = drawn.right if right_tie else drawn.wrong
    digest = hashlib.sha256(drawn.operands.encode()).hexdigest()[:12]
    return PreferencePair(
        item_id=f"{drawn.family}-{digest}",
        benchmark=f"{BENCHMARK}_{part}",
        question=drawn.question,
        response_a=first,
        response_b=second,
        subset=drawn.family,
        cluster_id=digest,
        reference=drawn.right,
        label=label,
        label_kind="authored",
        source=f"judgekit.training.causal_tasks:{part}:{drawn.family}:{n}",
    )


@dataclass(frozen=True, slots=True)
class Drill:
    """A question with several responses, each marked right or wrong: what a model reads before it judges pairs."""

    question: str
    responses: tuple  # of (text, whether it is right)
    predictable: bool = True  # the question says something of the words of a right response


def tiny_drills(
    n_drills: int, part: str = "train", families: Sequence[str] = LEARNABLE, responses: int = 6, seed: int = 0
) -> list[Drill]:
    """Drills, with ``responses`` responses each: right or wrong by the toss of a coin.

    ValueError if the part is neither ``train`` nor ``validation``: drills of the test part would be a leak.
    """
    if part not in ("train", "validation"):
        raise ValueError(f"part is {part!r}; drills are drawn from train or validation")
    streams = {name: drawn_tasks(name, part, f"{seed}/drill") for name in families}
    rng, drills = Random(f"{seed}/{part}/drills"), []
    for n in range(n_drills):
        drawn: Any = next(streams[families[n % len(families)]])
        marks = [rng.random() < 0.5 for _ in range(responses)]
        texts = [" ".join((drawn.task.right if mark else drawn.task.wrong)(rng)) for mark in marks]
        drills.append(Drill(drawn.question, tuple(zip(texts, marks, strict=True)), drawn.family not in ANY_WORDS))
    rng.shuffle(drills)
    return drills
