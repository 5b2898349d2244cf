"""What is said of all pairs, and `judgekit score`: both orders in sight, and files that are what their names say."""

import csv
import gzip
import json
import sqlite3
from contextlib import closing

import pandas as pd
import pytest
from test_pairfile import pair_line, write

from judgekit.cli import main
from judgekit.judges import load_judge
from judgekit.records import Reply
from judgekit.scoring.store import VerdictStore

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


def test_an_id_that_is_a_formula_stays_as_it_is(tmp_path):
    path = write(tmp_path, pair_line(id="=1+1"))
    assert main(["judge", str(path), "--out", str(tmp_path / "v.csv"), "--judge", "baseline/longer"]) == 0
    assert (tmp_path / "v.csv").read_text().splitlines()[1].startswith("=1+1,")


class Saying:
    """A judge that says what a function makes of a request."""

    name, fingerprint, decoding, batch_size, sees_item = "own/saying", "saying", "{}", 8, False

    def __init__(self, say):
        self.say = say

    def judge(self, requests):
        return [Reply(self.say(request)) for request in requests]


def judged(monkeypatch, pairs, say, *options):
    monkeypatch.setattr("judgekit.cli.running.load_judge", lambda *_, **__: Saying(say))
    out, summary = pairs.with_name("v.jsonl"), pairs.with_name("summary.json")
    code = main(["judge", str(pairs), "--out", str(out), "--summary", str(summary), "--no-resume", *options])
    return code, json.loads(summary.read_text())


@pytest.mark.parametrize(("position", "share"), [("first", 1.0), ("second", 0.0)])
def test_a_judge_that_follows_a_position_is_told_aloud(pairs, monkeypatch, capsys, position, share):
    code, found = judged(monkeypatch, pairs, lambda _: position)
    told = capsys.readouterr().err
    assert f"warning: 100.0% of the verdicts that are no tie name the response shown {position}" in told
    assert f"verdicts for the response shown first: {share:.1%} (95% interval" in told and "n = 80 that" in told
    assert "the same verdict in both orders: 0.0% (95% interval" in told
    assert (code, found["pairs"], found["verdicts"], found["orders"]) == (0, 40, 40, ["ab", "ba"])
    assert found["results"] == {"tie": 40} and found["accuracy"]["value"] == 0 < found["accuracy"]["high"]
    rate = found["first_rate"]
    assert (rate["value"], rate["n"], rate["questions"]) == (share, 80, 20)
    for name in ("coverage", "tie_rate"):  # what contradicts itself is a tie
        assert (found[name]["value"], found[name]["n"]) == (1, 40) and found[name]["low"] < 1 == found[name]["high"]
    assert "ties: 100.0% (95% interval" in told and "n = 40 verdicts" in told
    assert "coverage: 100.0% (95% interval" in told
    judged(monkeypatch, pairs, lambda _: position, "--quiet")
    assert "warning" in (quiet := capsys.readouterr().err) and "the same verdict" not in quiet
    _, one = judged(monkeypatch, pairs, lambda _: position, "--order", "ab")
    assert "warning" not in capsys.readouterr().err, "in one order the first response is A"
    assert "first_rate" not in one and "consistency" not in one and one["accuracy"]["value"] == 0.5


def test_few_verdicts_beside_ties_are_no_habit(pairs, monkeypatch, capsys):
    wavers = {f"q{n}" for n in range(12)}  # 24 of 40 pairs tie: 16 times 2 verdicts are none
    judged(monkeypatch, pairs, lambda request: "tie" if request.question in wavers else "first")
    told = capsys.readouterr().err
    assert "n = 32 that are no tie" in told and "warning" not in told


def test_one_question_has_no_interval_under_any_protocol(tmp_path, monkeypatch, capsys):
    path = write(tmp_path, "\n".join(pair_line(id=n, label=label) for n, label in enumerate("AAB")), "pairs.jsonl")
    _, found = judged(monkeypatch, path, lambda _: "first")
    assert found["accuracy"] == {"value": 0, "low": None, "high": None, "n": 3, "questions": 1}
    assert "95% interval not defined for one question; n = 3 labelled pairs, 1 question;" in capsys.readouterr().err
    said = write(tmp_path, "\n".join(json.dumps({"id": n, "verdict": "A"}) for n in range(3)), "said.jsonl")
    assert main(["score", str(said), "--pairs", str(path), "--out", str(tmp_path / "scores.jsonl")]) == 0
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert {(row["low"], row["high"]) for row in rows} == {(None, None)}
    assert "accuracy 66.7% (no interval; n = 3;" in capsys.readouterr().err


def test_where_nothing_was_answered_there_is_no_accuracy(pairs, monkeypatch, capsys):
    code, found = judged(monkeypatch, pairs, lambda _: 1 / 0)
    told = capsys.readouterr().err
    assert code == 3 and "not one pair has a verdict: there is nothing to score" in told and "accuracy" not in told
    assert found["results"] == {"error": 40} and "accuracy" not in found


@pytest.mark.parametrize("command", ["judge", "label", "attack", "score", "rate"])
def test_odd_rows_are_counted_aloud_by_every_command(tmp_path, capsys, command):
    rows = [{"question": " ", "response_a": "x y z", "label": "A"}, {"response_a": "", "response_b": ""}]
    rows.append({"response_a": "x ", "response_b": "x"})
    path = write(tmp_path, "\n".join(pair_line(id=n, response="x" * n, **row) for n, row in enumerate(rows)))
    path.with_name("v.csv").write_text("id,verdict\n0,A\n")
    more = {
        "judge": ["--judge", "baseline/longer", "--out", str(tmp_path / "o")],
        "label": ["--votes", str(tmp_path / "votes"), "--annotator", "a/b"],
        "attack": ["--judge", "baseline/longer", "--attack", "empty", "--queries", "0", "--out", str(tmp_path / "o")],
        "rate": ["--judge", "openai/m", "--aspects", "reasoning", "--out", str(tmp_path / "o")],
    }
    arguments = [str(path), *more[command]] if command in more else [str(tmp_path / "v.csv"), "--pairs", str(path)]
    main([command, *arguments])
    told = capsys.readouterr().err
    pairs = ("two empty responses", "two equal responses")
    for what in ("an empty question", *(("one empty response",) if command == "rate" else pairs)):
        assert f"note: rows with {what}: 1 of 3\n" in told


def test_votes_beside_a_chosen_response_are_told_as_unread(tmp_path, capsys):
    row = {"prompt": "Q?", "chosen": "a b", "rejected": "c", "votes": {"ann": "A"}}
    arguments = [str(write(tmp_path, json.dumps(row))), "--judge", "baseline/longer", "--out", str(tmp_path / "o")]
    assert main(["judge", *arguments]) == 0
    assert "note: rows with votes beside 'chosen', which are not read: 1 of 1" in capsys.readouterr().err


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


def test_what_failed_is_no_verdict_and_is_told(pairs, tmp_path, capsys):
    rows = [{"id": n, "verdict": "A", "order": None, "status": None} for n in range(39)]
    rows += [{"id": 39, "verdict": None, "status": "error"}]
    file = write(tmp_path, "\n".join(map(json.dumps, rows)), "v.jsonl")
    assert scores_of(file, pairs, "single_order").loc[("v.jsonl", "coverage"), "value"] == 39 / 40
    assert "note: 1 of 40 rows of v.jsonl failed" in capsys.readouterr().err
    write(tmp_path, "\n".join(json.dumps(rows[-1] | {"id": n}) for n in range(40)), "v.jsonl")
    assert main(["score", str(file), "--pairs", str(pairs)]) == 2
    assert "not one reply on these items" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["v.csv", "v.jsonl", "v.parquet"])
def test_odd_ids_come_back(tmp_path, name):
    ids = ["\ud800", "a\rb", 'c,\n"d', "9" * 40]
    lines = [pair_line(id=id_, question=id_, response_a="longer", label="A") for id_ in ids]
    path, out = write(tmp_path, "\n".join(lines), "pairs.jsonl"), tmp_path / name
    assert main(["judge", str(path), "--out", str(out), "--judge", "baseline/longer"]) == 0
    assert scores_of(out, path, "single_order").loc[("baseline/longer", "accuracy"), "value"] == 1


@pytest.mark.parametrize(
    ("rows", "protocol", "wanted"),
    [
        (["99,ab,A,,"], "single_order", "v.csv, line 2: field 'id' is '99', which no pair has"),
        (["0,ab,A,,", "0,ab,B,,"], "single_order", "line 3: field 'id' is '0', which has a verdict"),
        (["0,ab,D,,"], "single_order", "line 2: field 'verdict' is 'D', not A, B or tie"),
        (["0,xy,A,,"], "single_order", "line 2: field 'order' is 'xy', not one of 'ab' or 'ba'"),
        (["0,ab,A,,1.5"], "single_order", "line 2: field 'p_a' is '1.5', not a probability from 0 to 1"),
        (["0,ab,A,,nan"], "single_order", "line 2: field 'p_a' is 'nan', not a probability"),
        (["0,ab,A,,0.5"], "single_order", "line 2: has one of p_a, p_b, p_tie and not all three"),
        (["0,ab,A,,0.5,0.9,0"], "single_order", "line 2: has p_a, p_b and p_tie that do not add up to 1"),
        (["0,ab,A,error,"], "single_order", "line 2: field 'verdict' is 'A', and the status is 'error'"),
        (["0,ab,A,,"], "primary", "pairs.jsonl: pairs/1 ("),
        (["0,ab,A,,"], "mtbench", "pairs: no item has votes"),
        (["0,ab,A,,"], "autoj", "v.csv: v.csv has verdicts in one order, and 'right in both orders' reads both"),
        ([], "single_order", "v.csv: holds no verdicts"),
        (["0,ab,A,,"], "nope", "there are primary, single_order"),
    ],
)
def test_verdicts_that_cannot_be_scored_are_told_by_place(pairs, tmp_path, capsys, rows, protocol, wanted):
    head = ["id,order,verdict,status,p_a" + ",p_b,p_tie" * any(row.count(",") == 6 for row in rows)]
    file = write(tmp_path, "\n".join([*head, *rows]), "v.csv")
    out = write(tmp_path, "older", "scores.jsonl")
    assert main(["score", str(file), "--pairs", str(pairs), "--protocol", protocol, "--out", str(out)]) == 2
    told = capsys.readouterr().err
    assert wanted in told and told.count("\n") == 1 and out.read_text() == "older"


def test_the_store_is_shown_and_pruned(pairs, capsys, monkeypatch):
    store = pairs.with_name("verdicts.sqlite")
    for name in ("longer", "first"):
        judged = ["judge", str(pairs), "--out", str(pairs.with_name("v.jsonl")), "--judge", f"baseline/{name}"]
        assert main([*judged, "--store", str(store)]) == 0
    with VerdictStore(store) as kept:
        asked = Reply("first", tokens_in=2_000_000, tokens_out=500_000)
        kept.put("0123456789abcdef", "{}", {"one": asked, "two": Reply(None, status="error", raw="Timeout")})
    capsys.readouterr()

    def shown(*given):
        assert main(["store", "--store", str(store), *given]) == 0
        return capsys.readouterr().out.splitlines()

    first, _, *rows = shown("--price-in", "0.5", "--price-out", "2")
    assert first.startswith(f"{store}: 82 replies, ") and len(rows) == 3
    assert rows[-1].split()[:6] == ["0123456789ab", "2", "1", "2,000,000", "500,000", "2.00"]
    assert len(shown("--before", "2001-01-01")) == 2
    assert shown("--judge", "baseline/longer", "--prune")[-1].startswith("40 replies removed, ")
    assert shown()[0].startswith(f"{store}: 42 replies, ") and len(shown("--judge", "baseline/longer")) == 2
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    with VerdictStore(store) as kept:
        for number in range(3):
            one = load_judge("openai/m", settings={"temperature": number // 2})
            kept.put(one.fingerprint, one.decoding, {f"k{number}": Reply("first")})
    of = ("--judge", "openai/m", "--set", "temperature=1")
    assert shown(*of)[0].startswith(f"{store}: 1 reply, ") and shown(*of, "--prune")[-1].startswith("1 reply remo")
    assert shown("--judge", "openai/m", "--prune")[-1].startswith("2 replies removed, ")
    other = pairs.with_name("other.sqlite")
    with closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE things (name TEXT)")
    for given, said in (
        (["--prune"], "--prune: say of what, by --judge or --before"),
        (["--set", "temperature=1", "--before", "2026-01-31", "--prune"], "--set: say of which judge, by --judge"),
        (["--before", "May"], "--before May: expected a date such as 2026-01-31"),
        (["--store", str(pairs.with_name("none"))], "none: there is no verdict store yet"),
        (["--store", str(other)], "other.sqlite: not a verdict store (it holds the table things) (--store FILE"),
    ):
        here = [] if "--store" in given else ["--store", str(store)]
        assert main(["store", *here, *given]) == 2
        assert said in capsys.readouterr().err
    assert shown()[0].startswith(f"{store}: 42 replies, ")


@pytest.mark.parametrize("command", ["store", "judge"])
def test_who_has_no_home_at_all_is_told_so(pairs, capsys, monkeypatch, command):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    for name in ("JUDGEKIT_STORE", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pathlib.Path.home", homeless)
    given = ["judge", str(pairs), "--judge", "baseline/longer", "--out", str(pairs.with_name("v.jsonl"))]
    assert main(given if command == "judge" else [command]) == 2
    said = "no verdict store: Could not determine home directory. (--store FILE or JUDGEKIT_STORE names another)"
    assert said in capsys.readouterr().err


def test_right_verdicts_have_every_mean_of_labels_at_one_where_nothing_ties(pairs, capsys):
    """At 1f28f818 a tie that nobody said or labelled had an F1 of zero: 0.667 for verdicts that are all right."""
    right = [json.dumps({"id": n, "verdict": label}) for n, label in enumerate(LABELS)]
    file = write(pairs.parent, "\n".join(right), "right.jsonl")
    scores = scores_of(file, pairs, "single_order")["value"]["right.jsonl"]
    assert (scores["accuracy"], scores["macro_f1"], scores["recall"], scores["precision"]) == (1, 1, 1, 1)
    file.write_text(file.read_text().replace('"A"', '"tie"', 1))
    assert scores_of(file, pairs, "single_order")["value"]["right.jsonl", "macro_f1"] < 0.7
    assert "in the order ab alone" not in capsys.readouterr().err


def test_a_protocol_of_one_order_says_that_the_other_one_is_not_scored(pairs, capsys):
    out = pairs.with_name("v.jsonl")
    assert main(["judge", str(pairs), "--out", str(out), "--judge", "baseline/first", "--per-order"]) == 0
    scores_of(out, pairs, "single_order")
    said = "scores baseline/first in the order ab alone; --protocol mean_of_orders counts both"
    assert said in capsys.readouterr().err
    scores_of(out, pairs, "swapped")
    assert "scores baseline/first in the order ba alone" in capsys.readouterr().err
    scores_of(out, pairs)
    assert "alone" not in capsys.readouterr().err
