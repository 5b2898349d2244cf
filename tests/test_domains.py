"""Kinds of tasks: the loaders of two sets made of them, and what is counted."""

from collections import Counter

import numpy as np
import pytest
from notebook_functions import functions_of

from judgekit.data import benchmarks, catalogue
from judgekit.data.benchmarks import BENCHMARKS
from judgekit.data.catalogue import load_set, load_set_with_report
from judgekit.data.sources import DataError, Row, rows
from judgekit.records import PreferencePair, Verdict
from judgekit.scoring import primary_protocol, score

NOTEBOOK = functions_of("44_domains")


def row(**values):
    return Row(values, "authored.json", 3)


# ---------------------------------------------------------------- RM-Bench


def rm_row(**changes):
    values = {
        "prompt": "Add one and one.",
        "chosen": ["2", "It is 2.", "**2**"],
        "rejected": ["3", "It is 3.", "**3**"],
    }
    return Row(values | changes, benchmarks.RM_BENCH["code"], 3)


def test_a_prompt_of_rm_bench_makes_nine_pairs():
    pairs = BENCHMARKS["rm_bench"].build([rm_row()])[0]
    assert Counter(pair.subset for pair in pairs) == {"code/easy": 3, "code/normal": 3, "code/hard": 3}
    assert len({pair.item_id for pair in pairs}) == 9 and len({pair.cluster_id for pair in pairs}) == 1
    right = {p.item_id: (p.response_a, p.response_b)[p.label == "B"] for p in pairs}
    wrong = {p.item_id: (p.response_a, p.response_b)[p.label == "A"] for p in pairs}
    assert right["code-3/markdown-concise"] == "**2**" and wrong["code-3/markdown-concise"] == "3"
    assert {p.item_id: p.subset for p in pairs}["code-3/markdown-concise"] == "code/easy"
    assert {p.item_id: p.subset for p in pairs}["code-3/concise-markdown"] == "code/hard"
    assert {p.label for i in range(9) for p in BENCHMARKS["rm_bench"].build([rm_row(prompt=str(i))])[0]} == {"A", "B"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"chosen": ["a", "b"]}, "'chosen' holds 2 texts, not 3"),
        ({"rejected": ["a", 1, "b"]}, "'rejected' is not a list"),
    ],
)
def test_a_bad_row_of_rm_bench_is_named(changes, words):
    with pytest.raises(DataError, match=f"code_filtered.json:3: field {words}"):
        BENCHMARKS["rm_bench"].build([rm_row(**changes)])


def test_difficulties_are_the_halves_of_the_authors_matrix():
    right = np.random.default_rng(0).normal(size=(50, 3))
    wrong = np.random.default_rng(1).normal(size=(50, 3))
    wins = (right[:, :, None] > wrong[:, None, :]).mean(0)
    theirs = {"hard": np.triu(wins, 1).sum() / 3, "normal": np.diag(wins).mean(), "easy": np.tril(wins, -1).sum() / 3}
    ours = {kind: [] for kind in benchmarks.DIFFICULTIES}
    for i in range(3):
        for j in range(3):
            ours[benchmarks.difficulty(i, j)].append(wins[i, j])
    assert {kind: float(np.mean(cells)) for kind, cells in ours.items()} == pytest.approx(theirs)


@pytest.mark.realdata
def test_golden_rm_bench():
    pairs, report = load_set_with_report("rm_bench")
    prompts = Counter(pair.subset.partition("/")[0] for pair in pairs)
    assert prompts == {name: 9 * n for name, n in zip(benchmarks.RM_BENCH, (129, 228, 284, 157), strict=True)}
    assert report == {"items": 7182, "empty_responses": 0}
    assert 0.45 < np.mean([pair.label == "A" for pair in pairs]) < 0.55
    # The richer style is the longer one on average: that is what "easy" and "hard" are about.
    gap = {kind: [] for kind in benchmarks.DIFFICULTIES}
    for pair in pairs:
        right = pair if pair.label == "A" else pair.swapped()
        gap[pair.subset.partition("/")[2]].append(len(right.response_a) - len(right.response_b))
    assert np.mean(gap["easy"]) > 300 > -300 > np.mean(gap["hard"])


# ---------------------------------------------------------------- EvalBiasBench


def test_the_good_response_of_evalbiasbench_stands_on_either_side():
    rows = [
        Row(
            {"bias": "length bias", "instruction": f"{n}?", "response1": "good", "response2": "bad", "label": 1}, "f", n
        )
        for n in range(40)
    ]
    pairs, _ = BENCHMARKS["evalbiasbench"].build(rows)
    assert {pair.subset for pair in pairs} == {"length_bias"}
    assert all((pair.response_a, pair.response_b)[pair.label == "B"] == "good" for pair in pairs)
    assert 8 < sum(pair.label == "A" for pair in pairs) < 32
    assert [pair.label for pair in pairs] == [pair.label for pair in BENCHMARKS["evalbiasbench"].build(rows)[0]]
    with pytest.raises(DataError, match="f:0: field 'label' is 0"):
        BENCHMARKS["evalbiasbench"].build([Row(rows[0].values | {"label": 0}, "f", 0)])


def test_a_file_that_is_not_grouped_is_refused(monkeypatch):
    monkeypatch.setattr(rows, "read_document", lambda source: '{"a": 1}')
    with pytest.raises(DataError, match=r"biasbench\.json:0: the row is int"):
        BENCHMARKS["evalbiasbench"].load()


@pytest.mark.realdata
def test_golden_evalbiasbench():
    pairs, report = load_set_with_report("evalbiasbench")
    assert report == {"items": 80, "empty_responses": 0}
    assert sorted(Counter(pair.subset for pair in pairs).values()) == [12, 12, 12, 13, 14, 17]
    assert len({pair.cluster_id for pair in pairs}) == 79


# ---------------------------------------------------------------- what is protected


@pytest.mark.realdata
def test_scoring_a_protected_set_changes_nothing_that_training_is_cleaned_by():
    questions = catalogue.questions_of_tests()
    places = {text: where for where, text in reversed(questions)}  # the first place of a question is the one recorded
    assert not [where for where, _ in questions if where.startswith(("rm_bench/chat-", "evalbiasbench/0"))]
    for name in catalogue.LONG_PROTECTED:
        asked = {pair.question for pair in load_set(name)}
        assert asked <= set(places), name
    assert len(questions) == 8930, "a set was added or left out: make the split of notebook 10 again"


# ---------------------------------------------------------------- counting


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
