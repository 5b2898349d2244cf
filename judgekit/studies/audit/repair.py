"""What the leaderboard says once faulty items are left out or relabelled."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from judgekit.scoring.comparison import Contest
from judgekit.scoring.items import credits_of, item_table
from judgekit.scoring.protocols import protocol_of
from judgekit.stats import Number
from judgekit.studies.audit.estimates import N_BOOT, change

COLUMNS = ["set", "repair", "judge", "before", "after", "change", "items", "rank_before", "rank_after"]

MIN_LEFT = 0.25  # share of a set that a repair must leave: of another set nothing is to be said


def ranks(values: Iterable[float]) -> list[int]:
    """Rank of each value, the highest first; equal ones share the better rank.

    >>> ranks([0.5, 0.7, 0.5])
    [2, 1, 2]
    """
    return [1 + sum(other > value for other in values) for value in values]


def rescored(
    contest: Contest,
    repair: str,
    left_out: Collection[str],
    labels: Mapping[str, str] | None = None,
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> pd.DataFrame:
    """Every judge's primary figure before and after a repair, which ``repair`` names in the table.

    Columns set, repair, judge, before, after, change (a `Number`; the same prompts are drawn before and after),
    rank_before, rank_after, items (that leave or change). ``left_out``: ids of items that leave the score; ``labels``:
    id to the label that an item has after the repair. ValueError where no item is left.
    """
    labels, protocol = labels or {}, protocol_of(contest.benchmark)
    repaired = [replace(p, label=labels.get(p.item_id, p.label)) for p in contest.pairs]
    touched = sum(pair.item_id in left_out or pair.item_id in labels for pair in contest.pairs)
    rows = []
    for judge, verdicts in contest.verdicts.items():
        tables = [item_table(verdicts, pairs, protocol) for pairs in (contest.pairs, repaired)]
        before, after = (credits_of(table, protocol) for table in tables)
        kept = ~tables[0]["item_id"].isin(list(left_out)).to_numpy(bool)
        effect = change(before, after, kept, tables[0]["cluster"].tolist(), n_boot, seed)
        rows.append([contest.name, repair, judge, before.mean(), after[kept].mean(), effect, touched])
    table = pd.DataFrame(rows, columns=COLUMNS[:7])
    table["rank_before"], table["rank_after"] = ranks(table["before"]), ranks(table["after"])
    return table


def leaderboards(
    contest: Contest,
    suggestions: pd.DataFrame,
    reasons: Mapping[str, set[str]],
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> pd.DataFrame:
    """`rescored` under every repair that touches an item of the contest and leaves a quarter of them.

    Repairs one after another: ``faults``, what the file suggests to drop or relabel; ``disputed``, without items on
    which people disagree; ``shared``, without questions that also stand in training sets or another test set;
    ``suspects``, without labels that the judges doubt, which favours the judges by making.

    ``suggestions``: as `judgekit.studies.audit.suggest`, of the contest's set; ``reasons``: as
    `judgekit.studies.audit.reasons_of`.
    """
    relabelled = suggestions[suggestions["action"] == "relabel"]
    repairs = {
        "faults": set(suggestions["item_id"][suggestions["action"] == "drop"]) | set(relabelled["item_id"]),
        "disputed": reasons["annotators disagree"],
        "shared": reasons["question in a training set"] | reasons["question in a test set"],
        "suspects": reasons["judges say otherwise"],
    }
    ids, tables = {pair.item_id for pair in contest.pairs}, []
    for name, touched in repairs.items():
        if not touched & ids or len(ids - touched) < MIN_LEFT * len(ids):
            continue
        labels = dict(zip(relabelled["item_id"], relabelled["label"], strict=True)) if name == "faults" else {}
        tables.append(rescored(contest, name, touched - set(labels), labels, n_boot, seed))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=COLUMNS)


def repair_numbers(tables: Any) -> dict[str, Number]:
    """Numbers of `leaderboards` by result key: each judge's change, and how many judges change their rank."""
    numbers = {}
    for (name, repair), table in tables.groupby(["set", "repair"], sort=False):
        key = f"audit.{name}.without_{repair}"
        for row in table.itertuples():
            numbers[f"{key}.{row.judge}.change"] = row.change
        moved = int((table["rank_before"] != table["rank_after"]).sum())
        numbers[f"{key}.places_changed"] = Number(moved, n=len(table))
        numbers[f"{key}.items"] = Number(int(table["items"].iloc[0]))
    return numbers


def repair_rows(boards: Any) -> list[dict[str, Any]]:
    """One row for every set and repair: items touched, the judge that it moves most, and who changes ranks.

    For `judgekit.report.save_table`; the change is the largest of several, so its size is a bound, not a test.
    """
    rows = []
    for (name, repair), table in boards.groupby(["set", "repair"], sort=False):
        most = max(table.itertuples(), key=lambda row: abs(row.change.value))
        mean = sum(row.change.value for row in table.itertuples()) / len(table)
        rows.append(
            {
                "set": name,
                "without": repair,
                "items": int(most.items),
                "judges": len(table),
                "mean change": Number(mean, spec="+.1%"),
                "largest change": most.change,
                "of": most.judge,
                "places changed": int((table["rank_before"] != table["rank_after"]).sum()),
            }
        )
    return rows
