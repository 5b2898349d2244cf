"""MT-bench asked again of six newer models: 1,200 pairs of conversations that no person ever judged.

Six judges compared them (`judgekit.data.benchmarks.outputs`), so the set says how judges agree with each other and with
themselves. It has no labels: nothing can be right or wrong on it, and no protocol scores it.
"""

from itertools import combinations
from typing import Any

from judgekit.data.benchmarks.mtbench import Texts, turns_of_answer
from judgekit.data.loading import Loaded, Rows, pair_of
from judgekit.data.sources import DataError, Row, read_rows, source_hashes, source_names
from judgekit.records import Turn

QUESTION_FILE = "mt_bench_repro/questions.jsonl"


def _answer_files() -> dict[str, str]:
    """Model to the file of its answers, in the order of `sides_of`."""
    files = {name.split("/")[-1].removesuffix(".jsonl"): name for name in source_names("mt_bench_repro/answers/*")}
    return {model: files[model] for model in sorted(files, key=str.casefold)}


def hashes() -> dict[str, str]:
    """File to SHA-256 of what the pairs are read from."""
    return source_hashes([QUESTION_FILE, *_answer_files().values()])


def sides_of(first: str, second: str) -> tuple[str, str]:
    """Two models as the item's A and B: by name, whatever their case, as the judges' files do not agree on the sides.

    >>> sides_of("gemma-2-9b-it", "EEVE-Korean-Instruct-10.8B")
    ('EEVE-Korean-Instruct-10.8B', 'gemma-2-9b-it')
    """
    a, b = sorted((first, second), key=str.casefold)
    return a, b


def item_id_of(question_id: int, model_a: str, model_b: str) -> str:
    """The id of an item, e.g. ``81:gemma-2-9b-it:Phi-3.5-mini-Instruct``."""
    return f"{question_id}:{model_a}:{model_b}"


def load() -> Loaded:
    """The pairs, and an empty report."""
    answers = {model: read_rows(file) for model, file in _answer_files().items()}
    return pairs_from_rows(read_rows(QUESTION_FILE), answers)


def pairs_from_rows(question_rows: Rows, answer_rows: dict[str, list[Row]]) -> Loaded:
    """Every two models on every question: the second turn, with the first one before it."""
    answers = {model: _answers_of(model, rows) for model, rows in answer_rows.items()}
    pairs = []
    for row in question_rows:
        number, questions = row.whole("question_id"), row.texts("turns", n=2)
        for models in combinations(answers, 2):
            a, b = sides_of(*models)
            if lacking := [model for model in (a, b) if number not in answers[model]]:
                raise row.error("question_id", f"is {number}, to which there is no answer of {lacking[0]}")
            first, second = zip(questions, answers[a][number], answers[b][number], strict=True)
            fields: dict[str, Any] = {"cluster_id": str(number), "subset": row.text("category")}
            fields |= {"item_id": item_id_of(number, a, b), "model_a": a, "model_b": b, "turns": (Turn(*first),)}
            pairs.append(pair_of(row, "mtbench_repro", *second, **fields))
    return pairs, {}


def _answers_of(model: str, rows: Rows) -> dict[int, Texts]:
    """Question id to the two turns of a model's answer."""
    found: dict[int, Texts] = {}
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
