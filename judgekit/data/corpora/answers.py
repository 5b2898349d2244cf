"""Questions with single responses: rated, criticised or worked out; each function takes the rows of its set's file.

No file of a test set is among the sources; whether a question also stands in a test set is for
`judgekit.data.cleaning` to find.
"""

import io
import re
import tarfile
from collections.abc import Iterable

from judgekit.data.corpora.by_people import SUMMARY_TASK
from judgekit.data.loading import Loaded, Rows, chat_of, dialogue_fields, response_of
from judgekit.data.sources import DataError, Row, open_source, read_document
from judgekit.data.sources.rows import parse_json
from judgekit.records import PreferencePair, Response

# How Auto-J's prompt encloses the query and the response.
AUTOJ_DATA = re.compile(r"\[Query\]: (.*)\n\*\*\*\n\[Response\]: (.*)\n\*\*\*\n\[END DATA\]", re.DOTALL)
# What people called a chatbot's response to a medical query; these two answer nothing.
NO_ANSWER = ("Irrelevant or nonsensical", "No answer")
CALCULATION = re.compile(r"<<[^>]*>>")  # GSM8K's marks for a calculator, as in 48/2 = <<48/2=24>>24
MATH_FILE = "math/MATH.tar"
MATH_TRAIN = re.compile(r"(?:^|/)train/([a-z_]+/\d+)\.json$")


def autoj_single(rows: Rows) -> Loaded:
    """Responses of Chatbot Arena's models that GPT-4 rated from 1 to 10 for Auto-J's training."""
    responses = []
    for row in rows:
        match = AUTOJ_DATA.search(row.text("usrmsg"))
        if match is None:
            raise row.error("usrmsg", "does not hold a [Query] and a [Response] between *** lines")
        fields = {"score": row.number_of("pred_score"), "label_kind": "gpt-4"}
        responses.append(response_of(row, "autoj_single", match[1], match[2], **fields))
    return responses, {}


def halueval(rows: Rows) -> Loaded:
    """ChatGPT's responses that people marked for hallucination (1 free of it, 0 not); the file's own ids repeat."""
    codes = {"no": 1.0, "yes": 0.0}
    return [
        response_of(
            row,
            "halueval",
            *(row.text("user_query"), row.text("chatgpt_response")),
            score=row.code("hallucination", codes),
            model="chatgpt",
            label_kind="human",
        )
        for row in rows
    ], {}


def shepherd(rows: Rows) -> Loaded:
    """Answers to reasoning questions that people criticised in words (no score): most are wrong in some step."""
    return [response_of(row, "shepherd", row.text("question"), row.text("answer")) for row in rows], {}


def medical_safety(rows: Rows) -> Loaded:
    """Chatbots' responses to medical queries (JUDGE-BENCH), less those that people found to answer nothing."""
    responses, report = [], {"skipped_no_text": 0, "skipped_answers_nothing": 0}
    for row in rows:
        texts = row.inner("instance")
        if None in (texts.get("query"), texts.get("response")):
            report["skipped_no_text"] += 1
        elif row.inner("annotations").inner("response type").text("majority_human") in NO_ANSWER:
            report["skipped_answers_nothing"] += 1
        else:
            query, response = texts.text("query"), texts.text("response")
            responses.append(response_of(row, "medical_safety", query, response, label_kind="human"))
    return responses, report


def kto_en(rows: Rows) -> Loaded:
    """The last responses of conversations marked good (1) or bad (0), shipped with LLaMA-Factory."""
    responses = []
    for row in rows:
        *messages, (_, response) = chat_of(row, "messages", "assistant")
        score = float(row.code("label", {True: 1, False: 0}))
        texts = {"response": response, **dialogue_fields(messages)}
        responses.append(response_of(row, "kto_en", **texts, score=score, label_kind="model"))
    return responses, {}


def flask(rows: list[Row]) -> Loaded:
    """FLASK's prompts with their reference responses.

    A third of the prompts are those of Self-Instruct, Vicuna and Koala: cleaning against the test sets drops the
    ones that are also asked there. The file of hard prompts repeats prompts of this one.
    """
    kept = [row for row in rows if row.text("answer").strip()]
    return [
        response_of(row, "flask", row.text("instruction"), row.text("answer"), item_id=str(row.whole("idx")))
        for row in kept
    ], {"skipped_no_answer": len(rows) - len(kept)}


def read_biggen(name: str) -> list[Row]:
    """The instances of a file that lists them by their id."""
    instances = parse_json(read_document(name), name)
    if not isinstance(instances, dict):
        raise DataError(f"{name}: expected instances by their id")
    return [Row(instance, name, number) for number, instance in enumerate(instances.values())]


def biggen(rows: Rows) -> Loaded:
    """BiGGen-Bench's instances with their reference answers (nine capabilities, one multilingual).

    The system prompt is left out: it says who answers, and the input says what is asked. Of the two sample files this
    one holds all instances; the responses in it are placeholders.
    """
    return [
        response_of(row, "biggen", row.text("input"), row.text("reference_answer"), item_id=row.text("id"))
        for row in rows
    ], {}


def gsm8k_train(rows: Rows) -> Loaded:
    """GSM8K's training problems with their worked solutions, whose last line ``#### 72`` is the result."""
    fields = {"model": "writer", "label_kind": "objective"}
    return [
        response_of(row, "gsm8k_train", row.text("question"), CALCULATION.sub("", row.text("answer")), **fields)
        for row in rows
    ], {}


def load_math_train() -> Loaded:
    """MATH's training problems with their worked solutions."""
    with open_source(MATH_FILE, binary=True) as stream:
        return math_responses(stream.read())


def math_responses(archive: bytes) -> Loaded:
    """The problems in a tar of ``train/<subject>/<n>.json``; ``test`` is left to those who test on it."""
    responses, others = [], 0
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            stream = tar.extractfile(member)
            if stream is None or not member.name.endswith(".json"):
                continue
            match = MATH_TRAIN.search(member.name)
            if match is None:
                others += 1
                continue
            where = f"{MATH_FILE}/{member.name}"
            row = Row(parse_json(stream.read(), where), where, 0)
            fields = {"item_id": match[1], "model": "writer", "label_kind": "objective"}
            responses.append(response_of(row, "math_train", row.text("problem"), row.text("solution"), **fields))
    return responses, {"skipped_not_train": others}


def writer_summaries(rows: Rows) -> Loaded:
    """Freelance writers' summaries of news articles, those of `summ_pairwise`."""
    fields = {"model": "writer", "label_kind": "human"}
    return [
        response_of(row, "writer_summaries", f"{SUMMARY_TASK}\n\n{row.text('article')}", row.text("summary"), **fields)
        for row in rows
    ], {}


def critiquellm_train(rows: Rows) -> Loaded:
    """Chinese questions with a reference and two models' responses (no label).

    CritiqueLLM's evaluation samples are not read: their questions are AlignBench's, which is a test set.
    """
    return [
        response_of(row, "critiquellm_train", row.text("question"), row.text(field), item_id=f"{row.number}:{field}")
        for row in rows
        for field in ("reference", "response_1", "response_2")
    ], {}


def cobbler(rows: Rows) -> Loaded:
    """CoBBLEr: fifteen models' answers to fifty questions, one field per model.

    The file is called a human ranking, but which way it ranks is not stated and the order is implausible (it puts GPT-4
    below weaker models): so the answers are read, and no preference is.
    """
    responses = []
    for row in rows:
        for model in sorted(set(row.values) - {"instruction", "reference"}):
            fields = {"item_id": f"{row.number}:{model}", "model": model, "reference": row.text("reference")}
            responses.append(response_of(row, "cobbler", row.text("instruction"), row.text(model), **fields))
    return responses, {}


def preferred_responses(pairs: Iterable[PreferencePair]) -> tuple[list[Response], dict[str, int]]:
    """The better response of each decided pair, with the pair's item id, each text once per prompt.

    ``skipped_undecided`` counts ties and pairs without label, ``skipped_again`` texts that were preferred before, to
    another response.
    """
    found: dict[tuple[str, str, str], Response] = {}
    report = {"skipped_undecided": 0, "skipped_again": 0}
    for pair in pairs:
        if pair.label not in ("A", "B"):
            report["skipped_undecided"] += 1
            continue
        better = pair if pair.label == "A" else pair.swapped()
        response = Response(
            item_id=pair.item_id,
            question=pair.question,
            response=better.response_a,
            reference=pair.reference,
            source=pair.source,
            benchmark=pair.benchmark,
            cluster_id=pair.cluster_id,
            turns=better.turns,
            model=better.model_a,
            label_kind=pair.label_kind,
        )
        key = (response.cluster_id, response.question, response.response)
        report["skipped_again"] += key in found
        found.setdefault(key, response)
    return list(found.values()), report
