"""`judgekit rate --judge`: a model behind a real local server rates aspect by aspect."""

import json

import pytest
from chat_server import KEY, ChatServer, good_reply, running

from judgekit.cli import main
from judgekit.inside.aspects import load_aspects

QUICK = ["--set", "backoff=0.005", "--set", "attempts=2", "--set", "timeout=5", "--quiet"]
ANSWERS = [{"question": "One?", "response": "Yes."}, {"question": "Two?", "prediction": "No.", "note": 1}]
ASPECTS = tuple(load_aspects("reasoning"))


def scored(body, text):
    """Four where the answer to rate is yes, else two."""
    score = 4 if "Yes." in body["messages"][-1]["content"] else 2
    return good_reply(body, json.dumps({"score": score, "justification": "So it is."}))


@pytest.fixture
def rate(monkeypatch, tmp_path, capsys):
    """Rate some rows: exit code, rows or None, standard error, and what the server was asked."""
    path, out = tmp_path / "answers.jsonl", tmp_path / "rated.jsonl"

    def run(*arguments, rows=ANSWERS, respond=scored):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        out.unlink(missing_ok=True)
        with running(ChatServer(respond=respond)) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("OPENAI_API_KEY", KEY)
            code = main(["rate", str(path), "--out", str(out), "--judge", "openai/tiny", *QUICK, *arguments])
            asked = sum(server.asked.values())
        said = capsys.readouterr().err
        assert KEY not in said and "Traceback" not in said
        return code, [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else None, said, asked

    run.folder = tmp_path
    return run


def test_a_model_rates_every_aspect(rate):
    code, rows, _, asked = rate()
    assert (code, asked) == (0, len(ANSWERS) * len(ASPECTS))
    assert [[row[aspect] for aspect in ASPECTS] for row in rows] == [[4] * 5, [2] * 5]
    assert [row["total_score"] for row in rows] == [20, 10]
    assert (rows[1]["prediction"], rows[1]["note"]) == ("No.", 1)
    assert sorted(each.name for each in rate.folder.iterdir()) == ["answers.jsonl", "rated.jsonl"]


def test_the_best_share_and_other_aspects(rate):
    code, rows, _, asked = rate("--top-percent", "0.5", "--aspects", "sft")
    assert (code, len(rows), asked) == (0, 1, 2 * len(load_aspects("sft")))
    assert rows[0]["question"] == "One?"


def test_what_cannot_be_read_is_listed_and_nothing_is_guessed(rate):
    code, rows, said, _ = rate(respond=lambda body, text: good_reply(body, "I would say 4."))
    assert code == 3
    assert all(row[aspect] is None for row in rows for aspect in ASPECTS)
    assert "line 1: semantic_consistency: unparsed" in said and "10 of 10 ratings failed" in said


@pytest.mark.parametrize(
    ("arguments", "rows", "words"),
    [
        (["--aspects", "nothing"], ANSWERS, "nothing"),
        (["--probe", "gsm8k-binary"], ANSWERS, "--probe and --judge: name one of the two"),
        ([], [{"question": "q", "response": "r", "logicality": 3}], "line 1: field 'logicality' is there already"),
        ([], [{"question": "q"}], "line 1: field 'response' is missing"),
    ],
)
def test_bad_usage_and_input_ask_nothing(rate, arguments, rows, words):
    code, written, said, asked = rate(*arguments, rows=rows)
    assert (code, written, asked) == (2, None, 0)
    assert words in said
