"""The same study on a model of today: strategies asked live, through the verdict store, of any compatible server."""

from collections.abc import Collection, Mapping, Sequence
from statistics import fmean
from typing import Any
from urllib.parse import parse_qsl

import pandas as pd

from judgekit.data.catalogue import load_set, questions_of_tests
from judgekit.judges import Judge, load_judge, request_key, request_of
from judgekit.judges.generative import read_settings
from judgekit.judges.names import slug
from judgekit.judges.openai import OpenAIJudge, Settings
from judgekit.prompts import draw_demonstrations
from judgekit.records import ORDERS, PreferencePair
from judgekit.scoring import N_BOOT, score_table, waiting_requests
from judgekit.scoring.store import VerdictStore
from judgekit.stats import Number
from judgekit.studies.prompting.evaluators import Evaluator

PREFIX = "live_"  # no stored model has it, so that no live number can take a stored one's key
SHOTS: dict[str, Any] = {"shots": 4, "shots_from": "sample_train", "shots_order": "drawn", "shots_seed": 0}


def live_evaluators(model: str, methods: Mapping[str, str]) -> list[Evaluator]:
    """A model (as the server calls it; empty for none) asked live in several ways; its slug begins with ``live_``.

    ``methods``: method, as the tables name it, to the strategy that asks in that way, e.g.
    ``{"vanilla": "rules-strict"}``. The number and order of demonstrations may differ between methods:
    ``{"two": "demonstrations?shots=2", "two_back": "demonstrations?shots=2&shots_order=reversed"}``.

    ValueError for a model without methods, methods without a model, or two that share a name or a strategy.

    >>> live_evaluators("org/gpt-4o", {"vanilla": "rules-strict"})
    [Evaluator(model='live_gpt_4o', method='vanilla', judge='openai/org/gpt-4o#rules-strict')]
    """
    if bool(model) != bool(methods):
        raise ValueError(f"live model {model!r} with methods {methods}: a model needs methods, and methods a model")
    found = [Evaluator(PREFIX + slug(model), slug(way), f"openai/{model}#{asked}") for way, asked in methods.items()]
    if len({one.method for one in found}) < len(found) or len({one.judge for one in found}) < len(found):
        raise ValueError(f"live methods {methods}: two share a name or a strategy")
    return found


def live_judges(evaluators: Sequence[Evaluator], settings: Mapping[str, Any] | None = None) -> dict[str, Judge]:
    """The judges of live evaluators (``openai/...``; others are passed over), by the evaluator's judge.

    ``settings``: fields of `judgekit.judges.openai.Settings`; and for the strategy ``demonstrations`` those of `SHOTS`:
    how many are shown, of which set, in which order. Budgets are for each judge. `judgekit.models.Unavailable`
    where the environment names no server or no key, or a setting is wrong.
    """
    given = dict(settings or {})
    shots = {name: given.pop(name, default) for name, default in SHOTS.items()}
    judges: dict[str, Judge] = {}
    for one in evaluators:
        if one.judge.startswith("openai/"):
            model, _, asked = one.judge.removeprefix("openai/").partition("#")
            asked, _, own = asked.partition("?")
            if asked.removesuffix("-strict") == "demonstrations":
                judges[one.judge] = shown_judge(model, asked, given, shots | own_shots(own, one.method))
            elif own:
                raise ValueError(f"method {one.method!r}: only the strategy 'demonstrations' takes '?{own}'")
            else:
                judges[one.judge] = load_judge(one.judge, settings=given)
    return judges


def own_shots(text: str, method: str) -> dict[str, Any]:
    """The settings of `SHOTS` that one method states for itself, e.g. ``shots=2&shots_order=reversed``.

    ValueError where one is unknown, or is no whole number where one is needed.

    >>> own_shots("shots=2&shots_order=reversed", "two")
    {'shots': 2, 'shots_order': 'reversed'}
    """
    try:
        stated = dict(parse_qsl(text, strict_parsing=True)) if text else {}
        if unknown := set(stated) - set(SHOTS):
            raise ValueError(f"{', '.join(sorted(unknown))} is none of {', '.join(SHOTS)}")
        return {name: type(SHOTS[name])(value) for name, value in stated.items()}
    except ValueError as wrong:
        raise ValueError(f"method {method!r}, '?{text}': {wrong}") from None


def shown_judge(model: str, asked: str, given: dict[str, Any], shots: Mapping[str, Any]) -> OpenAIJudge:
    """A judge with demonstrations, none of which is on a question of a test set."""
    sample = shots["shots_from"].startswith("sample_")
    tested = [question for _, question in questions_of_tests(sample)]
    strict = asked.endswith("-strict")
    drawn = draw_demonstrations(
        load_set(shots["shots_from"]), shots["shots"], shots["shots_seed"], shots["shots_order"], not strict, tested
    )
    chosen = {"strategy": "demonstrations", "policy": "strict" if strict else "permissive"}
    return OpenAIJudge(model, read_settings(Settings, given | chosen), drawn)


def forecast_table(
    judges: Mapping[str, Any], sets: Mapping[str, Sequence[PreferencePair]], store: VerdictStore
) -> pd.DataFrame:
    """What judging would take, before anything is sent; stored verdicts are not asked again.

    Columns judge, set, verdicts, calls, tokens_in, most_tokens_out, most_cost. Judges that can foretell nothing are
    passed over.
    """
    rows = []
    for judge in judges.values():
        for name, pairs in sets.items() if hasattr(judge, "forecast") else ():
            found = judge.forecast(waiting_requests(judge, pairs, store))
            calls = found.most_calls
            rows.append(
                (judge.name, name, found.requests, calls, found.tokens_in, found.most_tokens_out, found.most_cost)
            )
    names = ["judge", "set", "verdicts", "calls", "tokens_in", "most_tokens_out", "most_cost"]
    return pd.DataFrame(rows, columns=names)


def live_call_table(
    evaluators: Sequence[Evaluator],
    judges: Mapping[str, Judge],
    sets: Mapping[str, Sequence[PreferencePair]],
    store: VerdictStore,
) -> pd.DataFrame:
    """How often a live model was called for a verdict, and how much it wrote (`judgekit.studies.prompting.call_table`).

    Columns set, model, method, calls, characters, both per verdict, from the replies that the store holds.
    """
    rows = []
    for one in evaluators:
        if not one.judge.startswith("openai/"):
            continue
        judge = judges[one.judge]
        for name, pairs in sets.items():
            keys = [request_key(judge, request_of(pair, order)) for pair in pairs for order in ORDERS]
            replies: Collection[Any] = store.get(judge.fingerprint, judge.decoding, keys).values()
            written = fmean(len(reply.raw or "") + len(reply.earlier or "") for reply in replies)
            rows.append((name, one.model, one.method, fmean(reply.calls for reply in replies), written))
    return pd.DataFrame(rows, columns=["set", "model", "method", "calls", "characters"])


def live_numbers(
    evaluators: Sequence[Evaluator],
    judges: Mapping[str, Judge],
    sets: Mapping[str, list[PreferencePair]],
    store: VerdictStore,
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> dict[str, Number]:
    """Scores of live judges under each set's primary protocol, by result key.

    ``scores.<set>.<model>_<method>.<metric>``, e.g. ``scores.llmbar_natural.live_gpt_4o_vanilla.accuracy``.
    """
    live = [one for one in evaluators if one.judge.startswith("openai/")]
    if not live:
        return {}
    names = {judges[one.judge].name: f"{one.model}_{one.method}" for one in live}
    asked = {one.judge: judges[one.judge] for one in live}
    table: Any = score_table(asked, sets, store, names, n_boot=n_boot, seed=seed, progress=False)
    return {f"scores.{row.set}.{row.judge}.{row.metric}": row.number for row in table.itertuples()}
