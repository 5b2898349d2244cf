"""What is said of all pairs, and `judgekit score`: both orders in sight, and files that are what their names say."""

import csv
import gzip
import json

import pandas as pd
import pytest
from test_pairfile import pair_line, write

from judgekit.cli import main

LABELS = ["A", "B", "A", "B"] * 10


@pytest.fixture
def pairs(tmp_path):
    """Forty labelled pairs, two of each question; the longer response is A."""
    lines = [pair_line(id=n, question=f"q{n // 2}", response_a="longer", label=label) for n, label in enumerate(LABELS)]
    return write(tmp_path, "\n".join(lines), "pairs.jsonl")


def scores_of(file, pairs, protocol="mean_of_orders"):
    out = file.with_name("scores.csv")
    assert main(["score", str(file), "--pairs", str(pairs), "--protocol", protocol, "--out", str(out)]) == 0
    return pd.read_csv(out).set_index(["judge", "metric"])


@pytest.mark.parametrize("name", ["v.jsonl", "v.jsonl.gz", "v.csv", "V.CSV.GZ", "v.parquet"])
def test_a_file_is_what_its_name_says_and_can_be_read_back(pairs, name):
    out = pairs.with_name(name)
    assert main(["judge", str(pairs), "--out", str(out), "--judge", "baseline/longer", "--per-order"]) == 0
    if name.endswith("parquet"):
        rows = pd.read_parquet(out).to_dict("records")
    else:
        with (gzip.open if name.lower().endswith(".gz") else open)(out, "rt") as stream:
            rows = list(csv.DictReader(stream)) if "csv" in name.lower() else [json.loads(line) for line in stream]
    assert [(str(row["id"]), row["order"], row["verdict"]) for row in rows[:3]] == [
        ("0", "ab", "A"), ("0", "ba", "A"), ("1", "ab", "A")
    ]  # fmt: skip
    assert len(rows) == 80 and {row["judge"] for row in rows} == {"baseline/longer"}
    scores = scores_of(out, pairs)["value"]["baseline/longer"]
    assert (scores["accuracy"], scores["consistency"], scores["first_rate"]) == (0.5, 1, 0.5)


def test_names_that_cannot_be_kept_are_refused(pairs, capsys):
    for option in (
        ["--out", "v.parquet.gz"],
        ["--out", "v.csv", "--summary", "v.csv"],
        ["--out", "v", "--summary", "v"],
    ):
        assert main(["judge", str(pairs), *option]) == 2
    assert main(["attack", str(pairs), "--out", "v.csv"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(": ")[2].partition(":")[0] for line in told] == [
        "--out v.parquet.gz", "--summary v.csv", "--summary v", "--out v.csv"
    ]  # fmt: skip


@pytest.mark.parametrize(("judge", "place"), [("first", "first"), ("longer", None)])
def test_a_judge_that_follows_a_position_is_told_aloud(pairs, tmp_path, capsys, judge, place):
    summary = tmp_path / "summary.json"
    arguments = ["judge", str(pairs), "--out", str(tmp_path / "v.jsonl"), "--judge", f"baseline/{judge}"]
    assert main([*arguments, "--summary", str(summary)]) == 0
    told, found = capsys.readouterr().err, json.loads(summary.read_text())
    assert ("warning: 100.0% of the verdicts name the response shown first" in told) == (place == "first")
    rate = 1.0 if place else 0.5
    assert f"for the response shown first: {rate:.1%} (95% interval" in told and "n = 80 verdicts" in told
    assert f"the same verdict in both orders: {0 if place else 100}.0% (95% interval" in told
    assert (found["pairs"], found["verdicts"], found["orders"]) == (40, 40, ["ab", "ba"])
    assert found["results"] == ({"tie": 40} if place else {"A": 40})
    assert found["first_rate"]["value"] == rate and found["first_rate"]["n"] == 80
    assert found["accuracy"] == {"value": 0, "n": 40, "questions": 20} | {
        end: found["accuracy"][end] for end in ("low", "high")
    } or not place  # fmt: skip
    assert main([*arguments, "--quiet"]) == 0 and main([*arguments, "--order", "ab"]) == 0
    quiet, _, one = capsys.readouterr().err.partition("going on")
    assert ("warning" in quiet) == (place == "first") and "the same verdict" not in quiet + one


def test_odd_rows_are_counted_aloud(tmp_path, capsys):
    odd = [{"question": " "}, {"response_a": "", "response_b": ""}, {"response_a": "x ", "response_b": "x"}, {}]
    path = write(tmp_path, "\n".join(pair_line(id=n, **fields) for n, fields in enumerate(odd)))
    assert main(["judge", str(path), "--out", str(tmp_path / "v"), "--judge", "baseline/longer"]) == 0
    told = capsys.readouterr().err
    for what in ("an empty question", "two empty responses", "two equal responses"):
        assert f"note: rows with {what}: 1 of 4\n" in told


# ---------------------------------------------------------------- verdicts from anywhere


def test_verdicts_from_anywhere_are_scored_by_judge_under_a_protocol(pairs, tmp_path):
    rows = [f"{n},{order},{label},mine,0.2,0.7,0.1" for n, label in enumerate(LABELS) for order in ("ab", "ba")]
    rows[0] = "0,ab,,mine,,,"  # a reply that could not be read
    more = [f"{n},ab,{'A' if n % 4 else 'tie'},theirs,,," for n in range(40)]
    head = "id,order,verdict,judge,p_a,p_b,p_tie"
    mine = scores_of(write(tmp_path, "\n".join([head, *rows]), "v.csv"), pairs).loc["mine"]
    assert mine.loc["accuracy", "value"] == mine.loc["coverage", "value"] == pytest.approx(79 / 80)
    assert {"consistency", "brier"} <= set(mine.index) and mine.loc["accuracy", "n"] == 40
    single = scores_of(write(tmp_path, "\n".join([head, *rows, *more]), "v.csv"), pairs, "single_order")
    assert single.loc[("theirs", "accuracy"), "value"] == pytest.approx(10 / 40)
    assert single.loc[("mine", "accuracy"), "value"] == pytest.approx(39 / 40)
    assert set(single["protocol"]) == {"single order (pairs)"} and "brier" not in single.loc["theirs"].index


@pytest.mark.parametrize(
    ("rows", "protocol", "wanted"),
    [
        (["99,ab,A,"], "single_order", "v.csv, line 2: field 'id' is '99', which no pair has"),
        (["0,ab,A,", "0,ab,B,"], "single_order", "line 3: field 'id' is '0', which has a verdict"),
        (["0,ab,D,"], "single_order", "line 2: field 'verdict' is 'D', not A, B or tie"),
        (["0,xy,A,"], "single_order", "line 2: field 'order' is 'xy', not one of 'ab' or 'ba'"),
        (["0,ab,A,1.5"], "single_order", "line 2: field 'p_a' is '1.5', not a probability from 0 to 1"),
        (["0,ab,A,x"], "single_order", "line 2: field 'p_a' is 'x', not a probability"),
        (["0,ab,A,"], "single_order", "pairs.jsonl, line 2): no verdict in the given order"),
        (["0,ab,A,"], "nope", "there are primary, single_order"),
    ],
)
def test_verdicts_that_cannot_be_scored_are_told_by_place(pairs, tmp_path, capsys, rows, protocol, wanted):
    file = write(tmp_path, "\n".join(["id,order,verdict,p_a", *rows]), "v.csv")
    out = tmp_path / "scores.jsonl"
    assert main(["score", str(file), "--pairs", str(pairs), "--protocol", protocol, "--out", str(out)]) == 2
    told = capsys.readouterr().err
    assert wanted in told and told.count("\n") == 1 and not out.exists()


def test_rows_come_from_standard_input(pairs, tmp_path):
    from test_cli import run_command

    out = tmp_path / "v.jsonl"
    done = run_command("judge", "-", "--out", out, "--judge", "baseline/longer", input=pairs.read_text())
    assert done.returncode == 0 and len(out.read_text().splitlines()) == 40
    done = run_command("judge", "-", "--out", out, "--judge", "baseline/longer", input="{}")
    assert done.returncode == 2 and "/dev/stdin, line 1: field 'question' is missing" in done.stderr
