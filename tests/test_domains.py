"""Kinds of tasks: what is counted of a set by its kinds."""

import pytest
from notebook_functions import functions_of

from judgekit.records import PreferencePair, Verdict
from judgekit.scoring import primary_protocol, score

NOTEBOOK = functions_of("44_domains")


def pair(number, label="A", **fields):
    fields = {"cluster_id": f"p{number // 2}", "subset": "code"} | fields
    return PreferencePair(str(number), "made", "Why?", "one two three", "one", label=label, **fields)


def verdicts_of(number, ab, ba):
    return [Verdict(str(number), "j", order, label) for order, label in (("ab", ab), ("ba", ba)) if label]


def test_counts_are_the_scores_own(monkeypatch):
    pairs = [pair(n, "AB"[n % 2]) for n in range(12)]
    verdicts = [
        verdict
        for n, (ab, ba) in enumerate(zip("ABABABtABtAB", "AABBABtBAtBB", strict=True))
        for verdict in verdicts_of(n, *(("tie" if x == "t" else x) for x in (ab, ba)))
    ]
    monkeypatch.setitem(NOTEBOOK.GROUPINGS, "made", (["judgebench"], lambda pair: "Some kind", "", False))
    items = NOTEBOOK.counted_items([*verdicts, *verdicts_of(99, "A", "A")], pairs, "made")  # one is on no pair of these
    accuracy = score(verdicts, pairs, "judgebench", n_boot=10)["accuracy"]
    assert items["hits"].sum() / items["size"].sum() == pytest.approx(accuracy.value)
    assert len(items) == accuracy.n and set(items["category"]) == {"some_kind"}


def test_subjects_of_judgebench():
    names = ("gpt-4o/livebench-math", "gpt-4o/mmlu-pro-math", "claude-3.5-sonnet/livecodebench")
    kind = NOTEBOOK.GROUPINGS["judgebench"][1]
    assert [kind(pair(0, subset=name)) for name in names] == ["math", "knowledge", "coding"]


def test_the_new_sets_have_protocols():
    assert primary_protocol("rm_bench").rule == primary_protocol("evalbiasbench").rule == "mean_of_orders"
    assert not primary_protocol("rm_bench").forced, "the set's authors count equal scores as wrong"
