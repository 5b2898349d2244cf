"""Attack a judge: any judge that reads what it is shown."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from judgekit.bias.attacks.pairs import attackable
from judgekit.bias.attacks.search import search, success_by_queries
from judgekit.bias.attacks.success import as_outcomes, clean_accuracy, mean_success, outcome_row, success_of
from judgekit.bias.attacks.suite import Suite
from judgekit.judges.base import Judge
from judgekit.records import ORDERS, PreferencePair, Verdict, unique_items
from judgekit.scoring import run_judge
from judgekit.scoring.store import VerdictStore
from judgekit.stats import Number


@dataclass(frozen=True)
class AttackReport:
    """What a suite did to a judge."""

    judge: str
    outcomes: pd.DataFrame  # one row per attack and pair (`judgekit.bias.attacks.success.OUTCOMES`)
    success: dict  # attack to ``success``, ``success_one_order`` and ``tied``
    mean_success: Number | None
    mean_success_one_order: Number | None
    clean_accuracy: Number  # same pairs, before any attack: a judge that never changes its mind has to show it has one
    by_queries: dict  # share of the pairs that the search had won after so many queries a pair; empty without a search
    arms: dict  # edit to how often the search tried it and what it brought on average

    def numbers(self, slug: str) -> dict[str, Number]:
        """Result keys ``attack.<slug>....`` of the report."""
        found = {f"attack.{slug}.{attack}.{key}": n for attack, part in self.success.items() for key, n in part.items()}
        found[f"attack.{slug}.clean_accuracy"] = self.clean_accuracy
        for key in ("mean_success", "mean_success_one_order"):
            if getattr(self, key) is not None:
                found[f"attack.{slug}.{key}"] = getattr(self, key)
        return found


def attack(
    judge: Judge,
    pairs: Sequence[PreferencePair],
    suite: Suite | None = None,
    store: VerdictStore | None = None,
    n_boot: int = 10_000,
    seed: int = 0,
    progress: bool = True,
) -> AttackReport:
    """The report of a suite of attacks (all by default) run against a judge.

    Pairs that `attackable` leaves out are not attacked. With a ``store`` of verdicts (in memory by default) an
    interrupted run goes on where it was. ``n_boot`` and ``seed`` are of the intervals.

    ValueError if the judge looks items up instead of reading what it is shown (replays, yardsticks), no pair can be
    attacked, two share an id (`judgekit.records.named_by_set` tells those of several sets apart), or the judge failed
    on one.
    """
    if judge.sees_item:
        raise ValueError(f"{judge.name} looks items up: it would not see what an attack changes")
    suite, store = suite or Suite(), store or VerdictStore(":memory:")
    chosen = unique_items(attackable(pairs))
    if not chosen:
        raise ValueError("no pair can be attacked: each needs a label A or B, and responses that differ")

    def ask(changed: Sequence[PreferencePair]) -> dict[str, dict[str, Verdict]]:
        return verdicts_by_item(judge, changed, store, progress)

    clean, rows = ask(chosen), []
    for name in suite.edits:
        after = ask([suite.attacked(pair, name) for pair in chosen])
        rows += [outcome_row(pair, name, clean[pair.item_id], after[pair.item_id]) for pair in chosen]
    by_queries, arms = {}, {}
    if suite.search is not None:
        targets, bandit = search(ask, chosen, clean, suite.search, suite.part, suite.seed)
        rows += [outcome_row(target.pair, "search", clean[target.pair.item_id], target.verdicts) for target in targets]
        by_queries, arms = success_by_queries(targets, clean, suite.search), bandit.table()
    return report_of(judge.name, as_outcomes(rows), n_boot, seed, by_queries, arms)


def report_of(
    judge: str,
    outcomes: pd.DataFrame,
    n_boot: int = 10_000,
    seed: int = 0,
    by_queries: dict[int, float] | None = None,
    arms: dict[str, tuple[int, float]] | None = None,
) -> AttackReport:
    """The report of a table of outcomes."""
    return AttackReport(
        judge=judge,
        outcomes=outcomes,
        success={name: success_of(part, n_boot, seed) for name, part in outcomes.groupby("attack", sort=False)},
        mean_success=mean_success(outcomes, "success", n_boot, seed),
        mean_success_one_order=mean_success(outcomes, "success_one_order", n_boot, seed),
        clean_accuracy=clean_accuracy(outcomes, n_boot, seed),
        by_queries=by_queries or {},
        arms=arms or {},
    )


def verdicts_by_item(
    judge: Judge, pairs: Sequence[PreferencePair], store: VerdictStore, progress: bool
) -> dict[str, dict[str, Verdict]]:
    """Item to order to verdict.

    ValueError if the judge failed: a verdict that is missing must not count as one that an attack did not turn.
    """
    found: dict[str, dict[str, Verdict]] = {}
    for verdict in run_judge(judge, pairs, store, ORDERS, progress):
        if verdict.status == "error":
            raise ValueError(f"{judge.name} failed on {verdict.item_id} ({verdict.order}): {verdict.raw}")
        found.setdefault(verdict.item_id, {})[verdict.order] = verdict
    return found
