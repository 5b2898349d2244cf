"""EvalBiasBench: 80 pairs made to mislead judges, in six kinds of bias."""

from judgekit.data.sources import DataError, Row, heads, text_key
from judgekit.data.sources.rows import parse_json, read_document
from judgekit.records import PreferencePair

FILES = ("evalbiasbench/biasbench.json",)


def load():
    """The pairs, in the file's order, and a report."""
    return pairs_from_rows(read_grouped(FILES[0])), {}


def read_grouped(name):
    """Rows of a file that groups them by bias, numbered through.

    Raises
    ------
    DataError
        If the file cannot be had or is no object of lists.
    """
    groups = parse_json(read_document(name), name)
    if not isinstance(groups, dict) or not all(isinstance(group, list) for group in groups.values()):
        raise DataError(f"{name}: expected groups of rows by bias")
    rows = [row for group in groups.values() for row in group]
    return [Row(row, name, number) for number, row in enumerate(rows)]


def pairs_from_rows(rows):
    """Pairs of rows; the subset is the bias.

    In the file the good response is always the first: a coin that is a hash of the item's id says whether it is A.

    Raises
    ------
    DataError
        If a field is missing or of another type, or a label is not 1 or 2.
    """
    return [pair_from_row(row) for row in rows]


def pair_from_row(row):
    """One pair."""
    pair = PreferencePair(
        item_id=str(row.number),
        benchmark="evalbiasbench",
        question=row.text("instruction"),
        response_a=row.text("response1"),
        response_b=row.text("response2"),
        subset=row.text("bias").replace(" ", "_"),
        cluster_id=text_key(row.text("instruction")),
        label=row.code("label", {1: "A", 2: "B"}),
        label_kind="human",
        source=row.where,
    )
    return pair if heads(f"evalbiasbench:{pair.item_id}") else pair.swapped()
