"""judgekit.studies.compare_judges: published figures come out again; judges are compared on the items they share."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from notebook_functions import functions_of

from judgekit.data.benchmarks.outputs import published_on, published_verdicts
from judgekit.data.catalogue import load_set
from judgekit.judges import load_judge
from judgekit.judges.names import slug, unique_slugs
from judgekit.judges.replay import replays_on
from judgekit.scoring import hold_contest
from judgekit.scoring.comparison import contest_scores, restricted, sources_of, with_constant
from judgekit.scoring.store import VerdictStore
from judgekit.studies.compare_judges import figure_table, published_beside

QUICK = {"n_boot": 100}
RULES = ("longer", "shorter", "random")
OWN = functions_of("31_compare_judges", **QUICK)


def contest_of(name, names, slugs=None, pairs=None):
    judges = {slug: load_judge(judge) for judge, slug in unique_slugs(names, slugs).items()}
    return hold_contest(name, pairs or load_set(name), judges, VerdictStore(":memory:"))


@cache
def sample():
    return contest_of("sample_adversarial", [f"baseline/{rule}" for rule in RULES])


@cache
def pandalm():
    names = [f"replay/{model}" for model in published_on("pandalm")]
    return contest_of("pandalm", [*names, "baseline/longer"], {"replay/gpt-3.5-turbo": "gpt_3_5"})


def test_a_judge_that_lacks_items_is_refused():
    class Mute:
        name, fingerprint, decoding, batch_size, sees_item = "replay/mute", "x", "{}", 8, False

        def judge(self, requests):
            raise RuntimeError("no reply")

    with pytest.raises(ValueError, match="mute has no verdict in 4 of 4 cases"):
        hold_contest("pandalm", load_set("sample_natural")[:2], {"mute": Mute()}, VerdictStore(":memory:"))


def test_a_part_holds_the_items_that_all_have_judged():
    contest = sample()
    some = [replace(verdict, judge="replay/other") for verdict in contest.verdicts["longer"][:20]]
    part = restricted(contest, "part", {"other": some})
    assert len(part.pairs) == 10 and part.benchmark == "sample_adversarial"
    assert set(part.verdicts) == {*RULES, "other"}
    assert all(len(said) == 20 for said in part.verdicts.values())


def test_differences_are_those_of_the_scores():
    contest = sample()
    accuracy = contest_scores(contest, **QUICK).query("metric == 'accuracy'").set_index("judge")["number"]
    against = OWN.differences(contest, [("longer", "shorter"), ("longer", "random")])
    assert list(against["judge_b"]) == ["shorter", "random"] and set(against["judge_a"]) == {"longer"}
    for row in against.itertuples():
        assert row.difference.value == pytest.approx(accuracy["longer"].value - accuracy[row.judge_b].value)
        assert row.p_holm >= row.p_value


def test_the_constant_judge_is_told_the_most_frequent_label_of_each_contest():
    contest = with_constant(sample())
    labels = [pair.label for pair in contest.pairs]
    assert {verdict.verdict for verdict in contest.verdicts["majority_class"]} == {max("AB", key=labels.count)}
    assert "majority_class" not in sample().verdicts, "a contest is not changed"
    rare = min("AB", key=labels.count)
    some = [pair.item_id for pair in contest.pairs if pair.label == rare][:8]
    other = {"other": [verdict for verdict in contest.verdicts["longer"] if verdict.item_id in some]}
    part = with_constant(restricted(contest, "part", other))
    assert {verdict.verdict for verdict in part.verdicts["majority_class"]} == {rare}
    accuracy = contest_scores(part, **QUICK).query("metric == 'accuracy'").set_index("judge")["number"]
    assert accuracy["majority_class"].value == 1


@pytest.mark.realdata
def test_arena_judges_are_scored_with_their_probabilities():
    names = replays_on("chatbot_arena")
    contest = contest_of("chatbot_arena", [*names, "baseline/random"])
    table = contest_scores(contest, **QUICK).set_index(["judge", "metric"])["number"]
    right = [round(table[slug(name), "accuracy"].value * 500) for name in names]
    assert right == [392, 378, 375]
    labels = {pair.item_id: pair.label for pair in contest.pairs}
    for name in names:
        said = contest.verdicts[slug(name)]
        given = np.array([v.p_a if labels[v.item_id] == "A" else v.p_b for v in said])
        assert table[slug(name), "nll"].value == pytest.approx(-np.log(np.maximum(given, 1e-12)).mean(), rel=1e-3)
        assert table[slug(name), "brier"].value == pytest.approx(2 * ((1 - given) ** 2).mean(), rel=1e-3)
        assert table[slug(name), "ece"].low is None
        assert (slug(name), "consistency") not in table.index, "they were shown in one order"
    assert table["random", "nll"].value == pytest.approx(np.log(2))
    assert set(sources_of([], names[:1])) == {"chatbot_arena_calibration/gpt-4-turbo.calibration.jsonl"}


@pytest.mark.realdata
def test_figures_with_the_same_verdicts_and_rule_come_out_to_the_last_digit():
    beside = published_beside({"pandalm": pandalm()}, **QUICK)
    same = beside[beside["table"].isin(["pandalm_readme", "judgelrm_table3"]) & beside["same_rule"].notna()]
    assert len(same) == 12
    assert same["points"].map(lambda number: abs(number.value)).max() <= 0.005


@pytest.mark.realdata
def test_drawn_labels_of_figure_4_are_applied_under_its_own_rule():
    beside = published_beside({"pandalm": pandalm()}, **QUICK).query("table == 'figure4'")
    beside = beside.set_index(["judge", "metric"])
    row = beside.loc["pandalm_7b", "accuracy"]
    assert (str(row["published"]), str(row["recomputed"]), str(row["same_rule"])) == ("67.57", "66.8", "66.3")
    assert beside.loc["gpt_3_5", "accuracy"]["same_rule"] is None


@pytest.mark.realdata
def test_a_part_serves_for_the_set_it_is_part_of():
    whole = contest_of("mtbench", ["baseline/longer"])
    part = restricted(whole, "mtbench_gpt4", {"gpt_4_pair": published_verdicts("gpt-4-pair")})
    beside = published_beside({"mtbench": whole, "mtbench/gpt_4_pair": part}, **QUICK)
    beside = beside[beside["table"].isin(["figure5", "mtbench_paper"])]
    assert set(beside["ours"]) == {"gpt_4_pair"}
    gaps = beside["points"].map(lambda number: abs(number.value))
    assert len(gaps) == 6 and gaps.max() < 1


def test_cells_carry_the_letter_of_their_protocol():
    tags, scores = {}, contest_scores(sample(), **QUICK).assign(set="autoj").query("metric == 'accuracy'")
    scores = scores.assign(metric="agreement")
    rows = figure_table("figure4", scores, ["longer", "nobody"], {"autoj": "Auto-J"}, tags)
    by_judge = {row["", "judge"]: row for row in rows}
    assert by_judge["JudgeLM-7B"]["Auto-J agreement", "published"] == "46.6 [c]"
    own = by_judge["longer"]
    assert own["Auto-J agreement", "published"] is None and own["Auto-J agreement", "recomputed"].endswith("[e]")
    assert "nobody" not in by_judge
    assert ("pandalm accuracy", "recomputed") not in own, "a column without values is left out"
    assert list(tags)[2::2] == ["right in both orders", "mean of both orders, no ties"]


@pytest.mark.realdata
def test_owners_accuracy_is_right_and_kappa_is_not():
    contest = contest_of("llmbar_natural", ["replay/gpt-4-vanilla-norules"])
    own = OWN.owner_statistics("gpt-4-vanilla-norules")["llmbar_natural"]
    row = OWN.owner_row(contest, "gpt_4_vanilla_norules", own)
    assert row["accuracy"] == row["own_accuracy"] == 0.935
    assert (round(row["own_kappa"], 3), round(row["kappa"], 3)) == (0.252, 0.837)
