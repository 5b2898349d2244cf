"""Own trainings with the package installed outside a checkout end with a judge, not with the want of a repository.

At commit 4098d62 both ran all their steps and then raised ``FileNotFoundError: no checkout of this project here or
above`` from ``git_state()``, the causal one before its weights were saved.
"""

import json
from shutil import copytree, ignore_patterns

import pytest
from judged_file import python_in, write_pairs
from tiny_causal import save_tiny
from tiny_encoder import save_tiny_encoder

from judgekit.data.paths import PACKAGE
from judgekit.data.sample import load_sample

ENCODER = """
from judgekit.data.pairfile import read_pairs
from judgekit.models.encoder import TextEncoder
from judgekit.training.encoder import RelevanceRecipe, train_relevance
from judgekit.training.mixture import make_material

train, held_out = read_pairs("train.jsonl"), read_pairs("held_out.jsonl")
recipe = RelevanceRecipe(base="encoder", r=4, layers=1, steps=2, eval_every=2)
shares = {pair.benchmark: 1.0 for pair in train}
material = make_material(train, shares, {"held out": held_out}, TextEncoder(recipe.base))
parts = material.parts
train_relevance(recipe, material.bank, parts["train"], parts["validation"], "encoder_mine")
"""
RECIPE = """
method: sft
base: causal
strategy: letter
r: 4
steps: 2
batch_size: 2
train: {train.jsonl: 1.0}
validation: [held_out.jsonl]
folder: causal_mine
"""


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A folder with pairs and bases, and a Python that imports a copy of the package from outside any checkout."""
    folder = tmp_path_factory.mktemp("elsewhere")
    copytree(PACKAGE, folder / "site" / "judgekit", ignore=ignore_patterns("__pycache__"))
    pairs = load_sample("sample_train")
    asked = {pair.question for pair in pairs[:100]}
    others = [pair for pair in pairs[100:] if pair.question not in asked][:20]
    write_pairs(folder / "train.jsonl", pairs[:100])
    write_pairs(folder / "held_out.jsonl", others)
    save_tiny(folder / "causal")
    save_tiny_encoder(folder / "encoder")
    return folder


def run(folder, *words):
    return python_in(folder, *words, PYTHONPATH=str(folder / "site")).stdout


def test_a_causal_judge_is_trained_without_a_checkout(elsewhere):
    (elsewhere / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    printed = run(elsewhere, "-m", "judgekit.training.causal_run", "recipe.yaml")
    report = json.loads((elsewhere / "causal_mine" / "training.json").read_text(encoding="utf-8"))
    assert report["git"] is None and report["steps"] == 2
    counted = f"{report['parameters']:,} parameters, {report['trained_parameters']:,} trained"
    assert counted in printed, "the estimate before is of the model that was trained"
    assert (elsewhere / "causal_mine" / "adapter_model.safetensors").is_file()


def test_an_encoder_judge_is_trained_without_a_checkout(elsewhere):
    run(elsewhere, "-c", ENCODER)
    report = json.loads((elsewhere / "encoder_mine" / "training.json").read_text(encoding="utf-8"))
    assert report["code"] == {"git": None, "dirty": None}
    assert (elsewhere / "encoder_mine" / "adapter" / "adapter_model.safetensors").is_file()
