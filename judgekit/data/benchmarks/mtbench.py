"""MT-bench human votes: six models' answers to 80 two-turn questions, compared by experts and the set's authors.

A mirror holds 2,619 of the 3,355 votes (all of turn 1) in three derived files; without a mirror all votes are read
from the hub. Both ways meet in `Vote`, and the pairs are made from votes. In the mirror the order of the two models
is upstream's own, except for 61 votes on turn 2 whose source had put the models in alphabetical order.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from judgekit.data import paths
from judgekit.data.loading import Loaded, Rows
from judgekit.data.sources import HUB_SETS, Row, read_hub_rows, read_rows, source_hashes
from judgekit.records import PreferencePair, Turn, majority_label

QUESTION_FILE = "mtbench/mt_bench/question.jsonl"
REFERENCE_FILE = "mtbench/mt_bench/reference_answer/gpt-4.jsonl"
VOTE_FILE = "mtbench_derived/mtbench_human_votes.jsonl"
ANSWER_FILE = "mtbench_derived/mtbench_answers.jsonl"
HUB_SET = HUB_SETS["mt_bench_human_judgments"]

# "tie (inconsistent)": GPT-4 changed its verdict when the answers changed places.
WINNER_CODES = {"model_a": "A", "model_b": "B", "tie": "tie", "tie (inconsistent)": "tie"}

Texts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Vote:
    """One vote, in the order of models of its row."""

    question_id: int
    turn: int
    model_a: str
    model_b: str
    judge: str
    label: str
    questions: Texts  # two
    answers_a: Texts | None  # two, or None where the source lacks that model's answers
    answers_b: Texts | None
    where: str

    @property
    def item_id(self) -> str:
        """The id of what is voted on, question, ordered pair of models and turn: ``81:alpaca-13b:gpt-4:1``."""
        return f"{self.question_id}:{self.model_a}:{self.model_b}:{self.turn}"


def hashes() -> dict[str, str]:
    """Provenance: without a mirror the votes are those of the hub's set at its revision."""
    shared = (QUESTION_FILE, REFERENCE_FILE)
    if paths.data_mirror() is not None:
        return source_hashes((*shared, VOTE_FILE, ANSWER_FILE))
    return source_hashes(shared) | {f"hub:{HUB_SET.name}@{HUB_SET.revision}": HUB_SET.splits["human"].sha256}


def load() -> Loaded:
    """The pairs, in the order of their first votes, and a report."""
    questions = {row.whole("question_id"): row for row in read_rows(QUESTION_FILE)}
    references = {row.whole("question_id"): turns_of_answer(row) for row in read_rows(REFERENCE_FILE)}
    categories = {number: row.text("category") for number, row in questions.items()}
    if paths.data_mirror() is None:
        votes = votes_from_hub_rows(read_hub_rows(HUB_SET, "human"))
    else:
        votes = votes_from_files(read_rows(VOTE_FILE), questions, read_rows(ANSWER_FILE))
    return pairs_from_votes(votes, categories, references)


def turns_of_answer(row: Row) -> Texts:
    """The turns of one line of a model's answer file."""
    (choice,) = row.checked_list("choices", dict, "choices", n=1)
    return tuple(Row(choice, row.file, row.number).texts("turns"))


def votes_from_files(vote_rows: Rows, questions: dict[int, Row], answer_rows: Rows) -> list[Vote]:
    """Votes of the mirror's derived files; ``questions``: id to the row of the question file."""
    answers = {(row.whole("question_id"), row.text("model")): tuple(row.texts("turns", n=2)) for row in answer_rows}
    votes = []
    for row in vote_rows:
        number = row.whole("question_id")
        if number not in questions:
            raise row.error("question_id", f"is {number}, which {QUESTION_FILE} does not hold")
        asked = tuple(questions[number].texts("turns", n=2))
        first, second = (answers.get((number, row.text(model))) for model in ("model_a", "model_b"))
        votes.append(Vote(**vote_fields(row), questions=asked, answers_a=first, answers_b=second))
    return votes


def votes_from_hub_rows(rows: Rows) -> list[Vote]:
    """Votes of the hub set's rows, which carry both conversations as lists of ``{"role", "content"}``."""
    votes = []
    for row in rows:
        turn = row.code("turn", {1: 1, 2: 2})
        questions, answers_a = _conversation(row, "conversation_a", turn)
        _, answers_b = _conversation(row, "conversation_b", turn)
        votes.append(Vote(**vote_fields(row), questions=questions, answers_a=answers_a, answers_b=answers_b))
    return votes


def vote_fields(row: Row) -> dict[str, Any]:
    """The fields of a vote that both forms of the data spell alike."""
    return {
        "question_id": row.whole("question_id"),
        "turn": row.code("turn", {1: 1, 2: 2}),
        "model_a": row.text("model_a"),
        "model_b": row.text("model_b"),
        "judge": row.text("judge"),
        "label": row.code("winner", WINNER_CODES),
        "where": row.where,
    }


def _conversation(row: Row, field: str, n_turns: int) -> tuple[Texts, Texts]:
    """Questions and answers of a conversation, each at least ``n_turns`` texts."""
    messages = row.checked_list(field, dict, "messages")
    asked, answered = (
        tuple(str(message.get("content") or "") for message in messages if message.get("role") == role)
        for role in ("user", "assistant")
    )
    if min(len(asked), len(answered)) < n_turns:
        raise row.error(field, f"holds fewer than {n_turns} questions and answers")
    return asked, answered


def pairs_from_votes(votes: list[Vote], categories: dict[int, str], references: dict[int, Texts]) -> Loaded:
    """One pair per question, ordered pair of models and turn, with all its votes; a missing response is an empty one.

    Sides stay as the rows have them: the same two models may be compared in both orders, as two items. The report has
    ``votes``; ``missing_responses`` and ``empty_turns``: votes that lack a model's answers, or in which an answer shown
    (an earlier turn's, too) is empty. ``references``: GPT-4's, one per turn, where there are any.
    """
    cells: dict[str, list[Vote]] = {}
    for vote in votes:
        cells.setdefault(vote.item_id, []).append(vote)
    pairs = [
        _pair_from_votes(cell, categories.get(cell[0].question_id, ""), references.get(cell[0].question_id, ()))
        for cell in cells.values()
    ]
    answers = [(vote.turn, vote.answers_a, vote.answers_b) for vote in votes]
    complete = [[*a[:turn], *b[:turn]] for turn, a, b in answers if a is not None and b is not None]
    return pairs, {
        "votes": len(votes),
        "missing_responses": len(votes) - len(complete),
        "empty_turns": sum(not all(text.strip() for text in shown) for shown in complete),
    }


def _pair_from_votes(votes: list[Vote], category: str, reference: Texts) -> PreferencePair:
    """The pair that votes of one cell are on; the label is their majority, None when there is none."""
    first = votes[0]
    last = first.turn - 1
    answers_a, answers_b = first.answers_a or ("", ""), first.answers_b or ("", "")
    cast = _number_votes(votes)
    return PreferencePair(
        item_id=first.item_id,
        benchmark="mtbench",
        question=first.questions[last],
        response_a=answers_a[last],
        response_b=answers_b[last],
        subset=category,
        cluster_id=str(first.question_id),
        reference=reference[last] if len(reference) > last else None,
        turns=tuple(Turn(*turn) for turn in zip(first.questions, answers_a, answers_b, strict=False))[:last],
        model_a=first.model_a,
        model_b=first.model_b,
        label=majority_label(cast),
        votes=cast,
        label_kind="human",
        source=first.where,
    )


def _number_votes(votes: list[Vote]) -> dict[str, str]:
    """Judge to label; the second vote of a judge is kept as ``<judge>#2``, and so on."""
    cast: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for vote in votes:
        seen[vote.judge] += 1
        cast[vote.judge if seen[vote.judge] == 1 else f"{vote.judge}#{seen[vote.judge]}"] = vote.label
    return cast
