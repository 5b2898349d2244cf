"""The example of docs/inside_judges.md runs as it stands there."""

import json
import re
import runpy
import shlex

import pytest
from chat_server import KEY, ChatServer, good_reply, running

from judgekit.cli import main
from judgekit.data.paths import project_root
from judgekit.inside.aspects import load_aspects

DOCS = project_root() / "docs" / "inside_judges.md"


def respond(body, text):
    """Both models at once: a teacher has a system message, and who is asked a question has none."""
    if body["messages"][0]["role"] == "user":
        return good_reply(body, f"The answer to {text}")
    score = 1 + int(re.findall(r"Question (\d+)", text)[-1]) % 3
    return good_reply(body, json.dumps({"score": score, "justification": "So it is."}))


@pytest.fixture
def section(monkeypatch, tmp_path):
    """Code blocks of the section by language, in a folder of one's own with a server at hand."""
    text = DOCS.read_text(encoding="utf-8").partition("## Rating by a teacher")[2].partition("\n## ")[0]
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", text, re.S))
    monkeypatch.chdir(tmp_path)
    with running(ChatServer(respond=respond)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        blocks["server"] = server
        yield blocks


def test_the_example_runs(section, tmp_path):
    rows = [{"id": n, "question": f"Question {n}?"} for n in range(40)]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = next(line for line in section["bash"].splitlines() if line.startswith("judgekit "))
    assert main(shlex.split(command)[1:]) == 0
    (tmp_path / "example.py").write_text(section["python"])
    names = runpy.run_path(str(tmp_path / "example.py"))
    assert len(names["rated"]) == 40 and {row["teacher"] for row in names["rated"]} == {"openai/TEACHER"}
    assert [row["response"] for row in names["rated"]] == [f"The answer to Question {n}?" for n in range(40)]
    train, test = names["train"], names["test"]
    counts = train["logicality"].value_counts()
    assert set(counts.index) == {1, 2, 3} and counts.nunique() == 1
    assert 5 <= len(test) <= 15 and not set(train["id"]) & set(test["id"])
    asked = sum(section["server"].asked.values())
    assert asked == 40 * 6
    runpy.run_path(str(tmp_path / "example.py"))
    assert sum(section["server"].asked.values()) == asked, "the second run asks nothing"


def test_the_file_of_aspects_is_one(section, tmp_path):
    (tmp_path / "own.yaml").write_text(section["yaml"])
    aspect = load_aspects(tmp_path / "own.yaml")["politeness"]
    assert aspect.scores == (0, 1, 2) and aspect.example.score == 0
