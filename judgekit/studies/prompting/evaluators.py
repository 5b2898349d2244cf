"""Evaluators: models with a way of asking, and what each earned on every item."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from judgekit.data.benchmarks.outputs import PUBLISHED
from judgekit.judges import Judge
from judgekit.judges.names import slug
from judgekit.records import ORDERS, PreferencePair
from judgekit.scoring import protocol_of, run_judge
from judgekit.scoring.protocols import read_verdict
from judgekit.scoring.store import VerdictStore


@dataclass(frozen=True, slots=True)
class Evaluator:
    """A model asked in one way."""

    model: str  # slug, e.g. ``gpt_4``
    method: str  # slug, e.g. ``vanilla_norules``
    judge: str  # name of the judge that has the verdicts, e.g. ``replay/gpt-4-vanilla-norules``


def stored_evaluators(models: Sequence[str]) -> list[Evaluator]:
    """Every method whose outputs are stored for some models, by model in the order given; KeyError if one has none.

    ``models``: as in the names of replay judges, e.g. ``["gpt-4", "chatgpt", "chatgpt-0301"]``.
    """
    found = []
    for model in models:
        longer = [f"{other}-" for other in models if other.startswith(f"{model}-")]
        names = [name for name in PUBLISHED if name.startswith(f"{model}-") and not name.startswith(tuple(longer))]
        names = [name for name in names if "llmbar_natural" in PUBLISHED[name].sets]
        if not names:
            raise KeyError(f"no prompt outputs of {model!r} are stored")
        found += [Evaluator(slug(model), slug(name.removeprefix(f"{model}-")), f"replay/{name}") for name in names]
    return found


def outcome_table(
    evaluators: Sequence[Evaluator],
    judges: Mapping[str, Judge],
    sets: Mapping[str, Sequence[PreferencePair]],
    store: VerdictStore,
) -> pd.DataFrame:
    """What every evaluator earned on every item, both orders; judges and sets are given by name.

    Columns set, model, method, item_id, cluster, credit (share of the two orders that are right), same (both orders say
    the same), unread (share of the orders that could not be read).

    RuntimeError where a live judge failed on some items: a failed call is no wrong verdict. Those that succeeded are
    stored.
    """
    rows = []
    for name, pairs in sets.items():
        protocol = protocol_of(name)
        for one in evaluators:
            live = one.judge.startswith("openai/")
            verdicts = run_judge(judges[one.judge], pairs, store, progress=live)
            if live and (failed := [verdict for verdict in verdicts if verdict.status == "error"]):
                many = f"{len(failed)} of {len(verdicts)} verdicts of {one.judge} on {name} failed"
                raise RuntimeError(f"{many} ({failed[0].raw}); run again, the others are stored")
            said = {(verdict.item_id, verdict.order): verdict for verdict in verdicts}
            for pair in pairs:
                both = [said[pair.item_id, order] for order in ORDERS]
                read = [read_verdict(verdict, protocol) for verdict in both]
                rows.append(
                    (
                        *(name, one.model, one.method, pair.item_id, pair.cluster),
                        sum(label == pair.label for label in read) / 2,
                        float(both[0].status == both[1].status == "ok" and both[0].verdict == both[1].verdict),
                        sum(verdict.status != "ok" for verdict in both) / 2,
                    )
                )
    names = ["set", "model", "method", "item_id", "cluster", "credit", "same", "unread"]
    return pd.DataFrame(rows, columns=names)
