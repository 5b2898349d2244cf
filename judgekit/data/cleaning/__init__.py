"""Filters for training data: each gives the pairs or single responses that it keeps, and what it drops and why."""

from collections.abc import Callable, Collection, Sequence
from functools import partial

from judgekit.data.cleaning import filters
from judgekit.data.cleaning.filters import Dropped, Item, Questions, Sifted, split_by_prompt, split_table
from judgekit.data.cleaning.near import QuestionIndex
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
        filters.drop_degenerate,
        partial(filters.drop_short, min_chars=min_chars),
        partial(filters.drop_long, max_chars=max_chars),
        filters.drop_repeats,
        partial(filters.drop_contaminated, test_questions=test_questions),
        partial(filters.drop_questions, questions=validation_questions),
        partial(filters.drop_languages, languages=languages),
        partial(filters.drop_over_cap, limit=max_per_prompt, seed=seed),
        filters.drop_near_repeats,
    )
    for step in steps:
        kept, out = step(kept)
        dropped += out
    return kept, dropped
