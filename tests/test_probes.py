"""Probes: fitted, chosen, estimated and saved; and that what is held out has no say in what is chosen."""

import json
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from notebook_functions import functions_of
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from tiny_causal import save_tiny

from judgekit.data import paths
from judgekit.data.sample import load_sample_ratings
from judgekit.inside import probes as probing
from judgekit.inside.aspects import load_aspects
from judgekit.inside.layer_logits import LayerReader
from judgekit.inside.probes import HEADS, Space, nested_probe
from judgekit.inside.representations import rated_text
from judgekit.inside.saved_probes import Inputs, ProbeError, load_probe, save_probe, saved_probe
from judgekit.studies import representation_probes as study
from judgekit.studies.fitted_raters import Cell, cells_of, fit_probes, fit_rater, metric_table, read_states
from judgekit.studies.representation_probes import Method, run_study

FAST = Space(n_components=8, candidates=3, max_layers=2, n_inner=3, families=("logistic",))


def material(n=120, n_layers=4, width=6, signal=(2,), seed=0, classes=5, per_question=2):
    """Gaussian features of which some layers follow the label: features, labels, questions."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % classes) + (classes > 2)
    states = rng.normal(size=(n, n_layers, width))
    for layer in signal:
        states[:, layer, 0] += 2.0 * (labels - labels.mean())
    return {"mean": states}, labels, [f"q{i // per_question}" for i in range(n)]


def test_metrics_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    labels, predicted = rng.integers(1, 6, 40), rng.integers(1, 5, 40)  # class 5 is never predicted
    matrix = probing.class_counts(labels, predicted, range(1, 6)).sum(0)
    given = {"labels": range(1, 6), "zero_division": 0}
    expected = {
        "accuracy": accuracy_score(labels, predicted),
        "macro_f1": f1_score(labels, predicted, average="macro", **given),
        "weighted_f1": f1_score(labels, predicted, average="weighted", **given),
    }
    assert {name: float(metric(matrix)) for name, metric in probing.METRICS.items()} == pytest.approx(expected)
    for predicted in ([1, 7], [1]):
        with pytest.raises(ValueError, match=r"predictions are not all of \[1, 2\]"):
            probing.class_counts([1, 2], predicted, (1, 2))


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_two_ordered_classes_are_logistic_regression(class_weight):
    features, labels, _ = material(classes=2, n=90)
    X, labels = probing.joined_layers(features["mean"], (2, 3)), np.where(np.arange(90) % 7, labels, 1)
    ours = probing.OrdinalLogistic(C=0.5, class_weight=class_weight).fit(X, labels)
    theirs = LogisticRegression(C=0.5, class_weight=class_weight, tol=1e-8, max_iter=5000).fit(X, labels)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


def test_the_order_is_recovered_with_its_thresholds():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 2))
    labels = np.digitize(X @ [2.0, -1.0] + rng.logistic(size=4000), [-2.0, 0.0, 3.0])
    fitted = probing.OrdinalLogistic(C=100).fit(X, labels)
    np.testing.assert_allclose(fitted.coef_, [2, -1], atol=0.15)
    np.testing.assert_allclose(fitted.thresholds_, [-2, 0, 3], atol=0.2)
    np.testing.assert_allclose(fitted.predict_proba(X).sum(1), 1)


@pytest.mark.parametrize("family", [*probing.CLASSIFIERS, "ordinal"])
def test_every_family_learns_what_is_there_and_is_reproducible(family):
    features, labels, _ = material(n=200)
    X = probing.joined_layers(features["mean"], (2,))
    probes = [probing.make_probe(family, probing.FAMILIES[family].usual, None, seed=3) for _ in range(2)]
    twice = [probe.fit(X[:150], labels[:150]).predict(X[150:]) for probe in probes]
    assert (twice[0] == twice[1]).all() and (twice[0] == labels[150:]).mean() > 0.45  # chance is 0.2


def test_swapping_responses_changes_the_sign_and_nothing_else():
    rng = np.random.default_rng(0)
    differences = rng.normal(0.5, 1, (60, 8))  # not centred at zero: A has been shown with larger numbers
    preferred = (differences[:, 0] + rng.normal(size=60) > 0.5).astype(int)
    swapped = rng.random(60) < 0.5
    sign = np.where(swapped, -1, 1)
    turned = differences * sign[:, None], np.where(swapped, 1 - preferred, preferred)
    one, other = (
        probing.make_probe("pair_logistic", {"C": 1.0}, 4).fit(*rows) for rows in ((differences, preferred), turned)
    )
    p = one.predict_proba(differences)
    np.testing.assert_allclose(one.predict_proba(-differences), p[:, ::-1], atol=1e-12)
    np.testing.assert_allclose(other.predict_proba(differences), p, atol=1e-6)


def test_no_question_is_on_both_sides_and_every_item_is_tested_once():
    _, labels, groups = material(n=60, per_question=4)
    folds = probing.grouped_folds(labels, np.array(groups), 5, seed=0)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(60))
    for train, test in folds:
        assert not {groups[i] for i in train} & {groups[i] for i in test}
    with pytest.raises(ValueError, match="2 questions cannot be cut into 3 folds"):
        probing.grouped_folds(np.array([0, 1, 0, 1]), np.array(list("aabb")), 3, 0)
    with pytest.raises(ValueError, match="one class"), pytest.warns(UserWarning, match="least populated"):
        probing.grouped_folds(np.array([0, 0, 0, 0, 1]), np.array(list("abcde")), 4, 0)


def test_layers_are_added_only_while_they_help():
    rng = np.random.default_rng(0)
    labels, groups = np.arange(300) % 2, np.arange(300)
    states = rng.normal(size=(300, 3, 1))
    states[:, [0, 2]] += 1.5 * labels[:, None, None]  # two layers that tell of the label, each with noise of its own
    assert probing.choose_probe({"x": states}, labels, groups, HEADS["binary"], FAST).layers == (0, 2)
    copies = np.repeat(states[:, :1], 3, axis=1)
    assert len(probing.choose_probe({"x": copies}, labels, groups, HEADS["binary"], FAST).layers) == 1


@pytest.mark.parametrize("head", ["five", "ordinal"])
def test_a_signal_is_seen_out_of_fold_in_its_layer_and_kind(head):
    features, labels, groups = material(n=150)
    features = {"noise": np.random.default_rng(9).normal(size=(150, 3, 4)), **features}
    families = None if head == "ordinal" else ("logistic",)
    result = nested_probe(features, labels, groups, HEADS[head], replace(FAST, families=families))
    assert (result.predicted == labels).mean() > 0.35 and np.corrcoef(result.scores, labels)[0, 1] > 0.7
    assert [(choice.features, 2 in choice.layers) for choice in result.choices] == [("mean", True)] * 5
    assert {choice.ranking["mean"][:, 0].argmax() for choice in result.choices} == {2}


def test_the_majority_and_pairs_go_through_the_same_door():
    features, labels, groups = material(classes=2)
    labels[:30] = 1  # 75 of 120 or so
    majority = nested_probe(features, labels, groups, HEADS["binary"], replace(FAST, families=("majority",)))
    assert (majority.predicted == 1).all()
    differences = np.random.default_rng(0).normal(size=(100, 2, 5))
    preferred = (differences[:, 1, 0] > 0).astype(int)
    space = replace(FAST, families=None)
    pairs = nested_probe({"x": differences}, preferred, np.arange(100) // 2, HEADS["pair"], space)
    assert (pairs.predicted == preferred).mean() > 0.8


def test_inputs_that_do_not_fit_are_refused():
    features, labels, groups = material()
    with pytest.raises(ValueError, match=r"are not all of \[1, 2, 3, 4, 5\]"):
        nested_probe(features, labels + 1, groups, HEADS["five"], FAST)
    with pytest.raises(ValueError, match="trained on one class"):
        nested_probe(features, 0 * labels + 1, groups, HEADS["five"], FAST)
    with pytest.raises(ValueError, match="family 'boosting' is none of majority"):
        Space(families=("logistic", "boosting"))


def test_choices_and_probes_do_not_see_the_fold_that_is_held_out():
    features, labels, groups = material(classes=2)
    result = nested_probe(features, labels, groups, HEADS["binary"], FAST)
    folds = probing.grouped_folds(labels, groups, 5, 0)
    for number in (0, 3):
        held_out = folds[number][1]
        disturbed = features["mean"].copy()
        disturbed[held_out] = 1e6 * (1 - 2 * labels[held_out, None, None])  # a giveaway, against what the others tell
        other = nested_probe({"mean": disturbed}, labels, groups, HEADS["binary"], FAST)
        assert other.choices[number] == result.choices[number]
        assert (other.choices[number].ranking["mean"] == result.choices[number].ranking["mean"]).all()
        assert (other.predicted[held_out] != labels[held_out]).all(), "the probe itself has seen the giveaway"


def test_items_of_a_question_do_not_vouch_for_each_other():
    rng = np.random.default_rng(0)
    questions = np.repeat(np.arange(40), 4)
    labels = rng.permutation(np.arange(40) % 2)[questions]  # by question, and by nothing else
    states = rng.normal(size=(40, 3, 40))[questions] + 0.1 * rng.normal(size=(160, 3, 40))
    whole = replace(FAST, n_components=None)
    grouped = nested_probe({"x": states}, labels, questions, HEADS["binary"], whole).predicted == labels
    apart = nested_probe({"x": states}, labels, np.arange(160), HEADS["binary"], whole).predicted == labels
    assert abs(grouped.mean() - 0.5) < 2 * 0.5 / np.sqrt(40)
    assert apart.mean() > 0.7  # the questions are known again


def fitted(family, classes=5, n_components=8):
    """A probe on two layers, its saved form, and states it has not seen."""
    features, labels, _ = material(n=80, classes=classes)
    choice = probing.Choice("mean", (1, 2), family, {"C": 0.1}, 0.0, 0.0)
    probe = probing.fit_choice(choice, features, labels, Space(n_components=n_components))
    inputs = Inputs("sample/model", "f" * 64, "mean", (1, 2), 6, 512)
    states = np.random.default_rng(5).normal(size=(30, 4, 6))[:, [1, 2]] * 3
    return probe, saved_probe(probe, family, inputs, {"aspect": "fluency"}), states


@pytest.mark.parametrize("n_components", [None, 3])
@pytest.mark.parametrize(
    ("family", "classes"), [("logistic", 2), ("logistic", 5), ("ordinal", 5), ("pair_logistic", 2)]
)
def test_a_saved_probe_predicts_as_the_fitted_one(tmp_path, family, classes, n_components):
    probe, saved, states = fitted(family, classes, n_components)
    save_probe(saved, tmp_path / "probe")
    loaded = load_probe(tmp_path / "probe")
    X = states.reshape(30, -1)
    np.testing.assert_allclose(loaded.probabilities(states), probe.predict_proba(X), atol=1e-6)
    assert (loaded.predict(states) == probe.predict(X)).all() and len(set(loaded.predict(states))) > 1
    np.testing.assert_allclose(loaded.expected(states), probe.predict_proba(X) @ probe.classes_, atol=1e-6)
    assert loaded.inputs == saved.inputs and loaded.about == {"aspect": "fluency"}


def test_a_probe_that_cannot_be_written_leaves_the_old_one(tmp_path):
    _, saved, states = fitted("ordinal")
    save_probe(saved, tmp_path)
    with pytest.raises(TypeError):
        save_probe(replace(saved, bias=saved.bias + 1, about={"when": object()}), tmp_path)
    assert (load_probe(tmp_path).probabilities(states) == saved.probabilities(states)).all()


def test_a_saved_probe_needs_no_scikit_learn():
    code = "import sys, judgekit.inside.saved_probes\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"sklearn", "torch", "transformers"} & set(done.stdout.split())


def test_another_model_or_shape_is_refused():
    _, saved, states = fitted("logistic")
    saved.check_model(SimpleNamespace(fingerprint="f" * 64, limit=512, bf16=False))
    with pytest.raises(ProbeError, match=r"fitted on sample/model with model_fingerprint f{64}, not with a{64}"):
        saved.check_model(SimpleNamespace(fingerprint="a" * 64, limit=512))
    with pytest.raises(ProbeError, match="with limit 512, not with 256"):
        saved.check_model(SimpleNamespace(fingerprint="f" * 64, limit=256, bf16=False))
    with pytest.raises(ProbeError, match="with bf16 False, not with True"):
        saved.check_model(SimpleNamespace(fingerprint="f" * 64, limit=512, bf16=True))
    with pytest.raises(ValueError, match=r"shape \(30, 1, 6\).*\(n_texts, 2, 6\)"):
        saved.probabilities(states[:, :1])


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("format", 99, "'format' is 99"),
        ("kind", "forest", "'kind' is 'forest': Input should be 'logistic'"),
        ("classes", [5, 1], "'classes' is .5, 1.: .*ascending"),
        ("classes", [1, 2, 3], "'weight' has shape .12, 5."),
        ("layers", [2.5], "'layers.0' is 2.5"),
        ("bf16", 0, "'bf16' is 0"),
        ("sha256", "0" * 64, "probe.safetensors: not the file.*'sha256'"),
        ("model_fingerprint", ..., "'model_fingerprint' is .*required"),
    ],
)
def test_a_field_that_does_not_fit_is_named_with_its_file(tmp_path, field, value, words):
    save_probe(fitted("logistic")[1], tmp_path)
    config = json.loads((tmp_path / "probe.json").read_text())
    changed = {name: content for name, content in config.items() if name != field}
    (tmp_path / "probe.json").write_text(json.dumps(changed if value is ... else changed | {field: value}))
    with pytest.raises(ProbeError, match=words) as raised:
        load_probe(tmp_path)
    assert str(tmp_path) in str(raised.value)


@pytest.mark.parametrize("name", ["probe.json", "probe.safetensors"])
def test_a_damaged_or_missing_file_is_named(tmp_path, name):
    save_probe(fitted("ordinal")[1], tmp_path)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-20])
    with pytest.raises(ProbeError, match=name):
        load_probe(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(ProbeError, match=f"{name}: no such file"):
        load_probe(tmp_path)


def test_tensors_that_make_no_sense_are_refused(tmp_path):
    for tensor, value, words in (
        ("thresholds", np.array([1.0, 0.0, 2.0, 3.0]), "not ascending"),
        ("thresholds", np.zeros(1), "'thresholds' has shape"),
        ("bias", np.array([np.nan]), "not finite"),
    ):
        save_probe(replace(fitted("ordinal")[1], **{tensor: value}), tmp_path)
        with pytest.raises(ProbeError, match=words):
            load_probe(tmp_path)


METHODS = {
    "linear": Method(("mean",), {"binary": ("logistic",)}),
    "wide": Method(("mean",), {"binary": ("logistic", "rbf_svm")}),
    "majority": Method(("length",), {"binary": ("majority",)}),
}


def cell_of():
    """A cell whose second layer tells the label."""
    features, labels, groups = material(80, 3, signal=(1,), classes=2)
    features["length"] = np.random.default_rng(0).normal(size=(80, 1, 2))
    return Cell("toy", "aspect", HEADS["binary"], features, labels, np.array(groups))


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_those_of_nested_cross_validation(tmp_path, workers):
    cell = cell_of()
    results = run_study([cell], METHODS, tmp_path, workers=workers)
    assert set(results) == {("toy", "aspect", "binary", name) for name in METHODS}
    for name, families in (("linear", ("logistic",)), ("wide", ("logistic", "rbf_svm"))):
        features = {"mean": cell.features["mean"]}
        wanted = nested_probe(features, cell.labels, cell.groups, cell.head, Space(families=families))
        assert results["toy", "aspect", "binary", name].predicted.tolist() == wanted.predicted.tolist()


def test_what_is_stored_is_not_computed_again_and_what_is_damaged_is(tmp_path, monkeypatch):
    first = run_study([cell_of()], METHODS, tmp_path)
    computed = []
    monkeypatch.setattr(study, "nested_probe", lambda *task: computed.append(1) or nested_probe(*task))
    again = run_study([cell_of()], METHODS, tmp_path)
    assert not computed
    for key, result in first.items():
        assert again[key].scores.tolist() == result.scores.tolist()
        assert again[key].choices == result.choices

    path = sorted(tmp_path.glob("*.json"))[0]
    path.write_text(path.read_text()[:-20])
    run_study([cell_of()], METHODS, tmp_path)
    assert len(computed) == 1
    json.loads(path.read_text())


@pytest.mark.parametrize("change", ["features", "labels", "groups", "seed"])
def test_other_material_is_computed_anew(tmp_path, change):
    run_study([cell_of()], METHODS, tmp_path)
    other, seed = cell_of(), int(change == "seed")
    if change == "features":
        other.features["mean"][0, 0, 0] += 1
        other.features["length"][0, 0, 0] += 1
    elif change == "labels":
        other.labels[0] = 1 - other.labels[0]
    elif change == "groups":
        other.groups[0] = "q9"
    run_study([other], METHODS, tmp_path, seed)
    assert len(list(tmp_path.iterdir())) == 2 * len(METHODS)


@pytest.fixture(scope="module")
def rated_cells(reader):
    ratings = {"sample": {aspect: items[:60] for aspect, items in load_sample_ratings().items()}}
    states = read_states(ratings, reader, ("mean", "max"))
    return ratings, *cells_of(ratings, states, ("binary", "five", "ordinal"))


def test_cells_hold_states_and_scores_and_small_ones_are_left_out(rated_cells, reader):
    ratings, cells, skipped = rated_cells
    assert len(cells) == 6 and not skipped
    cell = next(cell for cell in cells if cell.name == ("sample", "factuality", "five"))
    items = ratings["sample"]["factuality"]
    assert cell.labels.tolist() == [int(item.score) for item in items]
    text = rated_text(items[7].question, items[7].response)
    assert np.abs(cell.features["mean"][7] - reader.read([text])["mean"][0]).max() < 1e-4
    n_words = np.expm1(cell.features["length"][7, 0, 1])
    assert n_words == pytest.approx(len(items[7].response.replace(".", " ").split()), abs=2)
    few = {"sample": {"factuality": items[:20]}}
    cells, skipped = cells_of(few, read_states(few, reader, ("mean",)), ("binary", "five"))
    assert not cells and "of 20 items in the rarest class" in skipped["sample", "factuality", "five"]


def test_a_rater_comes_out_of_the_study_with_its_estimates(rated_cells, reader, tmp_path):
    _, cells, _ = rated_cells
    part = [cell for cell in cells if cell.head.name == "binary"]
    results = run_study(part, {"linear": Method(("mean", "max"), {"binary": ("logistic",)})}, tmp_path)
    table = metric_table(part, results, n_boot=50)
    rater = fit_rater(part, table, reader, ("mean", "max"))
    assert rater.name == "sample-binary"
    about = rater.probes["factuality"].about
    wanted = table[(table["aspect"] == "factuality") & (table["metric"] == "accuracy")]["number"].item()
    assert about["estimate"]["accuracy"] == wanted.row() and about["n"] == 60


def test_differences_are_those_of_the_tables(rated_cells):
    _, cells, _ = rated_cells
    part = [cell for cell in cells if cell.head.name == "binary"]
    rng, results = np.random.default_rng(0), {}
    for cell in part:
        for method, share in (("good", 0.9), ("bad", 0.5)):
            right = rng.random(len(cell.labels)) < share
            predicted = np.where(right, cell.labels, 1 - cell.labels)
            results[*cell.name, method] = probing.NestedResult(predicted, predicted.astype(float), [])
    table = metric_table(part, results, n_boot=50)
    f1 = table[table["metric"] == "weighted_f1"]
    means = f1.groupby("method")["number"].agg(lambda rows: np.mean([number.value for number in rows]))
    mean_difference = functions_of("50_representation_probes", results=results, n_boot=200).mean_over_aspects
    gap = mean_difference(part, "good", "bad")
    assert gap.value == pytest.approx(means["good"] - means["bad"]) and 0 < gap.low < gap.value < gap.high
    assert mean_difference(part, "good", "good").value == 0


def test_a_causal_model_is_asked_for_the_score(rated_cells, tmp_path, monkeypatch):
    ratings, cells, _ = rated_cells
    few = {"sample": {"factuality": ratings["sample"]["factuality"][:6]}}
    monkeypatch.setattr(paths, "run_folder", lambda *parts: tmp_path)
    model = LayerReader(str(save_tiny(tmp_path / "llama")))
    given = {"ratings": few, "run": "try", "described": load_aspects("reasoning")}
    asked = functions_of("50_representation_probes", **given).asked
    part = {cell.head.name: cell for cell in cells if cell.aspect == "factuality"}
    five, binary = (asked(model, part[head]) for head in ("five", "binary"))
    assert set(five.predicted) <= {1, 2, 3, 4, 5} and ((five.predicted >= 4) == binary.predicted).all()
    assert ((five.scores > 1) & (five.scores < 5)).all()


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ([2.5], "row 0: field 'logicality' is 2.5"),
        ([9], "row 0: field 'logicality' is 9"),
        ([None], "no row has a score"),
        ([0, 5], "scores of 0 and others than 1: a scale is"),
        ([4, 4, 4], "0 of 3 items in the rarest class: too few"),
    ],
)
def test_ratings_that_cannot_be_learnt_from_are_named(scores, words):
    row = {"question": "q", "response": "r"}
    with pytest.raises(ValueError, match=words):
        fit_probes([row | {"logicality": score} for score in scores], ["logicality"])
    with pytest.raises(ValueError, match="row 0: field 'logicality' is missing"):
        fit_probes([row], ["logicality"])
