"""The chain on a cluster: a real Slurm of one node, and the same results as on one machine."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml
from slurm_node import command, slurm_node, why_not
from test_workflow import write_notebook

from judgekit.data.paths import project_root

ROOT = project_root()
pytestmark = [
    pytest.mark.slurm,
    pytest.mark.slow,
    pytest.mark.skipif(why_not() is not None, reason=f"Slurm is not tested: {why_not()}"),
]

COUNT = """
import os
from judgekit.report import Number, save_results
numbers = {"chain.%s": Number(%s)}
print("GPU:", os.environ.get("CUDA_VISIBLE_DEVICES", "none"), "job:", os.environ.get("SLURM_JOB_ID", "none"))
save_results(run, "%s", numbers)
"""
NOTEBOOKS = {
    "10_first": (COUNT % ("first", "n", "10_first"), []),
    "20_on_gpu": (COUNT % ("on_gpu", "2 * n", "20_on_gpu"), ["10_first"]),
    "30_last": (
        "import json\nfrom judgekit.data.paths import run_folder\n"
        'before = json.loads((run_folder(run, "results") / "20_on_gpu.json").read_text())["numbers"]\n'
        'n = before["chain.on_gpu"]["value"]' + COUNT % ("last", "n + 1", "30_last"),
        ["20_on_gpu"],
    ),
}


def make_project(folder):
    """A checkout with a chain of three small notebooks, the second of which asks for a GPU."""
    ignored = shutil.ignore_patterns("__pycache__", "pretrained")
    shutil.copytree(ROOT / "judgekit", folder / "judgekit", ignore=ignored)
    shutil.copytree(ROOT / "profiles", folder / "profiles")
    shutil.copy(ROOT / "Snakefile", folder)
    for part in ("notebooks", "params/sample"):
        (folder / part).mkdir(parents=True)
    for name, (code, _) in NOTEBOOKS.items():
        write_notebook(folder / "notebooks", name, 'run = "sample"  # folder\nn = 20  # pairs', code)
        (folder / "params" / "sample" / f"{name}.yaml").write_text("run: sample\n")
    listed = {name: {"after": after} for name, (_, after) in NOTEBOOKS.items()}
    (folder / "notebooks" / "notebooks.yaml").write_text(yaml.safe_dump(listed))
    # A job's memory is that of a small machine: the node is whatever runs the test.
    resources = {name: {"mem_mb": 1000, "runtime": 10} for name in NOTEBOOKS}
    resources["20_on_gpu"]["gpu"] = 1
    (folder / "params" / "sample" / "resources.yaml").write_text(yaml.safe_dump(resources))
    return folder


def made(folder, environment, *arguments):
    """The chain of a project is made; its numbers by notebook, and what every notebook printed."""
    done = subprocess.run(
        [sys.executable, "-m", "judgekit.report.workflow", "make", "sample", *arguments],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    numbers, printed = {}, {}
    for name in NOTEBOOKS:
        outputs = folder / "outputs" / "sample"
        numbers[name] = json.loads((outputs / "results" / f"{name}.json").read_text())["numbers"]
        cells = json.loads((outputs / "executed" / f"{name}.ipynb").read_text())["cells"]
        texts = [output.get("text", "") for cell in cells for output in cell.get("outputs", [])]
        printed[name] = "".join("".join(text) for text in texts)
    return numbers, printed


@pytest.fixture
def folder():
    """A folder that the daemons' users may enter, as pytest's own is not."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_cluster_makes_the_same_results_and_gives_gpus_to_those_who_ask(folder):
    alone, printed = made(make_project(folder / "alone"), dict(os.environ), "--cores", "2")
    assert {text.split()[1] for text in printed.values()} == {"none"} and alone["30_last"]["chain.last"]["value"] == 41
    with slurm_node(folder / "cluster") as environment:
        together, printed = made(make_project(folder / "together"), environment, "--profile", "slurm")
        left = command(["squeue", "-h"], environment)
    assert together == alone
    assert {name: text.split()[1] for name, text in printed.items()} == {
        "10_first": "none",
        "20_on_gpu": "0",
        "30_last": "none",
    }
    assert len({text.split()[3] for text in printed.values()} - {"none"}) == 3, "each notebook is a job of its own"
    assert left == ""
