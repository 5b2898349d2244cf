"""Preference sets of the hub: on small authored rows, read from files in the hub's form."""

import json
import math
import re

import pandas as pd
import pytest

from judgekit.data import paths
from judgekit.data.catalogue import load_set_with_report, set_hashes
from judgekit.data.corpora import HUB_CORPORA
from judgekit.data.corpora.hub import resolved_commit
from judgekit.data.loading import keeps_sides
from judgekit.data.sources import DataError, Row


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
def test_a_file_of_the_mirror_is_read_in_the_hubs_form(name, suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "data_mirror", lambda: tmp_path)
    written(tmp_path / "raw" / name / f"{name}{suffix}", [ROWS[name]] * 2)
    pairs, report = load_set_with_report(name)
    assert len({pair.item_id for pair in pairs}) == report["items"] == 2
    assert pairs[1].source == f"{name}{suffix}:1"
    assert {pairs[0].response_a, pairs[0].response_b} == {"good", "bad"}
    ((file, sha256),) = set_hashes([name]).items()
    assert file == f"{name}/{name}{suffix}" and re.fullmatch("[0-9a-f]{64}", sha256)


@pytest.mark.usefixtures("own_cache")
def test_a_file_that_cannot_be_read_is_named_with_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "data_mirror", lambda: tmp_path)
    (tmp_path / "raw" / "shp").mkdir(parents=True)
    (tmp_path / "raw" / "shp" / "shp.jsonl").write_text('{"a": ')
    with pytest.raises(DataError, match=r"shp: cannot be read .*raw/shp/shp\.jsonl"):
        load_set_with_report("shp")
    with pytest.raises(DataError, match=r"pandalm_train: is not on the hub; put it into a data mirror"):
        load_set_with_report("pandalm_train")


def test_the_hub_is_asked_for_its_last_commit(monkeypatch, tmp_path):
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
    pairs, _ = load_set_with_report("helpsteer3")
    ((where, options),) = asked
    assert where == ("nvidia/HelpSteer3", "preference")
    assert (options["split"], options["revision"]) == ("train", "c0ffee")
    assert pairs[0].source == "nvidia/HelpSteer3[train]:0"
    assert set_hashes(["helpsteer3"]) == {"hub:nvidia/HelpSteer3": "c0ffee"}
    resolved_commit.cache_clear()
