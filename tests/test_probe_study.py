"""The study of probes: what is kept, what is computed again, and what the published procedure would have said."""

import json

import numpy as np
import pytest

from judgekit.inside.probes import study
from judgekit.inside.probes.heads import HEADS
from judgekit.inside.probes.nested import nested_probe
from judgekit.inside.probes.published import published_estimate
from judgekit.inside.probes.selection import Space
from judgekit.inside.probes.study import Cell, Method, layer_curve, metrics_of, run_study

METHODS = {
    "linear": Method(("mean",), {"binary": ("logistic",)}),
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
    found = run_study([cell], METHODS, tmp_path, workers=workers, shown=False)
    assert set(found) == {("toy", "aspect", "binary", name) for name in METHODS}
    space = Space(families=("logistic",))
    wanted = nested_probe({"mean": cell.features["mean"]}, cell.labels, cell.groups, cell.head, space)
    result = found["toy", "aspect", "binary", "linear"]
    assert result.predicted.tolist() == wanted.predicted.tolist()
    assert metrics_of(cell, result) == wanted.metrics
    curve = layer_curve(result, "mean")
    assert curve.shape == (3, 2) and curve[:, 0].argmax() == 1


def test_what_is_kept_is_not_computed_again_and_what_is_damaged_is(tmp_path, monkeypatch):
    first = run_study([cell_of()], METHODS, tmp_path, shown=False)
    counted, compute = [], study.compute
    monkeypatch.setattr(study, "compute", lambda *task: counted.append(1) or compute(*task))
    again = run_study([cell_of()], METHODS, tmp_path, shown=False)
    assert not counted
    for key, result in first.items():
        assert again[key].scores.tolist() == result.scores.tolist()
        assert [choice.layers for choice in again[key].choices] == [choice.layers for choice in result.choices]
    path = sorted(tmp_path.glob("*.json"))[0]
    path.write_text(path.read_text()[:-20])
    run_study([cell_of()], METHODS, tmp_path, shown=False)
    assert len(counted) == 1
    json.loads(path.read_text())


@pytest.mark.parametrize("change", ["features", "labels", "groups", "seed"])
def test_other_material_is_computed_anew(tmp_path, change):
    cell = cell_of()
    run_study([cell], METHODS, tmp_path, shown=False)
    before = len(list(tmp_path.iterdir()))
    other, seed = cell_of(), 0
    if change == "features":
        other.features["mean"][0, 0, 0] += 1
        other.features["length"][0, 0, 0] += 1
    elif change == "labels":
        other.labels[0] = 1 - other.labels[0]
    elif change == "groups":
        other.groups[0] = "q9"
    else:
        seed = 1
    run_study([other], METHODS, tmp_path, seed, shown=False)
    assert len(list(tmp_path.iterdir())) == 2 * before


def test_features_that_are_not_there_are_named(tmp_path):
    with pytest.raises(ValueError, match="toy/aspect/binary has no features 'last'"):
        run_study([cell_of()], {"linear": Method(("last",))}, tmp_path, shown=False)


def test_the_published_procedure_praises_noise_and_nested_selection_does_not():
    """Labels that nothing tells: the layer that the test fold likes best is above chance, the nested one is not."""
    published, nested = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        features = {name: rng.normal(size=(90, 14, 8)) for name in ("mean", "last")}
        labels = np.arange(90) % 2
        groups = [f"q{i}" for i in range(90)]
        published.append(published_estimate(features, labels, HEADS["binary"], n_boot=20)[0]["accuracy"][0])
        result = nested_probe(features, labels, groups, HEADS["binary"], Space(families=("logistic",)), n_boot=20)
        nested.append(result.metrics["accuracy"][0])
    assert np.mean(published) > 0.65
    spread = 2.6 * np.std(nested, ddof=1) / np.sqrt(len(nested))
    assert abs(np.mean(nested) - 0.5) < spread + 0.02
