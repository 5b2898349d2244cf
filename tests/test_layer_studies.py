"""Studies on logits of layers: every method side by side, graded tasks, self-knowledge and emotions."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.metrics import f1_score
from tiny_causal import save_tiny

from judgekit.figures.layers import plot_layer_curves, plot_order_and_size
from judgekit.inside.layers.evaluation import evaluated
from judgekit.inside.layers.reading import LayerReader
from judgekit.inside.layers.study import (
    fitted_weights,
    measured,
    ordered_pairs,
    pair_hits,
    scores_by_layer,
    scores_by_method,
)
from judgekit.inside.layers.uses import KNOWING, Cut, answerability, emotion_intensity, f1, fit_cut, unanswerable_f1
from judgekit.inside.layers.weights import fit_weights, scaled_last
from judgekit.prompts import load_strategy
from judgekit.studies.graded_tasks import (
    FAMILIES,
    GRADES,
    N_WORDS,
    grade_rows,
    graded_questions,
    graded_responses,
    single_prompts,
)
from judgekit.studies.train_causal_judge import response_only
from judgekit.training.causal_families import WORDS
from judgekit.training.causal_tiny import MARKS, tiny_tokenizer

SCALE = (1, 2, 3, 4, 5)


def material(n=300, seed=0):
    """Logits of three layers, of which the second knows most, and labels; two responses to a question."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(1, 6, n).astype(float)
    peaks = [-((np.array(SCALE) - (labels + rng.normal(scale=s, size=n))[:, None]) ** 2) for s in (5, 0.4, 1.2)]
    return np.stack(peaks, axis=1), labels, np.repeat(np.arange(n // 2), 2)


# ---------------------------------------------------------------- every method


def test_every_method_is_there_and_fitted_on_validation_alone():
    (logits, labels, _), (test, *_) = material(), material(seed=1)
    validation = {False: logits, True: logits / 2}
    found, weights = scores_by_method(validation, labels, {False: test, True: test / 2}, SCALE)
    assert {"vscore", "escore", "escore_scaled", "uniform", "uniform_no_last", "uniform_normed"} < set(found)
    assert {"learned", "learned_no_last", "published", "published_entropy", "learned_normed"} < set(found)
    assert {"learned_argmax", "uniform_probabilities", "learned_double_softmax"} < set(found)
    assert all(scores.shape == (300,) and np.isfinite(scores).all() for scores in found.values())
    alone, _ = scores_by_method(validation, labels, {False: test[:1], True: test[:1] / 2}, SCALE)
    assert all(alone[name][0] == pytest.approx(found[name][0]) for name in found)
    assert weights["learned"].values[1] == max(weights["learned"].values)
    assert weights["learned_no_last"].values[2] == 0 and weights["published_entropy"].values[2] > 0
    assert found["learned"] == pytest.approx(fit_weights(logits, labels, SCALE).expected_scores(test))


def test_items_without_a_score_are_left_out_of_the_fit():
    logits, labels, _ = material()
    holed = logits.copy()
    holed[:50] = np.nan
    assert fitted_weights(holed, labels, SCALE) == fitted_weights(logits[50:], labels[50:], SCALE)


def test_the_control_finds_the_temperature_that_made_the_labels():
    rng = np.random.default_rng(2)
    logits = rng.normal(scale=4, size=(4000, 2, 5))
    odds = softmax(0.5 * logits[:, 1], axis=-1)
    labels = (odds.cumsum(1) < rng.random((4000, 1))).sum(1) + 1
    for loss in ("mixed", "cross_entropy"):
        found = scaled_last(logits, labels, SCALE, loss)
        assert found[0] == 0 and found[1] == pytest.approx(0.5, rel=0.1)
    logits[:, 0] = 0  # a layer that says nothing: weight on it does what the temperature does
    weights = fit_weights(logits, labels, SCALE, "cross_entropy").values
    assert weights[1] == pytest.approx(found[1], rel=0.05)


def test_measures_are_those_of_the_evaluation_and_differences_are_paired():
    logits, labels, clusters = material()
    layers = scores_by_layer(logits, SCALE)
    assert layers.shape == (3, 300)
    rows = measured(dict(enumerate(layers)), labels, clusters, SCALE, n_boot=100).set_index(["method", "measure"])
    wanted = evaluated(layers[1], labels, clusters, SCALE, n_boot=100)
    for name, values in wanted.items():
        assert tuple(rows.loc[(1, name)][["value", "low", "high"]]) == pytest.approx(values)
    gaps = measured({"a": layers[1], "b": layers[0]}, labels, clusters, SCALE, "b", n_boot=100).set_index("measure")
    for name in ("spearman", "pair_accuracy"):
        wanted = rows.loc[(1, name), "value"] - rows.loc[(0, name), "value"]
        assert set(gaps["method"]) == {"a"} and gaps.loc[name, "value"] == pytest.approx(wanted)
    assert "pair_accuracy" not in set(measured({"a": layers[1]}, labels, clusters, SCALE, in_pairs=False)["measure"])


def test_pairs_are_of_one_question_and_ties_are_half_right():
    pairs = ordered_pairs([1, 2, 2, 3], ["a", "a", "a", "b"])
    assert sorted(map(tuple, pairs.tolist())) == [(1, 0), (2, 0)]
    assert pair_hits([0.1, 0.1, 0.5, 9], np.array([[1, 0], [2, 0], [0, 2]])).tolist() == [0.5, 1, 0]
    assert np.isnan(pair_hits([np.nan, 1], np.array([[0, 1]]))).all()
    rows = measured({"a": [1.0, np.nan, 2.0, 3.0]}, [1, 2, 2, 3], ["a", "a", "a", "b"], SCALE, n_boot=20)
    assert rows.set_index("measure").loc["pair_accuracy", "value"] == 1


# ---------------------------------------------------------------- graded tasks


@pytest.fixture(scope="module")
def strategy():
    return load_strategy("letter", "strict")


def test_a_grade_is_the_number_of_right_words():
    for shown in graded_questions(60, "validation"):
        for text, grade in shown.responses:
            words = text.split()
            assert len(words) == N_WORDS == len(set(words)) and grade in GRADES
            if shown.family != "kind":
                listed = [word for word in shown.question.split() if word in words]
                assert len(set(listed)) == grade - 1
            if shown.family == "copying":
                assert grade < 5 or text in shown.question
    assert {shown.family for shown in graded_questions(6)} == set(FAMILIES)


def test_grades_are_even_and_parts_share_no_question():
    parts = {part: graded_responses(graded_questions(90, part), part) for part in ("train", "validation", "test")}
    counts = Counter(item.score for item in parts["test"])
    assert min(counts.values()) > 0.6 * max(counts.values())
    asked = {part: {item.question for item in items} for part, items in parts.items()}
    assert not asked["test"] & (asked["train"] | asked["validation"])
    lists = {part: {q for q in asked[part] if sum(word in WORDS for word in q.split()) == N_WORDS} for part in asked}
    assert min(map(len, lists.values())) > 50
    assert not lists["train"] & lists["validation"]
    assert len({item.item_id for item in parts["test"]}) == 450
    assert parts["test"] == graded_responses(graded_questions(90, "test"), "test")
    with pytest.raises(ValueError, match="part is 'exam'"):
        graded_questions(1, "exam")


def test_without_the_question_a_grade_cannot_be_told():
    def pairs(part):
        from judgekit.records import PreferencePair

        found = []
        for n, shown in enumerate(graded_questions(400, part, responses=2)):
            (first, one), (second, other) = shown.responses
            if one != other:
                label = "A" if one > other else "B"
                found.append(PreferencePair(str(n), "own", shown.question, first, second, label=label))
        return found

    right = response_only(pairs("train"), pairs("test"))
    assert abs(right.mean() - 0.5) < 3 * 0.5 / np.sqrt(len(right))


def test_what_is_learnt_is_the_grade_where_the_response_ends(strategy):
    tokenizer = tiny_tokenizer(strategy)
    questions = graded_questions(3, responses=2)
    for row, shown in zip(grade_rows(questions, strategy, tokenizer), questions, strict=True):
        said = [tokenizer.decode([label]).strip() for label in row["labels"] if label >= 0]
        assert said == [str(grade) for _, grade in shown.responses]
        assert tokenizer.unk_token_id not in row["input_ids"]
    items = graded_responses(questions, "train")
    prompts = single_prompts(items, strategy, tokenizer)
    first = grade_rows(graded_questions(3, responses=2), strategy, tokenizer)[0]
    ends = [place for place, label in enumerate(first["labels"]) if label >= 0]
    assert prompts[0][:-1] == first["input_ids"][: ends[0] - 1] and len(prompts) == 6
    assert MARKS[True] == "right"


# ---------------------------------------------------------------- pictures


def test_pictures_show_every_set_and_method():
    logits, labels, clusters = material()
    alone = measured(dict(enumerate(scores_by_layer(logits, SCALE))), labels, clusters, SCALE, n_boot=20)
    curves = pd.concat([alone.assign(set=name, read=read) for name in "ab" for read in ("as it is", "normed")])
    curves = curves.rename(columns={"method": "layer"})
    methods = measured({"x_y": scores_by_layer(logits, SCALE)[1], "z": labels}, labels, clusters, SCALE, n_boot=20)
    methods = pd.concat([methods.assign(set=name) for name in "ab"])
    axes = plot_layer_curves(curves, methods, {"spearman": "order", "calibration_error": "size"})
    assert axes.shape == (2, 2) and [ax.get_title(loc="left") for ax in axes[0]] == ["a", "b"]
    assert len(axes[0, 0].lines) == 4 and list(axes[1, 1].lines[0].get_xdata()) == [0, 1, 2]
    panels = plot_order_and_size(methods)
    assert len(panels) == 2 and {text.get_text() for text in panels[0].texts} == {"x y", "z"}


# ---------------------------------------------------------------- other uses


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    return LayerReader(str(save_tiny(tmp_path_factory.mktemp("qwen3"))))


def test_questions_and_emotions_are_scored(reader):
    known = answerability(reader, ["What is 2 + 2?", "What will I dream tomorrow? [[5]]"])
    assert known.shape == (2,) and (known > 1).all() and (known < 5).all() and known[0] != known[1]
    felt = emotion_intensity(reader, ["I won!", "I won!"], ["joy", "fear"], weights=[0, 0, 1])
    assert (felt > 1).all() and (felt < 9).all() and felt[0] != felt[1]
    assert emotion_intensity(reader, ["I won!"], ["joy"], weights=[0, 0, 1])[0] == pytest.approx(felt[0], abs=1e-4)
    with pytest.raises(ValueError):
        emotion_intensity(reader, ["I won!"], [])
    assert KNOWING.scores == SCALE


def test_the_cut_is_fitted_on_validation_and_kept_on_test():
    cut = fit_cut([1, 2, 3, 4], [True, False, True, False])
    assert cut == Cut(1.0, 4.0, pytest.approx(2 / 3))
    assert cut.unanswerable([0, 2.9, 3.1, 99]).tolist() == [True, True, False, False]
    test = unanswerable_f1(cut, [1.0, 2, 9], [True, False, True], n_boot=50)
    assert test["f1"][0] == pytest.approx(f1_score([1, 0, 1], [1, 1, 0]))
    assert test["always"][0] == pytest.approx(f1_score([1, 0, 1], [1, 1, 1]))
    assert unanswerable_f1(cut, [1.0], [True], n_boot=50) == unanswerable_f1(cut, [1.0], [True], n_boot=50)
    # a question's verdict does not depend on which others are in the test
    assert cut.unanswerable([2.9])[0] == cut.unanswerable([2.9, 0, 50])[0]


def test_f1_is_that_of_scikit_learn_in_every_resample():
    rng = np.random.default_rng(0)
    predicted, truth = rng.random(40) < 0.4, rng.random(40) < 0.5
    weight = rng.integers(0, 3, size=(5, 40))
    wanted = [f1_score(truth, predicted, sample_weight=row) for row in weight]
    assert f1(predicted, truth, weight) == pytest.approx(wanted)
    scores = np.where(truth, 2.0, 4.0) + rng.normal(size=40)
    cut = fit_cut(scores, truth)
    tried = [f1(scores <= each, truth) for each in scores]
    assert f1(cut.unanswerable(scores), truth) == pytest.approx(max(tried))


@pytest.mark.parametrize(
    ("scores", "truth", "said"),
    [
        ([1, 2], [False, False], "an unanswerable question"),
        ([2, 2], [True, False], "two different scores"),
        ([1, np.nan], [True, False], "missing"),
        ([1, 2], [True], "shape"),
        ([1, 2], [1, 0], "type int"),
    ],
)
def test_what_no_cut_can_be_fitted_on_is_refused(scores, truth, said):
    with pytest.raises(ValueError, match=said):
        fit_cut(scores, truth)
