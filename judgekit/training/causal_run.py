"""Train a causal judge from a file: ``python -m judgekit.training.causal_run recipe.yaml``.

On several GPUs: ``accelerate launch -m judgekit.training.causal_run recipe.yaml``. The file holds the fields of
`judgekit.training.causal_data.CausalRecipe`, and

- ``train``: files of pairs (JSON lines or CSV, `judgekit.data.pairfile`), each with its share of the mixture;
- ``validation``: files of pairs;
- ``folder``: where the judge goes.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import ConfigDict, Field, PositiveFloat
from pydantic.dataclasses import dataclass as checked_dataclass

from judgekit.data.files import read_plain
from judgekit.data.pairfile import read_pairs
from judgekit.records import PreferencePair
from judgekit.training.causal_data import CausalRecipe, RecipeError, checked


@checked_dataclass(frozen=True, config=ConfigDict(strict=True, extra="forbid"))
class Files:
    """What is trained on, and where the judge goes."""

    train: Annotated[dict[str, PositiveFloat], Field(min_length=1)]  # file to share
    validation: Annotated[list[str], Field(min_length=1)]
    folder: Annotated[str, Field(min_length=1)]


def read_recipe(path: str | Path) -> tuple[CausalRecipe, Files]:
    """Recipe and files of a YAML file; RecipeError names the file and the field."""
    values = read_plain(Path(path), str(path), RecipeError)
    if not isinstance(values, dict):
        raise RecipeError(f"{path}: expected 'name: value' lines")
    files = {field.name: values.pop(field.name) for field in fields(Files) if field.name in values}
    return checked(CausalRecipe, values, str(path)), checked(Files, files, str(path))


def pairs_of(path: str) -> list[PreferencePair]:
    """The pairs of a file, named after it, so that the mixture can tell files apart."""
    return [replace(pair, benchmark=path, item_id=f"{path}:{pair.item_id}") for pair in read_pairs(path)]


def announce(recipe: CausalRecipe) -> None:
    """Print what the training will need, before anything is loaded."""
    from transformers import AutoConfig

    from judgekit.models.files import check_folder
    from judgekit.training.causal import base_location

    try:
        check_folder(base := base_location(recipe.base))
        config = AutoConfig.from_pretrained(base, revision=recipe.revision)
    except OSError as missing:
        raise RecipeError(f"base {recipe.base!r} cannot be loaded: {str(missing).splitlines()[0]}") from None
    needed = estimate(config, recipe, torch.cuda.is_available())
    counts = f"{needed.pop('parameters'):,} parameters, {needed.pop('trained'):,} trained"
    sizes = ", ".join(f"{part} {size / 2**30:.1f}" for part, size in needed.items())
    print(f"{recipe.base}: {counts}; GiB: {sizes}", flush=True)


def estimate(config: Any, recipe: CausalRecipe, gpu: bool = True) -> dict[str, int]:
    """Memory of one device for a training, counted on a model without storage.

    Numbers of ``parameters`` (the adapter's included) and of those ``trained``; bytes of the rest and in ``total``, to
    which allocator and libraries add a tenth. Trained weights, their gradients and Adam's two moments have four bytes
    each; frozen ones two on a GPU, or about half a byte (embeddings two) in 4 bits. Activations are a rule of thumb:
    per token, a block keeps some 14 widths and 4 inner widths, or its input alone when it is computed again, and
    without a GPU the square of the length; logits are held twice in four bytes. A reward model reads two responses, and
    DPO holds a second model where there is no adapter. ValueError for a model with experts, or that is no decoder.
    """
    from peft import get_peft_model
    from transformers import AutoModelForCausalLM

    from judgekit.training.causal import adapter_config

    if getattr(config, "num_experts", None) or getattr(config, "num_local_experts", None):
        raise ValueError(f"{config.model_type}: memory of mixtures of experts is not estimated")
    names = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    if missing := [name for name in names if getattr(config, name, None) is None]:
        raise ValueError(f"{config.model_type}: the configuration has no {missing[0]}")
    vocabulary, width, inner, layers, heads = (getattr(config, name) for name in names)
    with torch.device("meta"):
        model: Any = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
        base = sum(parameter.numel() for parameter in model.parameters())
        if adapter := adapter_config(replace(recipe, method="sft")):  # the head for a score is beside the point
            model = get_peft_model(model, adapter)
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    half, embeddings = 2 if gpu and recipe.bf16 else 4, vocabulary * width
    if adapter:
        frozen = round((base - embeddings) * 0.55) + embeddings * 2 if recipe.quantise else base * half
        parameters, weights = base + trained, frozen + trained * 4
    else:
        parameters, weights = base, base * 4 * (2 if recipe.method == "dpo" else 1)
    tokens = recipe.batch_size * (2 if recipe.method == "reward" else 1) * recipe.max_length
    queries = heads * (getattr(config, "head_dim", None) or width // heads)
    block = (10 * width + 4 * queries + 4 * inner) * half
    if not gpu:
        block += heads * recipe.max_length * 4 * 2
    states = layers * width * half + block if recipe.recompute else layers * block
    logits = 0 if recipe.method == "reward" else vocabulary * 4 * 2
    memory = {"weights": weights, "gradients": trained * 4, "optimiser": trained * 8}
    memory["activations"] = tokens * (states + logits)
    return {"parameters": parameters, "trained": trained, **memory, "total": sum(memory.values())}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns 0, or 2 where the recipe or its data is wrong."""
    parser = argparse.ArgumentParser(prog="python -m judgekit.training.causal_run", description=__doc__.split("\n")[0])
    parser.add_argument("recipe", help="YAML file")
    parser.add_argument("--estimate", action="store_true", help="print the memory it needs, and end")
    chosen = parser.parse_args(arguments)
    first = os.environ.get("RANK", "0") == "0"  # this process speaks for all that train together
    try:
        recipe, files = read_recipe(chosen.recipe)
        if first:
            announce(recipe)
        if chosen.estimate:
            return 0
        from judgekit.training.causal import train_judge

        train = [pair for path in files.train for pair in pairs_of(path)]
        validation = [pair for path in files.validation for pair in pairs_of(path)]
        report = train_judge(recipe, train, validation, files.folder, shares=files.train, progress=first)
    except ValueError as wrong:  # a recipe, a file of pairs, or the two together
        print(f"error: {wrong}", file=sys.stderr)
        return 2
    if first:
        for source, drawn in report["mixture"].items():
            print(f"{source}: {drawn['pairs']} rows of {drawn['distinct']} pairs")
        for part, count in report["too_long"].items():
            if count:
                print(f"{part}: {count} left out, their prompts do not fit max_length ({recipe.max_length} tokens)")
        print(f"{files.folder}: step {report['best_step']} of {report['steps']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
