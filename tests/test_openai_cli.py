"""`judgekit judge --judge openai/...` against a real local server: exit codes, resuming, a dry run."""

import os

import pytest

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
    """Judge four pairs with some arguments: exit code, rows or None, standard error."""
    return lambda *arguments, judge="openai/tiny": judge_file(judge, *QUICK, *arguments, rows=ROWS)


def test_failed_items_give_code_3_and_are_tried_again(server, judged):
    server.plan = lambda text, attempt: "500" if "Question 2?" in text else None
    code, rows, said = judged()
    assert code == 3 and [row["status"] for row in rows] == ["ok", "ok", "error", "ok"]
    assert "id '2'" in said and "the server says 500" in said
    server.plan = lambda text, attempt: None
    asked = sum(server.asked.values())
    code, rows, _ = judged()
    assert code == 0 and {row["status"] for row in rows} == {"ok"}
    assert sum(server.asked.values()) == asked + 2, "only the failed pair, in both orders"


@pytest.mark.parametrize("missing", ["OPENAI_BASE_URL", "OPENAI_API_KEY"])
def test_a_missing_variable_is_bad_usage(server, judged, monkeypatch, missing):
    monkeypatch.delenv(missing)
    code, rows, said = judged()
    assert (code, rows) == (2, None) and missing in said and said.count("\n") == 1
    assert not server.asked


@pytest.mark.parametrize(
    ("arguments", "judge", "wanted"),
    [
        (["--set", "colour=red"], "openai/tiny", "colour"),
        (["--set", "timeout"], "openai/tiny", "NAME=VALUE"),
        (["--set", "max_cost=1"], "openai/tiny", "price_in"),
        ([], "openai/tiny#nonesuch", "nonesuch"),
        ([], "openai/", "name of a model"),
        ([], "baseline/longer", "takes no settings"),
    ],
)
def test_bad_usage(server, judged, arguments, judge, wanted):
    code, rows, said = judged(*arguments, judge=judge)
    assert (code, rows) == (2, None) and wanted in said and said.count("\n") == 1
    assert not server.asked


def test_a_refused_key_is_told_and_nothing_is_lost(server, judged, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-key-0123456789")
    code, rows, said = judged("--set", "concurrency=1")
    assert code == 3 and {row["status"] for row in rows} == {"error"}
    assert "401" in said and "sk-another" not in said and sum(server.asked.values()) == 1


def test_a_dry_run_asks_nothing_and_writes_nothing(server, judged, tmp_path):
    code, rows, said = judged("--dry-run", "--set", "price_in=1", "--set", "price_out=2")
    assert (code, rows) == (0, None) and "8 verdicts: 8 calls" in said and "at these prices" in said
    assert not server.asked and os.listdir(tmp_path) == ["pairs.jsonl"]
