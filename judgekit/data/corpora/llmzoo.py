"""LLMZoo: gpt-3.5-turbo's rankings of two to four models' answers, under five aspects.

The questions are 70 of the Vicuna-80 test questions and their Chinese translations: cleaning against the test sets
drops them all. The pairs are here for those who do not test on these.
"""

from itertools import combinations

from judgekit.data.corpora.sides import place
from judgekit.data.sources import read_rows, source_names, text_key
from judgekit.records import PreferencePair, label_of_gap


def files():
    """Names of the review files, ``llmzoo/reviews/<comparison>/<language>/<aspect>/review.jsonl``."""
    return source_names("llmzoo", prefix="reviews/", suffix="/review.jsonl")


def load():
    """The pairs that the rankings imply, and a report."""
    return pairs_from_rows([row for file in files() for row in read_rows(file)])


def pairs_from_rows(rows):
    """Pairs and report of review rows; equal ranks are a tie, and two identical answers make no pair.

    Raises
    ------
    DataError
        If a field is missing or of another type, or answers, models and ranks differ in number.
    """
    pairs = [place(pair) for row in rows for pair in pairs_of_review(row)]
    kept = [pair for pair in pairs if pair.response_a != pair.response_b]
    return kept, {"reviews": len(rows), "skipped_identical": len(pairs) - len(kept)}


def pairs_of_review(row):
    """The pairs of one review, in the order of its answers; rank 1 is the best."""
    shown = row.inner("metadata")
    answers = shown.texts("answers")
    models = shown.texts("model_ids", n=len(answers))
    ranks = row.checked_list("order", int, "ranks", n=len(answers))
    comparison, _, aspect, _ = row.file.split("/")[-4:]
    for first, second in combinations(range(len(answers)), 2):
        yield PreferencePair(
            item_id=f"{comparison}/{row.text('lang')}/{aspect}/{row.number}:{first}-{second}",
            benchmark="llmzoo",
            question=shown.text("question"),
            response_a=answers[first],
            response_b=answers[second],
            subset=aspect,
            cluster_id=text_key(shown.text("question")),
            model_a=models[first],
            model_b=models[second],
            label=label_of_gap(ranks[second] - ranks[first]),
            label_kind="model",
            source=row.where,
        )
