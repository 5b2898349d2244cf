"""judgekit.training: seeded, resumable, and blind to what it must not see."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from notebook_functions import code_of, functions_of
from watching import Interrupted, watched

from judgekit.data.catalogue import set_hashes
from judgekit.data.files import load_plain
from judgekit.data.paths import project_root
from judgekit.data.sample import load_sample
from judgekit.data.sources import find_source
from judgekit.judges import request_of
from judgekit.judges.encoder import EncoderJudge
from judgekit.judges.surface import FEATURES, PAIR_FEATURES, FeaturesJudge
from judgekit.models.encoder import TextEncoder
from judgekit.models.files import SEAL, check_seal, settle_adapter
from judgekit.records import PreferencePair, Response
from judgekit.stats import outcome_probabilities
from judgekit.studies.data_mixture import BASE, Level, material_key, read_cleaned, run_study
from judgekit.training import encoder as encoders
from judgekit.training import features as fitting
from judgekit.training import mixture
from judgekit.training.bank import AnswerBank, Embedder, draw_questions, meant_for, share_of
from judgekit.training.constructed import BROKEN, KINDS, constructed_pairs, demands_between
from judgekit.training.encoder import RelevanceTrainer
from judgekit.training.gate import ALWAYS_CLOSED, PairTable, choose_share, fit_gate, fit_gates, fit_relevance
from judgekit.training.mixture import pairs_key

READS = {"max_question_tokens": 32, "max_response_tokens": 32, "train_response_tokens": 32}
BATCHES = {"steps": 5, "questions_per_step": 6, "group": 2, "eval_every": 2}
MIXTURE = functions_of("22_data_mixture")
TINY = encoders.RelevanceRecipe(r=4, layers=1, lr=3e-3, bf16=False, **BATCHES, **READS)
TRAIN, VALIDATION = load_sample("sample_train")[:60], {"v": load_sample("sample_validation")[:20]}
SHARES = {"sample_train": 1.0}


def pair(item_id="1", label="A", benchmark="one", question="Q?", **fields):
    given = {"response_a": "good", "response_b": "bad", "cluster_id": question}
    return PreferencePair(str(item_id), benchmark, question, label=label, **given | fields)


def weights(folder):
    return (folder / "adapter/adapter_model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def made():
    """The material of sample pairs."""
    return mixture.make_material(TRAIN, SHARES | {"truncated": 0.1}, VALIDATION, TextEncoder())


def train(folder, made, recipe=TINY, **changes):
    given = {part: made.parts[part] for part in ("train", "validation")} | changes
    return encoders.train_relevance(recipe, made.bank, folder=folder, progress=False, **given)


def trainer_of(folder, made, recipe=TINY, questions=slice(None)):
    return RelevanceTrainer(recipe, made.bank, made.parts["train"][questions], made.parts["validation"], folder)


def interrupt(folder, made, at_step):
    """A run that ends with an exception before the given step."""
    trainer = trainer_of(folder, made)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Interrupted):
        watched(patch, trainer, "train_step", end_at=at_step + 1)
        trainer.run(progress=False)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, made):
    """A finished run: its folder and what it reported."""
    folder = tmp_path_factory.mktemp("run") / "judge"
    return folder, train(folder, made)


def test_an_interrupted_run_ends_with_the_same_weights(finished, made, tmp_path):
    interrupt(tmp_path, made, at_step=3)  # one step beyond the checkpoint of step 2
    assert (tmp_path / encoders.CHECKPOINT).is_file() and not (tmp_path / "training.json").exists()
    report = train(tmp_path, made)
    assert weights(tmp_path) == weights(finished[0])
    losses = {row["step"]: row["validation"] for row in report["history"]}
    assert report["best_step"] == min(losses, key=losses.get) > 0
    assert losses == {row["step"]: row["validation"] for row in finished[1]["history"]}
    assert list(losses) == [0, 2, 4, 5]
    assert not (tmp_path / encoders.CHECKPOINT).exists()


@pytest.mark.parametrize("change", [{"lr": 1e-3}, {"seed": 1}, None], ids=["learning rate", "seed", "data"])
def test_a_checkpoint_of_another_run_is_not_continued(made, tmp_path, change):
    interrupt(tmp_path, made, at_step=3)
    other = trainer_of(tmp_path, made, replace(TINY, **(change or {})), slice(None) if change else slice(-1))
    other.resume()
    assert (other.step, other.history) == (0, [])
    same = trainer_of(tmp_path, made)
    same.resume()
    assert (same.step, len(same.history)) == (2, 2)


def test_a_finished_encoder_is_not_trained_again(finished, made, monkeypatch):
    folder, report = finished
    monkeypatch.setattr("judgekit.training.encoder.RelevanceTrainer", None)
    assert train(folder, made) == json.loads(json.dumps(report))
    with pytest.raises(TypeError):  # another recipe would be trained
        train(folder, made, replace(TINY, steps=6))


def test_an_encoder_that_was_not_written_to_its_end_does_not_pass_for_the_one_before(
    finished, made, tmp_path, monkeypatch
):
    shutil.copytree(finished[0], tmp_path / "judge")
    monkeypatch.setattr("judgekit.training.encoder.settle_adapter", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(tmp_path / "judge", made, replace(TINY, steps=2))
    monkeypatch.undo()
    train(tmp_path / "judge", made)
    assert weights(tmp_path / "judge") == weights(finished[0])


def test_what_cannot_be_trained_on_is_said(made, tmp_path):
    asked, held_out = made.parts["train"], made.parts["validation"]
    with pytest.raises(ValueError, match="1 validation questions are also training questions"):
        train(tmp_path, made, train=np.append(asked, held_out[0]))
    with pytest.raises(ValueError, match="at least two"):
        train(tmp_path, made, validation=held_out[:1])
    shared = {"v": [*VALIDATION["v"], replace(TRAIN[3], item_id="other", response_a="new")]}
    with pytest.raises(ValueError, match="also a training prompt"):
        mixture.make_material(TRAIN, SHARES, shared, None)
    with pytest.raises(ValueError, match="validation set v is empty"):
        mixture.make_material(TRAIN, SHARES, {"v": []}, None)
    bare = replace(made.bank, near=[np.array([], int)] * len(made.bank.questions), responses=[["yes"]] * 80)
    with pytest.raises(ValueError, match="no misleading pair could be constructed"):
        fit_gates(replace(made, bank=bare), None, [0.1], 0, kinds=("neighbours", "exchanged"))


def test_all_responses_are_meant_for_their_question():
    pairs = [pair(1, "A", response_a="right", response_b="wrong"), pair(2, "B", question="Other?", response_b=" ")]
    found = meant_for(pairs, [Response("1", "Third?", "yes", benchmark="single")])
    assert {question: (source, set(texts)) for question, (source, texts) in found.items()} == {
        "Q?": ("one", {"right", "wrong"}),
        "Other?": ("one", {"good"}),
        "Third?": ("single", {"yes"}),
    }
    blank = [pair(3, question=" "), pair(4, question="")]
    assert meant_for(blank, [Response("2", "", "yes")]) == {}, "at 7ea38f3e an empty question ended training: x / 0"
    many = [pair(n, response_a=f"a{n}", response_b=f"b{n}") for n in range(20)]
    assert len(meant_for(many)["Q?"][1]) == 24
    assert meant_for(many) == meant_for(many[::-1])


def test_parts_are_cut_by_the_question_alone(made):
    bank, parts = made.bank, made.parts
    joined = np.concatenate(list(parts.values()))
    assert sorted(joined) == list(range(len(bank.questions))) and len(parts["calibration"]) > 0
    assert {bank.questions[i] for i in parts["validation"]} == {p.asked for p in VALIDATION["v"]}
    assert all(share_of(bank.questions[i]) < 0.15 for i in parts["calibration"])
    assert share_of("What is  THIS?") == share_of("what is this") and 0 <= share_of("half of a pair: \ud83d") < 1
    both = mixture.parts_of(bank, bank.questions, bank.questions[:3])
    assert both["validation"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(("r", "lr"), [(4, 3e-3), (-1, 1e-4)])
def test_what_is_trained_stands_in_the_topmost_layer_and_moves(made, tmp_path, r, lr):
    trainer = trainer_of(tmp_path, made, replace(TINY, r=r, lr=lr))
    before = {name: value.detach().clone() for name, value in trainer.encoder.model.named_parameters()}
    for _ in range(2):  # LoRA's first matrix moves from the second step on
        trainer.train_step()
    moved = {name for name, value in trainer.encoder.model.named_parameters() if not torch.equal(value, before[name])}
    assert moved and {name.partition("layer.")[2].partition(".")[0] for name in moved} == {"5"}  # of six
    assert all("lora" in name for name in moved) == (r > 0)
    assert r < 0 or sum(value.numel() for value in trainer.trainable().values()) < 100_000


@pytest.fixture(scope="module")
def wordy():
    """A bank of three close questions and a far one, with responses long enough to break."""
    said = "Answer {}.{} says {}about subject {}. It ends here."
    texts = [[said.format(i, j, "something quite specific " * (3 + 4 * j), i) for j in (0, 1)] for i in range(4)]
    near = [np.array([1, 2]), np.array([0, 2]), np.array([0, 1]), np.array([], int)]
    vectors = np.array([[0.8, 0.6, 0], [0.8, 0, 0.6], [0.8, -0.6, 0], [0, 0, 1]], np.float32)
    return AnswerBank([f"What is subject {i}?" for i in range(4)], texts, ["s"] * 4, vectors, near)


def test_batches_are_groups_of_neighbours(wordy):
    rng = np.random.default_rng(0)
    for _ in range(30):
        drawn = draw_questions(wordy, np.arange(4), rng, 3, 2)
        assert len(set(drawn)) == 3
        assert 0 not in drawn or {1, 2} & set(drawn)
        assert 3 not in draw_questions(wordy, np.arange(3), rng, 2, 2)
    assert len(draw_questions(wordy, np.arange(4), rng, 50, 2)) == 4  # no more than there are


HOW_BROKEN = {
    "truncated": lambda own, other, asked: own.startswith(other) and len(other) < 0.8 * len(own),
    "repeated": lambda own, other, asked: own.split(".")[0] in other and len(other) > 1.15 * len(own),
    "echoed": lambda own, other, asked: asked in other,
    "shuffled": lambda own, other, asked: sorted(own.split(" ")) == sorted(other.split(" ")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_constructed_pairs_are_seeded_stand_in_either_order_and_are_broken_as_they_say(wordy, kind):
    pairs = constructed_pairs(kind, wordy, np.arange(4), 0, per_question=40)
    assert pairs == constructed_pairs(kind, wordy, np.arange(4), 0, per_question=40)
    assert len({p.item_id for p in pairs}) == len(pairs) > 20
    assert 0.3 < np.mean([p.label == "A" for p in pairs]) < 0.7
    for p in pairs:
        own, other = p.responses if p.label == "A" else p.responses[::-1]
        assert own in wordy.responses[wordy.questions.index(p.cluster_id)] and own != other
        assert (p.benchmark, p.label_kind) == (kind, "objective")
        assert kind not in BROKEN or HOW_BROKEN[kind](own, other, p.question)
    assert {p.cluster_id for p in constructed_pairs(kind, wordy, np.array([0, 1]), 0)} <= set(wordy.questions[:2])
    if kind == "exchanged":  # of close questions, which 0 and 3 are not
        assert constructed_pairs(kind, wordy, np.array([0, 3]), 0, per_question=9) == []


@pytest.mark.parametrize(
    ("first", "second", "demand"),
    [
        ("one two", "one two three four five six", "Use at most 4 words."),
        ("one two three four five six", "one two", "Use more than 4 words."),
        ("1. one\n2. two", "one and two", "Answer with a numbered list."),
        ("one and two", "1. one\n2. two", "Do not answer with a list."),
        ("in two days", "in 2 days", "Do not use any digits."),
        ("say hello", "say goodbye", 'Use the word "hello".'),
        ("say hello", "say goodbye", 'Do not use the word "goodbye".'),
    ],
)
def test_a_demand_is_met_by_the_first_alone(first, second, demand):
    assert demand in demands_between(first, second, np.random.default_rng(0))
    assert demand not in demands_between(second, first, np.random.default_rng(0))


def test_constructed_pairs_of_training_are_about_training_questions(made):
    asked = {p.asked for p in made.train if p.benchmark == "truncated"}
    held_out = {made.bank.questions[i] for i in made.parts["validation"]}
    assert asked and not asked & held_out
    assert {p.cluster_id for p in made.constructed("validation", ["neighbours", "exchanged"], 0, None)} <= held_out
    assert [p for p in made.train if p.benchmark == "sample_train"] == TRAIN


READ = {"weight": [10.0, 0.0, 0.0], "bias": -5.0}


def table_of(cosines, target, outcomes=(0.45, 0.45, 0.1)):
    n = len(cosines)
    inputs = {f"inputs_{side}": np.repeat(cosines[:, [i]], 3, axis=1) for i, side in enumerate("ab")}
    given = {"outcomes": np.tile(outcomes, (n, 1)), "target": np.eye(3)[target], "tied": np.ones(n, bool)}
    return PairTable(**inputs, **given, likeness=cosines[:, 2], clusters=[str(i) for i in range(n)])


@pytest.fixture(scope="module")
def drawn():
    """Ordinary pairs, both on topic and of one subject, and misleading ones, where cosines tell."""
    rng = np.random.default_rng(0)
    on = rng.normal(0.7, 0.1, (400, 2))
    ordinary = table_of(np.column_stack([on, rng.normal(0.8, 0.1, 400)]), rng.choice(3, 400, p=[0.45, 0.45, 0.1]))
    off = np.column_stack([rng.normal(0.7, 0.1, 400), rng.normal(0.3, 0.1, 400), rng.normal(0.3, 0.1, 400)])
    return ordinary, table_of(off, np.zeros(400, int), (0.1, 0.8, 0.1))


def test_a_gate_lets_ordinary_pairs_through_and_stops_misleading_ones(drawn):
    ordinary, misleading = drawn
    judge = {"relevance": READ, "gate": fit_gate(ordinary, misleading, 0.1, READ, np.ones(len(ordinary.target)))}
    assert misleading.hits(ALWAYS_CLOSED).mean() == 0 and misleading.hits(judge).mean() > 0.9
    moved = np.abs(ordinary.probabilities(judge) - ordinary.probabilities(ALWAYS_CLOSED)).max(1)
    assert np.median(moved) < 0.05
    assert judge["gate"]["slope"] > 0 and judge["gate"]["weight"][2] < 0


def test_relevance_is_the_log_odds_of_being_meant():
    rng = np.random.default_rng(1)
    cosines = np.column_stack([rng.normal(0.7, 0.2, 4000), rng.normal(0.4, 0.2, 4000), np.zeros(4000)])
    misleading = table_of(cosines, np.zeros(4000, int))
    found = fit_relevance(misleading, inputs=("cosine",))
    # Two normal distributions of one variance: slope = gap / variance, zero half-way between the means.
    assert found["weight"] == pytest.approx([0.3 / 0.04, 0, 0], rel=0.1)
    assert -found["bias"] / found["weight"][0] == pytest.approx(0.55, abs=0.02)
    mirrored = table_of(cosines[:, [1, 0, 2]], np.ones(4000, int))
    assert fit_relevance(mirrored, inputs=("cosine",))["weight"] == pytest.approx(found["weight"], rel=1e-3)


def test_tables_say_what_the_judge_says(finished, made):
    """The arrays that the gate is fitted on are those that the finished judge computes for itself."""
    folder, _ = finished
    quality = fitting.fit_features(made.features)
    embedder = Embedder(encoders.load_encoder(TINY, folder))
    reader = encoders.reader_of(made, TINY, quality, embedder)
    parts = {"relevance": READ, "gate": {"weight": [-0.3, 0.2, -1.0], "bias": 0.5, "slope": 0.7}}
    encoders.save_encoder(TINY, reader, parts, folder)
    pairs = VALIDATION["v"]
    replies = EncoderJudge(folder, bf16=False).judge([request_of(p, "ab") for p in pairs])
    table = replace(reader.table(pairs), tied=np.ones(len(pairs), bool))
    told = np.array([(r.p_first, r.p_second, r.p_tie) for r in replies])
    assert told == pytest.approx(table.probabilities(parts), abs=1e-3)  # weights and other questions are stored rounded
    assert np.abs(told - table.outcomes).max() > 0.05


def test_the_choice_is_the_strongest_gate_within_one_standard_error():
    rows = [(0, 0.69, 0.03), (0.1, 0.70, 0.02), (0.2, 0.685, 0.1), (0.5, 0.67, 0)]
    table = pd.DataFrame(rows, columns=["share", "mean", "error"])
    assert choose_share(table) == 0.2
    assert choose_share(table.assign(error=0.0)) == 0.1


def test_a_trained_judge_is_plain_files_without_a_machine_in_them(made, tmp_path, tmp_path_factory):
    report = encoders.train_encoder(replace(TINY, steps=1), made, tmp_path / "judge")
    assert set(report["tables"]) == {"v", *KINDS}
    assert report["share"] in report["gates"]["share"].tolist()
    files = [path for path in (tmp_path / "judge").rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".json", ".safetensors"}
    check_seal(tmp_path / "judge")
    sealed = json.loads((tmp_path / "judge" / SEAL).read_text())
    assert set(sealed) >= {"others.safetensors", "adapter/adapter_model.safetensors"}
    places = {str(Path.home()), sys.prefix, str(tmp_path_factory.getbasetemp()), "site-packages", str(Path.cwd())}
    for path in files:
        content = path.read_bytes()
        for place in places - {"/"}:
            assert place.encode() not in content, f"{path.name} holds {place}"


def test_weights_give_each_source_its_share():
    pairs = [pair(n) for n in range(6)] + [pair(n, benchmark="two") for n in range(2)]
    weight = mixture.source_weights(pairs, {"one": 1.0, "two": 3.0, "absent": 5.0})
    assert weight.mean() == pytest.approx(1)
    assert weight[:6].sum() / weight.sum() == pytest.approx(0.25)
    with pytest.raises(ValueError, match="is given for two"):
        mixture.source_weights(pairs, {"one": 1})


@pytest.mark.parametrize(
    ("label", "soft", "target"),
    [
        ("A", None, (1, 0, 0)),
        ("tie", None, (0, 0, 1)),
        ("A", 0.7, (0.7, 0.3, 0)),
        ("tie", 0.5, (0, 0, 1)),
        (None, 0.2, (0.2, 0.8, 0)),
    ],
)
def test_targets(label, soft, target):
    given = pair(label=label, soft_label=soft)
    assert fitting.target_of(given) == pytest.approx(target)
    assert fitting.target_of(given.swapped()) == pytest.approx((target[1], target[0], target[2]))  # of B as of A


def test_ties_count_only_where_they_were_offered():
    rarely = [pair(n, "tie" if n == 0 else "A", benchmark="rarely") for n in range(100)]
    often = [pair(n, "tie" if n < 2 else "A", benchmark="often") for n in range(100)]
    assert fitting.sources_with_ties(rarely + often) == {"often"}


def test_the_split_is_read_back():
    rows = [("one", str(n), "train" if n < 6 else "validation") for n in range(8)] + [("two", "0", "train")]
    split = pd.DataFrame(rows, columns=["benchmark", "item_id", "split"])
    pairs = {"one": [pair(n) for n in range(9)], "two": [pair(0, benchmark="two")]}
    chosen = [(p.benchmark, p.item_id) for p in mixture.select_split(split, pairs, "train")]
    assert chosen == [("one", str(n)) for n in range(6)] + [("two", "0")]
    held_out = mixture.select_split(split, pairs, "validation", by_set=True)
    assert {name: [p.item_id for p in part] for name, part in held_out.items()} == {"one": ["6", "7"]}
    assert [p.item_id for p in mixture.select_split(split, pairs, "train", limit=3)] == ["0", "2", "4", "0"]
    with pytest.raises(ValueError, match=r"one has no item '7' \(1 in all\)"):
        mixture.select_split(split, pairs | {"one": pairs["one"][:7]}, "validation")


def test_paraphrases_are_neither_right_nor_wrong():
    questions = torch.tensor([[1.0, 0.0], [1.0, 0.0]], requires_grad=True)
    log_scale = torch.tensor(3.0, requires_grad=True)
    same = torch.tensor([[False, True], [True, False]])
    loss = encoders.contrastive_loss(questions, torch.tensor([[1.0, 0.0], [1.0, 0.0]]), log_scale, same, both=True)
    loss.backward()
    assert loss.item() == 0 and torch.isfinite(log_scale.grad) and torch.isfinite(questions.grad).all()


PLANTED = {"log_words": 1.5, "refuses": -1.0, "question_covered": 0.8}


@pytest.fixture(scope="module")
def planted():
    """Pairs drawn from the model itself, with three features that matter and one that makes ties."""
    rng = np.random.default_rng(0)
    n = 6000
    a, b = rng.normal(size=(2, n, len(FEATURES))) * 2 + 5
    both = rng.normal(size=(n, len(PAIR_FEATURES)))
    weight = np.array([PLANTED.get(name, 0.0) for name in FEATURES])
    difference = (a - b) / 2 @ weight
    log_nu = both[:, PAIR_FEATURES.index("word_jaccard")] - 0.5
    p = outcome_probabilities(difference, log_nu)
    outcome = (rng.random((n, 1)) > p.cumsum(1)).sum(1)
    return fitting.FeatureTable(a, b, both, np.eye(3)[outcome], np.ones(n, bool))


def test_planted_weights_are_found(planted):
    parts = fitting.fit_features(planted, l2=1e-4)
    found = dict(zip(FEATURES, parts["weight"], strict=True))
    assert {name: found[name] for name in PLANTED} == pytest.approx(PLANTED, rel=0.15)
    assert max(abs(value) for name, value in found.items() if name not in PLANTED) < 0.15
    ties = dict(zip(PAIR_FEATURES, parts["tie_weight"], strict=True))
    assert ties.pop("word_jaccard") == pytest.approx(1, rel=0.15)
    assert max(map(abs, ties.values())) < 0.15
    assert parts["tie_bias"] == pytest.approx(-0.5, abs=0.15)


def test_the_fit_does_not_know_which_response_is_a(planted):
    turned = fitting.FeatureTable(planted.b, planted.a, planted.pair, planted.target[:, [1, 0, 2]], planted.tied)
    one, other = fitting.fit_features(planted), fitting.fit_features(turned)
    for name in one:
        assert other[name] == pytest.approx(one[name], abs=1e-3), name


def test_a_saved_fit_is_the_judge_and_the_same_each_time(tmp_path):
    fits = [fitting.fit_features(fitting.feature_table(load_sample("sample_train"))) for _ in range(2)]
    folders = [fitting.save_features(fit, tmp_path / str(number)).parent for number, fit in enumerate(fits)]
    assert len({FeaturesJudge(folder).fingerprint for folder in folders}) == 1  # which refuses other features


@pytest.fixture(scope="module")
def study(made, tmp_path_factory):
    """A study of two factors with one seed: its levels, its folder, and what it found."""
    levels = MIXTURE.levels_of(Level(replace(TINY, steps=1)), ["gate_strength", "negatives"])
    folder = tmp_path_factory.mktemp("study")
    return levels, folder, run_study(levels, made, [0], folder)


def test_every_level_changes_something():
    base = Level(encoders.RelevanceRecipe())
    levels = MIXTURE.levels_of(base, MIXTURE.FACTORS)
    assert len(levels) == 1 + sum(map(len, MIXTURE.FACTORS.values())) and levels[BASE, BASE] == base
    assert all(level != base for key, level in levels.items() if key != (BASE, BASE))


def test_levels_choose_their_data(made):
    mixed = [replace(TRAIN[0], benchmark="other", label_kind="human"), replace(TRAIN[1], label="tie"), *TRAIN[2:]]
    material = mixture.Material(mixed, made.shares | {"other": 1.0}, VALIDATION, made.bank, made.parts)
    base = Level(TINY)
    assert base.pairs_of(material) == list(range(len(mixed)))
    assert base.changed(sources=("other",)).pairs_of(material) == [0]
    assert base.changed(label_kinds=("human",)).pairs_of(material)[0] == 0
    assert 1 not in base.changed(ties=False).pairs_of(material)
    broken = [i for i, p in enumerate(made.train) if p.benchmark == "truncated"]
    assert broken and set(broken) <= set(base.changed(sources=("other",)).pairs_of(made))
    assert not set(broken) & set(base.changed(broken=False).pairs_of(made))
    third = {mixed[i].asked for i in base.changed(pairs_share=1 / 3).pairs_of(material)}
    assert 0 < len(third) < len({p.asked for p in mixed})
    constructed = replace(made, train=[made.train[i] for i in broken])  # their questions are no pairs' of people
    assert not len(base.changed(answers=False).questions_of(constructed))
    everything = set(made.parts["train"].tolist())
    assert set(base.questions_of(material).tolist()) == everything
    assert set(base.changed(questions_share=0.5).questions_of(material).tolist()) < everything


def test_settings_of_one_encoder_share_its_training_and_keep_their_judges(study):
    levels, folder, hits = study
    trained = sorted(path.parent.name for path in folder.glob("*/training.json"))
    assert trained == ["base-0", "negatives-groups_of_8-0", "negatives-random-0"]
    assert len(levels) == len(hits[["factor", "level", "seed"]].drop_duplicates()) == 1 + 3 + 2
    told = hits[hits["set"] == "misleading"].groupby("level")["hit"].apply(tuple)
    assert told["open"] != told["0_25"]
    for factor, level in levels:
        judge = EncoderJudge(folder / f"{factor}-{level}-0", bf16=TINY.bf16)
        assert (judge.config["gate"] is None) == (level == "open")
        if level != "random":  # 16-bit embeddings of other questions are one more rounding than the table's
            own = hits[(hits["factor"] == factor) & (hits["level"] == level) & (hits["set"] == "v")]
            replies = judge.judge([request_of(pair, "ab") for pair in VALIDATION["v"]])
            verdicts = [{"first": "A", "second": "B", "tie": "tie"}[reply.verdict] for reply in replies]
            right = [verdict == pair.label for verdict, pair in zip(verdicts, VALIDATION["v"], strict=True)]
            assert np.mean(np.array(right) == own["hit"].to_numpy()) >= 0.95
            assert own["prompt"].tolist() == [pair.cluster for pair in VALIDATION["v"]]


def test_a_finished_study_is_read_back(study, made, monkeypatch):
    levels, folder, hits = study
    monkeypatch.setattr("judgekit.studies.data_mixture.run_level", None)
    assert run_study(levels, made, [0], folder).equals(hits)
    with pytest.raises(TypeError):  # another seed is another run
        run_study(levels, made, [1], folder)
    other_label = replace(made.train[0], label={"A": "B"}.get(made.train[0].label, "A"))
    with pytest.raises(TypeError):  # and so are the same ids with another label
        run_study(levels, replace(made, train=[other_label, *made.train[1:]]), [0], folder)
    path = folder / "base-base-0.json"
    of_today = json.loads(path.read_text())
    path.write_text(json.dumps({name: value for name, value in of_today.items() if name != "version"}))
    assert run_study(levels, made, [0], folder).equals(hits), "what was finished before it named a version stands"
    monkeypatch.setattr("judgekit.studies.data_mixture.VERSION", encoders.VERSION + 1)
    with pytest.raises(TypeError):  # and so is another training code
        run_study(levels, made, [0], folder)


def test_data_are_told_by_their_texts_and_labels(made):
    held_out, bank = VALIDATION["v"], made.bank
    others = [
        replace(made, train=[replace(made.train[0], response_a="other"), *made.train[1:]]),
        replace(made, train=made.train[::-1]),
        replace(made, validation={"v": [replace(held_out[0], benchmark="other"), *held_out[1:]]}),
        replace(made, bank=replace(bank, responses=[["other"], *bank.responses[1:]])),
        replace(made, parts=made.parts | {"train": made.parts["train"][1:]}),
        replace(made, shares=made.shares | {"sample_train": 0.5}),
    ]
    keys = [material_key(material) for material in (made, replace(made), *others)]
    assert keys[0] == keys[1] and len(set(keys)) == 1 + len(others)
    assert pairs_key(TRAIN) == pairs_key(list(TRAIN)) != pairs_key([replace(TRAIN[0], soft_label=0.6), *TRAIN[1:]])


def test_a_base_is_told_by_its_name_or_by_the_files_of_its_folder(tmp_path, made):
    (tmp_path / "config.json").write_text('{"num_hidden_layers": 2}')
    (tmp_path / "model.safetensors").write_bytes(b"one")
    recipe, parts = replace(TINY, base=str(tmp_path)), (made.parts["train"], made.parts["validation"])
    before, own = mixture.base_key(recipe.base), encoders.identity_of(recipe, made.bank, *parts)
    assert mixture.base_key("minilm") == "minilm" == encoders.identity_of(TINY, made.bank, *parts)["recipe"]["base"]
    (tmp_path / "model.safetensors").write_bytes(b"other")
    assert mixture.base_key(recipe.base) != before and encoders.identity_of(recipe, made.bank, *parts) != own


def test_a_training_choice_is_known_by_texts_and_labels():
    given = {"kinds": ("neighbours",), "loss": VALIDATION["v"][:5], "held_out": VALIDATION["v"]}
    first = functions_of("24_training_choices", **given)
    recipe, drawn = first.planned("reward", 0)
    key = first.key_of("reward", recipe, drawn, TRAIN)
    assert key == first.key_of("reward", recipe, drawn, list(TRAIN)) and len(key) == 12
    turned = [replace(TRAIN[0], label={"A": "B"}.get(TRAIN[0].label, "A")), *TRAIN[1:]]
    assert key != first.key_of("reward", recipe, drawn, turned)
    changed = {"held_out": [replace(pair, question=f"{pair.question}?") for pair in VALIDATION["v"]]}
    other = functions_of("24_training_choices", **given | changed)
    assert key != other.key_of("reward", recipe, drawn, TRAIN)


def test_equal_adapters_leave_equal_configs(tmp_path, finished):
    written = []
    for modules in (["query", "dense", "key"], ["key", "query", "dense"]):
        path = tmp_path / "adapter_config.json"
        path.write_text(json.dumps({"target_modules": modules, "r": 8, "base_model_name_or_path": "/tmp/x"}))
        settle_adapter(tmp_path, "some/encoder")
        written.append(path.read_bytes())
    assert written[0] == written[1] and json.loads(written[0])["target_modules"] == ["dense", "key", "query"]
    assert json.loads(written[0])["base_model_name_or_path"] == "some/encoder"
    trained = json.loads((finished[0] / "adapter" / "adapter_config.json").read_text(encoding="utf-8"))
    assert trained["base_model_name_or_path"] == "sentence-transformers/all-MiniLM-L6-v2"


def test_what_cleaning_kept_is_read_with_its_answers():
    pairs, held_out = load_sample("sample_train")[:9], load_sample("sample_validation")[:5]
    rows = [("sample_train", p.item_id, "train") for p in pairs]
    rows += [("sample_validation", p.item_id, "validation") for p in held_out]
    split = pd.DataFrame(rows, columns=["benchmark", "item_id", "split"])
    answers = pd.DataFrame(columns=["source", "item_id", "split"], dtype=str)
    data = read_cleaned(split, answers, {"sample_train": 1.0, "echoed": 0.1}, ["sample_validation"], 3, 10)
    assert data.train == pairs and data.validation == {"sample_validation": [held_out[i] for i in (0, 1, 3)]}
    with pytest.raises(ValueError, match="sample_natural: cleaning kept no pair"):
        read_cleaned(split, answers, {"sample_train": 1.0}, ["sample_natural"], 3, 10)


def test_a_list_of_no_sources_is_none_and_no_list_is_all():
    """At 7ea38f3e ``sources: []`` in the parameters of 20_train_encoder_judge was all of them."""
    cells = [text for text, _ in code_of(project_root() / "notebooks/20_train_encoder_judge.ipynb")]
    (text,) = (text for text in cells if "data = read_cleaned(" in text)
    kept, space, seen = pd.DataFrame({"source": ["one", "two"]}), {}, []
    exec(compile(cells[0], "parameters", "exec"), space)
    space["load_data"] = lambda run, name: kept
    space["read_cleaned"] = lambda split, answers, *_: seen.append([*answers["source"]]) or SimpleNamespace(train=TRAIN)
    for sources in (None, [], ["two"]):
        exec(compile(text, "20", "exec"), space | {"sources": sources})
    assert seen == [["one", "two"], [], ["two"]]


def test_the_judge_of_permissive_data_learns_and_chooses_from_no_other():
    given = load_plain((project_root() / "params/laptop/20_train_encoder_judge-permissive.yaml").read_text("utf-8"))
    for name in {*given["sources"], *given["validation_sets"], *given["shares"]} - set(KINDS):
        assert {find_source(file).licence.split(" (")[0] for file in set_hashes([name])} <= {"MIT", "Apache-2.0"}, name
        assert set_hashes([name]), name
