"""Filters that look at one item at a time, or count items of one prompt."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from judgekit.data.cleaning.dropping import Item, Reason, Sifted, drop, sift
from judgekit.data.cleaning.languages import language_of
from judgekit.data.cleaning.texts import normalise


def drop_degenerate(items: Iterable[Item]) -> Sifted:
    """Drop what carries no information: no question, no response, identical responses, no label (of a pair)."""
    return sift(items, lambda item: (reason, "") if (reason := _degenerate_reason(item)) else None)


def _degenerate_reason(item: Item) -> str | None:
    """Why an item says nothing, or None."""
    responses = [response.strip() for response in item.responses]
    if not item.question.strip() and not item.turns:
        return "empty question"
    if not any(responses):
        return "both responses empty" if len(responses) == 2 else "empty response"
    if len(responses) == 1:
        return None
    if responses[0] == responses[1]:
        return "identical responses"
    if item.label is None and item.soft_label is None:
        return "no label"
    return None


def drop_long(items: Iterable[Item], max_chars: int = 20_000) -> Sifted:
    """Drop items of which a text is longer than ``max_chars`` characters."""

    def too_long(item: Item) -> Reason:
        longest = max(map(len, (item.question, *item.responses)))
        return ("too long", f"{longest} characters") if longest > max_chars else None

    return sift(items, too_long)


def drop_short(items: Iterable[Item], min_chars: int = 1) -> Sifted:
    """Drop items whose longer response has fewer than ``min_chars`` characters.

    A short response beside a long one is a fault worth learning; two of a word each are a class label, and teach
    nothing about text.
    """

    def too_short(item: Item) -> Reason:
        longest = max(len(response.strip()) for response in item.responses)
        return ("too short", f"{longest} characters") if longest < min_chars else None

    return sift(items, too_short)


def drop_languages(items: Iterable[Item], languages: Collection[str]) -> Sifted:
    """Drop items that are not written in one of the given languages, as `language_of` names them; none means any.

    The language is that of question and responses together: a translation task belongs to the language that most of it
    is written in.
    """
    share = 700  # characters of each text, so that a long question does not hide the responses

    def foreign(item: Item) -> Reason:
        language = language_of("\n".join(text[:share] for text in (item.question, *item.responses)))
        return ("language", language) if language and language not in languages else None

    return sift(items, foreign if languages else lambda item: None)


def drop_questions(items: Iterable[Item], questions: Collection[str]) -> Sifted:
    """Drop items that ask one of the given questions (a set that is held out whole)."""
    held_out = {normalise(question) for question in questions}
    return sift(items, lambda item: ("validation question", "") if normalise(item.question) in held_out else None)


def _stable_order(item: Item, seed: int) -> float:
    """A pseudo-random number in [0, 1) that depends on the item and the seed alone."""
    digest = hashlib.sha256(f"{seed}:{item.benchmark}:{item.item_id}".encode()).hexdigest()
    return int(digest[:12], 16) / 16**12


def drop_over_cap(items: Sequence[Item], limit: int, seed: int = 0) -> Sifted:
    """Keep at most ``limit`` items of each prompt and source, chosen pseudo-randomly.

    A few prompts with a hundred responses each would otherwise teach those prompts.
    """
    groups = defaultdict(list)
    for item in items:
        groups[item.benchmark, item.cluster_id].append(item)
    chosen: set[tuple[str, str]] = set()
    for group in groups.values():
        chosen |= {(p.benchmark, p.item_id) for p in sorted(group, key=lambda p: _stable_order(p, seed))[:limit]}
    kept = [item for item in items if (item.benchmark, item.item_id) in chosen]
    rest = [item for item in items if (item.benchmark, item.item_id) not in chosen]
    return kept, [drop(item, "over the cap per prompt") for item in rest]
