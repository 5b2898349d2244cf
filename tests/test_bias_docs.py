"""The examples of docs/biases_and_attacks.md run as they stand there, and its table names what there is."""

import re

from judgekit.paths import project_root
from judgekit.tampering import EDITS

TEXT = (project_root() / "docs" / "biases_and_attacks.md").read_text(encoding="utf-8")


def test_the_examples_run_one_after_another(capsys):
    names = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.S):
        exec(compile(block, "biases_and_attacks.md", "exec"), names)
    said = capsys.readouterr().out.splitlines()
    assert names["report"].mean_success.value > names["screened"].mean_success.value
    assert "'search'" in said[1] and "'delta'" in said[-1] and len(said) == 4


def test_every_attack_is_in_the_table():
    rows = TEXT.partition("| attack |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", rows)) - {"SearchBudget"} == set(EDITS)


def test_every_notebook_and_module_is_there():
    for name in re.findall(r"`(\d\d_\w+)`", TEXT):
        assert (project_root() / "notebooks" / f"{name}.ipynb").is_file(), name
    for name in re.findall(r"`(judgekit(?:\.\w+)+)`", TEXT):
        path = project_root() / name.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), name
