"""500 pairs of the Chatbot Arena with a person's vote (no ties), and three models' probabilities on them."""

from judgekit.data.corpora.sides import keeps_sides, place
from judgekit.data.sources import read_rows, text_key
from judgekit.records import PreferencePair, Verdict, label_of_gap

JUDGES = {
    f"replay/arena-{model}": f"chatbot_arena_calibration/{model}.calibration.jsonl"
    for model in ("gpt-4-turbo", "gpt-3.5-turbo", "mistral-7b-instruct")
}
# The three files hold the same pairs and votes.
FILES = (JUDGES["replay/arena-gpt-4-turbo"],)
VOTE_CODES = {1: "A", 2: "B"}


def load():
    """The pairs, and an empty report."""
    return pairs_from_rows(read_rows(FILES[0]))


def pairs_from_rows(rows):
    """Pairs and report of the rows of one file.

    Raises
    ------
    DataError
        If a field is missing or of another type, or a vote is not 1 or 2.
    """
    return [place(pair_from_row(row)) for row in rows], {}


def pair_from_row(row):
    """One pair, sides as in the file."""
    first, second = row.texts("outputs", n=2)
    return PreferencePair(
        item_id=str(row.number),
        benchmark="chatbot_arena",
        question=row.text("instruction"),
        response_a=first,
        response_b=second,
        cluster_id=text_key(row.text("instruction")),
        label=row.inner("preferences").code("human", VOTE_CODES),
        label_kind="human",
        source=row.where,
    )


def load_judge(judge):
    """A model's stored verdicts on the pairs, with its probabilities.

    Parameters
    ----------
    judge : str
        A key of `JUDGES`, such as ``"replay/arena-gpt-4-turbo"``.

    Returns
    -------
    list of Verdict
        In the items' own A and B, with ``p_a`` and ``p_b`` rescaled to sum to one (the rest was on other tokens).
        How the source combined the two orders is not stated, so all are given as order ``ab``.

    Raises
    ------
    DataError
        If a field is missing, or both probabilities are 0.
    """
    return [verdict_from_row(row, judge) for row in read_rows(JUDGES[judge])]


def verdict_from_row(row, judge):
    """One verdict, turned as `place` turned the item."""
    chances = row.checked_list("probs", (int, float), "numbers", n=2)
    if min(chances) < 0 or sum(chances) <= 0:
        raise row.error("probs", f"are {chances}, not probabilities")
    item_id = str(row.number)
    sides = chances if keeps_sides("chatbot_arena", item_id) else chances[::-1]
    p_a, p_b = (chance / sum(chances) for chance in sides)
    said = label_of_gap(p_a - p_b)
    return Verdict(item_id=item_id, judge=judge, order="ab", verdict=said, p_a=p_a, p_b=p_b, p_tie=0.0)
