"""``judgekit label``: what is wrong is named before a page opens, and the order is the one that was asked for."""

import math
import os
import signal
import socket
from contextlib import closing

import pytest
from chat_server import good_reply
from labelling_setting import Client, command, write_pairs
from test_votefile import vote, written

from judgekit.cli import main
from judgekit.data.pairfile import read_pairs
from judgekit.data.votes import Votes
from judgekit.people.labelling.votefile import VoteFile, read_votes
from judgekit.records import LABELS

posix = pytest.mark.skipif(os.name == "nt", reason="signals as POSIX has them")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path / "pairs.jsonl")
    return tmp_path


def refused(capsys, *more, pairs="pairs.jsonl", annotator="ann"):
    """What the command says when it ends at once, with its exit code 2."""
    assert main(["label", pairs, "--votes", "votes.jsonl", "--annotator", annotator, *more]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1
    return said


def test_what_is_wrong_is_named(folder, capsys):
    assert "none.jsonl: there is no such file" in refused(capsys, pairs="none.jsonl")
    assert "annotator 'a/b': use 1 to 64 letters" in refused(capsys, annotator="a/b")
    assert "--judge goes with --order active" in refused(capsys, "--judge", "baseline/longer")
    assert "--set: goes with --judge" in refused(capsys, "--set", "mode=one_pass")
    assert "--annotator ann: is named twice" in refused(capsys, "--annotator", "bob", "--annotator", "ann")
    assert "nothing/x" in refused(capsys, "--order", "active", "--judge", "nothing/x")
    assert "states no probabilities" in refused(capsys, "--order", "active", "--judge", "baseline/longer")
    assert main(["label", "pairs.jsonl", "--votes", "-", "--annotator", "ann"]) == 2 and not (folder / "-").exists()
    assert "--votes -: votes are kept in a file" in capsys.readouterr().err
    assert "none.md" in refused(capsys, "--instructions", "none.md")
    assert not (folder / "votes.jsonl").exists()
    (folder / "votes.jsonl").write_text("{}\n")
    assert "votes.jsonl, line 1: field 'item_id' is missing" in refused(capsys)


def test_a_file_or_a_port_in_use_is_named(folder, capsys):
    with closing(VoteFile(folder / "votes.jsonl")):
        assert "being written to this file already" in refused(capsys)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "--port" in refused(capsys, "--port", str(taken.getsockname()[1]))
    VoteFile(folder / "votes.jsonl").close()


@posix
def test_votes_are_there_after_an_interrupt(folder):
    written(folder / "votes.jsonl", vote("own-0", "zoe", "B"))
    with open(folder / "votes.jsonl", "a") as stream:
        stream.write('{"item_id": "own-1", "anno')
    more = ("--annotator", "ann", "--annotator", "张三", "--order", "file")
    with command("pairs.jsonl", "votes.jsonl", *more) as (process, links):
        assert any("note: votes.jsonl: the last line was not written" in line for line in process.said)
        for link in links.values():
            with Client(link) as client:
                assert client.now["pair"]["question"]["raw"] == "Question 0?"
                client.act("vote", choice="both_bad", comment="x" * 2000)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(20) == 0 and "3 votes are in votes.jsonl, both bad in 2" in rest
    assert read_votes(folder / "votes.jsonl").annotators == ("zoe", "ann", "张三")


def asked_first(*more, count=3):
    """The questions that an annotator sees first, and the exit code."""
    with command("pairs.jsonl", "votes.jsonl", "--annotator", "ann", *more) as (process, links):
        with Client(links["ann"]) as client:
            seen = []
            for _ in range(count):
                seen.append(client.now["pair"]["question"]["raw"])
                client.act("vote", choice="tie")
        process.send_signal(signal.SIGINT)
        assert "Traceback" not in process.stderr.read()
        return seen, process.wait(20)


@posix
def test_active_without_a_judge_is_fewest_votes_first(folder):
    written(folder / "votes.jsonl", *(vote(f"own-{n}", "zoe", LABELS[n % 3]) for n in range(18)))
    assert asked_first("--order", "active") == (["Question 18?", "Question 19?", "Question 0?"], 0)


@posix
def test_active_with_a_judge_is_what_consensus_wants_next(folder):
    from judgekit.judges import load_judge
    from judgekit.people.active import label_next
    from judgekit.scoring import run_judge
    from judgekit.scoring.items import stated_probabilities
    from judgekit.scoring.store import VerdictStore

    pairs = read_pairs(folder / "pairs.jsonl")
    with VerdictStore(":memory:") as store:
        verdicts = run_judge(load_judge("baseline/features"), pairs, store, progress=False)
    stated = stated_probabilities(verdicts, pairs)
    nobody = Votes(stated.items, ("ann",), [[-1]] * len(pairs))
    expected = [f"Question {item.removeprefix('own-')}?" for item in label_next(nobody, stated, 3)]
    assert asked_first("--order", "active", "--judge", "baseline/features") == (expected, 0)


@posix
def test_pairs_that_the_judge_failed_on_come_last_with_code_3(folder, serve):
    write_pairs(folder / "pairs.jsonl", 4)
    chances = {" A": math.log(0.6), " B": math.log(0.3), " C": math.log(0.1)}
    token = {"token": " A", "top_logprobs": [{"token": t, "logprob": p} for t, p in chances.items()]}
    serve(
        plan=lambda text, attempt: "500" if "Question 1?" in text else None,
        respond=lambda body, _: good_reply(body, " A", {"content": [token]}),
    )
    quick = ["backoff=0.005", "attempts=2", "timeout=5", "strategy=letter", "logprobs=true"]
    more = [word for value in quick for word in ("--set", value)]
    seen, code = asked_first("--order", "active", "--judge", "openai/tiny", *more, count=4)
    assert seen[-1] == "Question 1?" and len(set(seen)) == 4 and code == 3
