"""judgekit attack: a report of one's own pairs, whole or not at all, and one sentence for whatever is wrong."""

import csv

import pytest

from judgekit.bias.edits import EDITS
from judgekit.cli import main
from judgekit.judges.baseline import RuleJudge

BLUE, GREEN = (f"{name} is a colour that begins with the letter that was asked for." for name in ("Blue", "Green"))
ODD = {"question": "Name a colour that begins with b, please.", "response_a": BLUE, "response_b": "No.", "label": "A"}
EVEN = {"question": "Name a colour that begins with g, please.", "response_a": "No.", "response_b": GREEN, "label": "B"}
ROWS = [{"id": f"p{k}"} | (ODD if k % 2 else EVEN) for k in range(6)]


def test_every_attack_the_mean_and_the_clean_accuracy_are_reported(run_file, tmp_path):
    code, rows, said = run_file("attack", "--judge", "baseline/longer", "--queries", "2", rows=ROWS)
    assert code == 0
    assert [row["attack"] for row in rows] == [*EDITS, "search", "mean", None]
    found = {row["attack"]: row for row in rows}
    assert found["very_long"]["success"] == 1 and found["empty"]["success"] == 0
    assert found["very_long"]["success_n"] == 6 and found["very_long"]["success_one_order_n"] == 12
    assert found[None]["clean_accuracy"] == 1 and 0 < found["mean"]["success"] < 1
    assert found["mean"]["success_low"] <= found["mean"]["success"] <= found["mean"]["success_high"]
    assert "clean accuracy 100.0 % (" in said and "; n = 6)" in said
    assert said.index("very_long ") < said.index("empty ")  # the worst first
    assert not list(tmp_path.glob("*.sqlite*"))


def test_a_report_may_be_a_table(run_file, tmp_path):
    words = ("--judge", "baseline/longer", "--queries", "0", "--quiet")
    _, rows, _ = run_file("attack", *words, rows=ROWS)
    assert main(["attack", str(run_file.path), "--out", str(tmp_path / "report.csv"), *words]) == 0
    table = list(csv.DictReader((tmp_path / "report.csv").open()))
    given = [{name: row.get(name) for name in table[0]} for row in rows]
    assert table == [{name: "" if value is None else str(value) for name, value in row.items()} for row in given]


def test_one_question_has_no_interval(run_file):
    code, rows, said = run_file("attack", "--judge", "baseline/longer", "--queries", "0", rows=[ODD | {"id": "p"}])
    found = {row["attack"]: row for row in rows}
    assert code == 0 and found["mean"]["success"] is not None and found["mean"]["success_low"] is None
    assert found[None]["clean_accuracy_high"] is None
    assert "clean accuracy 100.0 % (no interval; n = 1)" in said and "None" not in said


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--attack", "shout"), "no edit 'shout'; there are null_response"),
        (("--attack", "emojis"), "no edit 'emojis'; did you mean 'emoji'? There are null_response"),
        (("--queries", "1"), "two queries a pair at least"),
        (("--judge", "baseline/majority_class"), "always gives one label"),
    ],
)
def test_bad_usage_is_one_sentence_and_writes_nothing(run_file, more, message):
    code, written, said = run_file("attack", *more, rows=ROWS)
    assert code == 2 and written is None and message in said.splitlines()[-1]


def test_a_failed_run_is_continued(run_file, monkeypatch, own_store):
    rule, asked, faults = RuleJudge.judge, [], ["##"]

    def judge(self, requests):
        asked.extend(requests)
        if any(fault in request.first + request.second for request in requests for fault in faults):
            raise RuntimeError("broken")
        return rule(self, requests)

    monkeypatch.setattr(RuleJudge, "judge", judge)
    more = ("--judge", "baseline/longer", "--attack", "emoji", "--attack", "markdown", "--queries", "0")
    code, rows, said = run_file("attack", *more, rows=ROWS)
    assert code == 3 and rows is None and str(own_store) in said and "baseline/longer failed on p" in said
    faults.clear()
    asked.clear()
    code, rows, said = run_file("attack", *more, rows=ROWS)
    assert code == 0 and len(rows) == 4 and "going on from" in said
    assert len(asked) <= 12  # the decorated ones alone: two orders of six pairs


def test_the_help_names_every_attack(capsys):
    assert main(["attack", "--help"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in EDITS)


def test_an_attack_by_name_is_alone_and_the_mean_is_of_the_pairs_that_could_be_turned(run_file):
    """At 1f28f818 the search was run and averaged in, and the mean was printed with the n of all pairs."""
    rows = [*ROWS, ODD | {"id": "lost", "response_a": "Blue.", "response_b": f"{BLUE} {BLUE}"}]
    code, rows, _ = run_file("attack", "--judge", "baseline/longer", "--attack", "very_long", rows=rows)
    found = {row["attack"]: row for row in rows}
    assert code == 0 and list(found) == ["very_long", "mean", None]
    assert found["mean"]["success_n"] == found["very_long"]["success_n"] == 6 and found[None]["clean_accuracy_n"] == 7
