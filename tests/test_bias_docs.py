"""The examples of docs/biases_and_attacks.md run as they stand there, and its table names what there is."""

import json
import re
import shlex

from judgekit.cli import main
from judgekit.paths import project_root
from judgekit.sample import load_sample
from judgekit.tampering import EDITS

TEXT = (project_root() / "docs" / "biases_and_attacks.md").read_text(encoding="utf-8")


def test_the_examples_run_one_after_another(capsys):
    names = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.S):
        exec(compile(block, "biases_and_attacks.md", "exec"), names)
    said = capsys.readouterr().out.splitlines()
    assert names["report"].mean_success.value > names["screened"].mean_success.value
    assert "'search'" in said[1] and "'delta'" in said[-1] and len(said) == 4


def test_the_command_runs_as_it_stands_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pairs = [pair for pair in load_sample("sample_natural") if pair.label in ("A", "B")][:4]
    wanted = ("question", "response_a", "response_b", "label")
    lines = [json.dumps({name: getattr(pair, name) for name in wanted}) + "\n" for pair in pairs]
    (tmp_path / "pairs.jsonl").write_text("".join(lines))
    (command,) = re.findall(r"```bash\njudgekit (.*?)\n```", TEXT)
    assert main(shlex.split(command)) == 0
    assert len((tmp_path / "report.jsonl").read_text().splitlines()) == len(EDITS) + 3


def test_every_attack_is_in_the_table():
    rows = TEXT.partition("| attack |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", rows)) - {"SearchBudget"} == set(EDITS)


def test_every_notebook_and_module_is_there():
    for name in re.findall(r"`(\d\d_\w+)`", TEXT):
        assert (project_root() / "notebooks" / f"{name}.ipynb").is_file(), name
    for name in re.findall(r"`(judgekit(?:\.\w+)+)`", TEXT):
        path = project_root() / name.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), name
