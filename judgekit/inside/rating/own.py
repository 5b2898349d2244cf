"""Probes on one's own ratings: from rated rows to a rater, with an honest estimate beside each probe."""

import tempfile

from judgekit.data.sources import text_key
from judgekit.inside.probes.study import Method, run_study
from judgekit.inside.rating.comparison import metric_table
from judgekit.inside.rating.fitting import SAVED, fit_rater
from judgekit.inside.rating.material import cells_of, read_states
from judgekit.records import Response

POOLINGS = ("mean", "last")


def fit_probes(
    rows, aspects, head="binary", base="minilm", name="own", poolings=POOLINGS, cache=None, seed=0, shown=True
):
    """A rater fitted on one's own ratings.

    Parameters
    ----------
    rows : list of dict
        With ``question``, ``response`` and a whole score from 1 to 5 (or 0 and 1) per aspect; as
        `judgekit.studies.teacher.rate_responses` gives them. A score of None is left out.
    aspects : sequence of str
    head : {"binary", "five", "ordinal"}
        Binary: 4 and 5 are good.
    base : str
        Frozen model (`judgekit.inside.representations.reader.StateReader`).
    name : str
        What the rater is called.
    poolings : sequence of str
        May be chosen.
    cache : judgekit.inside.representations.cache.StateCache, optional
    seed : int
    shown : bool

    Returns
    -------
    rater : judgekit.inside.rating.rater.Rater
        For `judgekit.inside.rating.save_rater`.
    table : pandas.DataFrame
        Estimates by nested cross-validation, of ``linear`` (the probes' own procedure) and of ``majority``: columns
        set, aspect, head, method, metric, number.

    Raises
    ------
    ValueError
        If a row lacks a field, or an aspect has too few ratings; names row and field.
    """
    from judgekit.models.states import StateReader

    ratings = {name: {aspect: rated_items(rows, aspect, name) for aspect in aspects}}
    reader = StateReader(base, cache=cache)
    cells, skipped = cells_of(ratings, read_states(ratings, reader, poolings, shown=shown), (head,))
    if skipped:
        (_, aspect, _), why = next(iter(skipped.items()))
        raise ValueError(f"aspect {aspect!r}: {why}: too few to fit a probe")
    families = {"linear": SAVED, "majority": dict.fromkeys(SAVED, ("majority",))}
    methods = {method: Method(tuple(poolings), given) for method, given in families.items()}
    with tempfile.TemporaryDirectory() as folder:
        results = run_study(cells, methods, folder, seed, shown=shown)
    table = metric_table(cells, results, seed=seed)
    return fit_rater(cells, table, reader, poolings, seed=seed), table


def rated_items(rows, aspect, name):
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
