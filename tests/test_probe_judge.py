"""Judges of pairs on hidden states: orders, ties, files, and the tie model."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from notebook_functions import functions_of

from judgekit.data import paths
from judgekit.data.files import load_plain
from judgekit.data.sample import load_sample
from judgekit.inside import probes
from judgekit.inside.representations import StateCache, inputs_of
from judgekit.inside.saved_probes import ProbeError, SavedProbe, TieModel, load_probe
from judgekit.judges import Request, UnknownJudge, load_judge, request_of, shipped_judges
from judgekit.judges.names import slug
from judgekit.judges.probe import ProbeJudge, save_probe_judge
from judgekit.models.registry import language_models
from judgekit.models.states import StateReader


@pytest.fixture(scope="module")
def folder(reader, tmp_path_factory):
    folder, inputs = tmp_path_factory.mktemp("pairs"), inputs_of(reader, "mean", (1, 2))
    weight = np.random.default_rng(0).normal(size=(2 * inputs.width, 1))
    probe = SavedProbe("pair_logistic", (0, 1), inputs, weight, np.zeros(1))
    save_probe_judge(probe, TieModel(0.5, -0.3, 100, 10), folder)
    return folder


def test_exchanging_the_responses_exchanges_the_probabilities_and_equal_ones_tie(folder):
    judge, pairs = load_judge(f"probe/{folder}"), load_sample("sample_natural")[:12]
    shown = [judge.judge([request_of(pair, order) for pair in pairs]) for order in ("ab", "ba")]
    for one, other in zip(*shown, strict=True):
        assert (one.p_first, one.p_second, one.p_tie) == pytest.approx(
            (other.p_second, other.p_first, other.p_tie), abs=1e-5
        )
        assert one.p_first + one.p_second + one.p_tie == pytest.approx(1)
    assert len({reply.verdict for reply in shown[0]}) > 1
    (reply,) = judge.judge([Request(pairs[0].question, "R", "R")])
    assert reply.verdict == "tie" and reply.p_first == pytest.approx(reply.p_second)
    assert judge.judge([]) == []


def test_its_fingerprint_is_its_content(folder, tmp_path):
    judge = ProbeJudge(folder)
    probe = judge.probe
    save_probe_judge(probe, judge.ties, tmp_path / "same")
    save_probe_judge(probe, TieModel(0.6, -0.3, 100, 10), tmp_path / "other")
    assert ProbeJudge(tmp_path / "same").fingerprint == judge.fingerprint
    assert ProbeJudge(tmp_path / "other").fingerprint != judge.fingerprint


def test_replies_in_two_precisions_have_two_keys(folder, tmp_path, monkeypatch):
    """At e4594ef1 the wish for bfloat16 stood in the key, whatever the processor did."""
    judge = ProbeJudge(folder)
    reader = StateReader(judge.probe.inputs.model, limit=judge.probe.inputs.limit, bf16=True)
    inputs = replace(judge.probe.inputs, bf16=True, model_fingerprint=reader.fingerprint)
    save_probe_judge(replace(judge.probe, inputs=inputs), judge.ties, tmp_path / "half")
    made, states = [], []
    for told in ("0", "1"):
        monkeypatch.setenv("JUDGEKIT_BF16", told)
        made.append(ProbeJudge(tmp_path / "half").fingerprint)
        cached = StateReader(judge.probe.inputs.model, cache=StateCache(tmp_path / "states"), bf16=True)
        states.append(cached.read(["A text."])["mean"])
    assert made[0] != made[1] and not np.array_equal(*states)


def test_responses_that_it_reads_in_part_are_counted(folder):
    judge, long, short = ProbeJudge(folder), "word " * 200, "A word."
    shown = [Request("Q?", *both) for both in ((short, short), (long, short), (short, long), (long, f"{long}!"))]
    for _ in range(2):  # the second time from memory
        assert [reply.truncated for reply in judge.judge(shown)] == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"scale": 1}', r"ties\.json: field 'log_nu' .* required"),
        ('{"scale": -1, "log_nu": 0, "n_pairs": 1, "n_ties": 1}', "field 'scale' is -1: .* greater than 0"),
        ('{"scale": 1, "log_nu": NaN, "n_pairs": 1, "n_ties": 1}', "field 'log_nu' is nan: .* finite"),
        ('{"scale": 1, "log_nu": 0, "n_pairs": 1, "n_ties": 1, "nu": 1}', "field 'nu' is 1"),
    ],
)
def test_a_damaged_tie_model_is_named(folder, tmp_path, content, words):
    save_probe_judge(ProbeJudge(folder).probe, TieModel(1, 0, 1, 1), tmp_path / "judge")
    (tmp_path / "judge" / "ties.json").write_text(content)
    with pytest.raises(ProbeError, match=words):
        load_judge(f"probe/{tmp_path / 'judge'}")


def test_a_probe_of_single_responses_judges_no_pairs(folder, tmp_path):
    probe = ProbeJudge(folder).probe
    single = SavedProbe("logistic", (0, 1), probe.inputs, probe.weight, probe.bias)
    save_probe_judge(single, TieModel(1, 0, 1, 1), tmp_path / "judge")
    with pytest.raises(ProbeError, match="needs a pairwise one"):
        load_judge(f"probe/{tmp_path / 'judge'}")
    with pytest.raises(UnknownJudge, match=r"no ties\.json in"):
        load_judge("probe/nothing")


@pytest.mark.parametrize("name", ["smollm2-135m", "qwen2.5-coder-0.5b"])
def test_a_shipped_probe_of_a_language_model_names_a_base_that_can_be_fetched_and_saw_no_test_set(name):
    probe = load_probe(paths.PRETRAINED / "probes" / name)
    assert probe.kind == "pair_logistic" and probe.inputs.bf16
    assert probe.inputs.model == name and name in language_models() and f"probe/{name}" in shipped_judges()
    file = paths.project_root() / "params" / "laptop" / f"53_pairwise_probe-{slug(name)}.yaml"
    params = load_plain(file.read_text(encoding="utf-8"))
    assert (params["base"], params["sets"], params["variant"]) == (name, [], slug(name))
    assert probe.about["corpora"] == params["corpora"] and probe.about["n"] > 500
    assert json.loads((paths.PRETRAINED / "probes" / name / "ties.json").read_text())["n_pairs"] >= probe.about["n"]


def test_margins_of_ties_come_from_probes_that_have_not_seen_their_questions():
    rng, names = np.random.default_rng(0), np.array([f"q{number // 2}" for number in range(40)])
    differences, is_tie = {"mean": rng.normal(size=(44, 1, 3))}, np.arange(44) >= 40
    features, labels = {"mean": differences["mean"][~is_tie]}, np.tile([0, 1], 20)
    nested = probes.nested_probe(features, labels, names, probes.HEADS["pair"], seed=3)
    tied = [SimpleNamespace(cluster=name) for name in ("q0", "new", "q7", "q19")]
    given = {"features": features, "labels": labels, "groups": names.tolist(), "nested": nested, "seed": 3}
    given |= {"differences": differences, "is_tie": is_tie, "tied": tied}
    found = functions_of("53_pairwise_probe", **given).ties_by_folds()
    folds = list(zip(probes.grouped_folds(labels, names, 5, 3), nested.choices, strict=True))
    for pair, states, told in zip(tied, differences["mean"][is_tie], found, strict=True):
        unseen = [(train, choice) for (train, _), choice in folds if pair.cluster not in names[train]]
        assert len(unseen) == (5 if pair.cluster == "new" else 1)
        train, choice = unseen[-1]
        probe = probes.fit_choice(choice, {"mean": features["mean"][train]}, labels[train], seed=3)
        assert told == pytest.approx(probe.predict_proba(states)[0, 1])
