"""MedicalGPT's Chinese sample: 500 conversations with a chosen and a rejected response."""

from judgekit.data.corpora.dialogues import dialogue_fields
from judgekit.data.corpora.llamafactory import conversation
from judgekit.data.corpora.sides import place
from judgekit.data.sources import read_rows
from judgekit.records import PreferencePair

FILES = ("medicalgpt/dpo_zh_500.jsonl",)


def load():
    """The pairs, and an empty report."""
    return pairs_from_rows(read_rows(FILES[0])), {}


def pairs_from_rows(rows):
    """Pairs of rows with ``conversations`` as LLaMA-Factory lays them out, and two texts.

    Raises
    ------
    DataError
        If a field is missing or of another type, or the speakers of a conversation do not alternate.
    """
    return [place(pair_from_row(row)) for row in rows]


def pair_from_row(row):
    """One pair with the chosen response as A."""
    return PreferencePair(
        item_id=str(row.number),
        benchmark="medicalgpt",
        **dialogue_fields(conversation(row)),
        response_a=row.text("chosen"),
        response_b=row.text("rejected"),
        label="A",
        label_kind="model",
        source=row.where,
    )
