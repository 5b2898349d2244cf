"""MT-bench human votes: six models' answers to 80 two-turn questions, compared by experts and the set's authors.

A mirror holds 2,619 of the 3,355 votes (all of turn 1) in three derived files; without a mirror all votes are read
from the hub. Both ways meet in `Vote`, and the pairs are made from votes. In the mirror the order of the two models
is upstream's own, except for 61 votes on turn 2 whose source had put the models in alphabetical order.
"""

from dataclasses import dataclass

from judgekit.data import paths
from judgekit.data.sources import HUB_SETS, Row, read_hub_rows, read_rows
from judgekit.records import PreferencePair, Turn, majority_label

QUESTION_FILE = "mtbench/mt_bench/question.jsonl"
REFERENCE_FILE = "mtbench/mt_bench/reference_answer/gpt-4.jsonl"
VOTE_FILE = "mtbench_derived/mtbench_human_votes.jsonl"
ANSWER_FILE = "mtbench_derived/mtbench_answers.jsonl"
HUB_SET = HUB_SETS["mt_bench_human_judgments"]

# "tie (inconsistent)": GPT-4 changed its verdict when the answers changed places.
WINNER_CODES = {"model_a": "A", "model_b": "B", "tie": "tie", "tie (inconsistent)": "tie"}


@dataclass(frozen=True, slots=True)
class Vote:
    """One vote, in the order of models of its row.

    ``questions`` holds two texts; ``answers_a`` and ``answers_b`` two texts each, or None when the source lacks
    that model's answers.
    """

    question_id: int
    turn: int
    model_a: str
    model_b: str
    judge: str
    label: str
    questions: tuple[str, ...]
    answers_a: tuple[str, ...] | None
    answers_b: tuple[str, ...] | None
    where: str

    @property
    def cell(self):
        """What is voted on: question, ordered pair of models, turn."""
        return self.question_id, self.model_a, self.model_b, self.turn


def files():
    """The pinned files the set is read from here: the votes are among them only with a mirror."""
    shared = (QUESTION_FILE, REFERENCE_FILE)
    return shared if paths.data_mirror() is None else (*shared, VOTE_FILE, ANSWER_FILE)


def hub_provenance():
    """What stands for a hash when the votes come from the hub; empty with a mirror."""
    if paths.data_mirror() is not None:
        return {}
    return {f"hub:{HUB_SET.name}@{HUB_SET.revision}": HUB_SET.splits["human"].sha256}


def load():
    """The pairs, in the order of their first votes, and a report."""
    questions = {row.whole("question_id"): row for row in read_rows(QUESTION_FILE)}
    references = {row.whole("question_id"): turns_of_answer(row) for row in read_rows(REFERENCE_FILE)}
    categories = {number: row.text("category") for number, row in questions.items()}
    if paths.data_mirror() is None:
        votes = votes_from_hub_rows(read_hub_rows(HUB_SET, "human"))
    else:
        votes = votes_from_files(read_rows(VOTE_FILE), questions, read_rows(ANSWER_FILE))
    return pairs_from_votes(votes, categories, references)


def turns_of_answer(row):
    """The turns of one line of a model's answer file."""
    (choice,) = row.checked_list("choices", dict, "choices", n=1)
    return tuple(Row(choice, row.file, row.number).texts("turns"))


def votes_from_files(vote_rows, questions, answer_rows):
    """Votes of the mirror's derived files.

    Parameters
    ----------
    vote_rows : list of Row
        question_id, turn, model_a, model_b, judge, winner.
    questions : dict of int to Row
        Question id to the row of the question file (``turns``: two texts).
    answer_rows : list of Row
        question_id, model, turns (two texts).

    Returns
    -------
    list of Vote

    Raises
    ------
    DataError
        If a field is missing, of another type, or a question is unknown. Absent answers are None instead.
    """
    answers = {(row.whole("question_id"), row.text("model")): tuple(row.texts("turns", n=2)) for row in answer_rows}
    votes = []
    for row in vote_rows:
        number = row.whole("question_id")
        if number not in questions:
            raise row.error("question_id", f"is {number}, which {QUESTION_FILE} does not hold")
        votes.append(
            Vote(
                **vote_fields(row),
                questions=tuple(questions[number].texts("turns", n=2)),
                answers_a=answers.get((number, row.text("model_a"))),
                answers_b=answers.get((number, row.text("model_b"))),
            )
        )
    return votes


def votes_from_hub_rows(rows):
    """Votes of the hub set's rows, which carry both conversations.

    Parameters
    ----------
    rows : list of Row
        question_id, turn, model_a, model_b, judge, winner, and conversation_a and conversation_b: lists of
        ``{"role": "user" or "assistant", "content": text}``.

    Returns
    -------
    list of Vote

    Raises
    ------
    DataError
        If a field is missing or of another type, or a conversation holds too few turns.
    """
    votes = []
    for row in rows:
        turn = row.code("turn", {1: 1, 2: 2})
        questions, answers_a = conversation(row, "conversation_a", turn)
        _, answers_b = conversation(row, "conversation_b", turn)
        votes.append(Vote(**vote_fields(row), questions=questions, answers_a=answers_a, answers_b=answers_b))
    return votes


def vote_fields(row):
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


def conversation(row, field, n_turns):
    """Questions and answers of a conversation, each a tuple of at least `n_turns` texts."""
    messages = row.checked_list(field, dict, "messages")
    spoken = {
        role: tuple(str(message.get("content") or "") for message in messages if message.get("role") == role)
        for role in ("user", "assistant")
    }
    if min(map(len, spoken.values())) < n_turns:
        raise row.error(field, f"holds fewer than {n_turns} questions and answers")
    return spoken["user"], spoken["assistant"]


def pairs_from_votes(votes, categories, references):
    """One pair per question, ordered pair of models and turn, with all its votes.

    Sides stay as the rows have them: the same two models may be compared in both orders, as two items.

    Parameters
    ----------
    votes : list of Vote
    categories : dict of int to str
        Question id to category.
    references : dict of int to tuple of str
        Question id to GPT-4's reference answers, one per turn, where there are any.

    Returns
    -------
    pairs : list of PreferencePair
        In the order of the first votes. A missing response is an empty one.
    report : dict of str to int
        ``votes``; ``missing_responses`` and ``empty_turns``: votes that lack a model's answers, or in which an
        answer shown (an earlier turn's, too) is empty.
    """
    cells = {}
    for vote in votes:
        cells.setdefault(vote.cell, []).append(vote)
    pairs = [
        pair_from_votes(cell, categories.get(cell[0].question_id, ""), references.get(cell[0].question_id, ()))
        for cell in cells.values()
    ]
    complete = [vote for vote in votes if vote.answers_a is not None and vote.answers_b is not None]
    return pairs, {
        "votes": len(votes),
        "missing_responses": len(votes) - len(complete),
        "empty_turns": sum(map(has_empty_turn, complete)),
    }


def item_id_of(question_id, model_a, model_b, turn):
    """The id of an item, e.g. ``81:alpaca-13b:gpt-4:1``."""
    return f"{question_id}:{model_a}:{model_b}:{turn}"


def has_empty_turn(vote):
    """Whether an answer shown to the voter is empty."""
    return any(not text.strip() for answers in (vote.answers_a, vote.answers_b) for text in answers[: vote.turn])


def pair_from_votes(votes, category, reference):
    """The pair that votes of one cell are on; the label is their majority, None when there is none."""
    first = votes[0]
    last = first.turn - 1
    answers_a, answers_b = first.answers_a or ("", ""), first.answers_b or ("", "")
    cast = number_votes(votes)
    return PreferencePair(
        item_id=item_id_of(*first.cell),
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


def number_votes(votes):
    """Judge to label; the second vote of a judge is kept as ``<judge>#2``, and so on."""
    cast, seen = {}, {}
    for vote in votes:
        seen[vote.judge] = seen.get(vote.judge, 0) + 1
        key = vote.judge if seen[vote.judge] == 1 else f"{vote.judge}#{seen[vote.judge]}"
        cast[key] = vote.label
    return cast
