"""Training on several devices: two processes that share the batch follow the loss curve of one."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import yaml
from judged_file import write_pairs
from safetensors.numpy import load_file

from judgekit.data.paths import project_root
from judgekit.data.sample import load_sample

BATCH, STEPS = 16, 12


def write_data(folder):
    """Training and validation pairs as files of a user."""
    short = [p for p in load_sample("sample_train") if p.label != "tie" and sum(map(len, p.responses)) < 150]
    train, asked = short[:160], {pair.asked for pair in short[:160]}
    held_out = [pair for pair in short[160:] if pair.asked not in asked][:20]
    for name, pairs in (("train", train), ("held_out", held_out)):
        write_pairs(folder / f"{name}.jsonl", pairs)


def trained(base, folder, processes, sharded=False, **more):
    """The losses of a training, step by step, whatever the number of processes: each takes its share of the batch."""
    recipe = {"base": str(base), "steps": STEPS, "eval_every": STEPS // 2, "max_length": 600, "lr": 5e-3} | more
    recipe |= {"batch_size": BATCH // processes, "train": {str(folder / "train.jsonl"): 1.0}}
    target, path = folder / f"by_{processes}", folder / f"by_{processes}.yaml"
    path.write_text(yaml.safe_dump(recipe | {"validation": [str(folder / "held_out.jsonl")], "folder": str(target)}))
    launch = [] if processes == 1 else ["torch.distributed.run", "--nproc_per_node", str(processes), "-m"]
    program = "sharded_on_cpu" if sharded else "judgekit.training.causal_run"
    command = [sys.executable, "-m", *launch, program, str(path)]
    places = os.pathsep.join(map(str, (project_root(), project_root() / "tests")))
    environment = {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1", "PYTHONPATH": places}
    if sharded:  # what `accelerate launch` makes of the file
        given = yaml.safe_load((CONFIGS / "fsdp.yaml").read_text())["fsdp_config"]
        environment |= {name.upper(): str(value).lower() for name, value in given.items() if isinstance(value, bool)}
        environment |= {name.upper(): str(value) for name, value in given.items() if not isinstance(value, bool)}
        environment["ACCELERATE_USE_FSDP"] = "true"
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=500)
    if done.returncode != 0:
        raise RuntimeError(f"{processes} processes: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    history = json.loads((target / "training.json").read_text())["history"]
    return [row["loss"] for row in history if row["loss"] is not None]


CONFIGS = project_root() / "setup" / "accelerate"


@pytest.mark.slow
def test_two_processes_train_as_one_with_the_doubled_batch(tiny, tmp_path):
    write_data(tmp_path)
    alone, together = (trained(tiny, tmp_path, processes) for processes in (1, 2))
    assert len(alone) == len(together) == STEPS and alone[-1] < alone[0] / 2, "it must learn something"
    assert together == pytest.approx(alone, rel=1e-3)
    assert not (tmp_path / "by_2" / "checkpoints").exists()
    assert trained(tiny, tmp_path, 2) == together, "a finished training is not repeated"


@pytest.mark.slow
def test_weights_that_are_spread_over_two_processes_train_as_on_one_and_are_merged(tiny, tmp_path):
    """Before, the first process merged the part that it held, and the training ended with its weights unsealed."""
    write_data(tmp_path)
    more = {"r": 4, "merge": True, "bf16": False}
    alone, spread = (trained(tiny, tmp_path, processes, processes == 2, **more) for processes in (1, 2))
    assert len(alone) == len(spread) == STEPS and spread == pytest.approx(alone, rel=1e-3)
    one, two = (load_file(tmp_path / f"by_{n}" / "merged" / "model.safetensors") for n in (1, 2))
    assert one.keys() == two.keys() == load_file(tiny / "model.safetensors").keys()
    assert all(np.allclose(one[name], two[name], atol=1e-3) for name in one)
    assert not all(np.array_equal(two[name], tensor) for name, tensor in load_file(tiny / "model.safetensors").items())


@pytest.mark.parametrize(("name", "kind"), [("ddp", "MULTI_GPU"), ("fsdp", "FSDP")])
def test_the_configurations_are_what_accelerate_reads(name, kind):
    from accelerate.commands.config.config_args import load_config_from_file

    path = CONFIGS / f"{name}.yaml"
    read = load_config_from_file(str(path))
    assert read.distributed_type == kind and read.num_processes == 2
    assert (read.fsdp_config or {}).get("fsdp_version") == (2 if name == "fsdp" else None)
    assert f"setup/accelerate/{name}.yaml -m judgekit.training.causal_run" in path.read_text()
    assert yaml.safe_load(path.read_text())["mixed_precision"] == "no"
