"""Filters for training data: each gives the pairs or single responses that it keeps, and what it drops and why."""

from collections.abc import Callable, Collection, Sequence

from judgekit.data.cleaning.contamination import QuestionIndex, Questions, drop_contaminated
from judgekit.data.cleaning.filters import (
    Dropped,
    Item,
    Sifted,
    drop_degenerate,
    drop_languages,
    drop_long,
    drop_over_cap,
    drop_questions,
    drop_short,
    split_by_prompt,
    split_table,
)
from judgekit.data.cleaning.repeats import drop_near_repeats, drop_repeats
from judgekit.data.cleaning.texts import normalise

__all__ = ["Dropped", "QuestionIndex", "clean", "normalise", "split_by_prompt", "split_table"]


def clean(
    items: Sequence[Item],
    test_questions: Questions,
    validation_questions: Collection[str] = (),
    *,
    max_per_prompt: int = 25,
    min_chars: int = 1,
    max_chars: int = 20_000,
    languages: Collection[str] = (),
    seed: int = 0,
) -> Sifted:
    """All filters in turn, for items of one source or several; the costly search for near repeats comes last.

    ``validation_questions``: questions of sets that are held out whole. ``seed`` decides which items of a prompt stay
    under the cap. Kept and dropped are together as many as came in.
    """
    kept: list[Item] = list(items)
    dropped: list[Dropped] = []
    steps: tuple[Callable[[list[Item]], Sifted], ...] = (
        drop_degenerate,
        lambda items: drop_short(items, min_chars),
        lambda items: drop_long(items, max_chars),
        drop_repeats,
        lambda items: drop_contaminated(items, test_questions),
        lambda items: drop_questions(items, validation_questions),
        lambda items: drop_languages(items, languages),
        lambda items: drop_over_cap(items, max_per_prompt, seed),
        drop_near_repeats,
    )
    for step in steps:
        kept, out = step(kept)
        dropped += out
    if len(kept) + len(dropped) != len(items):
        raise AssertionError(f"{len(items)} items in, {len(kept)} kept and {len(dropped)} dropped")
    return kept, dropped
