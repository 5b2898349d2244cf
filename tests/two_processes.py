"""The same training in one process, and in two that share the batch: on processors, as accelerate does it on GPUs."""

import json
import os
import subprocess
import sys

import yaml
from tiny_causal import save_tiny

from judgekit.data.paths import project_root
from judgekit.data.sample import load_sample

BATCH, STEPS = 16, 8


def write_data(folder):
    """Training and validation pairs as files of a user."""
    save_tiny(folder / "base")
    short = [p for p in load_sample("sample_train") if p.label != "tie" and sum(map(len, p.responses)) < 150]
    train, asked = short[:160], {pair.asked for pair in short[:160]}
    held_out = [pair for pair in short[160:] if pair.asked not in asked][:20]
    for name, pairs in (("train", train), ("held_out", held_out)):
        names = ("question", "response_a", "response_b", "label")
        lines = [json.dumps({field: getattr(pair, field) for field in names}) + "\n" for pair in pairs]
        (folder / f"{name}.jsonl").write_text("".join(lines))


def trained(folder, processes):
    """The losses of a training, step by step, whatever the number of processes: each takes its share of the batch."""
    recipe = {"base": str(folder / "base"), "steps": STEPS, "eval_every": STEPS // 2, "max_length": 600, "lr": 5e-3}
    recipe["batch_size"] = BATCH // processes
    recipe |= {"train": {str(folder / "train.jsonl"): 1.0}}
    recipe["validation"] = [str(folder / "held_out.jsonl")]
    target = folder / f"by_{processes}"
    path = folder / f"by_{processes}.yaml"
    path.write_text(yaml.safe_dump(recipe | {"folder": str(target)}))
    launch = [] if processes == 1 else ["torch.distributed.run", "--nproc_per_node", str(processes), "-m"]
    command = [sys.executable, "-m", *launch, "judgekit.training.causal_run", str(path)]
    environment = {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(project_root())}
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=500)
    if done.returncode != 0:
        raise RuntimeError(f"{processes} processes: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    history = json.loads((target / "training.json").read_text())["history"]
    return [row["loss"] for row in history if row["loss"] is not None]
