"""Single responses that were rated or criticised: by GPT-4, by people, or as good or bad."""

import re

from judgekit.data.corpora.dialogues import chat_of, dialogue_fields
from judgekit.data.corpora.single import response_of
from judgekit.data.sources import read_rows
from judgekit.records import Response

FILES = {
    "autoj_single": "autoj/training/single_traindata.jsonl",
    "halueval": "halueval/general_data.jsonl",
    "shepherd": "shepherd/human_data_for_model.jsonl",
    "medical_safety": "judge_bench_dmg/medical-safety/data.json",
    "kto_en": "llamafactory/kto_en_demo.json",
}

# How Auto-J's prompt encloses the query and the response.
AUTOJ_DATA = re.compile(r"\[Query\]: (.*)\n\*\*\*\n\[Response\]: (.*)\n\*\*\*\n\[END DATA\]", re.DOTALL)
HALUEVAL_CODES = {"no": 1.0, "yes": 0.0}
# What people called a chatbot's response to a medical query; the first two answer nothing.
NO_ANSWER = ("Irrelevant or nonsensical", "No answer")


def load_autoj_single():
    """Responses of Chatbot Arena's models that GPT-4 rated from 1 to 10 for Auto-J's training, and a report."""
    return autoj_responses(read_rows(FILES["autoj_single"])), {}


def autoj_responses(rows):
    """Responses of rows whose ``usrmsg`` is the prompt with query and response in it.

    Raises
    ------
    DataError
        If a field is missing or of another type, or the prompt is laid out otherwise.
    """
    responses = []
    for row in rows:
        match = AUTOJ_DATA.search(row.text("usrmsg"))
        if match is None:
            raise row.error("usrmsg", "does not hold a [Query] and a [Response] between *** lines")
        score = row.number_of("pred_score")
        responses.append(response_of(row, "autoj_single", match[1], match[2], score=score, label_kind="gpt-4"))
    return responses


def load_halueval():
    """ChatGPT's responses that people marked for hallucination (1 free of it, 0 not), and a report."""
    return halueval_responses(read_rows(FILES["halueval"])), {}


def halueval_responses(rows):
    """Responses of HaluEval's rows; the item id is the row's number, since the file's own ids repeat.

    Raises
    ------
    DataError
        If a field is missing or of another type, or ``hallucination`` is not "yes" or "no".
    """
    return [
        response_of(
            row,
            "halueval",
            row.text("user_query"),
            row.text("chatgpt_response"),
            score=row.code("hallucination", HALUEVAL_CODES),
            model="chatgpt",
            label_kind="human",
        )
        for row in rows
    ]


def load_shepherd():
    """Answers to reasoning questions that people criticised in words for Shepherd (no score), and a report."""
    return shepherd_responses(read_rows(FILES["shepherd"])), {}


def shepherd_responses(rows):
    """Responses of Shepherd's rows: most keep to the question and are wrong in some step.

    Raises
    ------
    DataError
        If a field is missing or of another type.
    """
    return [response_of(row, "shepherd", row.text("question"), row.text("answer")) for row in rows]


def load_medical_safety():
    """Chatbots' responses to medical queries, less those that people found to answer nothing, and a report."""
    return medical_responses(read_rows(FILES["medical_safety"], within="instances"))


def medical_responses(rows):
    """Responses and report of the instances of JUDGE-BENCH's medical-safety file.

    Raises
    ------
    DataError
        If a field is missing or of another type.
    """
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


def load_kto_en():
    """The last responses of conversations marked good (1) or bad (0), shipped with LLaMA-Factory, and a report."""
    return kto_responses(read_rows(FILES["kto_en"])), {}


def kto_responses(rows):
    """Responses of rows with ``messages`` and a ``label``; earlier messages are turns.

    Raises
    ------
    DataError
        If a field is missing or of another type, or the messages are no dialogue that ends with the assistant's.
    """
    return [kto_response(row) for row in rows]


def kto_response(row):
    """One response with the turns before it."""
    spoken = chat_of(row, "messages", "assistant")
    return Response(
        item_id=str(row.number),
        **dialogue_fields(spoken[:-1]),
        response=spoken[-1][1],
        score=float(row.code("label", {True: 1, False: 0})),
        source=row.where,
        benchmark="kto_en",
        label_kind="model",
    )
