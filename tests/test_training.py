"""judgekit.training: seeded, resumable, and blind to what it must not see."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from judgekit.davidson import outcome_probabilities
from judgekit.judges.features import FeaturesJudge
from judgekit.records import PreferencePair, Turn
from judgekit.sample import load_sample
from judgekit.surface import FEATURES, PAIR_FEATURES
from judgekit.training import encoder as training_encoder
from judgekit.training.batches import Sampler
from judgekit.training.encoder import CHECKPOINT, EncoderTrainer, train_encoder
from judgekit.training.features import FeatureTable, feature_table, fit_features, save_features
from judgekit.training.losses import davidson_loss, gate_loss
from judgekit.training.negatives import Neighbours, draw_quads, preferred_responses
from judgekit.training.recipe import EncoderRecipe
from judgekit.training.targets import (
    data_hash,
    mixture_table,
    select_split,
    source_weights,
    sources_with_ties,
    target_of,
)

TINY = EncoderRecipe(
    r=4,
    layers=1,
    hidden=8,
    steps=5,
    pairs_per_step=4,
    quads_per_step=2,
    eval_every=2,
    lr=3e-3,
    head_lr=3e-2,
    bf16=False,
    max_question_tokens=32,
    max_response_tokens=32,
)
TRAIN, VALIDATION = load_sample("sample_train")[:24], {"v": load_sample("sample_validation")[:8]}
SHARES = {"sample_train": 1.0}
WEIGHTS = ("heads.safetensors", "adapter/adapter_model.safetensors")


def pair(item_id="1", label="A", benchmark="one", question="Q?", **fields):
    given = {"response_a": "good", "response_b": "bad", "cluster_id": question}
    return PreferencePair(str(item_id), benchmark, question, label=label, **given | fields)


def train(folder, recipe=TINY, **changes):
    given = {"train": TRAIN, "shares": SHARES, "validation": VALIDATION} | changes
    return train_encoder(recipe, folder=folder, progress=False, **given)


def weights(folder):
    return {name: (folder / name).read_bytes() for name in WEIGHTS}


class Interrupted(Exception):
    pass


def interrupt(folder, at_step, recipe=TINY):
    """A run that ends with an exception before the given step."""
    trainer = EncoderTrainer(recipe, TRAIN, SHARES, VALIDATION, folder)
    train_step = trainer.train_step

    def step_or_stop():
        if trainer.step == at_step:
            raise Interrupted
        return train_step()

    trainer.train_step = step_or_stop
    with pytest.raises(Interrupted):
        trainer.run(progress=False)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run: its folder and what it reported."""
    folder = tmp_path_factory.mktemp("run") / "judge"
    return folder, train(folder)


# ---------------------------------------------------------------- the encoder


def test_two_runs_give_the_same_weights(finished, tmp_path):
    folder, report = finished
    again = train(tmp_path / "again")
    assert weights(tmp_path / "again") == weights(folder)
    assert report["best_step"] > 0
    for row, other in zip(report["history"], again["history"], strict=True):
        assert {**row, "seconds": 0} == {**other, "seconds": 0}


def test_an_interrupted_run_ends_with_the_same_weights(finished, tmp_path):
    interrupt(tmp_path, at_step=3)  # one step beyond the checkpoint of step 2
    assert (tmp_path / CHECKPOINT).is_file() and not (tmp_path / "judge.json").exists()
    report = train(tmp_path)
    assert weights(tmp_path) == weights(finished[0])
    assert [row["step"] for row in report["history"]] == [row["step"] for row in finished[1]["history"]] == [0, 2, 4, 5]
    assert not (tmp_path / CHECKPOINT).exists()


@pytest.mark.parametrize(
    "change",
    [{"recipe": replace(TINY, lr=1e-3)}, {"recipe": replace(TINY, seed=1)}, {"train": TRAIN[:-1]}],
    ids=["learning rate", "seed", "data"],
)
def test_a_checkpoint_of_another_run_is_not_continued(tmp_path, change):
    interrupt(tmp_path, at_step=3)
    arguments = {"recipe": TINY, "train": TRAIN, "shares": SHARES, "validation": VALIDATION} | change
    other = EncoderTrainer(**arguments, folder=tmp_path)
    other.resume()
    assert (other.step, other.history) == (0, [])
    same = EncoderTrainer(TINY, TRAIN, SHARES, VALIDATION, tmp_path)
    same.resume()
    assert (same.step, len(same.history)) == (2, 2)


def test_a_finished_judge_is_not_trained_again(finished, monkeypatch):
    folder, report = finished
    monkeypatch.setattr(training_encoder, "EncoderTrainer", None)
    assert train(folder) == json.loads(json.dumps(report))
    with pytest.raises(TypeError):  # another recipe would be trained
        train(folder, replace(TINY, steps=6))


def test_a_judge_is_plain_files_without_a_machine_in_them(finished, tmp_path_factory):
    files = [path for path in finished[0].rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".json", ".safetensors"}
    places = {str(Path.home()), sys.prefix, str(tmp_path_factory.getbasetemp()), "site-packages", str(Path.cwd())}
    for path in files:
        content = path.read_bytes()
        for place in places - {"/"}:
            assert place.encode() not in content, f"{path.name} holds {place}"


def test_what_is_trained_is_small_and_moves(finished):
    folder, report = finished
    trainer = EncoderTrainer(TINY, TRAIN, SHARES, VALIDATION, folder)
    before = {name: value.detach().clone() for name, value in trainer.trainable().items()}
    frozen = {n: p.detach().clone() for n, p in trainer.encoder.model.named_parameters() if not p.requires_grad}
    for _ in range(2):  # LoRA's first matrix moves from the second step on
        trainer.train_step()
    assert all((value != before[name]).any() for name, value in trainer.trainable().items())
    for name, parameter in trainer.encoder.model.named_parameters():
        assert name not in frozen or torch.equal(parameter, frozen[name])
    assert report["trainable_parameters"] == sum(value.numel() for value in before.values()) < 100_000
    adapted = {name.partition("layer.")[2].partition(".")[0] for name in before if "lora" in name}
    assert adapted == {"5"}  # the topmost of six


def test_the_written_judge_is_the_best_state(finished):
    losses = {row["step"]: row["loss"] for row in finished[1]["history"]}
    assert finished[1]["best_step"] == min(losses, key=losses.get)


def test_a_fitted_start_is_where_training_begins(tmp_path):
    parts = fit_features(feature_table(load_sample("sample_train")))
    trainer = EncoderTrainer(TINY, TRAIN, SHARES, VALIDATION, tmp_path, start=parts)
    assert trainer.heads.feature_weight.detach().numpy() == pytest.approx(parts["weight"], abs=1e-6)
    assert trainer.heads.tie_bias.item() == pytest.approx(float(parts["tie_bias"]), abs=1e-6)


def test_a_validation_prompt_may_not_be_a_training_prompt(tmp_path):
    shared = {"v": [*VALIDATION["v"], replace(TRAIN[3], item_id="other", response_a="new")]}
    with pytest.raises(ValueError, match="also a training prompt"):
        train(tmp_path, validation=shared)
    with pytest.raises(ValueError, match="validation set v is empty"):
        train(tmp_path, validation={"v": []})


def test_every_text_and_label_is_part_of_the_identity():
    base = data_hash(TRAIN, SHARES, VALIDATION)
    assert base == data_hash(list(TRAIN), dict(SHARES), dict(VALIDATION))
    changed = [
        (TRAIN[::-1], SHARES, VALIDATION),
        ([replace(TRAIN[0], response_a="x"), *TRAIN[1:]], SHARES, VALIDATION),
        ([TRAIN[0].swapped(), *TRAIN[1:]], SHARES, VALIDATION),
        (TRAIN, {"sample_train": 2.0}, VALIDATION),
        (TRAIN, SHARES, {"v": VALIDATION["v"][1:]}),
    ]
    assert len({base, *(data_hash(*arguments) for arguments in changed)}) == 6


# ---------------------------------------------------------------- sampling


def test_sources_are_drawn_by_share_and_prompts_before_pairs():
    pairs = [pair(n, benchmark="one", question="crowded") for n in range(50)]
    pairs += [pair("x", benchmark="one", question="lonely"), pair("y", benchmark="two")]
    sampler = Sampler(pairs, {"one": 3.0, "two": 1.0})
    drawn = sampler.draw(np.random.default_rng(0), 4000)
    share = {key: sum(p.cluster_id == key for p in drawn) / 4000 for key in ("crowded", "lonely", "Q?")}
    assert share == pytest.approx({"crowded": 0.375, "lonely": 0.375, "Q?": 0.25}, abs=0.03)
    assert sum(p.response_a == "good" for p in drawn) / 4000 == pytest.approx(0.5, abs=0.03)
    assert all((p.label == "A") == (p.response_a == "good") for p in drawn)


def test_the_same_draw_twice_is_the_same():
    sampler = Sampler(TRAIN, SHARES)
    first, second = (sampler.draw(np.random.default_rng([0, 7]), 20) for _ in range(2))
    assert first == second


def test_every_source_needs_a_share():
    with pytest.raises(ValueError, match="two"):
        Sampler([pair(), pair(benchmark="two")], {"one": 1})
    with pytest.raises(ValueError, match="no training pairs"):
        Sampler([pair()], {"one": 0})
    with pytest.raises(ValueError, match="two"):
        source_weights([pair(), pair(benchmark="two")], {"one": 1})


def test_weights_give_each_source_its_share():
    pairs = [pair(n) for n in range(6)] + [pair(n, benchmark="two") for n in range(2)]
    weight = source_weights(pairs, {"one": 1.0, "two": 3.0, "absent": 5.0})
    assert weight.mean() == pytest.approx(1)
    assert weight[:6].sum() / weight.sum() == pytest.approx(0.25)


def test_quads_pair_neighbours_with_their_own_responses():
    neighbours = Neighbours(
        ["q0", "q1", "q2"], [["r0"], ["r1", "s1"], ["r2"]], [np.array([1]), np.array([0]), np.array([])]
    )
    quads = draw_quads(neighbours, np.random.default_rng(0), 50)
    own = {"q0": {"r0"}, "q1": {"r1", "s1"}}
    assert len(quads) == 50
    for q1, r1, q2, r2 in quads:
        assert {q1, q2} == {"q0", "q1"} and r1 in own[q1] and r2 in own[q2]
    lonely = Neighbours(["q"], [["r"]], [np.array([], dtype=int)])
    assert draw_quads(lonely, np.random.default_rng(0), 5) == []


def test_only_preferred_responses_stand_for_a_question():
    pairs = [pair(1, "A", response_a="right", response_b="wrong"), pair(2, "B", response_a="bad", response_b="fine")]
    pairs += [pair(3, "tie", response_a="either", response_b=" "), pair(4, "B", question="Other?", response_b="")]
    assert preferred_responses(pairs) == {"Q?": ["right", "fine", "either"]}


# ---------------------------------------------------------------- targets


@pytest.mark.parametrize(
    ("fields", "target"),
    [
        ({"label": "A"}, (1, 0, 0)),
        ({"label": "B"}, (0, 1, 0)),
        ({"label": "tie"}, (0, 0, 1)),
        ({"label": "A", "soft_label": 0.7}, (0.7, 0.3, 0)),
        ({"label": "tie", "soft_label": 0.5}, (0, 0, 1)),
        ({"label": None, "soft_label": 0.2}, (0.2, 0.8, 0)),
    ],
)
def test_targets(fields, target):
    assert target_of(pair(**fields)) == pytest.approx(target)
    mirrored = target_of(pair(**fields).swapped())
    assert mirrored == pytest.approx((target[1], target[0], target[2]))


def test_a_pair_without_a_label_teaches_nothing():
    with pytest.raises(ValueError, match="one/1: no label"):
        target_of(pair(label=None))


def test_ties_count_only_where_they_were_offered():
    rarely = [pair(n, "tie" if n == 0 else "A", benchmark="rarely") for n in range(100)]
    often = [pair(n, "tie" if n < 2 else "A", benchmark="often") for n in range(100)]
    assert sources_with_ties(rarely + often) == {"often"}


def test_the_split_is_read_back():
    import pandas as pd

    rows = [("one", str(n), "train" if n < 6 else "validation") for n in range(8)] + [("two", "0", "train")]
    split = pd.DataFrame(rows, columns=["benchmark", "item_id", "split"])
    pairs = {"one": [pair(n) for n in range(9)], "two": [pair(0, benchmark="two")]}
    chosen = [(p.benchmark, p.item_id) for p in select_split(split, pairs, "train")]
    assert chosen == [("one", str(n)) for n in range(6)] + [("two", "0")]
    held_out = select_split(split, pairs, "validation", by_set=True)
    assert {name: [p.item_id for p in part] for name, part in held_out.items()} == {"one": ["6", "7"]}
    assert [p.item_id for p in select_split(split, pairs, "train", limit=3)] == ["0", "2", "4", "0"]
    with pytest.raises(ValueError, match=r"one has no item '7' \(1 in all\)"):
        select_split(split, pairs | {"one": pairs["one"][:7]}, "validation")


def test_the_mixture_adds_up():
    pairs = [pair(n, question=f"{n % 2}", label_kind="human") for n in range(4)] + [pair("t", "tie", benchmark="two")]
    table = mixture_table(pairs, {"one": 3, "two": 1}).set_index("corpus")
    assert table.loc["one", ["labelled by", "share", "pairs", "prompts", "ties"]].tolist() == ["human", "75%", 4, 2, 0]
    assert table.loc["two", "ties"] == 1


def test_the_question_shown_holds_earlier_turns():
    assert pair(turns=(Turn("First?", "a", "b"),), question="Then?").asked == "First?\n\nThen?"


# ---------------------------------------------------------------- losses


def test_the_loss_is_the_likelihood_of_the_model():
    difference, log_nu = torch.tensor([0.7, -1.2, 0.3]), torch.tensor([-0.5, 0.4, 0.0])
    target = torch.eye(3)
    loss = davidson_loss(difference, log_nu, target, torch.tensor([True] * 3))
    p = outcome_probabilities(difference.numpy(), log_nu.numpy())
    assert loss.numpy() == pytest.approx(-np.log(np.diag(p)), abs=1e-6)


def test_where_ties_were_not_offered_the_tie_parameter_learns_nothing():
    difference = torch.tensor([0.7, -1.2], requires_grad=True)
    log_nu = torch.tensor([-0.5, 0.4], requires_grad=True)
    target = torch.tensor([[1.0, 0, 0], [0.3, 0.7, 0]])
    loss = davidson_loss(difference, log_nu, target, torch.tensor([False, False]))
    loss.sum().backward()
    assert log_nu.grad.tolist() == [0, 0]
    assert loss[0].item() == pytest.approx(np.log1p(np.exp(-0.7)), abs=1e-6)
    assert difference.grad.abs().min() > 0


def test_the_gate_loss_is_zero_where_the_gate_is_right():
    right = gate_loss(torch.tensor([20.0]), torch.tensor([-20.0])).item()
    wrong = gate_loss(torch.tensor([-20.0]), torch.tensor([20.0])).item()
    assert right == pytest.approx(0, abs=1e-6) and wrong == pytest.approx(20)
    assert gate_loss(torch.zeros(3), torch.zeros(3)).item() == pytest.approx(np.log(2))


# ---------------------------------------------------------------- surface features

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
    return FeatureTable(a, b, both, np.eye(3)[outcome], np.ones(n, bool))


def test_planted_weights_are_found(planted):
    parts = fit_features(planted, l2=1e-4, l2_ties=1e-4)
    found = dict(zip(FEATURES, parts["weight"], strict=True))
    assert {name: found[name] for name in PLANTED} == pytest.approx(PLANTED, rel=0.15)
    assert max(abs(value) for name, value in found.items() if name not in PLANTED) < 0.15
    ties = dict(zip(PAIR_FEATURES, parts["tie_weight"], strict=True))
    assert ties.pop("word_jaccard") == pytest.approx(1, rel=0.15)
    assert max(map(abs, ties.values())) < 0.15
    assert parts["tie_bias"] == pytest.approx(-0.5, abs=0.15)


def test_the_penalty_shrinks(planted):
    norms = [np.linalg.norm(fit_features(planted, l2=l2)["weight"]) for l2 in (1e-4, 0.1, 10)]
    assert norms[0] > norms[1] > norms[2]


def test_the_fit_does_not_know_which_response_is_a(planted):
    turned = FeatureTable(planted.b, planted.a, planted.pair, planted.target[:, [1, 0, 2]], planted.tied)
    one, other = fit_features(planted), fit_features(turned)
    for name in one:
        assert other[name] == pytest.approx(one[name], abs=1e-3), name


def test_a_weight_of_zero_leaves_pairs_out(planted):
    n = len(planted.a)
    spoilt = planted.target.copy()
    spoilt[: n // 2] = spoilt[: n // 2][:, [1, 0, 2]]
    table = FeatureTable(planted.a, planted.b, planted.pair, spoilt, planted.tied)
    parts = fit_features(table, weight=np.repeat([0.0, 1.0], n // 2), l2=1e-4)
    found = dict(zip(FEATURES, parts["weight"], strict=True))
    assert {name: found[name] for name in PLANTED} == pytest.approx(PLANTED, rel=0.3)


def test_a_constant_feature_gets_no_infinite_scale():
    pairs = [pair(n, label, response_a="yes", response_b="no") for n, label in enumerate("AB")]
    parts = fit_features(feature_table(pairs))
    assert all(np.isfinite(value).all() for value in parts.values())


def test_a_saved_fit_is_the_judge(tmp_path):
    pairs = load_sample("sample_train")
    path = save_features(fit_features(feature_table(pairs)), tmp_path / "new")
    model = json.loads(path.read_text())
    assert model["features"] == list(FEATURES) and model["pair_features"] == list(PAIR_FEATURES)
    first = FeaturesJudge(tmp_path / "new")
    save_features(fit_features(feature_table(pairs)), tmp_path / "again")
    assert FeaturesJudge(tmp_path / "again").fingerprint == first.fingerprint
    model["features"] = model["features"][:-1]
    path.write_text(json.dumps(model))
    with pytest.raises(ValueError, match="other features"):
        FeaturesJudge(tmp_path / "new")
