"""The file of votes: what was confirmed is never lost, what is wrong is named, one process writes at a time."""

import json
import os
import random
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import asdict

import pytest
from torture import flipped, flips

from judgekit.data.pairfile import PairFileError
from judgekit.people.labelling import votefile
from judgekit.people.labelling.votefile import TornLine, Vote, VoteFile, read_lines, read_votes

AT = "2026-01-02T03:04:05+00:00"


def vote(item="i1", annotator="ann", label="A", shown="ab", seconds=1.5):
    return Vote(item, annotator, label, shown, seconds, AT)


def fields(**changes):
    given = asdict(vote()) | changes
    return {name: value for name, value in given.items() if value is not ...}


def written(path, *votes):
    with closing(VoteFile(path)) as file:
        for one in votes:
            file.append(one)
    return path


def test_votes_come_back_as_a_table_whatever_an_item_id_holds(tmp_path):
    odd = 'a\n"\udc00,\u2028\x00é'
    path = written(tmp_path / "v.jsonl", vote(), vote(odd, label="tie"), vote(odd, "bob", "B", "ba", None))
    votes = read_votes(path, {"i1": "p", odd: "q"})
    assert votes.items == ("i1", odd) and votes.annotators == ("ann", "bob") and votes.clusters == ("p", "q")
    assert votes.codes.tolist() == [[0, -1], [2, 1]] and path.read_bytes().count(b"\n") == 3


def test_both_bad_is_a_tie_with_a_mark_and_a_file_of_before_is_read(tmp_path):
    bad = Vote("i2", "ann", "tie", "ba", 2.0, AT, None, True, "neither answers")
    path = written(tmp_path / "v.jsonl", vote(), bad)
    plain, marked = path.read_text().splitlines()
    assert "both_bad" not in plain and "comment" not in plain  # as before there were such votes, the check included
    assert read_lines(path) == [vote(), bad] and read_votes(path).codes.tolist() == [[0], [2]]
    path.write_text(f"{plain}\n{marked.replace('neither answers', 'both answer')}\n")
    with pytest.raises(PairFileError, match=r"line 2: field 'check'"):
        read_lines(path)
    with pytest.raises(ValueError, match="at most 2000"):
        Vote("i2", "ann", "tie", "ba", 2.0, AT, None, True, "x" * 2001)


def test_later_lines_supersede_and_null_takes_back(tmp_path):
    path = written(tmp_path / "v.jsonl", vote(), vote("i2"), vote("i2", label=None), vote(label="B"))
    votes = read_votes(path)
    assert votes.items == ("i1",) and votes.codes.tolist() == [[1]]
    assert len(read_lines(path)) == 4


@pytest.mark.parametrize("cut", range(1, 90, 8))
def test_a_torn_last_line_is_cut_off_and_the_rest_kept(tmp_path, cut):
    path = written(tmp_path / "v.jsonl", vote(), vote("i2"))
    whole = path.read_bytes()
    with open(path, "ab") as stream:
        stream.write(whole.splitlines(True)[1][:cut])
    with pytest.warns(TornLine, match=rf"\({cut} bytes, never confirmed\) and is left out; the 2 lines"):
        assert len(read_lines(path)) == 2
    with pytest.warns(TornLine, match="cut off"), closing(VoteFile(path)) as file:
        file.append(vote("i3"))
    assert path.read_bytes().startswith(whole) and read_votes(path).items == ("i1", "i2", "i3")


@pytest.mark.parametrize("content", ["my notes in one line", '{"id": 3, "verdict": ', "x" * 90_000])
def test_a_file_of_something_else_is_left_as_it_was(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with pytest.raises(PairFileError, match=r"notes\.txt, line 1: is no vote, nor the beginning of one"):
        VoteFile(path)
    assert path.read_text() == content


def test_a_line_without_a_sum_is_read_and_a_missing_last_line_end_is_no_torn_line(tmp_path, recwarn):
    path = tmp_path / "v.jsonl"
    path.write_text(json.dumps(fields(pair=...)))  # as a file without hashes of texts is
    written(path, vote("i2"))
    assert read_votes(path).items == ("i1", "i2") and not recwarn.list


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[]", "is a list, not an object"),
        ("{", "is not JSON in UTF-8"),
        ("\xff", "is not JSON in UTF-8 .*0xff"),
        (json.dumps(fields(label=...)), r"field 'label' is missing \(the row has: item_id"),
        (json.dumps(fields(label="C")), "field 'label' is 'C': .*'A', 'B' or 'tie'"),
        (json.dumps(fields(item_id="")), "field 'item_id' is '': "),
        (json.dumps(fields(item_id=7)), "field 'item_id' is the number 7: "),
        (json.dumps(fields(annotator="a\r\nb")), "field 'annotator' "),
        (json.dumps(fields(shown="a")), "field 'shown' is 'a': .*'ab' or 'ba'"),
        (json.dumps(fields(seconds=-1)), "field 'seconds' is the number -1: .*greater than or equal to 0"),
        (json.dumps(fields(seconds=True)), "field 'seconds' is the boolean true"),
        (json.dumps(fields(seconds=float("nan"))), "field 'seconds' is the number nan: "),
        (json.dumps(fields(at="yesterday")), "field 'at' is 'yesterday': "),
        (json.dumps(fields(judge="x")), "field 'judge' is 'x': Unexpected"),
        (json.dumps(fields(item_id="x" * 70_000)), "has 70[0-9]* bytes, which no vote has"),
    ],
)
def test_a_malformed_line_names_file_line_and_field(tmp_path, line, said):
    path = tmp_path / "v.jsonl"
    content = json.dumps(fields()).encode() + b"\n" + line.encode("latin-1") + b"\n" + json.dumps(fields()).encode()
    path.write_bytes(content)
    for attempt in (read_votes, VoteFile):
        with pytest.raises(PairFileError, match=rf"v\.jsonl, line 2: .*{said}"):
            attempt(path)
    assert path.read_bytes() == content


def test_a_flipped_bit_is_a_sentence_and_never_another_vote(tmp_path):
    """Before lines had a sum, one made a vote another item's, or unconfirmed."""
    report = flipped(*flips(tmp_path)["votes"], random.Random(5), 500)
    assert report["lost"] == 0 and report["refused"] > 400


def test_what_could_not_be_read_is_not_written(tmp_path):
    with closing(VoteFile(tmp_path / "v.jsonl")) as file:
        with pytest.raises(ValueError, match="'A', 'B' or 'tie'"):
            file.append(vote(label="C"))
        with pytest.raises(PairFileError, match="bytes, which no vote has"):
            file.append(vote("x" * 70_000))
        assert file.lines == [] and (tmp_path / "v.jsonl").read_bytes() == b""


@pytest.mark.parametrize("bad", ["", "a b", "../x", "_x", "a\r\nSet-Cookie: x", "a/b", "x" * 65, "a\x00", None])
def test_names_that_could_do_harm_are_refused(bad):
    with pytest.raises(ValueError, match="annotator"):
        votefile.checked_annotator(bad)
    assert votefile.checked_annotator("张三.2") == "张三.2"


def test_no_file_no_regular_file_and_a_vote_on_no_pair_are_named(tmp_path):
    with pytest.raises(PairFileError, match="no such file"):
        read_votes(tmp_path / "v.jsonl")
    for attempt in (read_votes, VoteFile):
        with pytest.raises(PairFileError, match="not a regular file"):
            attempt(tmp_path)
    with pytest.raises(PairFileError, match="cannot be written"):
        VoteFile(tmp_path / "none" / "v.jsonl")
    with pytest.raises(PairFileError, match=r"v\.jsonl: field 'item_id' ann voted on 'i1', which is none"):
        read_votes(written(tmp_path / "v.jsonl", vote()), {"other": "p"})


def test_a_vote_is_not_written_where_it_would_be_lost(tmp_path):
    path = tmp_path / "v.jsonl"
    with closing(VoteFile(path)) as file:
        file.append(vote())
        path.rename(tmp_path / "moved.jsonl")
        with pytest.raises(OSError, match="moved, deleted or replaced"):
            file.append(vote("i2"))
        path.write_text("")  # as an editor does that writes a new file
        with pytest.raises(OSError, match="moved, deleted or replaced"):
            file.append(vote("i2"))
        (tmp_path / "moved.jsonl").replace(path)
        file.append(vote("i2"))
        with open(path, "ab") as stream:
            stream.write(b'{"half')
        with pytest.raises(OSError, match="changed by another program"):
            file.append(vote("i3"))
        assert len(file.lines) == 2
    with pytest.raises(OSError, match="closed"):
        file.append(vote("i3"))


WRITER = """
import sys
from judgekit.people.labelling.votefile import Vote, VoteFile
file = VoteFile(sys.argv[1])
for n in range(100_000):
    file.append(Vote(f"i{n}", "ann", "A", "ab", 1.0, "2026-01-02T03:04:05+00:00"))
    print(n, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="kills as POSIX does")
def test_a_killed_writer_loses_nothing_that_it_confirmed_and_frees_the_file(tmp_path):
    path = tmp_path / "v.jsonl"
    with subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True) as writer:
        confirmed = [writer.stdout.readline() for _ in range(50)]
        with pytest.raises(votefile.VoteFileBusy, match="being written to this file already"):
            VoteFile(path)
        assert read_votes(path).items[:50] == tuple(f"i{n}" for n in range(50))
        writer.send_signal(signal.SIGKILL)
        confirmed += writer.stdout.read().splitlines()
    with closing(VoteFile(path)) as file:
        items = [one.item_id for one in file.lines]
    assert items == [f"i{n}" for n in range(len(items))] and len(items) >= len(confirmed) >= 50
