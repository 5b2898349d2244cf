"""judgekit.data.cleaning: every filter says what it drops, nothing is lost, and no test question stays."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgekit.data.catalogue import load_set, questions_of_tests
from judgekit.data.cleaning import Dropped, clean, normalise, split_by_prompt, split_table
from judgekit.data.cleaning.filters import (
    drop_contaminated,
    drop_degenerate,
    drop_languages,
    drop_long,
    drop_near_repeats,
    drop_over_cap,
    drop_repeats,
    drop_short,
)
from judgekit.data.cleaning.texts import language_of
from judgekit.records import PreferencePair, Response, Turn

TEST_QUESTION = "Explain to a child of seven why the sky looks blue at noon and red in the evening, in four sentences."
STEADY = settings(deadline=None)


def pair(item_id="1", question="Q?", a="good", b="bad", label="A", benchmark="authored", **fields):
    fields = {"cluster_id": normalise(question)} | fields
    return PreferencePair(str(item_id), benchmark, question, a, b, label=label, **fields)


def response(item_id="1", question="Q?", text="good", benchmark="authored", **fields):
    return Response(str(item_id), question, text, benchmark=benchmark, cluster_id=normalise(question), **fields)


def ids(records):
    return [record.item_id for record in records]


def reasons(dropped):
    return {drop.item_id: drop.reason for drop in dropped}


# ---------------------------------------------------------------- single filters


def within_100(items):
    return drop_long(items, 100)


def at_least_4(items):
    return drop_short(items, 4)


@pytest.mark.parametrize(
    ("sift", "fields", "reason", "detail"),
    [
        (drop_degenerate, {"question": " \n"}, "empty question", ""),
        (drop_degenerate, {"a": "", "b": " "}, "both responses empty", ""),
        (drop_degenerate, {"a": "same", "b": " same\n"}, "identical responses", ""),
        (drop_degenerate, {"label": None}, "no label", ""),
        *((within_100, {text: "x" * 101}, "too long", "101 characters") for text in ("question", "a", "b")),
        (at_least_4, {"a": "no", "b": "yes "}, "too short", "3 characters"),
    ],
)
def test_pairs_that_say_nothing_go(sift, fields, reason, detail):
    kept, dropped = sift([pair("good"), pair("bad", **fields)])
    assert ids(kept) == ["good"]
    assert dropped == [Dropped("bad", "authored", reason, detail)]


@pytest.mark.parametrize(
    ("sift", "fields"),
    [
        (drop_degenerate, {"a": ""}),
        (drop_degenerate, {"label": "tie"}),
        (drop_degenerate, {"label": None, "soft_label": 0.7}),
        (drop_degenerate, {"question": "", "turns": (Turn("Earlier?", "a", "b"),)}),
        (drop_degenerate, {"a": "Same", "b": "same"}),
        *((within_100, {text: "x" * 100}) for text in ("question", "a", "b")),
        (at_least_4, {"a": "no", "b": "sure"}),
    ],
)
def test_pairs_that_say_something_stay(sift, fields):
    assert sift([pair(**fields)])[1] == []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How do I get from the station to the museum?", "en"),
        ("Wie komme ich vom Bahnhof zu dem Museum, und ist das weit für mich?", "de"),
        ("¿Cómo llego a la estación del museo y cuáles son los horarios para una visita?", "es"),
        ("从车站怎么去博物馆？请用 Python 写一个函数。", "zh"),
        ("駅から博物館へはどう行けばいいですか", "ja"),
        ("Как пройти от вокзала до музея?", "other"),
        ("for i in range(10): print(x[i] + y[i]); del z, o, a", "en"),
        ("Oui", "en"),  # too little to tell
        ("1 + 1 = ?", ""),
    ],
)
def test_languages_are_told_apart(text, language):
    assert language_of(text) == language


def test_other_languages_go_and_any_stay_when_none_is_named():
    pairs = [pair("en", a="It is the one on the left."), pair("zh", question="是哪一个？", a="左边那个。", b="右边。")]
    assert drop_languages(pairs, ["en"])[1] == [Dropped("zh", "authored", "language", "zh")]
    assert ids(drop_languages(pairs, ["zh"])[0]) == ["zh"]
    assert drop_languages(pairs, []) == (pairs, [])
    assert drop_languages([pair(question="1?", a="2", b="3")], ["zh"])[1] == []  # no letters: no language


def test_a_long_question_does_not_hide_the_language_of_the_response():
    question = "Translate this text into Chinese. " + "It is a fine day, and we go to the sea. " * 40
    assert language_of(question) == "en"
    assert ids(drop_languages([response(question=question, text="今天天气很好，我们去海边。" * 40)], ["en"])[1]) == [
        "1"
    ]


def test_a_repeat_goes_whichever_way_round_it_stands_and_contradictions_go_whole():
    pairs = [
        pair("first", a="one", b="two", label="A"),
        pair("again", question="q", a="One!", b="two", label="A"),
        pair("turned", a="two", b="one", label="B"),
        pair("other", a="one", b="three"),
        pair("asked", question="Another?", a="one", b="two"),
    ]
    kept, dropped = drop_repeats(pairs)
    assert ids(kept) == ["first", "other", "asked"]
    assert reasons(dropped) == {"again": "exact repeat", "turned": "exact repeat"}
    assert {drop.detail for drop in dropped} == {"first"}
    kept, dropped = drop_repeats([pair("1", label="A"), pair("2", label="B"), pair("3", label="A")])
    assert kept == [] and reasons(dropped) == dict.fromkeys("123", "label conflict")
    kept, dropped = drop_repeats([pair("1", label="tie"), pair("2", label="A")])  # a tie contradicts nobody
    assert (ids(kept), reasons(dropped)) == (["1"], {"2": "exact repeat"})


def test_near_repeats_go_and_other_responses_stay():
    words = " ".join(f"word{n}" for n in range(120))
    pairs = [
        pair("first", a=words, b="the first of two"),
        pair("near", a=words + " more", b="the first of two"),
        pair("far", a=" ".join(f"other{n}" for n in range(120)), b="the first of two"),
        pair("one other", a=words, b="the second of two"),
    ]
    kept, dropped = drop_near_repeats(pairs)
    assert ids(kept) == ["first", "far", "one other"]
    assert dropped == [Dropped("near", "authored", "near repeat", "authored/first")]


def test_the_cap_is_per_prompt_and_source_and_does_not_depend_on_order():
    pairs = [pair(n, question=q, benchmark=source) for source in "xy" for q in ("One?", "Two?") for n in range(10)]
    pairs = [
        PreferencePair(f"{p.question}{p.item_id}", p.benchmark, p.question, "a", "b", cluster_id=p.question)
        for p in pairs
    ]
    kept, dropped = drop_over_cap(pairs, 3, seed=1)
    counts = {}
    for one in kept:
        counts[one.benchmark, one.question] = counts.get((one.benchmark, one.question), 0) + 1
    assert counts == {(source, q): 3 for source in "xy" for q in ("One?", "Two?")}
    assert set(reasons(dropped).values()) == {"over the cap per prompt"}
    again = drop_over_cap(pairs[::-1], 3, seed=1)[0]
    assert {(p.benchmark, p.item_id) for p in again} == {(p.benchmark, p.item_id) for p in kept}
    assert ids(drop_over_cap(pairs, 3, seed=2)[0]) != ids(kept)


# ---------------------------------------------------------------- contamination


CHANGEABLE = "Write a short scene from a play where a clever young fox talks to a very tired old bear about winter."


TWO_CHANGED = CHANGEABLE.replace("clever", "wicked").replace("tired", "hungry")


CHINESE = "请根据以下材料，用三句话说明为什么中午的天空是蓝色的，而傍晚的天空是红色的。"


def contaminated(question, test, turns=()):
    kept, dropped = drop_contaminated([pair("1", question=question, turns=turns)], [("pandalm/7", test)])
    assert len(kept) + len(dropped) == 1
    assert all(drop.detail == "pandalm/7" for drop in dropped if drop.reason != "test n-grams")
    return dropped[0].reason if dropped else None


@pytest.mark.parametrize(
    ("question", "test", "reason"),
    [
        (TEST_QUESTION, TEST_QUESTION, "test question"),
        (TEST_QUESTION.upper() + "\n", TEST_QUESTION, "test question"),
        (TEST_QUESTION.replace(" ", "  ").replace(",", ";"), TEST_QUESTION, "test question"),
        (f"{TEST_QUESTION}\n\nInput: none", TEST_QUESTION, "test question"),
        (f"{TEST_QUESTION}\nInput: For Anna", f"{TEST_QUESTION}\n\nFor Anna", "test question"),
        (f"{TEST_QUESTION}\nInput: For Ben", f"{TEST_QUESTION}\n\nFor Anna", "test question"),
        (TWO_CHANGED, CHANGEABLE, "near a test question"),
        (TWO_CHANGED.replace("short scene from a play", "long letter"), CHANGEABLE, None),
        ("Explain to a child of seven why the sky looks " + " ".join(map(str, range(30))), TEST_QUESTION, None),
        ("Explain to a child why the sea is salty.", TEST_QUESTION, None),
        (CHINESE.replace("，", " "), CHINESE, "test question"),
        (CHINESE.replace("三句", "五句"), CHINESE, "test n-grams"),
        ("请用三句话介绍一下你最喜欢的城市和那里的博物馆。", CHINESE, None),
    ],
)
def test_the_same_question_is_found(question, test, reason):
    """However it is written, in whatever turn; and what shares some words with it is another question."""
    assert contaminated(question, test) == reason
    assert contaminated("And in the morning?", test, (Turn(question, "a", "b"),)) == reason


# ---------------------------------------------------------------- single responses


def test_single_responses_pass_the_same_filters():
    long = " ".join(f"word{n}" for n in range(100))
    responses = [
        response("kept", text="It is one answer of the two."),
        response("other", text="It is another answer."),
        response("empty", text=" "),
        response("short", text="a"),
        response("long", text="x" * 2001),
        response("again", question="q", text="it is one ANSWER of the two"),
        response("test", question=TEST_QUESTION, text="Because of the air."),
        response("turn", text="So it is.", turns=(Turn(TEST_QUESTION, "a", "a"),)),
        response("held out", question="Held out?", text="It is."),
        response("chinese", question="为什么?", text="因为空气。"),
        response("first", question="List.", text=long),
        response("near", question="List.", text=long + " end"),
    ]
    limits = {"min_chars": 2, "max_chars": 2000, "languages": ["en"]}
    kept, dropped = clean(responses, [("t", TEST_QUESTION)], ["Held out?"], **limits)
    assert ids(kept) == ["kept", "other", "first"]
    assert reasons(dropped) == {
        "empty": "empty response",
        "short": "too short",
        "long": "too long",
        "again": "exact repeat",
        "test": "test question",
        "turn": "test question",
        "held out": "validation question",
        "chinese": "language",
        "near": "near repeat",
    }


def test_pairs_and_responses_to_one_question_stand_on_one_side():
    questions = [f"Question {n}?" for n in range(200)]
    parts = [split_by_prompt([make(n, q) for n, q in enumerate(questions)], 0.3, 5) for make in (pair, response)]
    assert [ids(part) for part in parts[0]] == [ids(part) for part in parts[1]]
    assert 30 < len(parts[0][1]) < 90


# ---------------------------------------------------------------- the chain


WORDS = st.sampled_from(["", "Q?", "What is it?", TEST_QUESTION, "x" * 60])
PAIRS = st.lists(
    st.builds(pair, question=WORDS, a=WORDS, b=WORDS, label=st.sampled_from(["A", "B", "tie", None])), max_size=12
)


@STEADY
@given(PAIRS)
def test_nothing_is_lost(pairs):
    pairs = [
        PreferencePair(f"{n}", p.benchmark, p.question, p.response_a, p.response_b, label=p.label)
        for n, p in enumerate(pairs)
    ]
    kept, dropped = clean(pairs, [("t", TEST_QUESTION)], ["What is it?"], max_per_prompt=2, max_chars=50)
    assert sorted(ids(kept) + ids(dropped)) == sorted(ids(pairs))
    assert not {normalise(p.question) for p in kept} & {normalise(TEST_QUESTION), "what is it", ""}


def test_no_prompt_stands_in_both_parts():
    pairs = [pair(f"{q}-{n}", question=f"Question {q}?" + "!" * n) for q in range(300) for n in range(3)]
    train, validation = split_by_prompt(pairs, 0.2, seed=3)
    assert sorted(ids(train) + ids(validation)) == sorted(ids(pairs))
    assert not {normalise(p.question) for p in train} & {normalise(p.question) for p in validation}
    assert len(validation) / len(pairs) == pytest.approx(0.2, abs=0.07)
    assert split_by_prompt(pairs[::-1], 0.2, seed=3)[1] == validation[::-1]
    assert split_by_prompt(pairs, 0.2, seed=4)[1] != validation


def test_turns_of_one_conversation_stay_together():
    opening = pair("1", question="Opening?")
    later = pair("2", question="And then?", turns=(Turn("Opening?", "a", "b"),))
    for seed in range(30):
        assert len(split_by_prompt([opening, later], 0.5, seed)[0]) in (0, 2)


def test_the_split_table_does_not_depend_on_order():
    parts = {"train": [pair("2"), pair("1")], "validation": [pair("3", benchmark="a")]}
    table = split_table(parts)
    assert table.values.tolist() == [["a", "3", "validation"], ["authored", "1", "train"], ["authored", "2", "train"]]
    assert table.equals(split_table({name: pairs[::-1] for name, pairs in parts.items()}))


# ---------------------------------------------------------------- the real sets


def plain(question):
    """Words of a question, by another path than the filters'."""
    return tuple(re.sub(r"[^\w]+", " ", question.casefold()).split())


@pytest.mark.realdata
@pytest.mark.slow
def test_no_training_question_is_a_test_question():
    tests = questions_of_tests()
    asked = {plain(question) for _, question in tests}
    pairs = load_set("alpaca_eval")
    before = {plain(p.question) for p in pairs}
    kept, dropped = clean(pairs, tests)
    assert before & asked, "the corpus shares questions with the test sets: that is why it is cleaned"
    assert not {plain(p.question) for p in kept} & asked
    assert len(kept) + len(dropped) == len(pairs) and kept
