"""JudgeBench: hard questions with a response that is right and one that is wrong, by two models."""

from judgekit.data.sources import read_rows, text_key
from judgekit.records import PreferencePair

# What a file's responses were written by, shortly -> the file.
RESPONSES = {
    "gpt-4o": "judgebench/dataset=judgebench,response_model=gpt-4o-2024-05-13.jsonl",
    "claude-3.5-sonnet": "judgebench/dataset=judgebench,response_model=claude-3-5-sonnet-20240620.jsonl",
}
FILES = tuple(RESPONSES.values())
LABEL_CODES = {"A>B": "A", "B>A": "B"}


def load():
    """The pairs of both files, and a report."""
    pairs = []
    for writer, file in RESPONSES.items():
        pairs += pairs_from_rows(read_rows(file), writer)
    return pairs, {}


def pairs_from_rows(rows, writer):
    """Pairs of the rows of one file; the subset is ``<writer>/<task family>``.

    Raises
    ------
    DataError
        If a field is missing or of another type, or a label is not "A>B" or "B>A".
    """
    return [
        PreferencePair(
            item_id=f"{writer}/{row.text('pair_id')}",
            benchmark="judgebench",
            question=row.text("question"),
            response_a=row.text("response_A"),
            response_b=row.text("response_B"),
            subset=f"{writer}/{row.text('source')}",
            cluster_id=text_key(row.text("question")),
            model_a=row.text("response_model"),
            model_b=row.text("response_model"),
            label=row.code("label", LABEL_CODES),
            label_kind="objective",
            source=row.where,
        )
        for row in rows
    ]
