"""MT-bench: people's votes on six models' answers to 80 two-turn questions; and six newer models' that nobody judged.

`MTBENCH` is what a mirror holds in three derived files: 2,619 of the 3,355 votes, those of turn 1 and 930 of turn 2, of
which 61 came from a source that had put the models in alphabetical order. `ALL` is all votes, from the hub. `REPRO` is
1,200 pairs of newer conversations without labels, which six judges compared: no protocol scores it.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import PurePath
from typing import Any, NamedTuple

from judgekit.data.loading import DataSet, Loaded, Rows, pair_of
from judgekit.data.sources import source_hashes, source_names
from judgekit.data.sources.rows import Row, read_rows
from judgekit.records import PreferencePair, Turn, majority_label

QUESTION_FILE = "mtbench/mt_bench/question.jsonl"
REFERENCE_FILE = "mtbench/mt_bench/reference_answer/gpt-4.jsonl"
VOTE_FILE = "mtbench_derived/mtbench_human_votes.jsonl"
ANSWER_FILE = "mtbench_derived/mtbench_answers.jsonl"
GPT4_FILE = "mtbench_derived/mtbench_gpt4_pair_votes.jsonl"
REPRO_FILE = "mt_bench_repro/questions.jsonl"
# On the hub: all votes of people, and those of GPT-4, where a mirror has `GPT4_FILE`.
HUB_VOTES = "mtbench_hub/human-00000-of-00001-25f4910818759289.parquet"
HUB_GPT4 = "mtbench_hub/gpt4_pair-00000-of-00001-c0b431264a82ddc0.parquet"

# "tie (inconsistent)": GPT-4 changed its verdict when the answers changed places.
WINNER_CODES = {"model_a": "A", "model_b": "B", "tie": "tie", "tie (inconsistent)": "tie"}

Texts = tuple[str, ...]
Questions = Mapping[int, Row]  # id to the row of the question file
References = Mapping[int, Texts]  # id to GPT-4's answers, one per turn


class Vote(NamedTuple):
    """The row of a vote, whose fields both forms of the data spell alike, and what was voted on."""

    row: Row
    questions: Texts  # two, as answers are
    answers_a: Texts | None  # None where the source lacks that model's answers
    answers_b: Texts | None


def load(benchmark: str) -> Loaded:
    """The pairs of a mirror's votes (``mtbench``) or of all (``mtbench_all``), by first votes; and a report."""
    questions = {row.whole("question_id"): row for row in read_rows(QUESTION_FILE)}
    if benchmark == "mtbench":
        votes = votes_from_files(read_rows(VOTE_FILE), questions, read_rows(ANSWER_FILE))
    else:
        votes = votes_from_hub_rows(read_rows(HUB_VOTES))
    return pairs_from_votes(votes, questions, _answers_of(REFERENCE_FILE), benchmark)


def _answers_of(file: str) -> dict[int, Texts]:
    """Question id to the two turns of a model's answer."""
    choices = {row.whole("question_id"): row.checked_list("choices", dict, "choices", n=1) for row in read_rows(file)}
    return {number: tuple(choice["turns"]) for number, (choice,) in choices.items()}


def votes_from_files(rows: Rows, questions: Questions, answer_rows: Rows) -> list[Vote]:
    """Votes of the mirror's derived files."""
    answers = {(row.whole("question_id"), row.text("model")): tuple(row.texts("turns", n=2)) for row in answer_rows}
    votes = []
    for row in rows:
        number = row.whole("question_id")
        both = (answers.get((number, row.text(model))) for model in ("model_a", "model_b"))
        votes.append(Vote(row, tuple(questions[number].texts("turns", n=2)), *both))
    return votes


def votes_from_hub_rows(rows: Rows) -> list[Vote]:
    """Votes of the hub set's rows, which carry both conversations as lists of ``{"role", "content"}``."""
    return [Vote(row, *_conversation(row, "conversation_a"), _conversation(row, "conversation_b")[1]) for row in rows]


def _conversation(row: Row, field: str) -> tuple[Texts, Texts]:
    """Questions and answers of a conversation."""
    messages = row.checked_list(field, dict, "messages")
    questions, answers = (
        tuple(str(message.get("content") or "") for message in messages if message.get("role") == role)
        for role in ("user", "assistant")
    )
    return questions, answers


def pairs_from_votes(votes: list[Vote], questions: Questions, references: References, benchmark: str) -> Loaded:
    """One pair per question, ordered pair of models and turn, with all its votes; a missing response is an empty one.

    The report counts ``votes``, and those that lack a model's answers (``missing_responses``) or in which an answer
    shown, an earlier turn's too, is empty (``empty_turns``).
    """
    cells: dict[str, list[PreferencePair]] = {}
    report = {"votes": len(votes), "missing_responses": 0, "empty_turns": 0}
    for vote in votes:
        pair = _pair_of_vote(vote, questions, references, benchmark)
        cells.setdefault(pair.item_id, []).append(pair)
        if pair.label_kind == "missing":
            report["missing_responses"] += 1
        else:
            shown = [text for turn in pair.turns for text in (turn.response_a, turn.response_b)]
            report["empty_turns"] += not all(text.strip() for text in (*shown, *pair.responses))
    return [_with_all_votes(cell) for cell in cells.values()], report


def _pair_of_vote(vote: Vote, questions: Questions, references: References, benchmark: str) -> PreferencePair:
    """The pair that a vote is on, with this vote; ``81:alpaca-13b:gpt-4:1`` is its question, models and turn."""
    row = vote.row
    number, turn = row.whole("question_id"), row.code("turn", {1: 1, 2: 2})
    model_a, model_b, reference = row.text("model_a"), row.text("model_b"), references.get(number, ())
    both = (vote.answers_a, vote.answers_b)
    sides = (vote.questions, *(answers or ("", "") for answers in both))
    return pair_of(
        row,
        benchmark,
        *(texts[turn - 1] for texts in sides),
        item_id=f"{number}:{model_a}:{model_b}:{turn}",
        subset=questions[number].text("category"),
        cluster_id=str(number),
        reference=reference[turn - 1] if len(reference) >= turn else None,
        turns=tuple(Turn(*shown) for shown in zip(*sides, strict=False))[: turn - 1],
        model_a=model_a,
        model_b=model_b,
        votes={row.text("judge"): row.code("winner", WINNER_CODES)},
        # Votes on a missing response are votes that nobody can be scored on.
        label_kind="missing" if None in both else "human",
    )


def _with_all_votes(pairs: list[PreferencePair]) -> PreferencePair:
    """The first of the pairs of one cell, with the votes of all; a judge's second vote is kept as ``<judge>#2``."""
    votes: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for judge, label in (vote for pair in pairs for vote in pair.votes.items()):
        seen[judge] += 1
        votes[judge if seen[judge] == 1 else f"{judge}#{seen[judge]}"] = label
    return replace(pairs[0], votes=votes, label=majority_label(votes))


# --- the questions asked again, of models that people did not compare


def _repro_answers() -> list[str]:
    """Files of answers, ``<model>.jsonl``, in the order of `sides_of`."""
    return sorted(source_names("mt_bench_repro/answers/*"), key=str.casefold)


def sides_of(first: str, second: str) -> tuple[str, str]:
    """Two models as the item's A and B: by name, whatever their case, as the judges' files do not agree on the sides.

    >>> sides_of("gemma-2-9b-it", "EEVE-Korean-Instruct-10.8B")
    ('EEVE-Korean-Instruct-10.8B', 'gemma-2-9b-it')
    """
    a, b = sorted((first, second), key=str.casefold)
    return a, b


def repro_pairs(question_rows: Rows, answers: Mapping[str, Mapping[int, Texts]]) -> Loaded:
    """Every two models on every question: the second turn, with the first one before it."""
    pairs = []
    for row in question_rows:
        number, questions = row.whole("question_id"), row.texts("turns", n=2)
        for models in combinations(answers, 2):
            a, b = sides_of(*models)
            first, second = zip(questions, answers[a][number], answers[b][number], strict=True)
            fields: dict[str, Any] = {"cluster_id": str(number), "subset": row.text("category")}
            fields |= {"item_id": f"{number}:{a}:{b}", "model_a": a, "model_b": b, "turns": (Turn(*first),)}
            pairs.append(pair_of(row, "mtbench_repro", *second, **fields))
    return pairs, {}


_SHARED = (QUESTION_FILE, REFERENCE_FILE)
MTBENCH = DataSet(partial(load, "mtbench"), lambda: source_hashes([*_SHARED, VOTE_FILE, ANSWER_FILE]))
ALL = DataSet(partial(load, "mtbench_all"), lambda: source_hashes([*_SHARED, HUB_VOTES]))
REPRO = DataSet(
    lambda: repro_pairs(read_rows(REPRO_FILE), {PurePath(file).stem: _answers_of(file) for file in _repro_answers()}),
    lambda: source_hashes([REPRO_FILE, *_repro_answers()]),
)
