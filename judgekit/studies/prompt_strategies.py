"""Models asked in several ways, by published outputs or asked now, and at what cost."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any
from urllib.parse import parse_qsl

import pandas as pd

from judgekit.data.benchmarks import PART_OF
from judgekit.data.benchmarks.outputs import published_of, published_on
from judgekit.data.catalogue import load_set, questions_of_tests
from judgekit.data.sources.rows import read_rows
from judgekit.judges import ASKED, Judge, asked_kind, load_judge
from judgekit.judges.generative import load_asked
from judgekit.judges.names import slug
from judgekit.prompts import draw_demonstrations

SHOTS: dict[str, Any] = {"shots": 4, "shots_from": "sample_train", "shots_order": "drawn", "shots_seed": 0}
CALLS = ["set", "model", "method", "calls", "characters"]


@dataclass(frozen=True, slots=True)
class Evaluator:
    """A model asked in one way."""

    model: str  # slug, e.g. ``gpt_4``
    method: str  # slug, e.g. ``vanilla_norules``
    judge: str  # name of the judge that has the verdicts, e.g. ``replay/gpt-4-vanilla-norules``

    @property
    def live(self) -> bool:
        """Whether a model is asked, here or on a server."""
        return self.judge.partition("/")[0] in ASKED


def stored_evaluators(models: Sequence[str]) -> list[Evaluator]:
    """Every method whose outputs are stored for some models (``gpt-4``, ``chatgpt-0301``); KeyError if one has none."""
    evaluators = []
    for model in models:
        longer = tuple(f"{other}-" for other in models if other.startswith(f"{model}-"))
        names = [name for name in published_on("llmbar_natural") if name.startswith(f"{model}-")]
        names = [name for name in names if not name.startswith(longer)]
        if not names:
            raise KeyError(f"no prompt outputs of {model!r} are stored")
        evaluators += [Evaluator(slug(model), slug(name.removeprefix(f"{model}-")), f"replay/{name}") for name in names]
    return evaluators


def call_table(evaluators: Iterable[Evaluator]) -> pd.DataFrame:
    """Calls for a verdict and characters written for it, by set and stored evaluator: columns `CALLS`.

    A reference, metrics or ratings serve both orders of an item; a synthesis is asked for where the orders disagree.
    """
    rows: list[tuple[Any, ...]] = []
    for one in (one for one in evaluators if one.judge.startswith("replay/")):
        files = published_of(one.judge.removeprefix("replay/")).files
        parts = [(file, PART_OF[file.partition("evaluators/")[0] + "dataset.json"]) for file in files]
        costs = {f"llmbar_{part}": [cost_of(row.get("results")) for row in read_rows(file)] for file, part in parts}
        union = [cost for name, items in costs.items() if name != "llmbar_natural" for cost in items]
        for name, items in (costs | {"llmbar_adversarial": union}).items():
            rows.append((name, one.model, one.method, *(fmean(column) / 2 for column in zip(*items, strict=True))))
    return pd.DataFrame(rows, columns=CALLS)


def cost_of(steps: Iterable[Any]) -> tuple[int, int]:
    """Calls and characters written for one item, both orders, from the steps that are stored for it.

    >>> cost_of([{"score_1": ["5", "stop"], "score_2": ["9", "stop"], "swap = False": {}, "swap = True": {}}])
    (2, 2)
    """
    replies: list[Any] = []
    for step in steps:
        if isinstance(step, list):
            replies.append(step)
        elif "score_1" in step:
            replies += [step["score_1"], step["score_2"]]
        else:
            replies += [step[key].get("completion") for key in ("swap = False", "swap = True")]
    return len(replies), sum(len(reply[0]) for reply in replies if isinstance(reply, list) and reply and reply[0])


def live_judges(evaluators: Sequence[Evaluator], settings: Mapping[str, Any] | None = None) -> dict[str, Judge]:
    """The judges of live evaluators (others are passed over), by the evaluator's judge.

    ``settings``: fields of the provider's ``Settings`` (budgets are for each judge) and, for demonstrations, of
    `SHOTS`. `judgekit.models.Unavailable` where there is no such model, server or key, or a setting is wrong.
    """
    given = dict(settings or {})
    shots = {name: given.pop(name, default) for name, default in SHOTS.items()}
    judges: dict[str, Judge] = {}
    for one in (one for one in evaluators if one.live):
        name, _, own = one.judge.partition("?")
        if name.partition("#")[2].removesuffix("-strict") == "demonstrations":
            judges[one.judge] = _shown_judge(name, given, shots | _own_shots(own, one.method))
        elif own:
            raise ValueError(f"method {one.method!r}: only the strategy 'demonstrations' takes '?{own}'")
        else:
            judges[one.judge] = load_judge(name, settings=given)
    return judges


def _own_shots(text: str, method: str) -> dict[str, Any]:
    """The settings of `SHOTS` that one method states for itself, e.g. ``shots=2&shots_order=reversed``."""
    try:
        stated = dict(parse_qsl(text, strict_parsing=True)) if text else {}
        if unknown := set(stated) - set(SHOTS):
            raise ValueError(f"{', '.join(sorted(unknown))} is none of {', '.join(SHOTS)}")
        return {name: type(SHOTS[name])(value) for name, value in stated.items()}
    except ValueError as wrong:
        raise ValueError(f"method {method!r}, '?{text}': {wrong}") from None


def _shown_judge(name: str, given: dict[str, Any], shots: Mapping[str, Any]) -> Judge:
    """A judge with demonstrations, none of which is on a question of a test set."""
    tested = [question for _, question in questions_of_tests(shots["shots_from"].startswith("sample_"))]
    ties, source = not name.endswith("-strict"), load_set(shots["shots_from"])
    drawn = draw_demonstrations(source, shots["shots"], shots["shots_seed"], shots["shots_order"], ties, tested)
    provider, _, model = name.partition("/")
    return load_asked(asked_kind(provider), model, given, drawn)
