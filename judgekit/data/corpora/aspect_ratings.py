"""Responses rated on several aspects: the probing sets of Representation-as-a-judge, and people's ratings of reasoning.

In a probing set every aspect has responses of its own, balanced over the five scores; a language model gave the scores.
People's ratings (ROSCOE) are the check of what such scores are worth.
"""

import re
from pathlib import Path
from typing import Any

from judgekit.data.loading import response_of, text_key
from judgekit.data.sources import DataError
from judgekit.data.sources.rows import Row, parse_json, read_document, read_rows
from judgekit.records import Response, unique_items

WRITER = "Meta-Llama-3-8B-Instruct"
PROBING = {
    name: f"roscoe_probing/{WRITER}_{file}_roscoe5dim_probing.json"
    for name, file in (("gsm8k", "gsm8k"), ("gpqa", "gpqa"), ("alpacaeval", "alpaca2"))
}
ROSCOE = {name: f"judge_bench_dmg/roscoe/roscoe-{name}-overall.json" for name in ("gsm8k", "drop", "cosmos", "esnli")}
RATED = PROBING | {f"roscoe_{name}": file for name, file in ROSCOE.items()}

# How the published prompt encloses question and response; what stands before is the aspect's definition.
ENCLOSED = re.compile(
    r"\A.*?\n\nQuestion:\n(.*)\n\nGenerated response:\n(.*)\n\nNow evaluate the Question and Generated response above ",
    re.DOTALL,
)
ASKED_FOR = "Put the final answer in \\boxed{}."  # GPQA: what follows are the options, in an order drawn per aspect
ROSCOE_PARTS = re.compile(
    r"\A.*?\nCONTEXT:\n(.*)\n\nGENERATED RESPONSE:\n(.*)\nJudge the generated response:\n\Z", re.DOTALL
)
GRADED = {"Overall Quality": "overall", "Coherency": "coherency"}
ABSENT = {"Missing Steps": "no_missing_steps", "Contradiction": "no_contradiction"}


def load_rated(name: str) -> dict[str, list[Response]]:
    """The rated responses of one of `RATED` by aspect; KeyError lists them.

    Scores of a probing set are 1 to 5, the cluster is the question. GPQA's options stand in another order in every
    aspect, as the teacher saw them; questions are told apart without them. MATH was not published: `read_probing_file`.

    ROSCOE's reasoning tasks were rated by people (most by one expert): ``overall`` and ``coherency`` go from 1 to 5;
    ``no_missing_steps`` and ``no_contradiction`` are 1 where people found none, else 0. The question holds no solution:
    the teacher of the probing sets saw none either. Golovneva et al. (2023), arXiv:2212.07919, as in JUDGE-BENCH.
    """
    if name not in RATED:
        raise KeyError(f"no rated set {name!r}; there are {', '.join(RATED)}")
    return _probing_items(read_document(RATED[name]), name, RATED[name]) if name in PROBING else _roscoe_items(name)


def read_probing_file(path: str | Path, name: str) -> dict[str, list[Response]]:
    """The rated responses of a file ``{aspect: [{"id", "eval_prompt", "score"}]}``; DataError names a bad item."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as broken:
        raise DataError(f"{path}: cannot be read ({broken})") from None
    return _probing_items(text, name, str(path))


def _probing_items(text: str, name: str, file: str) -> dict[str, list[Response]]:
    aspects = Row(parse_json(text, file), file, 0)
    if not aspects.values:
        raise DataError(f"{file}: holds no aspect")
    found = {}
    for aspect in aspects.values:
        items = enumerate(aspects.checked_list(aspect, dict, "items"))
        found[aspect] = unique_items([_probing_response(Row(item, f"{file} ({aspect})", n), name) for n, item in items])
    return found


def _probing_response(row: Row, name: str) -> Response:
    question, response = row.matched("eval_prompt", ENCLOSED)
    fields: dict[str, Any] = {"item_id": str(row.get("id")), "model": WRITER, "label_kind": "model"}
    fields["score"] = row.code("score", {score: float(score) for score in (1, 2, 3, 4, 5)})
    fields["cluster_id"] = text_key(question.split(ASKED_FOR)[0].strip())
    return response_of(row, name, question, response, **fields)


def _roscoe_items(name: str) -> dict[str, list[Response]]:
    found: dict[str, list[Response]] = {metric: [] for metric in (*GRADED.values(), *ABSENT.values())}
    for row in read_rows(RATED[name], within="instances"):
        context, generated = row.matched("instance", ROSCOE_PARTS)
        # The task without what the raters were told of its solution, the response without numbers before its steps.
        question = re.split(r"\n\\Solution:|\n\nCorrect Relationship", context.removeprefix("Question: "))[0].strip()
        response = re.sub(r"^Step \d+ - ", "", generated, flags=re.MULTILINE)
        rated = row.inner("annotations")
        scores = {metric: rated.inner(title).number_of("mean_human") for title, metric in GRADED.items()}
        for title, metric in ABSENT.items():
            scores[metric] = rated.inner(title).code("majority_human", {"no": 1.0, "yes": 0.0})
        for metric, score in scores.items():
            fields = {"item_id": str(row.get("id")), "score": score, "label_kind": "human"}
            found[metric].append(response_of(row, name, question, response, **fields))
    return {metric: unique_items(responses) for metric, responses in found.items()}
