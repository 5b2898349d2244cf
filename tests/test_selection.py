"""Data selection: what is kept, scores that a pair's own label has no part in, and fair comparisons."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from notebook_functions import functions_of
from sklearn.metrics import f1_score, roc_auc_score

from judgekit.data.sample import load_sample
from judgekit.judges.surface import FEATURES, PAIR_FEATURES
from judgekit.models.states import StateReader
from judgekit.records import PreferencePair
from judgekit.studies.data_selection import LEARNERS, Views, view
from judgekit.training.features import FeatureTable


def pair(item_id, label="A", question="Question?", benchmark="one", longer="the longer response"):
    return PreferencePair(str(item_id), benchmark, question, longer, "short", cluster_id=question, label=label)


@pytest.fixture(scope="module")
def seen():
    """Reads pairs as small judges do, each text once."""
    reader, known = StateReader("minilm", limit=48), {}
    return lambda pairs: view(pairs, reader, known)


@pytest.fixture(scope="module")
def sampled(seen):
    """Sixty real pairs of the sample."""
    return seen([p for p in load_sample("sample_train") if p.label != "tie"][:60])


def invented(n_pairs, signal, seed, name="pool", agree=0.85):
    """Pairs whose states tell the label (``agree`` of the time) along one direction, if there is a signal at all."""
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(n_pairs, 8))
    a = rng.normal(size=(n_pairs, len(FEATURES)))
    truth = states[:, 0] > 0 if signal else rng.random(n_pairs) > 0.5
    truth = truth ^ (rng.random(n_pairs) > agree)
    lengths = rng.integers(1, 10, n_pairs).tolist()
    labels = np.where(truth, "A", "B").tolist()
    pairs = [pair(i, labels[i], f"{name} {i}?", name, "a" * length) for i, length in enumerate(lengths)]
    target = np.stack([truth, ~truth, np.zeros(n_pairs, bool)], 1) * 1.0
    features = FeatureTable(a, -a, rng.normal(size=(n_pairs, len(PAIR_FEATURES))), target, np.zeros(n_pairs, bool))
    return Views(pairs, features, states, rng.normal(size=n_pairs))


@cache
def notebook(signal=True, agree=0.85):
    """The notebook's functions on invented pairs."""
    pool = invented(400, signal, 0, agree=agree)
    choosing, comparing = (invented(300, signal, seed, name=name, agree=agree) for seed, name in ((1, "c"), (2, "v")))
    given = {"pool": pool, "choosing": choosing, "comparing": {"v": comparing, "misleading": comparing}}
    more = {"shares": {"pool": 1.0}, "validation_sets": ["v"], "kept_shares": [0.5, 0.8], "n_boot": 2000}
    return functions_of("52_data_selection", **given, **more)


def cross_fit(name, views, seed=0):
    """The notebook's cross-fitted judge, the sources of the views weighing the same."""
    sources = {pair.benchmark for pair in views.pairs}
    shares = dict.fromkeys(sources, 1 / len(sources))
    return functions_of("52_data_selection", shares=shares).cross_fit(name, views, seed)


def folds_of(questions, n_folds=5, seed=0):
    return functions_of("52_data_selection", N_FOLDS=n_folds).folds_of(questions, seed)


def test_exchanged_labels_change_and_nothing_else_does(sampled):
    where = np.arange(len(sampled)) % 4 == 1
    noisy = sampled.exchanged(where)
    assert ((noisy.prefers_a != sampled.prefers_a) == where).all()
    assert (noisy.features.target[where] == sampled.features.target[where][:, [1, 0, 2]]).all()
    assert (noisy.states == sampled.states).all() and noisy.questions == sampled.questions
    soft = replace(sampled.of([0]), pairs=[replace(sampled.pairs[0], soft_label=0.9, label="A")])
    (turned,) = soft.exchanged([True]).pairs
    assert (turned.label, turned.soft_label) == ("B", None)
    assert turned.response_a == sampled.pairs[0].response_a


def test_only_decided_pairs_are_looked_at(seen):
    with pytest.raises(ValueError, match="one/0: the label is 'tie'"):
        seen([pair(0, "tie")])
    with pytest.raises(ValueError, match="no pairs"):
        seen([])


def test_validation_is_cut_by_prompt():
    held_out = {"x": [pair(i, question=f"q{i // 2}", benchmark="x") for i in range(80)], "y": [pair(1, question="q1")]}
    choosing, comparing = notebook().prompts_apart(held_out, ["x"], ["x", "y"])
    assert 10 < len(choosing) < 60 and {p.benchmark for p in choosing} == {"x"}
    assert len(choosing) + len(comparing["x"]) == 80
    assert not {p.asked for p in choosing} & {p.asked for part in comparing.values() for p in part}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_pairs_own_label_has_no_part_in_its_score(sampled, name):
    folds, one = folds_of(sampled.questions, seed=1), np.arange(len(sampled)) == 7
    before = cross_fit(name, sampled, seed=1)(sampled)
    other = sampled.exchanged(one)
    after = cross_fit(name, other, seed=1)(other)
    own = folds == folds[7]
    assert (before[own] == after[own]).all()  # to the last bit: nothing that scores the fold was told of the change
    assert (before[~own] != after[~own]).any()


@pytest.mark.parametrize("name", LEARNERS)
def test_exchanging_the_responses_exchanges_the_probability(sampled, name, seen):
    judge = LEARNERS[name](sampled, np.ones(len(sampled)), 0)
    swapped = seen([p.swapped() for p in sampled.pairs])
    assert judge(sampled) == pytest.approx(1 - judge(swapped), abs=1e-6)


def test_one_question_stands_in_one_fold_wherever_it_occurs():
    assert len(set(folds_of(["What is it?", "  what IS it? "], 50))) == 1
    assert len(set(folds_of([f"question {i}" for i in range(100)], 5).tolist())) == 5
    assert (folds_of([f"q {i}" for i in range(100)], 5, 0) != folds_of([f"q {i}" for i in range(100)], 5, 1)).any()


def test_a_question_outside_the_pool_is_scored_by_the_judge_of_its_fold(sampled):
    pool, folds = sampled.of(np.arange(50)), folds_of(sampled.questions)
    judge = cross_fit("probe", pool)
    others = folds[:50] != folds[55]
    alone = LEARNERS["probe"](pool.of(others), np.ones(others.sum()), 0)
    assert judge(sampled.of([55])) == pytest.approx(alone(sampled.of([55])))


def test_the_best_and_the_worst_share_of_each_source_is_kept_and_a_random_part_has_as_many():
    keep, groups = notebook().keep, np.array(["x"] * 4 + ["y"] * 6)
    assert keep(np.arange(10.0), groups, "top", 0.5, 0).tolist() == [2, 3, 7, 8, 9]
    assert keep(np.arange(10.0), groups, "bottom", 0.5, 0).tolist() == [0, 1, 4, 5, 6]
    drawn = {tuple(keep(np.ones(10), groups, "top", 0.3, seed)) for seed in range(20)}
    assert len(drawn) > 10, "equal scores are drawn"
    groups = np.array(["x"] * 30 + ["y"] * 70)
    drawn, other = (notebook().drawn_like(np.array([0, 1, 2, 40, 50]), groups, seed).tolist() for seed in (0, 1))
    assert (groups[drawn] == "x").sum() == 3 and len(set(drawn)) == 5 and drawn != other


def test_the_threshold_has_the_best_f1_of_finding_wrong_labels():
    right = np.random.default_rng(0).normal(1, 1, 400)
    truth, weight = np.repeat([0, 1], 400), np.repeat([0.8, 0.2], 400)
    cuts, scores = [notebook().threshold(right, -right), *np.linspace(-3, 3, 50)], np.concatenate([right, -right])
    f1 = [f1_score(truth, scores < cut, sample_weight=weight) for cut in cuts]
    assert f1[0] > max(f1) - 0.03


def test_filtering_helps_where_wrong_labels_can_be_found():
    """Positive control: the direction is learnt, so what it contradicts is mostly wrong."""
    own = notebook(agree=1.0)
    students = {"probe": own.small_student("probe", own.comparing)}
    hits, judged = own.study(students, [0, 1, 2], 0.35)
    frames = [frame[frame["scorer"] == "probe"] for frame in judged]
    assert min(roc_auc_score(frame["flipped"], -frame["score"]) for frame in frames) > 0.8
    table = own.compared(hits, "noise").query("table == 'ordinary'").set_index(["scorer", "rule", "share"])
    assert table.loc[("probe", "top", 0.5), "low"] > 0 > table.loc[("probe", "bottom", 0.5), "high"]
    assert table.loc[("truth", "top", 0.5), "low"] > 0
    assert table.loc[("all", "all", 1.0), "value"] == 0
    again, _ = own.study(students, [0], 0.35)
    for key, runs in again.items():
        assert all((side["v"] == other["v"]).all() for side, other in zip(runs[0], hits[key][0], strict=True))


def test_filtering_does_nothing_where_labels_say_nothing():
    own = notebook(signal=False)
    hits, _ = own.study({"probe": own.small_student("probe", own.comparing)}, [0, 1, 2])
    table = own.compared(hits, "clean").query("table == 'ordinary' and scorer == 'probe' and rule != 'bottom'")
    assert len(table) == 3 and (own.stats.holm(table["p_value"]) > 0.05).all()


def test_seeds_that_differ_widen_the_interval():
    rng, own = np.random.default_rng(0), notebook()
    alike = np.repeat(rng.integers(-1, 2, (1, 300)), 5, axis=0).astype(float)
    apart = alike + np.linspace(-0.4, 0.4, 5)[:, None]
    (one, drawn), (other, wider) = (own.crossed({"v": values}) for values in (alike, apart))
    assert one == pytest.approx(alike.mean()) == pytest.approx(other)
    assert drawn.std() == pytest.approx(alike[0].std() / np.sqrt(300), rel=0.1)
    assert wider.std() == pytest.approx(np.hypot(drawn.std(), np.linspace(-0.4, 0.4, 5).std() / np.sqrt(5)), rel=0.1)
