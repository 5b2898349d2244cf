"""Judges as raters of a set that nobody labelled, the set itself, and that no score is made of either."""

from collections import Counter
from functools import cache

import pytest

from judgekit.data import paths
from judgekit.data.benchmarks import BENCHMARKS, UNLABELLED, mtbench, outputs
from judgekit.data.catalogue import load_set, set_hashes
from judgekit.data.sources import DataError
from judgekit.data.sources.rows import Row, read_rows
from judgekit.judges import load_judge
from judgekit.judges.names import slug, unique_slugs
from judgekit.judges.replay import replays_on
from judgekit.records import Turn
from judgekit.report import save_results
from judgekit.scoring import Protocol, compare, hold_contest, score
from judgekit.scoring.comparison import sources_of
from judgekit.scoring.protocols import joined_verdict
from judgekit.scoring.running import run_judge
from judgekit.scoring.store import VerdictStore
from judgekit.stats import Number

QUICK = {"n_boot": 50}
SIX = [f"{name}-repro" for name in "gpt-4o-mini exaone-32b gemma-4-12b qwen2.5-7b qwen2.5-14b qwen2.5-32b".split()]


def rows_of(*records, file="authored.jsonl"):
    return [Row(record, file, number) for number, record in enumerate(records)]


@cache
def repro():
    return load_set("mtbench_repro"), {slug(name): outputs.published_verdicts(name) for name in SIX}


def test_every_two_models_meet_on_every_question():
    question = {"question_id": 81, "category": "writing", "turns": ["Count.", "Go on."]}
    answers = {model: {81: (model, model.upper())} for model in ("zed", "Ada", "bob")}
    pairs, report = mtbench.repro_pairs(rows_of(question), answers)
    assert [pair.item_id for pair in pairs] == ["81:Ada:zed", "81:bob:zed", "81:Ada:bob"] and report == {}
    first = pairs[0]
    assert (first.response_a, first.response_b, first.question) == ("ADA", "ZED", "Go on.")
    assert first.turns == (Turn("Count.", "Ada", "zed"),) and first.cluster_id == "81"
    assert all(pair.label is None and not pair.votes and not pair.label_kind for pair in pairs)


def judgment(**changes):
    row = {"question_id": 81, "model_a": "Ada", "model_b": "bob", "winner_ab": "A", "winner_ba": "A"}
    return row | {"judgment_ab": "[[A]]", "judgment_ba": "[[A]]"} | changes


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, {"ab": "A", "ba": "B"}),  # the position won twice: each of the two models once
        ({"winner_ba": "B"}, {"ab": "A", "ba": "A"}),
        ({"winner_ab": "tie"}, {"ab": "tie", "ba": "B"}),
        # The file calls the item's B its model_a: what it shows in "ab" is the item's exchanged order.
        ({"model_a": "bob", "model_b": "Ada"}, {"ba": "B", "ab": "A"}),
        ({"model_a": "bob", "model_b": "Ada", "winner_ab": "B", "winner_ba": "tie"}, {"ba": "A", "ab": "tie"}),
    ],
)
def test_positions_become_the_items_own_sides(changes, told):
    verdicts = list(outputs.repro_row(rows_of(judgment(**changes))[0], "replay/x-repro"))
    assert {verdict.order: verdict.verdict for verdict in verdicts} == told
    assert {verdict.item_id for verdict in verdicts} == {"81:Ada:bob"}


def test_an_error_is_no_verdict():
    row = judgment(winner_ab="error", judgment_ab="I cannot say", winner_ba="error", judgment_ba=" ")
    ab, ba = outputs.repro_row(rows_of(row)[0], "replay/x-repro")
    assert (ab.verdict, ab.status, ba.verdict, ba.status) == (None, "unparsed", None, "error")
    with pytest.raises(DataError, match=r"authored.jsonl:0: field 'winner_ab' is 'C'"):
        list(outputs.repro_row(rows_of(judgment(winner_ab="C"))[0], "replay/x-repro"))


@pytest.mark.realdata
def test_the_set_is_complete():
    pairs, judges = repro()
    assert len(pairs) == 1200 and len({pair.cluster_id for pair in pairs}) == 80
    assert len({(pair.model_a, pair.model_b) for pair in pairs}) == 15
    assert all(pair.label is None and pair.response_a.strip() and pair.response_b.strip() for pair in pairs)
    assert not {pair.item_id for pair in pairs} & {pair.item_id for pair in load_set("mtbench")}
    assert replays_on("mtbench_repro") == [f"replay/{name}" for name in SIX]
    assert len(set_hashes(["mtbench_repro"])) == 7 and len(sources_of([], ["replay/gpt-4o-mini-repro"])) == 15
    cells = {(pair.item_id, order) for pair in pairs for order in ("ab", "ba")}
    for name, verdicts in judges.items():
        assert Counter((verdict.item_id, verdict.order) for verdict in verdicts) == Counter(cells), name
    lacking = {name: Counter(v.status for v in said if v.status != "ok") for name, said in judges.items()}
    assert {name: dict(found) for name, found in lacking.items() if found} == {
        "gpt_4o_mini_repro": {"error": 13},
        "gemma_4_12b_repro": {"unparsed": 20},
        "qwen2_5_32b_repro": {"unparsed": 2},
    }


@pytest.mark.realdata
@pytest.mark.parametrize("model", SIX)
def test_joined_verdicts_are_the_winners_that_the_files_name(model):
    pairs, judges = repro()
    given = {(verdict.item_id, verdict.order): verdict.verdict for verdict in judges[slug(model)]}
    ours = {p.item_id: joined_verdict(given[p.item_id, "ab"], given[p.item_id, "ba"], "any") for p in pairs}
    for file in outputs.PUBLISHED[model].files:
        for row in read_rows(file):
            sides = mtbench.sides_of(row.text("model_a"), row.text("model_b"))
            named = dict(zip(sides, "AB", strict=True)) | {"tie": "tie", "inconsistent": "tie", "error": None}
            assert ours[f"{row.whole('question_id')}:{sides[0]}:{sides[1]}"] == named[row.text("winner")]


def test_the_set_is_no_benchmark():
    assert not set(UNLABELLED) & set(BENCHMARKS)
    for name in UNLABELLED:
        with pytest.raises(KeyError, match="no protocol for the set"):
            score([], [], name)


def test_no_key_may_call_it_a_score_and_others_of_it_may_be_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "project_root", lambda: tmp_path)
    for key in (
        "scores.mtbench_repro.gpt_4o_mini_repro.accuracy",
        "scores.mtbench_repro.minilm.accuracy",
        "scores.mtbench.gpt_4o_mini_repro.accuracy",
        "compare.mtbench.minilm_vs_gemma_4_12b_repro.p_value",
        "compare.mtbench.gemma_4_12b_repro_vs_minilm.p_value",
        "compare.mtbench_repro.minilm_vs_longer.difference",
    ):
        with pytest.raises(ValueError, match="nothing of it is a score"):
            save_results("laptop", "31_compare_judges", {key: Number(0.5)})
    assert not list(tmp_path.rglob("*.json"))
    keys = ("agreement.mtbench_repro.a_repro_vs_b_repro.kappa", "scores.mtbench.gpt_4_pair.accuracy")
    assert save_results("laptop", "33_measure_agreement", dict.fromkeys(keys, Number(0.5))).is_file()


def test_no_other_name_hides_what_it_is():
    with pytest.raises(ValueError, match="keep '_repro'"):
        unique_slugs(["replay/gpt-4o-mini-repro"], {"replay/gpt-4o-mini-repro": "gpt_4o_mini"})
    assert unique_slugs(["replay/x-repro"], {"replay/x-repro": "y_repro"}) == {"replay/x-repro": "y_repro"}


@pytest.mark.realdata
def test_its_judges_cannot_be_scored_on_the_labelled_set_nor_on_its_own_under_a_borrowed_protocol():
    judge, pairs, store = load_judge("replay/gpt-4o-mini-repro"), load_set("mtbench")[:50], VerdictStore(":memory:")
    verdicts = run_judge(judge, pairs, store, progress=False)
    with pytest.raises(ValueError, match="not one reply on these items"):
        score(verdicts, pairs, "mtbench", **QUICK)
    others = run_judge(load_judge("baseline/longer"), pairs, store, progress=False)
    with pytest.raises(ValueError, match="not one reply on these items"):
        compare(others, verdicts, pairs, "mtbench", **QUICK)
    with pytest.raises(ValueError, match="has no verdict in 100 of 100 cases"):
        hold_contest("mtbench", pairs, {"gpt_4o_mini_repro": judge}, store)
    pairs, judges = repro()
    with pytest.raises(ValueError, match="no item has a reference label"):
        score(judges["gpt_4o_mini_repro"], pairs, "mtbench", Protocol("borrowed"), **QUICK)
