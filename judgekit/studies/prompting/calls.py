"""What stored ways of asking cost: calls, and characters written."""

from collections.abc import Iterable
from statistics import fmean
from typing import Any

import pandas as pd

from judgekit.data.benchmarks.outputs import published_of
from judgekit.data.sources import read_rows
from judgekit.studies.prompting.evaluators import Evaluator


def call_table(evaluators: Iterable[Evaluator]) -> pd.DataFrame:
    """How often a model was called for a verdict, and how much it wrote, by stored evaluator.

    Columns set, model, method, calls (per verdict: half of an item's calls, which give two) and characters (written per
    verdict, where replies are kept). Evaluators without stored calls are left out.

    A reference or a list of metrics is written once for an item and serves both orders. Ratings of the two responses
    serve both orders too. A synthesis is asked for only where the two orders disagree.
    """
    rows = []
    for one in evaluators:
        if not one.judge.startswith("replay/"):
            continue
        by_set: dict[str, list[tuple[int, int]]] = {}
        for file in published_of(one.judge.removeprefix("replay/")).files:
            name = set_of(file)
            by_set[name] = [cost_of(row.get("results")) for row in read_rows(file)]
        union = [cost for name, costs in by_set.items() if name != "llmbar_natural" for cost in costs]
        costs = by_set | {"llmbar_adversarial": union}
        rows += [
            (name, one.model, one.method, fmean(calls for calls, _ in cost) / 2, fmean(size for _, size in cost) / 2)
            for name, cost in costs.items()
        ]
    return pd.DataFrame(rows, columns=["set", "model", "method", "calls", "characters"])


def set_of(file: str) -> str:
    """The set an output file belongs to.

    >>> set_of("llmbar/LLMBar/Adversarial/GPTOut/evaluators/GPT-4/CoT/result.json")
    'llmbar_gptout'
    """
    return "llmbar_" + file.partition("/evaluators/")[0].rpartition("/")[2].lower()


def cost_of(steps: Iterable[Any]) -> tuple[int, int]:
    """Calls and characters written for one item, from the steps that are stored for it.

    >>> cost_of([["a reference", "stop"], {"swap = False": {"completion": ["(a)"]}, "swap = True": {"winner": "1"}}])
    (3, 14)
    >>> cost_of([{"score_1": ["5", "stop"], "score_2": ["9", "stop"], "swap = False": {}, "swap = True": {}}])
    (2, 2)
    """
    calls = characters = 0
    for step in steps:
        if isinstance(step, list):
            replies = [step]
        elif "score_1" in step:
            replies = [step["score_1"], step["score_2"]]
        else:
            replies = [step[key].get("completion") for key in ("swap = False", "swap = True")]
        calls += len(replies)
        characters += sum(len(reply[0]) for reply in replies if isinstance(reply, list) and reply and reply[0])
    return calls, characters
