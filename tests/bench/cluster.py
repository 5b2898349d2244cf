"""Beyond one process: a chain of notebooks on a one-node Slurm, and a training shared by two processes.

Writes ``scale.slurm.*`` (notebooks that ran as jobs; how many of their numbers differ from a run on this machine
alone; seconds of either) and ``scale.ddp.*`` (steps; the largest relative difference of a step's loss between two
processes and one with the doubled batch) to the run's results. Slurm needs root and Debian's packages slurm-wlm and
munge; without them it is left out, aloud.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from slurm_node import slurm_node, why_not
from test_slurm import NOTEBOOKS, made, make_project
from two_processes import trained, write_data

from judgekit.report import save_results
from judgekit.stats import Number


def timed(work):
    """What a call returns, and its wall-clock seconds."""
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def slurm_numbers(folder):
    """``scale.slurm.*``"""
    (alone, _), here = timed(lambda: made(make_project(folder / "alone"), dict(os.environ), "--cores", "2"))
    with slurm_node(folder / "cluster") as environment:
        project = make_project(folder / "together")
        (together, printed), there = timed(lambda: made(project, environment, "--profile", "slurm"))
    jobs = {text.split()[3] for text in printed.values()} - {"none"}
    differing = sum(alone[name] != together[name] for name in NOTEBOOKS)
    return {
        "scale.slurm.jobs": Number(len(jobs)),
        "scale.slurm.differing": Number(differing, n=len(NOTEBOOKS)),
        "scale.slurm.on_gpu": Number(sum(text.split()[1] != "none" for text in printed.values()), n=len(NOTEBOOKS)),
        "scale.slurm.seconds": Number(there, n=len(NOTEBOOKS), spec=".0f"),
        "scale.slurm.seconds_alone": Number(here, n=len(NOTEBOOKS), spec=".0f"),
    }


def ddp_numbers(folder):
    """``scale.ddp.*``"""
    write_data(folder)
    alone, together = trained(folder, 1), trained(folder, 2)
    gap = max(abs(one - two) / one for one, two in zip(alone, together, strict=True))
    return {"scale.ddp.largest_difference": Number(gap, n=len(alone), spec=".1e")}


def main():
    """Measure and save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--run", default="laptop")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # Slurm's daemons have users of their own
        numbers = ddp_numbers(folder)
        if reason := why_not():
            print(f"Slurm is not measured: {reason}")
        else:
            numbers |= slurm_numbers(folder)
    for key, number in numbers.items():
        print(f"{key}: {number}")
    save_results(chosen.run, "scale", numbers, variant="cluster")


if __name__ == "__main__":
    main()
