"""Filters for training data, pairs or single responses: what is kept, what is dropped and why."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from judgekit.data.cleaning.near import NearTexts, QuestionIndex, Reason
from judgekit.data.cleaning.texts import language_of, normalise, wordings

Item = Any  # a PreferencePair or a Response
Sifted = tuple[list[Item], list["Dropped"]]  # kept, and dropped
SHOWN = 700  # characters of each text whose language is asked: a long question must not hide the responses
NEAR_REPEAT = 0.9  # Jaccard similarity of shingles from which a text nearly repeats another


@dataclass(frozen=True, slots=True)
class Dropped:
    """One item that a filter dropped: which, why, and what it clashed with."""

    item_id: str
    benchmark: str
    reason: str
    detail: str = ""


def clean(
    items: Sequence[Item],
    test_questions: QuestionIndex,
    validation_questions: Collection[str] = (),
    *,
    max_per_prompt: int = 25,
    min_chars: int = 1,
    max_chars: int = 20_000,
    languages: Collection[str] = (),
    seed: int = 0,
) -> Sifted:
    """All filters in turn, for items of one source or several; the costly search for near repeats comes last.

    ``validation_questions``: questions of sets that are held out whole. ``languages``: as `language_of` names them;
    none given means any. ``seed`` decides which items of a prompt stay under the cap.
    """
    kept: list[Item] = list(items)
    dropped: list[Dropped] = []
    steps: tuple[Callable[[list[Item]], Sifted], ...] = (
        partial(_sift, _degenerate),
        partial(_sift, partial(_too_short, min_chars=min_chars)),
        partial(_sift, partial(_too_long, max_chars=max_chars)),
        _drop_repeats,
        partial(_sift, partial(_contaminated, index=test_questions)),
        partial(_sift, partial(_held_out, questions=set[str]().union(*map(wordings, validation_questions)))),
        partial(_sift, partial(_foreign, languages=languages)),
        partial(_drop_over_cap, limit=max_per_prompt, seed=seed),
        _drop_near_repeats,
    )
    for step in steps:
        kept, out = step(kept)
        dropped += out
    return kept, dropped


def _sift(reason_of: Callable[[Item], Reason], items: Iterable[Item]) -> Sifted:
    """Keep the items without a reason to go."""
    kept, dropped = [], []
    for item in items:
        found = reason_of(item)
        if found is None:
            kept.append(item)
        else:
            dropped.append(Dropped(item.item_id, item.benchmark, *found))
    return kept, dropped


# --- reasons of an item's own


def _degenerate(item: Item) -> Reason:
    """No information: no question, no response, identical responses, no label (of a pair)."""
    responses = [response.strip() for response in item.responses]
    if not item.question.strip() and not item.turns:
        return "empty question", ""
    if not any(responses):
        return ("both responses empty" if len(responses) == 2 else "empty response"), ""
    if len(responses) == 1:
        return None
    if responses[0] == responses[1]:
        return "identical responses", ""
    return ("no label", "") if item.label is None and item.soft_label is None else None


def _too_short(item: Item, min_chars: int) -> Reason:
    """The longer response is shorter than ``min_chars``: two of a word each are a class label."""
    longest = max(len(response.strip()) for response in item.responses)
    return ("too short", f"{longest} characters") if longest < min_chars else None


def _too_long(item: Item, max_chars: int) -> Reason:
    longest = max(map(len, (item.question, *item.responses)))
    return ("too long", f"{longest} characters") if longest > max_chars else None


def _foreign(item: Item, languages: Collection[str]) -> Reason:
    language = language_of("\n".join(text[:SHOWN] for text in (item.question, *item.responses))) if languages else ""
    return ("language", language) if language and language not in languages else None


def _asked(item: Item) -> tuple[str, ...]:
    return item.question, *(turn.question for turn in item.turns)


def _held_out(item: Item, questions: set[str]) -> Reason:
    return ("validation question", "") if any(wordings(text) & questions for text in _asked(item)) else None


def _contaminated(item: Item, index: QuestionIndex) -> Reason:
    """A question, in whatever turn, is or nearly is a test question."""
    return next((found for found in map(index.match, _asked(item)) if found), None)


# --- items of a prompt, and items that stand in the data more than once: word for word, nearly, or with another label


def _drop_over_cap(items: Sequence[Item], limit: int, seed: int) -> Sifted:
    """Keep at most ``limit`` items of each prompt and source, chosen pseudo-randomly by item and seed alone."""

    def order(item: Item) -> str:
        return hashlib.sha256(f"{seed}:{item.benchmark}:{item.item_id}".encode()).hexdigest()[:12]

    groups = defaultdict(list)
    for item in items:
        groups[item.benchmark, item.cluster_id].append(item)
    chosen = {(p.benchmark, p.item_id) for group in groups.values() for p in sorted(group, key=order)[:limit]}
    over = ("over the cap per prompt", "")
    return _sift(lambda item: None if (item.benchmark, item.item_id) in chosen else over, items)


def _texts_of(item: Item) -> list[str]:
    """Words of the question with its earlier turns, and of the responses in an order that orientation keeps."""
    asked = " ".join([*(turn.question for turn in item.turns), item.question])
    return [normalise(asked), *sorted(map(normalise, item.responses))]


def _oriented_label(item: Item) -> str | None:
    """The label of a pair with its responses in alphabetical order; None for a single response."""
    responses = [normalise(response) for response in item.responses]
    if len(responses) == 1:
        return None
    return item.label if responses[0] <= responses[1] else item.swapped().label


def _drop_repeats(items: Iterable[Item]) -> Sifted:
    """Drop exact repeats, and every copy of a pair that was labelled both ways: nothing says which label is right."""
    groups = defaultdict(list)
    for item in items:
        groups[hashlib.sha256("\x1f".join(_texts_of(item)).encode("utf-8", "replace")).digest()].append(item)
    kept: list[Item] = []
    dropped: list[Dropped] = []
    for first, *others in groups.values():
        conflict = {"A", "B"} <= {_oriented_label(item) for item in (first, *others)}
        reason, gone = ("label conflict", [first, *others]) if conflict else ("exact repeat", others)
        kept += [] if conflict else [first]
        dropped += [Dropped(item.item_id, item.benchmark, reason, first.item_id) for item in gone]
    return kept, dropped


def _drop_near_repeats(items: Sequence[Item]) -> Sifted:
    """Drop items whose question and responses each nearly repeat those of an earlier item (`NearTexts`)."""
    near, first = NearTexts(NEAR_REPEAT), dict[tuple[int, ...], Item]()

    def repeats(item: Item) -> Reason:
        question, *responses = map(near.number, _texts_of(item))
        earlier: Item = first.setdefault((question, *sorted(responses)), item)
        return None if earlier is item else ("near repeat", f"{earlier.benchmark}/{earlier.item_id}")

    return _sift(repeats, items)
