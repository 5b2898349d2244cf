"""openai/ judges against a real server that fails on purpose, and a client that is killed on the way."""

import random

import pytest
from chat_server import FAULTS, KEY
from test_cli import read_lines
from torture import IN_FLIGHT, SERVER, cases, served, tortured

SIDES = {(True, False): "A", (False, True): "B"}


@pytest.mark.slow
def test_every_item_is_judged_once_whatever_fails_and_whoever_is_killed(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_LOG", "debug")
    (case,) = (case for case in cases(n_slow=400) if case.kind == "judge_server")
    with served():
        report = tortured(case, tmp_path / "torture", random.Random(0), 3)
    assert report == {"kills": 3, "lost": 0, "doubled": 0}

    # The verdict on each item is on itself and on no other.
    for folder in (tmp_path / "torture").glob("try*/"):
        rows = {row["id"]: row["verdict"] for row in read_lines(folder / "out.jsonl")}
        texts = {pair["id"]: [pair["response_a"], pair["response_b"]] for pair in read_lines(folder / "in.jsonl")}
        for name, responses in texts.items():
            if "[" not in "".join(responses):  # which the server might take for the end of a response
                assert rows[name] == SIDES.get(tuple("right" in text for text in responses), "tie")
        assert rows.keys() == texts.keys() and min(list(rows.values()).count(label) for label in "AB") > 100

    struck = [SERVER.plan(text, 0) for text in SERVER.asked]
    assert min(struck.count(fault) for fault in FAULTS) > 40
    assert SERVER.most_at_once <= IN_FLIGHT

    # The key is in no file, although the server put it into its messages.
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert (tmp_path / "torture" / "try0.log").stat().st_size > 10_000
    assert len(files) > 12 and [file.name for file in files if KEY.encode() in file.read_bytes()] == []
