"""judgekit.records: what a pair and a verdict may hold, and what exchanging the sides means."""

import hashlib
import json
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgekit.data.sample import SAMPLE_SETS, load_sample
from judgekit.records import LABELS, PreferencePair, Response, Turn, Verdict, majority_label, unique_items, with_counts

STEADY = settings(deadline=None)
TEXT = st.text(max_size=20)
LABEL = st.sampled_from(LABELS)
PAIRS = st.builds(
    PreferencePair,
    item_id=st.text(min_size=1, max_size=5),
    benchmark=st.just("authored"),
    question=TEXT,
    response_a=TEXT,
    response_b=TEXT,
    turns=st.lists(st.builds(Turn, TEXT, TEXT, TEXT), max_size=2).map(tuple),
    model_a=st.none() | TEXT,
    model_b=st.none() | TEXT,
    label=st.none() | LABEL,
    votes=st.dictionaries(TEXT, LABEL, max_size=3),
    soft_label=st.none() | st.sampled_from([0.0, 0.25, 0.5, 1.0]),
)


def pair(**fields):
    given = {"item_id": "1", "benchmark": "authored", "question": "Q?", "response_a": "a", "response_b": "b"}
    return PreferencePair(**given | fields)


@STEADY
@given(PAIRS)
def test_swapping_exchanges_every_side_and_twice_changes_nothing(one):
    other = one.swapped()
    assert other.swapped() == one
    assert (other.response_a, other.response_b) == (one.response_b, one.response_a)
    assert (other.model_a, other.model_b) == (one.model_b, one.model_a)
    mirror = {"A": "B", "B": "A", "tie": "tie", None: None}
    assert other.label == mirror[one.label]
    assert other.votes == {name: mirror[label] for name, label in one.votes.items()}
    assert [(t.question, t.response_a, t.response_b) for t in other.turns] == [
        (t.question, t.response_b, t.response_a) for t in one.turns
    ]
    assert one.soft_label is None or other.soft_label == 1 - one.soft_label
    assert (other.item_id, other.question) == (one.item_id, one.question)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"item_id": ""}, "item_id"),
        ({"label": "C"}, "'C'"),
        ({"votes": {"ann": "both"}}, "'both'"),
        ({"soft_label": 1.5}, "soft_label"),
        ({"label_kind": "hearsay"}, "hearsay"),
        *(({name: 3}, f"{name} is int") for name in ("question", "response_a", "response_b", "subset", "cluster_id")),
    ],
)
def test_bad_values_are_refused_by_name(fields, words):
    with pytest.raises((ValueError, TypeError), match=words):
        pair(**fields)


@pytest.mark.parametrize(
    ("order", "verdict", "status"),
    [("ab", "A", "error"), ("ab", None, "ok"), ("ab", "first", "ok"), ("ab", "A", "fine"), ("AB", "A", "ok")],
)
def test_a_verdict_goes_with_status_ok_only_and_has_one_of_two_orders(order, verdict, status):
    with pytest.raises(ValueError):
        Verdict("1", "baseline/longer", order, verdict, status=status)


@pytest.mark.parametrize(
    ("votes", "label"),
    [("A", "A"), ("AAB", "A"), ("AB", None), ("AABB", None), ("AABBt", None), ("Att", "tie"), ("", None)],
)
def test_majority_is_a_plurality_without_equals(votes, label):
    assert majority_label({str(n): "tie" if vote == "t" else vote for n, vote in enumerate(votes)}) == label


def test_a_repeated_item_is_refused_with_both_rows():
    pairs = [pair(source="one"), pair(item_id="2"), pair(source="two")]
    with pytest.raises(ValueError, match=r"\(two\).*\(one\)"):
        unique_items(pairs)
    assert unique_items(iter(pairs[:2])) == pairs[:2]


def test_every_set_reports_its_items_and_empty_responses():
    items = [pair(response_b=" "), pair(item_id="2"), pair(item_id="3", response_a="", response_b="")]
    assert with_counts(iter(items), {"skipped": 4}) == (items, {"items": 3, "empty_responses": 2, "skipped": 4})
    single = [Response("1", "Q?", "\n"), Response("2", "Q?", "a")]
    assert with_counts(single, {})[1] == {"items": 2, "empty_responses": 1}
    with pytest.raises(ValueError, match="also stands"):
        with_counts([*items, items[0]], {})


def test_an_item_without_a_prompt_is_a_cluster_of_its_own():
    assert [pair().cluster, pair(cluster_id="q").cluster] == ["1", "q"]


# ---------------------------------------------------------------- the authored sample


GOLDEN = "8d0a21e740c333a0039b5a3399a0cc674d5cf5c0aaafaf15e7a4a17fb1dcc7a6"


def test_golden():
    pairs = [asdict(pair) for name in SAMPLE_SETS for pair in load_sample(name)]
    rows = json.dumps(pairs, sort_keys=True)
    assert hashlib.sha256(rows.encode()).hexdigest() == GOLDEN


def test_unknown_set_is_named():
    with pytest.raises(ValueError, match="sample_tets"):
        load_sample("sample_tets")
