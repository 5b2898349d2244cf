"""CoBBLEr: fifteen models' answers to fifty questions.

The file is called a human ranking, but which way it ranks is not stated and the order is implausible (it puts GPT-4
below weaker models): so the answers are read, and no preference is.
"""

from judgekit.data.corpora.single import response_of
from judgekit.data.sources import read_rows

FILES = ("cobbler/normalized_human_ranking.json",)
QUESTION_FIELDS = ("instruction", "reference")


def load():
    """The answers, and a report."""
    return responses_from_rows(read_rows(FILES[0]))


def responses_from_rows(rows):
    """Responses and report of rows with ``instruction``, ``reference`` and one field per model.

    Raises
    ------
    DataError
        If a field is missing or of another type.
    """
    responses = []
    for row in rows:
        for model in sorted(set(row.values) - set(QUESTION_FIELDS)):
            fields = {"item_id": f"{row.number}:{model}", "model": model, "reference": row.text("reference")}
            responses.append(response_of(row, "cobbler", row.text("instruction"), row.text(model), **fields))
    return responses, {}
