"""Filters for training data: each returns what it keeps and says what it drops, and why.

A filter takes preference pairs or single responses and returns ``(kept, dropped)``; `clean` chains them.
"""

from judgekit.cleaning.chain import clean
from judgekit.cleaning.contamination import QuestionIndex, drop_contaminated
from judgekit.cleaning.counting import cleaning_counts, cleaning_table
from judgekit.cleaning.dropping import Dropped
from judgekit.cleaning.filters import (
    drop_degenerate,
    drop_languages,
    drop_long,
    drop_over_cap,
    drop_questions,
    drop_short,
)
from judgekit.cleaning.languages import language_of
from judgekit.cleaning.repeats import drop_near_repeats, drop_repeats
from judgekit.cleaning.splitting import is_held_out, split_by_prompt, split_table
from judgekit.cleaning.texts import normalise, variants

__all__ = [
    "Dropped",
    "QuestionIndex",
    "clean",
    "cleaning_counts",
    "cleaning_table",
    "drop_contaminated",
    "drop_degenerate",
    "drop_languages",
    "drop_long",
    "drop_near_repeats",
    "drop_over_cap",
    "drop_questions",
    "drop_repeats",
    "drop_short",
    "is_held_out",
    "language_of",
    "normalise",
    "split_by_prompt",
    "split_table",
    "variants",
]
