"""Data that a judge may be trained on, one loader per source: preference pairs, and questions with single responses.

Which response of a pair is A is drawn by a hash of the item id, so that the label cannot be read from the position.
Whether a prompt also stands in a test set is for `judgekit.data.cleaning` to find.
"""

from judgekit.data.corpora.answers import ANSWERS, answer_hashes, load_answers_with_report
from judgekit.data.corpora.pairs import CORPORA, HUB_CORPORA, corpus_hashes, load_corpus, load_corpus_with_report
from judgekit.data.corpora.preferred import preferred_responses

__all__ = [
    "ANSWERS",
    "CORPORA",
    "HUB_CORPORA",
    "answer_hashes",
    "corpus_hashes",
    "load_answers_with_report",
    "load_corpus",
    "load_corpus_with_report",
    "preferred_responses",
]
