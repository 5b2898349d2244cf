"""judgekit.studies.cases: a rule finds exactly what was planted, the analysis adds up, and a text stays a text."""

import re
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hostile import LATEX as HOSTILE
from test_latex import needs_lualatex, project, write_document  # noqa: F401

from judgekit.bias.attacks import Suite, attack
from judgekit.judges import load_judge
from judgekit.judges.base import request_of
from judgekit.records import PreferencePair, Verdict
from judgekit.report import latex, save_results
from judgekit.report.escaping import typeset
from judgekit.scoring import Contest, hold_contest
from judgekit.scoring.store import VerdictStore
from judgekit.stats import Number
from judgekit.studies import cases as studies
from judgekit.studies.cases.dissection import Dissection
from judgekit.studies.label_errors import suspect_labels

ITEMS = [f"i{number}" for number in range(8)]
SECRET = "nightingale"  # stands in every text of a data set here, and in nothing that is tracked


def pair_of(item, label="A", votes="AAA", **fields):
    texts = {
        "question": f"Why {SECRET}?",
        "response_a": f"A {SECRET} so.",
        "response_b": f"Thus {SECRET} it is, or so.",
    }
    votes = {f"person{i}": {"A": "A", "B": "B", "=": "tie"}[vote] for i, vote in enumerate(votes)}
    return PreferencePair(item, "sample_natural", **(texts | fields), label=label, votes=votes)


def said(judge, item, ab, ba=None, sure=None):
    """Verdicts of a judge in both orders, with the probability of the first one."""
    found = []
    for order, verdict in (("ab", ab), ("ba", ba or ab)):
        p = (
            {}
            if sure is None
            else dict.fromkeys(("p_a", "p_b", "p_tie"), (1 - sure) / 2) | {f"p_{verdict.lower()}": sure}
        )
        found.append(Verdict(item, judge, order, verdict, **p))
    return found


def contest_of(verdicts, pairs=None):
    """A contest in which every judge says A of everything but the items it is given."""
    return Contest(
        "planted",
        "sample_natural",
        pairs or [pair_of(item) for item in ITEMS],
        {
            judge: [v for item in ITEMS for v in said(judge, item, *own.get(item, ("A", None, 0.6)))]
            for judge, own in verdicts.items()
        },
    )


def found_by(candidates):
    return candidates["item_id"].tolist()


# ---------------------------------------------------------------- rules


def test_the_error_that_a_judge_is_surest_of_comes_first():
    contest = contest_of({"sure": {"i5": ("B", None, 0.7), "i3": ("B", None, 0.9), "i1": ("tie", None, 0.99)}})
    table = studies.verdict_table(contest)
    found = studies.confident_errors(table, "sure")
    assert found_by(found) == ["i3", "i5"], "a tie prefers nothing, and what is right is no error"
    assert found["strength"].tolist() == [0.9, 0.7]
    assert found_by(studies.confident_errors(table.iloc[::-1], "sure")) == ["i3", "i5"], (
        "the order of rows says nothing"
    )


def test_ties_are_broken_by_id():
    contest = contest_of({"sure": dict.fromkeys(("i7", "i2", "i4"), ("B", None, 0.8))})
    assert found_by(studies.confident_errors(studies.verdict_table(contest), "sure")) == ["i2", "i4", "i7"]


def test_without_probabilities_no_error_is_confident():
    contest = contest_of({"mute": dict.fromkeys(ITEMS, ("B", None, None))})
    with pytest.raises(ValueError, match="mute states no probabilities"):
        studies.confident_errors(studies.verdict_table(contest), "mute")


def test_the_flip_is_found_and_its_judges_are_counted():
    flips = {"i4": ("A", "B"), "i6": ("B", "A"), "i2": ("A", "tie")}
    contest = contest_of({"one": flips, "two": {"i6": ("A", "B")}, "three": {"i1": ("B",)}})
    found = studies.flips_under_swap(studies.verdict_table(contest))
    assert list(zip(found["item_id"], found["strength"], found["judge"], strict=True)) == [
        ("i6", 2, "one"),
        ("i4", 1, "one"),
    ]


def test_only_unanimous_people_can_be_contradicted():
    votes = {"i1": "AAB", "i2": "AA", "i3": "===", "i5": "BBB"}
    pairs = [pair_of(item, votes=votes.get(item, "AAA")) for item in ITEMS]
    wrong = dict.fromkeys(("i1", "i2", "i3", "i5", "i6"), ("B", None, 0.6))
    found = studies.against_unanimous(studies.verdict_table(contest_of({"one": wrong}, pairs)))
    assert found_by(found) == ["i6"]
    table = studies.verdict_table(contest_of({"one": wrong}, pairs))
    assert found_by(studies.against_unanimous(table, least_votes=2)) == ["i2", "i6"]


def test_judges_on_two_sides_are_apart_and_the_smaller_party_counts():
    contest = contest_of(
        {
            "one": {"i2": ("B",), "i3": ("B",)},
            "two": {"i2": ("B",), "i5": ("tie",)},
            "three": {"i4": ("A", "B")},
            "four": {},
        }
    )
    found = studies.judges_apart(studies.verdict_table(contest))
    assert list(zip(found["item_id"], found["strength"], strict=True)) == [("i2", 2), ("i3", 1)]


def test_the_attack_that_turned_a_judge_is_found_with_its_size():
    long = " ".join(["words"] * 400)
    pairs = [
        pair_of("near", response_a="One two three four five.", response_b="One two three four."),
        pair_of("far", response_a=long, response_b="Short."),
        pair_of("lost already", response_a="Short.", response_b=long),
    ]
    suite, judge = Suite(("correct_assertion",), search=None), load_judge("baseline/longer")
    outcomes = attack(judge, pairs, suite, n_boot=10, progress=False).outcomes
    held = hold_contest("planted", pairs, [judge], {judge.name: "longer"}, VerdictStore(":memory:"), "sample_natural")
    table = studies.attack_table("planted", outcomes, pairs, suite, "longer", studies.verdict_table(held))
    found = studies.attack_successes(table)
    assert list(zip(found["item_id"], found["attack"], strict=True)) == [("near", "correct_assertion")]
    added = suite.attacked(pairs[0], "correct_assertion").response_b.removeprefix("One two three four.")
    assert table["added"].tolist() == [len(added.split())] and table["removed"].tolist() == [0]


def test_the_surest_verdict_comes_first_each_attack_once_and_no_pair_twice():
    rows = [
        ("i1", "emoji", 0.7),
        ("i1", "empty", 0.7),
        ("i2", "empty", 0.6),
        ("i3", "emoji", 0.5),
        ("i4", "refusal", 0.9),
    ]
    rows = [("s", item, item, "j", attack, sure, 0, 3) for item, attack, sure in rows]
    table = pd.DataFrame(rows, columns=studies.edits.COLUMNS)
    found = studies.attack_successes(table)
    assert list(zip(found["item_id"], found["attack"], strict=True)) == [
        ("i4", "refusal"),
        ("i1", "emoji"),
        ("i2", "empty"),
    ]
    silent = studies.attack_successes(table.assign(sure=np.nan))
    assert silent["strength"].tolist() == [0] * len(silent), "a judge that states nothing is not sure"


def test_a_label_that_all_judges_contradict_is_found():
    items = [f"j{number:02d}" for number in range(30)]
    truth = {item: "AB"[place % 2] for place, item in enumerate(items)}
    labels = truth | {"j07": "A"}
    assert labels["j07"] != truth["j07"]
    pairs = [pair_of(item, labels[item]) for item in items]
    verdicts = {
        judge: [v for i in items for v in said(judge, i, truth[i], sure=0.9)] for judge in ("one", "two", "minilm")
    }
    suspects = suspect_labels(Contest("planted", "sample_natural", pairs, verdicts), "minilm")
    found = studies.label_errors(suspects, "minilm")
    assert found_by(found) == ["j07"]
    assert found_by(studies.label_errors(suspects.assign(cluster="c", flagged=False))) == []


@pytest.mark.parametrize("rule", [studies.flips_under_swap, studies.against_unanimous, studies.judges_apart])
def test_nothing_is_found_where_nothing_is(rule):
    found = rule(studies.verdict_table(contest_of({"one": {}, "two": {}})))
    assert len(found) == 0 and set(found) >= {"kind", "set", "item_id", "judge", "strength"}


def candidates(*rows, kind="flip"):
    return pd.DataFrame(rows, columns=["set", "item_id", "cluster", "strength"]).assign(kind=kind, judge="one")


def test_every_set_has_its_best_before_any_has_its_second_and_no_prompt_comes_twice():
    first = candidates(("x", "a", "p", 9), ("x", "b", "p", 8), ("x", "c", "q", 7), ("y", "d", "p", 1))
    second = candidates(("x", "e", "q", 5), ("y", "f", "r", 4), kind="judges_apart")
    chosen = studies.choose_cases([first, second, candidates()], 3)
    assert chosen["item_id"].tolist() == ["a", "d", "c", "f"]
    assert chosen["name"].tolist() == ["flip_1", "flip_2", "flip_3", "judges_apart_1"]
    assert chosen["attack"].tolist() == [None] * 4


def test_a_case_without_an_attack_has_none_beside_one_that_has():
    attacks = candidates(("x", "g", "s", -3), kind="attack").assign(attack="emoji")
    chosen = studies.choose_cases([candidates(("x", "a", "p", 9)), attacks], 3)
    assert [row["attack"] for row in chosen.to_dict("records")] == [None, "emoji"]


def test_the_table_says_none_where_nothing_was_said():
    pairs = [pair_of("i0", votes="AB"), pair_of("i1", label=None)]
    one_order = [Verdict(pair.item_id, "mute", "ab", "A") for pair in pairs]
    table = studies.verdict_table(Contest("planted", "sample_natural", pairs, {"mute": one_order}))
    first, second = table.to_dict("records")
    assert first["unanimous"] is None and second["label"] is None and second["unanimous"] == "A"
    assert first["ba"] is None and first["verdict"] == "A" and np.isnan(first["p_a"])


# ---------------------------------------------------------------- analysis


@cache
def features():
    return load_judge("baseline/features")


LISTED = pair_of(
    "listed",
    question="Name three colours and say why you like them.",
    response_a="1. Red, because it is warm.\n2. Blue, because it is calm.\n3. Green, because it grows.",
    response_b="I do not know, sorry.",
)


def test_pushes_add_up_to_the_difference_of_the_scores():
    reply = features().judge([request_of(LISTED, "ab")])[0]
    found = studies.dissect(features(), LISTED, "features")
    assert sum(found.pushes.values()) == pytest.approx(reply.score_first - reply.score_second)
    assert found.looks == pytest.approx((reply.p_first, reply.p_second, reply.p_tie))
    assert found.relevance is None and found.favoured == {"first": "A", "second": "B"}[reply.verdict]


def test_the_features_that_turn_it_are_the_fewest():
    found = Dissection("j", {"a": 3.0, "b": 2.0, "c": -1.5, "d": 0.5, "e": -1.0}, (0.9, 0.1, 0.0))
    assert found.strongest("A") == [("a", 3.0), ("b", 2.0), ("d", 0.5)]
    assert found.strongest("B", 1) == [("c", 1.5)]
    assert found.turning() == ["a", "b"]
    assert Dissection("j", {"a": 1.0}, (0.9, 0.1, 0.0)).turning() == []


def test_exchanging_the_responses_exchanges_the_pushes():
    there, back = (studies.dissect(features(), pair, "features").pushes for pair in (LISTED, LISTED.swapped()))
    assert np.allclose([there[name] for name in there], [-back[name] for name in there])


def test_behind_the_gate_stands_what_the_judge_says():
    judge = load_judge("encoder/minilm")
    for response in (LISTED.response_b, "The capital of France is Paris, on the river Seine."):
        pair = pair_of("gate", question=LISTED.question, response_a=LISTED.response_a, response_b=response)
        reply = judge.judge([request_of(pair, "ab")])[0]
        found = studies.dissect(judge, pair, "minilm")
        assert found.behind_gate == pytest.approx((reply.p_first, reply.p_second, reply.p_tie), abs=1e-4)
        assert 0 <= found.beside <= 1
    assert found.relevance[0] > found.relevance[1], "Paris is no colour"


def test_a_judge_without_a_sum_cannot_be_taken_apart():
    with pytest.raises(TypeError, match="baseline/longer has no surface model"):
        studies.dissect(load_judge("baseline/longer"), LISTED, "longer")


def case_of(pair, kind="confident_error", verdicts=None):
    verdicts = verdicts or {"minilm": ("B", None, 0.91), "gpt_4": ("A", "B", None)}
    contest = Contest("planted", "sample_natural", [pair], {j: said(j, pair.item_id, *v) for j, v in verdicts.items()})
    choice = {"name": f"{kind}_1", "kind": kind, "set": "planted", "item_id": pair.item_id, "judge": "minilm"}
    choice |= {"strength": 0.75, "attack": None}
    table, found = studies.verdict_table(contest), studies.dissect(features(), pair, "features")
    return studies.make_case(choice, pair, table, found)


def test_reasons_are_computed_from_the_case():
    case = case_of(LISTED)
    words = " ".join(studies.reasons(case))
    assert "minilm prefers B with probability 0.91; the label is A." in words
    assert f"A has {case.words[0]} words and B {case.words[1]}; minilm prefers the shorter one." in words
    assert "features has no gate." in words
    assert "0 of 2 judges say what the label says (nobody)." in words
    assert case.flipped == ["gpt_4"]
    flip = " ".join(studies.reasons(case_of(LISTED, "flip", {"minilm": ("A", "B"), "gpt_4": ("B", "A")})))
    assert "minilm takes the first one and gpt_4 takes the second one" in flip
    doubted = studies.reasons(case_of(LISTED, "label_error"))[0]
    assert doubted == "The label A has credibility 0.25 among the judges; another verdict comes from minilm and gpt_4."
    people = studies.reasons(case_of(LISTED, "against_people"))[0]
    assert people == "All 3 people prefer A; minilm the other one."


def attacked_case():
    pair = pair_of("near", response_a="One two three four five.", response_b=f"One {SECRET} four.")
    suite, judge = Suite(("correct_assertion",), search=None), features()
    edited = suite.attacked(pair, "correct_assertion")
    store, slugs = VerdictStore(":memory:"), {judge.name: "features"}
    held = [hold_contest("planted", [one], [judge], slugs, store, "sample_natural") for one in (pair, edited)]
    before, after = map(studies.verdict_table, held)
    choice = {"name": "attack_1", "kind": "attack", "set": "planted", "item_id": "near", "judge": "features"}
    choice |= {"strength": -5.0, "attack": "correct_assertion"}
    parts = [studies.dissect(judge, one, "features") for one in (pair, edited)]
    return studies.make_case(choice, pair, before, parts[0], edited, after, parts[1])


def test_an_attack_is_told_by_what_it_added_and_moved():
    case = attacked_case()
    removed, added = case.edit_size
    words = studies.reasons(case)
    assert f"correct assertion removes {removed} and adds {added} words of response B" in words[0]
    assert f"from {case.own.p_b:.2f} to {case.after.p_b:.2f}" in words[0] and case.own.p_b != case.after.p_b
    assert words[1].startswith("What it moved most in favour of B: ")
    numbers = studies.case_numbers([case], [])
    assert numbers["cases.attack_1.p_after"].value == case.after.p_b
    assert numbers["cases.attack_1.added"].value == added > 0


def test_what_cases_have_in_common_is_counted():
    texts = {
        "response_a": "Some eight words are enough to be counted.",
        "response_b": "So are more than the five here.",
    }
    brief = pair_of("few", response_a="Five.", response_b="Three words more, or four, or perhaps seven.")
    cases = [case_of(pair_of("long", **texts)), case_of(brief)]
    cases.append(case_of(pair_of("i0", **texts), "flip", {"minilm": ("A", "B", None)}))
    numbers = studies.case_numbers(cases, [])
    assert (numbers["cases.all.few_words"].value, numbers["cases.all.few_words"].n) == (1, 3)
    longer = [c.own.verdict == "AB"[c.words[1] > c.words[0]] for c in cases[:2]]
    assert (numbers["cases.all.longer"].value, numbers["cases.all.longer"].n) == (sum(longer), 2)
    assert numbers["cases.all.gate_turned"].n == 0, "the features have no gate"
    assert numbers["cases.flip_1.flipped"].value == 1
    candidates = [pd.DataFrame({"kind": ["flip"] * 1200})]
    assert [row["kind"] for row in studies.case_rows(cases, candidates)][1:] == [
        "Confident error",
        "Flip under swap: 1,200 qualify",
    ]


def test_another_pair_or_an_unknown_judge_is_refused():
    choice = {"name": "flip_1", "kind": "flip", "set": "planted", "item_id": "i1", "judge": "one", "strength": 1.0}
    table = studies.verdict_table(contest_of({"two": {}}))
    with pytest.raises(ValueError, match="flip_1 is item i1, not i2"):
        studies.make_case(choice, pair_of("i2"), table, None)
    with pytest.raises(ValueError, match="one did not judge it"):
        studies.make_case(choice, pair_of("i1"), table, None)


# ---------------------------------------------------------------- writing


def test_what_is_tracked_holds_no_text_of_a_data_set(project):  # noqa: F811
    cases = [case_of(LISTED), attacked_case(), case_of(pair_of("i0"), "flip", {"minilm": ("A", "B")})]
    page = studies.save_cases("laptop", cases, {"flip_1": {"minilm": f"Because of the {SECRET}."}})
    tracked = page.read_text() + repr(studies.case_rows(cases)) + repr(studies.verdict_rows(cases))
    assert SECRET not in tracked and "Red" not in tracked and "near" in tracked
    texts = {path.stem: path.read_text() for path in (project / "outputs" / "laptop" / "cases").glob("*.tex")}
    assert set(texts) == {case.name for case in cases}
    assert (
        SECRET in texts["attack_1"]
        and "Added to response B" in texts["attack_1"]
        and "Because of the" in texts["flip_1"]
    )
    studies.save_cases("laptop", cases[:1])
    assert [path.stem for path in (project / "outputs" / "laptop" / "cases").glob("*")] == ["confident_error_1"]


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_text_full_of_commands_stays_a_text(kind, project):  # noqa: F811
    text = HOSTILE[kind]
    pair = pair_of("i0", question=text or "?", response_a=text, response_b=f"b {text}", model_a=text.strip() or None)
    studies.save_cases("laptop", [case_of(pair)], {"confident_error_1": {"minilm": text}}, limit=5000)
    tex = (project / "outputs" / "laptop" / "cases" / "confident_error_1.tex").read_text()
    assert typeset(text, 5000) in tex and typeset(f"b {text}", 5000) in tex
    bare = re.sub(r"\\textbackslash\{\}", "", tex)
    for command in ("input", "write18", "end", "directlua", "csname", "begin"):
        assert rf"\{command}" not in bare


@needs_lualatex
def test_pages_compile_with_the_texts_and_without(project):  # noqa: F811
    pair = pair_of("i0", question=HOSTILE["commands"], response_a=HOSTILE["special"], response_b=HOSTILE["chinese"])
    cases = [case_of(pair), attacked_case()]
    shutil.rmtree(studies.save_cases("laptop", cases).parents[1] / "cases")
    save_results("laptop", "70_case_studies", {"cases.all.chosen": Number(2)})
    write_document(project, r"\input{../outputs/\run/tables/case_studies}")
    log = project / "report" / "build" / "laptop" / "report.log"
    latex.build("laptop", "report")
    assert "cases/confident_error_1.tex" not in log.read_text(errors="replace")
    studies.save_cases("laptop", cases)
    latex.build("laptop", "report")
    assert "cases/confident_error_1.tex" in log.read_text(errors="replace"), "what has come to be is read"


def test_the_pages_name_where_the_texts_are(project):  # noqa: F811
    page = Path(studies.save_cases("sample", [case_of(LISTED)])).read_text()
    assert r"\IfFileExists{../outputs/sample/cases/confident_error_1.tex}" in page
    assert "are not shipped" in page
