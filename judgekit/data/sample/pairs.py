"""From problems to preference pairs: who answers what, and which side it stands on."""

from random import Random
from typing import NamedTuple

from judgekit.data.sample.annotators import cast_votes
from judgekit.data.sample.assistants import Assistant, dodge, respond, two_assistants
from judgekit.data.sample.distractors import DISTRACTORS
from judgekit.data.sample.families import FAMILIES, draw_problems, seeded
from judgekit.data.sample.problems import Problem
from judgekit.records import PreferencePair, label_of_gap

# Pairs per family: with a better response, tied, and with a distractor.
MIXTURE = {
    "sample_train": (34, 6, 10),
    "sample_validation": (10, 2, 3),
    "sample_natural": (14, 2, 0),
    "sample_adversarial": (0, 0, 12),
}
VOTELESS = ("sample_train",)
# How an ordinary pair's worse response fails: a mistake, half of what was asked, another question, no answer.
FAILURES, FAILURE_WEIGHTS = ("wrong", "partial", "neighbour", "dodge"), (55, 20, 10, 15)


Text = tuple[str, str]  # assistant's name, response
Written = tuple[Text, Text]


class Draft(NamedTuple):
    """A pair before its sides are dealt: (assistant's name, text) of the better and the worse response."""

    item_id: str
    cluster_id: str
    subset: str
    question: str
    better: Text
    worse: Text
    tied: bool


def make_set(split: str) -> list[PreferencePair]:
    """All pairs of a split, families mixed."""
    rng = seeded(split)
    drafts = [draft for family in FAMILIES for draft in _drafts(split, family)]
    rng.shuffle(drafts)
    # Sides are dealt, not tossed: position carries no information even in a small set.
    n_decided = sum(not draft.tied for draft in drafts)
    sides = [("A", "B")[i % 2] for i in range(n_decided)]
    rng.shuffle(sides)
    return [_record(rng, split, n, draft, "tie" if draft.tied else sides.pop()) for n, draft in enumerate(drafts)]


def _drafts(split: str, family: str) -> list[Draft]:
    """The drafts of one family; a question may serve one to four of them."""
    rng = seeded(split, family, "pairs")
    kinds = [kind for kind, n in zip(("better", "tie", "distractor"), MIXTURE[split], strict=True) for _ in range(n)]
    rng.shuffle(kinds)
    order = rng.sample(list(DISTRACTORS), len(DISTRACTORS))
    kinds = [order[i % len(order)] if kind == "distractor" else kind for i, kind in enumerate(sorted(kinds))]
    rng.shuffle(kinds)
    problems = draw_problems(split, family)
    drafts: list[Draft] = []
    while kinds:
        cluster, question, problem = next(problems)
        shown: set[frozenset[str]] = set()
        for turn in range(1, rng.choices((1, 2, 3, 4), (50, 30, 15, 5))[0] + 1):
            responses = _unlike_responses(rng, problem, kinds[-1], shown) if kinds else None
            if responses is None:
                break
            kind = kinds.pop()
            suffix, subset = (f"-{kind}", kind) if kind in DISTRACTORS else ("", family)
            item_id = f"{cluster}-{turn}{suffix}"
            drafts.append(Draft(item_id, cluster, subset, question, *responses, tied=kind == "tie"))
    return drafts


def _unlike_responses(rng: Random, problem: Problem, kind: str, shown: set[frozenset[str]]) -> Written | None:
    """Two responses that differ and were not yet shown together, or None when the problem has no more."""
    for _ in range(20):
        better, worse = _responses(rng, problem, kind)
        texts = frozenset((better[1], worse[1]))
        if len(texts) == 2 and texts not in shown:
            shown.add(texts)
            return better, worse
    return None


def _responses(rng: Random, problem: Problem, kind: str) -> Written:
    if kind == "tie":
        right = rng.random() < 0.6
        pool = problem.right if right else problem.wrong
        writers = two_assistants(rng, right, right)
        first, second = ((writer.name, respond(rng, writer, problem, rng.choice(pool))) for writer in writers)
        return first, second
    better, worse = two_assistants(rng, True, False)
    solution = rng.choice(problem.right)
    if kind in DISTRACTORS:
        # The better response stays plain: what the distractor adds should be the only finery.
        text = respond(rng, better, problem, solution, ("sentence", "working"))
        dressed = DISTRACTORS[kind](rng, worse, problem, rng.choice(problem.wrong))
        return (better.name, text), (worse.name, dressed)
    return (better.name, respond(rng, better, problem, solution)), (worse.name, _failure(rng, worse, problem))


def _failure(rng: Random, writer: Assistant, problem: Problem) -> str:
    failure = rng.choices(FAILURES, FAILURE_WEIGHTS)[0]
    if failure == "dodge":
        return dodge(rng, problem)
    if failure == "neighbour":
        return respond(rng, writer, problem, problem.neighbour, ("sentence", "working", "rich"))
    pool = problem.partial if failure == "partial" and problem.partial else problem.wrong
    return respond(rng, writer, problem, rng.choice(pool))


def _record(rng: Random, split: str, n: int, draft: Draft, label: str) -> PreferencePair:
    """The record of a draft whose better response stands on the side of the label."""
    (model_a, a), (model_b, b) = (draft.better, draft.worse) if label != "B" else (draft.worse, draft.better)
    longer = label_of_gap(len(a) - len(b))
    return PreferencePair(
        item_id=draft.item_id,
        benchmark=split,
        question=draft.question,
        response_a=a,
        response_b=b,
        subset=draft.subset,
        cluster_id=draft.cluster_id,
        model_a=model_a,
        model_b=model_b,
        label=label,
        votes={} if split in VOTELESS else cast_votes(rng, label, longer),
        label_kind="authored",
        source=f"judgekit.data.sample:{split}:{n}",
    )
