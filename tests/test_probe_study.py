"""The study of probes: what is stored and what is computed again, estimates, raters that come out of it, yardsticks."""

import json

import numpy as np
import pytest
from notebook_functions import functions_of
from tiny_causal import save_tiny
from tiny_encoder import save_tiny_encoder

from judgekit.data.sample import load_sample_ratings
from judgekit.inside.probes import HEADS, NestedResult, Space, nested_probe
from judgekit.inside.representations import rated_text
from judgekit.models.states import StateReader
from judgekit.studies import representation_probes as study
from judgekit.studies.fitted_raters import Cell, cells_of, fit_probes, fit_rater, metric_table, read_states
from judgekit.studies.representation_probes import Method, asked_results, run_study

METHODS = {
    "linear": Method(("mean",), {"binary": ("logistic",)}),
    "wide": Method(("mean",), {"binary": ("logistic", "rbf_svm")}),
    "majority": Method(("length",), {"binary": ("majority",)}),
}


def cell_of(seed=0, n=80, signal=2.0):
    """A cell whose second layer tells the label."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    states = rng.normal(size=(n, 3, 6))
    states[:, 1, 0] += signal * labels
    features = {"mean": states, "length": rng.normal(size=(n, 1, 2))}
    return Cell("toy", "aspect", HEADS["binary"], features, labels, np.array([f"q{i // 2}" for i in range(n)]))


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_those_of_nested_cross_validation(tmp_path, workers):
    cell = cell_of()
    results = run_study([cell], METHODS, tmp_path, workers=workers, shown=False)
    assert set(results) == {("toy", "aspect", "binary", name) for name in METHODS}
    for name, families in (("linear", ("logistic",)), ("wide", ("logistic", "rbf_svm"))):
        features = {"mean": cell.features["mean"]}
        wanted = nested_probe(features, cell.labels, cell.groups, cell.head, Space(families=families))
        assert results["toy", "aspect", "binary", name].predicted.tolist() == wanted.predicted.tolist()


def test_what_is_stored_is_not_computed_again_and_what_is_damaged_is(tmp_path, monkeypatch):
    first = run_study([cell_of()], METHODS, tmp_path, shown=False)
    computed = []
    monkeypatch.setattr(study, "nested_probe", lambda *task: computed.append(1) or nested_probe(*task))
    again = run_study([cell_of()], METHODS, tmp_path, shown=False)
    assert not computed
    for key, result in first.items():
        assert again[key].scores.tolist() == result.scores.tolist()
        assert again[key].choices == result.choices

    path = sorted(tmp_path.glob("*.json"))[0]
    path.write_text(path.read_text()[:-20])
    run_study([cell_of()], METHODS, tmp_path, shown=False)
    assert len(computed) == 1
    json.loads(path.read_text())


@pytest.mark.parametrize("change", ["features", "labels", "groups", "seed"])
def test_other_material_is_computed_anew(tmp_path, change):
    run_study([cell_of()], METHODS, tmp_path, shown=False)
    other, seed = cell_of(), int(change == "seed")
    if change == "features":
        other.features["mean"][0, 0, 0] += 1
        other.features["length"][0, 0, 0] += 1
    elif change == "labels":
        other.labels[0] = 1 - other.labels[0]
    elif change == "groups":
        other.groups[0] = "q9"
    run_study([other], METHODS, tmp_path, seed, shown=False)
    assert len(list(tmp_path.iterdir())) == 2 * len(METHODS)


# ---------------------------------------------------------------- rated responses


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    return StateReader(str(save_tiny_encoder(tmp_path_factory.mktemp("model") / "bert")), limit=96)


@pytest.fixture(scope="module")
def material(reader):
    ratings = {"sample": {aspect: items[:60] for aspect, items in load_sample_ratings().items()}}
    states = read_states(ratings, reader, ("mean", "max"), shown=False)
    return ratings, *cells_of(ratings, states, ("binary", "five", "ordinal"))


def test_cells_hold_states_and_scores_and_small_ones_are_left_out(material, reader):
    ratings, cells, skipped = material
    assert len(cells) == 6 and not skipped
    cell = next(cell for cell in cells if cell.name == ("sample", "factuality", "five"))
    items = ratings["sample"]["factuality"]
    assert cell.labels.tolist() == [int(item.score) for item in items]
    text = rated_text(items[7].question, items[7].response)
    assert np.abs(cell.features["mean"][7] - reader.read([text])["mean"][0]).max() < 1e-4
    n_words = np.expm1(cell.features["length"][7, 0, 1])
    assert n_words == pytest.approx(len(items[7].response.replace(".", " ").split()), abs=2)
    few = {"sample": {"factuality": items[:20]}}
    cells, skipped = cells_of(few, read_states(few, reader, ("mean",), shown=False), ("binary", "five"))
    assert not cells and "of 20 items in the rarest class" in skipped["sample", "factuality", "five"]


def test_a_rater_comes_out_of_the_study_with_its_estimates(material, reader, tmp_path):
    _, cells, _ = material
    part = [cell for cell in cells if cell.head.name == "binary"]
    results = run_study(part, {"linear": Method(("mean", "max"), {"binary": ("logistic",)})}, tmp_path, shown=False)
    table = metric_table(part, results, n_boot=50)
    rater = fit_rater(part, table, reader, ("mean", "max"))
    assert rater.name == "sample-binary"
    about = rater.probes["factuality"].about
    wanted = table[(table["aspect"] == "factuality") & (table["metric"] == "accuracy")]["number"].item()
    assert about["estimate"]["accuracy"] == wanted.row() and about["n"] == 60
    with pytest.raises(ValueError, match="cells of 2 sets and heads"):
        fit_rater(cells[:2], table, reader, ("mean",))


def test_differences_are_those_of_the_tables(material):
    """The mean difference over aspects is the difference of the tabulated scores."""
    _, cells, _ = material
    part = [cell for cell in cells if cell.head.name == "binary"]
    rng, results = np.random.default_rng(0), {}
    for cell in part:
        for method, share in (("good", 0.9), ("bad", 0.5)):
            right = rng.random(len(cell.labels)) < share
            predicted = np.where(right, cell.labels, 1 - cell.labels)
            results[*cell.name, method] = NestedResult(predicted, predicted.astype(float), np.zeros(1), [])
    table = metric_table(part, results, n_boot=50)
    f1 = table[table["metric"] == "weighted_f1"]
    means = f1.groupby("method")["number"].agg(lambda rows: np.mean([number.value for number in rows]))
    mean_difference = functions_of("50_representation_probes", results=results, n_boot=200).mean_difference
    gap = mean_difference(part, "good", "bad")
    assert gap.value == pytest.approx(means["good"] - means["bad"]) and 0 < gap.low < gap.value < gap.high
    assert mean_difference(part, "good", "good").value == 0


def test_a_causal_model_is_asked_for_the_score_and_an_encoder_is_not(material, reader, tmp_path):
    ratings, cells, _ = material
    few = {"sample": {"factuality": ratings["sample"]["factuality"][:6]}}
    assert asked_results(reader, few, cells) == {}
    model = StateReader(str(save_tiny(tmp_path / "llama")), limit=96)
    part = [cell for cell in cells if cell.aspect == "factuality"]
    results = asked_results(model, few, part)
    assert set(results) == {(*cell.name, "asked") for cell in part}
    five, binary = (results["sample", "factuality", head, "asked"] for head in ("five", "binary"))
    assert set(five.predicted) <= {1, 2, 3, 4, 5} and ((five.predicted >= 4) == binary.predicted).all()
    assert ((five.scores > 1) & (five.scores < 5)).all()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"question": "q", "response": "r"}], "row 0: field 'logicality' is missing"),
        ([{"question": "q", "response": "r", "logicality": 2.5}], "row 0: field 'logicality' is 2.5"),
        ([{"question": "q", "response": "r", "logicality": 9}], "row 0: field 'logicality' is 9"),
        ([{"question": "q", "response": "r", "logicality": None}], "no row has a score"),
        ([{"question": "q", "response": "r", "logicality": 4}] * 3, "0 of 3 items in the rarest class: too few"),
    ],
)
def test_ratings_that_cannot_be_learnt_from_are_named(rows, words):
    with pytest.raises(ValueError, match=words):
        fit_probes(rows, ["logicality"], shown=False)
