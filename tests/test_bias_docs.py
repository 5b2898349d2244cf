"""The examples of docs/biases_and_attacks.md run as they stand there, and its table names what there is."""

import json
import re
import shlex

from doc_page import run_examples, text_of

from judgekit.bias.edits import EDITS
from judgekit.cli import main
from judgekit.data.sample import load_sample

TEXT = text_of("biases_and_attacks.md")


def test_the_examples_run_one_after_another(capsys):
    names = run_examples("biases_and_attacks.md")
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
