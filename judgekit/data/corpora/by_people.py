"""Pairs that people compared, ranked or rated; each function takes the rows of its set's file."""

import re
from collections.abc import Iterator
from itertools import combinations
from statistics import fmean

from judgekit.data.loading import Loaded, Messages, Rows, dialogue_fields, merge_speakers, turned_pair
from judgekit.data.sources import Row, text_key
from judgekit.records import PreferencePair, label_of_gap, majority_label

COMPARISONS = tuple(combinations((1, 2, 3, 4), 2))  # of QA-Feedback's answers, in its order
SPEAKER = re.compile(r"\n\n(Human|Assistant):")
# The files hold the articles only; the task was put to writers and model in words like these.
SUMMARY_TASK = "Summarize the following article."
ASPECTS = ("Informativeness", "Relevance", "Fluency", "Coherence")
SUMMARY_MARKS = ("### Generated Summary", "### Source Article")
# Two means of twelve ratings on 1-5 that differ by less than one rating by one point are a tie.
MARGIN = 1 / 12


def finegrained_rlhf(rows: Rows) -> Loaded:
    """QA-Feedback of Fine-Grained RLHF: questions over passages, four answers each; "neither is better" is a tie."""
    return [pair for row in rows for pair in _pairs_of_question(row)], {}


def _pairs_of_question(row: Row) -> Iterator[PreferencePair]:
    """The six pairs of a question; the passages the answers were written from are the reference."""
    passages = row.checked_list("passages", list, "lists of texts")
    reference = "\n\n".join("\n".join((passage[0], " ".join(passage[1:]))) for passage in passages if passage)
    preferences = row.checked_list("preference", int, "whole numbers", n=len(COMPARISONS))
    for (first, second), preference in zip(COMPARISONS, preferences, strict=True):
        if isinstance(preference, bool) or preference not in (0, 1, 2):
            raise row.error("preference", f"holds {preference}, not one of 0, 1, 2")
        yield turned_pair(
            row,
            "finegrained_rlhf",
            *(row.text("question"), row.text(f"prediction {first}"), row.text(f"prediction {second}")),
            item_id=f"{row.number}:{first}-{second}",
            reference=reference,
            label=("tie", "A", "B")[preference],
            label_kind="human",
        )


def hh_harmless(rows: list[Row]) -> Loaded:
    """HH-RLHF, harmless-base test part: dialogues with a response people chose and one they rejected.

    A few rows differ before the last response (``skipped_different_dialogues``): there the two are responses to
    different questions, so the row is no pair.
    """
    pairs = []
    for row in rows:
        (dialogue, chosen), (other_dialogue, rejected) = (_split_last(row, field) for field in ("chosen", "rejected"))
        if dialogue == other_dialogue:
            texts = {"response_a": chosen, "response_b": rejected, **dialogue_fields(_hh_messages(row, dialogue))}
            pairs.append(turned_pair(row, "hh_harmless", **texts, label="A", label_kind="human"))
    return pairs, {"skipped_different_dialogues": len(rows) - len(pairs)}


def _split_last(row: Row, field: str) -> tuple[str, str]:
    """The dialogue up to the last response, and that response."""
    dialogue, mark, response = row.text(field).rpartition("\n\nAssistant:")
    if not mark:
        raise row.error(field, "holds no response of the assistant")
    return dialogue, response.strip()


def _hh_messages(row: Row, dialogue: str) -> Messages:
    parts = SPEAKER.split(dialogue)
    messages = merge_speakers(list(zip(parts[1::2], (text.strip() for text in parts[2::2]), strict=True)))
    if parts[0].strip() or not messages or messages[0][0] != "Human" or messages[-1][0] != "Human":
        raise row.error("chosen", "is no dialogue that begins and ends with the person's message")
    return messages


def summ_pairwise(rows: list[Row]) -> Loaded:
    """News summaries by freelance writers (A in the file) and by text-davinci-002, compared by six evaluators.

    Votes on the same two summaries make one pair, whose label is their majority (None where there is none:
    ``no_majority``).
    """
    cells: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        cells.setdefault((row.text("article_id"), row.text("writer_id")), []).append(row)
    pairs = [_pair_from_votes(cell) for cell in cells.values()]
    return pairs, {"votes": len(rows), "no_majority": sum(pair.label is None for pair in pairs)}


def _pair_from_votes(rows: list[Row]) -> PreferencePair:
    first, codes = rows[0], {True: "A", False: "B", "Equally Good": "tie"}
    votes = {row.text("evaluator_id"): row.code("overall_writer_better", codes) for row in rows}
    if len(votes) < len(rows):
        raise rows[-1].error("evaluator_id", "has voted on this pair before")
    return turned_pair(
        first,
        "summ_pairwise",
        f"{SUMMARY_TASK}\n\n{first.text('article_text')}",
        *(first.text("writer_summary"), first.text("text-davinci-002_summary")),
        item_id=f"{first.text('article_id')}:{first.text('writer_id')}",
        cluster_id=first.text("article_id"),
        model_a="writer",
        model_b="text-davinci-002",
        label=majority_label(votes),
        votes=votes,
        label_kind="human",
    )


def newsroom(rows: list[Row]) -> Loaded:
    """Seven systems' summaries of sixty news articles, each rated by three people on four aspects (JUDGE-BENCH).

    Every two summaries of an article make a pair; the label is that of the higher mean rating.
    """
    articles: dict[str, list[tuple[Row, str, float]]] = {}
    for row in rows:
        summary, article = _split_instance(row)
        ratings = row.inner("annotations")
        means = [
            fmean(ratings.inner(aspect).checked_list("individual_human_scores", (int, float), "numbers"))
            for aspect in ASPECTS
        ]
        articles.setdefault(article, []).append((row, summary, fmean(means)))
    pairs, identical = [], 0
    for article, rated in articles.items():
        for (row, summary, rating), (other_row, other_summary, other_rating) in combinations(rated, 2):
            if summary == other_summary:
                identical += 1
                continue
            gap = rating - other_rating
            pair = turned_pair(
                row,
                "newsroom",
                *(f"{SUMMARY_TASK}\n\n{article}", summary, other_summary),
                item_id=f"{row.number}-{other_row.number}",
                cluster_id=text_key(article),
                label="tie" if abs(gap) < MARGIN - 1e-9 else label_of_gap(gap),
                label_kind="human",
            )
            pairs.append(pair)
    return pairs, {"summaries": len(rows), "articles": len(articles), "skipped_identical": identical}


def _split_instance(row: Row) -> tuple[str, str]:
    """Summary and article of an instance."""
    before, mark, rest = row.text("instance").partition(SUMMARY_MARKS[0])
    summary, other_mark, article = rest.partition(SUMMARY_MARKS[1])
    if before.strip() or not mark or not other_mark:
        raise row.error("instance", "is not a summary and an article under {!r} and {!r}".format(*SUMMARY_MARKS))
    return summary.strip(), article.strip()


def oasst_zh(rows: Rows) -> Loaded:
    """Chinese OASST rankings, as LLaMA-Factory ships them: responses best first; two identical ones make no pair."""
    pairs, identical = [], 0
    for row in rows:
        messages: Messages = []
        for exchange in row.checked_list("history", list, "exchanges"):
            if len(exchange) != 2 or not all(isinstance(text, str) for text in exchange):
                raise row.error("history", "holds an exchange that is not a question and an answer")
            messages += zip(("human", "gpt"), exchange, strict=True)
        fields = dialogue_fields([*messages, ("human", row.joined("instruction", "input"))])
        for (rank, better), (other_rank, worse) in combinations(enumerate(row.texts("output")), 2):
            if better == worse:
                identical += 1
                continue
            fields |= {"item_id": f"{row.number}:{rank}-{other_rank}", "response_a": better, "response_b": worse}
            pairs.append(turned_pair(row, "oasst_zh", **fields, label="A", label_kind="human"))
    return pairs, {"skipped_identical": identical}
