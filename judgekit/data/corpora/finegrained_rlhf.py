"""QA-Feedback of Fine-Grained RLHF: 500 questions over passages, four answers each, compared by people."""

from itertools import combinations

from judgekit.data.corpora.sides import place
from judgekit.data.sources import read_rows, text_key
from judgekit.records import PreferencePair

FILES = ("finegrained_rlhf/dev_feedback.json",)
PREFERENCE_CODES = {0: "tie", 1: "A", 2: "B"}
COMPARISONS = tuple(combinations((1, 2, 3, 4), 2))


def load():
    """The pairs, six for each question, and an empty report."""
    return pairs_from_rows(read_rows(FILES[0]))


def pairs_from_rows(rows):
    """Pairs and report of the rows of ``dev_feedback.json``; "neither is better" is a tie.

    Raises
    ------
    DataError
        If a field is missing or of another type, or a preference is not 0, 1 or 2.
    """
    return [place(pair) for row in rows for pair in pairs_of_question(row)], {}


def pairs_of_question(row):
    """The six pairs of a question, in the file's order 1-2, 1-3, 1-4, 2-3, 2-4, 3-4; the passages are the reference."""
    question, passages = row.text("question"), passages_text(row)
    for (first, second), preference in zip(
        COMPARISONS, row.checked_list("preference", int, "whole numbers", n=len(COMPARISONS)), strict=True
    ):
        if isinstance(preference, bool) or preference not in PREFERENCE_CODES:
            raise row.error("preference", f"holds {preference}, not one of 0, 1, 2")
        yield PreferencePair(
            item_id=f"{row.number}:{first}-{second}",
            benchmark="finegrained_rlhf",
            question=question,
            response_a=row.text(f"prediction {first}"),
            response_b=row.text(f"prediction {second}"),
            cluster_id=text_key(question),
            reference=passages,
            label=PREFERENCE_CODES[preference],
            label_kind="human",
            source=row.where,
        )


def passages_text(row):
    """The passages the answers were written from: title, then the sentences; a blank line between passages."""
    passages = row.checked_list("passages", list, "lists of texts")
    return "\n\n".join("\n".join((passage[0], " ".join(passage[1:]))) for passage in passages if passage)
