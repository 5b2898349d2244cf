"""The rules that choose cases: each a pure function from a table to candidates (`CANDIDATE`), the strongest first.

Where two are as strong, the set's name and then the item's id decide: the same tables give the same cases everywhere.
"""

from collections.abc import Sequence

import pandas as pd

from judgekit.records import SWAPPED
from judgekit.stats import Array

SIDES = ("A", "B")
CANDIDATE = ["kind", "set", "item_id", "cluster", "judge", "strength"]
LEAST_VOTES = 3  # people who must have voted before their agreement says something


def ranked(kind: str, rows: pd.DataFrame, strength: Array) -> pd.DataFrame:
    """Candidates of a kind in their order.

    ``rows``: with set, item_id, cluster and judge, further columns stay; ``strength``: shape (n_rows,), rounded, so
    that a difference in the last digit of a sum decides nothing.
    """
    found = rows.assign(kind=kind, strength=pd.Series(strength, index=rows.index, dtype=float).round(9))
    extra = [name for name in rows.columns if name not in CANDIDATE]
    found = found.assign(item_id=found["item_id"].astype(str))
    found = found.sort_values(["strength", "set", "item_id"], ascending=[False, True, True], kind="stable")
    return found[CANDIDATE + extra].reset_index(drop=True)


def per_item(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per pair, with the judge that stands first in the table, and how many rows it had."""
    groups = rows.groupby(["set", "item_id"], sort=False)
    return groups.first().reset_index().assign(n=groups.size().to_numpy())[["set", "item_id", "cluster", "judge", "n"]]


def confident_errors(table: pd.DataFrame, judge: str) -> pd.DataFrame:
    """Pairs on which a judge prefers the response that the label rejects; as strong as the judge is sure.

    ``table``: as `judgekit.studies.cases.verdict_table`. ValueError where the judge states no probabilities: then
    nobody can say how sure it is.
    """
    own = table[table["judge"] == judge]
    if not own["p_a"].notna().any():
        raise ValueError(f"{judge} states no probabilities here, or did not judge: none of its errors is confident")
    wrong = own["verdict"].isin(SIDES) & own["label"].isin(SIDES) & (own["verdict"] != own["label"])
    rows = own[wrong & own["p_a"].notna()]
    return ranked("confident_error", rows[CANDIDATE[1:5]], rows["p_a"].where(rows["verdict"] == "A", rows["p_b"]))


def flips_under_swap(table: pd.DataFrame) -> pd.DataFrame:
    """Pairs on which judges prefer the other response once the two are exchanged; as strong as judges are many."""
    flipped = table["ab"].isin(SIDES) & table["ba"].isin(SIDES) & (table["ab"] != table["ba"])
    rows = per_item(table[flipped])
    return ranked("flip", rows[CANDIDATE[1:5]], rows["n"])


def against_unanimous(table: pd.DataFrame, least_votes: int = LEAST_VOTES) -> pd.DataFrame:
    """Pairs on which all people (``least_votes`` or more) prefer one response and judges the other.

    As strong as judges are many.
    """
    people = table[table["unanimous"].isin(SIDES) & (table["n_votes"] >= least_votes)]
    rows = per_item(people[people["verdict"] == people["unanimous"].map(SWAPPED)])
    return ranked("against_people", rows[CANDIDATE[1:5]], rows["n"])


def judges_apart(table: pd.DataFrame) -> pd.DataFrame:
    """Pairs on which judges prefer different responses; as strong as the smaller party is large."""
    decided = table[table["verdict"].isin(SIDES)]
    rows = per_item(decided)
    parties = pd.DataFrame({side: decided["verdict"] == side for side in SIDES})
    parties = parties.groupby([decided["set"], decided["item_id"]], sort=False).sum()
    smaller = parties.min(axis=1).to_numpy()  # in the order of `per_item`: both group alike
    return ranked("judges_apart", rows[CANDIDATE[1:5]].loc[smaller > 0], smaller[smaller > 0])


def attack_successes(table: pd.DataFrame) -> pd.DataFrame:
    """The surest right verdicts that an edit turned in both orders: each attack once, no pair twice.

    ``table``: as `studies.cases.attack_table`. The strength is the probability of the better response before the edit;
    0 where none is stated.
    """
    rows = table[["set", "item_id", "cluster", "judge", "attack"]]
    found, kept, seen = ranked("attack", rows, table["sure"].astype(float).fillna(0)), [], set()
    for place, row in enumerate(found.itertuples()):
        if row.attack not in seen and (row.set, row.item_id) not in seen:
            kept.append(place)
            seen |= {row.attack, (row.set, row.item_id)}
    return found.iloc[kept].reset_index(drop=True)


def label_errors(suspects: pd.DataFrame, judge: str = "") -> pd.DataFrame:
    """Pairs whose label all judges together doubt; as strong as the label is incredible.

    ``suspects``: as `studies.audit.suspect_labels`, with a column cluster: set, item_id, cluster, quality in [0, 1],
    flagged; ``judge``: whose probabilities were read.
    """
    rows = suspects[suspects["flagged"].astype(bool)].assign(judge=judge)
    return ranked("label_error", rows[CANDIDATE[1:5]], 1 - rows["quality"].astype(float))


def choose_cases(candidates: Sequence[pd.DataFrame], n: int) -> pd.DataFrame:
    """The cases: of each kind the strongest, the best of every set before the second of any, no prompt twice.

    Columns of `CANDIDATE`, ``attack`` (None where nothing was edited), and ``name`` (``<kind>_<place>``).

    ``candidates``: as the rules give them, earlier kinds choose first; ``n``: cases of a kind at most.
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
