"""HH-RLHF, harmless-base test part: dialogues with a response people chose and one they rejected."""

import re

from judgekit.data.corpora.dialogues import dialogue_fields, merge_speakers
from judgekit.data.corpora.sides import place
from judgekit.data.sources import read_rows
from judgekit.records import PreferencePair

FILES = ("hh_rlhf/harmless-base/test.jsonl.gz",)
SPEAKER = re.compile(r"\n\n(Human|Assistant):")
LAST_RESPONSE = "\n\nAssistant:"


def load():
    """The pairs, and a report."""
    return pairs_from_rows(read_rows(FILES[0]))


def pairs_from_rows(rows):
    """Pairs and report of rows with ``chosen`` and ``rejected`` dialogues.

    A few rows differ before the last response (``skipped_different_dialogues``): there the two are responses to
    different questions, so the row is no pair.

    Raises
    ------
    DataError
        If a field is missing or of another type, or a dialogue holds no response or no question.
    """
    split = [(row, *split_last(row, "chosen"), *split_last(row, "rejected")) for row in rows]
    pairs = [
        place(pair_from_dialogue(row, dialogue, chosen, rejected))
        for row, dialogue, chosen, other_dialogue, rejected in split
        if dialogue == other_dialogue
    ]
    return pairs, {"skipped_different_dialogues": len(rows) - len(pairs)}


def split_last(row, field):
    """The dialogue up to the last response, and that response."""
    dialogue, mark, response = row.text(field).rpartition(LAST_RESPONSE)
    if not mark:
        raise row.error(field, "holds no response of the assistant")
    return dialogue, response.strip()


def pair_from_dialogue(row, dialogue, chosen, rejected):
    """One pair with the chosen response as A."""
    parts = SPEAKER.split(dialogue)
    messages = merge_speakers(list(zip(parts[1::2], (text.strip() for text in parts[2::2]), strict=True)))
    if parts[0].strip() or not messages or messages[0][0] != "Human" or messages[-1][0] != "Human":
        raise row.error("chosen", "is no dialogue that begins and ends with the person's message")
    return PreferencePair(
        item_id=str(row.number),
        benchmark="hh_harmless",
        **dialogue_fields(messages),
        response_a=chosen,
        response_b=rejected,
        label="A",
        label_kind="human",
        source=row.where,
    )
