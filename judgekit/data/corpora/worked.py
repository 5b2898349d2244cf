"""Questions with a worked response by people or a careful model: references, solutions, summaries."""

import io
import re
import tarfile

from judgekit.data.corpora.single import response_of
from judgekit.data.corpora.summ_pairwise import TASK
from judgekit.data.sources import DataError, Row, open_source, read_document, read_rows
from judgekit.data.sources.rows import parse_json

FILES = {
    "flask": "flask/flask_evaluation.jsonl",
    "biggen": "biggen/sample_responses.json",
    "gsm8k_train": "gsm8k/train.jsonl",
    "math_train": "math/MATH.tar",
    "writer_summaries": "summ_pairwise/writer_summaries.json",
    "critiquellm_train": "critiquellm/train/train_data_sample.jsonl",
}
CALCULATION = re.compile(r"<<[^>]*>>")  # GSM8K's marks for a calculator, as in 48/2 = <<48/2=24>>24
MATH_TRAIN = re.compile(r"(?:^|/)train/([a-z_]+/\d+)\.json$")


def load_flask():
    """FLASK's prompts with their reference responses, and a report.

    A third of the prompts are those of Self-Instruct, Vicuna and Koala: cleaning against the test sets drops the
    ones that are also asked there. The file of hard prompts repeats prompts of this one.
    """
    return flask_responses(read_rows(FILES["flask"]))


def flask_responses(rows):
    """Responses and report of rows with ``instruction`` and ``answer``; an empty answer is skipped.

    Raises
    ------
    DataError
        If a field is missing or of another type.
    """
    kept = [row for row in rows if row.text("answer").strip()]
    return [
        response_of(row, "flask", row.text("instruction"), row.text("answer"), item_id=str(row.whole("idx")))
        for row in kept
    ], {"skipped_no_answer": len(rows) - len(kept)}


def load_biggen():
    """BiGGen-Bench's instances with their reference answers (nine capabilities, one multilingual), and a report.

    Of the file's two sample files this one holds all instances; the responses in it are placeholders.
    """
    name = FILES["biggen"]
    instances = parse_json(read_document(name), name)
    if not isinstance(instances, dict):
        raise DataError(f"{name}: expected instances by their id")
    return biggen_responses([Row(instance, name, number) for number, instance in enumerate(instances.values())]), {}


def biggen_responses(rows):
    """Responses of instances with ``id``, ``input`` and ``reference_answer``.

    The system prompt is left out: it says who answers, and the input says what is asked.

    Raises
    ------
    DataError
        If a field is missing or of another type.
    """
    return [
        response_of(row, "biggen", row.text("input"), row.text("reference_answer"), item_id=row.text("id"))
        for row in rows
    ]


def load_gsm8k_train():
    """GSM8K's training problems with their worked solutions, and a report."""
    return gsm8k_responses(read_rows(FILES["gsm8k_train"])), {}


def gsm8k_responses(rows):
    """Solutions without the marks for a calculator; the last line ``#### 72`` is the result.

    Raises
    ------
    DataError
        If a field is missing or of another type.
    """
    return [
        response_of(
            row,
            "gsm8k_train",
            row.text("question"),
            CALCULATION.sub("", row.text("answer")),
            model="writer",
            label_kind="objective",
        )
        for row in rows
    ]


def load_math_train():
    """MATH's training problems with their worked solutions, and a report.

    Only the archive's ``train`` folder is read: the ``test`` folder is left to those who test on it.
    """
    with open_source(FILES["math_train"], binary=True) as stream:
        return math_responses(stream.read())


def math_responses(archive):
    """Responses and report of the problems in a tar of ``train/<subject>/<n>.json`` files.

    Parameters
    ----------
    archive : bytes

    Raises
    ------
    DataError
        If a problem is no JSON, or a field is missing or of another type.
    """
    responses, others = [], 0
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if not member.isfile() or not member.name.endswith(".json"):
                continue
            match = MATH_TRAIN.search(member.name)
            if match is None:
                others += 1
                continue
            where = f"{FILES['math_train']}/{member.name}"
            row = Row(parse_json(tar.extractfile(member).read(), where), where, 0)
            texts = row.text("problem"), row.text("solution")
            fields = {"model": "writer", "label_kind": "objective"}
            responses.append(response_of(row, "math_train", *texts, item_id=match[1], **fields))
    return responses, {"skipped_not_train": others}


def load_writer_summaries():
    """Freelance writers' summaries of news articles, and a report; the articles are those of `summ_pairwise`."""
    return summary_responses(read_rows(FILES["writer_summaries"])), {}


def summary_responses(rows):
    """Responses of rows with ``article`` and ``summary``.

    Raises
    ------
    DataError
        If a field is missing or of another type.
    """
    return [
        response_of(
            row,
            "writer_summaries",
            f"{TASK}\n\n{row.text('article')}",
            row.text("summary"),
            model="writer",
            label_kind="human",
        )
        for row in rows
    ]


def load_critiquellm_train():
    """Chinese questions with a reference and two models' responses (no label), and a report.

    CritiqueLLM's evaluation samples are not read: their questions are AlignBench's, which is a test set.
    """
    return critiquellm_responses(read_rows(FILES["critiquellm_train"])), {}


def critiquellm_responses(rows):
    """Three responses of each row: ``reference``, ``response_1``, ``response_2``.

    Raises
    ------
    DataError
        If a field is missing or of another type.
    """
    return [
        response_of(row, "critiquellm_train", row.text("question"), row.text(field), item_id=f"{row.number}:{field}")
        for row in rows
        for field in ("reference", "response_1", "response_2")
    ]
