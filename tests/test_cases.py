"""judgekit.studies.case_studies and case_writing: the choice is fair, the analysis adds up, and a text stays a text."""

import re
import shutil
from functools import cache

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
from judgekit.studies import case_studies, case_writing

SECRET = "nightingale"  # stands in every text of a data set here, and in nothing that is tracked
TEXTS = {"question": f"Why {SECRET}?", "response_a": f"A {SECRET} so.", "response_b": f"Thus {SECRET} it is, or so."}


def pair_of(item, label="A", votes="AAA", **fields):
    votes = {f"person{i}": {"A": "A", "B": "B", "=": "tie"}[vote] for i, vote in enumerate(votes)}
    return PreferencePair(item, "sample_natural", **(TEXTS | fields), label=label, votes=votes)


def verdicts_of(judge, item, ab, ba=None, sure=None):
    """Verdicts of a judge in both orders, with the probability of the first one."""
    rest = {} if sure is None else dict.fromkeys(("p_a", "p_b", "p_tie"), (1 - sure) / 2)
    stated = [{} if sure is None else {f"p_{one.lower()}": sure} for one in (ab, ba or ab)]
    both = zip(("ab", "ba"), (ab, ba or ab), stated, strict=True)
    return [Verdict(item, judge, order, verdict, **(rest | own)) for order, verdict, own in both]


# ---------------------------------------------------------------- the table and the choice


def test_the_table_says_none_where_nothing_was_said():
    pairs = [pair_of("i0", votes="AB"), pair_of("i1", label=None)]
    one_order = [Verdict(pair.item_id, "mute", "ab", "A") for pair in pairs]
    table = case_studies.verdict_table(Contest("planted", "sample_natural", pairs, {"mute": one_order}))
    first, second = table.to_dict("records")
    assert first["unanimous"] is None and second["label"] is None and second["unanimous"] == "A"
    assert first["ba"] is None and first["verdict"] == "A" and np.isnan(first["p_a"])


def candidates(*rows, kind="flip"):
    table = pd.DataFrame(rows, columns=["set", "item_id", "cluster", "strength"]).assign(judge="one")
    return case_studies.ranked(kind, table)


def test_the_strongest_comes_first_and_ties_are_broken_by_id():
    found = candidates(("x", "i7", "p", 0.8), ("x", "i2", "q", 0.8 + 1e-12), ("x", "i3", "r", 0.9))
    assert found["item_id"].tolist() == ["i3", "i2", "i7"]


def test_every_set_has_its_best_before_any_has_its_second_and_no_prompt_comes_twice():
    first = candidates(("x", "a", "p", 9), ("x", "b", "p", 8), ("x", "c", "q", 7), ("y", "d", "p", 1))
    second = candidates(("x", "e", "q", 5), ("y", "f", "r", 4), kind="judges_apart")
    attacks = candidates(("x", "g", "s", 0.5), kind="attack").assign(attack="emoji")
    chosen = case_studies.choose_cases([first, second, candidates(), attacks], 3)
    assert chosen["item_id"].tolist() == ["a", "d", "c", "f", "g"]
    assert chosen["name"].tolist() == ["flip_1", "flip_2", "flip_3", "judges_apart_1", "attack_1"]
    assert [row["attack"] for row in chosen.to_dict("records")] == [None, None, None, None, "emoji"]


def test_the_attack_that_turned_a_judge_is_found_with_its_size():
    long = " ".join(["words"] * 400)
    pairs = [
        pair_of("near", response_a="One two three four five.", response_b="One two three four."),
        pair_of("far", response_a=long, response_b="Short."),
        pair_of("lost already", response_a="Short.", response_b=long),
    ]
    suite, judge = Suite(("correct_assertion",), search=None), load_judge("baseline/longer")
    outcomes = attack(judge, pairs, suite, n_boot=10, progress=False).outcomes
    contest = hold_contest(
        "planted", pairs, [judge], {judge.name: "longer"}, VerdictStore(":memory:"), "sample_natural"
    )
    (row,) = case_studies.attack_table(outcomes, pairs, suite, case_studies.verdict_table(contest)).itertuples()
    added = suite.attacked(pairs[0], "correct_assertion").response_b.removeprefix("One two three four.")
    assert (row.item_id, row.attack, row.strength) == ("near", "correct_assertion", 0), "nothing stated: not sure"
    assert (row.removed, row.added) == (0, len(added.split()))


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
    found, back = (case_studies.dissect(features(), pair, "features") for pair in (LISTED, LISTED.swapped()))
    assert sum(found.pushes.values()) == pytest.approx(reply.score_first - reply.score_second)
    assert found.by_features == pytest.approx((reply.p_first, reply.p_second, reply.p_tie))
    assert found.relevance is None and found.favoured == {"first": "A", "second": "B"}[reply.verdict]
    assert list(found.pushes.values()) == pytest.approx([-push for push in back.pushes.values()])


def test_the_features_that_turn_it_are_the_fewest():
    pushes = {"a": 3.0, "b": 2.0, "c": -1.5, "d": 0.5, "e": -1.0}
    found = case_studies.Dissection("j", pushes, (0.9, 0.1, 0.0))
    assert found.strongest("A") == [("a", 3.0), ("b", 2.0), ("d", 0.5)]
    assert found.strongest("B", 1) == [("c", 1.5)]
    assert found.turning() == ["a", "b"]
    assert case_studies.Dissection("j", {"a": 1.0}, (0.9, 0.1, 0.0)).turning() == []


def test_behind_the_gate_stands_what_the_judge_says():
    judge = load_judge("encoder/minilm")
    pair = pair_of(
        "gate",
        question=LISTED.question,
        response_a=LISTED.response_a,
        response_b="The capital of France is Paris, on the river Seine.",
    )
    reply = judge.judge([request_of(pair, "ab")])[0]
    found = case_studies.dissect(judge, pair, "minilm")
    assert found.behind_gate == pytest.approx((reply.p_first, reply.p_second, reply.p_tie), abs=1e-4)
    assert 0 <= found.off_topic <= 1 and found.relevance[0] > found.relevance[1], "Paris is no colour"


def test_a_judge_without_a_sum_cannot_be_taken_apart():
    with pytest.raises(TypeError, match="baseline/longer has no surface model"):
        case_studies.dissect(load_judge("baseline/longer"), LISTED, "longer")


def case_of(pair, kind="confident_error", verdicts=None):
    verdicts = verdicts or {"minilm": ("B", None, 0.91), "gpt_4": ("A", "B", None)}
    given = {judge: verdicts_of(judge, pair.item_id, *one) for judge, one in verdicts.items()}
    table = case_studies.verdict_table(Contest("planted", "sample_natural", [pair], given))
    choice = {"name": f"{kind}_1", "kind": kind, "set": "planted", "item_id": pair.item_id, "judge": "minilm"}
    choice |= {"strength": 0.75, "attack": None}
    return case_studies.make_case(choice, pair, table, case_studies.dissect(features(), pair, "features"))


def test_reasons_are_computed_from_the_case():
    case = case_of(LISTED)
    words = " ".join(case_writing.reasons(case))
    assert "minilm prefers B with probability 0.91; the label is A." in words
    assert f"A has {case.words[0]} words and B {case.words[1]}; minilm prefers the shorter one." in words
    assert "features has no gate." in words
    assert "0 of 2 judges say what the label says (nobody)." in words
    assert case.flipped == ["gpt_4"]
    flip = " ".join(case_writing.reasons(case_of(LISTED, "flip", {"minilm": ("A", "B"), "gpt_4": ("B", "A")})))
    assert "minilm takes the first one and gpt_4 takes the second one" in flip
    doubted = case_writing.reasons(case_of(LISTED, "label_error"))[0]
    assert doubted == "The label A has credibility 0.25 among the judges; another verdict comes from minilm and gpt_4."
    people = case_writing.reasons(case_of(LISTED, "against_people"))[0]
    assert people == "All 3 people prefer A; minilm the other one."
    rows = case_writing.case_rows([case], [pd.DataFrame({"kind": ["confident_error"] * 1200})])
    assert rows[0]["kind"] == "Confident error: 1,200 qualify"


def attacked_case():
    pair = pair_of("near", response_a="One two three four five.", response_b=f"One {SECRET} four.")
    suite, judge = Suite(("correct_assertion",), search=None), features()
    edited = suite.attacked(pair, "correct_assertion")
    store, slugs = VerdictStore(":memory:"), {judge.name: "features"}
    contests = [hold_contest("planted", [one], [judge], slugs, store, "sample_natural") for one in (pair, edited)]
    before, after = map(case_studies.verdict_table, contests)
    choice = {"name": "attack_1", "kind": "attack", "set": "planted", "item_id": "near", "judge": "features"}
    choice |= {"strength": 0.5, "attack": "correct_assertion"}
    parts = [case_studies.dissect(judge, one, "features") for one in (pair, edited)]
    return case_studies.make_case(
        choice, pair, before, parts[0], edited=edited, after=after, edited_dissection=parts[1]
    )


def test_an_attack_is_described_by_what_it_added_and_moved():
    case = attacked_case()
    removed, added = case_studies.edit_size(case.pair, case.edited)
    words = case_writing.reasons(case)
    assert f"correct assertion removes {removed} and adds {added} words of response B" in words[0]
    assert f"from {case.own.p_b:.2f} to {case.after.p_b:.2f}" in words[0] and case.own.p_b != case.after.p_b
    assert words[1].startswith("What it moved most in favour of B: ")


def test_another_pair_or_an_unknown_judge_is_refused():
    choice = {"name": "flip_1", "kind": "flip", "set": "planted", "item_id": "i1", "judge": "one", "strength": 1.0}
    contest = Contest("planted", "sample_natural", [pair_of("i1")], {"two": verdicts_of("two", "i1", "A")})
    table = case_studies.verdict_table(contest)
    with pytest.raises(ValueError, match="flip_1 is item i1, not i2"):
        case_studies.make_case(choice, pair_of("i2"), table, None)
    with pytest.raises(ValueError, match="one did not judge it"):
        case_studies.make_case(choice, pair_of("i1"), table, None)


# ---------------------------------------------------------------- writing


def test_what_is_tracked_holds_no_text_of_a_data_set(project):  # noqa: F811
    cases = [case_of(LISTED), attacked_case(), case_of(pair_of("i0"), "flip", {"minilm": ("A", "B")})]
    page = case_writing.save_cases("laptop", cases, {"flip_1": {"minilm": f"Because of the {SECRET}."}})
    tracked = page.read_text() + repr(case_writing.case_rows(cases)) + repr([case.verdicts for case in cases])
    assert SECRET not in tracked and "Red" not in tracked and "near" in tracked
    assert r"\IfFileExists{../outputs/laptop/cases/flip_1.tex}" in tracked and "are not shipped" in tracked
    texts = {path.stem: path.read_text() for path in (project / "outputs" / "laptop" / "cases").glob("*.tex")}
    assert set(texts) == {case.name for case in cases}
    assert SECRET in texts["attack_1"] and "Added to response B" in texts["attack_1"]
    assert "Because of the" in texts["flip_1"]
    case_writing.save_cases("laptop", cases[:1])
    assert [path.stem for path in (project / "outputs" / "laptop" / "cases").glob("*")] == ["confident_error_1"]


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_text_full_of_commands_stays_a_text(kind, project):  # noqa: F811
    text = HOSTILE[kind]
    pair = pair_of("i0", question=text or "?", response_a=text, response_b=f"b {text}", model_a=text.strip() or None)
    case_writing.save_cases("laptop", [case_of(pair)], {"confident_error_1": {"minilm": text}}, limit=5000)
    tex = (project / "outputs" / "laptop" / "cases" / "confident_error_1.tex").read_text()
    assert typeset(text, 5000) in tex and typeset(f"b {text}", 5000) in tex
    bare = re.sub(r"\\textbackslash\{\}", "", tex)
    for command in ("input", "write18", "end", "directlua", "csname", "begin"):
        assert rf"\{command}" not in bare


@needs_lualatex
def test_pages_compile_with_the_texts_and_without(project):  # noqa: F811
    pair = pair_of("i0", question=HOSTILE["commands"], response_a=HOSTILE["special"], response_b=HOSTILE["chinese"])
    cases = [case_of(pair), attacked_case()]
    shutil.rmtree(case_writing.save_cases("laptop", cases).parents[1] / "cases")
    save_results("laptop", "70_case_studies", {"cases.all.chosen": Number(2)})
    write_document(project, r"\input{../outputs/\run/tables/case_studies}")
    log = project / "report" / "build" / "laptop" / "report.log"
    latex.build("laptop", "report")
    assert "cases/confident_error_1.tex" not in log.read_text(errors="replace")
    case_writing.save_cases("laptop", cases)
    latex.build("laptop", "report")
    assert "cases/confident_error_1.tex" in log.read_text(errors="replace"), "what has come to be is read"
