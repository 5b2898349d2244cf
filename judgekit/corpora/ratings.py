"""Single responses with a score: Auto-J's training sample, and HaluEval."""

import re

from judgekit.records import Response
from judgekit.sources import read_rows

FILES = {"autoj_single": "autoj/training/single_traindata.jsonl", "halueval": "halueval/general_data.jsonl"}

# How Auto-J's prompt encloses the query and the response.
AUTOJ_DATA = re.compile(r"\[Query\]: (.*)\n\*\*\*\n\[Response\]: (.*)\n\*\*\*\n\[END DATA\]", re.DOTALL)
HALUEVAL_CODES = {"no": 1.0, "yes": 0.0}


def load_autoj_single():
    """Responses that GPT-4 rated from 1 to 10 for Auto-J's training."""
    return autoj_responses(read_rows(FILES["autoj_single"]))


def autoj_responses(rows):
    """Responses of rows whose ``usrmsg`` is the prompt with query and response in it.

    Raises
    ------
    DataError
        If a field is missing or of another type, or the prompt is laid out otherwise.
    """
    responses = []
    for row in rows:
        match = AUTOJ_DATA.search(row.text("usrmsg"))
        if match is None:
            raise row.error("usrmsg", "does not hold a [Query] and a [Response] between *** lines")
        responses.append(
            Response(
                item_id=str(row.number),
                question=match[1],
                response=match[2],
                score=row.number_of("pred_score"),
                source=row.where,
            )
        )
    return responses


def load_halueval():
    """ChatGPT's responses that people marked for hallucination: 1 free of it, 0 not."""
    return halueval_responses(read_rows(FILES["halueval"]))


def halueval_responses(rows):
    """Responses of HaluEval's rows.

    Raises
    ------
    DataError
        If a field is missing or of another type, or ``hallucination`` is not "yes" or "no".
    """
    return [
        Response(
            item_id=str(row.number),  # the file's own ids repeat
            question=row.text("user_query"),
            response=row.text("chatgpt_response"),
            score=row.code("hallucination", HALUEVAL_CODES),
            source=row.where,
        )
        for row in rows
    ]
