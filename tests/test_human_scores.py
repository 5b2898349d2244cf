"""Human-scored single responses from a user's file, in the three forms and three kinds of file."""

import gzip
import json

import pandas as pd
import pytest

from judgekit.data.corpora.human_scores import load_biggen, load_flask_reviews, load_helpsteer
from judgekit.data.pairfile import PairFileError
from judgekit.data.sources import DataError

REFUSED = (DataError, PairFileError)

FLASK = [
    {"user_prompt": "Rate: sky\u2028blue", "user_prompt_feedback": "Explain, then rate: sky", "score": [4, 5, 5]},
    {"user_prompt": "Rate: grass", "user_prompt_feedback": "Explain, then rate: grass", "score": 2},
]
HELPSTEER = [
    {"prompt": "Say yes.", "response": "Yes.", "helpfulness": 4, "correctness": 3, "coherence": 4, "verbosity": 0},
    {"prompt": "Say no.", "response": "", "helpfulness": 0, "correctness": 1, "coherence": 2, "verbosity": 1},
]
BIGGEN = [
    {"id": "a_0", "system_prompt": "Be brief.", "input": "Why?", "reference_answer": "So.", "response": "Because."}
    | {"model_name": "m", "human_score": 3},
    {
        "id": "a_0",
        "system_prompt": " ",
        "input": "Why?",
        "reference_answer": "So.",
        "response": "No.",
        "human_score": None,
    },
    {"id": "a_1", "input": "Who?", "reference_answer": "Me.", "response": "I.", "human_score": 5.0},
]


def written(folder, rows, kind):
    path = folder / f"rows{kind}"
    text = "\n\n".join(map(json.dumps, rows)) if "jsonl" in kind else json.dumps(rows)
    if kind == ".parquet":
        pd.DataFrame(rows).to_parquet(path)
    elif kind.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


KINDS = pytest.mark.parametrize("kind", [".jsonl", ".json", ".jsonl.gz", ".json.gz", ".parquet"])


@KINDS
def test_helpsteer_is_read_by_aspect(tmp_path, kind):
    path = written(tmp_path, HELPSTEER, kind)
    responses, report = load_helpsteer(path)
    assert [(r.question, r.response, r.score) for r in responses] == [("Say yes.", "Yes.", 4), ("Say no.", "", 0)]
    assert report == {"items": 2, "empty_responses": 1}
    assert [r.score for r in load_helpsteer(path, "verbosity")[0]] == [0, 1]
    assert responses[1].where.startswith("helpsteer/") and str(path) in responses[1].source
    assert responses[0].label_kind == "human" and responses[0].cluster != responses[1].cluster
    with pytest.raises(ValueError, match="aspect='charm' is none of helpfulness"):
        load_helpsteer(path, "charm")


@KINDS
def test_biggen_keeps_references_models_and_system_prompts(tmp_path, kind):
    responses, report = load_biggen(written(tmp_path, BIGGEN, kind))
    assert [(r.question, r.reference, r.score, r.model) for r in responses] == [
        ("Be brief.\n\nWhy?", "So.", 3, "m"),
        ("Who?", "Me.", 5, None),
    ]
    assert report["skipped_no_score"] == 1 and report["items"] == 2


@pytest.mark.parametrize("kind", [".jsonl", ".json"])
def test_reviews_are_whole_prompts_with_mean_scores(tmp_path, kind):
    path = written(tmp_path, FLASK, kind)
    responses, _ = load_flask_reviews(path)
    assert [r.score for r in responses] == pytest.approx([14 / 3, 2])
    assert [r.question for r in responses] == ["Rate: sky\u2028blue", "Rate: grass"]
    assert load_flask_reviews(path, feedback=True)[0][1].question == "Explain, then rate: grass"


@pytest.mark.parametrize("kind", [".jsonl", ".json"])
@pytest.mark.parametrize(
    ("load", "rows", "change", "field", "said"),
    [
        (load_helpsteer, HELPSTEER, {"helpfulness": 5}, "helpfulness", "scores go from 0 to 4"),
        (load_helpsteer, HELPSTEER, {"helpfulness": "4"}, "helpfulness", "no number"),
        (load_helpsteer, HELPSTEER, {"helpfulness": True}, "helpfulness", "no number"),
        (load_helpsteer, HELPSTEER, {"response": None}, "response", "not text"),
        (load_biggen, BIGGEN[:1] * 2, {"human_score": 0.5}, "human_score", "scores go from 1 to 5"),
        (load_biggen, BIGGEN[:1] * 2, {"model_name": 3}, "model_name", "not text"),
        (load_flask_reviews, FLASK[:1] * 2, {"score": []}, "score", "empty list"),
        (load_flask_reviews, FLASK[:1] * 2, {"score": [3, 9]}, "score", "scores go from 1 to 5"),
    ],
)
def test_a_bad_row_is_named_by_file_line_and_field(tmp_path, kind, load, rows, change, field, said):
    path = written(tmp_path, [rows[0], rows[1] | change], kind)
    line = 3 if kind == ".jsonl" else 2  # a blank line stands between
    with pytest.raises(REFUSED, match=rf"rows\{kind}:{line}: field '{field}' .*{said}"):
        load(path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("rows.csv", b"a,b", "ends in .jsonl"),
        ("rows.jsonl", b"\n\n", "holds no rows"),
        ("rows.json", b"{}", "field 'human_score' is missing"),
        ("rows.json", b"[3]", "line 1: is the number 3, not an object"),
        ("rows.jsonl", b"{}\n{", "line 2: column 2: not JSON"),
        ("rows.jsonl", b"\xff\n", "line 1: is not UTF-8"),
        ("rows.json.gz", b"{}", "no gzip file"),
        ("rows.parquet", b"PAR", "no Parquet file"),
        ("rows.parquet.gz", b"", "ends in .jsonl"),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(REFUSED, match=said):
        load_biggen(tmp_path / name)
