"""MT-bench: people's votes on six models' answers to 80 two-turn questions; and six newer models' that nobody judged.

A mirror holds 2,619 of the 3,355 votes (all of turn 1) in three derived files; without a mirror all votes are read
from the hub. In the mirror the order of the two models is upstream's own, except for 61 votes on turn 2 whose source
had put the models in alphabetical order.

`REPRO` is 1,200 pairs of newer conversations. Six judges compared them (`judgekit.data.benchmarks.outputs`), so the set
says how judges agree with each other and with themselves. It has no labels: no protocol scores it.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

from judgekit.data import paths
from judgekit.data.loading import DataSet, Loaded, Rows, pair_of
from judgekit.data.sources import HUB_SETS, DataError, Row, read_hub_rows, read_rows, source_hashes, source_names
from judgekit.records import PreferencePair, Turn, majority_label

QUESTION_FILE = "mtbench/mt_bench/question.jsonl"
REFERENCE_FILE = "mtbench/mt_bench/reference_answer/gpt-4.jsonl"
VOTE_FILE = "mtbench_derived/mtbench_human_votes.jsonl"
ANSWER_FILE = "mtbench_derived/mtbench_answers.jsonl"
REPRO_FILE = "mt_bench_repro/questions.jsonl"
HUB_SET = HUB_SETS["mt_bench_human_judgments"]

# "tie (inconsistent)": GPT-4 changed its verdict when the answers changed places.
WINNER_CODES = {"model_a": "A", "model_b": "B", "tie": "tie", "tie (inconsistent)": "tie"}

Texts = tuple[str, ...]


class Vote(NamedTuple):
    """One vote, in the order of models of its row, with both conversations where they were looked up."""

    question_id: int
    model_a: str
    model_b: str
    turn: int
    judge: str
    label: str
    where: str
    questions: Texts = ()  # two
    answers_a: Texts | None = None  # two, or None where the source lacks that model's answers
    answers_b: Texts | None = None

    @property
    def item_id(self) -> str:
        """The id of what is voted on, question, ordered pair of models and turn: ``81:alpaca-13b:gpt-4:1``."""
        return f"{self.question_id}:{self.model_a}:{self.model_b}:{self.turn}"


def vote_of(row: Row, **texts: Any) -> Vote:
    """The vote of a row, whose fields both forms of the data spell alike."""
    number, turn = row.whole("question_id"), row.code("turn", {1: 1, 2: 2})
    names = row.text("model_a"), row.text("model_b")
    return Vote(number, *names, turn, row.text("judge"), row.code("winner", WINNER_CODES), row.where, **texts)


def _hashes() -> dict[str, str]:
    """Provenance: without a mirror the votes are those of the hub's set at its revision."""
    shared = (QUESTION_FILE, REFERENCE_FILE)
    if paths.data_mirror() is not None:
        return source_hashes((*shared, VOTE_FILE, ANSWER_FILE))
    return source_hashes(shared) | {f"hub:{HUB_SET.name}@{HUB_SET.revision}": HUB_SET.splits["human"].sha256}


def load() -> Loaded:
    """The pairs, in the order of their first votes, and a report."""
    questions = {row.whole("question_id"): row for row in read_rows(QUESTION_FILE)}
    references = {row.whole("question_id"): _turns_of_answer(row) for row in read_rows(REFERENCE_FILE)}
    if paths.data_mirror() is None:
        votes = votes_from_hub_rows(read_hub_rows(HUB_SET, "human"))
    else:
        votes = votes_from_files(read_rows(VOTE_FILE), questions, read_rows(ANSWER_FILE))
    return pairs_from_votes(votes, {number: row.text("category") for number, row in questions.items()}, references)


def gpt4_rows(file: str) -> list[Row]:
    """The rows of GPT-4's votes on pairs: of the mirror's file, or of the hub without a mirror."""
    return read_hub_rows(HUB_SET, "gpt4_pair") if paths.data_mirror() is None else read_rows(file)


def _turns_of_answer(row: Row) -> Texts:
    """The two turns of one line of a model's answer file."""
    (choice,) = row.checked_list("choices", dict, "choices", n=1)
    return tuple(Row(choice, row.file, row.number).texts("turns"))


def votes_from_files(vote_rows: Rows, questions: Mapping[int, Row], answer_rows: Rows) -> list[Vote]:
    """Votes of the mirror's derived files; ``questions``: id to the row of the question file."""
    answers = {(row.whole("question_id"), row.text("model")): tuple(row.texts("turns", n=2)) for row in answer_rows}
    votes = []
    for row in vote_rows:
        number = row.whole("question_id")
        if number not in questions:
            raise row.error("question_id", f"is {number}, which {QUESTION_FILE} does not hold")
        asked = tuple(questions[number].texts("turns", n=2))
        first, second = (answers.get((number, row.text(model))) for model in ("model_a", "model_b"))
        votes.append(vote_of(row, questions=asked, answers_a=first, answers_b=second))
    return votes


def votes_from_hub_rows(rows: Rows) -> list[Vote]:
    """Votes of the hub set's rows, which carry both conversations as lists of ``{"role", "content"}``."""
    votes = []
    for row in rows:
        (questions, answers_a), (_, answers_b) = (_conversation(row, f"conversation_{side}") for side in "ab")
        votes.append(vote_of(row, questions=questions, answers_a=answers_a, answers_b=answers_b))
    return votes


def _conversation(row: Row, field: str) -> tuple[Texts, Texts]:
    """Questions and answers of a conversation, each at least as many texts as the row's turn."""
    messages, n_turns = row.checked_list(field, dict, "messages"), row.code("turn", {1: 1, 2: 2})
    asked, answered = (
        tuple(str(message.get("content") or "") for message in messages if message.get("role") == role)
        for role in ("user", "assistant")
    )
    if min(len(asked), len(answered)) < n_turns:
        raise row.error(field, f"holds fewer than {n_turns} questions and answers")
    return asked, answered


def pairs_from_votes(votes: list[Vote], categories: Mapping[int, str], references: Mapping[int, Texts]) -> Loaded:
    """One pair per question, ordered pair of models and turn, with all its votes; a missing response is an empty one.

    The report has ``votes``; ``missing_responses`` and ``empty_turns``: votes that lack a model's answers, or in which
    an answer shown (an earlier turn's, too) is empty. ``references``: GPT-4's, one per turn, where there are any.
    """
    cells: dict[str, list[Vote]] = {}
    for vote in votes:
        cells.setdefault(vote.item_id, []).append(vote)
    answers = [(vote.turn, vote.answers_a, vote.answers_b) for vote in votes]
    complete = [[*a[:turn], *b[:turn]] for turn, a, b in answers if a is not None and b is not None]
    return [_pair_from_votes(cell, categories, references) for cell in cells.values()], {
        "votes": len(votes),
        "missing_responses": len(votes) - len(complete),
        "empty_turns": sum(not all(text.strip() for text in shown) for shown in complete),
    }


def _pair_from_votes(
    votes: list[Vote], categories: Mapping[int, str], references: Mapping[int, Texts]
) -> PreferencePair:
    """The pair that votes of one cell are on, with their majority; a judge's second vote is kept as ``<judge>#2``."""
    first = votes[0]
    last, reference = first.turn - 1, references.get(first.question_id, ())
    answers_a, answers_b = first.answers_a or ("", ""), first.answers_b or ("", "")
    cast: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for vote in votes:
        seen[vote.judge] += 1
        cast[vote.judge if seen[vote.judge] == 1 else f"{vote.judge}#{seen[vote.judge]}"] = vote.label
    return PreferencePair(
        item_id=first.item_id,
        benchmark="mtbench",
        question=first.questions[last],
        response_a=answers_a[last],
        response_b=answers_b[last],
        subset=categories.get(first.question_id, ""),
        cluster_id=str(first.question_id),
        reference=reference[last] if len(reference) > last else None,
        turns=tuple(Turn(*turn) for turn in zip(first.questions, answers_a, answers_b, strict=False))[:last],
        model_a=first.model_a,
        model_b=first.model_b,
        label=majority_label(cast),
        votes=cast,
        label_kind="missing"
        if None in (first.answers_a, first.answers_b)
        else "human",  # votes that none can be scored on
        source=first.where,
    )


# --- the questions asked again, of models that people did not compare


def _repro_files() -> dict[str, str]:
    """Model to the file of its answers, in the order of `sides_of`."""
    files = {name.split("/")[-1].removesuffix(".jsonl"): name for name in source_names("mt_bench_repro/answers/*")}
    return {model: files[model] for model in sorted(files, key=str.casefold)}


def sides_of(first: str, second: str) -> tuple[str, str]:
    """Two models as the item's A and B: by name, whatever their case, as the judges' files do not agree on the sides.

    >>> sides_of("gemma-2-9b-it", "EEVE-Korean-Instruct-10.8B")
    ('EEVE-Korean-Instruct-10.8B', 'gemma-2-9b-it')
    """
    a, b = sorted((first, second), key=str.casefold)
    return a, b


def load_repro() -> Loaded:
    """The pairs of `REPRO`, and an empty report."""
    answers = {model: read_rows(file) for model, file in _repro_files().items()}
    return repro_pairs(read_rows(REPRO_FILE), answers)


def repro_pairs(question_rows: Rows, answer_rows: Mapping[str, list[Row]]) -> Loaded:
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
            fields |= {"item_id": f"{number}:{a}:{b}", "model_a": a, "model_b": b, "turns": (Turn(*first),)}
            pairs.append(pair_of(row, "mtbench_repro", *second, **fields))
    return pairs, {}


def _answers_of(model: str, rows: Rows) -> dict[int, Texts]:
    """Question id to the two turns of a model's answer."""
    found: dict[int, Texts] = {}
    for row in rows:
        if row.text("model_id") != model:
            raise row.error("model_id", f"is {row.get('model_id')!r} in the file of {model}")
        turns = _turns_of_answer(row)
        if len(turns) != 2:
            raise row.error("choices", f"hold {len(turns)} turns, not 2")
        found[row.whole("question_id")] = turns
    if not found:
        raise DataError(f"{model}: its file holds no answers")
    return found


MTBENCH = DataSet(load, _hashes)
REPRO = DataSet(load_repro, lambda: source_hashes([REPRO_FILE, *_repro_files().values()]))
