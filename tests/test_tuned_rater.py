"""The tuned encoder as a baseline: it learns what is there, and nothing that it must not see."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny_encoder import save_tiny_encoder
from watching import Interrupted, watched

from judgekit.inside.probes import grouped_folds
from judgekit.training import rater as tuning
from judgekit.training.causal_data import RecipeError, checked
from judgekit.training.rater import Items, Rater, SplitEncoder, TunedRecipe

WORDS = ("bad", "weak", "plain", "good", "best")
CLASSES = np.arange(1, 6)


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    base = str(save_tiny_encoder(tmp_path_factory.mktemp("tiny")))
    return TunedRecipe(
        base, layers=1, rates=(1e-3,), epochs=3, max_tokens=32, max_question_tokens=12, batch_tokens=256, bf16=False
    )


def material(n=120):
    """Responses whose word is their score (backwards under the second aspect): texts, aspects, scores, questions."""
    scores = np.random.default_rng(0).permutation(np.arange(n) % 5) + 1
    aspects = ["fluency" if i % 3 else "logic" for i in range(n)]
    shown = [6 - score if aspect == "logic" else score for score, aspect in zip(scores, aspects, strict=True)]
    texts = [(f"What is {i // 2} plus 1?", f"It is {i} and {WORDS[shown[i] - 1]}.") for i in range(n)]
    return texts, aspects, scores.tolist(), [question for question, _ in texts]


def outer(made, n_folds=3):
    return grouped_folds(np.array(made[2]), np.array(made[3]), n_folds, 0)


def predict(made, recipe, folder, folds=None):
    return tuning.tuned_predictions(*made, folds or outer(made), recipe, folder)


def accuracy(probabilities, scores):
    return float((CLASSES[probabilities.argmax(1)] == scores).mean())


@pytest.fixture(scope="module")
def planted(recipe, tmp_path_factory):
    made = material(180)
    return made, predict(made, recipe, tmp_path_factory.mktemp("planted"))


def test_a_planted_signal_is_learnt_per_aspect(planted):
    made, found = planted
    assert found.sum(1) == pytest.approx(1)
    assert accuracy(found, made[2]) > 0.8  # one head for both aspects could not pass 0.6


@pytest.mark.parametrize(("r", "rate"), [(-1, 1e-3), (4, 3e-3)])
def test_training_moves_the_blocks_and_not_only_the_heads(recipe, r, rate):
    made = material()
    items = Items(*made, replace(recipe, r=r))
    base = SplitEncoder(items.recipe, items.texts)
    rater = Rater(base, items, np.arange(len(made[0])), 1e-4)
    before = {name: value.clone() for name, value in rater.named_parameters()}
    losses = list(rater.run(rate))
    moved = {name for name, value in rater.named_parameters() if not torch.equal(value, before[name])}
    inside = {name for name in moved if name.startswith("upper.")}
    assert inside and all("lora_" in name for name in inside) == (r > 0)
    assert losses[-1] < losses[0]
    assert accuracy(rater.predict(rater.rows), made[2]) > 0.6
    afresh = dict(Rater(base, items, rater.rows, 1e-4).named_parameters())
    assert all(torch.equal(afresh[name], value) for name, value in before.items())  # of the head and of the blocks


def test_blocks_on_kept_states_that_give_other_ones_than_the_whole_encoder_are_refused(recipe, monkeypatch):
    texts, _, _, _ = material(20)
    SplitEncoder(replace(recipe, layers=2), texts)
    monkeypatch.setattr(SplitEncoder, "batch", lambda self, rows: (torch.zeros(len(rows), 9, 32), torch.ones(1, 9)))
    with pytest.raises(ValueError, match="gives other states when its blocks are run one by one"):
        SplitEncoder(recipe, texts)


def test_a_long_question_leaves_room_for_the_response(recipe):
    items = Items([("why " * 90, "because " * 90), ("why", "so")], ["a"] * 2, [1, 2], ["x", "y"], recipe)
    base = SplitEncoder(recipe, items.texts)
    decoded = [base.encoder.tokenizer.decode(ids) for ids in base.ids]
    assert len(base.ids[0]) == recipe.max_tokens
    assert len(base.encoder.token_ids("why " * 90, 12)) == 12
    assert "why" in decoded[0] and "because" in decoded[0]
    assert decoded[1].index("why") < decoded[1].index("so")


def test_scores_of_test_rows_have_no_say(recipe, tmp_path):
    made = material(60)
    train, test = outer(made)[0]
    scores, found = np.array(made[2]), [predict(made, recipe, tmp_path / "0")[test]]
    for number, changed in enumerate((test, train), 1):
        scores[changed] = 6 - scores[changed]
        other = (*made[:2], scores.tolist(), made[3])
        found.append(predict(other, recipe, tmp_path / str(number), outer(made))[test])
    assert np.array_equal(found[0], found[1]) and not np.array_equal(found[0], found[2])


def test_a_question_is_on_one_side_of_the_inner_split(recipe):
    made = material()
    items = Items(*made, recipe)
    rows = outer(made)[0][0]
    fitting, held = items.inner_split(rows)
    assert sorted([*fitting, *held]) == sorted(rows)
    assert len(held) and not set(items.group[fitting]) & set(items.group[held])


def test_weights_balance_the_classes_of_each_aspect(recipe):
    items = Items([("q", "t")] * 6, ["a", "a", "a", "a", "b", "b"], [1, 1, 1, 5, 2, 3], ["q"] * 6, recipe)
    assert items.weights(np.arange(6)).tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3, 2, 1, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [({2: [9] + [1] * 29}, "score 9 is none of 1, 2"), ({1: ["a"] + ["b"] * 29}, "a occurs in no training row")],
)
def test_scores_and_aspects_that_cannot_be_learnt_are_refused(recipe, tmp_path, change, message):
    made = material(30)
    with pytest.raises(ValueError, match=message):
        predict([change.get(n, part) for n, part in enumerate(made)], recipe, tmp_path, outer(made))
    with pytest.raises(ValueError, match=r"layers is 3, .* has 2 blocks"):
        SplitEncoder(replace(recipe, layers=3), [("a", "b")])


def test_a_wrong_recipe_names_the_field():
    wrong = {"r": 0, "layers": 0, "epochs": 1.5, "rates": (), "ridges": (-1.0,), "warmup": 1.0, "n_inner": 1}
    for field, value in (wrong | {"max_question_tokens": 256, "classes": (2, 1)}).items():
        with pytest.raises(RecipeError, match=field):
            checked(TunedRecipe, {field: value})


def test_an_interrupted_run_goes_on_with_the_next_fold(recipe, tmp_path, monkeypatch):
    made, first = material(60), tmp_path / "first"
    whole = predict(made, recipe, first)
    files = {path.name: path.read_bytes() for path in first.iterdir()}
    second = tmp_path / "second"
    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        watched(patch, Rater, "loss", end_at=7)  # in the second fold: two ridges and three epochs make five a fold
        predict(made, recipe, second)
    (kept,) = second.iterdir()
    before = kept.read_bytes()
    assert np.array_equal(predict(made, recipe, second), whole)
    assert kept.read_bytes() == before  # with its seconds: it was not trained again
    assert np.array_equal(predict(made, recipe, first), whole)
    assert {path.name: path.read_bytes() for path in first.iterdir()} == files
    assert {path.name for path in second.iterdir()} == set(files)


def test_another_recipe_or_text_shares_no_fold(recipe):
    made = material(30)
    train, test = outer(made)[0]
    texts = [(made[0][0][0], "another"), *made[0][1:]]
    others = (Items(*made, replace(recipe, epochs=2)), Items(texts, *made[1:], recipe), Items(*made, replace(recipe)))
    key = Items(*made, recipe).key(train, test)
    assert [other.key(train, test) == key for other in others] == [False, False, True]


def test_readings_of_probabilities():
    p = np.array([[0.3, 0.0, 0.2, 0.25, 0.25], [0.6, 0.1, 0.1, 0.1, 0.1]])
    five, expected = tuning.readings(p, "five")
    assert five.tolist() == [1, 1] and expected.tolist() == pytest.approx([3.15, 2.0])
    good, chance = tuning.readings(p, "binary")
    assert good.tolist() == [1, 0] and chance.tolist() == pytest.approx([0.5, 0.2])
    assert [part.tolist() for part in tuning.readings(p, "ordinal")] == [five.tolist(), expected.tolist()]


def test_the_score_that_chooses_knows_the_order():
    near, far = np.eye(5)[[1]], np.eye(5)[[4]]
    assert tuning.ranked_probability_score(near, [0]) == pytest.approx(0.25)
    assert tuning.ranked_probability_score(far, [0]) == 1.0
    assert tuning.ranked_probability_score(np.full((1, 5), 0.2), [2]) == pytest.approx((0.04 + 0.16) * 2 / 4)
