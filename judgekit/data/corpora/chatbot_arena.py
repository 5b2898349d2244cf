"""500 pairs of the Chatbot Arena with a person's vote (no ties), and three models' probabilities on them."""

from judgekit.data.loading import keeps_sides, pairs
from judgekit.data.sources import Row, read_rows
from judgekit.records import Verdict, label_of_gap

JUDGES = {  # the three files hold the same pairs and votes
    f"replay/arena-{model}": f"chatbot_arena_calibration/{model}.calibration.jsonl"
    for model in ("gpt-4-turbo", "gpt-3.5-turbo", "mistral-7b-instruct")
}
voted_pairs = pairs(
    "chatbot_arena",
    ("instruction", lambda row: row.texts("outputs", n=2)[0], lambda row: row.texts("outputs", n=2)[1]),
    kind="human",
    label=lambda row: row.inner("preferences").code("human", {1: "A", 2: "B"}),
)


def load_judge(judge: str) -> list[Verdict]:
    """The stored verdicts of one of `JUDGES` on the pairs, in the items' own A and B.

    ``p_a`` and ``p_b`` are rescaled to sum to one (the rest was on other tokens). How the source combined the two
    orders is not stated, so all are given as order ``ab``.
    """
    return [verdict_from_row(row, judge) for row in read_rows(JUDGES[judge])]


def verdict_from_row(row: Row, judge: str) -> Verdict:
    """One verdict, turned as the item was."""
    chances = row.checked_list("probs", (int, float), "numbers", n=2)
    if min(chances) < 0 or sum(chances) <= 0:
        raise row.error("probs", f"are {chances}, not probabilities")
    item_id = str(row.number)
    sides = chances if keeps_sides("chatbot_arena", item_id) else chances[::-1]
    p_a, p_b = (chance / sum(chances) for chance in sides)
    verdict = label_of_gap(p_a - p_b)
    return Verdict(item_id=item_id, judge=judge, order="ab", verdict=verdict, p_a=p_a, p_b=p_b, p_tie=0.0)
