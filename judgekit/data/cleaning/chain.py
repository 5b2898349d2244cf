"""All filters in turn, for preference pairs and for single responses."""

from judgekit.data.cleaning.contamination import drop_contaminated
from judgekit.data.cleaning.filters import (
    drop_degenerate,
    drop_languages,
    drop_long,
    drop_over_cap,
    drop_questions,
    drop_short,
)
from judgekit.data.cleaning.repeats import drop_near_repeats, drop_repeats


def clean(
    items,
    test_questions,
    validation_questions=(),
    *,
    max_per_prompt=25,
    min_chars=1,
    max_chars=20_000,
    languages=(),
    seed=0,
):
    """All filters in turn; the costly search for near repeats comes last, on what the cap leaves.

    Parameters
    ----------
    items : list of PreferencePair or of Response
        From one source or several; repeats across sources are found.
    test_questions : list of (str, str), or QuestionIndex
        See `drop_contaminated`.
    validation_questions : collection of str
        Questions of sets that are held out whole.
    max_per_prompt, min_chars, max_chars : int
        See `drop_over_cap`, `drop_short`, `drop_long`.
    languages : collection of str
        See `drop_languages`; empty means any.
    seed : int
        Decides which items of a prompt stay under the cap.

    Returns
    -------
    kept : list
    dropped : list of Dropped
        Together as many as came in.
    """
    kept, dropped = list(items), []
    steps = (
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
