"""MT-bench asked again of six newer models: 1,200 pairs of conversations that no person ever judged.

Six judges compared them (`judgekit.data.benchmarks.outputs`), so the set says how judges agree with each other and with
themselves. It has no labels: nothing can be right or wrong on it, and no protocol scores it.
"""

from itertools import combinations

from judgekit.data.benchmarks.mtbench import turns_of_answer
from judgekit.data.sources import DataError, read_rows, source_names
from judgekit.records import PreferencePair, Turn

QUESTION_FILE = "mt_bench_repro/questions.jsonl"


def answer_files():
    """Model to the file of its answers, in the order of `sides_of`."""
    files = {name.split("/")[-1].removesuffix(".jsonl"): name for name in source_names("mt_bench_repro", "answers/")}
    return {model: files[model] for model in sorted(files, key=str.casefold)}


def files():
    """The pinned files that the pairs are read from."""
    return [QUESTION_FILE, *answer_files().values()]


def sides_of(first, second):
    """Two models as the item's A and B: by name, whatever their case.

    The judges' files do not agree on which model of a pair is called A.

    Examples
    --------
    >>> sides_of("gemma-2-9b-it", "EEVE-Korean-Instruct-10.8B")
    ('EEVE-Korean-Instruct-10.8B', 'gemma-2-9b-it')
    """
    return tuple(sorted((first, second), key=str.casefold))


def item_id_of(question_id, model_a, model_b):
    """The id of an item, e.g. ``81:gemma-2-9b-it:Phi-3.5-mini-Instruct``."""
    return f"{question_id}:{model_a}:{model_b}"


def load():
    """The pairs, and an empty report."""
    answers = {model: read_rows(file) for model, file in answer_files().items()}
    return pairs_from_rows(read_rows(QUESTION_FILE), answers)


def pairs_from_rows(question_rows, answer_rows):
    """Every two models on every question: the second turn, with the first one before it.

    Parameters
    ----------
    question_rows : list of Row
        question_id, category, turns (two texts).
    answer_rows : dict of str to list of Row
        Model to question_id, model_id, choices (one, with two turns).

    Returns
    -------
    pairs : list of PreferencePair
        Without label or votes.
    report : dict of str to int

    Raises
    ------
    DataError
        If a field is missing or of another type, a file holds another model's answers, or an answer is missing.
    """
    said = {model: answers_of(model, rows) for model, rows in answer_rows.items()}
    pairs = []
    for row in question_rows:
        number, questions = row.whole("question_id"), row.texts("turns", n=2)
        for models in combinations(said, 2):
            a, b = sides_of(*models)
            if lacking := [model for model in (a, b) if number not in said[model]]:
                raise row.error("question_id", f"is {number}, to which there is no answer of {lacking[0]}")
            shown = list(zip(questions, said[a][number], said[b][number], strict=True))
            pairs.append(
                PreferencePair(
                    item_id=item_id_of(number, a, b),
                    benchmark="mtbench_repro",
                    question=shown[1][0],
                    response_a=shown[1][1],
                    response_b=shown[1][2],
                    subset=row.text("category"),
                    cluster_id=str(number),
                    turns=(Turn(*shown[0]),),
                    model_a=a,
                    model_b=b,
                    source=row.where,
                )
            )
    return pairs, {}


def answers_of(model, rows):
    """Question id to the two turns of a model's answer."""
    found = {}
    for row in rows:
        if row.text("model_id") != model:
            raise row.error("model_id", f"is {row.get('model_id')!r} in the file of {model}")
        turns = turns_of_answer(row)
        if len(turns) != 2:
            raise row.error("choices", f"hold {len(turns)} turns, not 2")
        found[row.whole("question_id")] = turns
    if not found:
        raise DataError(f"{model}: its file holds no answers")
    return found
