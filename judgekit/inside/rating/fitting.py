"""The probes that are kept: chosen and fitted on all items, by the procedure whose estimate stands beside them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from judgekit.inside.probes.export import saved_probe
from judgekit.inside.probes.selection import Space, choose_probe, fit_choice
from judgekit.inside.rating.rater import Rater

if TYPE_CHECKING:
    import pandas as pd

    from judgekit.inside.probes.saved import SavedProbe
    from judgekit.inside.probes.study import Cell
    from judgekit.models.states import StateReader

SAVED = {"binary": ("logistic",), "five": ("logistic",), "ordinal": ("ordinal",)}  # families that can be kept


def fit_kept(
    cell: "Cell",
    reader: "StateReader",
    poolings: Sequence[str],
    about: dict[str, Any] | None = None,
    space: Space | None = None,
    seed: int = 0,
) -> "SavedProbe":
    """A saved probe for a cell.

    ``reader``: that read the cell's features, all layers in order. ``poolings``: features that may be chosen.
    ``about``: where it comes from, and its estimate.
    """
    from judgekit.inside.representations import inputs_of

    space = space or Space(families=SAVED[cell.head.name])
    features = {name: cell.features[name] for name in poolings}
    choice = choose_probe(features, cell.labels, cell.groups, cell.head, space, seed)
    fitted = fit_choice(choice, features, cell.labels, space, seed)
    inputs = inputs_of(reader, choice.features, choice.layers)
    more = {"setting": choice.setting, "n": len(cell.labels), "questions": len(set(cell.groups))}
    return saved_probe(fitted, choice.family, inputs, (about or {}) | more)


def fit_rater(
    cells: "Sequence[Cell]",
    table: "pd.DataFrame",
    reader: "StateReader",
    poolings: Sequence[str],
    method: str = "linear",
    seed: int = 0,
) -> Rater:
    """Probes of all aspects of a set for one head, called ``<set>-<head>``.

    ``table``: of `judgekit.inside.rating.comparison.metric_table`; what is written beside each probe. ``method``: whose
    estimate that is: the same procedure, nested. ValueError where the cells are of several sets or heads.
    """
    names = {(cell.set, cell.head.name) for cell in cells}
    if len(names) != 1:
        raise ValueError(f"cells of {len(names)} sets and heads: a rater has one")
    ((name, head),) = names
    own: Any = table[(table["set"] == name) & (table["head"] == head) & (table["method"] == method)]
    probes = {}
    for cell in cells:
        estimate = {row.metric: row.number.row() for row in own[own["aspect"] == cell.aspect].itertuples()}
        probes[cell.aspect] = fit_kept(cell, reader, poolings, {"estimate": estimate}, seed=seed)
    return Rater(f"{name}-{head}", probes, {"set": name, "head": head})
