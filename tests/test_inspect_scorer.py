"""A judge as a scorer of Inspect, as docs/scoring.md has it."""

import re

import pytest
from doc_page import run_python, text_of

from judgekit import judges
from judgekit.records import Reply

pytest.importorskip("inspect_ai", reason="needs inspect-ai, which is installed where it is used (docs/scoring.md)")

from inspect_ai.model import ModelOutput, ModelUsage, get_model


def run_page(monkeypatch, folder):
    """Run the block of the page on an answer that is there, as no tokenizer can be fetched; what the scorer found."""
    section = text_of("scoring.md").partition("## A judge in Inspect")[2]
    (block,) = re.findall(r"```python\n(.*?)```", section, re.S)
    assert '"mockllm/model"' in block
    answer = ModelOutput.from_content("mockllm/model", "11 is a prime above 10: nothing but 1 and 11 divides it.")
    answer.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    names = {"MODEL": get_model("mockllm/model", custom_outputs=[answer], memoize=False)}
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
    monkeypatch.setattr(judges, "load_judge", lambda name: judge)
    assert run_page(monkeypatch, tmp_path).metrics["mean"].value == value
    (first, second), exchanged = judge.shown
    assert first.startswith("11 is") and second.startswith("13 is") and exchanged == (second, first)


def test_what_cannot_be_read_is_not_scored(monkeypatch, tmp_path):
    monkeypatch.setattr(judges, "load_judge", lambda name: Scripted("first", None))
    found = run_page(monkeypatch, tmp_path)
    assert (found.scored_samples, found.unscored_samples) == (0, 1)
