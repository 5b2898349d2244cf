"""Train a causal judge from a file: ``python -m judgekit.training.causal_run recipe.yaml``.

On several GPUs: ``accelerate launch -m judgekit.training.causal_run recipe.yaml``. The file holds the fields of
`judgekit.training.causal_recipe.CausalRecipe`, and

- ``train``: files of pairs (JSON lines or CSV, `judgekit.data.pairfile`), each with its share of the mixture;
- ``validation``: files of pairs;
- ``folder``: where the judge goes.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from judgekit.data.pairfile import PairFileError, read_pairs
from judgekit.data.plain_yaml import load_plain
from judgekit.records import PreferencePair
from judgekit.training.causal_recipe import CausalRecipe, RecipeError, recipe_of

PLACES = {"train": dict, "validation": list, "folder": str}


def read_recipe(path: str | Path) -> tuple[CausalRecipe, dict[str, Any]]:
    """Recipe of a file, and its ``train`` (file to share), ``validation`` (files) and ``folder``.

    RecipeError names the file and the field.
    """
    try:
        values = load_plain(Path(path).read_text(encoding="utf-8"))
    except OSError as missing:
        raise RecipeError(f"{path}: {missing.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as broken:
        raise RecipeError(f"{path} is not YAML: {broken}") from None
    if not isinstance(values, dict):
        raise RecipeError(f"{path}: expected 'name: value' lines")
    places = {}
    for name, kind in PLACES.items():
        places[name] = values.pop(name, None)
        if not isinstance(places[name], kind) or not places[name]:
            raise RecipeError(f"{path}: {name} is {places[name]!r}, which is no {kind.__name__} with anything in it")
    for name, share in places["train"].items():
        if isinstance(share, bool) or not isinstance(share, (int, float)) or share <= 0:
            raise RecipeError(f"{path}: train: the share of {name} is {share!r}, which is no positive number")
    return recipe_of(values, str(path)), places


def pairs_of(path: str | Path) -> list[PreferencePair]:
    """The pairs of a file, named after it, so that the mixture can tell files apart."""
    return [replace(pair, benchmark=str(path), item_id=f"{path}:{pair.item_id}") for pair in read_pairs(path)]


def is_first() -> bool:
    """Whether this process speaks for all that train together."""
    return os.environ.get("RANK", "0") == "0"


def announce(recipe: CausalRecipe) -> None:
    """Print what the training will need, before anything is loaded."""
    from transformers import AutoConfig

    from judgekit.training.causal_base import TINY, base_location, on_gpu
    from judgekit.training.memory import estimate

    if recipe.base == TINY:
        return
    try:
        config = AutoConfig.from_pretrained(base_location(recipe.base), revision=recipe.revision)
    except OSError as missing:
        raise RecipeError(f"base {recipe.base!r} cannot be loaded: {str(missing).splitlines()[0]}") from None
    print(f"{recipe.base}: {estimate(config, recipe, on_gpu(recipe))}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns 0, or 2 where the recipe or its data is wrong."""
    parser = argparse.ArgumentParser(prog="python -m judgekit.training.causal_run", description=__doc__.split("\n")[0])
    parser.add_argument("recipe", help="YAML file")
    parser.add_argument("--estimate", action="store_true", help="print the memory it needs, and end")
    chosen = parser.parse_args(arguments)
    try:
        recipe, places = read_recipe(chosen.recipe)
        if is_first():
            announce(recipe)
        if chosen.estimate:
            return 0
        from judgekit.training.causal import train_judge

        train = [pair for path in places["train"] for pair in pairs_of(path)]
        validation = [pair for path in places["validation"] for pair in pairs_of(path)]
        report = train_judge(recipe, train, validation, places["folder"], shares=places["train"], progress=is_first())
    except (RecipeError, PairFileError, ValueError) as wrong:
        print(f"error: {wrong}", file=sys.stderr)
        return 2
    if is_first():
        print(f"{places['folder']}: step {report['best_step']} of {report['steps']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
