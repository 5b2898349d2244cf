"""Users' files of pairs: what is read, and what is said of those that are not."""

import gzip
import json
import os
import random
import re
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hostile import ODD_TEXTS

from judgekit.data.pairfile import PairFileError, read_pair_rows, read_pairs
from judgekit.data.pairfile.lines import records

PAIR = {"id": "x", "question": "q", "response_a": "one", "response_b": "two"}
GOOD = json.dumps(PAIR)


def pair_line(**changes):
    """A row with some fields changed; ``...`` leaves a field out."""
    return json.dumps({name: value for name, value in (PAIR | changes).items() if value is not ...})


def write(folder, content, name="pairs.jsonl"):
    """A file of the given text or bytes."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# Name -> (file name, content, what the message must hold). Shared with the tests of the command.
BAD_FILES = {
    "missing field": (
        "p.jsonl",
        GOOD + "\n" + pair_line(id="y", response_b=...),
        ["line 2", "'response_b'", "missing"],
    ),
    "no known field": ("p.jsonl", "{}", ["line 1", "'question'", "the row has: nothing"]),
    "number": ("p.jsonl", pair_line(response_a=12), ["line 1", "'response_a'", "the number 12"]),
    "null": ("p.jsonl", pair_line(question=None), ["line 1", "'question'", "null"]),
    "list": ("p.jsonl", pair_line(response_b=["two"]), ["line 1", "'response_b'", "a list"]),
    "object": ("p.jsonl", pair_line(response_b={"text": "two"}), ["'response_b'", "an object"]),
    "boolean": ("p.jsonl", pair_line(response_b=True), ["'response_b'", "boolean true"]),
    "invalid JSON": (
        "p.jsonl",
        "\n".join([pair_line(id=i) for i in range(6)] + ['{"id": 7,}']),
        ["line 7", "column 10"],
    ),
    "cut short": ("p.jsonl", GOOD[:-1], ["line 1", "not JSON", "one whole object per line"]),
    "trailing garbage": ("p.jsonl", GOOD + " x", ["line 1", "column", "Extra data"]),
    "two objects in a line": ("p.jsonl", GOOD + GOOD, ["line 1", "Extra data"]),
    "pretty-printed": ("p.jsonl", json.dumps(PAIR, indent=1), ["line 1", "one whole object per line"]),
    "array": ("p.jsonl", json.dumps([PAIR]), ["line 1", "JSON array", "one object per line"]),
    "array over lines": ("p.json", json.dumps([PAIR], indent=1), ["line 1", "JSON array"]),
    "top-level number": ("p.jsonl", "12", ["line 1", "the number 12"]),
    "top-level null": ("p.jsonl", GOOD + "\nnull", ["line 2", "is null"]),
    "top-level text": ("p.jsonl", '"text"', ["line 1", "is text"]),
    "huge number": ("p.jsonl", '{"id": ' + "1" * 5000 + "}", ["line 1", "not JSON that can be read"]),
    "too deep": ("p.jsonl", '{"a":' * 100_000, ["line 1", "nested too deeply"]),
    "raw control character": ("p.jsonl", '{"id": "a\x01b"}', ["line 1", "column", "control character"]),
    "empty": ("p.jsonl", "", ["holds no pairs"]),
    "blank": ("p.jsonl", "\n \r\n\t\n", ["holds no pairs"]),
    "byte-order mark only": ("p.jsonl", b"\xef\xbb\xbf", ["holds no pairs"]),
    "Latin-1": (
        "p.jsonl",
        GOOD.encode() + b"\n" + b'{"id": "caf\xe9"}',
        ["line 2", f"offset {len(GOOD) + 12}", "0xe9"],
    ),
    "UTF-16": ("p.jsonl", GOOD.encode("utf-16"), ["line 1", "UTF-16"]),
    "UTF-16 without mark": ("p.jsonl", GOOD.encode("utf-16-le"), ["line 1", "NUL byte"]),
    "NUL byte": ("p.jsonl", GOOD.replace("one", "o\0e"), ["line 1", "NUL byte", "column"]),
    "gzip without .gz": ("p.jsonl", gzip.compress(GOOD.encode()), ["gzip data"]),
    "no gzip in .gz": ("p.jsonl.gz", GOOD, ["gzip"]),
    "cut gzip": ("p.jsonl.gz", gzip.compress(GOOD.encode())[:-12], ["gzip"]),
    "duplicate ids": ("p.jsonl", "\n".join([GOOD, pair_line(id=2), GOOD]), ["line 3", "'id'", "'x'", "line 1"]),
    "duplicate of another type": ("p.jsonl", pair_line(id=1) + "\n" + pair_line(id="1"), ["line 2", "'id'", "line 1"]),
    "id that is a line number": ("p.jsonl", pair_line(id=2) + "\n" + pair_line(id=...), ["line 2", "'id'", "line 1"]),
    "id null": ("p.jsonl", pair_line(id=None), ["line 1", "'id'", "null"]),
    "id fraction": ("p.jsonl", pair_line(id=1.5), ["line 1", "'id'", "1.5"]),
    "id boolean": ("p.jsonl", pair_line(id=True), ["line 1", "'id'", "boolean"]),
    "id empty": ("p.jsonl", pair_line(id=""), ["line 1", "'id'", "empty"]),
    "unknown label": ("p.jsonl", pair_line(label="left"), ["line 1", "'label'", "'left'"]),
    "ambiguous label": ("p.jsonl", pair_line(label="1"), ["line 1", "'label'", "'1'", "A, B or tie"]),
    "label number": ("p.jsonl", pair_line(label=0), ["line 1", "'label'", "the number 0"]),
    "reference list": ("p.jsonl", pair_line(reference=[]), ["line 1", "'reference'", "a list"]),
    "field twice": ("p.jsonl", '{"id": 1, "question": "q", "question": "r"}', ["line 1", "'question'", "twice"]),
    "mixed formats": (
        "p.jsonl",
        GOOD + "\n" + '{"prompt": "q", "chosen": "c", "rejected": "r"}',
        ["line 2", "chosen/rejected", "line 1"],
    ),
    "both formats": ("p.jsonl", pair_line(chosen="c"), ["line 1", "which pair"]),
    "chosen without rejected": ("p.jsonl", '{"prompt": "q", "chosen": "c"}', ["line 1", "'rejected'", "missing"]),
    "chosen without prompt": ("p.jsonl", '{"chosen": "c", "rejected": "r"}', ["line 1", "'prompt'", "missing"]),
    "chosen number": ("p.jsonl", '{"prompt": "q", "chosen": 1, "rejected": "r"}', ["line 1", "'chosen'", "number 1"]),
    "no messages": ("p.jsonl", '{"prompt": [], "chosen": "c", "rejected": "r"}', ["line 1", "'prompt'", "empty list"]),
    "message without content": (
        "p.jsonl",
        '{"prompt": [{"role": "user"}], "chosen": "c", "rejected": "r"}',
        ["line 1", "'prompt[0].content'", "missing"],
    ),
    "message text": ("p.jsonl", '{"prompt": ["q"], "chosen": "c", "rejected": "r"}', ["'prompt[0]'", "is text"]),
    "unknown role": (
        "p.jsonl",
        '{"prompt": [{"role": "tool", "content": ""}], "chosen": "c", "rejected": "r"}',
        ["line 1", "'prompt[0].role'", "'tool'"],
    ),
    "prompt ends with assistant": (
        "p.jsonl",
        '{"prompt": [{"role": "assistant", "content": ""}], "chosen": "c", "rejected": "r"}',
        ["line 1", "'prompt'", "user message"],
    ),
    "label against chosen": (
        "p.jsonl",
        '{"prompt": "q", "chosen": "c", "rejected": "r", "label": "B"}',
        ["line 1", "'label'", "'B'"],
    ),
    "CSV empty": ("p.csv", "", ["holds no pairs"]),
    "CSV header only": ("p.csv", "id,question,response_a,response_b\n", ["holds no pairs"]),
    "CSV without header": ("p.csv", "1,q,a,b\n2,q,a,b\n", ["line 2", "'question'", "missing"]),
    "CSV too few columns": ("p.csv", "question,response_a,response_b\nq,a,b\n\nq,a\n", ["line 4", "2 columns", "3"]),
    "CSV too many columns": ("p.csv", "question,response_a,response_b\nq,a,b,c\n", ["line 2", "4 columns"]),
    "CSV duplicate header": ("p.csv", "question,response_a,response_a\nq,a,b\n", ["line 1", "'response_a'", "twice"]),
    "CSV missing column": ("p.csv", "question,response_a\nq,a\n", ["line 2", "'response_b'", "missing"]),
    "CSV after quote": ("p.csv", 'question,response_a,response_b\nq,"a"x,b\n', ["line 2", "not CSV"]),
    "CSV open quote": ("p.csv", 'question,response_a,response_b\nq,a,b\nq,"a,b\n\n', ["line 3", "not CSV"]),
    "CSV line of a row": ("p.csv", 'id,question,response_a,response_b\n1,"q\n\n",a,b\n1,q,a,b\n', ["line 5", "line 2"]),
    "CSV empty id": ("p.csv", "id,question,response_a,response_b\n,q,a,b\n", ["line 2", "'id'", "empty"]),
    "CSV not UTF-8": ("p.csv", b"question,response_a,response_b\nq,\xff,b\n", ["line 2", "0xff", "offset 33"]),
    "CSV NUL byte": ("p.csv", "question,response_a,response_b\nq,\0,b\n", ["line 2", "NUL"]),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_named(tmp_path, name):
    """Every defect is one sentence with the file, the line, the field and what was found."""
    file, content, wanted = BAD_FILES[name]
    path = write(tmp_path, content, file)
    with pytest.raises(PairFileError) as caught:
        read_pairs(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    for words in wanted:
        assert words in message


def test_files_that_cannot_be_opened(tmp_path, monkeypatch):
    with pytest.raises(PairFileError, match="no such file"):
        read_pairs(tmp_path / "none.jsonl")
    with pytest.raises(PairFileError, match="is a folder"):
        read_pairs(tmp_path)
    with pytest.raises(PairFileError, match="cannot be read"):
        read_pairs(tmp_path / ("x" * 300))
    with pytest.raises(PairFileError, match="NUL in its name"):
        read_pairs("a\0b")
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
    rows = read_pair_rows(write(tmp_path, "\r\n".join(lines)))
    assert [row.id for row in rows] == [7, "é", 4, "\ud800"]
    assert [row.pair.item_id for row in rows] == ["7", "é", "4", "\\ud800"]


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_any_text_is_a_response(tmp_path, text):
    pair = read_pairs(write(tmp_path, pair_line(response_a=text, note={"extra": [1, None]})))[0]
    assert (pair.response_a, pair.response_b) == (text, "two")


LABELS = {"A": "A", "b": "B", "Tie": "tie", "TIE": "tie", "c": "tie", " a ": "A", "response_B": "B", "draw": "tie"}


@pytest.mark.parametrize("given, label", [*LABELS.items(), ("", None), (None, None)])
def test_labels(tmp_path, given, label):
    assert read_pairs(write(tmp_path, pair_line(label=given)))[0].label == label


def test_formats_agree(tmp_path):
    """CSV, gzip, a byte-order mark and chosen/rejected give the pair that JSON lines give."""
    texts = ('say "hi",\nthen go', "", "b\r\nb")
    plain = write(tmp_path, json.dumps(dict(zip(("question", "response_a", "response_b"), texts, strict=True))))
    expected = read_pairs(plain)[0]
    quoted = ",".join('"' + text.replace('"', '""') + '"' for text in texts)
    table = f"question, response_a ,response_b,label,reference,other\r\n{quoted},,,\r\n"
    chosen = dict(zip(("prompt", "chosen", "rejected"), texts, strict=True))
    files = {
        "p.csv": table,
        "mark.csv": "\ufeff" + table,
        "p.CSV.gz": gzip.compress(table.encode()),
        "p.jsonl.gz": gzip.compress(plain.read_bytes()),
        "mark.jsonl": b"\xef\xbb\xbf" + plain.read_bytes(),
        "chosen.jsonl": json.dumps(chosen),
    }
    for name, content in files.items():
        pair = read_pairs(write(tmp_path, content, name))[0]
        assert (pair.question, pair.response_a, pair.response_b) == texts
        assert pair.cluster_id == expected.cluster_id
        assert pair.label == ("A" if "chosen" in name else None)


def message(role, content):
    return {"role": role, "content": content}


CONTEXT = [message("system", "Be brief."), message("user", "1?"), message("assistant", "One."), message("user", "2?")]


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": CONTEXT, "chosen": [message("assistant", "c")], "rejected": [message("assistant", "r")]},
        {"prompt": CONTEXT, "chosen": "c", "rejected": "r"},
        {"chosen": [*CONTEXT, message("assistant", "c")], "rejected": [*CONTEXT, message("assistant", "r")]},
        {
            "prompt": "2?",
            "chosen": [*CONTEXT, message("assistant", "c")],
            "rejected": [*CONTEXT, message("assistant", "r")],
        },
        {
            "prompt": CONTEXT,
            "chosen": [*CONTEXT, message("assistant", "c")],
            "rejected": [*CONTEXT, message("assistant", "r")],
        },
    ],
    ids=["lists", "texts", "no prompt", "last question as prompt", "prompt repeated"],
)
def test_message_lists(tmp_path, row):
    """The forms that preference sets keep a conversation in are one pair."""
    pair = read_pairs(write(tmp_path, json.dumps(row)))[0]
    assert (pair.question, pair.response_a, pair.response_b, pair.label) == ("2?", "c", "r", "A")
    assert [(turn.question, turn.response_a) for turn in pair.turns] == [("Be brief.\n\n1?", "One.")]


def test_equal_responses_are_a_pair(tmp_path):
    conversation = [message("user", "q"), message("assistant", "same")]
    pair = read_pairs(write(tmp_path, json.dumps({"chosen": conversation, "rejected": conversation})))[0]
    assert pair.response_a == pair.response_b == "same"


# --- small files that fill memory


def packed(path, *parts):
    """A gzipped file of parts, each (bytes, how many times)."""
    path.write_bytes(b"".join(gzip.compress(content, 9) * times for content, times in parts))
    return path


def repeated(text, times):
    """A column that holds one text many times and stores it once."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * times, pa.int32()), pa.array([text]))


def listed(values):
    """A column of lists of one value each."""
    return pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), values)


def parquet_bomb(path, rows):
    """A few kilobytes that state long texts many times."""
    pq.write_table(pa.table(rows), path, compression="zstd", store_schema=False)
    return path


LONG = b"x" * 2**20
OBJECTS = b"{}," * 2**18
ROW = json.dumps({"question": "", "response_a": "", "response_b": "x" * 2**14}).encode() + b"\n"
BOMBS = {
    "CSV of one cell over many lines": (
        lambda folder: packed(
            folder / "b.csv.gz", (b'question,response_a,response_b\n"', 1), (LONG[:-1] + b"\n", 4096)
        ),
        "line 2: is longer than 8 MiB",
    ),
    "CSV of one line": (lambda folder: packed(folder / "b.csv.gz", (LONG, 2048)), "line 1: is longer than 8 MiB"),
    "a line of small objects": (
        lambda folder: packed(folder / "b.jsonl.gz", (b'{"a": [', 1), (OBJECTS, 20), (b"0]}", 1)),
        "line 1: is longer than 8 MiB",
    ),
    "a record within the bound": (
        lambda folder: packed(folder / "b.jsonl.gz", (b'{"a": [', 1), (OBJECTS, 10), (b"0]}", 1)),
        "line 1: field 'question' is missing",
    ),
    "rows without end": (
        lambda folder: packed(folder / "b.jsonl.gz", (ROW * 64, 1024)),
        "the file unpacks to more than",
    ),
    "a list of small objects": (
        lambda folder: packed(folder / "b.json.gz", (b'[{"a": [', 1), (OBJECTS, 60), (b"0]}]", 1)),
        "unpacks to more than|is longer than 8 MiB",
    ),
    "a list without end": (
        lambda folder: packed(folder / "b.json.gz", (b"[", 1), (LONG[:-1] + b"\n", 1024)),
        "holds more than 64 MiB|unpacks to more than",
    ),
    "Parquet of one long text in every row": (
        lambda folder: parquet_bomb(
            folder / "b.parquet", {"question": repeated(random.Random(0).randbytes(9 * 2**19).hex(), 5000)}
        ),
        "row 1: is longer than 8 MiB",
    ),
    "Parquet of one long text in every list": (
        lambda folder: parquet_bomb(
            folder / "b.parquet", {"question": listed(repeated(random.Random(0).randbytes(7 * 2**19).hex(), 5000))}
        ),
        "row 1: field 'question' is a list, not text",
    ),
    "Parquet of texts that compress beyond reason": (
        lambda folder: parquet_bomb(folder / "b.parquet", {"question": ["x" * 2**22 + str(n) for n in range(30)]}),
        "row group 1: unpacks to more than",
    ),
    "Parquet of a list of many values": (
        lambda folder: parquet_bomb(folder / "b.parquet", {"question": [[""] * 2 * 10**6]}),
        "row group 1: unpacks to more than",
    ),
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


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux: ru_maxrss begins at the parent's")
def test_a_small_file_does_not_fill_memory(tmp_path, name):
    make, words = BOMBS[name]
    path = make(tmp_path)
    assert path.stat().st_size < 6 * 2**20
    done = subprocess.run([sys.executable, "-c", MEASURE, path], capture_output=True, text=True, check=True)
    message, kilobytes = done.stdout.splitlines()
    assert message.startswith(str(path)) and re.search(words, message)
    assert int(kilobytes) < 500_000


def test_a_parquet_row_has_what_was_written(tmp_path):
    """Texts that stand in many rows, in messages, and in none."""
    turns = [{"role": "user", "content": "é"}, {"role": "assistant", "content": None}]
    rows = [
        {"id": n, "question": "same", "turns": turns[: n % 3], "none": None, "bytes": b"\xff", "long": f"{n}" * 500}
        for n in range(3000)
    ]
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=1100)
    assert [fields for _, fields in records(path)] == rows
