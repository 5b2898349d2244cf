"""GPT-4 reviews of the Vicuna blog: two answers to 80 questions, each scored from 1 to 10.

The questions are the Vicuna-80 test questions: cleaning against the test sets drops them.
"""

from judgekit.data.corpora.sides import place
from judgekit.data.sources import read_rows, source_names
from judgekit.records import PreferencePair, label_of_gap

QUESTION_FILE = "vicuna_blog_eval/question.jsonl"


def files():
    """Names of all files read: questions, answers, reviews."""
    answers = source_names("vicuna_blog_eval", prefix="answer/")
    return (QUESTION_FILE, *answers, *source_names("vicuna_blog_eval", prefix="review/"))


def load():
    """The pairs of all review files, and a report."""
    questions = {row.whole("question_id"): row for row in read_rows(QUESTION_FILE)}
    answers = {
        row.text("answer_id"): row
        for file in source_names("vicuna_blog_eval", prefix="answer/")
        for row in read_rows(file)
    }
    reviews = [row for file in source_names("vicuna_blog_eval", prefix="review/") for row in read_rows(file)]
    return pairs_from_rows(reviews, questions, answers)


def pairs_from_rows(reviews, questions, answers):
    """Pairs and report of review rows; equal scores are a tie, a negative score is a failed review (skipped).

    Parameters
    ----------
    reviews : list of Row
        question_id, answer1_id, answer2_id, score (two numbers).
    questions : dict of int to Row
        Question id to text and category.
    answers : dict of str to Row
        Answer id to text and model_id.

    Raises
    ------
    DataError
        If a field is missing or of another type, or names an unknown question or answer.
    """
    scored = [row for row in reviews if min(row.checked_list("score", (int, float), "numbers", n=2)) >= 0]
    pairs = [place(pair_from_review(row, questions, answers)) for row in scored]
    return pairs, {"skipped_no_score": len(reviews) - len(scored)}


def pair_from_review(row, questions, answers):
    """One pair, sides as in the review."""
    question = known(row, "question_id", questions)
    first, second = (known(row, field, answers) for field in ("answer1_id", "answer2_id"))
    score_1, score_2 = row.get("score")
    folder, name = row.file.split("/")[-2:]
    return PreferencePair(
        item_id=f"{folder}/{name.removesuffix('.jsonl')}/{row.number}",
        benchmark="vicuna_blog",
        question=question.text("text"),
        response_a=first.text("text"),
        response_b=second.text("text"),
        subset=question.text("category"),
        cluster_id=str(question.whole("question_id")),
        model_a=first.text("model_id"),
        model_b=second.text("model_id"),
        label=label_of_gap(score_1 - score_2),
        label_kind="gpt-4",
        source=row.where,
    )


def known(row, field, rows):
    """The row that a field refers to."""
    key = row.get(field)
    if not isinstance(key, (int, str)) or key not in rows:
        raise row.error(field, f"refers to {key!r}, which is not in the files")
    return rows[key]
