"""`judgekit collect` against a real local server: exit codes, resuming, interruption, bad input."""

import json
import os
import signal
import subprocess
import time

import pytest
from chat_server import good_reply
from labelling_setting import INTERRUPTIBLE

from judgekit.scoring.teacher import rate_responses

QUICK = ["--set", "backoff=0.005", "--set", "attempts=2", "--set", "timeout=5"]
GOOD = [
    {"id": "a", "question": "First?"},
    {"id": 7, "question": "Second?", "options": ["yes", "no"], "reference": "yes"},
    {"question": "Three?"},
]


def echo(body, text):
    return good_reply(body, f"re: {text}")


@pytest.fixture
def server(serve):
    return serve(respond=echo)


@pytest.fixture
def collected(run_file):
    return lambda *arguments, rows=GOOD, model="openai/tiny", quick=QUICK: run_file(
        "collect", *(() if "--model" in arguments else ("--model", model)), *quick, *arguments, rows=rows
    )


def test_responses_to_a_file_of_questions(server, collected, tmp_path):
    code, rows, said = collected()
    assert code == 0 and "3 responses by openai/tiny" in said
    assert [row["id"] for row in rows] == ["a", 7, 3]
    assert [row["response"] for row in rows] == [f"re: {row['question']}" for row in rows]
    assert rows[0]["question"] == "First?" and rows[1]["question"].startswith("Second?\n\n(A) ")
    assert sorted(rows[1]["options"]) == ["no", "yes"] and rows[1]["reference"] == "yes"
    assert sorted(os.listdir(tmp_path)) == ["pairs.jsonl", "verdicts.jsonl"]
    rated = rate_responses(rows, "sft", "openai/tiny", progress=False)
    assert [(row["id"], row["total_score"]) for row in rated] == [("a", None), (7, None), (3, None)]


def test_options_of_the_command(server, collected):
    code, rows, said = collected("--system", "Think.", "--samples", "2", "--set", "temperature=0.5", "--quiet")
    assert (code, len(rows), said) == (0, 6, "")
    assert {(body["messages"][0]["content"], body["temperature"]) for body in server.bodies} == {("Think.", 0.5)}


def test_failed_questions_give_code_3_and_are_asked_again(server, collected, run_file):
    server.plan = lambda text, attempt: "500" if "Second" in text else None
    code, rows, said = collected()
    assert code == 3 and [row["status"] for row in rows] == ["ok", "error", "ok"] and rows[1]["response"] is None
    assert "1 of 3 responses failed; the responses are kept in" in said
    assert f"id 7 ({run_file.path}, line 2): ChatError: 2 attempts failed" in said and "500" in said
    server.plan = lambda text, attempt: None
    before = sum(server.asked.values())
    code, rows, said = collected()
    assert code == 0 and "going on from 2 responses" in said
    assert [row["response"] for row in rows] == [f"re: {row['question']}" for row in rows]
    assert sum(server.asked.values()) == before + 1


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ([], "holds no questions"),
        ([GOOD[0], {"prompt": "Hi?"}], "line 2: field 'question' is missing"),
        ([GOOD[0], {"question": "x", "options": "a"}], "line 2: field 'options' is text"),
        ([GOOD[0], {"question": " "}], "line 2: field 'question' is empty"),
        ([GOOD[0], {"question": "x", "options": ["a"]}], "line 2: field 'options' holds 1 options"),
        ([GOOD[0], {"question": "x", "options": [*map(str, range(27))]}], "from 2 to 26"),
        ([GOOD[0], {"question": "x", "options": ["a", None]}], "line 2: field 'options[1]' is null"),
        ([GOOD[0], GOOD[0]], "line 2: field 'id' is 'a', which also stands in"),
        (["--samples", "2"], "temperature"),
        (["--samples", "0"], "--samples"),
        (["--model", "encoder/minilm"], "neither openai/<model> nor hf/<model>"),
        (["--model", "hf/no-such-folder"], "no setting is called 'attempts'; there are max_new_tokens"),
    ],
)
def test_bad_input_and_usage_are_told_in_one_line_and_nothing_is_asked(server, collected, tmp_path, given, wanted):
    """``given``: the rows of the file, or arguments of the command."""
    is_usage = given and str(given[0]).startswith("--")
    code, written, said = collected(*given) if is_usage else collected(rows=given)
    assert (code, written) == (2, None) and wanted in said and said.count("\n") == 1
    assert not server.asked and os.listdir(tmp_path) == ["pairs.jsonl"]


def test_a_local_model(collected, tiny):
    code, rows, said = collected(model="hf/no-such-folder", quick=[])
    assert (code, rows) == (2, None) and "no-such-folder" in said and said.count("\n") == 1
    code, rows, said = collected("--set", "max_new_tokens=3", model=f"hf/{tiny}", quick=[])
    assert code == 0 and [row["id"] for row in rows] == ["a", 7, 3] and "parameters" in said
    assert all(row["status"] == "ok" and row["tokens_out"] <= 3 for row in rows)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["SIGINT", "SIGKILL"])
def test_an_interrupted_run_goes_on(server, collected, run_file, how):
    quick = server.respond
    server.respond = lambda body, text: time.sleep(0.03) or quick(body, text)
    many = [{"id": n, "question": f"Question {n}?"} for n in range(120)]
    run_file.path.write_text("".join(json.dumps(row) + "\n" for row in many))
    arguments = ["collect", run_file.path, "--out", run_file.out, "--model", "openai/tiny", "--set", "concurrency=4"]
    client = subprocess.Popen([*INTERRUPTIBLE, *map(str, arguments)], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while sum(server.answered.values()) < 30 and time.monotonic() < deadline:
        time.sleep(0.01)
    client.send_signal(how)
    said = client.communicate(timeout=60)[1]
    before = sum(server.answered.values())
    assert 30 <= before < 120 and "Traceback" not in said and not run_file.out.exists()
    if how == signal.SIGINT:
        assert client.returncode == 130 and "interrupted; nothing was written; " in said
        assert "the same command goes on from there" in said
    server.respond = quick
    code, rows, said = collected(rows=many)
    assert code == 0 and "going on from" in said
    assert [row["response"] for row in rows] == [f"re: Question {n}?" for n in range(120)]
    assert sum(server.answered.values()) <= 120 + 4, "at most what was in flight is asked again"
