"""judgekit.judges.surface: features of any text."""

import hashlib
import json
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgekit.judges.surface import FEATURES, PAIR_FEATURES, pair_features, surface_features

STEADY = settings(deadline=None)
TEXT = st.text(max_size=200) | st.text(alphabet="ab .!?\n\t-*#1|`(", max_size=200)
HOSTILE = 50_000  # characters, or repeats, of the texts that would stop a careless pattern


def features_of(response, question="Name two colours of the rainbow."):
    return dict(zip(FEATURES, surface_features(question, response).tolist(), strict=True))


def pair_of(question, a, b):
    return pair_features(a, b, surface_features(question, a), surface_features(question, b))


@STEADY
@given(TEXT, TEXT)
def test_features_are_finite_for_any_text_and_shares_between_zero_and_one(question, response):
    values = surface_features(question, response)
    assert values.shape == (len(FEATURES),) and np.isfinite(values).all()
    for name, value in features_of(response, question).items():
        if name.endswith(("_share", "_covered", "_ratio")) and not name.startswith(("root", "log")):
            assert 0 <= value <= 1, name


@STEADY
@given(TEXT, TEXT, TEXT)
def test_pair_features_do_not_know_which_is_first(question, a, b):
    assert (pair_of(question, a, b) == pair_of(question, b, a)).all()


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("1. red\n2. blue", {"log_numbered": np.log1p(2), "log_lines": np.log1p(2), "ends_finished": 0}),
        ("- red\n- blue.", {"log_bullets": np.log1p(2), "ends_finished": 1}),
        ("# Title\n\n**red** and **blue**", {"log_headings": np.log1p(1), "log_bold": np.log1p(2)}),
        ("```\nx\n```", {"log_code_fences": np.log1p(2)}),
        ("I'm sorry, I can't say.", {"refuses": 1, "first_person_share": 0.2}),  # "i'm" is a word of its own
        ("Sure! Red.", {"opens_politely": 1, "log_exclamations": np.log1p(1), "log_sentences": np.log1p(2)}),
        ("", {"is_empty": 1, "log_chars": 0, "compressibility": 1, "type_token_ratio": 0, "log_sentences": 0}),
        (" \n\t", {"is_empty": 1, "log_words": 0}),
        ("red red red red", {"type_token_ratio": 0.25, "distinct_bigrams": 1 / 3, "distinct_trigrams": 0.5}),
        ("same\nsame\nother", {"top_line_share": 2 / 3}),
        ("AB12", {"upper_share": 0.5, "digit_share": 0.5}),
        ("two colours rainbow name", {"question_covered": 1, "copied_from_question": 1}),
        ("Name two colours of the rainbow. Red.", {"repeats_question": 1}),
        ("See https://a.b and www.c.d", {"log_links": np.log1p(2)}),
    ],
)
def test_features_by_hand(response, expected):
    found = features_of(response)
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_pair_features_by_hand():
    values = dict(zip(PAIR_FEATURES, pair_of("Q?", "red blue", "blue green teal").tolist(), strict=True))
    expected = {"word_jaccard": 1 / 4, "word_containment": 1 / 2, "identical": 0}
    expected |= {"log_length_gap": np.log(4 / 3), "log_shorter_words": np.log(3)}
    assert {name: values[name] for name in expected} == pytest.approx(expected)
    assert pair_of("Q?", "red", " red\n")[PAIR_FEATURES.index("identical")] == 1
    assert pair_of("Q?", "", "")[PAIR_FEATURES.index("word_jaccard")] == 1


REPEATED = [".", "?!", " ", "\n ", "*", "**a", "a'", "1.", "1", "#", "\t- ", "i ", "(", "\ud800"]


@pytest.mark.parametrize(("start", "part"), [*(("", part) for part in REPEATED), ("\n", " "), ("**", "a")])
@pytest.mark.parametrize("end", ["", "x"])
def test_no_text_takes_more_than_linear_time(start, part, end):
    text = start + part * HOSTILE + end
    started = time.process_time()
    surface_features(text, text)
    assert time.process_time() - started < 2


def test_features_are_what_stored_verdicts_were_made_from():
    """Changed on purpose? Raise the number in the fingerprints of the judges that use them, then the hash here."""
    texts = ["", "Paris.", "1. One\n2. Two\n\n**Bold** (see https://x.org)!", "I'm sorry, as an AI I can't."]
    texts.append("光合作用。" * 9)
    rows = [surface_features("Name 2 capitals of Europe?", text) for text in texts]
    known = list(zip(texts, rows, strict=True))
    pairs = [pair_features(a, b, x, y) for a, x in known for b, y in known]
    rounded = [np.round(row, 6).tolist() for row in (*rows, *pairs)]
    digest = hashlib.sha256(json.dumps(rounded).encode()).hexdigest()
    assert digest == "a824a9d350b8521417f36c8fd20e8f635941a71efab688f8d7d1562e99107acd"
