"""Training a causal judge: recipes, rows, trainings that resume, adapters, rewards, memory."""

import gc
import json
import re
import shutil
import weakref
from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
import yaml
from doc_page import run_python, text_of
from judged_file import write_pairs
from peft import get_peft_model
from safetensors.torch import load_file, save_file
from tiny_causal import CHATML, SHAPE, save_tiny, tiny_tokenizer
from watching import Interrupted, watched

pytest.importorskip("trl", reason="TRL IS MISSING, so training a causal judge is NOT TESTED: pip install '.[train]'")

import trl.trainer.utils as trl_models

from judgekit.data.files import write_json
from judgekit.data.paths import project_root
from judgekit.data.sample import load_sample
from judgekit.judges import load_judge, request_of
from judgekit.models.chat_tokens import ChatTokenizer
from judgekit.models.files import SEAL, check_seal
from judgekit.records import PreferencePair
from judgekit.training import causal, causal_data
from judgekit.training.causal import _make_trainer, adapter_config, load_base, train_judge
from judgekit.training.causal_data import CausalRecipe, RecipeError, checked, mixed, mixture_of, token_rows
from judgekit.training.causal_run import announce, estimate, main, read_recipe

SHORT = {"steps": 6, "eval_every": 2, "batch_size": 4, "max_length": 600, "lr": 1e-3}
DECIDED = [pair for pair in load_sample("sample_train") if pair.label != "tie" and sum(map(len, pair.responses)) < 150]
HELD_OUT = [pair for pair in DECIDED[40:] if pair.asked not in {one.asked for one in DECIDED[:40]}]
PAIRS, NEW, TEST = DECIDED[:40], HELD_OUT[:12], HELD_OUT[12:24]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epoch": "sft"}, "no field is called 'epoch'"),
        ({"method": "ppo"}, "method is 'ppo'"),
        ({"steps": True}, "steps is True"),
        ({"lr": 0}, "lr is 0"),
        ({"tie_share": 0.2}, "knows no tie"),
        ({"merge": True}, "merge needs r > 0"),
        ({"quantise": "4bit"}, "quantise needs r > 0"),
        ({"r": 2, "layers": [0]}, "layers needs r > 0, and target_modules by name"),
        ({"method": "dpo", "packing": True}, "packing does not go with"),
    ],
)
def test_bad_recipes_name_the_field(values, message):
    with pytest.raises(RecipeError, match=message):
        checked(CausalRecipe, {"base": "x"} | values)


def test_bases_strategies_and_validation_pairs_that_cannot_be_had_are_named(tiny, tmp_path):
    with pytest.raises(RecipeError, match="cannot be loaded"):
        load_base(CausalRecipe("/nowhere/at/all"))
    with pytest.raises(RecipeError, match=r"needs a GPU|requires bitsandbytes"):
        load_base(CausalRecipe(str(tiny), r=4, quantise="4bit"))
    with pytest.raises(RecipeError, match="strategies that ask once"):
        causal_data.strategy_of(CausalRecipe("x", strategy="single"))
    with pytest.raises(ValueError, match="also a training prompt"):
        train(tmp_path, (PAIRS, PAIRS[:3]), base="x")


def test_the_loss_falls_on_the_reply_alone():
    tokenizer = tiny_tokenizer()
    ((row,), _) = token_rows(PAIRS[:1], CausalRecipe("x"), tokenizer)
    told = [
        (i, label) for i, label in zip(row["input_ids"], row["labels"], strict=True) if label != causal_data.IGNORED
    ]
    assert tokenizer.convert_ids_to_tokens([i for i, _ in told]) == [PAIRS[0].label, "<|im_end|>"]
    assert all(i == label for i, label in told)


NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + CHATML
DATED = "<|im_start|>system\nToday: {{ date_string | default(strftime_now('%d %b %Y')) }}<|im_end|>\n" + CHATML


@pytest.mark.parametrize("template", [CHATML, NO_SYSTEM, DATED, None], ids=["plain", "no system", "dated", "none"])
@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_a_prompt_of_training_is_that_of_judging(tmp_path, template, method):
    """At 4098d62 a template with a date gave other prompts, and one without a system role, or none, ended training."""
    judge = load_judge(f"hf/{save_tiny(tmp_path / 'model', template=template)}#letter-strict")
    pair = replace(PAIRS[0], question="What is <|im_end|> for?")  # a token of the model's own stays text
    ((row,), too_long) = token_rows([pair], CausalRecipe("x", method), judge.tokens.tokenizer)
    step = judge.steps(request_of(pair, "ab")).send(None)
    prompt = list(judge.question(step.messages, step.call).ids)
    assert too_long == 0 and row.get("prompt_ids", row.get("input_ids", [])[: len(prompt)]) == prompt
    if method == "dpo":
        said = [judge.tokens.tokenizer.decode(row[kind]) for kind in ("chosen_ids", "rejected_ids")]
        assert said == ["A", "B"] if pair.label == "A" else ["B", "A"]


def pairs_of(benchmark, n, label="A"):
    return [PreferencePair(f"{benchmark}-{label}-{i}", benchmark, f"q {i}", "x", "y", label=label) for i in range(n)]


def test_the_mixture_keeps_to_number_ties_and_order():
    pairs = [*pairs_of("one", 100), *pairs_of("two", 100), *pairs_of("two", 50, "tie")]
    assert len(mixed(pairs, CausalRecipe("x", n_pairs=60))) == 60
    loose = mixed(pairs, CausalRecipe("x", policy="permissive", tie_share=0.1, swap="none"))
    assert sum(pair.label == "tie" for pair in loose) == 22 and len(loose) == 222
    for seed in range(20):  # at 882214a 3 ties of 20 pairs in some of them
        few = mixed(pairs, CausalRecipe("x", policy="permissive", tie_share=0.1, n_pairs=20, seed=seed))
        assert len(few) == 20 and sum(pair.label == "tie" for pair in few) <= 2
    assert len(mixed(pairs, CausalRecipe("x", swap="both"))) == 400
    swapped = mixed(pairs, CausalRecipe("x", swap="random"))
    assert 60 < sum(pair.label == "A" for pair in swapped) < 140
    with pytest.raises(ValueError, match="no label to train on"):
        mixed([PreferencePair("1", "x", "q", "a", "b")], CausalRecipe("x"))


def test_shares_are_of_what_is_drawn_and_a_scarce_source_is_repeated():
    pairs, recipe = [*pairs_of("many", 900), *pairs_of("few", 100)], CausalRecipe("x", swap="none")
    for n_pairs in (0, 2000):  # as many as there are: the scarce source is not the measure
        drawn = mixture_of(mixed(pairs, replace(recipe, n_pairs=n_pairs), {"many": 1, "few": 1}))
        assert drawn == {"few": {"pairs": 500, "distinct": 100}, "many": {"pairs": 500, "distinct": 500}}
    drawn = mixture_of(mixed(pairs, replace(recipe, n_pairs=60), {"many": 3, "few": 1}))
    assert drawn == {"few": {"pairs": 15, "distinct": 15}, "many": {"pairs": 45, "distinct": 45}}
    with pytest.raises(ValueError, match="shares: three has no pairs"):
        mixed(pairs, recipe, {"many": 1, "few": 1, "three": 1})
    with pytest.raises(ValueError, match="no share is given for few"):
        mixed(pairs, recipe, {"many": 1})


def test_the_share_of_ties_holds_where_a_source_is_repeated():
    """At 7ea38f3e ties were limited before sources were drawn: here 44 of 100 were ties, and 10 are allowed."""
    pairs = [*pairs_of("many", 900), *pairs_of("few", 10), *pairs_of("few", 90, "tie")]
    recipe = CausalRecipe("x", policy="permissive", tie_share=0.1, swap="none", n_pairs=100)
    drawn = mixed(pairs, recipe, {"many": 1, "few": 1})
    assert sum(pair.label == "tie" for pair in drawn) == 10
    assert mixture_of(drawn)["many"] == {"pairs": 50, "distinct": 50} and mixture_of(drawn)["few"]["pairs"] == 50
    assert len({pair.item_id for pair in drawn if pair.benchmark == "few" and pair.label == "A"}) == 10
    kept = mixed(pairs, replace(recipe, tie_share=0.6), {"many": 1, "few": 1})
    assert sum(pair.label == "tie" for pair in kept) > 40, "no more than declared: nothing is replaced"
    with pytest.raises(ValueError, match=r"shares: few has ties alone, more than tie_share \(0.1\)"):
        mixed(pairs[:900] + pairs[910:], recipe, {"many": 1, "few": 1})


def test_pairs_that_do_not_fit_are_left_out_and_counted(tmp_path, tiny):
    long = [replace(p, item_id=f"{p.item_id}-long", question=" ".join([p.question] * 60)) for p in (PAIRS[0], NEW[0])]
    for method in ("sft", "dpo", "reward"):
        recipe = CausalRecipe("x", method, max_length=600)
        rows, too_long = token_rows([*PAIRS, long[0]], recipe, tiny_tokenizer())
        wanted = sum(pair.label != "tie" for pair in PAIRS) if method == "reward" else 40
        assert (len(rows), too_long) == (wanted, 1) and token_rows(PAIRS, recipe, tiny_tokenizer())[0] == rows
    report = train(tmp_path / "sft", ([*PAIRS, long[0]], [*NEW, long[1]]), base=str(tiny), steps=2)
    assert report["too_long"] == {"train": 1, "validation": 1} and report["data"]["train"] == 40
    with pytest.raises(RecipeError, match="none longer than max_length"):
        train(tmp_path / "none", ([long[0]], NEW), base=str(tiny))


def train(folder, data=(PAIRS, NEW), **values):
    return train_judge(CausalRecipe(**(SHORT | values)), *data, folder)


def judged(name, pairs=TEST, **settings):
    replies = load_judge(str(name), settings=settings or None).judge([request_of(pair, "ab") for pair in pairs])
    return np.array([[reply.p_first, reply.p_second] for reply in replies])


def losses(report):
    return [(row["step"], name, row[name]) for row in report["history"] for name in ("loss", "validation") if row[name]]


def test_a_killed_training_goes_on_to_the_same_losses(tmp_path, tiny, monkeypatch):
    whole = train(tmp_path / "whole", base=str(tiny))
    calls = watched(monkeypatch, transformers.Trainer, "training_step", end_at=6)  # after the checkpoint of step 4
    with pytest.raises(Interrupted):
        train(tmp_path / "parts", base=str(tiny))
    assert not (tmp_path / "parts" / "training.json").exists()
    calls.clear()
    resumed = train(tmp_path / "parts", base=str(tiny))
    assert len(calls) == 2  # steps 5 and 6 only
    assert [entry[:2] for entry in losses(resumed)] == [entry[:2] for entry in losses(whole)]
    np.testing.assert_allclose([x[2] for x in losses(resumed)], [x[2] for x in losses(whole)], atol=1e-5)
    again = train(tmp_path / "parts", base=str(tiny))
    assert len(calls) == 2 and again == resumed  # a finished training is not repeated


@pytest.mark.parametrize(
    ("stopped", "steps"),
    [
        ({"steps": 6, "batch_size": 4}, 6),
        ({"steps": 10, "batch_size": 4, "lr": 0.5, "warmup": 0.0}, 10),  # an epoch, whose best state is not its last
        ({"steps": 40, "lr": 0.5, "patience": 1, "warmup": 0.0}, None),
    ],
    ids=["the last step", "an epoch", "stopped early"],
)
def test_a_training_that_was_killed_when_it_was_over_is_only_finished(tmp_path, tiny, monkeypatch, stopped, steps):
    """At 7ea38f3e it trained on from its last checkpoint: by one step, or to a later state than it had stopped at; and
    at e4594ef1 where the folder had been moved, or it kept the last state for the best one."""
    whole = train(tmp_path / "whole", base=str(tiny), **stopped)
    assert whole["steps"] == steps if steps else whole["best_step"] < whole["steps"] < 40
    with monkeypatch.context() as patched, pytest.raises(Interrupted):
        watched(patched, causal, "_finish", end_at=1)
        train(tmp_path / "parts", base=str(tiny), **stopped)
    calls = watched(monkeypatch, transformers.Trainer, "training_step")
    (tmp_path / "parts").rename(tmp_path / "moved")
    again = train(tmp_path / "moved", base=str(tiny), **stopped)
    assert not calls and (again["steps"], again["best_step"]) == (whole["steps"], whole["best_step"])
    assert losses(again) == losses(whole)
    weights = [load_file(tmp_path / name / "model.safetensors") for name in ("whole", "moved")]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0] | weights[1])


def test_a_prompt_does_not_hold_the_day_on_which_it_is_made(monkeypatch):
    """At e4594ef1 a template that asks for the date itself (gpt-oss) got that of today."""
    prompts = set()
    for day in (datetime(2026, 1, 1), datetime(2026, 1, 2)):
        clock = SimpleNamespace(now=lambda day=day: day)
        monkeypatch.setattr("transformers.utils.chat_template_utils.datetime", clock)
        tokenizer = tiny_tokenizer()
        tokenizer.chat_template = "Today: {{ strftime_now('%Y-%m-%d') }}\n" + CHATML
        prompts.add(ChatTokenizer(tokenizer).rendered([{"role": "user", "content": "Hi"}]))
    (prompt,) = prompts
    assert "Today: 26 Jul 2024" in prompt


def test_an_adapter_that_is_joined_to_the_one_before_it_keeps_the_revision_of_their_base(tmp_path):
    """At e4594ef1 it named that base without a revision: the newest one."""
    for name, revision in (("first", "abc"), ("second", None)):
        config = {"r": 2, "lora_alpha": 2, "modules_to_save": None, "base_model_name_or_path": "owner/model"}
        write_json(tmp_path / name / "adapter_config.json", config | {"revision": revision})
        parts = {f"q.lora_{which}.weight": torch.zeros(shape) for which, shape in (("A", (2, 4)), ("B", (4, 2)))}
        save_file(parts, tmp_path / name / "adapter_model.safetensors")
    causal._join_adapters(tmp_path / "second", tmp_path / "first")
    joined = json.loads((tmp_path / "second" / "adapter_config.json").read_text(encoding="utf-8"))
    assert (joined["revision"], joined["r"], joined["base_model_name_or_path"]) == ("abc", 4, "owner/model")


def test_what_a_training_leaves_and_that_its_adapter_is_merged_as_sums_in_float64_say(tmp_path, tiny):
    """Else the last bit of the merged weights, and with it the judge, would depend on the machine."""
    report = train(tmp_path, base=str(tiny), r=4, lora_alpha=8, merge=True, lr=2e-2)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"adapter_model.safetensors", "adapter_config.json", "tokenizer.json"} <= names
    assert {"training.json", "README.md", "merged"} <= names
    for place, file in ((".", "adapter_model.safetensors"), ("merged", "model.safetensors")):
        assert file in json.loads((tmp_path / place / SEAL).read_text())
        check_seal(tmp_path / place)
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".bin", ".pt", ".pth", ".pkl")]
    written = json.loads((tmp_path / "training.json").read_text())
    assert written == report and checked(CausalRecipe, written["recipe"]).r == 4
    assert 0 < report["trained_parameters"] < report["parameters"]
    assert {"trl", "peft", "torch"} <= set(written["versions"]) and len(written["data"]["sha256"]) == 64
    assert "a LoRA adapter, r = 4" in (tmp_path / "README.md").read_text()
    parts, own = load_file(tmp_path / "adapter_model.safetensors"), load_file(tmp_path / "merged" / "model.safetensors")
    name = next(name for name in own if name.endswith("q_proj.weight"))
    a, b = (parts[f"base_model.model.{name.removesuffix('weight')}lora_{which}.weight"].double() for which in "AB")
    wanted = load_file(tiny / "model.safetensors")[name].double() + b @ a * 2
    assert not torch.equal(own[name], load_file(tiny / "model.safetensors")[name])
    assert torch.equal(own[name], wanted.to(own[name].dtype))


@pytest.mark.usefixtures("exact")
def test_merged_and_adapter_judge_alike_and_may_be_moved(tmp_path, tiny, monkeypatch):
    train(tmp_path / "run" / "sft", base=str(tiny), r=4, merge=True, lr=2e-2)
    given = {"base": str(tmp_path / "run" / "sft"), "method": "dpo", "r": 2, "merge": True, "lr": 2e-2}
    report = train(tmp_path / "run" / "dpo", (PAIRS[:8], NEW), **given)
    one_pass = {"mode": "one_pass"}
    adapter = judged(f"hf/{tmp_path / 'run' / 'sft'}#letter-strict", **one_pass)
    whole = judged(f"hf/{tmp_path / 'run' / 'sft' / 'merged'}#letter-strict", **one_pass)
    np.testing.assert_allclose(whole, adapter, atol=1e-5)
    bare = judged(f"hf/{tiny}#letter-strict", **one_pass)
    assert np.abs(bare - adapter).max() > 1e-3  # the adapter did something
    np.testing.assert_allclose(adapter.sum(axis=1), 1)
    preferred = judged(f"hf/{tmp_path / 'run' / 'dpo'}#letter-strict", **one_pass)
    (tmp_path / "run").rename(tmp_path / "elsewhere")  # an adapter names its base by the way to it
    for name in ("here", "sft/merged"):  # the same way from where the judge is asked leads to another folder
        (tmp_path / "other" / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "other" / "here")
    moved = judged(f"hf/{tmp_path / 'elsewhere' / 'dpo'}#letter-strict", **one_pass)
    np.testing.assert_array_equal(moved, preferred)
    given["base"] = str(tmp_path / "elsewhere" / "sft")
    again = train(tmp_path / "elsewhere" / "dpo", (PAIRS[:8], NEW), **given)
    assert again == report, "a training is known by what its base is, not by where it lies"
    shutil.rmtree(tmp_path / "elsewhere" / "sft")  # both adapters are one by now
    both = judged(f"hf/{tmp_path / 'elsewhere' / 'dpo'}#letter-strict", **one_pass)
    whole = judged(f"hf/{tmp_path / 'elsewhere' / 'dpo' / 'merged'}#letter-strict", **one_pass)
    np.testing.assert_allclose(both, whole, atol=1e-5)
    assert np.abs(both - adapter).max() > 1e-3
    assert str(tmp_path) not in (tmp_path / "elsewhere" / "dpo" / "training.json").read_text()


def test_another_training_in_a_folder_leaves_nothing_of_the_one_before(tmp_path, tiny, monkeypatch):
    """At 29757e73 an adapter judged in place of the new weights, and a stage after them began with its merged model."""
    folder, sft = tmp_path / "judge", {"base": str(tiny), "r": 4, "merge": True, "steps": 2}
    train(folder, **sft)
    with pytest.raises(RecipeError, match=r"base .*/judge/merged' lies in the folder that is written"):
        train(folder, base=str(folder / "merged"), steps=2)
    for place in (folder, tmp_path / "alone"):
        train(place, base=str(tiny), r=0, steps=2)
    assert {path.name for path in folder.rglob("*")} == {path.name for path in (tmp_path / "alone").rglob("*")}
    monkeypatch.setattr("judgekit.training.causal._finish", lambda *_: None)  # killed when the weights are written
    train(folder, **sft)
    assert not (folder / "training.json").exists(), "else these weights would pass for those of the training before"


def test_a_base_that_others_trained_is_known_by_its_files(tmp_path, tiny):
    """At ec959123 a training.json without our key ended in a KeyError."""
    base = shutil.copytree(tiny, tmp_path / "base")
    (base / "training.json").write_text('{"epochs": 3}')
    report = train(tmp_path / "judge", base=str(base), steps=2)
    (base / "training.json").unlink()
    assert train(tmp_path / "again", base=str(base), steps=2)["key"] == report["key"]


UPPER = {"layers": (1,), "target_modules": ("q_proj", "down_proj")}


@pytest.mark.parametrize(
    ("kind", "more", "share"),
    [
        ("llama", {"r": 0}, 1 / 2),  # a reference of its own: half of the rows of each
        ("qwen3", UPPER, 3 / 8),  # one block for policy and reference, and one for each
        ("gemma3_text", UPPER, 3 / 8),
        ("qwen2", UPPER | {"recompute": True}, None),
    ],
)
def test_preferences_are_the_same_at_the_price_of_one_pass(tmp_path, monkeypatch, kind, more, share):
    given = SHORT | {"base": str(save_tiny(tmp_path / "base", kind)), "method": "dpo", "r": 4, "lr": 0.01} | more
    found, rows = [], {}
    inner = watched(monkeypatch, torch.nn.Linear, "forward", lambda linear, states: (linear.out_features, len(states)))
    for name in ("once", "plain"):
        found.append(losses(train(tmp_path / name, (PAIRS[:16], NEW), **given, bf16=False)))
        rows[name] = sum(n for width, n in inner if width == SHAPE["intermediate_size"])
        inner.clear()
        monkeypatch.setattr("judgekit.training.causal._run_once", lambda *_: None)
    assert len(found[0]) > 4 and len({loss for *_, loss in found[0]}) > 4
    assert found[0][0][2] == pytest.approx(np.log(2))  # the reference and the model begin equal
    assert found[0] == [(*at, pytest.approx(loss, rel=1e-4)) for *at, loss in found[1]]
    assert not share or rows["once"] == rows["plain"] * share


@pytest.mark.parametrize("r", [0, 4])
def test_a_reward_model_judges_by_the_difference_of_scores(tmp_path, tiny, r):
    """Pairs whose better response says yes: learnt in a minute, and read by its name as in training."""
    told = [PreferencePair(str(n), "x", f"Is {n} a number?", "yes", "no", label="A") for n in range(60)]
    told = [pair.swapped() if n % 2 else pair for n, pair in enumerate(told)]
    given = {"base": str(tiny), "method": "reward", "r": r, "steps": 20, "eval_every": 20, "lr": 1e-2}
    train(tmp_path / "reward", (told[:40], told[40:50]), **given)
    judge = load_judge(f"reward/{tmp_path / 'reward'}")
    replies = judge.judge([request_of(pair, "ab") for pair in told[50:]])
    assert [{"first": "A", "second": "B"}[reply.verdict] for reply in replies] == [pair.label for pair in told[50:]]
    chat = ChatTokenizer(judge.tokens.tokenizer)
    for pair, reply in zip(told[50:], replies, strict=True):
        with torch.inference_mode():
            chats = [chat.scored_ids(request_of(pair, "ab").chat(side), 600)[0] for side in ("first", "second")]
            scores = [judge.engine(torch.tensor([ids])).logits.item() for ids in chats]
        assert [reply.score_first, reply.score_second] == pytest.approx(scores, abs=1e-4)
        assert reply.p_first == pytest.approx(1 / (1 + np.exp(scores[1] - scores[0])), abs=1e-4)


def test_an_adapter_on_named_blocks_leaves_the_others_alone(tiny):
    recipe = CausalRecipe(base=str(tiny), r=2, layers=[1], target_modules=("q_proj", "down_proj"))
    adapted = get_peft_model(load_base(recipe)[0], adapter_config(recipe))
    trained = {name for name, weights in adapted.named_parameters() if weights.requires_grad}
    assert len(trained) == 4 and all(".layers.1." in name for name in trained)
    with pytest.raises(RecipeError, match=f"layers names block 9, and .* has {SHAPE['num_hidden_layers']} from 0"):
        load_base(replace(recipe, layers=(1, 9)))


def test_rows_of_a_step_stand_by_length_and_every_step_is_drawn_by_the_seed():
    rows = [{"chosen_ids": [0] * n, "rejected_ids": [0] * (60 - n)} for n in range(1, 42)]
    recipe = CausalRecipe(base="any", method="reward", batch_size=2, accumulation=4)
    placed = causal_data.in_steps(rows, recipe)
    longest = [max(map(len, row.values())) for row in placed]
    assert all(longest[start : start + 8] == sorted(longest[start : start + 8]) for start in range(0, 41, 8))
    assert longest != sorted(longest) and placed == causal_data.in_steps(rows, recipe) != causal_data.in_steps(
        rows, replace(recipe, seed=1)
    )
    assert sorted(map(str, placed)) == sorted(map(str, rows))


def test_the_trainer_reads_rows_as_they_are_placed_unless_packing_sorts_them(tmp_path, tiny):
    recipe = CausalRecipe(base=str(tiny), batch_size=4)
    rows, _ = token_rows(PAIRS[:20], recipe, tiny_tokenizer())
    for packing in (False, True):
        given = replace(recipe, packing=packing)
        trainer = _make_trainer(given, load_base(given)[0], tiny_tokenizer(), rows, rows[:2], tmp_path, False)
        assert trainer.args.train_sampling_strategy == ("random" if packing else "sequential")
        assert packing or list(trainer._get_train_sampler(trainer.train_dataset)) == list(range(20))
    assert trainer.model.config._attn_implementation == "eager" or torch.cuda.is_available()


@pytest.mark.parametrize(("method", "p"), [("sft", 0.5), ("reward", 0.5), ("dpo", 0)])
def test_an_adapter_has_the_dropout_of_its_recipe(tmp_path, tiny, method, p):
    """Before, TRL switched it off for a reward model, too."""
    recipe = CausalRecipe(str(tiny), method, r=4, lora_dropout=0.5)
    rows, _ = token_rows(PAIRS[:4], recipe, tiny_tokenizer())
    trainer = _make_trainer(recipe, load_base(recipe)[0], tiny_tokenizer(), rows, rows, tmp_path, False)
    assert {module.p for module in trainer.model.modules() if isinstance(module, torch.nn.Dropout)} == {p}


@pytest.mark.parametrize(("method", "replies"), [("sft", 2), ("dpo", 2)])
def test_logits_are_made_where_a_reply_is_and_nowhere_else(tmp_path, tiny, monkeypatch, method, replies):
    """TRL has a head that does so where there is Triton; elsewhere it makes the logits of each position of a prompt."""
    head = trl_models._ChunkedLogProbFunction
    positions = watched(monkeypatch, head, "apply", lambda hidden, *others: len(hidden))
    recipe = CausalRecipe(str(tiny), method, **SHORT | {"steps": 2})
    train_judge(recipe, PAIRS[:8], NEW[:4], tmp_path)
    assert positions and set(positions) == {replies * recipe.batch_size}  # a letter and what ends it, or two letters


def test_packing_trains_on_the_same_replies(tmp_path, tiny):
    given = {"base": str(tiny), "steps": 2, "batch_size": 2, "max_length": 1024}
    plain = train(tmp_path / "plain", **given)
    packed = train(tmp_path / "packed", **given, packing=True)
    assert packed["history"] != plain["history"] and packed["history"][-1]["validation"] > 0


def test_a_processor_with_bfloat16_trains_in_it_and_its_bare_adapter_is_no_base(tmp_path, tiny, monkeypatch):
    losses = []
    for native in (True, False):
        monkeypatch.setattr("judgekit.training.causal.native_bf16", lambda native=native: native)
        report = train(tmp_path / str(native), base=str(tiny), r=4, steps=2)
        losses.append([row["loss"] for row in report["history"]])
    assert losses[0] != losses[1] and losses[0] == pytest.approx(losses[1], rel=0.05)
    with pytest.raises(RecipeError, match="train it with merge: true"):
        train(tmp_path / "dpo", base=str(tmp_path / "True"), method="dpo", r=4)


def test_what_is_trained_on_a_gpu_is_kept_in_float32_and_leaves_it_when_it_is_over(tmp_path, tiny, monkeypatch):
    """Before, the new head of a reward model was in the base's bfloat16, where most of its steps were rounded away."""

    def as_on_a_gpu(recipe):  # which a processor computes alike
        model, tokenizer = load_base(recipe)
        return model.to(torch.bfloat16), tokenizer

    def kept(trainer, *_):
        kinds = {(weights.requires_grad, weights.dtype) for weights in trainer.model.parameters()}
        return kinds, weakref.ref(trainer.model)

    seen = watched(monkeypatch, transformers.Trainer, "training_step", kept)
    monkeypatch.setattr("judgekit.training.causal.load_base", as_on_a_gpu)
    monkeypatch.setattr("judgekit.training.causal.native_bf16", lambda: True)
    gc.disable()  # which would free the model by chance
    try:
        train(tmp_path, base=str(tiny), method="reward", r=4, steps=2, merge=True)
    finally:
        gc.enable()
    kinds, model = seen[0]
    assert kinds == {(True, torch.float32), (False, torch.bfloat16)}
    assert model() is None, "the next model would find it there"
    assert load_file(tmp_path / "adapter_model.safetensors")["base_model.model.score.weight"].dtype == torch.float32


def test_a_base_in_four_bits_is_loaded_where_its_process_trains(tiny, monkeypatch):
    """Before, every process put it on the first GPU, and accelerate refused to train the second one."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    given = {}
    monkeypatch.setattr("judgekit.training.causal.load_network", lambda *_, **options: given.update(options) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        load_base(CausalRecipe(str(tiny), r=4, quantise="4bit"))
    assert given["device_map"] == "cuda" and given["quantization_config"].load_in_4bit  # that of LOCAL_RANK


def test_weights_gradients_and_moments_have_their_bytes():
    config = transformers.Qwen3Config(**SHAPE | {"vocab_size": 97, "num_hidden_layers": 3, "head_dim": 16})
    with torch.device("meta"):
        model = transformers.Qwen3ForCausalLM(config)
    count = sum(p.numel() for p in model.parameters())
    full, lora = CausalRecipe(base="x"), CausalRecipe(base="x", r=4)
    told = estimate(config, full)
    assert [told[part] for part in ("weights", "gradients", "optimiser")] == [4 * count, 4 * count, 8 * count]
    light = estimate(config, lora)
    adapted = get_peft_model(model, adapter_config(lora))
    assert light["trained"] == sum(p.numel() for p in adapted.parameters() if p.requires_grad)
    assert light["weights"] == 2 * count + 4 * light["trained"] and light["total"] < told["total"]
    assert estimate(config, replace(lora, quantise="4bit"))["weights"] < light["weights"]
    assert estimate(config, replace(full, recompute=True))["activations"] < told["activations"]
    assert estimate(config, replace(lora, batch_size=64))["activations"] == 2 * light["activations"]
    assert estimate(config, replace(full, method="dpo"))["weights"] == 8 * count


@pytest.mark.parametrize(("gpu", "told"), [(True, "GiB on a GPU: .* activations 0.0"), (False, "activations 0.3")])
def test_attention_takes_the_square_of_the_length_on_a_processor_alone(tiny, monkeypatch, capsys, gpu, told):
    """Before, it was foretold for a GPU, too, where ``bf16`` is false: older ones do not multiply bfloat16."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpu)
    announce(CausalRecipe(str(tiny), r=4, bf16=False, batch_size=1, max_length=2048))
    assert re.search(told, capsys.readouterr().out)


# Qwen3's published sizes: width, inner width, layers, heads, whether embeddings are tied.
QWEN3 = {
    "0_6b": (1024, 3072, 28, 16, True),
    "4b": (2560, 9728, 36, 32, True),
    "8b": (4096, 12288, 36, 32, False),
    "14b": (5120, 17408, 40, 40, False),
}


@pytest.mark.parametrize("size", QWEN3)
def test_parameters_for_a_gpu_are_recipes_that_fit_as_they_say(size):
    path = project_root() / "params" / "gpu" / f"21_train_causal_judge-qwen3_{size}.yaml"
    text = path.read_text(encoding="utf-8")
    values = yaml.safe_load(text)
    assert values["variant"] == f"qwen3_{size}"
    assert set(values["stages"]) == {"sft", "dpo", "reward"}
    names = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "tie_word_embeddings")
    sizes = dict(zip(names, QWEN3[size], strict=True))
    config = transformers.Qwen3Config(vocab_size=151936, num_key_value_heads=8, head_dim=128, **sizes)
    totals = []
    for stage, own in values["stages"].items():
        given = {"method": stage, "base": values["base"]} | values["settings"] | own
        totals.append(estimate(config, CausalRecipe(**given))["total"] / 2**30)
    most, room = map(int, re.search(r"At most (\d+) GiB by estimate .* one GPU of (\d+) GiB", text).groups())
    assert most - 1 < max(totals) <= most and 1.1 * max(totals) <= room


def test_the_command_trains_from_files(tmp_path, tiny, capsys):
    write_pairs(tmp_path / "train.jsonl", PAIRS[:24])
    write_pairs(tmp_path / "held_out.jsonl", NEW[:8])
    recipe, bad = tmp_path / "recipe.yaml", tmp_path / "bad.yaml"
    given = {"base": str(tiny), "train": {f"{tmp_path}/train.jsonl": 1}, "folder": f"{tmp_path}/judge"}
    recipe.write_text(yaml.safe_dump(SHORT | given | {"validation": [f"{tmp_path}/held_out.jsonl"]}))
    assert main([str(recipe), "--estimate"]) == 0 and not (tmp_path / "judge").exists()
    assert main([str(recipe)]) == 0
    assert "parameters" in capsys.readouterr().out and (tmp_path / "judge" / "model.safetensors").is_file()
    bad.write_text(recipe.read_text().replace("lr:", "learning_rate:"))
    assert main([str(bad)]) == 2
    assert "no field is called 'learning_rate'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2", "is not YAML"),
        ("- a", "expected 'name: value' lines"),
        ("base: b\ntrain: {x: 1}\nvalidation: [y]", "folder: Field required"),
        ("base: b\ntrain: {x: -1}\nvalidation: [y]\nfolder: z", "train.x is -1"),
    ],
)
def test_bad_recipe_files_are_named(tmp_path, text, message):
    (tmp_path / "r.yaml").write_text(text)
    with pytest.raises(RecipeError, match=message):
        read_recipe(tmp_path / "r.yaml")


def test_a_judge_rewards_the_completions_of_a_prompt(tmp_path, monkeypatch):
    """As docs/training_judges.md has it for TRL's online training."""
    (block,) = re.findall(r"```python\n(.*?)```", text_of("training_judges.md"), re.S)
    monkeypatch.chdir(tmp_path)
    folder = repr(str(save_tiny(tmp_path / "model")))
    for long, short in {'"FOLDER"': folder, "=256": "=8, max_steps=1, use_cpu=True"}.items():
        assert long in block
        block = block.replace(long, short)
    names = {}
    run_python(block, "training_judges.md", names)
    asked = ["Name a prime above 10."] * 3
    rewards = names["preferred"](asked, ["13 is prime.", "The sky is blue.", "11"])
    assert sum(rewards) == pytest.approx(1.5) and rewards[0] > rewards[1]
