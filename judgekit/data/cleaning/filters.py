"""What a filter returns, the filters that look at one item or one prompt at a time, and the split by prompt."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from judgekit.data.cleaning.texts import language_of, normalise

if TYPE_CHECKING:
    import pandas as pd

Item = Any  # a PreferencePair or a Response
Sifted = tuple[list[Item], list["Dropped"]]  # kept, and dropped
Reason = tuple[str, str] | None  # why an item goes, and what it clashed with
SHOWN = 700  # characters of each text whose language is asked: a long question must not hide the responses


@dataclass(frozen=True, slots=True)
class Dropped:
    """One item that a filter dropped: which, why, and what it clashed with."""

    item_id: str
    benchmark: str
    reason: str
    detail: str = ""


def drop(item: Item, reason: str, detail: str = "") -> Dropped:
    """The record that an item was dropped."""
    return Dropped(item.item_id, item.benchmark, reason, detail)


def sift(items: Iterable[Item], reason_of: Callable[[Item], Reason]) -> Sifted:
    """Keep the items without a reason to go."""
    kept, dropped = [], []
    for item in items:
        found = reason_of(item)
        if found is None:
            kept.append(item)
        else:
            dropped.append(drop(item, *found))
    return kept, dropped


def drop_degenerate(items: Iterable[Item]) -> Sifted:
    """Drop what carries no information: no question, no response, identical responses, no label (of a pair)."""
    return sift(items, lambda item: (reason, "") if (reason := _degenerate_reason(item)) else None)


def _degenerate_reason(item: Item) -> str | None:
    responses = [response.strip() for response in item.responses]
    if not item.question.strip() and not item.turns:
        return "empty question"
    if not any(responses):
        return "both responses empty" if len(responses) == 2 else "empty response"
    if len(responses) == 1:
        return None
    if responses[0] == responses[1]:
        return "identical responses"
    return "no label" if item.label is None and item.soft_label is None else None


def drop_long(items: Iterable[Item], max_chars: int = 20_000) -> Sifted:
    """Drop items of which a text is longer than ``max_chars`` characters."""

    def too_long(item: Item) -> Reason:
        longest = max(map(len, (item.question, *item.responses)))
        return ("too long", f"{longest} characters") if longest > max_chars else None

    return sift(items, too_long)


def drop_short(items: Iterable[Item], min_chars: int = 1) -> Sifted:
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
