"""Case studies: the choice is fair, the analysis adds up, and a text stays a text."""

import re
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hostile import LATEX as HOSTILE
from notebook_functions import functions_of
from test_latex import needs_lualatex, project, write_document  # noqa: F401

from judgekit.judges import load_judge
from judgekit.judges.base import request_of
from judgekit.judges.encoder import relevance_inputs, relevance_of, sigmoid
from judgekit.records import PreferencePair, Verdict
from judgekit.report import latex, save_results
from judgekit.report.escaping import typeset
from judgekit.scoring import Contest
from judgekit.stats import Number
from judgekit.studies import case_studies

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = functions_of("70_case_studies", own="minilm")
SECRET = "nightingale"  # stands in every text of a data set here, and in nothing that is tracked
TEXTS = {"question": f"Why {SECRET}?", "response_a": f"A {SECRET} so.", "response_b": f"Thus {SECRET} it is, or so."}


def pair_of(item, label="A", votes="AAA", benchmark="sample_natural", **fields):
    votes = {f"person{i}": {"A": "A", "B": "B", "=": "tie"}[vote] for i, vote in enumerate(votes)}
    return PreferencePair(item, benchmark, **(TEXTS | fields), label=label, votes=votes)


def verdicts_of(judge, item, ab, ba=None, sure=None):
    """Verdicts of a judge in both orders, with the probability of the first one."""
    rest = {} if sure is None else dict.fromkeys(("p_a", "p_b", "p_tie"), (1 - sure) / 2)
    stated = [{} if sure is None else {f"p_{one.lower()}": sure} for one in (ab, ba or ab)]
    both = zip(("ab", "ba"), (ab, ba or ab), stated, strict=True)
    return [Verdict(item, judge, order, verdict, **(rest | own)) for order, verdict, own in both]


def test_the_table_says_none_where_nothing_was_said():
    pairs = [pair_of("i0", votes="AB"), pair_of("i1", label=None)]
    one_order = [Verdict(pair.item_id, "mute", "ab", "A") for pair in pairs]
    table = NOTEBOOK.by_pair(Contest("planted", "sample_natural", pairs, {"mute": one_order}))
    first, second = table.to_dict("records")
    assert first["unanimous"] is None and second["label"] is None and second["unanimous"] == "A"
    assert first["ba"] is None and first["verdict"] == "A" and np.isnan(first["p_a"])


def test_the_strongest_of_a_kind_comes_first_and_no_prompt_comes_twice():
    def rows(*given):
        return pd.DataFrame(given, columns=["set", "item_id", "cluster", "strength"]).assign(judge="one")

    flips = rows(("x", "i7", "p", 0.8), ("x", "i2", "q", 0.8 + 1e-12), ("x", "i3", "r", 0.9), ("x", "i4", "r", 0.85))
    attacks = rows(("x", "a", "r", 9), ("y", "b", "r", 8), ("y", "b", "r", 7)).assign(attack=["emoji", "list", "bold"])
    chosen = NOTEBOOK.choose_cases({"flip": flips, "none": rows(), "attack": attacks}, 2)
    assert chosen["item_id"].tolist() == ["i3", "i2", "b"], "equal ones by id, another set's prompt is another"
    assert chosen["name"].tolist() == ["flip_1", "flip_2", "attack_1"]
    assert chosen["attack"].tolist() == [None, None, "list"]


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
    (pushes, before, off), (back, *_) = (NOTEBOOK.dissect(features(), pair) for pair in (LISTED, LISTED.swapped()))
    assert pushes.sum() == pytest.approx(reply.score_first - reply.score_second)
    assert before == pytest.approx((reply.p_first, reply.p_second, reply.p_tie))
    assert off is None and back.tolist() == pytest.approx((-pushes).tolist())
    with pytest.raises(TypeError, match="baseline/longer has no surface model"):
        NOTEBOOK.dissect(load_judge("baseline/longer"), LISTED)


def test_the_gate_is_read_from_what_it_leaves_of_a_tie():
    judge = load_judge("encoder/minilm")
    paris = "The capital of France is Paris, on the river Seine."
    pair = pair_of("gate", question=LISTED.question, response_a=LISTED.response_a, response_b=paris)
    request = request_of(pair, "ab")
    keys = [("question", request.asked), ("response", request.first), ("response", request.second)]
    asked, *texts = (judge.encode(keys)[key][0][None] for key in keys)
    odds = [relevance_of(relevance_inputs(asked, t, judge.others), judge.config["relevance"]) for t in texts]
    parts = judge.config["gate"]
    assert odds[0] > odds[1], "Paris is no colour"
    inputs = np.stack([odds[1], odds[0] - odds[1], (texts[0] * texts[1]).sum(-1)], axis=-1)
    found = NOTEBOOK.dissect(judge, pair)[2]
    assert found == pytest.approx(float(sigmoid(inputs @ np.array(parts["weight"]) + parts["bias"])[0]), abs=1e-4)


def case_of(pair, **more):
    """A case as the notebook makes it, on a judge that prefers B and is sure, and one that says what stands first."""
    given = {"minilm": verdicts_of("minilm", pair.item_id, "B", None, 0.91)}
    given |= {"gpt_4": verdicts_of("gpt_4", pair.item_id, "A", "B")}
    table = NOTEBOOK.by_pair(Contest("planted", "sample_natural", [pair], given))
    pushes, before, _ = NOTEBOOK.dissect(features(), pair)
    case = {"name": "confident_error_1", "title": "Confident error", "set": "planted", "judge": "minilm", "pair": pair}
    case |= {"verdicts": table, "verdict": "B", "p_a": 0.045, "p_b": 0.91, "judges": 2, "with_label": 0, "texts": {}}
    case |= {"pushes": pushes, "by_features": before, "beside": None, "attack": None, "words_a": 14, "words_b": 5}
    return (case | {"why": "Because."} | more) | {"why": NOTEBOOK.why(case | more)}


def test_reasons_are_computed_from_the_case():
    words = case_of(LISTED)["why"]
    assert words.startswith(
        "MiniLM (ours) says B (A 0.04, B 0.91); the label is A, and 0 of 2 judges say so. Words: 14 "
    )
    pushes = NOTEBOOK.dissect(features(), LISTED)[0]
    best = pushes.idxmax()
    assert f"For A speak most, in the score of MiniLM (ours): {best.replace('_', ' ')} ({pushes[best]:.2f}), " in words
    assert "gate" not in words and "edit" not in words
    edited = case_of(LISTED, beside=0.25, attack="correct_assertion", added=7, p_before=0.1, p_after=0.75)["why"]
    assert "off-topic with probability 0.25. The edit correct assertion adds 7 words" in edited
    assert edited.endswith("from 0.10 to 0.75.")


def test_a_text_is_shipped_only_where_the_licences_of_its_set_let_it():
    assert case_studies.licence_of("mtbench") == "Apache-2.0, CC-BY-4.0" and case_studies.licence_of("pandalm")
    assert case_studies.licence_of("llmbar_natural") == "MIT" and case_studies.licence_of("sample_natural")
    for name in ("autoj", "judgebench", "planted", "file:own.jsonl"):
        assert case_studies.licence_of(name) is None


def test_what_is_tracked_holds_no_text_of_a_set_without_a_licence(project):  # noqa: F811
    secret = pair_of("i0", benchmark="autoj")
    flip = case_of(secret, name="flip_1", texts={"Reply of minilm": f"Because of the {SECRET}."})
    cases = [case_of(LISTED), flip]
    tracked = case_studies.save_cases("laptop", cases).read_text()
    assert SECRET not in tracked and "Red" not in tracked and "{authored here}{A}" in tracked
    assert r"\relax MiniLM (ours) & B & B & B & 0.04 & 0.91 & 0.04 \\" in tracked.replace("0.05", "0.04")
    assert r"\IfFileExists{../outputs/laptop/cases/unshipped/flip_1.tex}" in tracked and "has no licence" in tracked
    folder = project / "outputs" / "laptop" / "cases"
    texts = {path.stem: path.read_text() for path in folder.rglob("*.tex")}
    assert [path.stem for path in folder.glob("*.tex")] == ["confident_error_1"] and "Red" in texts["confident_error_1"]
    assert SECRET in texts["flip_1"] and "Because of the" in texts["flip_1"]
    case_studies.save_cases("laptop", cases[:1])
    assert [path.stem for path in folder.rglob("*.tex")] == ["confident_error_1"]


def test_judges_stand_with_what_they_say_in_both_orders(project):  # noqa: F811
    pages = case_studies.save_cases("laptop", [case_of(LISTED)]).read_text()
    assert r"\casesaid{B}{\casejudge{MiniLM (ours)}}%" in pages and r"\casesaid{first}{\casejudge{GPT-4}}%" in pages
    assert r"\casesaid{A}{}%" in pages and r"\caseonce" not in pages, "both were asked in both orders"
    once = case_of(LISTED)
    once["verdicts"] = once["verdicts"].assign(ba=None)
    pages = case_studies.save_cases("laptop", [once]).read_text()
    assert r"\casesaid{A}{\casejudge{GPT-4}\caseonce}%" in pages


@pytest.mark.parametrize("edition", ["cases", "zh/cases"])
def test_every_case_of_the_report_is_read_there(edition):
    pages = (ROOT / "outputs" / "laptop" / "tables" / "case_studies.tex").read_text(encoding="utf-8")
    text = (ROOT / "report" / "sections" / f"{edition}.tex").read_text(encoding="utf-8")
    found = re.findall(r"\\casereading\{(.*)\}", pages)
    assert len(found) == 6 and re.findall(r"\\reading\{(.*?)\}", text) == found
    kinds = re.findall(r"\\begin\{casestudy\}\{(.*?)\}", pages)
    assert re.findall(r"\\casename\{(.*?)\}", text) == kinds


def test_the_page_for_the_screen_fences_texts_and_leaves_out_what_has_no_licence():
    hostile = "```\n````\n<script>alert(1)</script>"
    shipped = pair_of("i1", question="Why?", response_a="So.", response_b=hostile)
    page = NOTEBOOK.screen_page([case_of(shipped), case_of(pair_of("i0", benchmark="autoj"))])
    assert f"**Response B**\n\n`````text\n{hostile}\n`````\n" in page and "| MiniLM (ours) | B | B |" in page
    assert SECRET not in page and page.count("\n## ") == 1 and page.endswith("Texts: authored here.\n")


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_text_full_of_commands_stays_a_text(kind, project):  # noqa: F811
    text = HOSTILE[kind]
    pair = pair_of("i0", question=text or "?", response_a=text, response_b=f"b {text}", model_a=text.strip() or None)
    case_studies.save_cases("laptop", [case_of(pair, texts={"Reply of minilm": text})], limit=5000)
    tex = (project / "outputs" / "laptop" / "cases" / "confident_error_1.tex").read_text()
    assert typeset(text, 5000) in tex and typeset(f"b {text}", 5000) in tex
    bare = re.sub(r"\\textbackslash\{\}", "", tex)
    for command in ("input", "write18", "end", "directlua", "csname", "begin"):
        assert rf"\{command}" not in bare


@needs_lualatex
def test_pages_compile_with_the_texts_and_without(project):  # noqa: F811
    pair = pair_of("i0", question=HOSTILE["commands"], response_a=HOSTILE["special"], response_b=HOSTILE["chinese"])
    cases = [case_of(pair, texts={"Added to response B": HOSTILE["commands"]}), case_of(LISTED, name="flip_1")]
    shutil.rmtree(case_studies.save_cases("laptop", cases).parents[1] / "cases")
    save_results("laptop", "70_case_studies", {"cases.all.chosen": Number(2)})
    write_document(project, r"\input{../outputs/\run/tables/case_studies}")
    log = project / "report" / "build" / "laptop" / "report.log"
    latex.build("laptop", "report")
    assert "cases/confident_error_1.tex" not in log.read_text(errors="replace")
    case_studies.save_cases("laptop", cases)
    latex.build("laptop", "report")
    assert "cases/confident_error_1.tex" in log.read_text(errors="replace"), "what has come to be is read"
