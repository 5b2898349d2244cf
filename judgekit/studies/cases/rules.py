"""The rules that choose cases: each a pure function from a table to candidates, the strongest first.

Where two candidates are as strong, the set's name and then the item's id decide, so that the same tables give the same
cases everywhere. A candidate has the columns of `CANDIDATE`.
"""

import pandas as pd

from judgekit.records import SWAPPED

SIDES = ("A", "B")
CANDIDATE = ["kind", "set", "item_id", "cluster", "judge", "strength"]
LEAST_VOTES = 3  # people who must have voted before their agreement says something


def ranked(kind, rows, strength):
    """Candidates of a kind in their order.

    Parameters
    ----------
    kind : str
    rows : pandas.DataFrame
        With set, item_id, cluster and judge; further columns stay.
    strength : array of float, shape (n_rows,)
        Rounded, so that a difference in the last digit of a sum decides nothing.
    """
    found = rows.assign(kind=kind, strength=pd.Series(strength, index=rows.index, dtype=float).round(9))
    extra = [name for name in rows.columns if name not in CANDIDATE]
    found = found.assign(item_id=found["item_id"].astype(str))
    found = found.sort_values(["strength", "set", "item_id"], ascending=[False, True, True], kind="stable")
    return found[CANDIDATE + extra].reset_index(drop=True)


def per_item(rows):
    """One row per pair, with the judge that stands first in the table, and how many rows it had."""
    groups = rows.groupby(["set", "item_id"], sort=False)
    return groups.first().reset_index().assign(n=groups.size().to_numpy())[["set", "item_id", "cluster", "judge", "n"]]


def confident_errors(table, judge):
    """Pairs on which a judge prefers the response that the label rejects; as strong as the judge is sure.

    Parameters
    ----------
    table : pandas.DataFrame
        As `judgekit.studies.cases.verdict_table`.
    judge : str
        Slug of a judge that states probabilities.

    Raises
    ------
    ValueError
        If the judge states none: then nobody can say how sure it is.
    """
    own = table[table["judge"] == judge]
    if not own["p_a"].notna().any():
        raise ValueError(f"{judge} states no probabilities here, or did not judge: none of its errors is confident")
    wrong = own["verdict"].isin(SIDES) & own["label"].isin(SIDES) & (own["verdict"] != own["label"])
    rows = own[wrong & own["p_a"].notna()]
    return ranked("confident_error", rows[CANDIDATE[1:5]], rows["p_a"].where(rows["verdict"] == "A", rows["p_b"]))


def flips_under_swap(table):
    """Pairs on which judges prefer the other response once the two are exchanged; as strong as judges are many."""
    flipped = table["ab"].isin(SIDES) & table["ba"].isin(SIDES) & (table["ab"] != table["ba"])
    rows = per_item(table[flipped])
    return ranked("flip", rows[CANDIDATE[1:5]], rows["n"])


def against_unanimous(table, least_votes=LEAST_VOTES):
    """Pairs on which all people prefer one response and judges the other; as strong as judges are many.

    Parameters
    ----------
    table : pandas.DataFrame
    least_votes : int, default 3
        People who voted, at least.
    """
    people = table[table["unanimous"].isin(SIDES) & (table["n_votes"] >= least_votes)]
    rows = per_item(people[people["verdict"] == people["unanimous"].map(SWAPPED)])
    return ranked("against_people", rows[CANDIDATE[1:5]], rows["n"])


def judges_apart(table):
    """Pairs on which judges prefer different responses; as strong as the smaller party is large."""
    decided = table[table["verdict"].isin(SIDES)]
    rows = per_item(decided)
    parties = pd.DataFrame({side: decided["verdict"] == side for side in SIDES})
    parties = parties.groupby([decided["set"], decided["item_id"]], sort=False).sum()
    smaller = parties.min(axis=1).to_numpy()  # in the order of `per_item`: both group alike
    return ranked("judges_apart", rows[CANDIDATE[1:5]].loc[smaller > 0], smaller[smaller > 0])


def attack_successes(table):
    """The surest right verdicts that an edit turned in both orders: each attack once, no pair twice.

    Parameters
    ----------
    table : pandas.DataFrame
        As `studies.cases.attack_table`. The strength is the probability of the better response before the edit; 0
        where none is stated.
    """
    rows = table[["set", "item_id", "cluster", "judge", "attack"]]
    found, kept, seen = ranked("attack", rows, table["sure"].astype(float).fillna(0)), [], set()
    for place, row in enumerate(found.itertuples()):
        if row.attack not in seen and (row.set, row.item_id) not in seen:
            kept.append(place)
            seen |= {row.attack, (row.set, row.item_id)}
    return found.iloc[kept].reset_index(drop=True)


def label_errors(suspects, judge=""):
    """Pairs whose label all judges together doubt; as strong as the label is incredible.

    Parameters
    ----------
    suspects : pandas.DataFrame
        As `studies.audit.suspect_labels`, with a column cluster: set, item_id, cluster, quality in [0, 1], flagged.
    judge : str
        Whose probabilities were read.
    """
    rows = suspects[suspects["flagged"].astype(bool)].assign(judge=judge)
    return ranked("label_error", rows[CANDIDATE[1:5]], 1 - rows["quality"].astype(float))


def choose_cases(candidates, n):
    """The cases: of each kind the strongest, the best of every set before the second of any, no prompt twice.

    Parameters
    ----------
    candidates : list of pandas.DataFrame
        As the rules give them; earlier kinds choose first.
    n : int
        Cases of a kind at most.

    Returns
    -------
    pandas.DataFrame
        Columns of `CANDIDATE`, ``attack`` (None where nothing was edited), and ``name`` (``<kind>_<place>``).
    """
    chosen, taken = [], set()
    for found in candidates:
        found = found.drop_duplicates(["set", "cluster"])
        free = [key not in taken for key in zip(found["set"], found["cluster"], strict=True)]
        found = found[pd.Series(free, index=found.index, dtype=bool)]
        found = found.assign(round=found.groupby("set", sort=False).cumcount())
        order = ["round", "strength", "set", "item_id"]
        found = found.sort_values(order, ascending=[True, False, True, True], kind="stable").head(n)
        taken |= set(zip(found["set"], found["cluster"], strict=True))
        chosen += [
            {name: getattr(row, name) for name in CANDIDATE}
            | {"attack": getattr(row, "attack", None), "name": f"{row.kind}_{place}"}
            for place, row in enumerate(found.itertuples(), 1)
        ]
    found = pd.DataFrame(chosen, columns=[*CANDIDATE, "attack", "name"], dtype=object)  # so that None stays None
    return found.astype({"strength": float})
