"""Preference sets of the hub: on small authored rows, read from files in the hub's form."""

import json
import math
import re

import pandas as pd
import pytest

from judgekit.data import paths
from judgekit.data.corpora import HUB_CORPORA, corpus_hashes, hub, load_corpus_with_report
from judgekit.data.corpora.hub import read_corpus_rows, resolved_commit
from judgekit.data.loading import keeps_sides
from judgekit.data.sources import DataError, Row
from judgekit.records import Turn


def chat(*texts):
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def wishes(*scores):
    return [{"score": score, "reasoning": "So.", "feedback1": "x", "feedback2": "y"} for score in scores]


ROWS = {
    "helpsteer3": {
        "domain": "general",
        "language": "english",
        "context": chat("Hi", "Hello.", "Why?"),
        "response1": "good",
        "response2": "bad",
        "overall_preference": -2,
        "individual_preference": wishes(-3, -1, 0),
    },
    "ultrafeedback": {
        "prompt": "Why?",
        "prompt_id": "a1",
        "chosen": chat("Why?", "good"),
        "rejected": chat("Why?", "bad"),
        "messages": chat("Why?", "good"),
        "score_chosen": 8.5,
        "score_rejected": 6.5,
    },
    "shp": {
        "post_id": "p1",
        "domain": "askculinary_train",
        "history": "Why?",
        "c_root_id_A": "c1",
        "c_root_id_B": "c2",
        "human_ref_A": "good",
        "human_ref_B": "bad",
        "labels": 1,
        "score_ratio": 3.0,
    },
    "skywork": {"chosen": chat("Hi", "Hello.", "Why?", "good"), "rejected": chat("Hi", "Hello.", "Why?", "bad")}
    | {"source": "offsetbias"},
    "pandalm_train": {
        "inputs": {"instruction": "Why?", "input": "", "response1": "good", "response2": "bad"},
        "outputs": {"evaluation_result": "1", "evaluation_reason": "So.", "reference_response": "best"},
    },
    "judgelm_train": {
        "question_id": 7,
        "question_body": "Why?",
        "answer1_body": "good",
        "answer2_body": "bad",
        "answer1_model_id": "m",
        "answer2_model_id": "n",
        "score": [8.0, 6.0],
    },
}


def pairs_of(name, *records):
    pairs, report = HUB_CORPORA[name].build([Row(record, "authored", n) for n, record in enumerate(records)])
    return [pair if keeps_sides(pair.benchmark, pair.item_id) else pair.swapped() for pair in pairs], report


@pytest.mark.parametrize("name", HUB_CORPORA)
def test_the_better_response_is_labelled_better(name):
    (pair,), report = pairs_of(name, ROWS[name])
    assert (pair.question, pair.response_a, pair.response_b, pair.label) == ("Why?", "good", "bad", "A")
    assert pair.benchmark == name and pair.label_kind and pair.cluster_id and pair.source == "authored:0"
    assert not any(report.values())


def test_strengths_become_soft_labels():
    soft = {name: pairs_of(name, ROWS[name])[0][0].soft_label for name in HUB_CORPORA}
    assert soft == {
        "helpsteer3": pytest.approx(0.8),
        "ultrafeedback": pytest.approx(1 / (1 + math.exp(-1))),
        "shp": pytest.approx(0.75),
        "skywork": None,
        "pandalm_train": None,
        "judgelm_train": pytest.approx(1 / (1 + math.exp(-1))),
    }


def test_single_preferences_are_votes_and_dialogues_are_turns():
    (pair,), _ = pairs_of("helpsteer3", ROWS["helpsteer3"])
    assert pair.votes == {"0": "A", "1": "A", "2": "tie"} and pair.turns == (Turn("Hi", "Hello.", "Hello."),)
    (pair,), _ = pairs_of("skywork", ROWS["skywork"])
    assert pair.turns == (Turn("Hi", "Hello.", "Hello."),) and pair.subset == "offsetbias"


TIES = [
    ("helpsteer3", {"overall_preference": 0}),
    ("ultrafeedback", {"score_rejected": 8.5}),
    ("pandalm_train", {"outputs": ROWS["pandalm_train"]["outputs"] | {"evaluation_result": "Tie"}}),
    ("judgelm_train", {"score": [5, 5]}),
]


@pytest.mark.parametrize(("name", "changes"), TIES, ids=[name for name, _ in TIES])
def test_equal_scores_tie(name, changes):
    (pair,), _ = pairs_of(name, ROWS[name] | changes)
    assert pair.label == "tie" and pair.soft_label in (None, 0.5)


def test_a_lower_number_of_votes_on_the_other_side():
    (pair,), _ = pairs_of("shp", ROWS["shp"] | {"labels": 0, "score_ratio": 1000.0})
    assert pair.label == "B" and pair.soft_label == pytest.approx(0.05)


def test_an_input_belongs_to_the_question():
    record = ROWS["pandalm_train"]
    (pair,), _ = pairs_of("pandalm_train", record | {"inputs": record["inputs"] | {"input": "This."}})
    assert pair.question == "Why?\n\nThis."


def test_different_dialogues_make_no_pair():
    other = ROWS["skywork"] | {"rejected": chat("Hello", "Hello.", "Why?", "bad")}
    pairs, report = pairs_of("skywork", ROWS["skywork"], other)
    assert len(pairs) == 1 and report == {"skipped_different_dialogues": 1}


FAULTS = [
    ("helpsteer3", {"overall_preference": 4}, "field 'overall_preference' holds 4"),
    ("helpsteer3", {"individual_preference": wishes(None)}, "field 'individual_preference' holds None"),
    ("helpsteer3", {"context": chat("Hi", "Hello.")}, "field 'context' does not alternate"),
    ("ultrafeedback", {"score_chosen": None}, "field 'score_chosen' is NoneType"),
    ("ultrafeedback", {"chosen": chat("Why?")}, "field 'chosen' does not alternate"),
    ("shp", {"labels": 2}, "field 'labels' is 2"),
    ("shp", {"score_ratio": 0.5}, "field 'score_ratio' is 0.5, below 1"),
    ("skywork", {"chosen": []}, "field 'chosen' does not alternate"),
    ("pandalm_train", {"outputs": {"evaluation_result": "3", "reference_response": ""}}, "'evaluation_result' is '3'"),
    ("judgelm_train", {"score": [8.0]}, "field 'score' holds 1 scores, not 2"),
]


@pytest.mark.parametrize(("name", "changes", "words"), FAULTS)
def test_faults_are_named(name, changes, words):
    with pytest.raises(DataError, match=re.escape("authored:0: ") + ".*" + re.escape(words)):
        pairs_of(name, ROWS[name] | changes)


# --- reading


def written(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pd.DataFrame(records).to_parquet(path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    else:
        path.write_text(json.dumps(records), encoding="utf-8")
    return path


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "data_cache", lambda: tmp_path / "cache")


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet"])
@pytest.mark.parametrize("name", ["helpsteer3", "skywork", "judgelm_train", "pandalm_train"])
def test_a_local_file_is_read_in_the_hubs_form(name, suffix, tmp_path):
    pairs, report = hub.load_hub_corpus(name, path=written(tmp_path / f"some{suffix}", [ROWS[name]] * 2))
    assert not any(report.values()) and len({pair.item_id for pair in pairs}) == 2
    assert pairs[1].source == f"some{suffix}:1"
    assert {pairs[0].response_a, pairs[0].response_b} == {"good", "bad"}


@pytest.mark.usefixtures("own_cache")
def test_a_mirror_may_hold_the_file(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "data_mirror", lambda: tmp_path)
    written(tmp_path / "raw" / "shp" / "shp.jsonl", [ROWS["shp"]])
    pairs, report = load_corpus_with_report("shp")
    assert len(pairs) == report["items"] == 1
    (name,) = corpus_hashes("shp")
    assert name == "shp/shp.jsonl" and re.fullmatch("[0-9a-f]{64}", corpus_hashes("shp")[name])


@pytest.mark.usefixtures("own_cache")
def test_bad_files_are_named(monkeypatch, tmp_path):
    for path, words in ((tmp_path / "none.jsonl", "there is no such file"), (tmp_path / "a.csv", "ends with none of")):
        if path.suffix == ".csv":
            path.write_text("x")
        with pytest.raises(DataError, match=words):
            read_corpus_rows("shp", path=path)
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"a": ')
    with pytest.raises(DataError, match=r"shp: cannot be read .*raw/shp/shp\.jsonl"):
        read_corpus_rows("shp", path=broken)


def test_without_a_network_the_message_says_what_to_do(monkeypatch, tmp_path):
    import huggingface_hub

    def unreachable(self, repo, **options):
        raise RuntimeError("no route")

    monkeypatch.setattr(paths, "data_mirror", lambda: tmp_path)
    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", unreachable)
    resolved_commit.cache_clear()
    with pytest.raises(DataError, match=r"stanfordnlp/SHP: revision 'main' could not be looked up \(no route\)"):
        load_corpus_with_report("shp")
    with pytest.raises(DataError, match=r"pandalm_train: is not on the hub; put it into a data mirror"):
        load_corpus_with_report("pandalm_train")


def test_the_hub_is_asked_for_the_pinned_commit(monkeypatch, tmp_path):
    import datasets
    import huggingface_hub

    asked = []

    class Info:
        sha = "c0ffee"

    monkeypatch.setattr(paths, "data_mirror", lambda: tmp_path)
    monkeypatch.setattr(paths, "data_cache", lambda: tmp_path)
    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", lambda self, repo, revision: Info)
    monkeypatch.setattr(datasets, "load_dataset", lambda *a, **k: asked.append((a, k)) or [ROWS["helpsteer3"]])
    resolved_commit.cache_clear()
    pairs, _ = hub.load_hub_corpus("helpsteer3", revision="v1")
    ((where, options),) = asked
    assert where == ("nvidia/HelpSteer3", "preference")
    assert (options["split"], options["revision"]) == ("train", "c0ffee")
    assert pairs[0].source == "nvidia/HelpSteer3[train]:0"
    assert corpus_hashes("helpsteer3") == {"hub:nvidia/HelpSteer3": "c0ffee"}
    resolved_commit.cache_clear()
