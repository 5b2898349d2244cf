"""The command line: bad input is named, legal input is judged, an interrupted run goes on where it was."""

import builtins
import gzip
import json
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hostile import ODD_TEXTS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_pairfile import BAD_FILES, GOOD, PAIR, pair_line, write

from judgekit.__main__ import main as started
from judgekit.cli import main
from judgekit.cli.running import combined
from judgekit.records import Reply, Verdict

EXECUTABLE = Path(sys.executable).with_name("judgekit")
LONGER = ["--judge", "baseline/longer"]


def run_command(*arguments, **options):
    """The installed command in a process of its own."""
    return subprocess.run([EXECUTABLE, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options)


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(tmp_path, capsys, name):
    """Exit code 2, one line that names what is wrong, nothing written: not even an older file is touched."""
    file, content, wanted = BAD_FILES[name]
    path, out = write(tmp_path, content, file), write(tmp_path, "older", "out.jsonl")
    assert main(["judge", str(path), "--out", str(out), *LONGER]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"error: {path}") and said.err.count("\n") == 1
    assert all(words in said.err for words in wanted) and "Traceback" not in said.err
    assert sorted(os.listdir(tmp_path)) == sorted([file, "out.jsonl"]) and out.read_text() == "older"


LABEL = ["label", "p.jsonl", "--votes", "v", "--annotator", "x"]
SERVER = ["judge", "p.jsonl", "--out", "o", "--judge", "openai/m"]
SETTINGS = {  # of a judge behind a server
    "concurrency=2.5": "concurrency='2.5': Input should be a valid integer",
    "max_tokens=0": "max_tokens='0': Input should be greater than 0",
    "requests_per_minute=0.5": "requests_per_minute='0.5'",
    "temperature=inf": "temperature='inf'",
    "timeout": "NAME=VALUE",
    "max_cost=1": "price_in",
    "max_csot=1": "did you mean 'max_cost'",
}
LIMITS = ("max_cost", "max_total_tokens", "requests_per_minute")
NO_JUDGES = ("encoder/../../etc", "encoder/a\0b", "probe/../..", "hf/../../etc", "layers/a\0b")


@pytest.mark.parametrize(
    "arguments, wanted",
    [
        *((["judge", "p.jsonl", "--out", "o", "--judge", name], "") for name in NO_JUDGES),
        *((["judge", "p.jsonl", "--out", out], "--out") for out in ("/nowhere/../nowhere/x", "a\0b")),
        ([], "Missing command"),
        (["judge", "p.jsonl", "--out", "o", "--order", "aa"], "--order"),
        (["nope"], "nope"),
        (["judge", "p.jsonl", "--out", "."], "is a folder"),
        (["judge", "p.jsonl", "--out", "no/o"], "does not exist"),
        (["judge", "p.jsonl", "--out", "p.jsonl"], "is the input file itself"),
        (["judge", "p.jsonl", "--out", "link"], "is the input file itself"),
        (["judge", "p.jsonl", "--out", "/dev/null"], "not a regular file"),
        (["judge", "p.lock", "--out", "p", *LONGER], "the lock of this output"),
        (["judge", "p.jsonl", "--out", "poetry", *LONGER], "poetry.lock holds something"),
        (["judge", "p.jsonl", "--out", "o.tsv"], "--out o.tsv: .tsv is not written; name a file in .jsonl, .csv"),
        (["judge", "p.jsonl", "--out", "o.parquet.gz"], "--out o.parquet.gz: Parquet is packed already"),
        (["judge", "p.jsonl", "--out", "o.csv", "--summary", "o.txt"], "--summary o.txt: name a file"),
        (["judge", "p.jsonl", "--out", "o", "--summary", "no/o.json"], "--summary no/o.json: the folder"),
        (["label", "p.jsonl", "--votes", "v.csv", "--annotator", "x"], "--votes v.csv: .csv is not written; name a"),
        (["collect", "p.jsonl", "--out", "o.csv", "--model", "openai/m"], "o.csv: .csv is not written"),
        (["attack", "p.jsonl", "--out", "o", *LONGER], "p.jsonl: no row has a label A or B and two different"),
        (["attack", "p.jsonl", "--out", "o.parquet"], ".parquet is not written; name a file in .jsonl, .csv"),
        (["score", "poetry.lock", "--pairs", "p.jsonl", "--out", "p.jsonl"], "--out p.jsonl: is the input file itself"),
        (["judge", "p.jsonl", "--out", "o", "--set", "mode=a", "--set", "mode=b"], "--set mode: is given twice"),
        (["judge", "p.jsonl", "--out", "o", "--judge", "hf/smolm2-135m"], "did you mean 'smollm2-135m'? There are "),
        (["judge", "p.jsonl", "--out", "s", "--store", "s", *LONGER], "--out s: is the store of verdicts itself"),
        (["judge", "p.jsonl", "--out", "o", "--summary", "s.json", "--store", "s.json", *LONGER], "--summary s.json"),
        *(([*SERVER, "--set", setting], wanted) for setting, wanted in SETTINGS.items()),
        (["judge", "p.jsonl", "--out", "o", "--judge", "openai/"], "name of a model"),
        (["judge", "p.jsonl", "--out", "o", *LONGER, "--set", "timeout=5"], "takes no settings"),
        (["judge", "p.jsonl", "--out", "o", "--judge", "openai/m#zero.txt"], "zero.txt: has more than"),
        (["rate", "p.jsonl", "--out", "o", "--judge", "openai/m", "--aspects", "zero.txt"], "zero.txt: cannot be read"),
        (["judge", "p.jsonl", "--out", "x" * 300], "--out"),
        (["judge", "p.jsonl", "--out", "o", "--judge", "encoder/none"], "no judge is called 'encoder/none'"),
        (["judge", "p.jsonl", "--out", "o", "--judge", "baseline/majority_class"], "'label'"),
        (["judge", "p.jsonl", "--out", "o", "--judge", "encoder/broken"], "broken"),
        (["judge", "p.jsonl", "--out", "o", "--judge", ""], "no judge is called ''"),
        (["judge", "p.jsonl", "--out", "o", "--judge", "replay/pandalm-7b"], "cannot judge other pairs"),
        (["fetch", "pandaml"], "pandaml: no such file is registered; did you mean 'pandalm'? There are "),
        (["fetch", "--models", "smollm-135m"], "did you mean 'smollm2-135m'? There are "),
        (["judge", "p.jsonl", "--out", "o", "--judge", "Encoder/MiniLM"], "did you mean 'encoder/minilm'"),
        (["judge", "p.jsonl", "--out", "o", "--judge", "minilm"], "did you mean 'encoder/minilm'"),
        (["judge", "p.jsonl", "--out", "o", "--judge", "openai/m#pairwize"], "did you mean 'pairwise'? There are "),
        *(([*SERVER, "--engine", "ray", "--set", f"{limit}=9"], "--engine ray") for limit in LIMITS),
        (["rate", "p.jsonl", "--out", "o", "--probe", "gsm8k-binary", "--aspects", "sft"], "--aspects: a probe"),
        (["rate", "p.jsonl", "--out", "o", "--set", "k=v"], "--set: a probe"),
        (["rate", "p.jsonl", "--out", "o", "--probe", "gsm8k-binry"], "did you mean 'gsm8k-binary'? There are "),
        (["convert", "p.jsonl", "--out", "o", "--format", "lmarna"], "did you mean 'lmarena'? There are "),
        (["score", "v.csv", "--pairs", "p.jsonl"], "v.csv on p.jsonl: pairs: no item has a reference label"),
        (["score", "p.jsonl", "--pairs", "p.jsonl", "--protocol", "both_rigth"], "did you mean 'both_right'? There"),
        (["judge", "p.jsonl", "--out", "o", *LONGER, *LONGER], "--judge: is given 2 times, and takes one value"),
        ([*LABEL, "--instructions", "missing.txt"], "--instructions missing.txt: No such file or directory"),
        (["judge", "p.jsonl", "--out", "o", "--judge", "openai/m#binary.txt"], "binary.txt: is not UTF-8 text"),
        (["rate", "p.jsonl", "--out", "o", "--judge", "openai/m", "--aspects", "binary.txt"], "is not UTF-8 text"),
        (["fetch", "--list", "nope/nope.json"], "nope/nope.json"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_bad_usage(tmp_path, monkeypatch, capsys, arguments, wanted):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    write(tmp_path, GOOD, "p.jsonl")
    (tmp_path / "link").symlink_to("p.jsonl")
    (tmp_path / "p.lock").symlink_to("p.jsonl")
    write(tmp_path, "locked", "poetry.lock")
    write(tmp_path, "id,verdict\nx,A", "v.csv")
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "broken").mkdir()
    write(tmp_path / "broken", "{", "judge.json")
    before = sorted(os.listdir(tmp_path))
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and wanted in said and said.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == before and (tmp_path / "p.jsonl").read_text() == GOOD


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_a_file_of_long_rows_does_not_fill_memory(tmp_path):
    """Seven million characters each, of four bytes in memory for the sake of one."""
    noise, measure = random.Random(0), 'print(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])'
    with gzip.open(tmp_path / "p.jsonl.gz", "wt", compresslevel=1) as file:
        for n in range(30):
            long = "\U0001f600" + "x" * 7_000_000 + noise.randbytes(2**16).hex()
            file.write(json.dumps({"id": n, "question": "q", "response_a": long, "response_b": "b"}) + "\n")
    code = f"import sys\nfrom judgekit.cli import main\nmain(sys.argv[1:])\n{measure}"
    command = [sys.executable, "-c", code, "judge", tmp_path / "p.jsonl.gz", "--out", tmp_path / "o.jsonl", *LONGER]
    done = subprocess.run([*command, "--store", tmp_path / "s"], capture_output=True, text=True, check=True)
    assert len(read_lines(tmp_path / "o.jsonl")) == 30 and int(done.stdout) < 500_000


def test_unexpected_errors_are_one_line(tmp_path, monkeypatch, capsys):
    def broken(*_):
        raise ZeroDivisionError("first\nsecond")

    monkeypatch.setattr("judgekit.cli.files.check_source", broken)
    arguments = ["judge", str(write(tmp_path, GOOD)), "--out", str(tmp_path / "o")]
    monkeypatch.delenv("JUDGEKIT_DEBUG", raising=False)
    assert main(arguments) == 1
    assert capsys.readouterr().err == "error: ZeroDivisionError: first second (JUDGEKIT_DEBUG=1 shows where)\n"
    monkeypatch.setenv("JUDGEKIT_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(arguments)


@pytest.mark.parametrize("name", ODD_TEXTS)
@pytest.mark.parametrize("judge", ["baseline/longer", "baseline/random"])
def test_odd_texts_are_judged(judge_file, name, judge):
    text = ODD_TEXTS[name]
    lines = [pair_line(response_a=text), pair_line(id="q", question=text), pair_line(id=text or "e", reference=text)]
    code, rows, _ = judge_file(judge, rows=lines)
    assert code == 0 and [row["id"] for row in rows] == ["x", "q", text or "e"]
    assert all(row["status"] == "ok" and row["verdict"] in ("A", "B", "tie") for row in rows)


def said(order, verdict, p=(None, None, None), status="ok"):
    return Verdict("x", "judge", order, verdict, *p, status=status)


@pytest.mark.parametrize(
    "ab, ba, expected",
    [
        (("A", (0.6, 0.3, 0.1)), ("B", (0.2, 0.5, 0.3)), ("tie", 0.4)),  # A and B equal on average
        (("A", (0.5000001, 0.4999999, 0.0)), ("B", (0.5, 0.5, 0.0)), ("tie", 0.5)),  # but for rounding
        (("A", (0.8, 0.1, 0.1)), ("B", (0.4, 0.6, 0.0)), ("A", 0.6)),
        (("A", (0.5, 0.0, 0.5)), ("tie", (0.3, 0.0, 0.7)), ("tie", 0.4)),
        (("A", (None, None, None)), ("B", (None, None, None)), ("tie", None)),
        (("B", (None, None, None)), ("B", (0.0, 1.0, 0.0)), ("B", None)),
        (("A", (float("nan"), 0.0, 1.0)), ("A", (1.0, 0.0, 0.0)), ("A", None)),
    ],
)
def test_orders_are_combined(ab, ba, expected):
    row = combined([said("ab", *ab), said("ba", *ba)])
    assert (row["verdict"], row["p_a"], row["status"]) == (*expected, "ok")


def test_what_a_row_may_not_have_meant_is_told(judge_file):
    voted = PAIR | {"votes": {"ann": "B", "bob": "B"}}
    rows = [voted | {"id": 1, "lable": "A", "label_kind": "human", "notes": "-"}, voted | {"id": 2, "label": "A"}]
    _, _, said = judge_file("baseline/longer", rows=rows)
    assert said.count("note: ") == 2
    assert "note: rows with a field 'lable', which is not read ('label' is): 1 of 2\n" in said
    assert "note: rows with a label that most of their votes contradict: 1 of 2\n" in said


def test_standard_input_and_output(tmp_path):
    rows, locale = GOOD + "\n" + pair_line(id="\ud800é"), os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0"}
    done = run_command("judge", "-", "--out", "-", *LONGER, input=rows, env=locale, cwd=tmp_path)
    assert done.returncode == 0
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["x", "\ud800é"]
    done = run_command("judge", "-", "--out", "o.jsonl", *LONGER, input="{}", cwd=tmp_path)
    assert done.returncode == 2 and "/dev/stdin, line 1: field 'question' is missing" in done.stderr
    assert os.listdir(tmp_path) == []


def test_a_reader_that_goes_away(tmp_path):
    path = write(tmp_path, "\n".join(pair_line(id=i) for i in range(5000)))
    process = subprocess.Popen(
        [EXECUTABLE, "judge", path, "--out", "-", *LONGER], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    said_last = process.stderr.read()
    assert process.wait(60) == 141 and said_last == b""


def test_an_older_file_is_replaced_with_its_mode(tmp_path):
    path, out = write(tmp_path, GOOD), write(tmp_path, "older", "o.jsonl")
    out.chmod(0o640)
    (tmp_path / "link").symlink_to(out)
    assert main(["judge", str(path), "--out", str(tmp_path / "link"), *LONGER]) == 0
    assert out.stat().st_mode & 0o777 == 0o640 and read_lines(out)[0]["id"] == "x"
    assert (tmp_path / "link").is_symlink()


class CountingJudge:
    """Replies "first" and writes down what it was asked; stops or fails as told."""

    name, fingerprint, decoding, batch_size, sees_item = "test/counting", "counting", "{}", 4, False

    def __init__(self, stop_after=None, stop=None, failing=()):
        self.asked, self.calls = [], 0
        self.stop_after, self.stop, self.failing = stop_after, stop, failing

    def judge(self, requests):
        if self.calls == self.stop_after:
            self.stop()
        self.calls += 1
        self.asked += [(request.question, request.order) for request in requests]
        if any(request.question in self.failing for request in requests):
            raise RuntimeError("cannot \x1b[2J do\nthis one")
        return [Reply("first") for _ in requests]


@pytest.fixture
def use_judge(monkeypatch):

    def use(judge):
        monkeypatch.setattr("judgekit.cli.running.load_judge", lambda *_, **__: judge)
        return judge

    return use


def many(n=20):
    return "\n".join(pair_line(id=i, question=f"q{i}") for i in range(n))


def interrupt():
    raise KeyboardInterrupt


def test_failed_items_are_listed_and_tried_again(judge_file, run_file, use_judge, own_store):
    use_judge(CountingJudge(failing=("q3", "q7")))
    code, rows, err = judge_file("any", "--quiet", rows=many().splitlines())
    assert code == 3 and "2 of 20 pairs failed" in err and str(own_store) in err
    assert f"id 3 ({run_file.path}, line 4): RuntimeError: cannot" in err and "\x1b" not in err
    assert err.count("\n") == 4 and err.startswith("warning: 100.0% of the verdicts that are no tie name")
    assert [row["id"] for row in rows if row["status"] == "error"] == [3, 7] and rows[3]["verdict"] is None
    judge = use_judge(CountingJudge())
    code, rows, _ = judge_file("any", "--quiet", rows=many().splitlines())
    assert code == 0 and {row["status"] for row in rows} == {"ok"}
    assert sorted(judge.asked) == [("q3", "ab"), ("q3", "ba"), ("q7", "ab"), ("q7", "ba")]


def test_failures_of_one_kind_are_shown_a_few_times_and_counted(judge_file, use_judge):
    judge = use_judge(CountingJudge())
    why = {"q0": "late: no server", "q7": "of another kind"}  # the end of a reason is another reason
    judge.judge = lambda asked: [Reply(None, status="error", raw=why.get(r.question, "no server")) for r in asked]
    code, _, err = judge_file("any", "--quiet", rows=many().splitlines())
    assert code == 3 and "20 of 20 pairs failed" in err
    assert err.count(": no server\n") == 4 and err.count(": of another kind\n") == 1
    assert err.endswith("  and 15 more, for the same reasons\n")


def test_the_shipped_judge_says_which_responses_it_read_in_part(judge_file, tmp_path):
    rows = [pair_line(id=n, response_a="word " * length) for n, length in enumerate((20, 2000))]
    _, written, err = judge_file("encoder/minilm", "--summary", str(tmp_path / "s.json"), rows=rows)
    assert [row["truncated"] for row in written] == [False, True]
    assert "1 of 2 pairs are truncated: a response is too long, the judge read a part" in err
    assert json.loads((tmp_path / "s.json").read_text())["truncated"] == 1


def test_pairs_without_a_verdict_are_counted(judge_file, use_judge):
    judge = use_judge(CountingJudge())
    lost = Reply(None, status="unparsed", raw="Well,\nthat depends.")
    judge.judge = lambda asked: [lost if r.question == "q3" else Reply("tie") for r in asked]
    code, rows, err = judge_file("any", rows=many().splitlines())
    said = "1 of 20 pairs have no verdict because the reply could not be read; the first: 'Well, that depends.'"
    assert code == 0 and said in err and "labelled" not in err
    assert [row["id"] for row in rows if row["status"] == "unparsed"] == [3] and rows[0]["truncated"] is False


def test_what_was_paid_for_is_kept(tmp_path, capsys, use_judge, own_store):
    path, out = write(tmp_path, many()), tmp_path / "o.jsonl"
    first = use_judge(CountingJudge())
    assert main(["judge", str(path), "--out", str(out)]) == 0
    assert len(first.asked) == 40 and own_store.is_file()
    write(tmp_path, many(21))
    second = use_judge(CountingJudge())
    assert main(["judge", str(path), "--out", str(tmp_path / "other.jsonl")]) == 0
    assert sorted(second.asked) == [("q20", "ab"), ("q20", "ba")]
    assert "going on from 40 verdicts of test/counting" in capsys.readouterr().err
    assert [row["id"] for row in read_lines(tmp_path / "other.jsonl")] == list(range(21))
    assert main(["judge", str(path), "--out", "-", "--store", str(tmp_path / "new" / "s.sqlite")]) == 0
    assert len(second.asked) == 2 + 42, "another store knows nothing of this"


class Changing(CountingJudge):
    """Replies that change with every call; a failure where it is told to."""

    def judge(self, requests):
        super().judge(requests)
        return [Reply("tie", raw=f"call {self.calls}") for _ in requests]


def replies_in(store):
    with closing(sqlite3.connect(store)) as connection:
        return dict(connection.execute("SELECT input, reply FROM replies"))


def test_fresh_asks_again_and_no_old_reply_goes_before_a_new_one_is_there(tmp_path, capsys, use_judge, own_store):
    path, out = write(tmp_path, many(4)), tmp_path / "o.jsonl"
    arguments = ["judge", str(path), "--out", str(out)]
    use_judge(CountingJudge())
    assert main(arguments) == 0
    before = replies_in(own_store)
    use_judge(Changing(failing=("q1", "q2"), stop_after=2, stop=interrupt))
    assert main([*arguments, "--fresh"]) == 130
    assert "the same command without --fresh goes on from there" in capsys.readouterr().err
    after = replies_in(own_store)
    assert after.keys() == before.keys()
    judge = use_judge(Changing(failing=("q1",)))
    assert main([*arguments, "--fresh", "--quiet"]) == 3
    assert {question for question, _ in judge.asked} == {f"q{n}" for n in range(4)}
    after = replies_in(own_store)
    assert sum(after[key] == before[key] for key in before) == 2, "a failed reply replaces none"
    assert [row["verdict"] for row in read_lines(out)] == ["tie", None, "tie", "tie"]
    judge = use_judge(CountingJudge())
    assert main(arguments) == 0 and not judge.asked
    assert replies_in(own_store) == after


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
NAMES = "id question response_a response_b reference label prompt chosen rejected role content"
FIELDS = st.sampled_from(NAMES.split())
VALUES = st.text(max_size=5) | st.sampled_from(["A", "user"]) | ANYTHING
ROWS = st.dictionaries(FIELDS, VALUES, max_size=8) | ANYTHING
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@QUICK
@given(rows=st.lists(ROWS, max_size=4))
def test_random_json_ends_with_0_or_with_2_and_one_line_of_error(judge_file, run_file, rows):
    code, written, err = judge_file("baseline/first", "--no-resume", "--quiet", rows=map(json.dumps, rows))
    assert code in (0, 2) and (written is not None) == (code == 0)
    if code == 2:
        assert err.startswith(f"error: {run_file.path}") and err.count("\n") == 1


def test_python_runs_it_and_a_shell_completes_it():
    done = subprocess.run([sys.executable, "-m", "judgekit", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("judgekit ")
    asked = {"_JUDGEKIT_COMPLETE": "complete_bash", "COMP_WORDS": "judgekit con", "COMP_CWORD": "1"}
    assert run_command(env=os.environ | asked).stdout.split() == ["convert"]


def test_an_interrupt_before_all_is_imported_shows_no_traceback(monkeypatch):
    real = builtins.__import__

    def interrupted(name, *rest):
        return interrupt() if name == "judgekit.cli" else real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    assert started() == 130


def test_start_up_is_light():
    script = (
        "import sys; from judgekit.cli import main; main(['judge', '--help']); main(['judge', 'none', '--out', 'o']); "
        "print([m for m in ('torch', 'transformers', 'pandas', 'numpy', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.endswith("[]\n") and "there is no such file" in done.stderr


def test_fetch_that_fails_names_each_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("judgekit.data.paths.data_mirror", lambda: tmp_path)
    assert main(["fetch", "pandalm/testset-v1.json", "--quiet"]) == 3
    err = capsys.readouterr().err
    assert "pandalm/testset-v1.json: not in the mirror" in err and "Traceback" not in err
