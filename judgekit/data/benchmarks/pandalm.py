"""PandaLM test set v1: 999 pairs over 170 prompts, three human annotators each."""

from judgekit.data.sources import read_rows, text_key
from judgekit.records import PreferencePair, majority_label

FILES = ("pandalm/testset-v1.json",)
LABEL_CODES = {0: "tie", 1: "A", 2: "B"}
ANNOTATORS = ("annotator1", "annotator2", "annotator3")


def load():
    """The pairs, in the file's order, and a report.

    Notes
    -----
    Six responses are JSON booleans in the file: the models had printed the word, and a conversion made it a
    truth value. They are turned back into the word, and counted in the report as ``boolean_responses``.
    """
    return pairs_from_rows(read_rows(FILES[0]))


def pairs_from_rows(rows):
    """Pairs and report of the rows of ``testset-v1.json``.

    Parameters
    ----------
    rows : list of Row

    Returns
    -------
    pairs : list of PreferencePair
    report : dict of str to int

    Raises
    ------
    DataError
        If a field is missing or of another type.
    """
    pairs = [pair_from_row(row) for row in rows]
    booleans = sum(isinstance(row.get(side), bool) for row in rows for side in ("response1", "response2"))
    return pairs, {"boolean_responses": booleans, "no_majority": sum(pair.label is None for pair in pairs)}


def pair_from_row(row):
    """One pair; the label is what at least two of the three annotators say."""
    models = row.text("cmp_key").split("_")
    if len(models) != 2:
        raise row.error("cmp_key", f"is {row.get('cmp_key')!r}, not two models joined by '_'")
    question = row.joined("instruction", "input")
    votes = {annotator: row.code(annotator, LABEL_CODES) for annotator in ANNOTATORS}
    return PreferencePair(
        item_id=str(row.whole("idx")),
        benchmark="pandalm",
        question=question,
        response_a=response_text(row, "response1"),
        response_b=response_text(row, "response2"),
        subset=row.text("motivation_app"),
        cluster_id=text_key(question),
        model_a=models[0],
        model_b=models[1],
        label=majority_label(votes),
        votes=votes,
        label_kind="human",
        source=row.where,
    )


def response_text(row, field):
    """A response; a boolean becomes the word it was made from (JSON ``true`` was printed as "True")."""
    value = row.get(field)
    return str(value) if isinstance(value, bool) else row.text(field)
