"""AlpacaEval: models' responses to 805 instructions, compared with a baseline's by GPT-4 annotators."""

from judgekit.data.corpora.sides import place
from judgekit.data.sources import read_rows, source_names, text_key
from judgekit.records import PreferencePair

# Draws are 1.5, and 0 in older files.
DRAWS = (0, 1.5)


def files():
    """Names of the annotation files, ``alpaca_eval/<model>/<annotator>/annotations.json``."""
    return source_names("alpaca_eval", suffix="/annotations.json")


def load():
    """The pairs of all files, and a report."""
    pairs, report = [], {"skipped_no_preference": 0, "annotator_not_of_folder": 0}
    for file in files():
        found, counts = pairs_from_rows(read_rows(file), file)
        pairs += found
        report = {key: report[key] + counts[key] for key in report}
    return pairs, report


def pairs_from_rows(rows, file):
    """Pairs and report of the rows of one annotation file.

    The subset is the annotator that the row itself names (in three files it is not the one of the folder:
    ``annotator_not_of_folder`` counts those rows). A row without a preference, where the annotator failed, is
    skipped and counted. The weighted annotators give a preference between 1 and 2: it is kept as ``soft_label``,
    and the label is the nearer side.

    Raises
    ------
    DataError
        If a field is missing or of another type, or a preference is neither in [1, 2] nor a draw.
    """
    model, folder = file.split("/")[1:3]
    kept = [row for row in rows if row.get("preference") is not None]
    pairs = [place(pair_from_row(row, f"{model}/{folder}/{row.number}")) for row in kept]
    return pairs, {
        "skipped_no_preference": len(rows) - len(kept),
        "annotator_not_of_folder": sum(row.text("annotator") != folder for row in kept),
    }


def pair_from_row(row, item_id):
    """One pair with the baseline as A, as in the file."""
    label, soft_label = labels(row)
    weighted = row.text("annotator").startswith("weighted")
    return PreferencePair(
        item_id=item_id,
        benchmark="alpaca_eval",
        question=row.text("instruction"),
        response_a=row.text("output_1"),
        response_b=row.text("output_2"),
        subset=row.text("annotator"),
        cluster_id=text_key(row.text("instruction")),
        model_a=row.text("generator_1"),
        model_b=row.text("generator_2"),
        label=label,
        soft_label=soft_label if weighted else None,
        label_kind="gpt-4",
        source=row.where,
    )


def labels(row):
    """Label and probability of the first response of a preference: 1 is the first response, 2 the second."""
    preference = row.number_of("preference")
    if preference in DRAWS:
        return "tie", 0.5
    if not 1 <= preference <= 2:
        raise row.error("preference", f"is {preference}, neither in [1, 2] nor 0")
    return ("A" if preference < 1.5 else "B"), 2 - preference
