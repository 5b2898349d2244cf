"""Juries by every rule beside their members."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from judgekit.records import Verdict
from judgekit.scoring import N_BOOT, compare
from judgekit.stats import holm
from judgekit.studies.jury.diversity import accuracy_of
from judgekit.studies.jury.panel import Panel
from judgekit.studies.jury.voting import majority, mean_probability
from judgekit.studies.jury.weights import FITS, Weights, cross_fitted, weighted_vote


def rulings_of(
    panel: Panel, weights: Weights | None = None, n_folds: int = 5, seed: int = 0
) -> dict[str, list[Verdict]]:
    """The verdicts of a jury by every rule that applies.

    ``majority``; ``mean_probability`` where some member states probabilities (otherwise it is the majority); the rule
    of ``weights``, learnt on pairs that are no test; ``crossfit_log_odds``, ``crossfit_logistic`` and
    ``crossfit_signed_logistic`` (`judgekit.studies.jury.cross_fitted`).
    """
    found = {"majority": majority(panel)}
    if any(panel.states_probabilities(member) for member in panel.members):
        found["mean_probability"] = mean_probability(panel)
    if weights is not None:
        found[weights.rule.replace("-", "_")] = weighted_vote(panel, weights)
    for rule in FITS:
        found[f"crossfit_{rule.replace('-', '_')}"] = cross_fitted(panel, rule, n_folds, seed)
    return found


def jury_table(
    panel: Panel, rulings: Mapping[str, Sequence[Verdict]], n_boot: int = N_BOOT, seed: int = 0
) -> pd.DataFrame:
    """Members and juries (rule to verdicts) under the panel's protocol, and what each jury has over the best member.

    Columns judge, role (``member`` or ``jury``), accuracy (`Number`), over_best (`Number`, paired; None for members),
    p_value, p_holm (over the juries of the table). The best member is found on the labels it is then compared on, which
    flatters it: a jury that beats it does so against the odds.
    """
    rows: list[tuple[Any, ...]] = [
        (m, "member", accuracy_of(panel, said, n_boot, seed), None, None) for m, said in panel.verdicts.items()
    ]
    best = panel.verdicts[max(rows, key=lambda row: row[2].value)[0]]
    for rule, said in rulings.items():
        gap = compare(said, best, panel.pairs, panel.benchmark, panel.protocol, n_boot, seed)
        rows.append((rule, "jury", accuracy_of(panel, said, n_boot, seed), gap.difference, gap.p_value))
    table = pd.DataFrame(rows, columns=["judge", "role", "accuracy", "over_best", "p_value"]).astype(object)
    juries = table["role"] == "jury"
    table["p_holm"] = None
    table.loc[juries, "p_holm"] = holm(table.loc[juries, "p_value"].astype(float)) if juries.any() else None
    return table.where(table.notna(), None)
