"""Verdicts that published judges left with the test sets, for judges that replay them.

Each reader returns `Verdict` records in the item's own A and B: where a file holds the verdicts on exchanged
responses in the order shown, they are turned back here.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from judgekit.data import paths
from judgekit.data.benchmarks import llmbar, mtbench, mtbench_repro
from judgekit.data.sources import Row, read_hub_rows, read_rows, source_hashes, source_names
from judgekit.records import SWAPPED, Verdict

FIRST_SECOND_TIE = {code: label for n, label in ((0, "A"), (1, "B"), (2, "tie")) for code in (n, str(n))}
TIE_FIRST_SECOND = {code: label for n, label in ((0, "tie"), (1, "A"), (2, "B")) for code in (n, str(n))}
POSITIONS = {"A": "A", "B": "B", "tie": "tie", "error": None}
PANDALM_FIELDS = ("result", "reason", "reference")


def pandalm_verdicts(judge, file, prefix="pandalm"):
    """Verdicts on the PandaLM set, given order only.

    "garbage", the upstream word for a reply that could not be parsed, is status ``unparsed`` (the benchmark's
    owner counts it as a tie; that is for a scoring protocol to say). ``raw`` is the row's own fields as JSON.
    """
    codes = {**TIE_FIRST_SECOND, "Tie": "tie", "garbage": None}
    verdicts = []
    for row in read_rows(file):
        raw = json.dumps({part: row.get(f"{prefix}_{part}", None) for part in PANDALM_FIELDS}, ensure_ascii=False)
        verdicts.append(verdict_of(str(row.whole("idx")), judge, "ab", row.code(f"{prefix}_result", codes), raw))
    return verdicts


def judgelrm_verdicts(judge, file):
    """JudgeLRM's verdicts on the PandaLM set, given order only; ``raw`` is the reply."""
    return [
        verdict_of(str(row.whole("idx")), judge, "ab", row.code("result", TIE_FIRST_SECOND), row.text("output"))
        for row in read_rows(file)
    ]


def autoj_verdicts(judge, given_file, exchanged_file):
    """Auto-J's own verdicts on its pairwise set, both orders; the files hold the verdict only, so ``raw`` is it."""
    return [
        *autoj_rows(read_rows(given_file), judge, "ab"),
        *autoj_rows(read_rows(exchanged_file), judge, "ba"),
    ]


def autoj_rows(rows, judge, order):
    """Verdicts of one file; in the exchanged one 0 means the response shown first, which is the item's B."""
    shown = [row.code("output", FIRST_SECOND_TIE) for row in rows]
    return [
        verdict_of(str(row.number), judge, order, label if order == "ab" else SWAPPED[label], str(row.get("output")))
        for row, label in zip(rows, shown, strict=True)
    ]


def judgebench_verdicts(judge, file):
    """A reward model's verdicts on JudgeBench's gpt-4o pairs, both orders, with the two scores."""
    codes = {"A>B": "A", "B>A": "B", "A=B": "tie", None: None}
    verdicts = []
    for row in read_rows(file):
        judgments = row.checked_list("judgments", dict, "judgments", n=2)
        for order, judgment in zip(("ab", "ba"), judgments, strict=True):
            inner = Row(judgment, row.file, row.number)
            shown = inner.code("decision", codes)
            first, second = inner.inner("judgment").checked_list("scores", (int, float), "scores", n=2)
            in_order = order == "ab"
            verdicts.append(
                verdict_of(
                    f"gpt-4o/{row.text('pair_id')}",
                    judge,
                    order,
                    shown if in_order else SWAPPED[shown],
                    judgment["decision"],
                    score_a=first if in_order else second,
                    score_b=second if in_order else first,
                )
            )
    return verdicts


def mtbench_verdicts(judge, file):
    """GPT-4's pair verdicts on MT-bench, for every item of the set whose two models it compared.

    Upstream had already joined both orders into one verdict ("tie (inconsistent)" where they differ, a tie here),
    so it is given once, as order ``ab``.
    """
    rows = read_hub_rows(mtbench.HUB_SET, "gpt4_pair") if paths.data_mirror() is None else read_rows(file)
    return mtbench_rows(rows, mtbench.load()[0], judge)


def mtbench_rows(rows, pairs, judge):
    """Verdicts of GPT-4's rows on the items with the same question, turn and models, in either order."""
    said = {}
    for row in rows:
        vote = mtbench.vote_fields(row)
        raw = row.text("winner")
        cell = (vote["question_id"], vote["model_a"], vote["model_b"], vote["turn"])
        said[mtbench.item_id_of(*cell)] = (vote["label"], raw)
        said[mtbench.item_id_of(cell[0], cell[2], cell[1], cell[3])] = (SWAPPED[vote["label"]], raw)
    return [verdict_of(pair.item_id, judge, "ab", *said[pair.item_id]) for pair in pairs if pair.item_id in said]


def repro_verdicts(judge, *files):
    """A judge's verdicts on `mtbench_repro`, both orders.

    The files name the position that won, "A" for the response shown first in either order, and do not agree on which
    model of a pair comes first; here both are turned to the item's own sides. "error" is a reply without a verdict:
    status ``unparsed`` where there is a reply, ``error`` where there is none.
    """
    verdicts = []
    for file in files:
        for row in read_rows(file):
            verdicts += repro_row(row, judge)
    return verdicts


def repro_row(row, judge):
    """The verdicts of one row; ``ab`` in the file is the order of its own ``model_a`` and ``model_b``."""
    first, second = row.text("model_a"), row.text("model_b")
    sides = mtbench_repro.sides_of(first, second)
    item_id = mtbench_repro.item_id_of(row.whole("question_id"), *sides)
    for shown in ("ab", "ba"):
        order = shown if sides == (first, second) else {"ab": "ba", "ba": "ab"}[shown]
        label, raw = row.code(f"winner_{shown}", POSITIONS), row.text(f"judgment_{shown}")
        if order == "ba":
            label = SWAPPED[label]
        if label is None and not raw.strip():
            yield Verdict(item_id=item_id, judge=judge, order=order, verdict=None, status="error", raw=raw)
        else:
            yield verdict_of(item_id, judge, order, label, raw)


def llmbar_verdicts(judge, *files):
    """An LLMBar evaluator's verdicts on the five sets, both orders.

    The last call of a row decides, as in the owner's own count. ``raw`` is the reply of that call where it is kept.
    A rating method's two scores are kept; where they were equal the owner named the response shown first (or
    second) the winner in both orders, which is half a right verdict: compare the scores to see such a tie.
    """
    subsets = {file.removesuffix("dataset.json"): subset for subset, file in llmbar.FILES.items()}
    verdicts = []
    for file in files:
        subset = subsets[file.partition("evaluators/")[0]]
        for row in read_rows(file):
            verdicts += llmbar_row(row, judge, f"{subset}-{row.number}")
    return verdicts


def llmbar_row(row, judge, item_id):
    """The verdicts of one row in both orders; the winner is the better output's number whatever the order."""
    calls = row.of_type("results", list, "a list")
    if not calls:
        raise row.error("results", "is empty")
    last = Row(calls[-1], row.file, row.number)
    scores = {f"score_{side}": number(last.get(f"score_{n}", None)) for side, n in (("a", 1), ("b", 2))}
    for order, key in (("ab", "swap = False"), ("ba", "swap = True")):
        call = last.inner(key)
        completion = call.get("completion", None)
        raw = completion[0] if isinstance(completion, list) and completion else None
        yield verdict_of(item_id, judge, order, call.code("winner", {"1": "A", "2": "B", None: None}), raw, **scores)


def number(value):
    """A number, or a reply that is one (``["7", "stop"]``), as a float; a rating that was not understood as None.

    Examples
    --------
    >>> number(7), number(["7", "stop"]), number(["seven", "stop"]), number(None)
    (7.0, 7.0, None, None)
    """
    value = value[0] if isinstance(value, list) and value else value
    if isinstance(value, str):
        return float(value) if re.fullmatch(r"\s*\d+(\.\d+)?\s*", value) else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def verdict_of(item_id, judge, order, label, raw, **scores):
    """A `Verdict`; no label means that the reply could not be parsed."""
    status = "ok" if label is not None else "unparsed"
    return Verdict(item_id=item_id, judge=judge, order=order, verdict=label, status=status, raw=raw, **scores)


@dataclass(frozen=True, slots=True)
class Published:
    """The stored verdicts of one judge: the sets they are on, their reader and its files."""

    sets: tuple[str, ...]
    read: Callable
    files: tuple[str, ...]


def reward_model(name):
    """The JudgeBench outputs of a reward model."""
    responses = "dataset=judgebench,response_model=gpt-4o-2024-05-13"
    file = f"judgebench/outputs/{responses},judge_name=reward_model,judge_model={name}.jsonl"
    return Published(("judgebench",), judgebench_verdicts, (file,))


def repro_judge(folder):
    """The stored verdicts of one judge of `mtbench_repro`: a file for every two models."""
    names = source_names("mt_bench_repro", f"judgments/{folder}/pairwise/", ".jsonl")
    return Published(("mtbench_repro",), repro_verdicts, tuple(names))


def llmbar_evaluators():
    """The evaluators that LLMBar ships, named ``<judge>-<method>``, e.g. ``gpt-4-vanilla-norules``."""
    files = {}
    for file in source_names("llmbar", prefix="LLMBar/", suffix="/result.json"):
        judge, method = file.split("/")[-3:-1]
        files.setdefault(re.sub("_", "-", f"{judge}-{method}".lower()), []).append(file)
    return {name: Published(tuple(llmbar.SETS), llmbar_verdicts, tuple(names)) for name, names in files.items()}


# Judge, without "replay/" -> its stored verdicts.
PUBLISHED = {
    "pandalm-7b": Published(("pandalm",), pandalm_verdicts, ("pandalm/pandalm-7b-testset-v1.json",)),
    "gpt-3.5-turbo": Published(
        ("pandalm",), partial(pandalm_verdicts, prefix="gpt"), ("pandalm/gpt-3.5-turbo-testset-v1.json",)
    ),
    "judgelrm-3b": Published(("pandalm",), judgelrm_verdicts, ("judgelrm/results_judgelrm3b.json",)),
    "judgelrm-7b": Published(("pandalm",), judgelrm_verdicts, ("judgelrm/results_judgelrm7b.json",)),
    "auto-j-13b": Published(
        ("autoj",),
        autoj_verdicts,
        ("autoj/outputs/pairwise_example_output.jsonl", "autoj/outputs/pairwise_exchange_example_output.jsonl"),
    ),
    "gpt-4-pair": Published(("mtbench",), mtbench_verdicts, ("mtbench_derived/mtbench_gpt4_pair_votes.jsonl",)),
    "grm-gemma-2b": reward_model("Ray2333_GRM-Gemma-2B-rewardmodel-ft"),
    "skywork-gemma-2-27b": reward_model("Skywork_Skywork-Reward-Gemma-2-27B"),
    "skywork-llama-3.1-8b": reward_model("Skywork_Skywork-Reward-Llama-3.1-8B"),
    "internlm2-7b-reward": reward_model("internlm_internlm2-7b-reward"),
    "internlm2-20b-reward": reward_model("internlm_internlm2-20b-reward"),
    **llmbar_evaluators(),
    # They judged other, newer models' answers than those people voted on: nothing they said can be right or wrong.
    "gpt-4o-mini-repro": repro_judge("gpt/judge_gpt4omini"),
    "exaone-32b-repro": repro_judge("exaone/judge_32B"),
    "gemma-4-12b-repro": repro_judge("gemma4/judge_12B"),
    "qwen2.5-7b-repro": repro_judge("qwen/judge_7B"),
    "qwen2.5-14b-repro": repro_judge("qwen/judge_14B"),
    "qwen2.5-32b-repro": repro_judge("qwen/judge_32B"),
}


def published_on(benchmark):
    """Names of the judges (keys of `PUBLISHED`) with stored verdicts on a test set."""
    return [model for model, published in PUBLISHED.items() if benchmark in published.sets]


def published_verdicts(model):
    """The stored verdicts of a judge.

    Parameters
    ----------
    model : str
        A key of `PUBLISHED`, such as ``"pandalm-7b"``; the verdicts name it ``replay/pandalm-7b``.

    Returns
    -------
    list of Verdict
        In the item's own order; order ``ba`` only where the judge was also shown the responses exchanged. Not
        every item need have one.

    Raises
    ------
    KeyError
        If there are no such outputs; the message lists those there are.
    DataError
        If a file cannot be had, or a row is malformed.
    """
    published = published_of(model)
    return published.read(f"replay/{model}", *published.files)


def published_hashes(model):
    """File name to SHA-256 for the files a judge's stored verdicts are read from.

    Raises
    ------
    KeyError
        If there are no such outputs.
    """
    return source_hashes(published_of(model).files)


def published_of(model):
    """The `Published` record of a judge; KeyError that lists the judges there are."""
    if model not in PUBLISHED:
        raise KeyError(f"no published verdicts of {model!r}; there are {', '.join(PUBLISHED)}")
    return PUBLISHED[model]
