"""Training a causal judge: tasks without tells, recipes, rows, trainings that resume, adapters, rewards, memory."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
import yaml
from tiny_causal import save_tiny

pytest.importorskip("trl", reason="TRL IS MISSING, so training a causal judge is NOT TESTED: pip install '.[train]'")

from judgekit.data.paths import project_root
from judgekit.judges import load_judge, request_of
from judgekit.models.files import SEAL, check_seal
from judgekit.prompts import load_strategy
from judgekit.records import PreferencePair
from judgekit.report.workflow import known_parameters, notebook_path
from judgekit.studies.train_causal_judge import accuracy_table, blind_table, length_only, response_only
from judgekit.training import causal_families
from judgekit.training.causal import adapter_config, load_base, load_trained, quantised, train_judge, train_rows
from judgekit.training.causal_data import (
    IGNORED,
    CausalRecipe,
    RecipeError,
    chat_tokens,
    mixed,
    mixture_of,
    prompt_tokens,
    recipe_of,
    reply_text,
    strategy_of,
    token_rows,
)
from judgekit.training.causal_judge import (
    TrainedCausalJudge,
    deciding_tokens,
    is_right,
    judged,
    reward_scores,
    verdict_probabilities,
)
from judgekit.training.causal_run import estimate, main, read_recipe
from judgekit.training.causal_tasks import APART, FAMILIES, LEARNABLE, tiny_drills, tiny_tasks
from judgekit.training.causal_tiny import drill_rows, passages, tiny_tokenizer
from judgekit.training.causal_wordings import HELD_OUT, TRAIN

SHORT = {"steps": 6, "eval_every": 2, "batch_size": 4, "max_length": 96, "lr": 1e-3}


# ---------------------------------------------------------------- tasks


@pytest.fixture(scope="module")
def many():
    return tiny_tasks(20_000, families=FAMILIES), tiny_tasks(2_600, "test", families=FAMILIES)


def test_there_are_many_distinct_pairs(many):
    train, _ = many
    assert len({pair.item_id for pair in train}) == len(train) == 20_000
    assert len({(p.question, p.response_a, p.response_b) for p in train}) == len(train)
    assert tiny_tasks(60) == tiny_tasks(60) != tiny_tasks(60, seed=1)
    assert set(LEARNABLE) | set(APART) == set(FAMILIES) and not set(LEARNABLE) & set(APART)


def test_parts_share_neither_operands_nor_wordings(many):
    train, test = many
    validation = tiny_tasks(1_300, "validation", families=FAMILIES)
    ids = [{pair.cluster_id for pair in part} for part in (train, validation, test)]
    assert not ids[0] & ids[1] and not ids[0] & ids[2] and not ids[1] & ids[2]
    for family in FAMILIES:
        assert not set(TRAIN[family]) & set(HELD_OUT[family])


def checked_by_hand(pair):
    """Whether the reference label follows from the texts, where a line of code can tell."""
    good = pair.response_a if pair.label == "A" else pair.response_b
    bad = pair.response_b if pair.label == "A" else pair.response_a
    asked, good, bad = pair.question.split(), good.split(), bad.split()
    if pair.subset == "copying":
        return " ".join(good) in pair.question and " ".join(bad) not in pair.question
    if pair.subset in ("membership", "containing"):
        return bool(set(good) & set(asked)) and not set(bad) & set(asked)
    if pair.subset in ("exclusion", "avoiding"):
        return not set(good) & set(asked) and bool(set(bad) & set(asked))
    if pair.subset == "ordering":
        return (good == sorted(good)) == (" ".join(["a", "to", "z"]) in pair.question) and sorted(good) == sorted(bad)
    if pair.subset == "length":
        wanted = next(n for n, word in enumerate(causal_families.NUMBERS) if word in asked)
        return len(good) == wanted != len(bad)
    if pair.subset == "arithmetic":
        place = next(n for n, word in enumerate(asked) if word in ("plus", "minus"))
        sign = 1 if asked[place] == "plus" else -1
        return int(good[0]) == int(asked[place - 1]) + sign * int(asked[place + 1]) != int(bad[0])
    if pair.subset == "kind":
        wanted = next(words for name, words in causal_families.KINDS.items() if name in asked)
        return set(good) <= set(wanted.split()) and not set(bad) & set(wanted.split())
    return None


def test_labels_are_true(many):
    verdicts = {}
    for pair in many[0]:
        verdicts.setdefault(pair.subset, []).append(checked_by_hand(pair))
    told = {family: values for family, values in verdicts.items() if values[0] is not None}
    assert len(told) == 9
    assert all(all(values) for values in told.values()), {f: np.mean(v) for f, v in told.items()}


def test_neither_words_nor_lengths_alone_tell(many):
    train, test = many
    assert response_only(train, test).mean() <= 0.55 and length_only(train, test).mean() <= 0.55
    table = blind_table(train, test)
    assert sorted(table["family"]) == sorted(FAMILIES) and table["n"].sum() == len(test)
    assert table[["length", "responses"]].max(axis=None) <= 0.60, table


def test_the_blind_classifiers_see_a_tell():
    for rule, better in ((response_only, "yes"), (length_only, "longer by far")):
        tell = [PreferencePair(str(n), "x", "q", better, "no", label="A") for n in range(40)]
        tell = [pair.swapped() if n % 2 else pair for n, pair in enumerate(tell)]
        assert rule(tell, tell).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"part": "dev"}, "part is 'dev'"),
        ({"families": ("singing",)}, "'singing' is not one of"),
        ({"families": ()}, "none at all"),
        ({"n_pairs": 0}, "n_pairs=0"),
        ({"tie_share": 1.0}, "tie_share=1.0"),
        ({"n_pairs": 100_000, "families": ("kind",)}, "family 'kind' has no more than"),
    ],
)
def test_bad_requests_for_tasks_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        tiny_tasks(**({"n_pairs": 5} | options))


# ---------------------------------------------------------------- recipes


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epoch": "sft"}, "no field is called 'epoch'"),
        ({"method": "ppo"}, "method is 'ppo'"),
        ({"steps": "many"}, "steps is 'many'"),
        ({"steps": True}, "steps is True"),
        ({"lr": 0}, "lr is 0"),
        ({"tie_share": 0.2}, "knows no tie"),
        ({"merge": True}, "merge needs r > 0"),
        ({"quantise": "4bit"}, "quantise needs r > 0"),
        ({"method": "dpo", "packing": True}, "packing does not go with"),
        ({"reference_drop": 1.5}, "reference_drop is 1.5"),
    ],
)
def test_bad_recipes_name_the_field(values, message):
    with pytest.raises(RecipeError, match=message):
        recipe_of(values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"base": "tiny", "r": 4}, "base 'tiny' has random weights"),
        ({"base": "tiny", "method": "reward"}, "base 'tiny' has random weights"),
        ({"base": "tiny", "packing": True}, "base 'tiny' cannot be packed"),
        ({"base": "/nowhere/at/all"}, "cannot be loaded"),
        ({"base": "tiny", "strategy": "single"}, "strategies that ask once"),
        ({"base": "tiny", "explanations": True}, "verdict only"),
    ],
)
def test_bases_that_cannot_be_had_are_named(values, message):
    with pytest.raises(RecipeError, match=message):
        strategy_of(CausalRecipe(**values))
        load_base(CausalRecipe(**values))


def test_four_bits_without_bitsandbytes_or_gpu_is_an_error():
    with pytest.raises(RecipeError, match=r"needs bitsandbytes|needs a GPU"):
        quantised(CausalRecipe(base="x", r=4, quantise="4bit"))
    assert quantised(CausalRecipe()) == {}


# ---------------------------------------------------------------- rows


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_tokenizer(strategy_of(CausalRecipe()))


def test_the_loss_falls_on_the_reply_alone(tokenizer):
    (pair,) = tiny_tasks(1)
    ((row,), _) = token_rows([pair], CausalRecipe(), tokenizer)
    told = [(i, label) for i, label in zip(row["input_ids"], row["labels"], strict=True) if label != IGNORED]
    assert tokenizer.convert_ids_to_tokens([i for i, _ in told]) == [pair.label, "<|end|>"]
    assert all(i == label for i, label in told)


def test_drills_teach_the_words_of_right_responses_and_marks_after_all(tokenizer):
    drills, strategy = tiny_drills(60), strategy_of(CausalRecipe())
    after_question = tokenizer.convert_tokens_to_ids(passages(strategy)[1][1])
    rows = drill_rows(drills, strategy, tokenizer)
    n_marks = 0
    for drill, row in zip(drills, rows, strict=True):
        place, before = row["input_ids"].index(after_question) + 1, None
        for response, right in [*drill.responses, ("<|end|>", False)]:
            words = tokenizer(response)["input_ids"]
            seen, said = row["input_ids"][place : place + len(words)], row["labels"][place : place + len(words)]
            said_so = right and drill.predictable
            assert seen == words and said[1:] == (words[1:] if said_so else [IGNORED] * len(words[1:]))
            mark = tokenizer.convert_tokens_to_ids(before) if before else IGNORED
            assert said[0] in ({mark, words[0]} if said_so else {mark})
            n_marks += said[0] == mark and before is not None
            before, place = ("right" if right else "wrong"), place + len(words) + 1
        assert not set(tokenizer.convert_tokens_to_ids(["right", "wrong"])) & set(row["input_ids"])
    assert 0.8 < n_marks / sum(len(drill.responses) for drill in drills) < 0.95
    assert {drill.predictable for drill in drills} == {True, False}


def pairs_of(benchmark, n, label="A"):
    return [PreferencePair(f"{benchmark}-{label}-{i}", benchmark, f"q {i}", "x", "y", label=label) for i in range(n)]


def test_the_mixture_keeps_to_number_ties_and_order():
    pairs = [*pairs_of("one", 100), *pairs_of("two", 100), *pairs_of("two", 50, "tie")]
    assert len(mixed(pairs, CausalRecipe(n_pairs=60))) == 60
    loose = mixed(pairs, CausalRecipe(policy="permissive", tie_share=0.1, swap="none"))
    assert sum(pair.label == "tie" for pair in loose) == 22 and len(loose) == 222
    assert len(mixed(pairs, CausalRecipe(swap="both"))) == 400
    swapped = mixed(pairs, CausalRecipe(swap="random"))
    assert 60 < sum(pair.label == "A" for pair in swapped) < 140
    with pytest.raises(ValueError, match="no label to train on"):
        mixed([PreferencePair("1", "x", "q", "a", "b")], CausalRecipe())


def test_shares_are_of_what_is_drawn_and_a_scarce_source_is_repeated():
    pairs, recipe = [*pairs_of("many", 900), *pairs_of("few", 100)], CausalRecipe(swap="none")
    assert mixture_of(mixed(pairs, recipe, {"many": 1, "few": 1})) == {
        "few": {"pairs": 500, "distinct": 100},
        "many": {"pairs": 500, "distinct": 500},
    }
    drawn = mixture_of(mixed(pairs, replace(recipe, n_pairs=60), {"many": 3, "few": 1}))
    assert drawn == {"few": {"pairs": 15, "distinct": 15}, "many": {"pairs": 45, "distinct": 45}}
    with pytest.raises(ValueError, match="shares: three has no pairs"):
        mixed(pairs, recipe, {"many": 1, "few": 1, "three": 1})
    with pytest.raises(ValueError, match="no share is given for few"):
        mixed(pairs, recipe, {"many": 1})


def test_shares_as_for_a_gpu_leave_no_pair_out():
    """With the scarcest corpus as the measure, 1,178 of 14,933 pairs were left."""
    sizes = {"alpaca_eval": 9000, "finegrained_rlhf": 3000, "hh_harmless": 60}
    shares = {"alpaca_eval": 1.0, "finegrained_rlhf": 0.3, "hh_harmless": 0.1}
    pairs = [pair for name, n in sizes.items() for pair in pairs_of(name, n)]
    drawn = mixture_of(mixed(pairs, CausalRecipe(n_pairs=20_000, swap="none"), shares))
    total = sum(part["pairs"] for part in drawn.values())
    assert total == pytest.approx(len(pairs), abs=2)
    assert {name: round(part["pairs"] / total, 3) for name, part in drawn.items()} == {
        name: round(share / 1.4, 3) for name, share in shares.items()
    }


def test_explanations_stand_where_the_strategy_wants_them(tokenizer):
    assert reply_text(load_strategy("verdict_first"), "A", "why") == "Output (a) is better.\nwhy"
    assert reply_text(load_strategy("verdict_last"), "B", "why") == "why\nOutput (b) is better."
    recipe = CausalRecipe(strategy="verdict_first", explanations=True)
    with pytest.raises(ValueError, match="explanations are wanted, and it has none"):
        token_rows(tiny_tasks(1), recipe, tokenizer)
    ((row,), _) = token_rows(tiny_tasks(1), recipe, tokenizer, {tiny_tasks(1)[0].item_id: "red"})
    assert row["labels"][-2:] == [*tokenizer("red")["input_ids"], tokenizer.eos_token_id]


def test_pairs_that_do_not_fit_are_left_out_and_counted(tokenizer):
    pairs = tiny_tasks(20)
    long = replace(pairs[0], item_id="long", question=" ".join([pairs[0].question] * 40))
    for method in ("sft", "dpo"):
        recipe = CausalRecipe(method=method, max_length=60)
        rows, too_long = token_rows([*pairs, long], recipe, tokenizer)
        assert (len(rows), too_long) == (20, 1) and token_rows(pairs, recipe, tokenizer)[0] == rows


def test_preferences_have_the_tokens_that_judging_has(tokenizer):
    (pair,), recipe = tiny_tasks(1), CausalRecipe(method="dpo")
    ((row,), _) = token_rows([pair], recipe, tokenizer)
    assert tokenizer(row["prompt"])["input_ids"] == prompt_tokens(tokenizer, strategy_of(recipe), pair, 96)
    assert row["chosen"] == f"{pair.label}<|end|>" != row["rejected"]
    assert chat_tokens(tokenizer, [{"role": "user", "content": "red"}], "blue")[1][-1] == tokenizer.eos_token_id


# ---------------------------------------------------------------- trainings


@pytest.fixture(scope="module")
def data():
    return tiny_tasks(40), tiny_tasks(12, "validation")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A tiny model after a few first lessons: what the other trainings start from."""
    folder, recipe = tmp_path_factory.mktemp("causal") / "base", CausalRecipe(method="drill", **SHORT)
    drills, strategy = (tiny_drills(40), tiny_drills(8, "validation")), strategy_of(recipe)
    report = train_rows(recipe, lambda tokenizer: [drill_rows(d, strategy, tokenizer) for d in drills], folder)
    assert report["parameters"] == report["trained_parameters"] > 400_000
    return folder


def train(folder, data, measure=False, **values):
    return train_judge(CausalRecipe(**(SHORT | values)), *data, folder, shared_questions=True, measure=measure)


def losses(report):
    return [(row["step"], name, row[name]) for row in report["history"] for name in ("loss", "validation") if row[name]]


class Killed(Exception):
    """Stands for the end of the process."""


def test_a_killed_training_goes_on_to_the_same_losses(tmp_path, base, data, monkeypatch):
    import transformers

    whole = train(tmp_path / "whole", data, base=str(base))
    step = transformers.Trainer.training_step
    calls = iter(range(100))

    def dying(self, *args, **kwargs):
        if next(calls) == 5:  # after the checkpoint of step 4
            raise Killed
        return step(self, *args, **kwargs)

    monkeypatch.setattr(transformers.Trainer, "training_step", dying)
    with pytest.raises(Killed):
        train(tmp_path / "parts", data, base=str(base))
    assert not (tmp_path / "parts" / "training.json").exists()
    monkeypatch.undo()
    counted = []
    monkeypatch.setattr(
        transformers.Trainer, "training_step", lambda self, *a, **k: counted.append(1) or step(self, *a, **k)
    )
    resumed = train(tmp_path / "parts", data, base=str(base))
    assert len(counted) == 2  # steps 5 and 6 only
    assert [entry[:2] for entry in losses(resumed)] == [entry[:2] for entry in losses(whole)]
    np.testing.assert_allclose([x[2] for x in losses(resumed)], [x[2] for x in losses(whole)], atol=1e-5)
    again = train(tmp_path / "parts", data, base=str(base))
    assert len(counted) == 2 and again == resumed  # a finished training is not repeated


def test_what_a_training_leaves(tmp_path, base, data):
    report = train(tmp_path / "sft", data, base=str(base), r=4, merge=True)
    names = {path.name for path in (tmp_path / "sft").iterdir()}
    assert {"adapter_model.safetensors", "adapter_config.json", "training.json", "README.md", "merged"} <= names
    for place, file in ((".", "adapter_model.safetensors"), ("merged", "model.safetensors")):
        assert file in json.loads((tmp_path / "sft" / place / SEAL).read_text())
        check_seal(tmp_path / "sft" / place)
    assert not [path for path in (tmp_path / "sft").rglob("*") if path.suffix in (".bin", ".pt", ".pth", ".pkl")]
    written = json.loads((tmp_path / "sft" / "training.json").read_text())
    assert written == report and recipe_of(written["recipe"]).r == 4
    assert 0 < report["trained_parameters"] < 100_000 < report["parameters"]
    assert {"trl", "peft", "torch"} <= set(written["versions"]) and len(written["data"]["sha256"]) == 64
    assert "a LoRA adapter, r = 4" in (tmp_path / "sft" / "README.md").read_text()


def test_merged_and_adapter_judge_alike(tmp_path, base, data):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    train(tmp_path / "sft", data, base=str(base), r=4, merge=True, lr=2e-2)
    pairs, merged = tiny_tasks(24, "test"), tmp_path / "sft" / "merged"
    adapter = judged(tmp_path / "sft", pairs)
    model, tokenizer = AutoModelForCausalLM.from_pretrained(merged), AutoTokenizer.from_pretrained(merged)
    whole = verdict_probabilities(model, tokenizer, strategy_of(CausalRecipe()), pairs)
    np.testing.assert_allclose(whole, adapter, atol=1e-5)
    model = AutoModelForCausalLM.from_pretrained(base)
    bare = verdict_probabilities(model, tokenizer, strategy_of(CausalRecipe()), pairs)
    assert np.abs(bare - adapter).max() > 1e-3  # the adapter did something
    np.testing.assert_allclose(adapter.sum(axis=1), 1)
    assert (adapter[:, 2] == 0).all()


def test_batches_do_not_change_verdicts(base):
    pairs = tiny_tasks(24, "test")
    recipe = CausalRecipe()
    alone = judged(base, pairs, recipe, batch_tokens=1)
    np.testing.assert_allclose(judged(base, pairs, recipe, batch_tokens=300), alone, atol=1e-5)


def test_a_trained_model_is_an_ordinary_judge(base, data, tmp_path):
    judge, pairs = TrainedCausalJudge(base), data[1]
    replies = [judge.judge([request_of(pair, order) for pair in pairs]) for order in ("ab", "ba")]
    for told, shown in zip(replies, (pairs, [pair.swapped() for pair in pairs]), strict=True):
        p = judged(base, shown)
        np.testing.assert_allclose([[r.p_first, r.p_second, r.p_tie] for r in told], p, atol=1e-6)
        assert [r.verdict for r in told] == [["first", "second", "tie"][k] for k in p.argmax(1)]
    assert judge.judge([]) == [] and judge.name == "causal/base"
    with pytest.raises(FileNotFoundError, match=r"no finished training here \(model.safetensors is missing\)"):
        TrainedCausalJudge(tmp_path)


def test_a_training_goes_past_pairs_that_do_not_fit(tmp_path, base, data):
    long = [
        replace(p, item_id=f"{p.item_id}-long", question=" ".join([p.question] * 60)) for p in (data[0][0], data[1][0])
    ]
    report = train(tmp_path / "sft", ([*data[0], long[0]], [*data[1], long[1]]), measure=True, base=str(base))
    assert report["too_long"] == {"train": 1, "validation": 1} and report["data"]["train"] == 40
    assert report["history"][0]["accuracy"] is not None
    p = judged(tmp_path / "sft", [data[1][0], long[1]])
    assert np.isnan(p).all(1).tolist() == [False, True] and not is_right(p, [data[1][0], long[1]])[1]
    with pytest.raises(RecipeError, match="none longer than max_length"):
        train(tmp_path / "none", ([long[0]], data[1]), base=str(base))


def test_preferences_are_learnt_from_an_adapter(tmp_path, base, data):
    report = train(tmp_path / "dpo", (data[0][:4], data[1]), method="dpo", base=str(base), r=8, lr=1e-2, swap="none")
    found = [row["loss"] for row in report["history"] if row["loss"] is not None]
    assert found[0] == pytest.approx(np.log(2), abs=0.05)  # the reference and the model begin equal
    assert found[-1] < found[0] - 0.02


def test_a_reward_model_judges_by_the_difference_of_scores(tmp_path, base, data):
    train(tmp_path / "reward", data, method="reward", base=str(base))
    pairs = tiny_tasks(12, "test")
    model, tokenizer = load_trained(tmp_path / "reward")
    scores = reward_scores(model, tokenizer, pairs)
    p_a = 1 / (1 + np.exp(scores[:, 1] - scores[:, 0]))
    np.testing.assert_allclose(judged(tmp_path / "reward", pairs)[:, 0], p_a, atol=1e-6)
    turned = judged(tmp_path / "reward", [pair.swapped() for pair in pairs])
    np.testing.assert_allclose(turned[:, 1], p_a, atol=1e-5)  # no place is preferred
    replies = load_judge(f"reward/{tmp_path / 'reward'}").judge([request_of(pair, "ab") for pair in pairs])
    told = [[reply.score_first, reply.score_second] for reply in replies]
    np.testing.assert_allclose(told, scores, atol=1e-4)  # by its name it reads as it was trained


def test_validation_pairs_are_judged_from_the_start_on(tmp_path, base, data):
    report = train(tmp_path / "sft", data, base=str(base), measure=True, eval_every=6)
    first, last = [row for row in report["history"] if row["validation"] is not None]
    assert (first["step"], last["step"]) == (0, 6)
    before = is_right(judged(base, data[1], CausalRecipe(**SHORT)), data[1]).mean()
    after = is_right(judged(tmp_path / "sft", data[1]), data[1]).mean()
    assert (first["accuracy"], last["accuracy"]) == (before, after)


def test_a_model_from_nothing_learns_to_judge(tmp_path):
    given = {"families": ("kind",)}
    common = {"batch_size": 32, "eval_every": 80, "max_length": 96}
    drill = CausalRecipe(method="drill", steps=80, lr=4e-3, **common)
    drills, strategy = (tiny_drills(2560, **given), tiny_drills(8, "validation", **given)), strategy_of(drill)
    train_rows(drill, lambda tokenizer: [drill_rows(d, strategy, tokenizer) for d in drills], tmp_path / "drill")
    pairs, held_out = tiny_tasks(1920, **given), tiny_tasks(200, "validation", **given)
    sft = CausalRecipe(base=str(tmp_path / "drill"), steps=60, lr=2e-3, **common)
    train_judge(sft, pairs, held_out[:8], tmp_path / "sft", shared_questions=True)
    before = is_right(judged(None, held_out, CausalRecipe()), held_out).mean()
    after = is_right(judged(tmp_path / "sft", held_out), held_out).mean()
    assert 0.3 < before < 0.7 and after >= 0.8, (before, after)


def test_packing_trains_on_the_same_replies(tmp_path, data):
    given = {"base": str(save_tiny(tmp_path / "base")), "steps": 2, "batch_size": 2, "max_length": 1024}
    plain = train(tmp_path / "plain", data, **given)
    packed = train(tmp_path / "packed", data, **given, packing=True)
    assert packed["history"] != plain["history"] and packed["history"][-1]["validation"] > 0


def test_an_adapter_without_a_merged_model_is_no_base(tmp_path, base, data):
    train(tmp_path / "sft", data, base=str(base), r=4)
    with pytest.raises(RecipeError, match="train it with merge: true"):
        train(tmp_path / "dpo", data, base=str(tmp_path / "sft"), method="dpo", r=4)


def test_training_stops_when_validation_stops_falling(tmp_path, base, data):
    report = train(tmp_path / "wild", data, base=str(base), lr=0.5, steps=40, patience=1, warmup=0.0)
    assert report["steps"] < 40 and report["best_step"] < report["steps"]


def test_validation_questions_must_be_new(tmp_path, data):
    with pytest.raises(ValueError, match="also a training prompt"):
        train_judge(CausalRecipe(**SHORT), data[0], data[0][:3], tmp_path)


# ---------------------------------------------------------------- judging


def test_the_deciding_tokens_tell_verdicts_apart(tokenizer):
    labels, opening, tokens = deciding_tokens(tokenizer, load_strategy("letter", "permissive"))
    assert labels == ["A", "B", "tie"] and opening == []
    assert tokenizer.convert_ids_to_tokens(tokens) == ["A", "B", "C"]
    with pytest.raises(ValueError, match="explains before it judges"):
        deciding_tokens(tokenizer, load_strategy("verdict_last"))


def test_right_is_the_most_probable_verdict():
    pairs = [
        PreferencePair(str(n), "x", "q", "a", "b", "f", label=label) for n, label in enumerate(("A", "B", "tie", "A"))
    ]
    found = is_right(np.array([[0.6, 0.4, 0], [0.6, 0.4, 0], [0.2, 0.2, 0.6], [0.5, 0.5, 0]]), pairs)
    assert found.tolist() == [True, False, True, False]
    table = accuracy_table({"m": found}, pairs)
    assert table["family"].tolist() == ["all", "f"] and table["value"].tolist() == [0.5, 0.5]
    assert (table["low"] < 0.5).all() and (table["high"] > 0.5).all()


# ---------------------------------------------------------------- memory


def built(kind, **sizes):
    """A model without storage, and its configuration."""
    import torch
    import transformers

    common = {"vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3}
    common |= {"num_attention_heads": 4, "num_key_value_heads": 2}
    config = getattr(transformers, f"{kind}Config")(**(common | sizes))
    with torch.device("meta"):
        return getattr(transformers, f"{kind}ForCausalLM")(config), config


def test_an_adapter_is_counted_exactly():
    from peft import get_peft_model

    model, config = built("Qwen3", head_dim=16)
    recipe = CausalRecipe(base="x", r=4)
    trained = sum(p.numel() for p in get_peft_model(model, adapter_config(recipe)).parameters() if p.requires_grad)
    assert estimate(config, recipe).trained == trained


def test_weights_gradients_and_moments_have_their_bytes():
    model, config = built("Qwen3", head_dim=16)
    count = sum(p.numel() for p in model.parameters())
    full, lora = CausalRecipe(base="x"), CausalRecipe(base="x", r=4)
    told = estimate(config, full)
    assert (told.weights, told.gradients, told.optimiser) == (4 * count, 4 * count, 8 * count)
    light = estimate(config, lora)
    assert light.weights == 2 * count + 4 * light.trained and light.total < told.total
    assert estimate(config, replace(lora, quantise="4bit")).weights < light.weights
    assert estimate(config, replace(full, recompute=True)).activations < told.activations
    assert estimate(config, replace(lora, batch_size=64)).activations == 2 * light.activations
    assert estimate(config, replace(full, method="dpo")).weights == 8 * count


# Qwen3's published sizes: width, inner width, layers, heads, whether embeddings are tied.
QWEN3 = {
    "0_6b": (1024, 3072, 28, 16, True),
    "4b": (2560, 9728, 36, 32, True),
    "8b": (4096, 12288, 36, 32, False),
    "14b": (5120, 17408, 40, 40, False),
}


@pytest.mark.parametrize("size", QWEN3)
def test_parameters_for_a_gpu_are_recipes_that_fit_as_they_say(size):
    from transformers import Qwen3Config

    path = project_root() / "params" / "gpu" / f"21_train_causal_judge-qwen3_{size}.yaml"
    text = path.read_text(encoding="utf-8")
    values = yaml.safe_load(text)
    assert set(values) <= known_parameters(notebook_path("21_train_causal_judge"))
    assert values["variant"] == f"qwen3_{size}" and values["run"] == "gpu"
    assert set(values["steps"]) == set(values["rates"]) == {"sft", "dpo", "reward"}
    names = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "tie_word_embeddings")
    sizes = dict(zip(names, QWEN3[size], strict=True))
    config = Qwen3Config(vocab_size=151936, num_key_value_heads=8, head_dim=128, **sizes)
    totals = []
    for stage, steps in values["steps"].items():
        given = {"method": stage, "base": values["base"], "steps": steps, "lr": values["rates"][stage]}
        totals.append(estimate(config, recipe_of(given | values["settings"])).total / 2**30)
    most, room = map(int, re.search(r"At most (\d+) GiB by estimate .* one GPU of (\d+) GiB", text).groups())
    assert most - 1 < max(totals) <= most and 1.1 * max(totals) <= room


# ---------------------------------------------------------------- the command


def test_the_command_trains_from_files(tmp_path, base, capsys):
    for name, pairs in (("train", tiny_tasks(24)), ("held_out", tiny_tasks(8, "validation"))):
        rows = [
            {"question": p.question, "response_a": p.response_a, "response_b": p.response_b, "label": p.label}
            for p in pairs
            if p.subset != "kind"
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    recipe = tmp_path / "recipe.yaml"
    lines = [f"{name}: {value}" for name, value in SHORT.items()] + [f"base: {base}"]
    lines += [f"train: {{{tmp_path}/train.jsonl: 1}}", f"validation: [{tmp_path}/held_out.jsonl]"]
    recipe.write_text("\n".join([*lines, f"folder: {tmp_path}/judge"]))
    assert main([str(recipe), "--estimate"]) == 0 and not (tmp_path / "judge").exists()
    assert main([str(recipe)]) == 0
    assert "parameters" in capsys.readouterr().out and (tmp_path / "judge" / "model.safetensors").is_file()
    shutil.copy(recipe, tmp_path / "bad.yaml")
    (tmp_path / "bad.yaml").write_text(recipe.read_text().replace("lr:", "learning_rate:"))
    assert main([str(tmp_path / "bad.yaml")]) == 2
    assert "no field is called 'learning_rate'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2", "is not YAML"),
        ("- a", "expected 'name: value' lines"),
        ("train: {x: 1}\nvalidation: [y]", "folder: Field required"),
        ("train: {x: -1}\nvalidation: [y]\nfolder: z", "train.x is -1"),
    ],
)
def test_bad_recipe_files_are_named(tmp_path, text, message):
    (tmp_path / "r.yaml").write_text(text)
    with pytest.raises(RecipeError, match=message):
        read_recipe(tmp_path / "r.yaml")
