"""A judge as the reward of TRL's online training, as docs/training_judges.md has it."""

import re

import pytest
from doc_page import run_python, text_of
from tiny_causal import save_tiny

pytest.importorskip("trl")


def test_a_judge_rewards_the_completions_of_a_prompt(tmp_path, monkeypatch):
    (block,) = re.findall(r"```python\n(.*?)```", text_of("training_judges.md"), re.S)
    monkeypatch.chdir(tmp_path)
    for long, short in {
        '"FOLDER"': repr(str(save_tiny(tmp_path / "model"))),
        "=256": "=8, max_steps=1, use_cpu=True",
    }.items():
        assert long in block
        block = block.replace(long, short)
    names = {}
    run_python(block, "training_judges.md", names)
    asked = ["Name a prime above 10."] * 3
    rewards = names["preferred"](asked, ["13 is prime.", "The sky is blue.", "11"])
    assert sum(rewards) == pytest.approx(1.5) and rewards[0] > rewards[1]
