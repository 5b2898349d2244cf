"""Base models of a causal judge: from the hub, a folder, or made small; with an adapter where one is wanted."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

from judgekit.models.loading import load_network
from judgekit.training.causal_data import strategy_of
from judgekit.training.causal_recipe import CausalRecipe, RecipeError
from judgekit.training.causal_tiny import tiny_model, tiny_tokenizer

TINY = "tiny"
MERGED = "merged"


def base_location(base: str) -> str:
    """What to load a base model from: a hub name, or the folder that holds the whole model.

    RecipeError if the folder holds an adapter without a merged model beside it.
    """
    folder = Path(base)
    if not folder.is_dir():
        return base
    if not (folder / "adapter_config.json").is_file():
        return str(folder)
    if not (folder / MERGED / "config.json").is_file():
        raise RecipeError(f"base {base!r} is an adapter: train it with merge: true, and go on from the merged model")
    return str(folder / MERGED)


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
    options = {"revision": recipe.revision, "dtype": weight_dtype(recipe)} | quantised(recipe)
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


def weight_dtype(recipe: CausalRecipe) -> torch.dtype:
    """Frozen weights are kept in bfloat16 on a GPU; weights that are trained stay in float32."""
    return torch.bfloat16 if recipe.r and on_gpu(recipe) else torch.float32


def quantised(recipe: CausalRecipe) -> dict[str, Any]:
    """Options that load the base in 4 bits, where the recipe says so.

    RecipeError if bitsandbytes or the GPU it needs is missing.
    """
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

    named = recipe.target_modules
    reward = recipe.method == "reward"
    return LoraConfig(
        r=recipe.r,
        lora_alpha=recipe.lora_alpha,
        lora_dropout=recipe.lora_dropout,
        target_modules="all-linear" if named == ("all-linear",) else list(named),
        modules_to_save=["score"] if reward else None,
        task_type="SEQ_CLS" if reward else "CAUSAL_LM",
        revision=recipe.revision,
    )


def is_reward_model(folder: str | Path) -> bool:
    """Whether a training folder holds a reward model."""
    return trained_recipe(folder).get("method") == "reward"


def trained_recipe(folder: str | Path) -> dict[str, Any]:
    """The recipe that a folder was trained with; FileNotFoundError if the folder holds no finished training."""
    path = Path(folder) / "training.json"
    if not path.is_file():
        raise FileNotFoundError(f"{folder} holds no finished training (no training.json)")
    return json.loads(path.read_text(encoding="utf-8"))["recipe"]


def load_trained(folder: str | Path) -> tuple[Any, Any]:
    """Model and tokenizer of a training folder, ready to judge: the model itself, or its base with the adapter."""
    folder = Path(folder)
    kind = AutoModelForSequenceClassification if is_reward_model(folder) else AutoModelForCausalLM
    options: dict[str, Any] = {"num_labels": 1} if kind is AutoModelForSequenceClassification else {}
    adapter, location = None, folder
    if (folder / "adapter_config.json").is_file():
        adapter = folder
        location = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))["base_model_name_or_path"]
        options["revision"] = trained_recipe(folder).get("revision")
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model = load_network(kind, location, adapter=adapter, merge=False, **options)
    model.config.pad_token_id = tokenizer.pad_token_id
    return model.eval(), tokenizer
