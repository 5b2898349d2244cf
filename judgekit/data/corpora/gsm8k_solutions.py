"""GSM8K: a right and a wrong solution of the same problem, by four systems."""

from itertools import product

from judgekit.data.corpora.sides import place
from judgekit.data.sources import read_rows, text_key
from judgekit.records import PreferencePair

FILES = ("gsm8k/example_model_solutions.jsonl",)
SYSTEMS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")


def load():
    """The pairs, and a report."""
    return pairs_from_rows(read_rows(FILES[0]))


def pairs_from_rows(rows):
    """Every right solution of a problem against every wrong one; the worked solution is the reference.

    Raises
    ------
    DataError
        If a field is missing or of another type.
    """
    pairs = [place(pair) for row in rows for pair in pairs_of_problem(row)]
    return pairs, {"problems": len(rows), "problems_without_pair": len(rows) - len({pair.source for pair in pairs})}


def pairs_of_problem(row):
    """The pairs of one problem, the right solution as A."""
    solutions = {system: row.inner(system) for system in SYSTEMS}
    right = [system for system in SYSTEMS if solutions[system].code("is_correct", {True: True, False: False})]
    wrong = [system for system in SYSTEMS if system not in right]
    for better, worse in product(right, wrong):
        yield PreferencePair(
            item_id=f"{row.number}:{better}:{worse}",
            benchmark="gsm8k_solutions",
            question=row.text("question"),
            response_a=solutions[better].text("solution"),
            response_b=solutions[worse].text("solution"),
            cluster_id=text_key(row.text("question")),
            reference=row.text("ground_truth"),
            model_a=better,
            model_b=worse,
            label="A",
            label_kind="objective",
            source=row.where,
        )
