"""`judgekit judge --judge openai/...` against a real local server: exit codes, resuming, a dry run."""

import os

import pytest
from chat_server import KEY

QUICK = ["--set", "backoff=0.005", "--set", "attempts=2", "--set", "timeout=5"]
ROWS = [
    {"id": str(n), "question": f"Question {n}?", "response_a": f"right {n}", "response_b": f"wrong {n}", "label": "A"}
    for n in range(4)
]


@pytest.fixture
def server(serve):
    return serve()


@pytest.fixture
def judged(judge_file):
    return lambda *arguments: judge_file("openai/tiny", *QUICK, *arguments, rows=ROWS)


@pytest.mark.parametrize("fault", ["500", "cut", "broken_json", "empty_choices", "wrong_schema", "429"])
def test_failed_items_give_code_3_and_are_tried_again(server, judged, fault):
    server.plan = lambda text, attempt: fault if "Question 2?" in text else None
    code, rows, said = judged()
    assert code == 3 and [row["status"] for row in rows] == ["ok", "ok", "error", "ok"]
    assert "id '2'" in said and "ChatError: 2 attempts failed" in said and rows[2]["verdict"] is None
    assert fault not in ("500", "429") or f"the server says {fault}" in said
    server.plan = lambda text, attempt: None
    asked = sum(server.asked.values())
    code, rows, _ = judged()
    assert code == 0 and {row["status"] for row in rows} == {"ok"}
    assert sum(server.asked.values()) == asked + 2, "only the failed pair, in both orders"


ADDRESSES = ["", "localhost:8000", "ftp://x/v1", "http://", "http://me:secret@host/v1", "http://h/v1?k=secret"]
KEYS = ["", "sk-a secret", "sk-secret\nb", "sk-secret…"]


@pytest.mark.parametrize(
    ("variable", "value"), [("OPENAI_BASE_URL", url) for url in ADDRESSES] + [("OPENAI_API_KEY", key) for key in KEYS]
)
def test_a_missing_or_wrong_variable_is_bad_usage_and_is_not_shown(server, judged, monkeypatch, variable, value):
    monkeypatch.delenv(variable)
    if value:
        monkeypatch.setenv(variable, value)
    code, rows, said = judged()
    assert (code, rows) == (2, None) and variable in said and said.count("\n") == 1
    assert not server.asked and "secret" not in said


@pytest.mark.parametrize(
    ("status", "reason"), [(401, "no"), (403, "no"), (404, "no model"), (302, "there"), (429, "insufficient_quota")]
)
def test_where_nothing_can_succeed_the_rest_is_not_asked(server, judged, status, reason):
    """A refused key is one such case; that the message shows no key is checked wherever a file is judged."""
    server.respond = lambda body, text: (status, {"error": {"code": reason, "message": f"{KEY} {reason}"}})
    code, rows, said = judged("--set", "concurrency=2")
    assert code == 3 and {row["status"] for row in rows} == {"error"}
    assert str(status) in said and sum(server.asked.values()) <= 4


def test_a_dry_run_asks_nothing_and_writes_nothing(server, judged, tmp_path):
    code, rows, said = judged("--dry-run", "--set", "price_in=1", "--set", "price_out=2")
    assert (code, rows) == (0, None) and "8 verdicts: 8 calls" in said and "at these prices" in said
    assert not server.asked and os.listdir(tmp_path) == ["pairs.jsonl"]
