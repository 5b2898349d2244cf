"""Newsroom: seven systems' summaries of sixty news articles, each rated by three people on four aspects.

From JUDGE-BENCH. Its other files hold one response per prompt (ROSCOE, medical safety), no prompt (recipes), or no
response (toxic chat, safety of dialogues): they make no pairs.
"""

from itertools import combinations
from statistics import fmean

from judgekit.data.corpora.sides import place
from judgekit.data.corpora.summ_pairwise import TASK
from judgekit.data.sources import read_rows, text_key
from judgekit.records import PreferencePair

FILES = ("judge_bench_dmg/newsroom/newsroom.json",)
ASPECTS = ("Informativeness", "Relevance", "Fluency", "Coherence")
MARKS = ("### Generated Summary", "### Source Article")
# Two means of twelve ratings on 1-5 that differ by less than one rating by one point are a tie.
MARGIN = 1 / 12


def load():
    """The pairs, and a report."""
    return pairs_from_rows(read_rows(FILES[0], within="instances"))


def pairs_from_rows(rows):
    """Every two summaries of an article; the label is that of the higher mean rating.

    Raises
    ------
    DataError
        If a field is missing or of another type, or an instance is not a summary and an article under their marks.
    """
    articles = {}
    for row in rows:
        summary, article = split_instance(row)
        articles.setdefault(article, []).append((row, summary, mean_rating(row)))
    pairs = [
        place(pair_of_summaries(article, first, second))
        for article, rated in articles.items()
        for first, second in combinations(rated, 2)
        if first[1] != second[1]
    ]
    n_all = sum(len(rated) * (len(rated) - 1) // 2 for rated in articles.values())
    return pairs, {"summaries": len(rows), "articles": len(articles), "skipped_identical": n_all - len(pairs)}


def split_instance(row):
    """Summary and article of an instance."""
    before, mark, rest = row.text("instance").partition(MARKS[0])
    summary, other_mark, article = rest.partition(MARKS[1])
    if before.strip() or not mark or not other_mark:
        raise row.error("instance", f"is not a summary and an article under {MARKS[0]!r} and {MARKS[1]!r}")
    return summary.strip(), article.strip()


def mean_rating(row):
    """Mean over aspects of the mean of people's ratings, in [1, 5]."""
    ratings = row.inner("annotations")
    return fmean(
        fmean(ratings.inner(aspect).checked_list("individual_human_scores", (int, float), "numbers"))
        for aspect in ASPECTS
    )


def pair_of_summaries(article, first, second):
    """One pair, sides as in the file."""
    (row, summary, rating), (other_row, other_summary, other_rating) = first, second
    gap = rating - other_rating
    return PreferencePair(
        item_id=f"{row.number}-{other_row.number}",
        benchmark="newsroom",
        question=f"{TASK}\n\n{article}",
        response_a=summary,
        response_b=other_summary,
        cluster_id=text_key(article),
        label="tie" if abs(gap) < MARGIN - 1e-9 else "A" if gap > 0 else "B",
        label_kind="human",
        source=row.where,
    )
