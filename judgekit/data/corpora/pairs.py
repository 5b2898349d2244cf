"""Pairs that people or models compared, ranked, rated or marked, and pairs of right and wrong solutions."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from statistics import fmean
from typing import Any

from judgekit.data.corpora.answers import SUMMARY_TASK, autoj_single
from judgekit.data.loading import (
    Loaded,
    Messages,
    Rows,
    dialogue_fields,
    merge_speakers,
    place,
    turned_pair,
    without_system,
)
from judgekit.data.sources import Row, text_key
from judgekit.records import PreferencePair, Response, label_of_gap, majority_label

COMPARISONS = tuple(combinations((1, 2, 3, 4), 2))  # of QA-Feedback's answers, in its order
SPEAKER = re.compile(r"\n\n(Human|Assistant):")
ASPECTS = ("Informativeness", "Relevance", "Fluency", "Coherence")
INSTANCE = re.compile(r"\s*### Generated Summary(.*?)### Source Article(.*)", re.DOTALL)
# Two means of twelve ratings on 1-5 that differ by less than one rating by one point are a tie.
MARGIN = 1 / 12
SYSTEMS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")
Pairs = Iterator[PreferencePair | str]  # a name is what the report counts

# --- one row at a time


def finegrained_rlhf(row: Row) -> Pairs:
    """QA-Feedback of Fine-Grained RLHF: six pairs of four answers to a question; the reference is the passages."""
    passages = row.checked_list("passages", list, "lists of texts")
    reference = "\n\n".join("\n".join((passage[0], " ".join(passage[1:]))) for passage in passages if passage)
    preferences = row.checked_list("preference", int, "whole numbers", n=len(COMPARISONS))
    for (first, second), preference in zip(COMPARISONS, preferences, strict=True):
        if isinstance(preference, bool) or preference not in (0, 1, 2):
            raise row.error("preference", f"holds {preference}, not one of 0, 1, 2")
        texts = (row.text("question"), row.text(f"prediction {first}"), row.text(f"prediction {second}"))
        fields = {"item_id": f"{row.number}:{first}-{second}", "label": ("tie", "A", "B")[preference]}
        yield turned_pair(row, "finegrained_rlhf", *texts, **fields, reference=reference, label_kind="human")


def hh_harmless(row: Row) -> Pairs:
    """HH-RLHF, harmless-base test part: dialogues with a response people chose and one they rejected.

    A few rows differ before the last response: there the two answer different questions, so the row is no pair.
    """
    parts = {field: row.text(field).rpartition("\n\nAssistant:") for field in ("chosen", "rejected")}
    for field, (_, mark, _) in parts.items():
        if not mark:
            raise row.error(field, "holds no response of the assistant")
    (dialogue, _, chosen), (other_dialogue, _, rejected) = parts.values()
    if dialogue != other_dialogue:
        yield "skipped_different_dialogues"
        return
    start, *said = SPEAKER.split(dialogue)
    messages = merge_speakers(list(zip(said[::2], (text.strip() for text in said[1::2]), strict=True)))
    if start.strip() or not messages or messages[0][0] != "Human" or messages[-1][0] != "Human":
        raise row.error("chosen", "is no dialogue that begins and ends with the person's message")
    texts = {"response_a": chosen.strip(), "response_b": rejected.strip(), **dialogue_fields(messages)}
    yield turned_pair(row, "hh_harmless", **texts, label="A", label_kind="human")


def oasst_zh(row: Row) -> Pairs:
    """Chinese OASST rankings, as LLaMA-Factory ships them: responses best first; two identical ones make no pair."""
    messages: Messages = []
    for exchange in row.checked_list("history", list, "exchanges"):
        if len(exchange) != 2 or not all(isinstance(text, str) for text in exchange):
            raise row.error("history", "holds an exchange that is not a question and an answer")
        messages += zip(("human", "gpt"), exchange, strict=True)
    fields = dialogue_fields([*messages, ("human", row.joined("instruction", "input"))])
    for (rank, better), (other_rank, worse) in combinations(enumerate(row.texts("output")), 2):
        if better == worse:
            yield "skipped_identical"
            continue
        fields |= {"item_id": f"{row.number}:{rank}-{other_rank}", "response_a": better, "response_b": worse}
        yield turned_pair(row, "oasst_zh", **fields, label="A", label_kind="human")


def dpo(row: Row, name: str) -> Pairs:
    """LLaMA-Factory's samples ``dpo_en`` and ``dpo_zh``: a conversation, a chosen and a rejected response."""
    yield _chosen(row, name, row.inner("chosen").text("value"), row.inner("rejected").text("value"))


def medicalgpt(row: Row) -> Pairs:
    """MedicalGPT's Chinese sample: conversations as LLaMA-Factory lays them out, and two texts."""
    yield _chosen(row, "medicalgpt", row.text("chosen"), row.text("rejected"))


def _chosen(row: Row, name: str, chosen: str, rejected: str) -> PreferencePair:
    """The pair of a row with a conversation; a system message is put before the first question."""
    inner = [Row(message, row.file, row.number) for message in row.checked_list("conversations", dict, "messages")]
    messages = without_system([(message.text("from"), message.text("value")) for message in inner])
    expected = ["human", "gpt"] * (len(messages) // 2) + ["human"]
    if [speaker for speaker, _ in messages] != expected:
        raise row.error("conversations", "does not alternate between human and gpt, from human to human")
    fields = dialogue_fields(messages) | {"response_a": chosen, "response_b": rejected}
    return turned_pair(row, name, **fields, label="A", label_kind="model")


def llmzoo(row: Row) -> Pairs:
    """LLMZoo: gpt-3.5-turbo's rankings of two to four models' answers, under five aspects; rank 1 is the best.

    Equal ranks are a tie, and two identical answers make no pair. The questions are 70 of the Vicuna-80 test questions
    and their Chinese translations: cleaning against the test sets drops them all. The pairs are here for those who do
    not test on these.
    """
    shown = row.inner("metadata")
    answers = shown.texts("answers")
    models = shown.texts("model_ids", n=len(answers))
    ranks = row.checked_list("order", int, "ranks", n=len(answers))
    comparison, _, aspect, _ = row.file.split("/")[-4:]
    yield "reviews"
    for i, j in combinations(range(len(answers)), 2):
        if answers[i] == answers[j]:
            yield "skipped_identical"
            continue
        fields = {"item_id": f"{comparison}/{row.text('lang')}/{aspect}/{row.number}:{i}-{j}", "subset": aspect}
        fields |= {"model_a": models[i], "model_b": models[j], "label": label_of_gap(ranks[j] - ranks[i])}
        yield turned_pair(row, "llmzoo", shown.text("question"), answers[i], answers[j], **fields, label_kind="model")


def gsm8k_solutions(row: Row) -> Pairs:
    """GSM8K: every right solution of a problem against every wrong one, by four systems."""
    solutions = {system: row.inner(system) for system in SYSTEMS}
    right = [system for system in SYSTEMS if solutions[system].code("is_correct", {True: True, False: False})]
    compared = [*product(right, [system for system in SYSTEMS if system not in right])]
    yield from ["problems"] if compared else ["problems", "problems_without_pair"]
    for better, worse in compared:
        texts = (row.text("question"), solutions[better].text("solution"), solutions[worse].text("solution"))
        fields = {"item_id": f"{row.number}:{better}:{worse}", "reference": row.text("ground_truth")}
        fields |= {"model_a": better, "model_b": worse, "label": "A", "label_kind": "objective"}
        yield turned_pair(row, "gsm8k_solutions", *texts, **fields)


# --- rows that belong together


def summ_pairwise(rows: list[Row]) -> Loaded:
    """News summaries by freelance writers (A in the file) and by text-davinci-002, compared by six evaluators.

    Votes on the same two summaries make one pair, whose label is their majority (None where there is none:
    ``no_majority``).
    """
    cells = defaultdict(list)
    for row in rows:
        cells[row.text("article_id"), row.text("writer_id")].append(row)
    pairs = [_voted_pair(":".join(key), cell) for key, cell in cells.items()]
    return pairs, {"votes": len(rows), "no_majority": sum(pair.label is None for pair in pairs)}


def _voted_pair(item_id: str, rows: list[Row]) -> PreferencePair:
    first, codes = rows[0], {True: "A", False: "B", "Equally Good": "tie"}
    votes = {row.text("evaluator_id"): row.code("overall_writer_better", codes) for row in rows}
    if len(votes) < len(rows):
        raise rows[-1].error("evaluator_id", "has voted on this pair before")
    return turned_pair(
        first,
        "summ_pairwise",
        f"{SUMMARY_TASK}\n\n{first.text('article_text')}",
        *(first.text("writer_summary"), first.text("text-davinci-002_summary")),
        item_id=item_id,
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
    articles = defaultdict(list)
    for row in rows:
        parts = INSTANCE.fullmatch(row.text("instance"))
        if parts is None:
            raise row.error("instance", "is not a summary and an article under their headings")
        ratings = [row.inner("annotations").inner(aspect) for aspect in ASPECTS]
        means = [fmean(it.checked_list("individual_human_scores", (int, float), "numbers")) for it in ratings]
        articles[parts[2].strip()].append((row, parts[1].strip(), fmean(means)))
    pairs, identical = [], 0
    for article, rated in articles.items():
        for (row, summary, rating), (other_row, other_summary, other_rating) in combinations(rated, 2):
            if summary == other_summary:
                identical += 1
                continue
            gap = rating - other_rating
            fields = {"item_id": f"{row.number}-{other_row.number}", "cluster_id": text_key(article)}
            fields |= {"label": "tie" if abs(gap) < MARGIN - 1e-9 else label_of_gap(gap), "label_kind": "human"}
            question = f"{SUMMARY_TASK}\n\n{article}"
            pairs.append(turned_pair(row, "newsroom", question, summary, other_summary, **fields))
    return pairs, {"summaries": len(rows), "articles": len(articles), "skipped_identical": identical}


def kto_mix(rows: list[Row]) -> Loaded:
    """LLaMA-Factory's KTO mixture: every response to a prompt marked good against every one marked bad.

    ``unpaired`` responses have no counterpart.
    """
    prompts: dict[str, dict[bool, list[Row]]] = {}
    for row in rows:
        good = row.code("tag", {True: True, False: False})
        prompts.setdefault(row.text("instruction"), {True: [], False: []})[good].append(row)
    fields = {"label": "A", "label_kind": "model"}
    pairs = []
    for prompt, marked in prompts.items():
        for good, bad in product(marked[True], marked[False]):
            texts, item_id = (prompt, good.text("output"), bad.text("output")), f"{good.number}-{bad.number}"
            pairs.append(turned_pair(good, "kto_mix", *texts, item_id=item_id, **fields))
    unpaired = sum(len(marked[True]) + len(marked[False]) for marked in prompts.values() if not all(marked.values()))
    return pairs, {"responses": len(rows), "unpaired": unpaired}


def vicuna_blog(rows: Rows) -> Loaded:
    """GPT-4's reviews of the Vicuna blog: two answers to 80 questions, each scored from 1 to 10.

    Equal scores are a tie, a negative score is a failed review (skipped). The rows are those of questions, answers and
    reviews. The questions are the Vicuna-80 test questions: cleaning against the test sets drops them.
    """
    kinds = defaultdict(list)
    for row in rows:
        kinds[row.file.split("/")[1]].append(row)
    questions = {row.whole("question_id"): row for row in kinds["question.jsonl"]}
    answers = {row.text("answer_id"): row for row in kinds["answer"]}
    pairs = []
    for row in kinds["review"]:
        scores = row.checked_list("score", (int, float), "numbers", n=2)
        if min(scores) < 0:
            continue
        question = _known(row, "question_id", questions)
        first, second = (_known(row, field, answers) for field in ("answer1_id", "answer2_id"))
        folder, name = row.file.split("/")[-2:]
        texts = (question.text("text"), first.text("text"), second.text("text"))
        fields = {"item_id": f"{folder}/{name.removesuffix('.jsonl')}/{row.number}"}
        fields |= {"cluster_id": str(question.whole("question_id")), "subset": question.text("category")}
        fields |= {"label": label_of_gap(scores[0] - scores[1])}
        fields |= {"model_a": first.text("model_id"), "model_b": second.text("model_id"), "label_kind": "gpt-4"}
        pairs.append(turned_pair(row, "vicuna_blog", *texts, **fields))
    return pairs, {"skipped_no_score": len(kinds["review"]) - len(pairs)}


def _known(row: Row, field: str, rows: Mapping[Any, Row]) -> Row:
    """The row that a field refers to."""
    key = row.get(field)
    if not isinstance(key, (int, str)) or key not in rows:
        raise row.error(field, f"refers to {key!r}, which is not in the files")
    return rows[key]


def autoj_rated(rows: list[Row]) -> Loaded:
    """Auto-J's training ratings as pairs: two responses to one query that GPT-4 rated from 1 to 10, each by itself.

    Every two different responses to one query; equal ratings tie. ``alone``: responses whose query has no other.
    """
    responses: list[Response] = autoj_single(rows)[0]
    groups = defaultdict(list)
    for response in responses:
        groups[response.cluster_id].append(response)
    pairs = [
        place(
            PreferencePair(
                item_id=f"{first.item_id}-{second.item_id}",
                benchmark="autoj_rated",
                question=first.question,
                response_a=first.response,
                response_b=second.response,
                cluster_id=first.cluster_id,
                label=label_of_gap((first.score or 0) - (second.score or 0)),
                label_kind="gpt-4",
                source=first.source,
            )
        )
        for group in groups.values()
        for first, second in combinations(group, 2)
        if first.response != second.response
    ]
    return pairs, {"responses": len(responses), "alone": sum(len(group) == 1 for group in groups.values())}
