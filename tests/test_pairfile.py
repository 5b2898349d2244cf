"""Users' files of pairs: what is read, and what is said of those that are not."""

import gzip
import json
import os
import pickle
import random
import re
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hostile import ODD_TEXTS

from judgekit.data.pairfile import PairFileError, iterate_unique_rows, read_pairs
from judgekit.data.pairfile.lines import records

PAIR = {"id": "x", "question": "q", "response_a": "one", "response_b": "two"}
CHOSEN = {"prompt": "q", "chosen": "c", "rejected": "r"}
GOOD = json.dumps(PAIR)


def pair_line(row=PAIR, **changes):
    """A row with some fields changed; ``...`` leaves a field out."""
    return json.dumps({name: value for name, value in (row | changes).items() if value is not ...})


def chosen_line(**changes):
    return pair_line(CHOSEN, **changes)


def message(role, content):
    return {"role": role, "content": content}


def write(folder, content, name="pairs.jsonl"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# Name -> content of a file, and what the message must hold.
BAD_LINES = {
    "missing field": (GOOD + "\n" + pair_line(id="y", response_b=...), ["line 2", "'response_b'", "missing"]),
    "no known field": ("{}", ["line 1", "'question'", "the row has: nothing"]),
    "number": (pair_line(response_a=12), ["line 1", "'response_a'", "the number 12"]),
    "null": (pair_line(question=None), ["line 1", "'question'", "null"]),
    "list": (pair_line(response_b=["two"]), ["line 1", "'response_b'", "a list"]),
    "object": (pair_line(response_b={"text": "two"}), ["'response_b'", "an object"]),
    "invalid JSON": ("\n".join([pair_line(id=i) for i in range(6)] + ['{"id": 7,}']), ["line 7", "column 10"]),
    "trailing garbage": (GOOD + " x", ["line 1", "column", "Extra data"]),
    "pretty-printed": (json.dumps(PAIR, indent=1), ["line 1", "one whole object per line"]),
    "array": (json.dumps([PAIR]), ["line 1", "JSON array", "one object per line"]),
    "top-level text": ('"text"', ["line 1", "is text"]),
    "huge number": ('{"id": ' + "1" * 5000 + "}", ["line 1", "not JSON that can be read"]),
    "too deep": ('{"a":' * 100_000, ["line 1", "nested too deeply"]),
    "blank": ("\n \r\n\t\n", ["holds no pairs"]),
    "byte-order mark only": (b"\xef\xbb\xbf", ["holds no pairs"]),
    "Latin-1": (GOOD.encode() + b"\n" + b'{"id": "caf\xe9"}', ["line 2", f"offset {len(GOOD) + 12}", "0xe9"]),
    "UTF-16": (GOOD.encode("utf-16"), ["line 1", "UTF-16"]),
    "NUL byte": (GOOD.replace("one", "o\0e"), ["line 1", "NUL byte", "column"]),
    "a workbook": (b"PK\x03\x04\x14\0", ["line 1", "a ZIP archive, as .xlsx and .docx are", "JSON lines (.jsonl), C"]),
    "pickle": (pickle.dumps([1]), ["line 1", "is a pickle", "which is not read"]),
    "gzip without .gz": (gzip.compress(GOOD.encode()), ["gzip data"]),
    "duplicate ids": ("\n".join([GOOD, pair_line(id=2), GOOD]), ["line 3", "'id'", "'x'", "line 1"]),
    "duplicate of another type": (pair_line(id=1) + "\n" + pair_line(id="1"), ["line 2", "'id'", "line 1"]),
    "id that is a line number": (pair_line(id=2) + "\n" + pair_line(id=...), ["line 2", "'id'", "line 1"]),
    "id null": (pair_line(id=None), ["line 1", "'id'", "null"]),
    "id boolean": (pair_line(id=True), ["line 1", "'id'", "boolean"]),
    "id empty": (pair_line(id=""), ["line 1", "'id'", "empty"]),
    "unknown label": (pair_line(label="left"), ["line 1", "'label'", "'left'"]),
    "third letter": (pair_line(label="C"), ["line 1", "'label'", "'C'", "A, B or tie"]),  # of three, or a tie?
    "ambiguous label": (pair_line(label="1"), ["line 1", "'label'", "'1'", "A, B or tie"]),
    "votes text": (pair_line(votes="A"), ["line 1", "field 'votes' is text, not an object from annotator to label"]),
    "vote unknown": (pair_line(votes={"ann": "C"}), ["line 1", "field 'votes.ann' is 'C', not A, B or tie"]),
    "a person twice": (GOOD[:-1] + ', "votes": {"ann": "A", "ann": "B"}}', ["line 1", "'ann'", "twice"]),
    "mixed formats": (GOOD + "\n" + chosen_line(), ["line 2", "chosen/rejected", "line 1"]),
    "both formats": (pair_line(chosen="c"), ["line 1", "which pair"]),
    "chosen without rejected": (chosen_line(rejected=...), ["line 1", "'rejected'", "missing"]),
    "chosen without prompt": (chosen_line(prompt=...), ["line 1", "'prompt'", "missing"]),
    "no messages": (chosen_line(prompt=[]), ["line 1", "'prompt'", "empty list"]),
    "no content": (chosen_line(prompt=[{"role": "user"}]), ["line 1", "'prompt[0].content'", "missing"]),
    "message text": (chosen_line(prompt=["q"]), ["'prompt[0]'", "is text"]),
    "unknown role": (chosen_line(prompt=[message("tool", "")]), ["line 1", "'prompt[0].role'", "'tool'"]),
    "nothing asked": (chosen_line(prompt=[message("assistant", "")]), ["line 1", "'prompt'", "user message"]),
    "label against chosen": (chosen_line(label="B"), ["line 1", "'label'", "'B'"]),
}
BAD_TABLES = {
    "CSV header only": ("id,question,response_a,response_b\n", ["holds no pairs"]),
    "CSV without header": ("1,q,a,b\n2,q,a,b\n", ["line 2", "'question'", "missing"]),
    "CSV too many columns": ("question,response_a,response_b\nq,a,b\n\nq,a,b,c\n", ["line 4", "4 columns", "3"]),
    "CSV with semicolons": ("question;response_a;response_b\nq, r;a;b\n", ["line 1", "with commas", "tabs as .tsv"]),
    "CSV too few after an empty row": ("question,response_a,response_b\n,,\nq,a\n", ["line 3", "2 columns"]),
    "CSV cell under no name": ("question,response_a,response_b,,\nq,a,b,,\nq,a,b,,c\n", ["line 3", "5 columns", "3"]),
    "CSV two columns without a name": (",,question\n1,2,q\n", ["line 1", "''", "twice"]),
    "CSV duplicate header": ("question,response_a,response_a\nq,a,b\n", ["line 1", "'response_a'", "twice"]),
    "CSV open quote": ('question,response_a,response_b\nq,a,b\nq,"a,b\n\n', ["line 3", "not CSV"]),
    "CSV line of a row": ('id,question,response_a,response_b\n1,"q\n\n",a,b\n1,q,a,b\n', ["line 5", "line 2"]),
    "CSV empty id": ("id,question,response_a,response_b\n,q,a,b\n", ["line 2", "'id'", "empty"]),
}
BAD_FILES = {  # with its name: for the tests of the command
    "array in lines": ("p.jsonl", json.dumps([PAIR], indent=1), ["line 1", "JSON array"]),
    "second of a list": (
        "p.json",
        json.dumps([PAIR, {"question": "Q"}], indent=1),
        ["row 2 (line 8)", "response_a", "missing"],
    ),
    "an id twice in a line": ("p.json", f"[{GOOD},{GOOD}]", ["row 2 (line 1)", "'id'", "'x'", "in row 1"]),
    "no gzip in .gz": ("p.jsonl.gz", GOOD, ["gzip"]),
    "cut gzip": ("p.jsonl.gz", gzip.compress(GOOD.encode())[:-12], ["gzip"]),
    **{name: ("p.jsonl", *bad) for name, bad in BAD_LINES.items()},
    **{name: ("p.csv", *bad) for name, bad in BAD_TABLES.items()},
}


def test_rows_of_a_list_have_ids_of_their_own_though_they_share_a_line(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(
        json.dumps([{name: PAIR[name] for name in ("response_a", "response_b")} | {"question": word} for word in "uvw"])
    )
    assert [(pair.item_id, pair.question) for pair in read_pairs(path)] == [("1", "u"), ("2", "v"), ("3", "w")]


def test_files_that_cannot_be_opened(tmp_path, monkeypatch):
    closed = {
        tmp_path / "none.jsonl": "no such file",
        tmp_path: "is a folder",
        tmp_path / ("x" * 300): "cannot be read",
        "a\0b": "NUL in its name",
    }
    for path, words in closed.items():
        with pytest.raises(PairFileError, match=words):
            read_pairs(path)
    path = write(tmp_path, GOOD)
    if os.geteuid() == 0:  # root may read anything, so the refusal is made up

        def refuse(*args):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("builtins.open", refuse)
    else:
        path.chmod(0)
    with pytest.raises(PairFileError, match="Permission denied"):
        read_pairs(path)


def test_ids_are_kept_and_default_to_the_line(tmp_path):
    lines = [pair_line(id=7), "", pair_line(id="é"), pair_line(id=...), pair_line(id="\ud800")]
    rows = list(iterate_unique_rows(write(tmp_path, "\r\n".join(lines))))
    assert [row.id for row in rows] == [7, "é", 4, "\ud800"]
    assert [row.pair.item_id for row in rows] == ["7", "é", "4", "\\ud800"]


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_any_text_is_a_response(tmp_path, text):
    pair = read_pairs(write(tmp_path, pair_line(response_a=text, note={"extra": [1, None]})))[0]
    assert (pair.response_a, pair.response_b) == (text, "two")


LABELS = {"A": "A", "b": "B", "Tie": "tie", "TIE": "tie", " a ": "A", "response_B": "B", "draw": "tie"}


@pytest.mark.parametrize("given, label", [*LABELS.items(), ("", None), (None, None)])
def test_labels(tmp_path, given, label):
    assert read_pairs(write(tmp_path, pair_line(label=given)))[0].label == label


def test_formats_agree(tmp_path):
    texts = ('say "hi",\nthen go', "", "b\r\nb")
    plain = write(tmp_path, json.dumps(dict(zip(("question", "response_a", "response_b"), texts, strict=True))))
    expected = read_pairs(plain)[0]
    quoted = ['"' + text.replace('"', '""') + '"' for text in texts]
    table = f"question, response_a ,response_b,label,reference,other\r\n{','.join(quoted)},,,\r\n"
    tabs = "\t".join(("question", "response_a", "response_b")) + "\n" + "\t".join(quoted)
    chosen = dict(zip(("prompt", "chosen", "rejected"), texts, strict=True))
    files = {
        "p.csv": table,
        "mark.csv": "\ufeff" + table,
        "p.tsv": tabs,
        "p.CSV.gz": gzip.compress(table.encode()),
        "p.jsonl.gz": gzip.compress(plain.read_bytes()),
        "mark.jsonl": b"\xef\xbb\xbf" + plain.read_bytes(),
        "emptied.csv": "question,response_a,response_b,label,,\n" + ",".join(quoted) + ",,,\n",
        "chosen.jsonl": json.dumps(chosen),
        "p.json": json.dumps([json.loads(plain.read_text())], indent=1),
    }
    for name, content in files.items():
        pair = read_pairs(write(tmp_path, content, name))[0]
        assert (pair.question, pair.response_a, pair.response_b) == texts
        assert pair.cluster_id == expected.cluster_id
        assert pair.label == ("A" if "chosen" in name else None)


CONTEXT = [message("system", "Be brief."), message("user", "1?"), message("assistant", "One."), message("user", "2?")]
ENDS = {"chosen": [message("assistant", "c")], "rejected": [message("assistant", "r")]}
WHOLE = {name: [*CONTEXT, *end] for name, end in ENDS.items()}
CONVERSATIONS = {
    "lists": {"prompt": CONTEXT, **ENDS},
    "texts": {"prompt": CONTEXT, "chosen": "c", "rejected": "r"},
    "no prompt": WHOLE,
    "last question as prompt": {"prompt": "2?", **WHOLE},
    "prompt repeated": {"prompt": CONTEXT, **WHOLE},
}


@pytest.mark.parametrize("row", CONVERSATIONS.values(), ids=CONVERSATIONS)
def test_message_lists(tmp_path, row):
    pair = read_pairs(write(tmp_path, json.dumps(row)))[0]
    assert (pair.question, pair.response_a, pair.response_b, pair.label) == ("2?", "c", "r", "A")
    assert [(turn.question, turn.response_a) for turn in pair.turns] == [("Be brief.\n\n1?", "One.")]


def test_equal_responses_are_a_pair(tmp_path):
    conversation = [message("user", "q"), message("assistant", "same")]
    pair = read_pairs(write(tmp_path, json.dumps({"chosen": conversation, "rejected": conversation})))[0]
    assert pair.response_a == pair.response_b == "same"


# --- small files that fill memory


def long_text(size):
    """A text of random digits, 5000 times; a column stores it once."""
    text = random.Random(0).randbytes(size).hex()
    return pa.DictionaryArray.from_arrays(pa.array([0] * 5000, pa.int32()), pa.array([text]))


def listed(values):
    return pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), values)


LONG = b"x" * (2**20 - 1) + b"\n"
OBJECTS = b"{}," * 2**18
# A row that lets what follows it grow as far as no text does.
NOISE = json.dumps({"question": random.Random(0).randbytes(2**19).hex(), "response": "r"}).encode()
ROW = json.dumps({"question": "", "response_a": "", "response_b": "x" * 2**14}).encode() + b"\n"
PACKED = {  # parts of a gzipped file, each (bytes, how many times)
    "b.csv.gz": ([(b'question,response_a,response_b\n"', 1), (LONG, 4096)], "line 2: is longer than 8 MiB"),
    "line.jsonl.gz": ([(b'{"a": [', 1), (OBJECTS, 20), (b"0]}", 1)], "line 1: is longer than 8 MiB"),
    "within.jsonl.gz": ([(b'{"a": [', 1), (OBJECTS, 10), (b"0]}", 1)], "line 1: field 'question' is missing"),
    "rows.jsonl.gz": ([(ROW * 64, 1024)], "the file unpacks to more than"),
    "objects.json.gz": ([(b'[{"a": [', 1), (OBJECTS, 60), (b"0]}]", 1)], "unpacks to more than|is longer than 8 MiB"),
    "long.json.gz": ([(b"[" + NOISE + b', {"a": [', 1), (OBJECTS, 60), (b"0]}]", 1)], "line 1: is longer than 8 MiB"),
    "endless.json.gz": ([(b"[", 1), (LONG, 1024)], "holds more than 64 MiB|unpacks to more than"),
}
COLUMNS = {  # a few kilobytes of Parquet that state long texts many times
    "text.parquet": (lambda: long_text(9 * 2**19), "row 1: is longer than 8 MiB"),
    "list.parquet": (lambda: listed(long_text(7 * 2**19)), r"row 1: field 'question\[0\]' is text, not an object"),
    "texts.parquet": (lambda: ["x" * 2**22 + str(n) for n in range(30)], "row group 1: unpacks to more than"),
    "values.parquet": (lambda: [[""] * 2 * 10**6], "row group 1: unpacks to more than"),
}
MEASURE = """
import sys
from judgekit.data.pairfile import PairFileError, read_pairs, read_response_rows
try:
    (read_response_rows if ".json." in sys.argv[1] else read_pairs)(sys.argv[1])
except PairFileError as error:
    print(error)
print(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
"""


def test_a_repeated_id_is_named_wherever_a_file_is_read(tmp_path):
    with pytest.raises(PairFileError, match="line 3: field 'id' is 'x', which also stands in line 1"):
        read_pairs(write(tmp_path, BAD_LINES["duplicate ids"][0]))


@pytest.mark.parametrize("name", [*PACKED, *COLUMNS])
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux: ru_maxrss begins at the parent's")
def test_a_small_file_does_not_fill_memory(tmp_path, name):
    path = tmp_path / name
    if name in PACKED:
        parts, words = PACKED[name]
        path.write_bytes(b"".join(gzip.compress(content, 9) * times for content, times in parts))
    else:
        column, words = COLUMNS[name]
        pq.write_table(pa.table({"question": column()}), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 6 * 2**20
    done = subprocess.run([sys.executable, "-c", MEASURE, path], capture_output=True, text=True, check=True)
    message, kilobytes = done.stdout.splitlines()
    assert message.startswith(str(path)) and re.search(words, message)
    assert int(kilobytes) < 500_000


def test_a_date_beyond_those_of_python_is_named_by_its_row(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"question": ["q"], "at": pa.array([2**62], pa.timestamp("us"))}), path)
    with pytest.raises(PairFileError, match=r"rows\.parquet, row 1: .*date value out of range"):
        read_pairs(path)


def test_a_parquet_row_has_what_was_written(tmp_path):
    turns = [{"role": "user", "content": "é"}, {"role": "assistant", "content": None}]
    rows = [
        {"id": n, "question": "same", "turns": turns[: n % 3], "none": None, "bytes": b"\xff", "long": f"{n}" * 500}
        for n in range(3000)
    ]
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=1100)
    assert [fields for _, fields in records(path)] == rows
