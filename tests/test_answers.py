"""Single responses to learn from: on small authored rows in each file's form, and counts on the real files."""

import io
import json
import tarfile

import pytest

from judgekit.data.catalogue import answer_set_hashes, load_answer_set_with_report
from judgekit.data.corpora import ANSWERS, answers, preferred_responses
from judgekit.data.sources import DataError, Row, find_source
from judgekit.records import PreferencePair, Turn


def rows_of(*records, file="authored.json"):
    return [Row(record, file, number) for number, record in enumerate(records)]


# --- rated


def test_ratings_are_read_from_the_prompt():
    prompt = "Grade.\n***\n[Query]: Why?\nSay.\n***\n[Response]: So.\n***\n[END DATA]\n\nRate it."
    ((response,), _) = ANSWERS["autoj_single"].build(rows_of({"usrmsg": prompt, "pred_score": 6.5}))
    assert (response.question, response.response, response.score) == ("Why?\nSay.", "So.", 6.5)
    assert (response.benchmark, response.label_kind, response.source) == ("autoj_single", "gpt-4", "authored.json:0")
    with pytest.raises(DataError, match=r"authored\.json:0: field 'usrmsg' does not hold"):
        ANSWERS["autoj_single"].build(rows_of({"usrmsg": "Grade.", "pred_score": 6.5}))


def test_responses_that_answer_nothing_are_skipped():
    def record(kind, response="Rest."):
        return {
            "instance": {"query": "Why?", "response": response},
            "annotations": {"response type": {"majority_human": kind}},
        }

    kinds = ("General information", "No answer", "Irrelevant or nonsensical", "Non-medical")
    rows = rows_of(*map(record, kinds), record("General information", None))
    responses, report = ANSWERS["medical_safety"].build(rows)
    assert [response.item_id for response in responses] == ["0", "3"]
    assert report == {"skipped_no_text": 1, "skipped_answers_nothing": 2}
    with pytest.raises(DataError, match="field 'response' is int, not text"):
        ANSWERS["medical_safety"].build(rows_of(record("General information", 3)))


def kto_record(*roles, label=True):
    messages = [{"role": role, "content": f"{role} {n}"} for n, role in enumerate(roles)]
    return {"messages": messages, "label": label}


def test_kto_conversations_become_turns():
    rows = rows_of(kto_record("user", "assistant", "user", "assistant"), kto_record("user", "assistant", label=False))
    (long, alone), _ = ANSWERS["kto_en"].build(rows)
    assert (long.question, long.response, long.score) == ("user 2", "assistant 3", 1)
    assert long.turns == (Turn("user 0", "assistant 1", "assistant 1"),)
    assert (alone.turns, alone.score) == ((), 0)


# --- worked


def tar_of(files):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    return stream.getvalue()


def test_only_training_problems_are_read(monkeypatch):
    def of(files):
        monkeypatch.setattr(answers, "read_bytes", lambda name: tar_of(files))
        return ANSWERS["math_train"].load()

    problem = json.dumps({"problem": "1+1?", "solution": "2"}).encode()
    files = {"x/MATH/train/algebra/7.json": problem, "x/MATH/test/algebra/7.json": problem, "x/README.txt": b"read me"}
    responses, report = of(files)
    assert [(r.item_id, r.question, r.response) for r in responses] == [("algebra/7", "1+1?", "2")]
    assert report == {"skipped_not_train": 1}
    with pytest.raises(DataError, match=r"train/algebra/7\.json:0: field 'solution' is missing"):
        of({"train/algebra/7.json": b'{"problem": "1+1?"}'})


def test_references_are_read():
    flask, report = ANSWERS["flask"].build(
        rows_of({"idx": 5, "instruction": "Do.", "answer": "Done."}, {"idx": 6, "instruction": "Do.", "answer": " "})
    )
    assert [(r.item_id, r.response) for r in flask] == [("5", "Done.")] and report == {"skipped_no_answer": 1}
    ((biggen,), _) = ANSWERS["biggen"].build(rows_of({"id": "plan_0", "input": "Plan.", "reference_answer": "A plan."}))
    assert (biggen.item_id, biggen.question, biggen.response) == ("plan_0", "Plan.", "A plan.")
    ((summary,), _) = ANSWERS["writer_summaries"].build(rows_of({"article": "News.", "summary": "N."}))
    assert summary.question.endswith("\n\nNews.") and summary.label_kind == "human"
    three, _ = ANSWERS["critiquellm_train"].build(
        rows_of({"question": "问?", "reference": "r", "response_1": "x", "response_2": "y"})
    )
    assert [r.response for r in three] == ["r", "x", "y"] and len({r.item_id for r in three}) == 3
    with pytest.raises(DataError, match="field 'answer' is missing"):
        ANSWERS["flask"].build(rows_of({"idx": 5, "instruction": "Do."}))


def test_each_model_of_a_question_is_a_response():
    responses, _ = ANSWERS["cobbler"].build(rows_of({"instruction": "Q?", "reference": "R", "gpt4": "x", "mpt": "y"}))
    assert [(r.item_id, r.model, r.response, r.reference) for r in responses] == [
        ("0:gpt4", "gpt4", "x", "R"),
        ("0:mpt", "mpt", "y", "R"),
    ]


# --- of pairs


def pair(item_id, label, a="good", b="bad"):
    return PreferencePair(item_id, "set", "Q?", a, b, cluster_id="q", model_a="m", model_b="n", label=label)


def test_the_better_response_of_a_pair_is_kept_once():
    pairs = [pair("1", "A"), pair("2", "B", "worse", "good"), pair("3", "B"), pair("4", "tie"), pair("5", None)]
    responses, report = preferred_responses(pairs)
    assert [(r.item_id, r.response, r.model) for r in responses] == [("1", "good", "m"), ("3", "bad", "n")]
    assert report == {"skipped_undecided": 2, "skipped_again": 1}


# --- the records


def test_unknown_names_list_the_known_ones():
    with pytest.raises(KeyError, match="halueval"):
        load_answer_set_with_report("halu")


# --- the real files

GOLDEN = {
    "autoj_single": (960, 825),
    "halueval": (4507, 4507),
    "shepherd": (1317, 1316),
    "medical_safety": (2381, 1356),
    "kto_en": (300, 297),
    "flask": (1740, 1739),
    "biggen": (765, 765),
    "gsm8k_train": (7473, 7473),
    "math_train": (7500, 7500),
    "writer_summaries": (302, 109),
    "critiquellm_train": (144, 12),
    "cobbler": (750, 50),
    "dpo_en": (295, 295),
    "dpo_zh": (289, 289),
    "oasst_zh": (1210, 750),
    "medicalgpt": (500, 500),
    "kto_mix": (546, 546),
}


@pytest.mark.realdata
@pytest.mark.parametrize("name", ANSWERS)
def test_golden_counts(name):
    responses, report = load_answer_set_with_report(name)
    n, clusters = GOLDEN[name]
    assert len(responses) == report["items"] == n
    assert len({response.cluster_id for response in responses}) == clusters
    assert {response.benchmark for response in responses} == {name}
    assert all(response.source and response.cluster_id for response in responses)


@pytest.mark.parametrize("name", ANSWERS)
def test_no_file_of_a_test_set_is_read(name):
    files = answer_set_hashes([name])
    assert files and {find_source(file).split for file in files} <= {"train", "meta"}
