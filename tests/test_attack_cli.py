"""judgekit attack: a report of one's own pairs, whole or not at all, and one sentence for whatever is wrong."""

import json

import pytest

from judgekit.bias.edits import EDITS
from judgekit.cli import main

ROWS = [
    {
        "id": f"p{k}",
        "question": f"Name a colour that begins with {'b' if k % 2 else 'g'}, please.",
        "response_a": "Blue is a colour that begins with the letter that was asked for." if k % 2 else "No.",
        "response_b": "No." if k % 2 else "Green is a colour that begins with the letter that was asked for.",
        "label": "A" if k % 2 else "B",
    }
    for k in range(6)
]


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def run(pairs, tmp_path, *more):
    out = tmp_path / "report.jsonl"
    code = main(["attack", str(pairs), "--out", str(out), *more])
    return code, [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else None


def test_every_attack_the_mean_and_the_clean_accuracy_are_reported(pairs, tmp_path, capsys):
    code, rows = run(pairs, tmp_path, "--judge", "baseline/longer", "--queries", "2")
    assert code == 0
    assert [row["attack"] for row in rows] == [*EDITS, "search", "mean", None]
    found = {row["attack"]: row for row in rows}
    assert found["very_long"]["success"] == 1 and found["empty"]["success"] == 0
    assert found["very_long"]["success_n"] == 6 and found["very_long"]["success_one_order_n"] == 12
    assert found[None]["clean_accuracy"] == 1 and 0 < found["mean"]["success"] < 1
    assert found["mean"]["success_low"] <= found["mean"]["success"] <= found["mean"]["success_high"]
    said = capsys.readouterr().err
    assert "clean accuracy 100.0 %" in said
    assert said.index("very_long ") < said.index("empty ")  # the worst first
    assert not list(tmp_path.glob("*.sqlite*"))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--attack", "shout"), "no edit 'shout'; there are null_response"),
        (("--queries", "1"), "two queries a pair at least"),
        (("--judge", "encoder/nobody"), "no judge is called 'encoder/nobody'"),
        (("--judge", "replay/pandalm-7b"), "cannot judge other pairs"),
        (("--judge", "baseline/majority_class"), "always gives one label"),
    ],
)
def test_bad_usage_is_one_sentence_and_writes_nothing(pairs, tmp_path, capsys, more, message):
    code, rows = run(pairs, tmp_path, *more)
    said = capsys.readouterr().err.strip().splitlines()
    assert code == 2 and rows is None and message in said[-1]


def test_pairs_without_labels_are_refused_by_file_and_line(tmp_path, capsys):
    path = tmp_path / "bare.jsonl"
    path.write_text(json.dumps({key: value for key, value in ROWS[0].items() if key != "label"}) + "\n")
    code, rows = run(path, tmp_path, "--judge", "baseline/longer")
    said = capsys.readouterr().err
    assert (
        code == 2
        and rows is None
        and "bare.jsonl" in said
        and "line 1" in said
        and "what is worse is not known" in said
    )


class Stubborn:
    """A judge that fails, or is interrupted, on decorated responses for as long as it is told to."""

    name, fingerprint, decoding, batch_size, sees_item = "made/stubborn", "stubborn", "{}", 2, False

    def __init__(self, failure):
        from judgekit.judges import load_judge

        self.failure, self.inner, self.asked = failure, load_judge("baseline/longer"), 0

    def judge(self, requests):
        self.asked += len(requests)
        if self.failure and any("##" in text for request in requests for text in (request.first, request.second)):
            raise self.failure
        return self.inner.judge(requests)


@pytest.mark.parametrize(("failure", "expected"), [(RuntimeError("broken"), 3), (KeyboardInterrupt(), 130)])
def test_a_failed_or_interrupted_run_is_continued(pairs, tmp_path, capsys, monkeypatch, own_store, failure, expected):
    judge = Stubborn(failure)
    monkeypatch.setattr("judgekit.cli.running.load_judge", lambda *_, **__: judge)
    more = ("--attack", "emoji", "--attack", "markdown", "--queries", "0")
    code, rows = run(pairs, tmp_path, *more)
    said = capsys.readouterr().err
    assert code == expected and rows is None and str(own_store) in said
    assert expected == 130 or "made/stubborn failed on p" in said
    judge.failure, judge.asked = None, 0
    code, rows = run(pairs, tmp_path, *more)
    assert code == 0 and len(rows) == 4 and "going on from" in capsys.readouterr().err
    assert judge.asked <= 12  # the decorated ones alone: two orders of six pairs


def test_the_help_names_every_attack(capsys):
    assert main(["attack", "--help"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in EDITS)
