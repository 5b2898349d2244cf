"""Adversarial training: what the gate against tampering does, and that nothing held out is trained on."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from notebook_functions import functions_of

from judgekit.bias.edits import HELD_OUT, TRAINABLE, tampered
from judgekit.data.paths import PRETRAINED, project_root
from judgekit.data.sample import load_sample
from judgekit.judges import request_of
from judgekit.judges.encoder import EncoderJudge, weights_folder
from judgekit.models.encoder import TextEncoder
from judgekit.studies.defend_encoder_judge import Setting, attacked_pairs, defence_data, fit_setting, save_defended
from judgekit.training.mixture import make_material

BASE = PRETRAINED / "minilm"
TRAIN, VALIDATION = load_sample("sample_train")[:80], {"v": load_sample("sample_validation")[:30]}
BOTH = Setting("both", share=0.1, prior=0.1)


@pytest.fixture(scope="module")
def data():
    """A defence of the shipped judge on sample pairs."""
    material = make_material(TRAIN, {"sample_train": 1.0}, VALIDATION, TextEncoder())
    return defence_data(EncoderJudge(BASE, bf16=False), material, n_pairs=60, n_validation=30)


@pytest.fixture(scope="module")
def fitted(data):
    return fit_setting(BOTH, data)


@pytest.fixture
def beside(tmp_path):
    """A folder where the shipped judge stands, so that a defended one can stand beside it."""
    (tmp_path / "minilm").symlink_to(BASE)
    return tmp_path


def test_the_ends_of_a_text_are_its_first_and_last_tokens():
    encoder = TextEncoder()
    words = [f"w{k}" for k in range(200)]
    head, tail = encoder.end_ids(" ".join(words), 10)
    frame = len(encoder.prefix) + len(encoder.suffix)
    assert len(head) == len(tail) == 10 + frame
    assert encoder.tokenizer.decode(head, skip_special_tokens=True).startswith("w0")
    assert encoder.tokenizer.decode(tail, skip_special_tokens=True).endswith("w199")
    short = encoder.end_ids("two words", 10)
    assert short[0] == short[1] == encoder.token_ids("two words", 100)
    assert all(len(end) == frame for end in encoder.end_ids("", 10))


def test_no_held_out_attack_and_no_wording_of_the_tests_is_trained_on():
    pairs, attacks, originals = attacked_pairs(TRAIN, per_pair=12)
    assert set(attacks) == set(TRAINABLE) and not set(attacks) & set(HELD_OUT)
    for pair, name, original in zip(pairs, attacks, originals, strict=True):
        worse = "response_b" if pair.label == "A" else "response_a"
        assert original in TRAIN and pair.item_id == f"{original.item_id}+{name}"
        assert getattr(pair, worse) == tampered(name, pair.asked, getattr(original, worse), "trained", 0)
        better = "response_a" if pair.label == "A" else "response_b"
        assert getattr(pair, better) == getattr(original, better) and pair.label == original.label


def test_an_attacked_pair_stands_beside_its_original_where_sets_share_ids():
    twins = [replace(pair, benchmark="other", question=f"Other: {pair.question}") for pair in TRAIN[:5]]
    pairs, _, originals = attacked_pairs([*TRAIN[:5], *twins])
    assert [(p.benchmark, p.question) for p in pairs] == [(p.benchmark, p.question) for p in originals]
    assert {p.benchmark for p in originals} == {"sample_train", "other"}


def test_the_wide_gate_differs_from_the_judges_in_its_odds_alone():
    files = (PRETRAINED / name / "judge.json" for name in ("minilm", "minilm_wide"))
    own, wide = (json.loads(file.read_text(encoding="utf-8")) for file in files)
    assert wide.pop("weights_of") == "minilm" and wide["gate_odds"] > 1
    own["gate"]["bias"] += float(np.log(wide.pop("gate_odds")))
    assert wide == own


def test_the_defence_is_trained_on_what_the_judge_was():
    params = {
        name: yaml.safe_load((project_root() / f"params/laptop/{name}.yaml").read_text(encoding="utf-8"))
        for name in ("20_train_encoder_judge", "23_defend_encoder_judge")
    }
    judge, defended = params.values()
    assert all(judge[name] == defended[name] for name in ("shares", "validation_sets"))
    assert judge["limits"]["validation"] == defended["max_validation"]


def test_a_defence_takes_success_away(data, fitted):
    undefended = fit_setting(Setting("as it is"), data)
    assert undefended[0] is data.quality and undefended[1] is None
    success_of = functions_of("23_defend_encoder_judge", data=data).success_of
    (before, accuracy), (after, _) = success_of(*undefended), success_of(*fitted)
    assert set(before.index) == set(data.assault.attacks) and before.mean() > 1.5 * after.mean()
    assert accuracy == pytest.approx(data.validation["v"].pairs.hits(data.gates).mean())


def test_the_judge_says_what_the_tables_said(data, fitted, beside):
    save_defended(*fitted, beside / "minilm", beside / "minilm_defended")
    judge = EncoderJudge(beside / "minilm_defended", bf16=False)
    pairs = VALIDATION["v"]
    told = np.array([(r.p_first, r.p_second, r.p_tie) for r in judge.judge([request_of(p, "ab") for p in pairs])])
    table = data.validation["v"]
    table = replace(table, pairs=replace(table.pairs, tied=np.ones(len(pairs), bool)))
    assert told == pytest.approx(table.defended(fitted[0], data.gates, fitted[1]), abs=2e-3)
    plain = EncoderJudge(BASE, bf16=False).judge([request_of(p, "ab") for p in pairs])
    assert np.abs(told[:, 0] - [r.p_first for r in plain]).max() > 0.02
    turned = np.array([(r.p_second, r.p_first, r.p_tie) for r in judge.judge([request_of(p, "ba") for p in pairs])])
    assert turned == pytest.approx(told, abs=1e-12)  # it does not see the order
    assert told.sum(1) == pytest.approx(1) and (told >= 0).all()


def test_a_defended_judge_is_one_small_file(fitted, beside):
    save_defended(*fitted, beside / "minilm", beside / "minilm_defended")
    files = list((beside / "minilm_defended").iterdir())
    assert [path.name for path in files] == ["judge.json"] and files[0].stat().st_size < 200_000
    plain, own = (EncoderJudge(beside / name) for name in ("minilm", "minilm_defended"))
    assert own.defended and not plain.defended and own.fingerprint != plain.fingerprint
    assert own.encoder_key == plain.encoder_key  # what one embeds the other does not embed again
    with pytest.raises(ValueError, match="must stand beside"):
        save_defended(*fitted, beside / "minilm", beside / "elsewhere" / "minilm_defended")
    files[0].write_text(json.dumps(json.loads(files[0].read_text()) | {"format": 3}))
    with pytest.raises(ValueError, match="format 3; this version reads 4"):
        EncoderJudge(files[0].parent)


@pytest.mark.parametrize("name", ["../minilm", "/etc", "a/b", "", "..", 7, [], "a\\b"])
def test_weights_stand_beside_a_judge_and_nowhere_else(name):
    with pytest.raises(ValueError, match="not the name of a folder beside"):
        weights_folder(Path("models/own"), {"weights_of": name})
    assert weights_folder(Path("models/own"), {"weights_of": "minilm"}) == Path("models/minilm")


def test_an_attack_that_is_left_out_is_not_in_the_data(data):
    others = np.flatnonzero(data.attacked.attacks != "markdown")
    assert 0 < len(others) < len(data.attacked.attacks)
    rest = data.attacked
    left = replace(rest, features=rest.features.of(others), ends_a=rest.ends_a[others], ends_b=rest.ends_b[others])
    left = replace(left, attacks=rest.attacks[others])
    told, wanted = fit_setting(BOTH, data, left_out="markdown"), fit_setting(BOTH, replace(data, attacked=left))
    np.testing.assert_allclose(told[0]["weight"], wanted[0]["weight"], atol=1e-9)
    assert told[1]["bias"] == pytest.approx(wanted[1]["bias"], abs=1e-6)
    assert told[1]["bias"] != pytest.approx(fit_setting(BOTH, data)[1]["bias"], abs=1e-6)
