"""Data that a judge may be trained on: preference pairs, and questions with single responses.

Which response of a pair is A is drawn by a hash of the item id, so that the label cannot be read from the position.
Whether a prompt also stands in a test set is for `judgekit.data.cleaning` to find.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import combinations, product

from judgekit.data import loading
from judgekit.data.corpora import alpaca, answers
from judgekit.data.corpora.answers import preferred_responses
from judgekit.data.loading import DataSet, Loaded, each, of_files, turned_pair
from judgekit.data.sources.rows import Row
from judgekit.records import PreferencePair, majority_label

COMPARISONS = tuple(combinations((1, 2, 3, 4), 2))  # of QA-Feedback's answers, in its order
SPEAKER = re.compile(r"\n\n(Human|Assistant):")
SYSTEMS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")
Pairs = Iterator[PreferencePair | str]  # a name is what the report counts


def _finegrained_rlhf(row: Row) -> Pairs:
    """QA-Feedback of Fine-Grained RLHF: six pairs of four answers to a question; the reference is the passages."""
    passages = row.checked_list("passages", list, "lists of texts")
    reference = "\n\n".join("\n".join((passage[0], " ".join(passage[1:]))) for passage in passages if passage)
    preferences = row.checked_list("preference", int, "whole numbers", n=len(COMPARISONS))
    for (first, second), preference in zip(COMPARISONS, preferences, strict=True):
        texts = (row.text("question"), row.text(f"prediction {first}"), row.text(f"prediction {second}"))
        fields = {"item_id": f"{row.number}:{first}-{second}", "label": ("tie", "A", "B")[preference]}
        yield turned_pair(row, "finegrained_rlhf", *texts, **fields, reference=reference, label_kind="human")


def _hh_harmless(row: Row) -> Pairs:
    """HH-RLHF, harmless-base test part: a chosen and a rejected response; rows that differ before them are no pair."""
    (dialogue, _, chosen), (other_dialogue, _, rejected) = (
        row.text(field).rpartition("\n\nAssistant:") for field in ("chosen", "rejected")
    )
    if dialogue != other_dialogue:
        yield "skipped_different_dialogues"
        return
    _, *said = SPEAKER.split(dialogue)
    messages = loading.merge_speakers(list(zip(said[::2], (text.strip() for text in said[1::2]), strict=True)))
    texts = {"response_a": chosen.strip(), "response_b": rejected.strip(), **loading.dialogue_fields(messages)}
    yield turned_pair(row, "hh_harmless", **texts, label="A", label_kind="human")


def _chosen_rejected(row: Row, name: str) -> Pairs:
    """A conversation in LLaMA-Factory's form with a chosen and a rejected response, texts or messages."""
    better, worse = (
        row.inner(field).text("value") if isinstance(row.get(field), dict) else row.text(field)
        for field in ("chosen", "rejected")
    )
    fields = loading.dialogue_fields(loading.chat_of(row, "conversations", "from", "value"))
    yield turned_pair(row, name, **fields, response_a=better, response_b=worse, label="A", label_kind="model")


def _oasst_zh(row: Row) -> Pairs:
    """Chinese OASST rankings, as LLaMA-Factory ships them: responses best first; two identical ones make no pair."""
    messages: loading.Messages = []
    for exchange in row.checked_list("history", list, "exchanges"):
        messages += zip(("human", "gpt"), exchange, strict=True)
    fields = loading.dialogue_fields([*messages, ("human", row.joined("instruction", "input"))])
    for (rank, better), (other_rank, worse) in combinations(enumerate(row.texts("output")), 2):
        if better == worse:
            yield "skipped_identical"
            continue
        fields |= {"item_id": f"{row.number}:{rank}-{other_rank}", "response_a": better, "response_b": worse}
        yield turned_pair(row, "oasst_zh", **fields, label="A", label_kind="human")


def _gsm8k_solutions(row: Row) -> Pairs:
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


def _summ_pairwise(rows: list[Row]) -> Loaded:
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
    texts = (first.text("writer_summary"), first.text("text-davinci-002_summary"))
    fields = {"item_id": item_id, "cluster_id": first.text("article_id"), "label_kind": "human"}
    fields |= {"model_a": "writer", "model_b": "text-davinci-002"}
    question = f"{answers.SUMMARY_TASK}\n\n{first.text('article_text')}"
    return turned_pair(first, "summ_pairwise", question, *texts, label=majority_label(votes), votes=votes, **fields)


def _kto_mix(rows: list[Row]) -> Loaded:
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


_ALPACA = "alpaca_eval/*/annotations.json"  # <model>/<annotator>
CORPORA = {
    "alpaca_eval": of_files(each(alpaca.alpaca_eval, "skipped_no_preference", "annotator_not_of_folder"), _ALPACA),
    "alpaca_cross": of_files(alpaca.alpaca_cross, _ALPACA),
    # 500 pairs with a person's vote, none of them a tie.
    "chatbot_arena": of_files(
        loading.columns(
            turned_pair,
            "chatbot_arena",
            ("instruction", lambda row: row.texts("outputs", n=2)[0], lambda row: row.texts("outputs", n=2)[1]),
            kind="human",
            label=lambda row: row.inner("preferences").code("human", {1: "A", 2: "B"}),
        ),
        "chatbot_arena_calibration/gpt-4-turbo.calibration.jsonl",  # of three files with the same pairs and votes
    ),
    "finegrained_rlhf": of_files(each(_finegrained_rlhf), "finegrained_rlhf/dev_feedback.json"),
    "hh_harmless": of_files(each(_hh_harmless, "skipped_different_dialogues"), "hh_rlhf/harmless-base/test.jsonl.gz"),
    "summ_pairwise": of_files(_summ_pairwise, "summ_pairwise/pairwise_evaluation_results.json"),
    # LLaMA-Factory's samples, and MedicalGPT's in the same form.
    "dpo_en": of_files(each(partial(_chosen_rejected, name="dpo_en")), "llamafactory/dpo_en_demo.json"),
    "dpo_zh": of_files(each(partial(_chosen_rejected, name="dpo_zh")), "llamafactory/dpo_zh_demo.json"),
    "medicalgpt": of_files(each(partial(_chosen_rejected, name="medicalgpt")), "medicalgpt/dpo_zh_500.jsonl"),
    "oasst_zh": of_files(each(_oasst_zh, "skipped_identical"), "llamafactory/oaast_rm_zh.json"),
    "kto_mix": of_files(_kto_mix, "llamafactory/kto-mix-test.json"),
    "gsm8k_solutions": of_files(
        each(_gsm8k_solutions, "problems", "problems_without_pair"), "gsm8k/example_model_solutions.jsonl"
    ),
}


def _preferred(corpus: DataSet) -> DataSet:
    return DataSet(lambda: preferred_responses(corpus.load()[0]), corpus.hashes)


# Corpora of pairs whose better response is worth having by itself, also where the pair is not trained on.
_WORTH_HAVING = ("dpo_en", "dpo_zh", "oasst_zh", "medicalgpt", "kto_mix")
ANSWERS = answers.ANSWERS | {name: _preferred(CORPORA[name]) for name in _WORTH_HAVING}
