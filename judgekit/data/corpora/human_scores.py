"""Single responses that people scored, from a file the user has: FLASK's reviews, HelpSteer, BiGGen-Bench.

The sets are not shipped and not fetched. A file is JSON lines, a JSON list (either may be ``.gz``) or Parquet; whatever
is wrong with it is told with its name, the line (of a list or a table: the row, counted from 1) and the field.
"""

from collections.abc import Iterator
from pathlib import Path

from judgekit.data.loading import Loaded, each, response_of, responses
from judgekit.data.pairfile.lines import records
from judgekit.data.sources import DataError, Row
from judgekit.records import Response, with_counts

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


def _score(row: Row, field: str, scale: tuple[int, ...]) -> float:
    """People's score, the mean where it is a list; each must lie on the scale."""
    value = row.get(field)
    scores = value if isinstance(value, list) else [value]
    if not scores:
        raise row.error(field, "is an empty list")
    for score in scores:
        if isinstance(score, bool) or not isinstance(score, (int, float)):
            raise row.error(field, f"holds {score!r:.40}, which is no number")
        if not scale[0] <= score <= scale[-1]:  # NaN is not on it either
            raise row.error(field, f"holds {score!r:.40}: scores go from {scale[0]} to {scale[-1]}")
    return float(sum(scores) / len(scores))


def load_flask_reviews(path: str | Path, feedback: bool = False) -> Loaded:
    """Reviews in the form of LAGER's files, which are whole prompts with people's scores, and a report.

    A row has ``user_prompt`` (with ``feedback`` it is ``user_prompt_feedback``, which asks for an explanation first)
    and ``score``, from 1 to 5: a number, or a list whose mean is taken. The whole prompt is the question and the
    response is empty: they are asked as they stand.
    """
    texts = ("user_prompt_feedback" if feedback else "user_prompt", lambda row: "")
    build = responses("flask", texts, kind="human", score=lambda row: _score(row, "score", FLASK_SCALE))
    return with_counts(*build(_read_user_rows(path)))


def load_helpsteer(path: str | Path, aspect: str = "helpfulness") -> Loaded:
    """HelpSteer's responses with people's scores of one of `ASPECTS`, from 0 to 4, and a report.

    A row has the hub's columns ``prompt, response`` and the aspects.
    """
    if aspect not in ASPECTS:
        raise ValueError(f"aspect={aspect!r} is none of {', '.join(ASPECTS)}")
    texts = ("prompt", "response")
    build = responses("helpsteer", texts, kind="human", score=lambda row: _score(row, aspect, HELPSTEER_SCALE))
    return with_counts(*build(_read_user_rows(path)))


def load_biggen(path: str | Path) -> Loaded:
    """BiGGen-Bench's human evaluations, from 1 to 5, and a report that counts rows without a score.

    A row has the hub's columns ``input, response, reference_answer, human_score``; ``system_prompt`` stands before the
    input where it is not blank, and ``model_name`` is kept where it is there.
    """
    return with_counts(*each(_biggen, "skipped_no_score")(_read_user_rows(path)))


def _biggen(row: Row) -> Iterator[Response | str]:
    if row.get("human_score") is None:
        yield "skipped_no_score"
        return
    question = row.text("input")
    if row.get("system_prompt", None) is not None and row.text("system_prompt").strip():
        question = f"{row.text('system_prompt')}\n\n{question}"
    model = None if row.get("model_name", None) is None else row.text("model_name")
    fields = {"reference": row.text("reference_answer"), "score": _score(row, "human_score", BIGGEN_SCALE)}
    yield response_of(row, "biggen", question, row.text("response"), **fields, model=model, label_kind="human")
