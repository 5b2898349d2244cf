"""judgekit.data.cleaning: every filter says what it drops, nothing is lost, and no test question stays."""

import re
import unicodedata
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from notebook_functions import code_of, functions_of
from scipy.special import ndtr

from judgekit import stats
from judgekit.data.catalogue import load_set, questions_of_tests
from judgekit.data.cleaning import Dropped, QuestionIndex, clean, normalise
from judgekit.data.cleaning.texts import language_of
from judgekit.data.paths import project_root
from judgekit.records import PreferencePair, Response, Turn
from judgekit.report import escaped
from judgekit.training.mixture import check_disjoint

ACCENTED = "Quels élèves étaient présents à la fête de l'école, et où sont-ils allés après le dîner ?"
TEST_QUESTION = "Explain to a child of seven why the sky looks blue at noon and red in the evening, in four sentences."
STEADY = settings(deadline=None)


def pair(item_id="1", question="Q?", a="good", b="bad", label="A", benchmark="authored", **fields):
    fields = {"cluster_id": normalise(question)} | fields
    return PreferencePair(str(item_id), benchmark, question, a, b, label=label, **fields)


def response(item_id="1", question="Q?", text="good", benchmark="authored", **fields):
    return Response(str(item_id), question, text, benchmark=benchmark, cluster_id=normalise(question), **fields)


def cleaned(items, tests=(), validation=(), **limits):
    return clean(items, QuestionIndex(tests), validation, **limits)


def ids(records):
    return [record.item_id for record in records]


def reasons(dropped):
    return {drop.item_id: drop.reason for drop in dropped}


@pytest.mark.parametrize(
    ("fields", "reason", "detail"),
    [
        ({"question": " \n"}, "empty question", ""),
        ({"a": "", "b": " "}, "both responses empty", ""),
        ({"a": "same", "b": " same\n"}, "identical responses", ""),
        ({"label": None}, "no label", ""),
        *(({text: "x" * 101}, "too long", "101 characters") for text in ("question", "a", "b")),
        ({"a": "no", "b": "yes "}, "too short", "3 characters"),
        ({"a": ""}, None, ""),
        ({"label": "tie"}, None, ""),
        ({"label": None, "soft_label": 0.7}, None, ""),
        ({"question": "", "turns": (Turn("Earlier?", "a", "b"),)}, None, ""),
        ({"a": "Same", "b": "same"}, None, ""),
        *(({text: "x" * 100}, None, "") for text in ("question", "a", "b")),
        ({"a": "no", "b": "sure"}, None, ""),
    ],
)
def test_pairs_that_say_nothing_go_and_others_stay(fields, reason, detail):
    pairs = [pair("first"), pair("second", **{"question": "R?", "b": "rest"} | fields)]
    kept, dropped = cleaned(pairs, min_chars=4, max_chars=100)
    assert dropped == ([Dropped("second", "authored", reason, detail)] if reason else [])
    assert kept == (pairs[:1] if reason else pairs)


@pytest.mark.parametrize(
    ("test", "question"),
    [
        ("What is the capital of France?", "Ｗｈａｔ ｉｓ the capital of France?"),  # full width
        ("What is the capital of France?", "What is the cap\u00adital of France\u200b?"),  # what nobody sees
        ("What's the capital of France?", "What\u02bcs the capital of France?"),
        ("What is the capital of France?", "You are a helpful assistant.\n\nWhat is the capital of France?"),
        ("What is the capital of France?", "Be brief.\n\nBe kind.\nUser: hello\nWhat is the capital of France?"),
        ("Find the first office in Gießen.", "ﬁnd the ﬁrst oﬃce in GIESSEN"),
        ("😀➕😀＝？", "😀➕😀＝？ "),  # no word at all
    ],
)
def test_a_test_question_is_known_however_its_letters_are_written(test, question):
    kept, dropped = cleaned([pair("in", question), pair("out", "Another question?")], [("there", test)])
    assert ids(kept) == ["out"] and dropped == [Dropped("in", "authored", "test question", "there")]
    if "\n" not in question:  # whoever compares with validation questions reads letters in the same way
        assert cleaned([pair("in", question)], validation=[test])[1] == [
            Dropped("in", "authored", "validation question")
        ]
        with pytest.raises(ValueError, match="authored/out: this validation prompt is also a training prompt"):
            check_disjoint([pair("in", question)], [pair("out", test)])


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
    assert cleaned(pairs, languages=["en"])[1] == [Dropped("zh", "authored", "language", "zh")]
    assert ids(cleaned(pairs, languages=["zh"])[0]) == ["zh"]
    assert cleaned(pairs) == (pairs, [])
    assert cleaned([pair(question="1?", a="2", b="3")], languages=["zh"])[1] == []  # no letters: no language
    # A long question does not hide the language of the response.
    question = "Translate this text into Chinese. " + "It is a fine day, and we go to the sea. " * 40
    translated = response(question=question, text="今天天气很好，我们去海边。" * 40)
    assert language_of(question) == "en" and ids(cleaned([translated], languages=["en"])[1]) == ["1"]


def test_a_repeat_goes_whichever_way_round_it_stands_and_contradictions_go_whole():
    pairs = [
        pair("first", a="one", b="two", label="A"),
        pair("again", question="q", a="One!", b="two", label="A"),
        pair("turned", a="two", b="one", label="B"),
        pair("other", a="one", b="three"),
        pair("asked", question="Another?", a="one", b="two"),
    ]
    kept, dropped = cleaned(pairs)
    assert ids(kept) == ["first", "other", "asked"]
    assert reasons(dropped) == {"again": "exact repeat", "turned": "exact repeat"}
    assert {drop.detail for drop in dropped} == {"first"}
    kept, dropped = cleaned([pair("1", label="A"), pair("2", label="B"), pair("3", label="A")])
    assert kept == [] and reasons(dropped) == dict.fromkeys("123", "label conflict")
    kept, dropped = cleaned([pair("1", label="tie"), pair("2", label="A")])  # a tie contradicts nobody
    assert (ids(kept), reasons(dropped)) == (["1"], {"2": "exact repeat"})


def test_near_repeats_go_and_other_responses_stay():
    words = " ".join(f"word{n}" for n in range(120))
    pairs = [
        pair("first", a=words, b="the first of two"),
        pair("near", a=words + " more", b="the first of two"),
        pair("far", a=" ".join(f"other{n}" for n in range(120)), b="the first of two"),
        pair("one other", a=words, b="the second of two"),
    ]
    kept, dropped = cleaned(pairs)
    assert ids(kept) == ["first", "far", "one other"]
    assert dropped == [Dropped("near", "authored", "near repeat", "authored/first")]


def test_the_cap_is_per_prompt_and_source_and_does_not_depend_on_order():
    asked = [(source, question) for source in "xy" for question in ("One?", "Two?")]
    pairs = [pair(f"{q}{n}", q, a=f"{source}{n}", benchmark=source) for source, q in asked for n in range(10)]
    kept, dropped = cleaned(pairs, max_per_prompt=3, seed=1)
    assert Counter((one.benchmark, one.question) for one in kept) == dict.fromkeys(asked, 3)
    assert set(reasons(dropped).values()) == {"over the cap per prompt"}
    again = cleaned(pairs[::-1], max_per_prompt=3, seed=1)[0]
    assert {(p.benchmark, p.item_id) for p in again} == {(p.benchmark, p.item_id) for p in kept}
    assert ids(cleaned(pairs, max_per_prompt=3, seed=2)[0]) != ids(kept)


CHANGEABLE = "Write a short scene from a play where a clever young fox talks to a very tired old bear about winter."
TWO_CHANGED = CHANGEABLE.replace("clever", "wicked").replace("tired", "hungry")
CHINESE = "请根据以下材料，用三句话说明为什么中午的天空是蓝色的，而傍晚的天空是红色的。"


def contaminated(question, test, turns=()):
    kept, dropped = cleaned([pair("1", question=question, turns=turns)], [("pandalm/7", test)])
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
    assert contaminated(question, test) == reason
    assert contaminated("And in the morning?", test, (Turn(question, "a", "b"),)) == reason


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
        response("accents", question=unicodedata.normalize("NFD", ACCENTED), text="Ils sont là."),
        response("held out", question="Held out?", text="It is."),
        response("earlier", text="So it was.", turns=(Turn("Held out?", "a", "a"),)),
        response("chinese", question="为什么?", text="因为空气。"),
        response("first", question="List.", text=long),
        response("near", question="List.", text=long + " end"),
    ]
    limits = {"min_chars": 2, "max_chars": 2000, "languages": ["en"]}
    kept, dropped = cleaned(responses, [("t", TEST_QUESTION), ("u", ACCENTED)], ["Held out?"], **limits)
    assert ids(kept) == ["kept", "other", "first"]
    assert reasons(dropped) == {
        "empty": "empty response",
        "short": "too short",
        "long": "too long",
        "again": "exact repeat",
        "test": "test question",
        "turn": "test question",
        "accents": "test question",
        "held out": "validation question",
        "earlier": "validation question",
        "chinese": "language",
        "near": "near repeat",
    }


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
    kept, dropped = cleaned(pairs, [("t", TEST_QUESTION)], ["What is it?"], max_per_prompt=2, max_chars=50)
    assert sorted(ids(kept) + ids(dropped)) == sorted(ids(pairs))
    assert not {normalise(p.question) for p in kept} & {normalise(TEST_QUESTION), "what is it", ""}


def test_no_prompt_stands_in_both_parts():
    """Not as a pair and as a single response either, nor as an earlier turn."""
    pairs = [pair(f"{q}-{n}", question=f"Question {q}?" + "!" * n) for q in range(300) for n in range(3)]
    split_by_prompt = functions_of("10_clean_preferences", validation_share=0.2, seed=3).split_by_prompt
    train, validation = split_by_prompt(pairs)
    assert sorted(ids(train) + ids(validation)) == sorted(ids(pairs))
    assert not {normalise(p.question) for p in train} & {normalise(p.question) for p in validation}
    assert len(validation) / len(pairs) == pytest.approx(0.2, abs=0.07)
    assert split_by_prompt(pairs[::-1])[1] == validation[::-1]
    other_seed = functions_of("10_clean_preferences", validation_share=0.2, seed=4)
    assert other_seed.split_by_prompt(pairs)[1] != validation
    others = [response(p.item_id, p.question) for p in pairs]
    others += [pair(f"later {p.item_id}", "And then?", turns=(Turn(p.question, "a", "b"),)) for p in pairs]
    told = split_by_prompt(others)[1]
    assert ids(told) == [*ids(validation), *(f"later {name}" for name in ids(validation))]


def test_the_split_table_does_not_depend_on_order():
    parts = {"train": [pair("2"), pair("1")], "validation": [pair("3", benchmark="a")]}
    split_table = functions_of("10_clean_preferences").split_table
    table = split_table(parts, "benchmark")
    assert table.values.tolist() == [["a", "3", "validation"], ["authored", "1", "train"], ["authored", "2", "train"]]
    assert table.equals(split_table({name: pairs[::-1] for name, pairs in parts.items()}, "benchmark"))


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
    kept, dropped = cleaned(pairs, tests)
    assert before & asked, "the corpus shares questions with the test sets: that is why it is cleaned"
    assert not {plain(p.question) for p in kept} & asked
    assert len(kept) + len(dropped) == len(pairs) and kept


def test_nothing_to_drop_and_nothing_to_audit_are_shown_as_such():
    """Cells of 10 and 11 that tabulate findings, where there is none."""
    names = ("10_clean_preferences", "11_audit_benchmarks")
    cells = [text for name in names for text, _ in code_of(project_root() / "notebooks" / f"{name}.ipynb")]
    dropped = next(text for text in cells if "pd.DataFrame(dropped" in text and "kept, dropped = clean(" in text)
    space = {
        "pd": pd,
        "clean": clean,
        "pairs": [pair()],
        "validation": [],
        "test_index": QuestionIndex([]),
        "limits": {},
    }
    exec(dropped, space | {"max_per_prompt": 1, "seed": 0})
    told = next(text for text in cells if "told = looks[" in text)
    items = pd.DataFrame({"set": [], "label": [], "prompt": []})
    space = {"pd": pd, "np": np, "stats": stats, "ndtr": ndtr, "loaded": {}, "items": items, "MIN_LABELS": 60}
    exec(told, space := space | {"escaped": escaped})
    assert space["told"].empty
