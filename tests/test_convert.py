"""``judgekit convert``: other people's files of pairs become ours, or are refused by line and field."""

import json

import pytest

from judgekit.cli import main
from judgekit.data.pairfile import read_pairs
from judgekit.records import Turn


def said(*texts):
    """A conversation, user first."""
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def parts(*texts):
    """The same with contents in parts, as LMArena has them: a picture stands between texts."""
    picture = {"type": "image", "text": None, "image": "x"}
    return [one | {"content": [{"type": "text", "text": one["content"]}, picture]} for one in said(*texts)]


def human(*texts):
    return "".join(f"\n\n{('Human', 'Assistant')[n % 2]}: {text}" for n, text in enumerate(texts))


ARENA = {"conversation_a": said("Q", "a"), "conversation_b": said("Q", "b"), "model_a": "x", "model_b": "y", "turn": 1}
SHOWN = {"conversation_a": parts("Q", "a"), "conversation_b": parts("Q", "b")}
# Name of a format to a row of its real schema (less some fields that are not read).
ROWS = {
    "chatbot-arena": ARENA | {"question_id": "q", "winner": "tie (bothbad)"},
    "mt-bench": ARENA | {"question_id": 81, "winner": "model_b"},
    "lmarena": SHOWN | {"id": "u", "winner": "both_bad"},
    "ppe": {"question_id": "q", "prompt": "Q", "response_1": "a", "response_2": "b", "winner": "model_a"},
    "alpaca-eval": {"instruction": "Q", "output_1": "a", "output_2": "b", "generator_1": "x", "preference": 1.98},
    "hh": {"chosen": human("Q", "a"), "rejected": human("Q", "b")},
    "ultrafeedback": {"prompt": "Q", "prompt_id": "p", "chosen": said("Q", "a"), "rejected": said("Q", "b")},
    "rewardbench": {"id": 3, "prompt": "Q", "chosen": "a", "chosen_model": "x", "rejected": "b", "subset": "hep"},
    "rewardbench2": {"id": "0", "prompt": "Q", "chosen": ["a"], "rejected": ["b", "c", "d"], "num_correct": 1},
    "rm-bench": {"id": 1, "prompt": "Q", "chosen": ["a", "b"], "rejected": ["c", "d"], "domain": "chat"},
    "judgebench": {"pair_id": "j", "question": "Q", "response_A": "a", "response_B": "b", "label": "B>A"},
    "helpsteer3": {"context": said("Q"), "response1": "a", "response2": "b", "overall_preference": -2},
}
# What is read of it: id, responses to Q, label.
READ = {"chatbot-arena": "q ab tie", "mt-bench": "1 ab B", "lmarena": "u ab tie", "ppe": "q ab A", "hh": "1 ab A"}
READ |= {"alpaca-eval": "1 ab B", "ultrafeedback": "p ab A", "rewardbench": "3 ab A", "judgebench": "j ab B"}
READ |= {"helpsteer3": "1 ab A", "rewardbench2": "0/1 ab A, 0/2 ac A, 0/3 ad A"}
READ |= {"rm-bench": "1/1 ac A, 1/2 ad A, 1/3 bc A, 1/4 bd A"}


def written(folder, *rows):
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def convert(folder, rows, *options):
    out = folder / "pairs.jsonl"
    code = main(["convert", written(folder, *rows), "--out", str(out), *options])
    return code, read_pairs(out) if out.exists() else None


def short(pair):
    return (pair.item_id, pair.question, pair.response_a, pair.response_b, pair.label)


@pytest.mark.parametrize("name", ROWS)
def test_a_published_form_is_read_by_its_name(tmp_path, name):
    code, pairs = convert(tmp_path, [ROWS[name]], "--format", name)
    found = [f"{pair.item_id} {pair.response_a}{pair.response_b} {pair.label}" for pair in pairs]
    assert code == 0 and ", ".join(found) == READ[name] and {pair.question for pair in pairs} == {"Q"}


def test_ids_that_no_other_command_takes_are_counted(tmp_path, capsys):
    row = {"id": 1, "question": "Q", "response_a": "a", "response_b": "b"}
    options = [f"--map={name}={name}" for name in row]
    assert main(["convert", written(tmp_path, row, row), "--out", str(tmp_path / "o"), *options]) == 0
    assert "note: ids that stand more than once, which no other command takes: 1 of 2" in capsys.readouterr().err


NUMBERS = {
    "helpsteer3": ("overall_preference", [(-3, "A"), (-1, "A"), (0, "tie"), (1, "B"), (3, "B")]),
    "alpaca-eval": ("preference", [(1, "A"), (1.0, "A"), (2.0, "B"), (1.5, "tie"), (0, "tie"), (1.2, "A")]),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_says_which_is_better(tmp_path, name):
    field, meant = NUMBERS[name]
    rows = [ROWS[name] | {field: value} for value in (float("nan"), *(value for value, _ in meant))]
    pairs = convert(tmp_path, rows, "--format", name)[1]
    assert [pair.label for pair in pairs] == [label for _, label in meant]


def test_true_and_false_and_numbers_of_any_length_are_labels(tmp_path, capsys):
    row = {"q": "Q", "a": "x", "b": "y", "l": True}
    maps = ["--map=question=q,response_a=a,response_b=b,label=l", "--label", "true=A", "--label", "false=B"]
    code, pairs = convert(tmp_path, [row, row | {"l": False}], *maps)
    assert code == 0 and [pair.label for pair in pairs] == ["A", "B"]
    assert convert(tmp_path, [row | {"l": 10**400}], *maps)[0] == 2
    assert "'1000000" in capsys.readouterr().err


def test_what_both_share_is_the_conversation(tmp_path):
    context = said("Hi", "Hello", "Q")
    row = ROWS["ultrafeedback"] | {"chosen": [*context, said("", "a")[1]], "rejected": [*context, said("", "b")[1]]}
    (pair,) = convert(tmp_path, [row], "--format", "ultrafeedback")[1]
    assert pair.turns == (Turn("Hi", "Hello", "Hello"),) and short(pair)[1:4] == ("Q", "a", "b")
    (row,) = (json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines())
    assert row["question"] == context


def test_what_is_no_pair_is_left_out_and_counted(tmp_path, capsys):
    row = ROWS["chatbot-arena"]
    other = row | {"conversation_a": said("Q", "a", "R", "c"), "conversation_b": said("Q", "b", "R", "d")}
    code, pairs = convert(tmp_path, [row, other, row | {"question_id": 2, "winner": ""}], "--format", "chatbot-arena")
    assert code == 0 and len(pairs) == 1
    told = capsys.readouterr().err
    assert "responses that answer different conversations, left out: 1" in told
    assert "a label that says nothing, left out: 1" in told and "1 pair in" in told


def test_names_of_ones_own(tmp_path):
    row = {"n": 7, "ask": {"text": "Q"}, "answers": ["a", "b"], "best": "second", "gold": "G"}
    texts = "question=ask.text,response_a=answers.0,response_b=answers.1"
    maps = [f"--map={paths}" for paths in (texts, "id=n", "label=best", "reference=gold")]
    code, (pair,) = convert(tmp_path, [row], *maps, "--label", "first=A", "--label", "second=B")
    assert code == 0 and (*short(pair), pair.reference) == ("7", "Q", "a", "b", "B", "G")


def test_columns_of_a_csv_may_be_empty_have_dots_and_hold_numbers(tmp_path, capsys):
    rows, out = tmp_path / "rows.csv", tmp_path / "pairs.jsonl"
    rows.write_text("q,r.a,b,label,reference,v-1,v2\nq1,x,yy,A,ref,A,B\nq2,x,yy,,,A,B\n")
    joined = "question=q,response_a=r.a,response_b=b,label=label,reference=reference,votes.ann-1=v-1,votes.bob=v2"
    assert main(["convert", str(rows), "--out", str(out), "--map", joined]) == 0
    assert "a label that says nothing, left out: 1" in capsys.readouterr().err
    (pair,) = read_pairs(out)
    assert (pair.response_a, pair.label, pair.reference) == ("x", "A", "ref")
    assert pair.votes == {"ann-1": "A", "bob": "B"}
    rows.write_text("instruction,output_1,output_2,preference\nq,a,b,1\nq,a,b,2.0\nq,a,b,nan\n")
    assert main(["convert", str(rows), "--out", str(out), "--format", "alpaca-eval"]) == 0
    assert [pair.label for pair in read_pairs(out)] == ["A", "B"]


def test_long_numbers_and_ids_that_are_null(tmp_path):
    rows = [{"id": None, "q": "Q", "a": ["a", "c"], "b": ["b"], "l": 1234567}] * 2
    maps = [*MAPS, "--map", "id=id", "--map", "label=l", "--label", "1234567=A"]
    code, pairs = convert(tmp_path, rows, *maps)
    assert code == 0 and [short(pair)[0] for pair in pairs] == ["1/1", "1/2", "2/1", "2/2"]


def test_annotators_columns_become_votes_and_their_majority_the_label(tmp_path):
    maps = [f"--map=votes.{who}={path}" for who, path in (("ann", "r 1"), ("bob", "r 2"), ("cid", "A"))]
    maps += ["--label", "left=A", "--label", "same=tie"]
    row = TEXTS | {"r 1": "left", "r 2": "left", "A": "same"}
    code, pairs = convert(tmp_path, [row, row | {"r 1": ""}], *MAPS, *maps)
    assert code == 0 and [pair.label for pair in pairs] == ["A", None]
    assert [pair.votes for pair in pairs] == [{"ann": "A", "bob": "A", "cid": "tie"}, {"bob": "A", "cid": "tie"}]


TEXTS = {"q": "Q", "a": "a", "b": "b"}
ULTRA = ["--format", "ultrafeedback"]
MAPS = ["--map", "question=q", "--map", "response_a=a", "--map", "response_b=b"]


@pytest.mark.parametrize(
    ("row", "options", "words"),
    [
        ({}, [], "give one of the two"),
        ({}, ["--format", "hh", *MAPS], "give one of the two"),
        ({}, ["--format", "nope"], "no format is called so; there are chatbot-arena, "),
        ({}, MAPS[:4], "--map response_b=PATH is missing"),
        ({}, [*MAPS, "--map", "winner=w"], "--map winner: a pair has question, "),
        ({}, [*MAPS, "--label", "x=C"], "--label x: write VALUE=A, "),
        (TEXTS, [*MAPS, "--label", "x=A"], "--label: what it reads is missing: --map label=PATH"),
        ({"q": "Q", "a": "a"}, MAPS, "line 1: field 'b' is missing (the row has: q, a)"),
        (TEXTS | {"b": 3}, MAPS, "line 1: field 'response_b' is the number 3, not text"),
        (TEXTS | {"l": "x"}, [*MAPS, "--map", "label=l"], "line 1: field 'l' is 'x', not one of A, B, tie"),
        (TEXTS, [*MAPS[:4], "--map", "response_b=b.0"], "field 'b.0' has no '0', for it is text"),
        ({"chosen": "x", "rejected": [], "prompt_id": 1}, ULTRA, "field 'chosen' is text, not a list of messages"),
        ({"chosen": "x", "rejected": "y"}, ["--format", "hh"], "holds no pairs"),
    ],
)
def test_bad_rows_and_bad_words(tmp_path, capsys, row, options, words):
    code, pairs = convert(tmp_path, [row], *options)
    told = capsys.readouterr().err
    assert (code, pairs) == (2, None) and told.count("\n") == 1
    assert told.startswith("error: ") and words in told


KNOWN = {"judges": "encoder/minilm", "prompts": "pairwise", "sets": "pandalm", "probes": "gsm8k-binary"}
KNOWN |= {"models": "smollm2-135m", "formats": "hh"}


@pytest.mark.parametrize("kind", KNOWN)
def test_names_are_listed(capsys, kind):
    assert main(["list", kind]) == 0
    names = capsys.readouterr().out.splitlines()
    assert KNOWN[kind] in names and len(set(names)) == len(names) > 1
    assert kind != "formats" or names == list(ROWS), "each is tried above"
