"""Everything that is looked for in a set: what notebooks call."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from judgekit.records import PreferencePair
from judgekit.scoring.comparison import Contest
from judgekit.studies.audit import evaluation_code
from judgekit.studies.audit.artefacts import artefact_findings
from judgekit.studies.audit.contradictions import contradiction_findings
from judgekit.studies.audit.disagreement import disagreement_findings
from judgekit.studies.audit.estimates import N_BOOT
from judgekit.studies.audit.findings import Finding
from judgekit.studies.audit.repeats import repeat_findings
from judgekit.studies.audit.texts import text_findings


def audit_set(
    pairs: Sequence[PreferencePair], report: Mapping[str, int], n_boot: int = N_BOOT, seed: int = 0
) -> list[Finding]:
    """Findings about one set that need no judge: texts, repeats, contradictions, artefacts, disagreement.

    ``report``: what its loader repaired.
    """
    found = text_findings(pairs, report) + repeat_findings(pairs)
    for look in (contradiction_findings, artefact_findings, disagreement_findings):
        found += look(pairs, n_boot=n_boot, seed=seed)
    return found


def code_findings(
    contests: Mapping[str, Contest],
    asked: Mapping[str, Sequence[Sequence[str]]],
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> list[Finding]:
    """Findings about published evaluation code, recomputed from stored verdicts.

    ``asked``: set to what is looked at on it: the name of a function of `studies.audit.evaluation_code` (KeyError where
    there is none), and the slug of the judge whose figure it moves.
    """
    found: list[Finding | None] = []
    for name, looks in asked.items():
        for look, judge in looks:
            if look not in LOOKS:
                raise KeyError(f"no mistake is called {look!r}; there are {', '.join(LOOKS)}")
            found.append(LOOKS[look](contests[name], judge, n_boot=n_boot, seed=seed))
    return [one for one in found if one is not None]


LOOKS: dict[str, Callable[..., Finding | None]] = {
    look.__name__: look
    for look in (
        evaluation_code.drawn_gold,
        evaluation_code.unread_word,
        evaluation_code.classes_present,
        evaluation_code.recoded_kappa,
        evaluation_code.self_in_consensus,
        evaluation_code.unmatched_order,
        evaluation_code.one_order,
    )
}


# A copy that holds the votes of other people (``other_order``) is no fault, and is not among these.
REASONS = {
    "repeated": "repeats an earlier item",
    "near_repeated": "nearly repeats an item",
    "contradicted": "contradicted by another item",
    "identical_decided": "identical responses",
    "empty": "empty response",
    "damaged": "damaged characters",
    "disputed": "annotators disagree",
    "suspect": "judges say otherwise",
}


def reasons_of(
    pairs: Sequence[PreferencePair], findings: Sequence[Finding], table: pd.DataFrame, tests: Collection[str]
) -> dict[str, set[str]]:
    """Why each item of a set should be looked at: reason, as `judgekit.studies.audit.suggest` takes it, to ids.

    ``findings``: of any sets, this one and its parts among them; ``table``: as `judgekit.studies.audit.overlap_table`;
    ``tests``: names of test sets.
    """
    name, ids = pairs[0].benchmark, {pair.item_id for pair in pairs}
    reasons: dict[str, set[str]] = {reason: set() for reason in REASONS.values()}
    for one in findings:
        mine: Any = one.set == name or (
            one.name == "suspect" and one.set.startswith(f"{name}_")
        )  # of a part of the set
        if mine and one.name in REASONS:
            reasons[REASONS[one.name]] |= ids & set(one.examples)
    mine = table[(table["set"] == name) & (table["items"] > 0)]
    for reason, among in (("question in a test set", True), ("question in a training set", False)):
        shared = mine["examples"][mine["other"].isin(list(tests)) == among]
        reasons[reason] = {item for items in shared for item in items}
    if name not in tests:
        reasons["question in a training set"] = set()
    return reasons
