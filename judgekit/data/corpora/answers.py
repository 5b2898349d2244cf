"""Questions with single responses: rated, criticised or worked out.

No file of a test set is among the sources; `judgekit.data.cleaning` finds what also stands in one.
"""

import io
import re
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import partial

from judgekit.data.loading import chat_of, columns, dialogue_fields, each, of_files, response_of
from judgekit.data.sources.fetching import read_bytes
from judgekit.data.sources.rows import Row, parse_json, read_rows
from judgekit.records import PreferencePair, Response

# How Auto-J's prompt encloses the query and the response.
AUTOJ_DATA = re.compile(r"\[Query\]: (.*)\n\*\*\*\n\[Response\]: (.*)\n\*\*\*\n\[END DATA\]", re.DOTALL)
# What people called a chatbot's response to a medical query; these two answer nothing.
NO_ANSWER = ("Irrelevant or nonsensical", "No answer")
CALCULATION = re.compile(r"<<[^>]*>>")  # GSM8K's marks for a calculator, as in 48/2 = <<48/2=24>>24
MATH_TRAIN = re.compile(r"(?:^|/)train/([a-z_]+/\d+)\.json$")
# The files hold the articles only; the task was put to writers and model in words like these.
SUMMARY_TASK = "Summarize the following article."


def _autoj_single(row: Row) -> Iterator[Response]:
    score = row.number_of("pred_score")
    yield response_of(row, "autoj_single", *row.matched("usrmsg", AUTOJ_DATA), score=score, label_kind="gpt-4")


def _medical_safety(row: Row) -> Iterator[Response | str]:
    texts = row.inner("instance")
    if None in (texts.get("query"), texts.get("response")):
        yield "skipped_no_text"
    elif row.inner("annotations").inner("response type").text("majority_human") in NO_ANSWER:
        yield "skipped_answers_nothing"
    else:
        yield response_of(row, "medical_safety", texts.text("query"), texts.text("response"), label_kind="human")


def _kto_en(row: Row) -> Iterator[Response]:
    *messages, (_, response) = chat_of(row, "messages")
    score = float(row.code("label", {True: 1, False: 0}))
    texts = {"response": response, **dialogue_fields(messages)}
    yield response_of(row, "kto_en", **texts, score=score, label_kind="model")


def _flask(row: Row) -> Iterator[Response | str]:
    if not row.text("answer").strip():
        yield "skipped_no_answer"
    else:
        yield response_of(row, "flask", row.text("instruction"), row.text("answer"), item_id=str(row.whole("idx")))


def _read_math(name: str) -> list[Row]:
    """The problems in a tar of ``train/<subject>/<n>.json``, and of other folders."""
    with tarfile.open(fileobj=io.BytesIO(read_bytes(name))) as tar:
        members = [(f"{name}/{member.name}", tar.extractfile(member)) for member in tar]
        files = [(where, file.read()) for where, file in members if file and where.endswith(".json")]
    return [Row(parse_json(content, where), where, 0) for where, content in files]


def _math_train(row: Row) -> Iterator[Response | str]:
    match = MATH_TRAIN.search(row.file)
    if match is None:
        yield "skipped_not_train"
    else:
        named = {"item_id": match[1], "model": "writer", "label_kind": "objective"}
        yield response_of(row, "math_train", row.text("problem"), row.text("solution"), **named)


def _critiquellm(row: Row) -> Iterator[Response]:
    for field in ("reference", "response_1", "response_2"):
        item_id = f"{row.number}:{field}"
        yield response_of(row, "critiquellm_train", row.text("question"), row.text(field), item_id=item_id)


def _cobbler(row: Row) -> Iterator[Response]:
    for model in sorted(set(row.values) - {"instruction", "reference"}):
        named = {"item_id": f"{row.number}:{model}", "model": model, "reference": row.text("reference")}
        yield response_of(row, "cobbler", row.text("instruction"), row.text(model), **named)


ANSWERS = {
    # Responses of Chatbot Arena's models that GPT-4 rated from 1 to 10 for Auto-J's training.
    "autoj_single": of_files(each(_autoj_single), "autoj/training/single_traindata.jsonl"),
    # ChatGPT's responses that people marked for hallucination (1 free of it, 0 not); the file's own ids repeat.
    "halueval": of_files(
        columns(
            response_of,
            "halueval",
            ("user_query", "chatgpt_response"),
            kind="human",
            score=lambda row: row.code("hallucination", {"no": 1.0, "yes": 0.0}),
            model=lambda row: "chatgpt",
        ),
        "halueval/general_data.jsonl",
    ),
    # Answers to reasoning questions that people criticised in words (no score): most are wrong in some step.
    "shepherd": of_files(
        columns(response_of, "shepherd", ("question", "answer")), "shepherd/human_data_for_model.jsonl"
    ),
    # Chatbots' responses to medical queries (JUDGE-BENCH), less those that people found to answer nothing.
    "medical_safety": of_files(
        each(_medical_safety, "skipped_no_text", "skipped_answers_nothing"),
        "judge_bench_dmg/medical-safety/data.json",
        read=partial(read_rows, within="instances"),
    ),
    # The last responses of conversations marked good (1) or bad (0), shipped with LLaMA-Factory.
    "kto_en": of_files(each(_kto_en), "llamafactory/kto_en_demo.json"),
    # FLASK's prompts with their reference responses. A third of the prompts are those of Self-Instruct, Vicuna and
    # Koala: cleaning drops the ones that are also test prompts. The file of hard prompts repeats prompts of this one.
    "flask": of_files(each(_flask, "skipped_no_answer"), "flask/flask_evaluation.jsonl"),
    # BiGGen-Bench's instances with their reference answers (nine capabilities, one multilingual). The system prompt is
    # left out: it says who answers, and the input says what is asked. Of the two sample files this one holds all
    # instances; the responses in it are placeholders.
    "biggen": of_files(
        columns(response_of, "biggen", ("input", "reference_answer"), item_id="id"),
        "biggen/sample_responses.json",
        read=partial(read_rows, within="*"),
    ),
    # Training problems with their worked solutions; GSM8K's last line ``#### 72`` is the result.
    "gsm8k_train": of_files(
        columns(
            response_of,
            "gsm8k_train",
            ("question", lambda row: CALCULATION.sub("", row.text("answer"))),
            kind="objective",
            model=lambda row: "writer",
        ),
        "gsm8k/train.jsonl",
    ),
    "math_train": of_files(each(_math_train, "skipped_not_train"), "math/MATH.tar", read=_read_math),
    # Freelance writers' summaries of news articles, those of `summ_pairwise`.
    "writer_summaries": of_files(
        columns(
            response_of,
            "writer_summaries",
            (lambda row: f"{SUMMARY_TASK}\n\n{row.text('article')}", "summary"),
            kind="human",
            model=lambda row: "writer",
        ),
        "summ_pairwise/writer_summaries.json",
    ),
    # Chinese questions with a reference and two models' responses (no label). CritiqueLLM's evaluation samples are not
    # read: their questions are AlignBench's, which is a test set.
    "critiquellm_train": of_files(each(_critiquellm), "critiquellm/train/train_data_sample.jsonl"),
    # Fifteen models' answers to fifty questions, one field per model. The file is called a human ranking, but which way
    # it ranks is not stated and the order is implausible (it puts GPT-4 below weaker models): no preference is read.
    "cobbler": of_files(each(_cobbler), "cobbler/normalized_human_ranking.json"),
}


def preferred_responses(pairs: Iterable[PreferencePair]) -> tuple[list[Response], dict[str, int]]:
    """The better response of each decided pair, each text once per prompt, and counts of what was skipped."""
    found: dict[tuple[str, str, str], Response] = {}
    report = {"skipped_undecided": 0, "skipped_again": 0}
    shared = {field.name for field in fields(Response)} & {field.name for field in fields(PreferencePair)}
    for pair in pairs:
        if pair.label not in ("A", "B"):
            report["skipped_undecided"] += 1
            continue
        better = pair if pair.label == "A" else pair.swapped()
        same = {name: getattr(better, name) for name in shared}
        response = Response(**same, response=better.response_a, model=better.model_a)
        key = (response.cluster_id, response.question, response.response)
        report["skipped_again"] += key in found
        found.setdefault(key, response)
    return list(found.values()), report
