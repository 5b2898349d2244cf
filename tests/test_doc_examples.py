"""The examples of the docs run as they stand there, and what their tables list is what there is."""

import json
import re
import shlex
from dataclasses import fields

import numpy as np
import pytest
from chat_server import good_reply
from doc_page import run_examples, run_python, text_of
from judged_file import rows_of_pairs
from labelling_setting import Client, command, write_pairs

from judgekit.bias.edits import EDITS
from judgekit.cli import main
from judgekit.data.sample import load_sample, load_sample_ratings
from judgekit.inside.aspects import load_aspects
from judgekit.inside.rating import evaluate_samples, load_rater
from judgekit.people.labelling.app import PAGE
from judgekit.people.labelling.votefile import Vote, read_lines

BIASES, LABELLING = text_of("biases_and_attacks.md"), text_of("labelling.md")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def section(title):
    """Code blocks of a section of docs/inside_judges.md by language, each with its texts in order."""
    found = {}
    text = text_of("inside_judges.md").partition(f"## {title}")[2].partition("\n## ")[0]
    for language, block in re.findall(r"```(\w+)\n(.*?)```", text, re.S):
        found.setdefault(language, []).append(block)
    return found


def give(line):
    assert main(shlex.split(line.removeprefix("judgekit "))) == 0


def test_attacks_and_defences(capsys):
    names = run_examples("biases_and_attacks.md")
    said = capsys.readouterr().out.splitlines()
    assert names["report"].mean_success.value > names["screened"].mean_success.value
    assert "'search'" in said[1] and "'delta'" in said[-1] and len(said) == 4


def test_the_command_that_attacks(folder):
    pairs = [pair for pair in load_sample("sample_natural") if pair.label in ("A", "B")][:4]
    write_lines(folder / "pairs.jsonl", rows_of_pairs(pairs))
    (line,) = re.findall(r"```bash\n(.*?)\n```", BIASES)
    give(line)
    assert len((folder / "report.jsonl").read_text().splitlines()) == len(EDITS) + 3


def test_every_attack_is_in_the_table():
    rows = BIASES.partition("| attack |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", rows)) == set(EDITS)


def test_people_and_judges(capsys):
    names = run_examples("people_and_judges.md")
    truth = {pair.item_id: pair.label for pair in names["pairs"]}
    for name, found in names["found"].items():
        right = [found.classes[label] == truth[item] for item, label in zip(found.items, found.labels, strict=True)]
        assert np.mean(right) > 0.8, name
    ranked = list(names["people"]["annotator"])
    assert ranked[0] == "annotator-1" and ranked[-1] == "annotator-8"
    assert names["after"]["nll"].value < names["before"]["nll"].value
    assert names["both"].high - names["both"].low <= 1.1 * (names["alone"].high - names["alone"].low)
    assert len(capsys.readouterr().out.splitlines()) >= 7


def test_labelling_in_a_notebook(capsys):
    names = run_examples("labelling.md")
    assert names["votes"].given.all() and len(names["consensus"]) == 30
    assert not names["page"].thread.is_alive() and "IFrame" in capsys.readouterr().out


def test_the_command_that_labels(folder):
    write_pairs(folder / "pairs.jsonl")
    (line,) = re.findall(r"```bash\njudgekit label (.*?)\n```", LABELLING)
    pairs, option, votes, *more = shlex.split(line)
    assert option == "--votes"
    with command(pairs, votes, *more) as (_, links), Client(links["bob"]) as client:
        client.act("vote", choice="first")
    assert [vote.annotator for vote in read_lines(folder / votes)] == ["bob"]


def test_the_line_shown_is_a_vote(folder):
    (line,) = re.findall(r"```json\n(.*?)\n```", LABELLING)
    (folder / "v.jsonl").write_text(line + "\n")
    shown = json.loads(line)
    assert list(shown) == [*(field.name for field in fields(Vote)), "check"], "every field is shown"
    del shown["check"]
    assert read_lines(folder / "v.jsonl") == [Vote(**shown)]


def test_the_keys_are_the_pages():
    keys = set(re.findall(r"`(\w)`", LABELLING.partition("| key |")[2].partition("\n\n")[0]))
    html, script = ((PAGE / name).read_text(encoding="utf-8") for name in ("page.html", "page.js"))
    assert set(" ".join(re.findall(r'aria-keyshortcuts="([^"]+)"', html)).split()) == keys
    table = script.partition("const KEYS = {")[2].partition("}")[0]
    assert {key.upper() for key in re.findall(r"(\w): ", table)} == keys


def test_probes(folder):
    blocks, items = section("Probes"), load_sample_ratings()["factuality"]
    rows = [{"question": i.question, "response": i.response, "logicality": int(i.score)} for i in items]
    names, (first, second) = {"rows": rows}, blocks["python"]
    run_python(first, "inside_judges.md", names)
    assert [row["response"] for row in names["rated"]] == [sample["response"] for sample in names["samples"]]
    assert all(1 <= row["fluency"] <= 5 for row in names["rated"])
    write_lines(folder / "answers.jsonl", names["samples"])
    (line,) = blocks["bash"]
    give(line)
    assert len((folder / "rated.jsonl").read_text().splitlines()) == 1
    run_python(second, "inside_judges.md", names)
    assert load_rater(folder / "my-probes").aspects == ("logicality",)
    assert {"linear", "majority"} == set(names["estimates"]["method"])
    assert len(evaluate_samples(names["samples"], folder / "my-probes")) == 2


def asked_or_rating(body, text):
    """Both models at once: a teacher has a system message, and who is asked a question has none."""
    if body["messages"][0]["role"] == "user":
        return good_reply(body, f"The answer to {text}")
    score = 1 + int(re.findall(r"Question (\d+)", text)[-1]) % 3
    return good_reply(body, json.dumps({"score": score, "justification": "So it is."}))


def test_rating_by_a_teacher(folder, serve):
    blocks = section("Rating by a teacher")
    write_lines(folder / "questions.jsonl", [{"id": n, "question": f"Question {n}?"} for n in range(40)])
    server = serve(respond=asked_or_rating)
    give(next(line for line in "".join(blocks["bash"]).splitlines() if line.startswith("judgekit ")))
    for _ in range(2):  # the second time nothing is asked
        names = {}
        run_python("".join(blocks["python"]), "inside_judges.md", names)
        assert sum(server.asked.values()) == 40 * 6
    assert {row["teacher"] for row in names["rated"]} == {"openai/TEACHER"}
    assert [row["response"] for row in names["rated"]] == [f"The answer to Question {n}?" for n in range(40)]
    train, test = names["train"], names["test"]
    counts = train["logicality"].value_counts()
    assert set(counts.index) == {1, 2, 3} and counts.nunique() == 1
    assert 5 <= len(test) <= 15 and not set(train["id"]) & set(test["id"])
    (folder / "own.yaml").write_text("".join(blocks["yaml"]))
    aspect = load_aspects(folder / "own.yaml")["politeness"]
    assert aspect.scores == (0, 1, 2) and aspect.example.score == 0
