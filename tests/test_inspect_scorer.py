"""A judge as a scorer of Inspect, as docs/scoring.md has it."""

import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copy, copytree, ignore_patterns

import pytest
from doc_page import run_python, text_of

from judgekit.data.paths import PACKAGE
from judgekit.records import Reply

pytest.importorskip("inspect_ai", reason="needs inspect-ai, which is installed where it is used (docs/scoring.md)")

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from judgekit.judges import inspect_scorer

ROOT = Path(__file__).resolve().parents[1]


def saying(text):
    """A model that gives one answer, whose tokens are counted, as no tokenizer can be fetched."""
    answer = ModelOutput.from_content("mockllm/model", text)
    answer.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return get_model("mockllm/model", custom_outputs=[answer], memoize=False)


def run_page(monkeypatch, folder):
    """Run the block of the page on an answer that is there; what the scorer found."""
    section = text_of("scoring.md").partition("## A judge in Inspect")[2]
    (block,) = re.findall(r"```python\n(.*?)```", section, re.S)
    assert '"mockllm/model"' in block
    names = {"MODEL": saying("11 is a prime above 10: nothing but 1 and 11 divides it.")}
    monkeypatch.chdir(folder)
    run_python(block.replace('"mockllm/model"', "MODEL"), "scoring.md", names)
    (done,) = names["done"]
    assert done.status == "success"
    (found,) = done.results.scores
    return found


class Scripted:
    """Says what it is told for either order, and keeps what it was shown."""

    def __init__(self, *said):
        self.said, self.shown = said, []

    def judge(self, requests):
        self.shown += [(request.first, request.second) for request in requests]
        return [Reply(verdict, status="ok" if verdict else "unparsed") for verdict in self.said]


def test_a_judge_that_ships_scores_an_answer(monkeypatch, tmp_path):
    found = run_page(monkeypatch, tmp_path)
    assert found.name == "preferred" and found.metrics["mean"].value in (0, 0.5, 1)


@pytest.mark.parametrize(
    ("said", "value"),
    [(("first", "second"), 1), (("first", "first"), 0.5), (("tie", "second"), 0.75), (("second", "first"), 0)],
)
def test_both_orders_count(monkeypatch, tmp_path, said, value):
    judge = Scripted(*said)
    monkeypatch.setattr(inspect_scorer, "load_judge", lambda name: judge)
    assert run_page(monkeypatch, tmp_path).metrics["mean"].value == value
    (first, second), exchanged = judge.shown
    assert first.startswith("11 is") and second.startswith("13 is") and exchanged == (second, first)


def test_what_cannot_be_read_is_not_scored(monkeypatch, tmp_path):
    monkeypatch.setattr(inspect_scorer, "load_judge", lambda name: Scripted("first", None))
    found = run_page(monkeypatch, tmp_path)
    assert (found.scored_samples, found.unscored_samples) == (0, 1)


def test_inspect_finds_it_by_name_and_scores_a_finished_evaluation(monkeypatch, tmp_path):
    source, site = tmp_path / "source", tmp_path / "site-packages"  # Inspect names what is installed there
    copytree(PACKAGE, source / "judgekit", ignore=ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        copy(ROOT / name, source)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--target", site]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, source], check=True)
    monkeypatch.chdir(tmp_path)
    samples = [Sample("Name a prime above 10.", target="13 is a prime above 10.")]
    (done,) = eval(Task(samples), model=saying("No."), display="none", log_dir="logs")
    command = [sys.executable, "-m", "inspect_ai", "score", done.location, "--scorer", "judgekit/preferred"]
    command += ["-S", "name=baseline/shorter", "--action", "append", "--overwrite", "--display", "none"]
    found = os.pathsep.join([str(site), *filter(None, sys.path)])
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": found})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (scored,) = [one for one in read_eval_log(done.location).results.scores if one.name.endswith("preferred")]
    assert scored.metrics["mean"].value == 1, "the answer is the shorter one in both orders"
