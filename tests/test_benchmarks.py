"""The test sets' loaders: on small authored rows, and golden counts on the real files."""

import json
import re
from collections import Counter

import pytest

from judgekit.data.benchmarks import BENCHMARKS, GROUP_OF_SCENARIO, LLMBAR, SCENARIO_GROUPS, mtbench, outputs
from judgekit.data.catalogue import load_set, load_set_with_report, set_hashes
from judgekit.data.sources import DataError, Row
from judgekit.records import Turn


def rows_of(*records, file="authored.json"):
    return [Row(record, file, number) for number, record in enumerate(records)]


# --- PandaLM


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


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"annotator2": 3}, "authored.json:0: field 'annotator2' is 3"),
        ({"annotator2": True}, "authored.json:0: field 'annotator2' is True"),
        ({"response1": None}, "authored.json:0: field 'response1' is NoneType"),
    ],
)
def test_pandalm_bad_fields_are_named(changes, words):
    with pytest.raises(DataError, match=re.escape(words)):
        BENCHMARKS["pandalm"].build(rows_of(pandalm_record(**changes)))


# --- Auto-J, LLMBar, JudgeBench


def test_autoj_labels_and_groups():
    record = {"scenario": "chitchat", "label": 0, "prompt": "Hi?", "response 1": "Hello.", "response 2": ""}
    pairs, _ = BENCHMARKS["autoj"].build(rows_of(record, record | {"label": 1}, record | {"label": 2}))
    assert [pair.label for pair in pairs] == ["A", "B", "tie"]
    assert [pair.item_id for pair in pairs] == ["0", "1", "2"]
    assert len({pair.cluster_id for pair in pairs}) == 1
    assert GROUP_OF_SCENARIO[pairs[0].subset] == "general_communication"
    assert len(GROUP_OF_SCENARIO) == 58 and len(SCENARIO_GROUPS) == 8
    with pytest.raises(DataError, match="field 'label' is 3"):
        BENCHMARKS["autoj"].build(rows_of(record | {"label": 3}))


def test_llmbar_labels():
    record = {"input": "Write.", "output_1": "a", "output_2": "b", "label": 1}
    file = LLMBAR["manual"]
    pairs, _ = BENCHMARKS["llmbar_manual"].build(rows_of(record, record | {"label": "2"}, file=file))
    assert [(pair.label, pair.item_id) for pair in pairs] == [("A", "manual-0"), ("B", "manual-1")]
    with pytest.raises(DataError, match="field 'label' is 0"):
        BENCHMARKS["llmbar_manual"].build(rows_of(record | {"label": 0}, file=file))


# --- MT-bench


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


def file_votes(*records):
    questions = {81: Row({"question_id": 81, "turns": ["Count.", "Go on."], "category": "math"}, "q.jsonl", 0)}
    answers = rows_of(
        {"question_id": 81, "model": "m", "turns": ["one", "two"]},
        {"question_id": 81, "model": "n", "turns": ["uno", "due"]},
        {"question_id": 81, "model": "mute", "turns": ["", "two"]},
    )
    return mtbench.votes_from_files(rows_of(*records), questions, answers)


def test_mtbench_votes_of_both_forms_make_the_same_pairs():
    from_hub = mtbench.votes_from_hub_rows(rows_of(hub_record(), hub_record(turn=1)))
    from_files = file_votes(vote_record(), vote_record(turn=1))
    assert from_hub == from_files
    pairs, report = mtbench.pairs_from_votes(from_hub, {81: "math"}, {81: ("1", "2")})
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
    pairs, report = mtbench.pairs_from_votes(votes, {}, {})
    assert [pair.item_id for pair in pairs] == ["81:m:n:2", "81:n:m:2"]
    assert pairs[0].votes == {"expert_1": "A", "expert_2": "tie", "expert_1#2": "B"}
    assert pairs[0].label is None and pairs[1].label == "tie" and pairs[0].reference is None
    assert report["votes"] == 4


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (lambda: file_votes(vote_record(winner="model_c")), "authored.json:0: field 'winner' is 'model_c'"),
        (lambda: file_votes(vote_record(turn=3)), "authored.json:0: field 'turn' is 3"),
    ],
)
def test_mtbench_bad_fields_are_named(read, words):
    with pytest.raises(DataError, match=re.escape(words)):
        read()


# --- stored verdicts


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


def test_unknown_names_list_the_known_ones():
    with pytest.raises(KeyError, match="pandalm"):
        load_set("panda")
    with pytest.raises(KeyError, match="pandalm-7b"):
        outputs.published_verdicts("nobody")


# --- golden counts


GOLDEN = {
    "pandalm": (999, {"A": 422, "B": 472, "tie": 105}, 170),
    "autoj": (1392, {"A": 520, "B": 499, "tie": 373}, 1182),
    "llmbar_natural": (100, {"A": 42, "B": 58}, 100),
    "llmbar_neighbor": (134, {"A": 75, "B": 59}, 134),
    "llmbar_gptinst": (92, {"A": 45, "B": 47}, 92),
    "llmbar_gptout": (47, {"A": 22, "B": 25}, 47),
    "llmbar_manual": (46, {"A": 22, "B": 24}, 46),
    "llmbar_adversarial": (319, {"A": 164, "B": 155}, 318),
    "judgebench": (620, {"A": 193 + 143, "B": 157 + 127}, 528),
    "rm_bench": (798 * 9, {"A": 3632, "B": 3550}, 796),
    "evalbiasbench": (80, {"A": 44, "B": 36}, 79),
}


@pytest.mark.realdata
@pytest.mark.parametrize("name", GOLDEN)
def test_golden_counts(name):
    pairs = load_set(name)
    n, labels, clusters = GOLDEN[name]
    assert len(pairs) == n
    assert Counter(pair.label for pair in pairs) == labels
    assert len({pair.cluster_id for pair in pairs}) == clusters
    assert {pair.benchmark for pair in pairs} == {name}
    assert all(pair.label_kind and pair.source for pair in pairs)


@pytest.mark.realdata
def test_golden_pandalm_annotators():
    from sklearn.metrics import cohen_kappa_score

    pairs, report = load_set_with_report("pandalm")
    assert report == {"items": 999, "empty_responses": 54, "boolean_responses": 6, "no_majority": 0}
    assert sum(len(set(pair.votes.values())) == 1 for pair in pairs) == 879
    one, two, three = ([pair.votes[annotator] for pair in pairs] for annotator in pairs[0].votes)
    kappas = [cohen_kappa_score(*raters) for raters in ((one, two), (one, three), (two, three))]
    assert sorted(round(kappa, 3) for kappa in kappas) == [0.852, 0.862, 0.879]


@pytest.mark.realdata
def test_golden_mtbench(mirror):
    pairs, report = load_set_with_report("mtbench")
    assert report["votes"] == sum(len(pair.votes) for pair in pairs) == 2619
    assert (report["missing_responses"], report["empty_turns"]) == (3, 13)
    assert sum(len(pair.votes) for pair in pairs if pair.label_kind == "missing") == 3
    assert Counter(label for pair in pairs for label in pair.votes.values()) == {"A": 808, "B": 1195, "tie": 616}
    assert sum(len(pair.votes) for pair in pairs if not pair.turns) == 1689
    assert len({pair.cluster_id for pair in pairs}) == 80
    # 1,848 ordered cells; the same two models stand in both orders in some, so there are fewer unordered ones.
    unordered = {(pair.cluster_id, frozenset((pair.model_a, pair.model_b)), len(pair.turns)) for pair in pairs}
    assert (len(pairs), len(unordered)) == (1848, 1529)


def right(benchmark, judge, order):
    """Ids of the items on which a stored judge is right in an order."""
    labels = {pair.item_id: pair.label for pair in load_set(benchmark)}
    verdicts = [verdict for verdict in outputs.published_verdicts(judge) if verdict.order == order]
    assert {verdict.judge for verdict in verdicts} == {f"replay/{judge}"}
    return {verdict.item_id for verdict in verdicts if verdict.verdict == labels.get(verdict.item_id, "none")}


@pytest.mark.realdata
def test_golden_stored_verdicts():
    given, exchanged = right("autoj", "auto-j-13b", "ab"), right("autoj", "auto-j-13b", "ba")
    assert round(100 * len(given) / 1392, 2) == 59.99
    assert round(100 * len(exchanged) / 1392, 2) == 60.63
    assert round(100 * len(given & exchanged) / 1392, 2) == 54.96
    assert len(right("pandalm", "pandalm-7b", "ab")) == 667
    assert len(right("pandalm", "judgelrm-3b", "ab")) == 776
    assert len(right("pandalm", "judgelrm-7b", "ab")) == 782


@pytest.mark.realdata
def test_golden_llmbar_evaluator():
    hits = {}
    for name in ("natural", "neighbor", "gptinst", "gptout", "manual"):
        both = [right(f"llmbar_{name}", "gpt-4-vanilla-norules", order) for order in ("ab", "ba")]
        hits[name] = sum(map(len, both))
    assert hits == {"natural": 187, "neighbor": 172, "gptinst": 141, "gptout": 72, "manual": 69}


@pytest.mark.realdata
def test_provenance_names_the_files_read():
    for name in BENCHMARKS:
        assert all(len(digest) == 64 for digest in set_hashes([name]).values())
    assert "mtbench_derived/mtbench_human_votes.jsonl" in set_hashes(["mtbench"])


def test_mtbench_is_read_from_the_hub_without_a_mirror(monkeypatch):
    files = {
        mtbench.QUESTION_FILE: [{"question_id": 81, "category": "math", "turns": ["Count.", "Go on."]}],
        mtbench.REFERENCE_FILE: [{"question_id": 81, "choices": [{"index": 0, "turns": ["1", "2"]}]}],
    }
    monkeypatch.setattr(mtbench.paths, "data_mirror", lambda: None)
    monkeypatch.setattr(mtbench, "read_rows", lambda name: rows_of(*files[name]))
    monkeypatch.setattr(mtbench, "vote_rows", lambda file: rows_of(hub_record()))
    pairs, _ = load_set_with_report("mtbench")
    assert (pairs[0].subset, pairs[0].reference, pairs[0].response_a) == ("math", "2", "two")
    assert list(set_hashes(["mtbench"])) == [
        *files,
        "hub:lmsys/mt_bench_human_judgments@f7d2896d2cc5d80f8b55c2bbc722613555233c25",
    ]
