"""Kinds of tasks: the loaders of two sets made of them, what is counted, and the pictures."""

from collections import Counter
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest

from judgekit.bias.categories import (
    GROUPINGS,
    by_style,
    counted_items,
    crossed_rates,
    judged_items,
    numbers_of,
    rates_by_category,
    style_bias,
    subject,
)
from judgekit.bias.domains import shrunken_rates
from judgekit.bias.planted_domains import PlantedDomains
from judgekit.data import catalogue
from judgekit.data.benchmarks import labelled, load_benchmark, load_benchmark_with_report
from judgekit.data.sources import DataError, Row
from judgekit.judges import load_judge
from judgekit.records import PreferencePair, Verdict
from judgekit.scoring import primary_protocol, score
from judgekit.scoring.store import VerdictStore

matplotlib.use("Agg")

from judgekit.figures import plot_categories, plot_styles
from judgekit.figures.domains import split_evenly


def row(**values):
    return Row(values, "authored.json", 3)


# ---------------------------------------------------------------- RM-Bench


def rm_row(**changes):
    values = {
        "prompt": "Add one and one.",
        "chosen": ["2", "It is 2.", "**2**"],
        "rejected": ["3", "It is 3.", "**3**"],
    }
    return Row(values | changes, labelled.RM_BENCH["code"], 3)


def test_a_prompt_of_rm_bench_makes_nine_pairs():
    pairs = labelled.rm_bench([rm_row()])[0]
    assert Counter(pair.subset for pair in pairs) == {"code/easy": 3, "code/normal": 3, "code/hard": 3}
    assert len({pair.item_id for pair in pairs}) == 9 and len({pair.cluster_id for pair in pairs}) == 1
    right = {p.item_id: (p.response_a, p.response_b)[p.label == "B"] for p in pairs}
    wrong = {p.item_id: (p.response_a, p.response_b)[p.label == "A"] for p in pairs}
    assert right["code-3/markdown-concise"] == "**2**" and wrong["code-3/markdown-concise"] == "3"
    assert {p.item_id: p.subset for p in pairs}["code-3/markdown-concise"] == "code/easy"
    assert {p.item_id: p.subset for p in pairs}["code-3/concise-markdown"] == "code/hard"
    assert {p.label for i in range(9) for p in labelled.rm_bench([rm_row(prompt=str(i))])[0]} == {"A", "B"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"chosen": ["a", "b"]}, "'chosen' holds 2 texts, not 3"),
        ({"rejected": ["a", 1, "b"]}, "'rejected' is not a list"),
    ],
)
def test_a_bad_row_of_rm_bench_is_named(changes, words):
    with pytest.raises(DataError, match=f"code_filtered.json:3: field {words}"):
        labelled.rm_bench([rm_row(**changes)])


def test_difficulties_are_the_halves_of_the_authors_matrix():
    right = np.random.default_rng(0).normal(size=(50, 3))
    wrong = np.random.default_rng(1).normal(size=(50, 3))
    wins = (right[:, :, None] > wrong[:, None, :]).mean(0)
    theirs = {"hard": np.triu(wins, 1).sum() / 3, "normal": np.diag(wins).mean(), "easy": np.tril(wins, -1).sum() / 3}
    ours = {kind: [] for kind in labelled.DIFFICULTIES}
    for i in range(3):
        for j in range(3):
            ours[labelled.difficulty(i, j)].append(wins[i, j])
    assert {kind: float(np.mean(cells)) for kind, cells in ours.items()} == pytest.approx(theirs)


@pytest.mark.realdata
def test_golden_rm_bench():
    pairs, report = load_benchmark_with_report("rm_bench")
    prompts = Counter(pair.subset.partition("/")[0] for pair in pairs)
    assert prompts == {name: 9 * n for name, n in zip(labelled.RM_BENCH, (129, 228, 284, 157), strict=True)}
    assert report == {"items": 7182, "empty_responses": 0, "prompts": 796}
    assert 0.45 < np.mean([pair.label == "A" for pair in pairs]) < 0.55
    # The richer style is the longer one on average: that is what "easy" and "hard" are about.
    gap = {kind: [] for kind in labelled.DIFFICULTIES}
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
    pairs, _ = labelled.evalbiasbench(rows)
    assert {pair.subset for pair in pairs} == {"length_bias"}
    assert all((pair.response_a, pair.response_b)[pair.label == "B"] == "good" for pair in pairs)
    assert 8 < sum(pair.label == "A" for pair in pairs) < 32
    assert [pair.label for pair in pairs] == [pair.label for pair in labelled.evalbiasbench(rows)[0]]
    with pytest.raises(DataError, match="f:0: field 'label' is 0"):
        labelled.evalbiasbench([Row(rows[0].values | {"label": 0}, "f", 0)])


def test_a_file_that_is_not_grouped_is_refused(monkeypatch):
    monkeypatch.setattr(labelled, "read_document", lambda name: '{"a": 1}')
    with pytest.raises(DataError, match="f: expected groups of rows by bias"):
        labelled.read_grouped("f")


@pytest.mark.realdata
def test_golden_evalbiasbench():
    pairs, report = load_benchmark_with_report("evalbiasbench")
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
        asked = {pair.question for pair in load_benchmark(name)}
        assert asked <= set(places), name
    assert len(questions) == 8930, "a set was added or left out: make the split of notebook 10 again"


# ---------------------------------------------------------------- counting


def pair(number, label="A", **fields):
    fields = {"cluster_id": f"p{number // 2}", "subset": "code"} | fields
    return PreferencePair(str(number), "made", "Why?", "one two three", "one", label=label, **fields)


def said(number, ab, ba):
    known = [Verdict(str(number), "j", order, label) for order, label in (("ab", ab), ("ba", ba)) if label]
    return known


def test_counts_are_the_scores_own():
    pairs = [pair(n, "AB"[n % 2]) for n in range(12)]
    verdicts = [
        verdict
        for n, (ab, ba) in enumerate(zip("ABABABtABtAB", "AABBABtBAtBB", strict=True))
        for verdict in said(n, *(("tie" if x == "t" else x) for x in (ab, ba)))
    ]
    grouped = SimpleNamespace(sets=("judgebench",), category=lambda pair: "Some kind", crossed=False, title="")
    GROUPINGS["made"] = grouped
    try:
        items = counted_items(verdicts, pairs, "made")
    finally:
        del GROUPINGS["made"]
    scores = score(verdicts, pairs, "judgebench", n_boot=10)
    for metric in ("accuracy", "agreement", "consistency", "first_rate"):
        part = items[items["metric"] == metric]
        assert part["hits"].sum() / part["size"].sum() == pytest.approx(scores[metric].value), metric
    ties = items[items["metric"] == "tie_rate"]
    assert ties["hits"].sum() == 4 and ties["size"].sum() == 24
    assert set(items["category"]) == {"some_kind"}


def test_a_judge_of_one_order_has_no_metric_of_both():
    pairs = [pair(n) for n in range(4)]
    items = counted_items([verdict for n in range(4) for verdict in said(n, "A", None)], pairs, "autoj_scenario")
    assert set(items["metric"]) == {"accuracy", "tie_rate"}


def test_subjects_of_judgebench():
    names = ("gpt-4o/livebench-math", "gpt-4o/mmlu-pro-math", "claude-3.5-sonnet/livecodebench")
    assert [subject(pair(0, subset=name)) for name in names] == ["math", "knowledge", "coding"]


def test_an_unknown_grouping_is_named():
    with pytest.raises(KeyError, match=r"no grouping 'weather'; there are mtbench"):
        judged_items(["weather"], [], {}, None, {})


def test_judging_a_sample_by_kind():
    judge, store = load_judge("baseline/longer"), VerdictStore(":memory:")
    items = judged_items(["sample_natural"], [judge], {}, store, {judge.name: "longer"}, progress=False)
    categories, populations = rates_by_category(items, 50, 50)
    assert set(categories["judge"]) == {"longer"} and categories["category"].nunique() == 10
    accuracy = categories[categories["metric"] == "accuracy"].set_index("category")
    whole = score_of("sample_natural", judge, store)
    assert np.average(accuracy["raw"], weights=accuracy["n"]) == pytest.approx(whole)
    assert (populations["p_holm"] >= populations["p_value"]).all()
    numbers = numbers_of(categories, populations)
    assert numbers["domain.sample_natural.dates.longer.accuracy"].value == accuracy.loc["dates", "raw"]
    found = numbers["domain.sample_natural.dates.longer.accuracy_shrunken"]
    assert found.low < found.value < found.high
    assert numbers["domain.sample_natural.all.longer.mean"].low < whole
    assert "domain.sample_natural.all.longer.consistency_spread" in numbers


def score_of(name, judge, store):
    from judgekit.scoring import run_judge

    pairs = catalogue.load_set(name)
    return score(run_judge(judge, pairs, store, progress=False), pairs, name, n_boot=10)["accuracy"].value


def styled(rate_of):
    """Items of RM-Bench's domains with given hits by domain and difficulty; 30 prompts of chat, 10 of the others."""
    rows = []
    for domain in labelled.RM_BENCH:
        for n in range(30 if domain == "chat" else 10):
            for kind in labelled.DIFFICULTIES:
                hits = float(n % 10 < 10 * rate_of(domain, kind))
                rows.append(("j", "accuracy", f"{domain}_{kind}", f"{domain}{n}", hits, 1.0))
    return pd.DataFrame(rows, columns=["judge", "metric", "category", "cluster", "hits", "size"])


def test_styles_are_averaged_over_domains_as_the_authors_do():
    rates = {"chat": 0.9, "code": 0.6, "safety_refuse": 0.2, "safety_response": 0.4}
    parts = by_style(styled(lambda domain, kind: rates[domain] - (0.2 if kind == "hard" else 0)))
    assert list(parts) == ["all", *sorted(rates)]
    found = crossed_rates(parts["all"].assign(set="rm_bench_style"), 200).set_index("category")
    assert found.loc["easy", "value"] == pytest.approx((0.9 + 0.6 + (0.2 + 0.4) / 2) / 3)
    assert found.loc["hard", "value"] == pytest.approx((0.7 + 0.4 + (0.0 + 0.2) / 2) / 3)
    bias = style_bias(parts["all"], 200)
    assert bias.value == pytest.approx(0.2) and bias.low < 0.2 < bias.high
    assert style_bias(parts["code"], 200).value == pytest.approx(0.2)


def test_the_new_sets_have_protocols():
    assert primary_protocol("rm_bench").rule == primary_protocol("evalbiasbench").rule == "mean_of_orders"
    assert not primary_protocol("rm_bench").forced, "the set's authors count equal scores as wrong"


# ---------------------------------------------------------------- pictures


def test_the_pictures_show_every_category_and_judge():
    found = shrunken_rates(PlantedDomains(categories=5).draw(0)[0], 10).table
    table = pd.concat([found.assign(judge=judge, panel=p) for judge in ("minilm", "features") for p in ("One", "Two")])
    axes = plot_categories(table)
    assert [ax.get_title(loc="left") for ax in axes] == ["One", "Two"]
    for ax in axes:
        assert len(ax.get_yticklabels()) == 5 and len(ax.lines) >= 4
        order = [label.get_text() for label in ax.get_yticklabels()]
        means = found.set_index("category")["value"]
        assert order == sorted(order, key=lambda name: means[name])
    rows = [
        (p, j, k, 0.5, 0.4, 0.6) for p in ("all", "chat") for j in ("minilm", "longer") for k in labelled.DIFFICULTIES
    ]
    axes = plot_styles(pd.DataFrame(rows, columns=["panel", "judge", "category", "value", "low", "high"]))
    assert [ax.get_title(loc="left") for ax in axes] == ["all", "chat"]
    matplotlib.pyplot.close("all")


def test_panels_fill_columns_evenly():
    heights = dict(zip("abcd", (8, 8, 5, 9), strict=True))
    assert split_evenly(list("abcd"), heights, 2) == [["a", "b"], ["c", "d"]]
    assert split_evenly(list("ab"), {"a": 9, "b": 1}, 2) == [["a"], ["b"]]
    assert split_evenly(["a"], {"a": 9}, 2) == [["a"]]
