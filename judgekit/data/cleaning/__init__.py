"""Filters for training data: each returns what it keeps and says what it drops, and why.

A filter takes preference pairs or single responses and returns ``(kept, dropped)``; `clean` chains them.
"""

from judgekit.data.cleaning.chain import clean
from judgekit.data.cleaning.contamination import QuestionIndex, drop_contaminated
from judgekit.data.cleaning.counting import cleaning_counts, cleaning_table
from judgekit.data.cleaning.dropping import Dropped
from judgekit.data.cleaning.filters import (
    drop_degenerate,
    drop_languages,
    drop_long,
    drop_over_cap,
    drop_questions,
    drop_short,
)
from judgekit.data.cleaning.languages import language_of
from judgekit.data.cleaning.repeats import drop_near_repeats, drop_repeats
from judgekit.data.cleaning.splitting import is_held_out, split_by_prompt, split_table
from judgekit.data.cleaning.texts import normalise, variants

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
