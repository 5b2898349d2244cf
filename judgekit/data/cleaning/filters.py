"""The filters, and the split by prompt."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from judgekit.data.cleaning.near import NearTexts, QuestionIndex, Reason
from judgekit.data.cleaning.texts import language_of, normalise

if TYPE_CHECKING:
    import pandas as pd

Item = Any  # a PreferencePair or a Response
Sifted = tuple[list[Item], list["Dropped"]]  # kept, and dropped
Questions = Iterable[tuple[str, str]] | QuestionIndex  # where a question stands, and its text
SHOWN = 700  # characters of each text whose language is asked: a long question must not hide the responses
NEAR_REPEAT = 0.9  # Jaccard similarity of shingles from which a text nearly repeats another


@dataclass(frozen=True, slots=True)
class Dropped:
    """One item that a filter dropped: which, why, and what it clashed with."""

    item_id: str
    benchmark: str
    reason: str
    detail: str = ""


def sift(items: Iterable[Item], reason_of: Callable[[Item], Reason]) -> Sifted:
    """Keep the items without a reason to go."""
    kept, dropped = [], []
    for item in items:
        found = reason_of(item)
        if found is None:
            kept.append(item)
        else:
            dropped.append(Dropped(item.item_id, item.benchmark, *found))
    return kept, dropped


def drop_degenerate(items: Iterable[Item]) -> Sifted:
    """Drop what carries no information: no question, no response, identical responses, no label (of a pair)."""

    def degenerate(item: Item) -> Reason:
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

    return sift(items, degenerate)


def drop_long(items: Iterable[Item], max_chars: int) -> Sifted:
    """Drop items of which a text is longer than ``max_chars`` characters."""

    def too_long(item: Item) -> Reason:
        longest = max(map(len, (item.question, *item.responses)))
        return ("too long", f"{longest} characters") if longest > max_chars else None

    return sift(items, too_long)


def drop_short(items: Iterable[Item], min_chars: int) -> Sifted:
    """Drop items whose longer response is shorter than ``min_chars``: two of a word each are a class label."""

    def too_short(item: Item) -> Reason:
        longest = max(len(response.strip()) for response in item.responses)
        return ("too short", f"{longest} characters") if longest < min_chars else None

    return sift(items, too_short)


def drop_languages(items: Iterable[Item], languages: Collection[str]) -> Sifted:
    """Drop items mostly written in none of the languages, as `language_of` names them; none given means any."""

    def foreign(item: Item) -> Reason:
        language = language_of("\n".join(text[:SHOWN] for text in (item.question, *item.responses)))
        return ("language", language) if language and language not in languages else None

    return sift(items, foreign if languages else lambda item: None)


def drop_questions(items: Iterable[Item], questions: Collection[str]) -> Sifted:
    """Drop items that ask one of the given questions (a set that is held out whole)."""
    held_out = {normalise(question) for question in questions}
    return sift(items, lambda item: ("validation question", "") if normalise(item.question) in held_out else None)


def drop_contaminated(items: Iterable[Item], test_questions: Questions) -> Sifted:
    """Drop training items of which a question, in whatever turn, is or nearly is a test question.

    Test questions are read to keep them out of training, and nowhere else before scoring. A `QuestionIndex` saves
    making it anew for each corpus.
    """
    index = test_questions if isinstance(test_questions, QuestionIndex) else QuestionIndex(test_questions)

    def contaminated(item: Item) -> Reason:
        asked = (item.question, *(turn.question for turn in item.turns))
        return next((found for found in map(index.match, asked) if found), None)

    return sift(items, contaminated)


def drop_over_cap(items: Sequence[Item], limit: int, seed: int = 0) -> Sifted:
    """Keep at most ``limit`` items of each prompt and source, chosen pseudo-randomly by item and seed alone."""

    def order(item: Item) -> str:
        return hashlib.sha256(f"{seed}:{item.benchmark}:{item.item_id}".encode()).hexdigest()[:12]

    groups = defaultdict(list)
    for item in items:
        groups[item.benchmark, item.cluster_id].append(item)
    chosen = {(p.benchmark, p.item_id) for group in groups.values() for p in sorted(group, key=order)[:limit]}
    over = ("over the cap per prompt", "")
    return sift(items, lambda item: None if (item.benchmark, item.item_id) in chosen else over)


# --- items that stand in the data more than once: word for word, nearly, or with contradicting labels


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


def drop_repeats(items: Iterable[Item]) -> Sifted:
    """Drop exact repeats, and every copy of a pair that was labelled both ways.

    Two annotators may see the same pair: equal labels keep the first copy, unequal decided labels drop all copies
    ("label conflict"), since nothing says which is right.
    """
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


def drop_near_repeats(items: Sequence[Item]) -> Sifted:
    """Drop items whose question and responses each nearly repeat those of an earlier item (`NearTexts`)."""
    near, first = NearTexts(NEAR_REPEAT), dict[tuple[int, ...], Item]()

    def repeats(item: Item) -> Reason:
        question, *responses = map(near.number, _texts_of(item))
        earlier: Item = first.setdefault((question, *sorted(responses)), item)
        return None if earlier is item else ("near repeat", f"{earlier.benchmark}/{earlier.item_id}")

    return sift(items, repeats)


# --- training and validation


def split_by_prompt(
    items: Sequence[Item], validation_share: float = 0.12, seed: int = 0
) -> tuple[list[Item], list[Item]]:
    """Training and validation items, split by prompt: no question stands in both.

    The first question of an item alone decides, so pairs and single responses to it stand on the same side.
    ``validation_share``: expected share of prompts in validation, in [0, 1].
    """
    parts: tuple[list[Item], list[Item]] = ([], [])
    for item in items:
        text = f"{seed}:{normalise(item.turns[0].question if item.turns else item.question)}"
        drawn = int(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8], 16) / 16**8
        parts[drawn < validation_share].append(item)
    return parts


def split_table(parts: dict[str, list[Item]], set_column: str = "benchmark") -> "pd.DataFrame":
    """Which item is in which part (``train``, ``validation``): a table of set, item_id and split, in stable order."""
    import pandas as pd

    rows = [(item.benchmark, item.item_id, name) for name, items in parts.items() for item in items]
    return pd.DataFrame(sorted(rows), columns=[set_column, "item_id", "split"])
