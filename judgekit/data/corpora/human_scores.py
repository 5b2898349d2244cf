"""Single responses that people scored, from a file the user has: FLASK's reviews, HelpSteer, BiGGen-Bench.

The sets are not shipped and not fetched. A file is JSON lines, a JSON list (either may be ``.gz``) or parquet; whatever
is wrong with it is told with its name, the line (of a list or a table: the row, counted from 1) and the field.
"""

import math
from pathlib import Path

from judgekit.data.corpora.single import response_of
from judgekit.data.pairfile.lines import decoded_lines
from judgekit.data.sources import DataError
from judgekit.data.sources.rows import Row, parse_json
from judgekit.records import with_counts

ASPECTS = ("helpfulness", "correctness", "coherence", "complexity", "verbosity")
FLASK_SCALE, HELPSTEER_SCALE, BIGGEN_SCALE = tuple(range(1, 6)), tuple(range(5)), tuple(range(1, 6))


def read_user_rows(path):
    """Rows of a user's file.

    Parameters
    ----------
    path : path
        ``.jsonl``, ``.json`` (either may be followed by ``.gz``) or ``.parquet``.

    Returns
    -------
    list of judgekit.data.sources.rows.Row
        Numbered from 1: by line where the file has one row per line.

    Raises
    ------
    judgekit.data.sources.DataError, judgekit.data.pairfile.PairFileError
        If the file is missing, empty, of another kind or damaged, or a row is no object.
    """
    path = Path(path)
    kind = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    readers = {".jsonl": rows_of_lines, ".json": rows_of_list, ".parquet": rows_of_table}
    if kind not in readers or (kind == ".parquet" and path.suffix == ".gz"):
        raise DataError(
            f"{path}: a file of scored responses ends in {', '.join(readers)} (.gz may follow the first two)"
        )
    rows = readers[kind](path)
    if not rows:
        raise DataError(f"{path}: holds no rows")
    return rows


def rows_of_lines(path):
    """One JSON object a line; blank lines are skipped, and counted."""
    lines = [(number, text) for number, text in decoded_lines(path) if text.strip()]
    return [Row(parse_json(text, f"{path}:{number}"), str(path), number) for number, text in lines]


def rows_of_list(path):
    """A JSON list of objects."""
    found = parse_json("".join(text for _, text in decoded_lines(path)), str(path))
    if not isinstance(found, list):
        raise DataError(f"{path}: holds {type(found).__name__}, not a list of rows")
    return [Row(values, str(path), number) for number, values in enumerate(found, 1)]


def rows_of_table(path):
    """A parquet table; lists in it come as lists, and what is missing as None."""
    import pandas as pd
    from pyarrow.lib import ArrowException

    try:
        table = pd.read_parquet(path)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except (ArrowException, OSError) as damaged:
        raise DataError(f"{path}: is no parquet file, or a damaged one ({str(damaged).splitlines()[0]})") from None
    return [
        Row({k: plain(v) for k, v in row.items()}, str(path), n) for n, row in enumerate(table.to_dict("records"), 1)
    ]


def plain(value):
    """A cell as JSON has it: numpy's arrays and numbers as Python's, NaN as None."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return None if isinstance(value, float) and math.isnan(value) else value


def score_of(row, field, scale):
    """A score, or the mean of a list of them; each must lie on the scale.

    Raises
    ------
    DataError
        Names file, line and field.
    """
    given = row.get(field)
    scores = given if isinstance(given, list) else [given]
    if not scores:
        raise row.error(field, "is an empty list")
    for score in scores:
        if isinstance(score, bool) or not isinstance(score, (int, float)):
            raise row.error(field, f"holds {score!r:.40}, which is no number")
        if not scale[0] <= score <= scale[-1]:  # NaN is not on it either
            raise row.error(field, f"holds {score!r:.40}: scores go from {scale[0]} to {scale[-1]}")
    return float(sum(scores) / len(scores))


def load_flask_reviews(path, feedback=False):
    """Reviews in the form of LAGER's files, which are whole prompts with people's scores, and a report.

    Parameters
    ----------
    path : path
        Rows with ``user_prompt`` (or ``user_prompt_feedback``, which asks for an explanation first) and ``score``, from
        1 to 5: a number, or a list whose mean is taken.
    feedback : bool
        Whether to take ``user_prompt_feedback``.

    Returns
    -------
    responses : list of judgekit.records.Response
        The whole prompt is the question and the response is empty: ask them with `inside.layers.asking.verbatim`.
    report : dict of str to int

    Raises
    ------
    judgekit.data.sources.DataError, judgekit.data.pairfile.PairFileError
        Names file, line and field.
    """
    field = "user_prompt_feedback" if feedback else "user_prompt"
    return with_counts(
        [
            response_of(
                row, "flask", row.text(field), "", score=score_of(row, "score", FLASK_SCALE), label_kind="human"
            )
            for row in read_user_rows(path)
        ],
        {},
    )


def load_helpsteer(path, aspect="helpfulness"):
    """HelpSteer's responses with people's scores of one aspect, from 0 to 4, and a report.

    Parameters
    ----------
    path : path
        The hub's columns ``prompt, response`` and the aspects.
    aspect : {"helpfulness", "correctness", "coherence", "complexity", "verbosity"}

    Returns
    -------
    responses : list of judgekit.records.Response
    report : dict of str to int

    Raises
    ------
    ValueError
        If the aspect is none.
    judgekit.data.sources.DataError, judgekit.data.pairfile.PairFileError
        Names file, line and field.
    """
    if aspect not in ASPECTS:
        raise ValueError(f"aspect={aspect!r} is none of {', '.join(ASPECTS)}")
    return with_counts(
        [
            response_of(
                row,
                "helpsteer",
                row.text("prompt"),
                row.text("response"),
                score=score_of(row, aspect, HELPSTEER_SCALE),
                label_kind="human",
            )
            for row in read_user_rows(path)
        ],
        {},
    )


def load_biggen(path):
    """BiGGen-Bench's human evaluations, from 1 to 5, and a report.

    Parameters
    ----------
    path : path
        The hub's columns ``input, response, reference_answer, human_score``; ``system_prompt`` stands before the input
        where it is not blank, and ``id`` and ``model_name`` are kept where they are there.

    Returns
    -------
    responses : list of judgekit.records.Response
    report : dict of str to int
        ``skipped_no_score`` counts rows whose score is missing.

    Raises
    ------
    judgekit.data.sources.DataError, judgekit.data.pairfile.PairFileError
        Names file, line and field.
    """
    responses, report = [], {"skipped_no_score": 0}
    for row in read_user_rows(path):
        if row.get("human_score") is None:
            report["skipped_no_score"] += 1
            continue
        asked = row.text("input")
        if row.get("system_prompt", None) is not None and row.text("system_prompt").strip():
            asked = f"{row.text('system_prompt')}\n\n{asked}"
        named = row.get("model_name", None)
        responses.append(
            response_of(
                row,
                "biggen",
                asked,
                row.text("response"),
                reference=row.text("reference_answer"),
                score=score_of(row, "human_score", BIGGEN_SCALE),
                model=None if named is None else row.text("model_name"),
                label_kind="human",
            )
        )
    return with_counts(responses, report)
