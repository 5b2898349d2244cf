"""Verdicts that published judges left with the test sets, in the item's own A and B, for judges that replay them."""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

from judgekit.data.benchmarks import LLMBAR_SETS, PART_OF, mtbench
from judgekit.data.loading import heads
from judgekit.data.paths import data_mirror
from judgekit.data.sources import source_hashes, source_names
from judgekit.data.sources.rows import Row, read_rows
from judgekit.records import SWAPPED, Verdict, label_of_gap

FIRST_SECOND_TIE = {0: "A", 1: "B", 2: "tie", "0": "A", "1": "B", "2": "tie"}
TIE_FIRST_SECOND = {0: "tie", 1: "A", 2: "B", "0": "tie", "1": "A", "2": "B"}


def _verdict(item_id: str, judge: str, order: str, label: str | None, raw: str | None, **fields: Any) -> Verdict:
    """A `Verdict`; no label means that the reply could not be parsed, unless ``fields`` say otherwise."""
    fields = {"status": "unparsed" if label is None else "ok", "raw": raw} | fields
    return Verdict(item_id, judge, order, label, **fields)


def pandalm_row(row: Row, judge: str, prefix: str = "pandalm") -> Iterator[Verdict]:
    """A verdict on the PandaLM set, given order only; ``raw`` is the row's own fields as JSON."""
    # "garbage" is upstream's word for a reply that could not be parsed; its owner counts it as a tie.
    codes: dict[Any, str | None] = {**TIE_FIRST_SECOND, "Tie": "tie", "garbage": None}
    parts = {part: row.values.get(f"{prefix}_{part}") for part in ("result", "reason", "reference")}
    label, raw = row.code(f"{prefix}_result", codes), json.dumps(parts, ensure_ascii=False)
    yield _verdict(str(row.whole("idx")), judge, "ab", label, raw)


def judgelrm_row(row: Row, judge: str) -> Iterator[Verdict]:
    """JudgeLRM's verdict on the PandaLM set, given order only; ``raw`` is the reply."""
    yield _verdict(str(row.whole("idx")), judge, "ab", row.code("result", TIE_FIRST_SECOND), row.text("output"))


def autoj_row(row: Row, judge: str) -> Iterator[Verdict]:
    """Auto-J's own verdict on its pairwise set; in the exchanged file 0 is the response shown first, the item's B."""
    order, shown = "ba" if "exchange" in row.file else "ab", row.code("output", FIRST_SECOND_TIE)
    label = shown if order == "ab" else SWAPPED[shown]
    yield _verdict(str(row.number), judge, order, label, str(row.get("output")))


def judgebench_row(row: Row, judge: str) -> Iterator[Verdict]:
    """A reward model's verdicts on JudgeBench's gpt-4o pairs, both orders, with the two scores."""
    judgments = row.checked_list("judgments", dict, "judgments", n=2)
    for order, judgment in zip(("ab", "ba"), judgments, strict=True):
        inner = Row(judgment, row.file, row.number)
        label = inner.code("decision", {"A>B": "A", "B>A": "B", "A=B": "tie", None: None})
        scores = inner.inner("judgment").checked_list("scores", (int, float), "scores", n=2)
        if order == "ba":
            label, scores = SWAPPED[label], scores[::-1]
        sides = {"score_a": scores[0], "score_b": scores[1]}
        yield _verdict(f"gpt-4o/{row.text('pair_id')}", judge, order, label, judgment["decision"], **sides)


@cache
def _mtbench_items() -> frozenset[str]:
    return frozenset(pair.item_id for pair in mtbench.load("mtbench" if data_mirror() else "mtbench_all")[0])


def mtbench_row(row: Row, judge: str) -> Iterator[Verdict]:
    """GPT-4's verdict, from both orders, for each item of MT-bench on the two answers (in either order), as ``ab``."""
    label, models = row.code("winner", mtbench.WINNER_CODES), (row.text("model_a"), row.text("model_b"))
    for (first, second), own in ((models, label), (models[::-1], SWAPPED[label])):
        item_id = f"{row.whole('question_id')}:{first}:{second}:{row.whole('turn')}"
        if item_id in _mtbench_items():
            yield _verdict(item_id, judge, "ab", own, row.text("winner"))


def repro_row(row: Row, judge: str) -> Iterator[Verdict]:
    """A judge's verdicts on `mtbench_repro`, both orders; ``ab`` in the file is the order of its own models.

    The files name the position that won, and do not agree on which model of a pair comes first. Their "error" is
    ``unparsed`` where there is a reply, else ``error``.
    """
    first, second = row.text("model_a"), row.text("model_b")
    sides = mtbench.sides_of(first, second)
    item_id = f"{row.whole('question_id')}:{sides[0]}:{sides[1]}"
    for shown, exchanged in (("ab", "ba"), ("ba", "ab")):
        order = shown if sides == (first, second) else exchanged
        label = row.code(f"winner_{shown}", {"A": "A", "B": "B", "tie": "tie", "error": None})
        raw = row.text(f"judgment_{shown}")
        failed = {"status": "error"} if label is None and not raw.strip() else {}
        yield _verdict(item_id, judge, order, label if order == "ab" else SWAPPED[label], raw, **failed)


def llmbar_row(row: Row, judge: str) -> Iterator[Verdict]:
    """An LLMBar evaluator's verdicts in both orders; the winner is the better output's number whatever the order.

    The last call of a row decides, as in the owner's own count; ``raw`` is its reply where it is kept. Where a rating
    method's scores were equal the owner named the response shown first (or second) the winner in both orders.
    """
    subset = PART_OF[row.file.partition("evaluators/")[0] + "dataset.json"]
    last = Row(row.of_type("results", list, "a list")[-1], row.file, row.number)
    scores = {f"score_{side}": _number(last.values.get(f"score_{n}")) for side, n in (("a", 1), ("b", 2))}
    for order, key in (("ab", "swap = False"), ("ba", "swap = True")):
        call = last.inner(key)
        completion = call.values.get("completion")
        raw = completion[0] if isinstance(completion, list) and completion else None
        label = call.code("winner", {"1": "A", "2": "B", None: None})
        yield _verdict(f"{subset}-{row.number}", judge, order, label, raw, **scores)


def _number(value: Any) -> float | None:
    """A number, or a reply that is one (``["7", "stop"]``), as a float; a rating that was not understood as None."""
    text = str(value[0] if isinstance(value, list) and value else value)
    return float(text) if re.fullmatch(r"\s*\d+(\.\d+)?\s*", text) else None


def arena_row(row: Row, judge: str) -> Iterator[Verdict]:
    """A model's probabilities on a pair of ``chatbot_arena``, turned as the pair was and rescaled to sum to one.

    How the source combined the two orders is not stated, so all are given as order ``ab``.
    """
    chances = row.checked_list("probs", (int, float), "numbers", n=2)
    item_id = str(row.number)
    sides = chances if heads(f"chatbot_arena:{item_id}") else chances[::-1]
    p_a, p_b = (chance / sum(chances) for chance in sides)
    yield Verdict(item_id, judge, "ab", label_of_gap(p_a - p_b), p_a, p_b, p_tie=0.0)


class Published(NamedTuple):
    """Where the verdicts of one judge are stored, and how a row is read."""

    sets: tuple[str, ...]
    read: Callable[[Row, str], Iterator[Verdict]]
    files: tuple[str, ...]


def _reward_model(name: str) -> Published:
    responses = "dataset=judgebench,response_model=gpt-4o-2024-05-13"
    file = f"judgebench/outputs/{responses},judge_name=reward_model,judge_model={name}.jsonl"
    return Published(("judgebench",), judgebench_row, (file,))


def _repro_judge(folder: str) -> Published:
    files = source_names(f"mt_bench_repro/judgments/{folder}/pairwise/*.jsonl")  # one for every two models
    return Published(("mtbench_repro",), repro_row, tuple(files))


def _llmbar_evaluators() -> dict[str, Published]:
    """The evaluators that LLMBar ships, named ``<judge>-<method>``, e.g. ``gpt-4-vanilla-norules``."""
    files: dict[str, list[str]] = {}
    for file in source_names("llmbar/LLMBar/*/result.json"):
        judge, method = file.split("/")[-3:-1]
        files.setdefault(f"{judge}-{method}".lower().replace("_", "-"), []).append(file)
    return {name: Published(tuple(LLMBAR_SETS), llmbar_row, tuple(names)) for name, names in files.items()}


_autoj_outputs = ("autoj/outputs/pairwise_example_output.jsonl", "autoj/outputs/pairwise_exchange_example_output.jsonl")
_gpt_row = partial(pandalm_row, prefix="gpt")
# Judge, without "replay/" -> its stored verdicts.
PUBLISHED = {
    "pandalm-7b": Published(("pandalm",), pandalm_row, ("pandalm/pandalm-7b-testset-v1.json",)),
    "gpt-3.5-turbo": Published(("pandalm",), _gpt_row, ("pandalm/gpt-3.5-turbo-testset-v1.json",)),
    "judgelrm-3b": Published(("pandalm",), judgelrm_row, ("judgelrm/results_judgelrm3b.json",)),
    "judgelrm-7b": Published(("pandalm",), judgelrm_row, ("judgelrm/results_judgelrm7b.json",)),
    "auto-j-13b": Published(("autoj",), autoj_row, _autoj_outputs),
    "gpt-4-pair": Published(("mtbench", "mtbench_all"), mtbench_row, (mtbench.GPT4_FILE,)),
    "grm-gemma-2b": _reward_model("Ray2333_GRM-Gemma-2B-rewardmodel-ft"),
    "skywork-gemma-2-27b": _reward_model("Skywork_Skywork-Reward-Gemma-2-27B"),
    "skywork-llama-3.1-8b": _reward_model("Skywork_Skywork-Reward-Llama-3.1-8B"),
    "internlm2-7b-reward": _reward_model("internlm_internlm2-7b-reward"),
    "internlm2-20b-reward": _reward_model("internlm_internlm2-20b-reward"),
    **_llmbar_evaluators(),
    # They judged other, newer models' answers than those people voted on: nothing they said can be right or wrong.
    "gpt-4o-mini-repro": _repro_judge("gpt/judge_gpt4omini"),
    "exaone-32b-repro": _repro_judge("exaone/judge_32B"),
    "gemma-4-12b-repro": _repro_judge("gemma4/judge_12B"),
    "qwen2.5-7b-repro": _repro_judge("qwen/judge_7B"),
    "qwen2.5-14b-repro": _repro_judge("qwen/judge_14B"),
    "qwen2.5-32b-repro": _repro_judge("qwen/judge_32B"),
    # Models' probabilities on the Chatbot Arena's pairs; the files hold the same pairs and votes.
    **{
        f"arena-{model}": Published(
            ("chatbot_arena",), arena_row, (f"chatbot_arena_calibration/{model}.calibration.jsonl",)
        )
        for model in ("gpt-4-turbo", "gpt-3.5-turbo", "mistral-7b-instruct")
    },
}


def published_on(benchmark: str) -> list[str]:
    """Keys of `PUBLISHED` with stored verdicts on a set."""
    return [model for model, published in PUBLISHED.items() if benchmark in published.sets]


def published_verdicts(model: str) -> list[Verdict]:
    """The stored verdicts of one of `PUBLISHED`, by ``replay/<name>``, not on every item and order."""
    rows = (row for file in _files_of(model) for row in read_rows(file))
    return [verdict for row in rows for verdict in published_of(model).read(row, f"replay/{model}")]


def published_hashes(model: str) -> dict[str, str]:
    """File name to SHA-256 for the files a judge's stored verdicts are read from."""
    return source_hashes(_files_of(model))


def _files_of(model: str) -> list[str]:
    """The files of a judge; without a mirror GPT-4's votes on MT-bench are those of the hub."""
    hub = {} if data_mirror() else {mtbench.GPT4_FILE: mtbench.HUB_GPT4}
    return [hub.get(file, file) for file in published_of(model).files]


def published_of(model: str) -> Published:
    """The `Published` record of a judge; KeyError that lists the judges there are."""
    if model not in PUBLISHED:
        raise KeyError(f"no published verdicts of {model!r}; there are {', '.join(PUBLISHED)}")
    return PUBLISHED[model]
