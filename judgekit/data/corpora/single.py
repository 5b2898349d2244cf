"""A single response from a row of a file."""

from judgekit.data.sources import text_key
from judgekit.records import Response


def response_of(row, name, question, response, item_id=None, **fields):
    """The response of a row, clustered by its question.

    Parameters
    ----------
    row : Row
        Where it was read; its number is the item id unless one is given.
    name : str
        Name of the set.
    question, response : str
    item_id : str, optional
    **fields
        Further fields of `Response`.
    """
    return Response(
        item_id=str(row.number) if item_id is None else item_id,
        question=question,
        response=response,
        source=row.where,
        benchmark=name,
        cluster_id=text_key(question),
        **fields,
    )
