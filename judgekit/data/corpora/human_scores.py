"""Single responses that people scored, from a file the user has: FLASK's reviews, HelpSteer, BiGGen-Bench.

The sets are not shipped and not fetched. A file is JSON lines, a JSON list (either may be ``.gz``) or Parquet; whatever
is wrong with it is told with its name, the line (of a list or a table: the row, counted from 1) and the field.
"""

from pathlib import Path
from typing import Any

from judgekit.data.loading import Loaded, response_of
from judgekit.data.pairfile.lines import records
from judgekit.data.sources import DataError, Row
from judgekit.records import with_counts

ASPECTS = ("helpfulness", "correctness", "coherence", "complexity", "verbosity")
FLASK_SCALE, HELPSTEER_SCALE, BIGGEN_SCALE = tuple(range(1, 6)), tuple(range(5)), tuple(range(1, 6))
ENDINGS = (".jsonl", ".json", ".parquet", ".jsonl.gz", ".json.gz")


def _read_user_rows(path: str | Path) -> list[Row]:
    """Rows of a user's file; DataError or PairFileError if it is missing, empty, of another kind or damaged."""
    path = Path(path)
    if not path.name.endswith(ENDINGS):
        raise DataError(f"{path}: a file of scored responses ends in {', '.join(ENDINGS)}")
    by_line = ".jsonl" in path.suffixes
    numbered = enumerate(records(path, lists=True), 1)
    rows = [Row(fields, str(path), (by_line and place.line) or number) for number, (place, fields) in numbered]
    if not rows:
        raise DataError(f"{path}: holds no rows")
    return rows


def _scored(row: Row, field: str, scale: tuple[int, ...]) -> dict[str, Any]:
    """The field of people's score, the mean where it is a list; each score must lie on the scale."""
    value = row.get(field)
    scores = value if isinstance(value, list) else [value]
    if not scores:
        raise row.error(field, "is an empty list")
    for score in scores:
        if isinstance(score, bool) or not isinstance(score, (int, float)):
            raise row.error(field, f"holds {score!r:.40}, which is no number")
        if not scale[0] <= score <= scale[-1]:  # NaN is not on it either
            raise row.error(field, f"holds {score!r:.40}: scores go from {scale[0]} to {scale[-1]}")
    return {"score": float(sum(scores) / len(scores)), "label_kind": "human"}


def load_flask_reviews(path: str | Path, feedback: bool = False) -> Loaded:
    """Reviews in the form of LAGER's files, which are whole prompts with people's scores, and a report.

    A row has ``user_prompt`` (with ``feedback`` it is ``user_prompt_feedback``, which asks for an explanation first)
    and ``score``, from 1 to 5: a number, or a list whose mean is taken. The whole prompt is the question and the
    response is empty: they are asked as they stand.
    """
    field = "user_prompt_feedback" if feedback else "user_prompt"
    rows = _read_user_rows(path)
    return with_counts(
        [response_of(r, "flask", r.text(field), "", **_scored(r, "score", FLASK_SCALE)) for r in rows], {}
    )


def load_helpsteer(path: str | Path, aspect: str = "helpfulness") -> Loaded:
    """HelpSteer's responses with people's scores of one of `ASPECTS`, from 0 to 4, and a report.

    A row has the hub's columns ``prompt, response`` and the aspects.
    """
    if aspect not in ASPECTS:
        raise ValueError(f"aspect={aspect!r} is none of {', '.join(ASPECTS)}")
    responses = [
        response_of(row, "helpsteer", row.text("prompt"), row.text("response"), **_scored(row, aspect, HELPSTEER_SCALE))
        for row in _read_user_rows(path)
    ]
    return with_counts(responses, {})


def load_biggen(path: str | Path) -> Loaded:
    """BiGGen-Bench's human evaluations, from 1 to 5, and a report that counts rows without a score.

    A row has the hub's columns ``input, response, reference_answer, human_score``; ``system_prompt`` stands before the
    input where it is not blank, and ``model_name`` is kept where it is there.
    """
    responses, report = [], {"skipped_no_score": 0}
    for row in _read_user_rows(path):
        if row.get("human_score") is None:
            report["skipped_no_score"] += 1
            continue
        question = row.text("input")
        if row.get("system_prompt", None) is not None and row.text("system_prompt").strip():
            question = f"{row.text('system_prompt')}\n\n{question}"
        fields = {"reference": row.text("reference_answer"), **_scored(row, "human_score", BIGGEN_SCALE)}
        if row.get("model_name", None) is not None:
            fields["model"] = row.text("model_name")
        responses.append(response_of(row, "biggen", question, row.text("response"), **fields))
    return with_counts(responses, report)
