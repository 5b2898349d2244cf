"""Rating single responses: raters, samples in and out, files, and the command."""

import json
import shutil

import numpy as np
import pytest
from tiny_encoder import save_tiny_encoder

from judgekit.cli import main
from judgekit.data.pairfile import PairFileError
from judgekit.inside.rating import Rater, RaterError, evaluate_samples, load_rater, rater_names, save_rater
from judgekit.inside.representations import inputs_of, rated_text
from judgekit.inside.saved_probes import ProbeError, SavedProbe
from judgekit.models.states import StateReader
from judgekit.scoring.store import VerdictStore

ASPECTS = ("fluency", "logicality")
SAMPLES = [
    {"id": 1, "question": "What is 2 + 2?", "response": "It is 4."},
    {"id": 2, "question": "What is 2 + 2?", "response": "The response is better because it answers. " * 4},
    {"id": 3, "question": "Which one?", "response": ""},
    {"id": 4, "question": "Which one?", "response": "Output (a)", "note": {"kept": [1]}},
]
PAIRS = [(sample["question"], sample["response"]) for sample in SAMPLES]


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    folder = save_tiny_encoder(tmp_path_factory.mktemp("model") / "bert")
    return StateReader(str(folder), limit=96)


def rater_on(reader, classes=(0, 1), seed=0):
    """A rater with random probes on two layers and poolings of a tiny model."""
    rng, probes = np.random.default_rng(seed), {}
    for aspect, pooling, layers in zip(ASPECTS, ("mean", "max"), ((0, 2), (1,)), strict=True):
        inputs = inputs_of(reader, pooling, layers)
        n_outputs = 1 if len(classes) == 2 else len(classes)
        weight = rng.normal(size=(len(layers) * inputs.width, n_outputs))
        probes[aspect] = SavedProbe("logistic", classes, inputs, weight, rng.normal(size=n_outputs))
    return Rater("tiny", probes)


@pytest.fixture
def folder(reader, tmp_path):
    save_rater(rater_on(reader), tmp_path / "rater")
    return tmp_path / "rater"


# ---------------------------------------------------------------- samples


@pytest.mark.parametrize("classes", [(0, 1), (1, 2, 3, 4, 5)])
def test_a_rating_is_that_of_each_probe_by_itself(reader, classes):
    rater = rater_on(reader, classes)
    rated = evaluate_samples(SAMPLES, rater, reader=reader, batch_size=3)
    for aspect, probe in rater.probes.items():
        inputs = probe.inputs
        states = reader.read([rated_text(*pair) for pair in PAIRS], (inputs.pooling,), inputs.layers)[inputs.pooling]
        assert [row[aspect] for row in rated] == probe.predict(states).tolist()
    assert [row["total_score"] for row in rated] == [sum(row[aspect] for aspect in ASPECTS) for row in rated]
    assert all(min(classes) * 2 <= row["total_expected"] <= max(classes) * 2 for row in rated)


@pytest.mark.parametrize("batch_size", [1, 2, 100])
def test_the_batch_does_not_matter(reader, batch_size):
    rater, wanted = rater_on(reader), rater_on(reader).rate(PAIRS, reader)
    for (classes, expected), (same, near) in zip(rater.rate(PAIRS, reader, batch_size), wanted, strict=True):
        assert classes == same
        assert expected == pytest.approx(near, abs=1e-4)


def test_one_pass_serves_all_aspects_and_equal_texts_are_read_once(reader, monkeypatch):
    seen, forward = [], reader.forward
    monkeypatch.setattr(reader, "forward", lambda ids, *rest: seen.append(len(ids)) or forward(ids, *rest))
    evaluate_samples([*SAMPLES, *SAMPLES], rater_on(reader), reader=reader)
    assert sum(seen) == len(SAMPLES)


def test_the_best_share_is_rounded_down_and_best_first(reader):
    rated = evaluate_samples(SAMPLES, rater_on(reader), reader=reader)
    best = evaluate_samples(SAMPLES, rater_on(reader), reader=reader, top_percent=0.8)
    assert len(best) == 3  # int(4 * 0.8)
    wanted = sorted(rated, key=lambda row: -row["total_expected"])[:3]
    assert [row["id"] for row in best] == [row["id"] for row in wanted]
    assert [{name: row[name] for name in sample} for sample, row in zip(SAMPLES, rated, strict=True)] == SAMPLES
    for share in (0, 1.5, float("nan")):
        with pytest.raises(ValueError, match="top_percent"):
            evaluate_samples(SAMPLES, rater_on(reader), reader=reader, top_percent=share)


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        ("text", r"samples\[1\]: is text, not an object"),
        ({"question": "q"}, r"samples\[1\]: field 'response' is missing"),
        (
            {"question": "q", "response": "r", "prediction": "p"},
            r"samples\[1\]: field 'prediction' and 'response' are both there",
        ),
        ({"question": "q", "response": "r", "fluency": 1}, r"samples\[1\]: field 'fluency' is there already"),
        ({"question": "q", "response": "r", "total_score": 1}, r"samples\[1\]: field 'total_score' is there already"),
    ],
)
def test_a_bad_sample_is_named(reader, sample, words):
    with pytest.raises(PairFileError, match=words):
        evaluate_samples([SAMPLES[0], sample], rater_on(reader), reader=reader)


def test_samples_come_from_a_file_too(folder, tmp_path, reader):
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(SAMPLES), encoding="utf-8")
    assert evaluate_samples(path, folder) == evaluate_samples(SAMPLES, rater_on(reader), reader=reader)


# ---------------------------------------------------------------- raters in folders


def test_a_saved_rater_rates_alike(folder, reader):
    loaded = load_rater(folder)
    assert loaded.rate(PAIRS) == rater_on(reader).rate(PAIRS, reader)
    assert loaded.fingerprint == rater_on(reader).fingerprint != rater_on(reader, seed=1).fingerprint


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 2}, "field 'format' is 2"),
        ({"aspects": []}, "field 'aspects' is"),
        ({"aspects": ["../else"]}, "field 'aspects.0' is '../else'"),
        ({"about": 3}, "field 'about' is 3"),
    ],
)
def test_a_damaged_rater_is_named_with_its_field(folder, change, words):
    path = folder / "rater.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change), encoding="utf-8")
    with pytest.raises(RaterError, match=words):
        load_rater(folder)


def test_a_missing_probe_and_a_missing_rater_are_named(folder, tmp_path):
    shutil.rmtree(folder / "fluency")
    with pytest.raises(ProbeError, match="fluency"):
        load_rater(folder)
    with pytest.raises(RaterError, match="no probe is called"):
        load_rater(tmp_path / "nothing")


def test_probes_that_do_not_go_together_are_refused(reader):
    binary, five = rater_on(reader).probes, rater_on(reader, (1, 2, 3)).probes
    with pytest.raises(RaterError, match="differ in classes"):
        Rater("mixed", {"fluency": binary["fluency"], "logicality": five["logicality"]})
    with pytest.raises(RaterError, match="rates nothing"):
        Rater("empty", {})


def test_another_model_is_refused(folder, tmp_path, capsys):
    """The folder of the model holds other weights than those that the probes were fitted on."""
    model = load_rater(folder).model
    kept = tmp_path / "kept"
    shutil.copytree(model, kept)
    answers = tmp_path / "answers.jsonl"
    answers.write_text(json.dumps(SAMPLES[0]) + "\n", encoding="utf-8")
    try:
        save_tiny_encoder(model, seed=5)
        with pytest.raises(ProbeError, match="model_fingerprint"):
            load_rater(folder).rate(PAIRS)
        code = main(["rate", str(answers), "--probe", str(folder), "--out", str(tmp_path / "out.jsonl")])
        assert (code, (tmp_path / "out.jsonl").exists()) == (2, False)
        assert "model_fingerprint" in capsys.readouterr().err
    finally:
        shutil.rmtree(model)
        shutil.copytree(kept, model)


# ---------------------------------------------------------------- shipped probes


def test_the_shipped_raters_work_offline_and_say_what_they_are():
    assert rater_names() == [
        f"{name}-{head}" for name in ("alpacaeval", "gpqa", "gsm8k") for head in ("binary", "five", "ordinal")
    ]
    for name in rater_names():
        rater = load_rater(name)
        assert len(rater.aspects) == 5
        for probe in rater.probes.values():
            assert set(probe.about["estimate"]) == {"weighted_f1", "macro_f1", "accuracy", "spearman"}
    rated = evaluate_samples(SAMPLES, "gsm8k-binary")
    assert all(row[aspect] in (0, 1) for row in rated for aspect in load_rater("gsm8k-binary").aspects)


# ---------------------------------------------------------------- the command


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"question": "q"}\n', "line 1: field 'response' is missing"),
        ('{"question": "q", "response": "r", "fluency": 1}\n', "line 1: field 'fluency' is there already"),
        ("", "holds no responses"),
    ],
)
def test_bad_answers_are_named_and_nothing_is_written(folder, tmp_path, capsys, content, words):
    path, out = tmp_path / "answers.jsonl", tmp_path / "rated.jsonl"
    path.write_text(content)
    assert main(["rate", str(path), "--probe", str(folder), "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert words in said and str(path) in said
    assert sorted(each.name for each in tmp_path.iterdir()) == ["answers.jsonl", "rater"]


def test_the_command_rates_a_file_and_leaves_nothing_beside_it(folder, tmp_path, capsys, reader):
    path, out = tmp_path / "answers.jsonl", tmp_path / "rated.jsonl"
    path.write_text("".join(json.dumps(sample) + "\n" for sample in SAMPLES), encoding="utf-8")
    assert main(["rate", str(path), "--probe", str(folder), "--out", str(out), "--quiet"]) == 0
    assert [json.loads(line) for line in out.read_text().splitlines()] == evaluate_samples(
        SAMPLES, rater_on(reader), reader=reader
    )
    assert sorted(each.name for each in tmp_path.iterdir()) == ["answers.jsonl", "rated.jsonl", "rater"]
    assert main(["rate", str(path), "--probe", str(folder), "--out", "-", "--quiet", "--top-percent", "0.5"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_an_interrupted_run_goes_on_and_gives_the_same(folder, tmp_path, capsys, monkeypatch):
    path, out = tmp_path / "answers.jsonl", tmp_path / "rated.jsonl"
    path.write_text("".join(json.dumps(sample) + "\n" for sample in SAMPLES), encoding="utf-8")
    command = ["rate", str(path), "--probe", str(folder), "--out", str(out), "--batch-size", "1"]
    read, put = [], VerdictStore.put

    def interrupted(self, judge, decoding, replies):
        put(self, judge, decoding, replies)
        read.append(len(replies))
        if len(read) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(VerdictStore, "put", interrupted)
    assert main(command) == 130
    assert not out.exists()
    assert "2 ratings are kept in" in capsys.readouterr().err
    assert main(command) == 0
    assert sum(read) == len(SAMPLES)  # nothing was read twice
    found = out.read_text()
    monkeypatch.undo()
    assert main([*command, "--no-resume"]) == 0
    assert out.read_text() == found
