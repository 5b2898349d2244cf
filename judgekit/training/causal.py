"""Train a causal judge with TRL and PEFT: supervised verdicts, preferred verdicts, or a reward model.

The libraries train; here rows are handed to them, and what comes out is written so that it can be used and traced.
A training that was killed goes on from its last checkpoint, with the same losses as if nothing had happened; one that
is finished is not repeated.
"""

import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgekit.data.files import replaced
from judgekit.data.provenance import git_state, versions
from judgekit.models.files import break_seal, seal
from judgekit.records import PreferencePair
from judgekit.training import causal_data
from judgekit.training.causal_base import MERGED, adapter_config, load_base, on_gpu
from judgekit.training.causal_card import model_card
from judgekit.training.causal_recipe import CausalRecipe, RecipeError
from judgekit.training.files import settle_config

if TYPE_CHECKING:
    from transformers import TrainerCallback

ROWS = {"sft": causal_data.sft_rows, "dpo": causal_data.dpo_rows, "reward": causal_data.reward_rows}


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

    ``shares``: of the mixture, for each source of ``train``. ``explanations``: of pairs by ``item_id``, where the
    recipe wants them. ``shared_questions``: whether both parts may ask the same question, as tasks do whose responses
    make the difference ("name a fruit"); otherwise that is an error. ``measure``: also judge the validation pairs,
    before the first step and with every validation, so that the history holds the accuracy. Training stops early by
    the loss on ``validation``. RecipeError or ValueError if recipe and data do not go together.
    """
    if recipe.method not in ROWS:
        raise RecipeError(f"method {recipe.method!r} is not trained on pairs")
    asked = {pair.asked for pair in train}
    if leaks := [] if shared_questions else [pair for pair in validation if pair.asked in asked]:
        raise ValueError(f"{leaks[0].where}: this validation prompt is also a training prompt")
    chosen = causal_data.mixed(train, recipe, shares)
    make = ROWS[recipe.method]
    labels = ("A", "B") if recipe.policy == "strict" else ("A", "B", "tie")
    held_out = [pair for pair in validation if pair.label in labels]

    def rows(tokenizer: Any) -> tuple[list[dict[str, Any]], ...]:
        return tuple(make(pairs, recipe, tokenizer, explanations) for pairs in (chosen, held_out))

    return train_rows(recipe, rows, folder, progress, measured_on=held_out if measure else ())


def train_rows(
    recipe: CausalRecipe,
    rows: Callable[[Any], Sequence[list[dict[str, Any]]]],
    folder: str | Path,
    progress: bool = False,
    measured_on: Sequence[PreferencePair] = (),
) -> dict[str, Any]:
    """Train on rows of token ids; the content of ``training.json``.

    ``rows``: from the tokenizer to the rows of training and of validation. The content: ``recipe``, ``data`` (hash and
    number of rows), ``history`` (``step, loss, validation, accuracy``), ``best_step``,
    ``parameters``, ``trained_parameters``, ``seconds`` (of the last start on), ``versions``, ``git``.

    The pairs ``measured_on`` are judged before the first step and with every validation. RecipeError if the base cannot
    be loaded, or the rows are too few for one step.
    """
    from accelerate import PartialState

    folder = Path(folder)
    model, tokenizer = load_base(recipe)
    train, validation = rows(tokenizer)
    if not train or not validation:
        raise RecipeError(f"{len(train)} training and {len(validation)} validation rows: there must be some of both")
    data = {"train": len(train), "validation": len(validation), "sha256": causal_data.rows_hash([*train, *validation])}
    key = run_key(recipe, data)
    done = finished(folder, key)
    if done:
        return done
    with PartialState().main_process_first():  # of several processes that train together, one clears and makes it
        checkpoints = own_checkpoints(folder, key)
    trainer = make_trainer(recipe, model, tokenizer, train, validation, checkpoints, progress)
    if measured_on:
        trainer.args.eval_on_start = True
        trainer.add_callback(accuracy_callback(recipe, tokenizer, measured_on))
    started = time.perf_counter()
    trainer.train(resume_from_checkpoint=last_checkpoint(checkpoints))
    break_seal(folder)
    trainer.save_model(str(folder))  # first: nothing that describes a training may cost its weights
    report = {
        "recipe": recipe.as_dict(),
        "key": key,
        "data": data,
        "history": history_of(trainer.state.log_history),
        "best_step": trainer.state.best_global_step or trainer.state.global_step,
        "steps": trainer.state.global_step,
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "trained_parameters": sum(p.numel() for p in trainer.model.parameters() if p.requires_grad),
        "seconds": round(time.perf_counter() - started, 1),
        "versions": versions(),
        **git_state(),
    }
    if trainer.is_world_process_zero():
        finish(recipe, trainer, tokenizer, folder, report)
    return report


def run_key(recipe: CausalRecipe, data: Mapping[str, Any]) -> str:
    """What tells trainings apart: recipe, rows, and how the base was trained where that was done here."""
    before = Path(recipe.base) / "training.json"
    base = json.loads(before.read_text(encoding="utf-8"))["key"] if before.is_file() else recipe.base
    return hashlib.sha256(json.dumps([recipe.as_dict(), base, data], sort_keys=True).encode()).hexdigest()


def finished(folder: Path, key: str) -> dict[str, Any] | None:
    """The report of a training that was finished before, if it is this one."""
    path = folder / "training.json"
    if not path.is_file():
        return None
    report = json.loads(path.read_text(encoding="utf-8"))
    return report if report["key"] == key else None


def own_checkpoints(folder: Path, key: str) -> Path:
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

    while (found := get_last_checkpoint(str(checkpoints))) is not None:
        try:
            json.loads((Path(found) / "trainer_state.json").read_text(encoding="utf-8"))
            return found
        except (FileNotFoundError, ValueError):
            shutil.rmtree(found)
    return None


# ---------------------------------------------------------------- the trainer


def settings(recipe: CausalRecipe, checkpoints: Path, n_rows: int, progress: bool = False) -> dict[str, Any]:
    """What the three trainers' configurations have in common."""
    import torch

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


def make_trainer(
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

    common = settings(recipe, checkpoints, len(train), progress)
    if recipe.method == "dpo":
        kind, config = trl.DPOTrainer, trl.DPOConfig(beta=recipe.beta, **common)
    elif recipe.method == "reward":
        kind, config = trl.RewardTrainer, trl.RewardConfig(**common)  # type: ignore[assignment]  # used alike
    else:
        kind, config = trl.SFTTrainer, trl.SFTConfig(packing=recipe.packing, eval_packing=False, **common)  # type: ignore[assignment]  # used alike
    trainer = kind(
        model=model,
        args=config,
        processing_class=tokenizer,
        train_dataset=Dataset.from_list(train),
        eval_dataset=Dataset.from_list(validation),
        peft_config=adapter_config(recipe),
        callbacks=[EarlyStoppingCallback(early_stopping_patience=recipe.patience)],
    )
    trainer.remove_callback(PrinterCallback)  # the history is in the report
    return trainer


def accuracy_callback(recipe: CausalRecipe, tokenizer: Any, pairs: Sequence[PreferencePair]) -> "TrainerCallback":
    """A callback that judges pairs at each validation and writes the accuracy beside its loss."""
    from transformers import TrainerCallback

    from judgekit.training.causal_judging import is_right, probabilities_of

    class Accuracy(TrainerCallback):
        def on_evaluate(self, args: Any, state: Any, control: Any, model: Any = None, **others: Any) -> None:
            was_training = model.training
            found = probabilities_of(model, tokenizer, recipe, pairs)
            model.train(was_training)
            state.log_history[-1]["judged"] = float(is_right(found, pairs).mean())

    return Accuracy()


def history_of(log: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The log of a trainer as rows ``step, loss, validation, accuracy``; what was not measured is None."""
    names, rows = {"loss": "loss", "eval_loss": "validation", "judged": "accuracy"}, {}  # type: ignore[var-annotated]  # by step
    for entry in log:
        row = rows.setdefault(entry["step"], {"step": entry["step"]} | dict.fromkeys(names.values()))
        row |= {name: entry[logged] for logged, name in names.items() if logged in entry}
    return [row for row in rows.values() if row["loss"] is not None or row["validation"] is not None]


def finish(recipe: CausalRecipe, trainer: Any, tokenizer: Any, folder: Path, report: Mapping[str, Any]) -> None:
    """Write what makes the folder a judge, merge where wanted, and drop the checkpoints last."""
    tokenizer.save_pretrained(folder)
    if (folder / "adapter_config.json").is_file():
        settle_config(folder)
    if recipe.merge:
        merge(trainer.accelerator.unwrap_model(trainer.model), tokenizer, folder / MERGED)
    (folder / "README.md").write_text(model_card(report), encoding="utf-8")
    for sealed in (folder, folder / MERGED) if recipe.merge else (folder,):
        seal(sealed, [path.name for path in sorted(sealed.glob("*.safetensors"))])
    with replaced(folder / "training.json") as temporary:
        temporary.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    shutil.rmtree(folder / "checkpoints")
    (folder / "training_args.bin").unlink(missing_ok=True)  # a pickle: nothing here reads it, nobody should


def merge(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write the base model with the adapter merged into its weights."""
    model.merge_and_unload().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
