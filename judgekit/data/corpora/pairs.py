"""Corpora of pairs that one column each does not describe: compared, ranked or marked, or right and wrong solutions."""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations, product

from judgekit.data.corpora.answers import SUMMARY_TASK
from judgekit.data.loading import Loaded, Messages, chat_of, dialogue_fields, merge_speakers, turned_pair
from judgekit.data.sources import Row
from judgekit.records import PreferencePair, majority_label

COMPARISONS = tuple(combinations((1, 2, 3, 4), 2))  # of QA-Feedback's answers, in its order
SPEAKER = re.compile(r"\n\n(Human|Assistant):")
SYSTEMS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")
Pairs = Iterator[PreferencePair | str]  # a name is what the report counts


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
    """HH-RLHF, harmless-base test part: a chosen and a rejected response; rows that differ before them are no pair."""
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


def chosen_rejected(row: Row, name: str) -> Pairs:
    """A conversation in LLaMA-Factory's form with a chosen and a rejected response, texts or messages."""
    better, worse = (
        row.inner(field).text("value") if isinstance(row.get(field), dict) else row.text(field)
        for field in ("chosen", "rejected")
    )
    fields = dialogue_fields(chat_of(row, "conversations", 1, ("from", "value")))
    yield turned_pair(row, name, **fields, response_a=better, response_b=worse, label="A", label_kind="model")


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
    """News summaries by writers (A in the file) and text-davinci-002: six people's votes on two make one pair."""
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


def kto_mix(rows: list[Row]) -> Loaded:
    """LLaMA-Factory's KTO mixture: every response to a prompt marked good against every one marked bad."""
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
