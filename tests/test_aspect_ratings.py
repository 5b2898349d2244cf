"""Loaders of responses rated on several aspects: real files, one's own files, malformed ones, and the sample."""

import json
from collections import Counter

import pytest

from judgekit.data.catalogue import load_rated_set, rated_set_hashes
from judgekit.data.corpora.aspect_ratings import PROBING, ROSCOE, read_probing_file
from judgekit.data.sources import DataError

# Items per aspect (reference notes, 4.2): semantic consistency, logicality, informativeness, fluency, factuality.
ASPECTS = ("semantic_consistency", "logicality", "informativeness", "fluency", "factuality")
SIZES = {"gsm8k": (170, 130, 230, 85, 425), "gpqa": (110, 155, 710, 130, 230), "alpacaeval": (70, 45, 155, 55, 45)}
RATED = {"gsm8k": 200, "drop": 210, "cosmos": 195, "esnli": 151}
PROMPT = (
    "Instruction:\nDefinition.\n\nQuestion:\n{}\n\nGenerated response:\n{}\n\n"
    "Now evaluate the Question and Generated response above based on the instruction. Return only the score.\n"
)


@pytest.mark.realdata
@pytest.mark.parametrize("name", PROBING)
def test_probing_sets_have_the_published_sizes_and_are_balanced(name):
    rated = load_rated_set(name)
    assert {aspect: len(items) for aspect, items in rated.items()} == dict(zip(ASPECTS, SIZES[name], strict=True))
    for items in rated.values():
        assert set(Counter(item.score for item in items).values()) == {len(items) // 5}
        assert all(item.question.strip() and item.response.strip() for item in items)
        assert "Now evaluate" not in items[0].response
    assert len(rated_set_hashes([name])) == 1


@pytest.mark.realdata
def test_options_in_another_order_are_no_other_question():
    """GPQA's questions repeat, with their options shuffled: split by text, test would know train."""
    items = load_rated_set("gpqa")["informativeness"]
    texts, clusters = {item.question for item in items}, {item.cluster for item in items}
    assert (len(items), len(clusters)) == (710, 480)
    assert len(texts) > len(clusters)


@pytest.mark.realdata
@pytest.mark.parametrize("name", ROSCOE)
def test_roscoe_has_the_ratings_of_people_and_no_solution(name):
    rated = load_rated_set(f"roscoe_{name}")
    assert set(map(len, rated.values())) == {RATED[name]}
    assert {item.score for item in rated["no_contradiction"]} <= {0.0, 1.0}
    assert all(1 <= item.score <= 5 for item in rated["overall"])
    for item in rated["overall"]:
        assert "Solution:" not in item.question and "Correct Relationship" not in item.question
        assert not item.response.startswith("Step 1")


def test_a_file_of_ones_own_is_read(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(
        json.dumps({"fluency": [{"id": 7, "eval_prompt": PROMPT.format("Why?", "So.\n\nYes."), "score": 3}]})
    )
    (item,) = load_rated_set(str(path))["fluency"]
    assert (item.item_id, item.question, item.response, item.score, item.benchmark) == (
        "7",
        "Why?",
        "So.\n\nYes.",
        3,
        "mine",
    )


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "the row is list"),
        ({}, "holds no aspect"),
        ({"fluency": 3}, "field 'fluency' is int"),
        ({"fluency": [{"id": 1, "score": 3}]}, r"\(fluency\):0: field 'eval_prompt' is missing"),
        ({"fluency": [{"id": 1, "eval_prompt": "Hello", "score": 3}]}, "field 'eval_prompt' does not hold"),
        ({"fluency": [{"id": 1, "eval_prompt": PROMPT, "score": 6}]}, "field 'score' is 6"),
    ],
)
def test_a_malformed_file_is_named_with_item_and_field(tmp_path, document, words):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match=words):
        read_probing_file(path, "mine")


def test_unknown_sets_are_named():
    for name in ("nothing", "roscoe_nothing"):
        with pytest.raises(KeyError, match="there are gsm8k"):
            load_rated_set(name)


def test_the_sample_is_balanced_the_same_each_time_and_has_one_question_per_item():
    rated = load_rated_set("sample")
    assert rated == load_rated_set("sample")
    for items in rated.values():
        assert set(Counter(item.score for item in items).values()) == {24}
        assert len({item.cluster for item in items}) == len(items)
    # What is said is told apart from how much is said: a wrong answer may show its working.
    longest = max(rated["factuality"], key=lambda item: len(item.response))
    assert {item.score for item in rated["factuality"] if len(item.response) > len(longest.response) / 4} >= {3.0, 5.0}
