"""The examples of docs/labelling.md run as they stand there, and its keys are the page's."""

import json
import re
import shlex
from dataclasses import fields

import pytest
from doc_page import run_examples, text_of
from labelling_setting import command, write_pairs

from judgekit.people.labelling.app import PAGE
from judgekit.people.labelling.server import Client
from judgekit.people.labelling.votefile import Vote, read_lines

TEXT = text_of("labelling.md")


def test_the_examples_run_one_after_another(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = run_examples("labelling.md")
    assert names["votes"].given.all() and len(names["consensus"]) == 30
    assert not names["page"].thread.is_alive() and "IFrame" in capsys.readouterr().out


def test_the_command_runs_as_it_stands_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path / "pairs.jsonl")
    (line,) = re.findall(r"```bash\njudgekit label (.*?)\n```", TEXT)
    pairs, option, votes, *more = shlex.split(line)
    assert option == "--votes"
    with command(pairs, votes, *more) as (_, links), Client(links["bob"]) as client:
        client.act("vote", choice="first")
    assert [vote.annotator for vote in read_lines(tmp_path / votes)] == ["bob"]


def test_the_line_shown_is_a_vote(tmp_path):
    (line,) = re.findall(r"```json\n(.*?)\n```", TEXT)
    (tmp_path / "v.jsonl").write_text(line + "\n")
    assert read_lines(tmp_path / "v.jsonl") == [Vote(**json.loads(line))]
    assert list(json.loads(line)) == [field.name for field in fields(Vote)], "every field is shown"


@pytest.mark.parametrize("source", ["page.html", "page.js"])
def test_the_keys_are_the_pages(source):
    keys = set(re.findall(r"`(\w)`", TEXT.partition("| key |")[2].partition("\n\n")[0]))
    text = (PAGE / source).read_text(encoding="utf-8")
    if source == "page.html":
        found = {key for group in re.findall(r'aria-keyshortcuts="([^"]+)"', text) for key in group.split()}
    else:
        table = text.partition("const KEYS = {")[2].partition("}")[0]
        found = {key.upper() for key in re.findall(r"(\w): ", table)}
    assert found == keys
