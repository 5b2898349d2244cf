"""The steps before a probe, on one's own data: collect a model's responses, let a teacher rate them, build a set."""

from judgekit.studies.teacher.engines import load_engine
from judgekit.studies.teacher.probing_sets import balanced_probing_set, split_by_question
from judgekit.studies.teacher.questions import Question, checked_questions, read_questions
from judgekit.studies.teacher.ratings import rate_responses, rating_messages, read_rating
from judgekit.studies.teacher.responses import collect_responses

__all__ = [
    "Question",
    "balanced_probing_set",
    "checked_questions",
    "collect_responses",
    "load_engine",
    "rate_responses",
    "rating_messages",
    "read_questions",
    "read_rating",
    "split_by_question",
]
