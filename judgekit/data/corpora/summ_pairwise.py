"""News summaries by freelance writers and by text-davinci-002, compared by six evaluators."""

from judgekit.data.corpora.sides import place
from judgekit.data.sources import read_rows
from judgekit.records import PreferencePair, majority_label

FILES = ("summ_pairwise/pairwise_evaluation_results.json",)
VOTE_CODES = {True: "A", False: "B", "Equally Good": "tie"}
# The file holds the articles only; the task was put to writers and model in words like these.
TASK = "Summarize the following article."


def load():
    """The pairs, and a report."""
    return pairs_from_rows(read_rows(FILES[0]))


def pairs_from_rows(rows):
    """Pairs and report of the votes in ``pairwise_evaluation_results.json``.

    Votes on the same two summaries make one pair, whose label is their majority (None when there is none:
    ``no_majority``).

    Raises
    ------
    DataError
        If a field is missing or of another type, or a vote is not true, false or "Equally Good".
    """
    cells = {}
    for row in rows:
        cells.setdefault((row.text("article_id"), row.text("writer_id")), []).append(row)
    pairs = [place(pair_from_votes(cell)) for cell in cells.values()]
    return pairs, {"votes": len(rows), "no_majority": sum(pair.label is None for pair in pairs)}


def pair_from_votes(rows):
    """One pair with the writer's summary as A."""
    first = rows[0]
    votes = {row.text("evaluator_id"): row.code("overall_writer_better", VOTE_CODES) for row in rows}
    if len(votes) < len(rows):
        raise rows[-1].error("evaluator_id", "has voted on this pair before")
    return PreferencePair(
        item_id=f"{first.text('article_id')}:{first.text('writer_id')}",
        benchmark="summ_pairwise",
        question=f"{TASK}\n\n{first.text('article_text')}",
        response_a=first.text("writer_summary"),
        response_b=first.text("text-davinci-002_summary"),
        cluster_id=first.text("article_id"),
        model_a="writer",
        model_b="text-davinci-002",
        label=majority_label(votes),
        votes=votes,
        label_kind="human",
        source=first.where,
    )
