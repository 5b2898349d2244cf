"""Authored tasks with grades: what a grade is, that it needs the question, and what is learnt from."""

from collections import Counter

import numpy as np
import pytest

from judgekit.prompts import load_strategy
from judgekit.studies.graded_tasks import (
    FAMILIES,
    GRADES,
    N_WORDS,
    grade_rows,
    graded_questions,
    graded_responses,
    single_prompts,
)
from judgekit.studies.train_causal_judge import response_only
from judgekit.training.causal_families import WORDS
from judgekit.training.causal_tiny import MARKS, tiny_tokenizer


@pytest.fixture(scope="module")
def strategy():
    return load_strategy("letter", "strict")


def test_a_grade_is_the_number_of_right_words():
    for shown in graded_questions(60, "validation"):
        for text, grade in shown.responses:
            words = text.split()
            assert len(words) == N_WORDS == len(set(words)) and grade in GRADES
            if shown.family != "kind":
                listed = [word for word in shown.question.split() if word in words]
                assert len(set(listed)) == grade - 1
            if shown.family == "copying":
                assert grade < 5 or text in shown.question
    assert {shown.family for shown in graded_questions(6)} == set(FAMILIES)


def test_grades_are_even_and_parts_share_no_question():
    parts = {part: graded_responses(graded_questions(90, part), part) for part in ("train", "validation", "test")}
    counts = Counter(item.score for item in parts["test"])
    assert min(counts.values()) > 0.6 * max(counts.values())
    asked = {part: {item.question for item in items} for part, items in parts.items()}
    assert not asked["test"] & (asked["train"] | asked["validation"])
    lists = {part: {q for q in asked[part] if sum(word in WORDS for word in q.split()) == N_WORDS} for part in asked}
    assert min(map(len, lists.values())) > 50
    assert not lists["train"] & lists["validation"]
    assert len({item.item_id for item in parts["test"]}) == 450
    assert parts["test"] == graded_responses(graded_questions(90, "test"), "test")
    with pytest.raises(ValueError, match="part is 'exam'"):
        graded_questions(1, "exam")


def test_without_the_question_a_grade_cannot_be_told():
    def pairs(part):
        from judgekit.records import PreferencePair

        found = []
        for n, shown in enumerate(graded_questions(400, part, responses=2)):
            (first, one), (second, other) = shown.responses
            if one != other:
                label = "A" if one > other else "B"
                found.append(PreferencePair(str(n), "own", shown.question, first, second, label=label))
        return found

    right = response_only(pairs("train"), pairs("test"))
    assert abs(right.mean() - 0.5) < 3 * 0.5 / np.sqrt(len(right))


def test_what_is_learnt_is_the_grade_where_the_response_ends(strategy):
    tokenizer = tiny_tokenizer(strategy)
    questions = graded_questions(3, responses=2)
    for row, shown in zip(grade_rows(questions, strategy, tokenizer), questions, strict=True):
        said = [tokenizer.decode([label]).strip() for label in row["labels"] if label >= 0]
        assert said == [str(grade) for _, grade in shown.responses]
        assert tokenizer.unk_token_id not in row["input_ids"]
    items = graded_responses(questions, "train")
    prompts = single_prompts(items, strategy, tokenizer)
    first = grade_rows(graded_questions(3, responses=2), strategy, tokenizer)[0]
    ends = [place for place, label in enumerate(first["labels"]) if label >= 0]
    assert prompts[0][:-1] == first["input_ids"][: ends[0] - 1] and len(prompts) == 6
    assert MARKS[True] == "right"
