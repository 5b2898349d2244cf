"""Probes on one's own ratings: from rated rows to a rater, with an honest estimate beside each probe."""

import tempfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from judgekit.data.sources import text_key
from judgekit.inside.probes.study import Method, run_study
from judgekit.inside.rating.comparison import metric_table
from judgekit.inside.rating.fitting import SAVED, fit_rater
from judgekit.inside.rating.material import cells_of, read_states
from judgekit.records import Response

if TYPE_CHECKING:
    import pandas as pd

    from judgekit.inside.rating.rater import Rater
    from judgekit.inside.representations import StateCache

POOLINGS = ("mean", "last")


def fit_probes(
    rows: Sequence[Mapping[str, Any]],
    aspects: Sequence[str],
    head: str = "binary",
    base: str = "minilm",
    name: str = "own",
    poolings: Sequence[str] = POOLINGS,
    cache: "StateCache | None" = None,
    seed: int = 0,
    shown: bool = True,
) -> "tuple[Rater, pd.DataFrame]":
    """A rater fitted on one's own ratings (for `judgekit.inside.rating.save_rater`), and estimates of its probes.

    The estimates are by nested cross-validation, of ``linear`` (the probes' own procedure) and of ``majority``: columns
    set, aspect, head, method, metric, number.

    ``rows``: with ``question``, ``response`` and a whole score from 1 to 5 (or 0 and 1) per aspect, as
    `judgekit.studies.teacher.rate_responses` gives them; a score of None is left out. ``head``: ``binary`` (4 and 5 are
    good), ``five`` or ``ordinal``. ``base``: the frozen model (`judgekit.models.states.StateReader`). ``name``: what
    the rater is called. ``poolings``: may be chosen.

    ValueError where a row lacks a field, or an aspect has too few ratings; names row and field.
    """
    from judgekit.models.states import StateReader

    ratings = {name: {aspect: rated_items(rows, aspect, name) for aspect in aspects}}
    reader = StateReader(base, cache=cache)
    cells, skipped = cells_of(ratings, read_states(ratings, reader, poolings, shown=shown), (head,))
    if skipped:
        (_, aspect, _), why = next(iter(skipped.items()))
        raise ValueError(f"aspect {aspect!r}: {why}: too few to fit a probe")
    families: dict[str, Any] = {"linear": SAVED, "majority": dict.fromkeys(SAVED, ("majority",))}
    methods = {method: Method(tuple(poolings), given) for method, given in families.items()}
    with tempfile.TemporaryDirectory() as folder:
        results = run_study(cells, methods, folder, seed, shown=shown)
    table = metric_table(cells, results, seed=seed)
    return fit_rater(cells, table, reader, poolings, seed=seed), table


def rated_items(rows: Sequence[Mapping[str, Any]], aspect: str, name: str) -> list[Response]:
    """The rows that have a score of an aspect, as responses."""
    found = []
    for place, row in enumerate(rows):
        for field in ("question", "response", aspect):
            if field not in row:
                raise ValueError(f"row {place}: field {field!r} is missing")
        if row[aspect] is None or row["response"] is None:
            continue
        if not isinstance(row[aspect], int) or not 0 <= row[aspect] <= 5:
            raise ValueError(f"row {place}: field {aspect!r} is {row[aspect]!r}, not a whole score from 0 to 5")
        found.append(
            Response(
                item_id=str(place),
                question=row["question"],
                response=row["response"],
                score=float(row[aspect]),
                benchmark=name,
                cluster_id=text_key(row["question"]),
                source=f"rows:{place}",
            )
        )
    if not found:
        raise ValueError(f"aspect {aspect!r}: no row has a score")
    return found
