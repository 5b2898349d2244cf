"""The probes that are kept: chosen and fitted on all items, by the procedure whose estimate stands beside them."""

from judgekit.inside.probes.export import saved_probe
from judgekit.inside.probes.selection import Space, choose_probe, fit_choice
from judgekit.inside.rating.rater import Rater

SAVED = {"binary": ("logistic",), "five": ("logistic",), "ordinal": ("ordinal",)}  # families that can be kept


def fit_kept(cell, reader, poolings, about=None, space=None, seed=0):
    """A saved probe for a cell.

    Parameters
    ----------
    cell : judgekit.inside.probes.study.Cell
    reader : judgekit.inside.representations.reader.StateReader
        That read the cell's features, all layers in order.
    poolings : sequence of str
        Features that may be chosen.
    about : dict, optional
        Where it comes from, and its estimate.
    space : judgekit.inside.probes.selection.Space, optional
    seed : int

    Returns
    -------
    judgekit.inside.probes.saved.SavedProbe
    """
    from judgekit.inside.representations import inputs_of

    space = space or Space(families=SAVED[cell.head.name])
    features = {name: cell.features[name] for name in poolings}
    choice = choose_probe(features, cell.labels, cell.groups, cell.head, space, seed)
    fitted = fit_choice(choice, features, cell.labels, space, seed)
    inputs = inputs_of(reader, choice.features, choice.layers)
    more = {"setting": choice.setting, "n": len(cell.labels), "questions": len(set(cell.groups))}
    return saved_probe(fitted, choice.family, inputs, (about or {}) | more)


def fit_rater(cells, table, reader, poolings, method="linear", seed=0):
    """Probes of all aspects of a set for one head.

    Parameters
    ----------
    cells : list of judgekit.inside.probes.study.Cell
        Of one set and head.
    table : pandas.DataFrame
        `judgekit.inside.rating.comparison.metric_table`: what is written beside each probe.
    reader, poolings, seed
        As for `fit_kept`.
    method : str
        Whose estimate that is: the same procedure, nested.

    Returns
    -------
    judgekit.inside.rating.rater.Rater
        Called ``<set>-<head>``.

    Raises
    ------
    ValueError
        If the cells are of several sets or heads.
    """
    names = {(cell.set, cell.head.name) for cell in cells}
    if len(names) != 1:
        raise ValueError(f"cells of {len(names)} sets and heads: a rater has one")
    ((name, head),) = names
    own = table[(table["set"] == name) & (table["head"] == head) & (table["method"] == method)]
    probes = {}
    for cell in cells:
        estimate = {row.metric: row.number.row() for row in own[own["aspect"] == cell.aspect].itertuples()}
        probes[cell.aspect] = fit_kept(cell, reader, poolings, {"estimate": estimate}, seed=seed)
    return Rater(f"{name}-{head}", probes, {"set": name, "head": head})
