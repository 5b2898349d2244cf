"""The examples of docs/inside_judges.md on probes run as they stand there."""

import json
import re
import shlex

import pytest

from judgekit.cli import main
from judgekit.data.paths import project_root
from judgekit.data.sample import load_sample_ratings
from judgekit.inside.rating import evaluate_samples, load_rater
from judgekit.studies.fitted_raters import fit_probes

DOCS = project_root() / "docs" / "inside_judges.md"


@pytest.fixture
def blocks(monkeypatch, tmp_path):
    """Code blocks of the section as (language, text), in a folder of one's own."""
    text = DOCS.read_text(encoding="utf-8").partition("## Probes")[2].partition("\n## ")[0]
    monkeypatch.chdir(tmp_path)
    return re.findall(r"```(\w+)\n(.*?)```", text, re.S)


def own_rows():
    """The sample's ratings of what a response states, as rows."""
    items = load_sample_ratings()["factuality"]
    return [{"question": i.question, "response": i.response, "logicality": int(i.score)} for i in items]


def test_the_examples_run(blocks, tmp_path):
    names, (first, second) = {"rows": own_rows()}, [text for language, text in blocks if language == "python"]
    exec_block(first, names)
    assert [row["response"] for row in names["rated"]] == [sample["response"] for sample in names["samples"]]
    assert all(1 <= row["fluency"] <= 5 for row in names["rated"])
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in names["samples"]))
    (command,) = [line for language, text in blocks if language == "bash" for line in text.splitlines()]
    assert main(shlex.split(command)[1:]) == 0
    assert len((tmp_path / "rated.jsonl").read_text().splitlines()) == 1
    exec_block(second, names)
    assert load_rater(tmp_path / "my-probes").aspects == ("logicality",)
    assert {"linear", "majority"} == set(names["estimates"]["method"])
    assert len(evaluate_samples(names["samples"], tmp_path / "my-probes")) == 2


def exec_block(text, names):
    """Run a code block with names that it may use and make."""
    exec(compile(text, str(DOCS), "exec"), names)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"question": "q", "response": "r"}], "row 0: field 'logicality' is missing"),
        ([{"question": "q", "response": "r", "logicality": 2.5}], "row 0: field 'logicality' is 2.5"),
        ([{"question": "q", "response": "r", "logicality": 9}], "row 0: field 'logicality' is 9"),
        ([{"question": "q", "response": "r", "logicality": None}], "no row has a score"),
        ([{"question": "q", "response": "r", "logicality": 4}] * 3, "0 of 3 items in the rarest class: too few"),
    ],
)
def test_ratings_that_cannot_be_learnt_from_are_named(rows, words):
    with pytest.raises(ValueError, match=words):
        fit_probes(rows, ["logicality"], shown=False)
