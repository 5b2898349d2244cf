"""Responses rated on several aspects: the probing sets of Representation-as-a-judge, and people's ratings of reasoning.

In a probing set every aspect has responses of its own, balanced over the five scores; a language model gave the scores.
People's ratings (ROSCOE) are the check of what such scores are worth.
"""

import re
from dataclasses import replace
from pathlib import Path

from judgekit.data.corpora.single import response_of
from judgekit.data.sources import DataError, Row, read_document, text_key
from judgekit.data.sources.rows import parse_json
from judgekit.records import unique_items

FOLDER, WRITER = "roscoe_probing/", "Meta-Llama-3-8B-Instruct"
PROBING = {
    "gsm8k": f"{FOLDER}{WRITER}_gsm8k_roscoe5dim_probing.json",
    "gpqa": f"{FOLDER}{WRITER}_gpqa_roscoe5dim_probing.json",
    "alpacaeval": f"{FOLDER}{WRITER}_alpaca2_roscoe5dim_probing.json",
}
ROSCOE = {name: f"judge_bench_dmg/roscoe/roscoe-{name}-overall.json" for name in ("gsm8k", "drop", "cosmos", "esnli")}
SCORES = {score: float(score) for score in (1, 2, 3, 4, 5)}

# How the published prompt encloses question and response; what stands before is the aspect's definition.
ENCLOSED = re.compile(
    r".*?\n\nQuestion:\n(.*)\n\nGenerated response:\n(.*)\n\nNow evaluate the Question and Generated response above .*",
    re.DOTALL,
)
ASKED_FOR = "Put the final answer in \\boxed{}."  # GPQA: what follows are the options, in an order drawn per aspect
ROSCOE_PARTS = re.compile(
    r".*?\nCONTEXT:\n(.*)\n\nGENERATED RESPONSE:\n(.*)\nJudge the generated response:\n", re.DOTALL
)
GRADED = {"Overall Quality": "overall", "Coherency": "coherency"}
ABSENT = {"Missing Steps": "no_missing_steps", "Contradiction": "no_contradiction"}


def load_probing_set(name):
    """The rated responses of a probing set.

    Parameters
    ----------
    name : {"gsm8k", "gpqa", "alpacaeval"}

    Returns
    -------
    dict of str to list of Response
        By aspect; ``score`` is 1 to 5, ``cluster_id`` the question.

    Raises
    ------
    KeyError
        If there is no such set.
    DataError
        If the file cannot be had, or an item is malformed.

    Notes
    -----
    GPQA's options stand in another order in every aspect, as the teacher saw them; questions are told apart without
    them. The files of MATH are nowhere to be had: `read_probing_file` reads them from whoever has them.
    """
    if name not in PROBING:
        raise KeyError(f"no probing set {name!r}; there are {', '.join(PROBING)}")
    return probing_items(parse_json(read_document(PROBING[name]), PROBING[name]), name, PROBING[name])


def read_probing_file(path, name):
    """The rated responses of a file in the published form: ``{aspect: [{"id", "eval_prompt", "score"}]}``.

    Parameters
    ----------
    path : path
    name : str
        What the set is called from now on.

    Returns
    -------
    dict of str to list of Response

    Raises
    ------
    DataError
        If the file cannot be read, or an item is malformed; the message names file, item and field.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as broken:
        raise DataError(f"{path}: cannot be read ({broken})") from None
    return probing_items(parse_json(text, str(path)), name, str(path))


def probing_items(document, name, file):
    """The responses of a parsed file, by aspect."""
    aspects = Row(document, file, 0)
    found = {}
    for aspect in aspects.values:
        items = aspects.checked_list(aspect, dict, "items")
        rows = [Row(item, f"{file} ({aspect})", number) for number, item in enumerate(items)]
        found[aspect] = unique_items([probing_response(row, name) for row in rows])
    if not found:
        raise DataError(f"{file}: holds no aspect")
    return found


def probing_response(row, name):
    """One rated response."""
    parts = ENCLOSED.fullmatch(row.text("eval_prompt"))
    if parts is None:
        raise row.error("eval_prompt", "does not hold a question and a response between the published markers")
    response = response_of(
        row,
        name,
        parts[1],
        parts[2],
        item_id=str(row.get("id")),
        score=row.code("score", SCORES),
        model=WRITER,
        label_kind="model",
    )
    return replace(response, cluster_id=text_key(parts[1].split(ASKED_FOR)[0].strip()))


def load_roscoe(name):
    """Responses to reasoning tasks that people rated.

    Parameters
    ----------
    name : {"gsm8k", "drop", "cosmos", "esnli"}

    Returns
    -------
    dict of str to list of Response
        ``overall`` and ``coherency`` from 1 to 5; ``no_missing_steps`` and ``no_contradiction`` are 1 where people
        found none, else 0. The question holds no solution: the teacher of the probing sets saw none either.

    Raises
    ------
    KeyError
        If there is no such set.
    DataError
        If the file cannot be had, or an item is malformed.

    Notes
    -----
    Golovneva et al. (2023), arXiv:2212.07919, in the form of JUDGE-BENCH: one expert rated most of the responses.
    """
    if name not in ROSCOE:
        raise KeyError(f"no ROSCOE set {name!r}; there are {', '.join(ROSCOE)}")
    file = ROSCOE[name]
    document = Row(parse_json(read_document(file), file), file, 0)
    rows = [Row(item, file, number) for number, item in enumerate(document.checked_list("instances", dict, "items"))]
    return roscoe_items(rows, f"roscoe_{name}")


def roscoe_items(rows, name):
    """Rated responses of instances, by what was rated."""
    found = {metric: [] for metric in (*GRADED.values(), *ABSENT.values())}
    for row in rows:
        parts = ROSCOE_PARTS.fullmatch(row.text("instance"))
        if parts is None:
            raise row.error("instance", "does not hold a context and a response between the usual markers")
        rated = row.inner("annotations")
        scores = {metric: rated.inner(said).number_of("mean_human") for said, metric in GRADED.items()}
        for said, metric in ABSENT.items():
            scores[metric] = rated.inner(said).code("majority_human", {"no": 1.0, "yes": 0.0})
        for metric, score in scores.items():
            texts = (question_of(parts[1]), steps_joined(parts[2]))
            more = {"item_id": str(row.get("id")), "score": score, "label_kind": "human"}
            found[metric].append(response_of(row, name, *texts, **more))
    return {metric: unique_items(responses) for metric, responses in found.items()}


def question_of(context):
    """The task without what the raters were told of its solution."""
    return re.split(r"\n\\Solution:|\n\nCorrect Relationship", context.removeprefix("Question: "))[0].strip()


def steps_joined(text):
    """A response without the numbers that were put before its steps for the raters."""
    return re.sub(r"^Step \d+ - ", "", text, flags=re.MULTILINE)
