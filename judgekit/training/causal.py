"""Train a causal judge with TRL and PEFT: supervised verdicts, preferred verdicts, or a reward model.

A training that was killed goes on from its last checkpoint, with the same losses; a finished one is not repeated.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from accelerate.utils.memory import clear_device_cache
from huggingface_hub import ModelCard, ModelCardData
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer, BitsAndBytesConfig

from judgekit.data.files import write_json
from judgekit.data.provenance import git_state, versions
from judgekit.models.encoder import native_bf16
from judgekit.models.files import break_seal, load_network, seal, settle_adapter
from judgekit.models.registry import folder_of, language_models
from judgekit.records import PreferencePair, fingerprint_of
from judgekit.training.causal_data import CausalRecipe, RecipeError, Rows, in_steps, mixed, mixture_of, token_rows
from judgekit.training.mixture import base_key, check_disjoint

_MERGED = "merged"
# Without Triton TRL would make the logits of every position, hundreds of times as many as verdicts have.
_AT_REPLIES = patch("trl.trainer.utils._use_triton", return_value=True, create=True)
_LOGGED = {"loss": "loss", "validation": "eval_loss"}  # name to transformers' own


def train_judge(
    recipe: CausalRecipe,
    train: list[PreferencePair],
    validation: list[PreferencePair],
    folder: str | Path,
    shares: Mapping[str, float] | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Train on preference pairs by ``sft``, ``dpo`` or ``reward``, until the loss on ``validation`` stops falling.

    ``shares``: of what is drawn, for each source of ``train``. Returns the content of ``training.json``: ``too_long``
    counts pairs that were left out because their prompt does not fit, ``seconds`` are those since the last start.
    RecipeError or ValueError if the base cannot be loaded, recipe and data do not go together, or there are no rows.
    """
    check_disjoint(train, validation)
    labels = ("A", "B") if recipe.policy == "strict" else ("A", "B", "tie")
    chosen = mixed(train, recipe, shares)
    folder = Path(folder)
    if os.path.exists(recipe.base) and Path(recipe.base).resolve().is_relative_to(folder.resolve()):
        raise RecipeError(f"base {recipe.base!r} lies in the folder that is written: choose another one")
    model, tokenizer = load_base(recipe)
    rows, too_long = token_rows(chosen, recipe, tokenizer)
    held_out, held_out_too_long = token_rows([pair for pair in validation if pair.label in labels], recipe, tokenizer)
    if not rows or not held_out:
        raise RecipeError(
            f"{len(rows)} training and {len(held_out)} validation rows: there must be some of both, "
            f"none longer than max_length ({recipe.max_length} tokens)"
        )
    read = "".join(json.dumps(row, sort_keys=True) for row in [*rows, *held_out])  # what exactly is trained on
    data = {"train": len(rows), "validation": len(held_out), "sha256": hashlib.sha256(read.encode()).hexdigest()}
    before = Path(recipe.base) / "training.json"  # trainings differ, too, where their bases were trained otherwise
    trained = json.loads(before.read_text(encoding="utf-8")) if before.is_file() else {}  # by others, it may say no key
    base = trained.get("key") or base_key(recipe.base)
    key = fingerprint_of(recipe.as_dict() | {"base": base}, data)  # wherever a folder lies
    finished = folder / "training.json"
    if finished.is_file() and (done := json.loads(finished.read_text(encoding="utf-8"))).get("key") == key:
        return done
    checkpoints = folder / "checkpoints" / key[:16]  # those of another recipe or other data are none of its own
    trainer = _make_trainer(recipe, model, tokenizer, rows, held_out, checkpoints, progress)
    started, newest = time.perf_counter(), last_checkpoint(checkpoints)
    # Of a training that is over the trainer would take another step before it sees that.
    with _AT_REPLIES, patch.object(trainer, "_run_epoch") if newest and _is_over(newest) else nullcontext():
        trainer.train(resume_from_checkpoint=newest)
    if trainer.is_world_process_zero():
        _clear(folder)
    trainer.save_model(str(folder))  # first: nothing that describes a training may cost its weights
    report = {
        "recipe": recipe.as_dict() | {"base": _as_seen_from(folder, recipe.base)},
        "key": key,
        "data": data,
        "mixture": mixture_of(chosen),
        "too_long": {"train": too_long, "validation": held_out_too_long},
        "history": _history(trainer.state.log_history),
        "best_step": trainer.state.best_global_step or trainer.state.global_step,
        "steps": trainer.state.global_step,
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "trained_parameters": sum(p.numel() for p in trainer.model.parameters() if p.requires_grad),
        "seconds": round(time.perf_counter() - started, 1),
        "versions": versions(),
        **git_state(),
    }
    if trainer.is_world_process_zero():
        _finish(recipe, trainer, tokenizer, folder, report)
    del model, trainer
    clear_device_cache(garbage_collection=True)  # they refer to each other, and would fill a GPU that is wanted next
    return report


def last_checkpoint(checkpoints: Path) -> str | None:
    """The newest checkpoint that was written to its end, its state last, or None; broken ones are thrown away."""
    from transformers.trainer_utils import get_last_checkpoint

    checkpoints.mkdir(parents=True, exist_ok=True)
    while (newest := get_last_checkpoint(str(checkpoints))) is not None:
        try:
            state = json.loads((file := Path(newest) / "trainer_state.json").read_text(encoding="utf-8"))
            if best := state.get("best_model_checkpoint"):  # where it lies now: the folder may have been moved
                write_json(file, state | {"best_model_checkpoint": str(checkpoints / Path(best).name)})
            return newest
        except (FileNotFoundError, ValueError):
            shutil.rmtree(newest)
    return None


def _is_over(checkpoint: str) -> bool:
    """Whether a training stopped at a checkpoint, at its last step or before, and its best state is in its place."""
    state = json.loads((Path(checkpoint) / "trainer_state.json").read_text(encoding="utf-8"))
    stopped = state["stateful_callbacks"]["TrainerControl"]["args"]["should_training_stop"]
    return stopped and (not (best := state["best_model_checkpoint"]) or Path(best).is_dir())


def _settings(recipe: CausalRecipe, checkpoints: Path, progress: bool) -> dict[str, Any]:
    """What the three trainers' configurations have in common."""
    bf16, gpu = recipe.bf16 and (torch.cuda.is_available() or native_bf16()), torch.cuda.is_available()
    return {
        "output_dir": str(checkpoints),
        "max_steps": recipe.steps or -1,
        "num_train_epochs": recipe.epochs,
        "per_device_train_batch_size": recipe.batch_size,
        "per_device_eval_batch_size": recipe.batch_size,
        "gradient_accumulation_steps": recipe.accumulation,
        "gradient_checkpointing": recipe.recompute,
        "learning_rate": recipe.lr,
        "warmup_steps": round(recipe.warmup * recipe.steps) if recipe.steps else recipe.warmup,  # below 1, a share
        "weight_decay": recipe.weight_decay,
        "adam_beta2": recipe.beta2,
        "bf16": bf16,
        "use_cpu": bf16 and not gpu,  # else bfloat16 is refused without a GPU
        # The rows are shuffled (`in_steps`); packing sorts them again, from long to short.
        "train_sampling_strategy": "random" if recipe.packing else "sequential",
        "seed": recipe.seed,
        "data_seed": recipe.seed,
        "max_length": recipe.max_length,
        "logging_steps": max(1, recipe.eval_every // 10),
        "eval_strategy": "steps",
        "eval_steps": recipe.eval_every,
        "save_steps": recipe.eval_every,
        "save_total_limit": 2,
        "load_best_model_at_end": True,  # by the loss
        "restore_callback_states_from_checkpoint": True,
        "disable_tqdm": not progress,
        "dataloader_pin_memory": gpu,
        "ddp_find_unused_parameters": False,  # every weight that is trained is used in every step
    }


def _make_trainer(
    recipe: CausalRecipe, model: Any, tokenizer: Any, train: Rows, validation: Rows, checkpoints: Path, progress: bool
) -> Any:
    """TRL's trainer for a recipe."""
    import trl
    from datasets import Dataset, disable_progress_bars
    from transformers import EarlyStoppingCallback, PrinterCallback

    if not progress:
        disable_progress_bars()

    class Preferences(trl.DPOTrainer):
        def _prepare_dataset(self, dataset: Any, *others: Any) -> Any:
            return dataset  # rows of tokens: of texts it would make other ones than judging does

    # Where all weights are trained the trainer loads the reference itself.
    revision = {"revision": recipe.revision} if recipe.revision else None
    kinds: dict[str, Any] = {
        "sft": (trl.SFTTrainer, trl.SFTConfig, {"packing": recipe.packing, "eval_packing": False}),
        "dpo": (Preferences, trl.DPOConfig, {"beta": recipe.beta, "model_init_kwargs": revision}),
        "reward": (trl.RewardTrainer, trl.RewardConfig, {"disable_dropout": not recipe.lora_dropout}),
    }
    kind, config, own = kinds[recipe.method]
    trainer = kind(
        model=model,
        args=config(**_settings(recipe, checkpoints, progress), **own),
        processing_class=tokenizer,
        train_dataset=Dataset.from_list(in_steps(train, recipe)),
        eval_dataset=Dataset.from_list(validation),
        peft_config=adapter_config(recipe),
        callbacks=[EarlyStoppingCallback(early_stopping_patience=recipe.patience)],
    )
    trainer.remove_callback(PrinterCallback)  # the history is in the report
    for weights in trainer.model.parameters():
        if weights.requires_grad:  # bfloat16 would round small steps away: the head of a base that is kept in it has it
            weights.data = weights.data.float()
    if recipe.method == "dpo":
        frozen = min(recipe.layers, default=0) if recipe.r and not recipe.recompute else 0
        _run_once(trainer.model.get_decoder(), frozen)
        if trainer.ref_model is not None:
            _run_once(trainer.ref_model.get_decoder())
    return trainer


def _history(log: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The log of a trainer as rows ``step, loss, validation``; what was not measured is None."""
    rows: dict[int, dict[str, Any]] = {}
    for entry in log:
        if logged := {name: entry[key] for name, key in _LOGGED.items() if key in entry}:
            rows.setdefault(entry["step"], {"step": entry["step"], **dict.fromkeys(_LOGGED)}).update(logged)
    return list(rows.values())


def _clear(folder: Path) -> None:
    """Remove what an earlier training left and would be read beside the new weights, its seal and its record first."""
    break_seal(folder)
    for path in (*folder.glob("training.json"), *folder.glob("*config.json"), *folder.glob("*.safetensors*")):
        path.unlink()
    shutil.rmtree(folder / _MERGED, ignore_errors=True)


def _finish(recipe: CausalRecipe, trainer: Any, tokenizer: Any, folder: Path, report: Mapping[str, Any]) -> None:
    """Write what makes the folder a judge, merge where wanted, and drop the checkpoints last."""
    if recipe.merge:
        _merged(recipe, folder).save_pretrained(folder / _MERGED)
        tokenizer.save_pretrained(folder / _MERGED)
    if (folder / "adapter_config.json").is_file():  # it names its base as the hub does, or by the way from here
        location = base_location(recipe.base)
        settle_adapter(folder, recipe.base if recipe.base in language_models() else _as_seen_from(folder, location))
        _join_adapters(folder, Path(recipe.base))
    (folder / "README.md").write_text(_model_card(report), encoding="utf-8")
    for sealed in (folder, folder / _MERGED) if recipe.merge else (folder,):
        seal(sealed, [path.name for path in sorted(sealed.glob("*.safetensors"))])
    write_json(folder / "training.json", report)
    shutil.rmtree(folder / "checkpoints")
    (folder / "training_args.bin").unlink(missing_ok=True)  # a pickle: nothing here reads it, nobody should


def _as_seen_from(folder: Path, base: str) -> str:
    """A base that is a folder by the way from another one, and any other by its name."""
    return os.path.relpath(base, folder) if Path(base).is_dir() else base


def _join_adapters(folder: Path, before: Path) -> None:
    """Make of an adapter and the one before it, on whose merged model it was trained, one adapter on the first base.

    So it needs neither the folder before it nor a merged model. Nothing is done where they are on other weights.
    """
    if not (before / "adapter_config.json").is_file():
        return
    first, own = (json.loads((place / "adapter_config.json").read_text("utf-8")) for place in (before, folder))
    tensors, joined = (load_file(place / "adapter_model.safetensors") for place in (before, folder))
    if set(tensors) != {name for name in joined if ".lora_" in name} or first["modules_to_save"]:
        return
    scale = own["lora_alpha"] / own["r"]
    for name, tensor in tensors.items():
        of_b = ".lora_B." in name  # the scale is on one side
        scaled = tensor * (first["lora_alpha"] / first["r"] / scale) if of_b else tensor
        joined[name] = torch.cat([scaled, joined[name]], dim=int(of_b))
    own["r"] += first["r"]
    own["revision"] = first.get("revision")
    own["lora_alpha"] = scale * own["r"]
    base = first["base_model_name_or_path"]
    own["base_model_name_or_path"] = _as_seen_from(folder, str(before / base)) if (before / base).is_dir() else base
    save_file(joined, folder / "adapter_model.safetensors", {"format": "pt"})
    write_json(folder / "adapter_config.json", own)


def _merged(recipe: CausalRecipe, folder: Path) -> Any:
    """The base with the adapter of a folder merged into it; products are summed in float64, so that machines agree.

    Both are read from files: of a model that is spread over several processes this one holds a part.
    """
    from peft import PeftModel

    model = PeftModel.from_pretrained(load_base(replace(recipe, quantise=""))[0], str(folder))
    for name, weights in model.named_parameters():
        if "lora_" in name:
            weights.data = weights.data.double()
    return model.merge_and_unload()


def _model_card(report: Mapping[str, Any]) -> str:
    """The card of a training, from the content of its ``training.json``: Markdown with the hub's header."""
    named = report["recipe"]["base"]
    base = Path(named).name if named.startswith(".") else named  # a folder's own name
    header = ModelCardData(base_model=base, library_name="transformers", tags=["llm-as-a-judge"])
    sources = ", ".join(f"{Path(name).name} {drawn['pairs']:,}" for name, drawn in report["mixture"].items())
    return str(ModelCard.from_template(header, str(Path(__file__).with_name("card.txt")), sources=sources, **report))


def base_location(base: str) -> str:
    """Hub name or folder of a base model; RecipeError for a folder of an adapter without a merged model beside it."""
    folder = Path(base)
    if not (folder / "adapter_config.json").is_file():
        return str(folder_of(base) or base)
    if not (folder / _MERGED / "config.json").is_file():
        raise RecipeError(f"base {base!r} is an adapter: train it with merge: true, and go on from the merged model")
    return str(folder / _MERGED)


def load_base(recipe: CausalRecipe) -> tuple[Any, Any]:
    """Model, with a head for one score if the method is ``reward``, and tokenizer; RecipeError if not to be had."""
    location, kind = base_location(recipe.base), AutoModelForCausalLM
    # Frozen weights are kept in bfloat16 on a GPU; weights that are trained stay in float32.
    dtype = torch.bfloat16 if recipe.r and recipe.bf16 and torch.cuda.is_available() else torch.float32
    options: dict[str, Any] = {"revision": recipe.revision, "dtype": dtype}
    if attention := recipe.attn_implementation or ("" if torch.cuda.is_available() else "eager"):
        options["attn_implementation"] = attention
    if recipe.quantise:
        if not torch.cuda.is_available():
            raise RecipeError("quantise: '4bit' needs a GPU, and there is none")
        four = {"bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True}
        four["bnb_4bit_compute_dtype"] = "bfloat16" if recipe.bf16 else "float16"
        # Of several processes each has a GPU of its own.
        options |= {"quantization_config": BitsAndBytesConfig(load_in_4bit=True, **four), "device_map": "cuda"}
    if recipe.method == "reward":
        kind = AutoModelForSequenceClassification  # type: ignore[assignment]  # either is loaded alike
        options |= {"num_labels": 1, "new": ("score.weight",)}
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(location, revision=recipe.revision)
        torch.manual_seed(recipe.seed)  # the head of a reward model is new
        model = load_network(kind, location, **options)
    except (ImportError, OSError, ValueError) as missing:  # bitsandbytes may be what is missing
        raise RecipeError(f"base {recipe.base!r} cannot be loaded: {str(missing).splitlines()[0]}") from None
    if recipe.layers and max(recipe.layers) >= (blocks := model.config.get_text_config().num_hidden_layers):
        raise RecipeError(f"layers names block {max(recipe.layers)}, and {recipe.base} has {blocks} from 0")
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    model.config.pad_token_id = tokenizer.pad_token_id
    return model, tokenizer


def adapter_config(recipe: CausalRecipe) -> Any:
    """PEFT's config for a recipe; None where all weights are trained."""
    if not recipe.r:
        return None
    from peft import LoraConfig

    named, reward = recipe.target_modules, recipe.method == "reward"
    same = {name: getattr(recipe, name) for name in ("r", "lora_alpha", "lora_dropout", "revision")}
    return LoraConfig(
        target_modules="all-linear" if named == ("all-linear",) else list(named),
        modules_to_save=["score"] if reward else None,
        layers_to_transform=list(recipe.layers) or None,
        task_type="SEQ_CLS" if reward else "CAUSAL_LM",
        **same,
    )


def _run_once(decoder: Any, frozen: int = 0) -> None:
    """Let a decoder run once what the rows of a DPO batch share; all that it returns stays what it was.

    The batch holds the chosen rows and then the rejected ones, alike but for their last token, which nothing follows:
    the states before it, which are all that is scored, are the same. ``frozen``: so many blocks from below are not
    trained, and what they make of a batch serves the pass of the reference too, which follows the policy's.
    """
    kept: dict[str, Any] = {"ids": None, "again": False}

    def halve(_: Any, args: Any, given: dict[str, Any]) -> Any:
        half = len(given["input_ids"]) // 2
        given = {name: value[:half] if torch.is_tensor(value) else value for name, value in given.items()}
        ids = given["input_ids"]
        kept["again"] = frozen > 0 and kept["ids"] is not None and torch.equal(kept["ids"], ids)
        kept["ids"] = None if kept["again"] else ids
        return args, given

    def double(_: Any, args: Any, output: Any) -> Any:
        output.last_hidden_state = torch.cat([output.last_hidden_state] * 2)
        return output

    def reuse(block: Any) -> None:
        run = block.forward

        def forward(states: torch.Tensor, *args: Any, **given: Any) -> Any:
            if not kept["again"]:
                kept["states"] = run(states, *args, **given)
            return kept["states"]

        block.forward = forward

    for block in decoder.layers[:frozen] if frozen else ():
        reuse(block)
    decoder.register_forward_pre_hook(halve, with_kwargs=True)
    decoder.register_forward_hook(double)
