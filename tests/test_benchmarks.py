"""The test sets' loaders and stored verdicts: on small authored rows, and golden numbers on the real files."""

import json
import re
from collections import Counter

import pytest
from notebook_functions import functions_of
from test_corpora import rows_of

from judgekit.data import benchmarks, catalogue
from judgekit.data.benchmarks import BENCHMARKS, LLMBAR, mtbench, outputs
from judgekit.data.catalogue import load_set, load_set_with_report, set_hashes
from judgekit.data.sources import DataError, rows
from judgekit.data.sources.rows import Row
from judgekit.records import Turn
from judgekit.scoring.protocols import protocol_of


def pandalm_record(**changes):
    record = {"idx": 7, "motivation_app": "Quora", "cmp_key": "bloom-7b_llama-7b", "instruction": "Add.", "input": ""}
    record |= {"response1": "4", "response2": "5", "annotator1": 1, "annotator2": 1, "annotator3": 0}
    return record | changes


def test_pandalm_label_is_the_majority_and_booleans_become_words():
    pairs, report = BENCHMARKS["pandalm"].build(
        rows_of(
            pandalm_record(),
            pandalm_record(idx=8, input="2 + 2", response1=True, annotator1=2, annotator3=2),
            pandalm_record(idx=9, annotator2=2),
        )
    )
    assert [pair.label for pair in pairs] == ["A", "B", None]
    assert pairs[0].votes == {"annotator1": "A", "annotator2": "A", "annotator3": "tie"}
    assert (pairs[0].model_a, pairs[0].model_b, pairs[0].item_id) == ("bloom-7b", "llama-7b", "7")
    assert pairs[0].question == "Add." and pairs[1].question == "Add.\n\n2 + 2"
    assert pairs[1].response_a == "True"
    assert pairs[0].cluster_id == pairs[2].cluster_id != pairs[1].cluster_id
    assert pairs[1].source == "authored.json:1"
    assert report == {"boolean_responses": 1, "no_majority": 1}


AUTOJ = {"scenario": "chitchat", "label": 0, "prompt": "Hi?", "response 1": "Hello.", "response 2": ""}
LLMBAR_ROW = {"input": "Write.", "output_1": "a", "output_2": "b", "label": 1}


def test_autoj_labels_and_groups():
    pairs, _ = BENCHMARKS["autoj"].build(rows_of(AUTOJ, AUTOJ | {"label": 1}, AUTOJ | {"label": 2}))
    assert [pair.label for pair in pairs] == ["A", "B", "tie"]
    assert [pair.item_id for pair in pairs] == ["0", "1", "2"]
    assert len({pair.cluster_id for pair in pairs}) == 1
    groups = functions_of("44_domains").GROUP_OF_SCENARIO
    assert groups[pairs[0].subset] == "general_communication"
    assert len(groups) == 58 and len(set(groups.values())) == 8


def test_llmbar_labels():
    pairs, _ = BENCHMARKS["llmbar_manual"].build(
        rows_of(LLMBAR_ROW, LLMBAR_ROW | {"label": "2"}, file=LLMBAR["manual"])
    )
    assert [(pair.label, pair.item_id) for pair in pairs] == [("A", "manual-0"), ("B", "manual-1")]


def vote_record(**changes):
    record = {"question_id": 81, "turn": 2, "model_a": "m", "model_b": "n", "judge": "expert_1", "winner": "model_a"}
    return record | changes


def hub_record(**changes):
    said = {"conversation_a": ("one", "two"), "conversation_b": ("uno", "due")}
    record = vote_record()
    for field, (first, second) in said.items():
        texts = ("Count.", first, "Go on.", second)
        roles = ("user", "assistant") * 2
        record[field] = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
    return record | changes


QUESTION = {"question_id": 81, "turns": ["Count.", "Go on."], "category": "math"}
QUESTIONS = {81: Row(QUESTION, "q.jsonl", 0)}


def file_votes(*records):
    answers = rows_of(
        {"question_id": 81, "model": "m", "turns": ["one", "two"]},
        {"question_id": 81, "model": "n", "turns": ["uno", "due"]},
        {"question_id": 81, "model": "mute", "turns": ["", "two"]},
    )
    return mtbench.votes_from_files(rows_of(*records), QUESTIONS, answers)


def test_mtbench_votes_of_both_forms_make_the_same_pairs():
    from_hub = mtbench.votes_from_hub_rows(rows_of(hub_record(), hub_record(turn=1)))
    from_files = file_votes(vote_record(), vote_record(turn=1))
    (pairs, report), again = (
        mtbench.pairs_from_votes(votes, QUESTIONS, {81: ("1", "2")}, "mtbench") for votes in (from_hub, from_files)
    )
    assert again == (pairs, report)
    second, first = pairs
    assert (second.question, second.response_a, second.response_b) == ("Go on.", "two", "due")
    assert second.turns == (Turn("Count.", "one", "uno"),)
    assert (first.question, first.response_a, first.turns) == ("Count.", "one", ())
    assert (first.reference, second.reference) == ("1", "2")
    assert (second.item_id, second.subset, second.cluster_id) == ("81:m:n:2", "math", "81")
    assert report == {"votes": 2, "missing_responses": 0, "empty_turns": 0}


def test_mtbench_keeps_every_vote_and_the_order_of_its_row():
    votes = file_votes(
        vote_record(),
        vote_record(judge="expert_2", winner="tie"),
        vote_record(winner="model_b"),
        vote_record(model_a="n", model_b="m", winner="tie (inconsistent)"),
    )
    pairs, report = mtbench.pairs_from_votes(votes, QUESTIONS, {}, "mtbench")
    assert [pair.item_id for pair in pairs] == ["81:m:n:2", "81:n:m:2"]
    assert pairs[0].votes == {"expert_1": "A", "expert_2": "tie", "expert_1#2": "B"}
    assert pairs[0].label is None and pairs[1].label == "tie" and pairs[0].reference is None
    assert report["votes"] == 4
    for field, value in (("winner", "model_c"), ("turn", 3)):
        with pytest.raises(DataError, match=rf"authored\.json:0: field '{field}' is {value!r}"):
            mtbench.pairs_from_votes(file_votes(vote_record(**{field: value})), QUESTIONS, {}, "mtbench")


RM_BENCH = {
    "prompt": "Add one and one.",
    "chosen": ["2", "It is 2.", "**2**"],
    "rejected": ["3", "It is 3.", "**3**"],
}
EVALBIAS = {"bias": "length bias", "response1": "good", "response2": "bad", "label": 1}


def rm_pairs(**changes):
    rows = rows_of(*[RM_BENCH] * 3, RM_BENCH | changes, file=benchmarks.RM_BENCH["code"])
    return BENCHMARKS["rm_bench"].build(rows[3:])[0]


def test_a_prompt_of_rm_bench_makes_nine_pairs():
    pairs = rm_pairs()
    assert Counter(pair.subset for pair in pairs) == {"code/easy": 3, "code/normal": 3, "code/hard": 3}
    assert len({pair.item_id for pair in pairs}) == 9 and len({pair.cluster_id for pair in pairs}) == 1
    right = {p.item_id: (p.response_a, p.response_b)[p.label == "B"] for p in pairs}
    wrong = {p.item_id: (p.response_a, p.response_b)[p.label == "A"] for p in pairs}
    assert right["code-3/markdown-concise"] == "**2**" and wrong["code-3/markdown-concise"] == "3"
    assert {p.item_id: p.subset for p in pairs}["code-3/markdown-concise"] == "code/easy"
    assert {p.item_id: p.subset for p in pairs}["code-3/concise-markdown"] == "code/hard"
    assert {p.label for i in range(9) for p in rm_pairs(prompt=str(i))} == {"A", "B"}


def test_the_good_response_of_evalbiasbench_stands_on_either_side():
    rows = rows_of(*(EVALBIAS | {"instruction": f"{n}?"} for n in range(40)))
    pairs, _ = BENCHMARKS["evalbiasbench"].build(rows)
    assert {pair.subset for pair in pairs} == {"length_bias"}
    assert all((pair.response_a, pair.response_b)[pair.label == "B"] == "good" for pair in pairs)
    assert 8 < sum(pair.label == "A" for pair in pairs) < 32
    assert [pair.label for pair in pairs] == [pair.label for pair in BENCHMARKS["evalbiasbench"].build(rows)[0]]


def test_a_file_that_is_not_grouped_is_refused(monkeypatch):
    monkeypatch.setattr(rows, "read_document", lambda source: '{"a": 1}')
    with pytest.raises(DataError, match=r"biasbench\.json:0: the row is int"):
        BENCHMARKS["evalbiasbench"].load()


@pytest.mark.parametrize(
    ("build", "record", "words"),
    [
        ("pandalm", pandalm_record(annotator2=3), "field 'annotator2' is 3"),
        ("pandalm", pandalm_record(annotator2=True), "field 'annotator2' is True"),
        ("pandalm", pandalm_record(response1=None), "field 'response1' is NoneType"),
        ("autoj", AUTOJ | {"label": 3}, "field 'label' is 3"),
        ("llmbar_manual", LLMBAR_ROW | {"label": 0}, "field 'label' is 0"),
        ("rm_bench", RM_BENCH | {"chosen": ["a", "b"]}, "field 'chosen' holds 2 texts, not 3"),
        ("rm_bench", RM_BENCH | {"rejected": ["a", 1, "b"]}, "field 'rejected' is not a list"),
        ("evalbiasbench", EVALBIAS | {"instruction": "Why?", "label": 0}, "field 'label' is 0"),
    ],
)
def test_bad_fields_are_named(build, record, words):
    file = {"rm_bench": benchmarks.RM_BENCH["code"], "llmbar_manual": LLMBAR["manual"]}.get(build, "authored.json")
    with pytest.raises(DataError, match=re.escape(f"{file}:0: {words}")):
        BENCHMARKS[build].build(rows_of(record, file=file))


def read(reader, *records, file="authored.json", **options):
    return [verdict for row in rows_of(*records, file=file) for verdict in reader(row, "j", **options)]


def test_pandalm_outputs_keep_what_could_not_be_parsed():
    records = [{"idx": n, "gpt_result": said, "gpt_reason": "r"} for n, said in enumerate(["1", "2", "Tie", "garbage"])]
    verdicts = read(outputs.pandalm_row, *records, prefix="gpt")
    assert [verdict.verdict for verdict in verdicts] == ["A", "B", "tie", None]
    assert [verdict.status for verdict in verdicts] == ["ok", "ok", "ok", "unparsed"]
    assert json.loads(verdicts[0].raw) == {"result": "1", "reason": "r", "reference": None}


def test_exchanged_outputs_are_turned_back():
    records = {"output": "0"}, {"output": 1}, {"output": 2}
    files = outputs.PUBLISHED["auto-j-13b"].files
    verdicts = [verdict for file in files for verdict in read(outputs.autoj_row, *records, file=file)]
    assert [verdict.verdict for verdict in verdicts] == ["A", "B", "tie", "B", "A", "tie"]
    assert [verdict.order for verdict in verdicts] == ["ab"] * 3 + ["ba"] * 3


def test_judgebench_outputs_carry_scores_in_the_items_order():
    judgments = [
        {"judgment": {"scores": [3.0, 1.0]}, "decision": "A>B"},
        {"judgment": {"scores": [1.0, 3.0]}, "decision": "B>A"},
    ]
    verdicts = read(outputs.judgebench_row, {"pair_id": "x", "judgments": judgments})
    assert [(v.order, v.verdict, v.score_a, v.score_b) for v in verdicts] == [("ab", "A", 3, 1), ("ba", "A", 3, 1)]


def test_llmbar_outputs_are_the_last_call_in_both_orders():
    early = {"swap = False": {"winner": "2"}, "swap = True": {"winner": "2"}}
    last = {
        "swap = False": {"winner": "1", "completion": ["Output (a)", "stop"]},
        "swap = True": {"winner": None, "completion": None},
        "score_1": 7,
        "score_2": "?",
    }
    file = outputs.PUBLISHED["gpt-4-vanilla"].files[0]
    first, second = read(outputs.llmbar_row, {"results": [early, last]}, file=file)
    assert (first.order, first.verdict, first.raw, first.score_a, first.score_b) == ("ab", "A", "Output (a)", 7, None)
    assert (second.order, second.verdict, second.status) == ("ba", None, "unparsed")


def test_all_votes_of_mtbench_are_a_set_of_their_own_and_stand_for_it_without_a_mirror(monkeypatch, tmp_path):
    files = {
        mtbench.QUESTION_FILE: QUESTION,
        mtbench.REFERENCE_FILE: {"question_id": 81, "choices": [{"index": 0, "turns": ["1", "2"]}]},
        mtbench.HUB_VOTES: hub_record(),
    }
    for module in (mtbench, outputs):
        monkeypatch.setattr(module, "read_rows", lambda name: rows_of(files[name]))
    pairs, _ = load_set_with_report("mtbench_all")
    assert (pairs[0].subset, pairs[0].reference, pairs[0].response_a) == ("math", "2", "two")
    assert pairs[0].benchmark == "mtbench_all" and protocol_of("mtbench_all") == protocol_of("mtbench")
    assert list(set_hashes(["mtbench_all"])) == list(files)
    for mirror, name in ((tmp_path, "mtbench"), (None, "mtbench_all")):
        for module in (catalogue, outputs):
            monkeypatch.setattr(module, "data_mirror", lambda mirror=mirror: mirror)
        seen = []
        monkeypatch.setattr(catalogue, "load_set", lambda name, seen=seen: seen.append(name) or [])
        monkeypatch.setattr(catalogue, "protected_prompts", list)
        catalogue.questions_of_tests()
        assert [one for one in seen if one.startswith("mtbench")] == [name]
    files[mtbench.HUB_GPT4] = vote_record(judge="gpt4_pair")
    outputs._mtbench_items.cache_clear()
    assert [one.item_id for one in outputs.published_verdicts("gpt-4-pair")] == ["81:m:n:2"]
    assert list(outputs.published_hashes("gpt-4-pair")) == [mtbench.HUB_GPT4]
    outputs._mtbench_items.cache_clear()


@pytest.mark.realdata
def test_scoring_a_protected_set_changes_nothing_that_training_is_cleaned_by():
    questions = catalogue.questions_of_tests()
    places = {text: where for where, text in reversed(questions)}  # the first place of a question is the one recorded
    assert not [where for where, _ in questions if where.startswith(("rm_bench/chat-", "evalbiasbench/0"))]
    for name in catalogue.LONG_PROTECTED:
        asked = {pair.question for pair in load_set(name)}
        assert asked <= set(places), name
    assert len(questions) == 8930, "a set was added or left out: make the split of notebook 10 again"
