"""Defences compared: which one a judge should have, and the tables that show it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from judgekit.bias.attacks.defences import Abstaining, Escaped, LengthMatched, Screened
from judgekit.judges.base import Judge
from judgekit.stats import Number

if TYPE_CHECKING:
    from judgekit.bias.attacks.running import AttackReport

NONE = "none"


def defended(judge: Judge, margin: float | None = None) -> dict[str, Judge]:
    """A judge with each of the defences that any judge can have, by defence.

    ``margin`` is of abstention (`judgekit.bias.attacks.margin_for`); without one there is none.
    """
    found: dict[str, Judge] = {
        "escaped": Escaped(judge),
        "screened": Screened(judge),
        "length matched": LengthMatched(judge),
    }
    return found | ({} if margin is None else {"abstaining": Abstaining(judge, margin)})


def choose_defence(reports: Mapping[str, "AttackReport"], most: float = 0.02) -> str:
    """The defence with the lowest mean success among those that cost at most so much clean accuracy.

    ``none`` where nothing is better. ``reports`` are by defence, ``none`` among them, on pairs that are no test pairs.
    ValueError if no attack had anything to turn: there is nothing to choose by.
    """
    plain = reports[NONE]
    if plain.mean_success is None:
        raise ValueError(f"{plain.judge} never prefers the better response in both orders: no defence can be chosen")
    allowed = {
        name: report.mean_success.value
        for name, report in reports.items()
        if report.mean_success is not None and plain.clean_accuracy.value - report.clean_accuracy.value <= most
    }
    return min(allowed, key=lambda name: (allowed[name], name != NONE))


def success_table(reports: Mapping[str, "AttackReport"]) -> pd.DataFrame:
    """Success in both orders of every attack on every judge (its slug): columns judge, attack, value.

    NaN where there was nothing to turn.
    """
    rows = [
        (judge, attack, found["success"].value if "success" in found else float("nan"))
        for judge, report in reports.items()
        for attack, found in report.success.items()
    ]
    return pd.DataFrame(rows, columns=["judge", "attack", "value"])


def search_table(reports: Mapping[str, "AttackReport"]) -> pd.DataFrame:
    """Share of pairs turned by the search, by queries: columns judge, queries, share."""
    rows = [(judge, q, share) for judge, report in reports.items() for q, share in report.by_queries.items()]
    return pd.DataFrame(rows, columns=["judge", "queries", "share"])


def robustness_rows(
    before: Mapping[str, "AttackReport"], after: Mapping[str, "AttackReport"]
) -> list[dict[tuple[str, str], Any]]:
    """The robustness table, for `judgekit.report.save_table`: a row per attack, a pair of columns per judge.

    Cells are Numbers, or None where there was nothing to turn. The last rows are the mean and clean accuracy.
    ``before`` and ``after`` are by slug: the judge as it is, and behind its best defence.
    """

    def cell(report: "AttackReport", attack: str) -> Number | None:
        return report.success.get(attack, {}).get("success")

    attacks = list(dict.fromkeys(name for report in before.values() for name in report.success))
    rows = []
    for attack in attacks:
        row = {("", "attack"): attack.replace("_", " ")}
        for judge in before:
            row[judge, "before"], row[judge, "after"] = cell(before[judge], attack), cell(after[judge], attack)
        rows.append(row)
    for field, title in (("mean_success", "mean"), ("clean_accuracy", "clean accuracy")):
        row = {("", "attack"): title}
        for judge in before:
            row[judge, "before"], row[judge, "after"] = (getattr(r[judge], field) for r in (before, after))
        rows.append(row)
    return rows
