"""One file put through the command line, against a local server or a model, or a folder of code through Python."""

import json
import os
import subprocess
import sys

import pytest
from chat_server import KEY, ChatServer, running

PAIR = {"question": "Q?", "response_a": "right", "response_b": "wrong"}


def rows_of_pairs(pairs):
    """Labelled pairs as rows of a user's file."""
    fields = ("question", "response_a", "response_b", "label")
    return [{field: getattr(pair, field) for field in fields} for pair in pairs]


def write_pairs(path, pairs):
    """Write labelled pairs to such a file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows_of_pairs(pairs)))


def python_in(folder, *words, timeout=None, **environment):
    """Python in a folder, which holds the package, comes to a good end; the process."""
    environment = os.environ | {"PYTHONPATH": str(folder)} | environment
    given = {"cwd": folder, "env": environment, "timeout": timeout, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, *words], **given)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done


@pytest.fixture
def serve(monkeypatch):
    """Starts a server that the environment points at, for the length of a test."""
    contexts = []

    def start(*args, **more):
        context = running(ChatServer(*args, **more))
        contexts.append(context)
        server = context.__enter__()
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        return server

    yield start
    for context in contexts:
        context.__exit__(None, None, None)


@pytest.fixture
def run_file(tmp_path, capsys):
    """Run a command on rows with some arguments: exit code, rows that it wrote or None, standard error."""
    from judgekit.cli import main

    path, out = tmp_path / "pairs.jsonl", tmp_path / "verdicts.jsonl"

    def run(command, *arguments, rows):
        path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
        out.unlink(missing_ok=True)
        named = () if "--out" in arguments else ("--out", str(out))
        code = main([command, str(path), *named, *map(str, arguments)])
        said = capsys.readouterr().err
        assert KEY not in said and "Traceback" not in said
        return code, [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else None, said

    run.path, run.out = path, out
    return run


@pytest.fixture
def judge_file(run_file):
    """Judge pairs with some arguments: exit code, rows or None, standard error."""
    return lambda judge, *arguments, rows=(PAIR,): run_file("judge", "--judge", judge, *arguments, rows=rows)
