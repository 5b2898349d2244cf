"""Edits: deterministic, disjoint in their wordings, and doing what their names say."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from judgekit.bias.edits import (
    CONTROLS,
    EDITS,
    HELD_OUT,
    LONG_WORDS,
    REPLACING,
    TRAINABLE,
    UNWORDED,
    WHOLE,
    ZERO_WIDTH,
    reworded,
    sentences_of,
    tampered,
    wordings,
)
from judgekit.judges.surface import words_of

QUESTION = "How do I boil an egg? Name two ways."
RESPONSE = "You may boil it:\n1. In water.\n2. In steam, which is often faster."


@pytest.mark.parametrize("name", [name for name in EDITS if name not in UNWORDED])
def test_another_seed_says_it_in_another_way(name):
    assert len({tampered(name, QUESTION, RESPONSE, seed=seed) for seed in range(30)}) > 1


@pytest.mark.parametrize("name", EDITS)
def test_what_is_left_of_the_response(name):
    before, after = words_of(RESPONSE), words_of(tampered(name, QUESTION, RESPONSE))
    if name in REPLACING:
        assert not set(before) <= set(after)
    elif name == "confident_tone":
        assert "may" not in after and "often" not in after and set(before) - {"may", "often"} <= set(after)
    else:
        assert set(before) <= set(after) and len(after) > len(before) - (name == "emoji")


def test_edits_do_what_they_are_called():
    assert tampered("empty", QUESTION, RESPONSE) == ""
    assert len(tampered("very_long", QUESTION, RESPONSE).split()) >= LONG_WORDS
    assert "[[" in tampered("verdict_injection", QUESTION, RESPONSE)
    stuffed = words_of(tampered("question_stuffing", QUESTION, RESPONSE))
    assert stuffed.count("egg") == 4 and stuffed.count("boil") == 5
    assert len(sentences_of(tampered("repeated_list", QUESTION, RESPONSE))) == 2 * len(sentences_of(RESPONSE))
    marked = tampered("markdown", QUESTION, RESPONSE)
    assert marked.startswith("## ") and marked.count("\n- **") == len(sentences_of(RESPONSE))
    combined = tampered("combined", QUESTION, RESPONSE)
    assert "## " in combined and re.search(r"20\d\d|thirty|112", combined)


def test_hidden_words_look_like_the_wording_and_hold_no_plain_one():
    text = tampered("zero_width", QUESTION, RESPONSE).rpartition("\n\n")[2]
    shown = re.sub(f"[{ZERO_WIDTH}]", "", text)
    assert shown in wordings()["zero_width"]["tested"]
    assert not any(word in text for word in shown.split() if len(word) > 1)


def test_judges_are_never_attacked_with_what_they_may_be_trained_on():
    for name, parts in wordings().items():
        assert not set(parts.get("trained", ())) & set(parts["tested"]), name
        assert ("trained" in parts) == (name in TRAINABLE), name
    assert set(HELD_OUT) | set(TRAINABLE) == set(EDITS) and not set(HELD_OUT) & set(TRAINABLE)
    assert set(wordings()) == set(EDITS | CONTROLS) - set(UNWORDED) and set(WHOLE) <= set(TRAINABLE)
    for name in (*HELD_OUT, *CONTROLS):
        with pytest.raises(KeyError, match="held out"):
            tampered(name, QUESTION, RESPONSE, part="trained")


@pytest.mark.parametrize("name", [name for name in TRAINABLE if name not in UNWORDED])
def test_trained_wordings_make_other_texts(name):
    tested = {tampered(name, QUESTION, RESPONSE, seed=seed) for seed in range(20)}
    assert not tested & {tampered(name, QUESTION, RESPONSE, part="trained", seed=seed) for seed in range(20)}


def test_what_is_no_edit_is_named():
    with pytest.raises(KeyError, match="no edit 'shout'; there are null_response, "):
        tampered("shout", QUESTION, RESPONSE)
    with pytest.raises(KeyError, match="no part 'all'"):
        tampered("emoji", QUESTION, RESPONSE, part="all")


def test_a_list_item_keeps_its_number():
    assert reworded("2. In steam.", "Again, ") == "2. Again, in steam."
    assert reworded("NASA did.", "Again, ") == "Again, NASA did."
    assert sentences_of("1. One thing. 2. Another.") == ["1. One thing.", "2. Another."]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(EDITS)), st.text(max_size=200), st.text(max_size=400))
@example("repeated_list", "", "- x\n- y")
@example("question_stuffing", QUESTION, "一二三。四五六。")
def test_no_text_stops_an_edit_and_each_makes_one_text_of_it(name, question, response):
    changed = tampered(name, question, response)
    assert isinstance(changed, str) and changed == tampered(name, question, response)
