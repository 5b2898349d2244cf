"""Train a causal judge with TRL and PEFT: supervised verdicts, preferred verdicts, or a reward model.

The libraries train; here rows are handed to them, and what comes out is written so that it can be used and traced.
A training that was killed goes on from its last checkpoint, with the same losses as if nothing had happened; one that
is finished is not repeated.
"""

import hashlib
import importlib.util
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

from judgekit.data.provenance import git_state, versions
from judgekit.models.files import break_seal, seal
from judgekit.models.loading import load_network
from judgekit.records import PreferencePair
from judgekit.training.causal_data import (
    CausalRecipe,
    RecipeError,
    mixed,
    mixture_of,
    rows_hash,
    strategy_of,
    token_rows,
)
from judgekit.training.causal_tiny import tiny_model, tiny_tokenizer
from judgekit.training.files import settle_config, write_json

if TYPE_CHECKING:
    from transformers import TrainerCallback

TINY = "tiny"
_MERGED = "merged"


def train_judge(
    recipe: CausalRecipe,
    train: list[PreferencePair],
    validation: list[PreferencePair],
    folder: str | Path,
    shares: Mapping[str, float] | None = None,
    explanations: Mapping[str, str] | None = None,
    shared_questions: bool = False,
    progress: bool = False,
    measure: bool = False,
) -> dict[str, Any]:
    """Train on preference pairs by ``sft``, ``dpo`` or ``reward``; the report of `train_rows`.

    ``shares``: of what is drawn, for each source of ``train``; the report says under ``mixture`` what was drawn of
    each. ``explanations``: of pairs by ``item_id``, where the recipe wants them. ``shared_questions``: whether both
    parts may ask the same question, as tasks do whose responses make the difference ("name a fruit"); otherwise that is
    an error. ``measure``: also judge the validation pairs, before the first step and with every validation, so that the
    history holds the accuracy. Pairs whose prompt does not fit are left out, and counted under ``too_long``. Training
    stops early by the loss on ``validation``. RecipeError or ValueError if recipe and data do not go together.
    """
    if recipe.method == "drill":
        raise RecipeError("method 'drill' is not trained on pairs")
    asked = {pair.asked for pair in train}
    if leaks := [] if shared_questions else [pair for pair in validation if pair.asked in asked]:
        raise ValueError(f"{leaks[0].where}: this validation prompt is also a training prompt")
    chosen = mixed(train, recipe, shares)
    labels = ("A", "B") if recipe.policy == "strict" else ("A", "B", "tie")
    held_out = [pair for pair in validation if pair.label in labels]
    notes: dict[str, Any] = {"mixture": mixture_of(chosen), "too_long": {}}

    def rows(tokenizer: Any) -> list[list[dict[str, Any]]]:
        made = {}
        for part, pairs in (("train", chosen), ("validation", held_out)):
            made[part], notes["too_long"][part] = token_rows(pairs, recipe, tokenizer, explanations)
        return list(made.values())

    return train_rows(recipe, rows, folder, progress, held_out if measure else (), notes)


def train_rows(
    recipe: CausalRecipe,
    rows: Callable[[Any], Sequence[list[dict[str, Any]]]],
    folder: str | Path,
    progress: bool = False,
    measured_on: Sequence[PreferencePair] = (),
    notes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Train on rows of token ids; the content of ``training.json``.

    ``rows``: from the tokenizer to the rows of training and of validation. The content: ``recipe``, ``data`` (hash and
    number of rows), ``history`` (``step, loss, validation, accuracy``), ``best_step``, ``parameters``,
    ``trained_parameters``, ``seconds`` (of the last start on), ``versions``, ``git``, and the ``notes``.

    The pairs ``measured_on`` are judged before the first step and with every validation. RecipeError if the base cannot
    be loaded, or the rows are too few for one step.
    """
    from accelerate import PartialState

    folder = Path(folder)
    model, tokenizer = load_base(recipe)
    train, validation = rows(tokenizer)
    if not train or not validation:
        raise RecipeError(
            f"{len(train)} training and {len(validation)} validation rows: there must be some of both, "
            f"none longer than max_length ({recipe.max_length} tokens)"
        )
    data = {"train": len(train), "validation": len(validation), "sha256": rows_hash([*train, *validation])}
    key = _run_key(recipe, data)
    if done := _finished(folder, key):
        return done
    with PartialState().main_process_first():  # of several processes that train together, one clears and makes it
        checkpoints = _own_checkpoints(folder, key)
    trainer = _make_trainer(recipe, model, tokenizer, train, validation, checkpoints, progress)
    if measured_on:
        trainer.args.eval_on_start = True
        trainer.add_callback(_accuracy_callback(recipe, tokenizer, measured_on))
    started = time.perf_counter()
    trainer.train(resume_from_checkpoint=last_checkpoint(checkpoints))
    break_seal(folder)
    trainer.save_model(str(folder))  # first: nothing that describes a training may cost its weights
    report = {
        "recipe": recipe.as_dict(),
        "key": key,
        "data": data,
        "history": _history(trainer.state.log_history),
        "best_step": trainer.state.best_global_step or trainer.state.global_step,
        "steps": trainer.state.global_step,
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "trained_parameters": sum(p.numel() for p in trainer.model.parameters() if p.requires_grad),
        "seconds": round(time.perf_counter() - started, 1),
        "versions": versions(),
        **(notes or {}),
        **git_state(),
    }
    if trainer.is_world_process_zero():
        _finish(recipe, trainer, tokenizer, folder, report)
    return report


def _run_key(recipe: CausalRecipe, data: Mapping[str, Any]) -> str:
    """What tells trainings apart: recipe, rows, and how the base was trained where that was done here."""
    before = Path(recipe.base) / "training.json"
    base = json.loads(before.read_text(encoding="utf-8"))["key"] if before.is_file() else recipe.base
    return hashlib.sha256(json.dumps([recipe.as_dict(), base, data], sort_keys=True).encode()).hexdigest()


def _finished(folder: Path, key: str) -> dict[str, Any] | None:
    """The report of a training that was finished before, if it is this one."""
    path = folder / "training.json"
    report = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return report if report.get("key") == key else None


def _own_checkpoints(folder: Path, key: str) -> Path:
    """The folder of this training's checkpoints; those of another recipe or other data are thrown away."""
    checkpoints = folder / "checkpoints"
    mark = checkpoints / "key"
    if checkpoints.is_dir() and (not mark.is_file() or mark.read_text(encoding="utf-8") != key):
        shutil.rmtree(checkpoints)
    checkpoints.mkdir(parents=True, exist_ok=True)
    mark.write_text(key, encoding="utf-8")
    return checkpoints


def last_checkpoint(checkpoints: Path) -> str | None:
    """The newest checkpoint that was written to its end, or None; those that were not are thrown away.

    The trainer writes a checkpoint file by file, its state last: a process that is killed in between leaves a folder
    that training cannot go on from.
    """
    from transformers.trainer_utils import get_last_checkpoint

    while (newest := get_last_checkpoint(str(checkpoints))) is not None:
        try:
            json.loads((Path(newest) / "trainer_state.json").read_text(encoding="utf-8"))
            return newest
        except (FileNotFoundError, ValueError):
            shutil.rmtree(newest)
    return None


# ---------------------------------------------------------------- the trainer


def _settings(recipe: CausalRecipe, checkpoints: Path, n_rows: int, progress: bool) -> dict[str, Any]:
    """What the three trainers' configurations have in common."""
    processes = int(os.environ.get("WORLD_SIZE", "1"))  # that train together, a batch each
    per_epoch = max(1, math.ceil(n_rows / (recipe.batch_size * recipe.accumulation * processes)))
    steps = recipe.steps or math.ceil(recipe.epochs * per_epoch)
    return {
        "output_dir": str(checkpoints),
        "max_steps": steps,
        "per_device_train_batch_size": recipe.batch_size,
        "per_device_eval_batch_size": recipe.batch_size,
        "gradient_accumulation_steps": recipe.accumulation,
        "gradient_checkpointing": recipe.recompute,
        "learning_rate": recipe.lr,
        "lr_scheduler_type": "linear",
        "warmup_steps": round(recipe.warmup * steps),
        "weight_decay": recipe.weight_decay,
        "adam_beta2": recipe.beta2,
        "max_grad_norm": 1.0,
        "bf16": on_gpu(recipe),
        "seed": recipe.seed,
        "data_seed": recipe.seed,
        "max_length": recipe.max_length,
        "logging_steps": max(1, recipe.eval_every // 10),
        "eval_strategy": "steps",
        "eval_steps": recipe.eval_every,
        "save_steps": recipe.eval_every,
        "save_total_limit": 2,
        "load_best_model_at_end": True,
        "metric_for_best_model": "eval_loss",
        "greater_is_better": False,
        "restore_callback_states_from_checkpoint": True,
        "disable_tqdm": not progress,
        "dataloader_pin_memory": torch.cuda.is_available(),
        "report_to": "none",
        "ddp_find_unused_parameters": False,  # every weight that is trained is used in every step
    }


def _make_trainer(
    recipe: CausalRecipe,
    model: Any,
    tokenizer: Any,
    train: list[dict[str, Any]],
    validation: list[dict[str, Any]],
    checkpoints: Path,
    progress: bool = False,
) -> Any:
    """TRL's trainer for a recipe."""
    import trl
    from datasets import Dataset, disable_progress_bars
    from transformers import EarlyStoppingCallback, PrinterCallback

    if not progress:
        disable_progress_bars()
    common = _settings(recipe, checkpoints, len(train), progress)
    kinds: dict[str, Any] = {
        "dpo": (trl.DPOTrainer, trl.DPOConfig, {"beta": recipe.beta}),
        "reward": (trl.RewardTrainer, trl.RewardConfig, {}),
    }
    supervised = trl.SFTTrainer, trl.SFTConfig, {"packing": recipe.packing, "eval_packing": False}
    kind, config, own = kinds.get(recipe.method, supervised)
    trainer = kind(
        model=model,
        args=config(**common, **own),
        processing_class=tokenizer,
        train_dataset=Dataset.from_list(train),
        eval_dataset=Dataset.from_list(validation),
        peft_config=adapter_config(recipe),
        callbacks=[EarlyStoppingCallback(early_stopping_patience=recipe.patience)],
    )
    trainer.remove_callback(PrinterCallback)  # the history is in the report
    return trainer


def _accuracy_callback(recipe: CausalRecipe, tokenizer: Any, pairs: Sequence[PreferencePair]) -> "TrainerCallback":
    """A callback that judges pairs at each validation and writes the accuracy of those that fit beside its loss."""
    from transformers import TrainerCallback

    from judgekit.training.causal_judge import is_right, probabilities_of

    class Accuracy(TrainerCallback):
        def on_evaluate(self, args: Any, state: Any, control: Any, model: Any = None, **others: Any) -> None:
            was_training = model.training
            p = probabilities_of(model, tokenizer, recipe, pairs)
            model.train(was_training)
            fits = p[:, 0] == p[:, 0]
            state.log_history[-1]["judged"] = float(is_right(p, pairs)[fits].mean()) if fits.any() else None

    return Accuracy()


def _history(log: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The log of a trainer as rows ``step, loss, validation, accuracy``; what was not measured is None."""
    names = {"loss": "loss", "eval_loss": "validation", "judged": "accuracy"}
    rows: dict[int, dict[str, Any]] = {}
    for entry in log:
        row = rows.setdefault(entry["step"], {"step": entry["step"]} | dict.fromkeys(names.values()))
        row |= {name: entry[logged] for logged, name in names.items() if logged in entry}
    return [row for row in rows.values() if row["loss"] is not None or row["validation"] is not None]


def _finish(recipe: CausalRecipe, trainer: Any, tokenizer: Any, folder: Path, report: Mapping[str, Any]) -> None:
    """Write what makes the folder a judge, merge where wanted, and drop the checkpoints last."""
    tokenizer.save_pretrained(folder)
    if (folder / "adapter_config.json").is_file():
        settle_config(folder)
    if recipe.merge:
        trainer.accelerator.unwrap_model(trainer.model).merge_and_unload().save_pretrained(folder / _MERGED)
        tokenizer.save_pretrained(folder / _MERGED)
    (folder / "README.md").write_text(_model_card(report), encoding="utf-8")
    for sealed in (folder, folder / _MERGED) if recipe.merge else (folder,):
        seal(sealed, [path.name for path in sorted(sealed.glob("*.safetensors"))])
    write_json(folder / "training.json", report)
    shutil.rmtree(folder / "checkpoints")
    (folder / "training_args.bin").unlink(missing_ok=True)  # a pickle: nothing here reads it, nobody should


def _model_card(report: Mapping[str, Any]) -> str:
    """The card of a training, from the content of its ``training.json``: Markdown with the hub's header."""
    recipe, data = report["recipe"], report["data"]
    base = Path(recipe["base"]).name if Path(recipe["base"]).is_dir() else recipe["base"]  # no path of this machine
    rows = {
        "method": recipe["method"],
        "base model": f"`{base}`" + (f" at `{recipe['revision']}`" if recipe["revision"] else ""),
        "trained": (f"a LoRA adapter, r = {recipe['r']}" if recipe["r"] else "all weights")
        + f": {report['trained_parameters']:,} of {report['parameters']:,} weights",
        "strategy": f"`{recipe['strategy']}`, {recipe['policy']}",
        "training rows": f"{data['train']:,}; validation {data['validation']:,}; SHA-256 `{data['sha256'][:16]}…`",
        "steps": f"{report['steps']:,}; the weights are those of step {report['best_step']:,}",
        "commit": f"{report['git'] or 'unknown'}{' (changed)' if report['dirty'] else ''}",
    }
    table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    return f"""---
base_model: {base}
library_name: transformers
tags: [llm-as-a-judge]
---

# A causal judge

Trained by `judgekit.training.causal`: `sft` and `dpo` reply to the strategy's prompt with a verdict, `reward` gives a
response a score (the difference of two is the log-odds), `drill` has first lessons only and does not judge pairs.

| | |
|---|---|
{table}

The exact recipe, the loss at every logged step and the versions of the libraries are in `training.json`.
A judge errs, prefers positions and lengths, and can be talked to: measure it on pairs of your own kind.
"""


# ---------------------------------------------------------------- models


def base_location(base: str) -> str:
    """What to load a base model from: a hub name, or the folder that holds the whole model.

    RecipeError if the folder holds an adapter without a merged model beside it.
    """
    folder = Path(base)
    if not (folder / "adapter_config.json").is_file():
        return base
    if not (folder / _MERGED / "config.json").is_file():
        raise RecipeError(f"base {base!r} is an adapter: train it with merge: true, and go on from the merged model")
    return str(folder / _MERGED)


def load_base(recipe: CausalRecipe) -> tuple[Any, Any]:
    """Model and tokenizer that a recipe starts from; with a head for one score if the method is ``reward``.

    The tokenizer has a padding token. RecipeError if the base cannot be loaded, or does not go with the method.
    """
    if recipe.base == TINY:
        if recipe.method not in ("drill", "sft") or recipe.r:
            raise RecipeError("base 'tiny' has random weights: train it with drill or sft and r: 0, then go on from it")
        if recipe.packing:
            raise RecipeError("base 'tiny' cannot be packed: its convolutions would read from one prompt into the next")
        tokenizer: Any = tiny_tokenizer(strategy_of(recipe))
        return tiny_model(tokenizer, recipe.seed), tokenizer
    location, kind = base_location(recipe.base), AutoModelForCausalLM
    # Frozen weights are kept in bfloat16 on a GPU; weights that are trained stay in float32.
    dtype = torch.bfloat16 if recipe.r and on_gpu(recipe) else torch.float32
    options = {"revision": recipe.revision, "dtype": dtype} | quantised(recipe)
    if recipe.method == "reward":
        kind = AutoModelForSequenceClassification  # type: ignore[assignment]  # either is loaded alike
        options |= {"num_labels": 1, "new": ("score.weight",)}
    try:
        tokenizer = AutoTokenizer.from_pretrained(location, revision=recipe.revision)
        torch.manual_seed(recipe.seed)  # the head of a reward model is new
        model = load_network(kind, location, **options)
    except (OSError, ValueError) as missing:
        raise RecipeError(f"base {recipe.base!r} cannot be loaded: {str(missing).splitlines()[0]}") from None
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    model.config.pad_token_id = tokenizer.pad_token_id
    return model, tokenizer


def on_gpu(recipe: CausalRecipe) -> bool:
    """Whether training will compute in bfloat16 on a GPU."""
    return recipe.bf16 and torch.cuda.is_available()


def quantised(recipe: CausalRecipe) -> dict[str, Any]:
    """Options that load the base in 4 bits, where the recipe says so; RecipeError without bitsandbytes or a GPU."""
    if not recipe.quantise:
        return {}
    if importlib.util.find_spec("bitsandbytes") is None:
        raise RecipeError("quantise: '4bit' needs bitsandbytes, which is not installed (pip install bitsandbytes)")
    if not torch.cuda.is_available():
        raise RecipeError("quantise: '4bit' needs a GPU, and there is none")
    from transformers import BitsAndBytesConfig

    config = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
    return {"quantization_config": config}


def adapter_config(recipe: CausalRecipe) -> Any:
    """PEFT's config for a recipe; None where all weights are trained."""
    if not recipe.r:
        return None
    from peft import LoraConfig

    named, reward = recipe.target_modules, recipe.method == "reward"
    return LoraConfig(
        r=recipe.r,
        lora_alpha=recipe.lora_alpha,
        lora_dropout=recipe.lora_dropout,
        target_modules="all-linear" if named == ("all-linear",) else list(named),
        modules_to_save=["score"] if reward else None,
        task_type="SEQ_CLS" if reward else "CAUSAL_LM",
        revision=recipe.revision,
    )


def trained_recipe(folder: str | Path) -> dict[str, Any]:
    """The recipe that a folder was trained with; FileNotFoundError if the folder holds no finished training."""
    path = Path(folder) / "training.json"
    if not path.is_file():
        raise FileNotFoundError(f"{folder} holds no finished training (no training.json)")
    return json.loads(path.read_text(encoding="utf-8"))["recipe"]


def load_trained(folder: str | Path) -> tuple[Any, Any]:
    """Model and tokenizer of a training folder, ready to judge: the model itself, or its base with the adapter."""
    folder, recipe = Path(folder), trained_recipe(folder)
    reward = recipe.get("method") == "reward"
    options: dict[str, Any] = {"num_labels": 1} if reward else {}
    adapter, location = None, folder
    if (folder / "adapter_config.json").is_file():
        adapter = folder
        location = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))["base_model_name_or_path"]
        options["revision"] = recipe.get("revision")
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    kind = AutoModelForSequenceClassification if reward else AutoModelForCausalLM
    model = load_network(kind, location, adapter=adapter, merge=False, **options)
    model.config.pad_token_id = tokenizer.pad_token_id
    return model.eval(), tokenizer
