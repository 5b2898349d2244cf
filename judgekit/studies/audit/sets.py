"""Everything that is looked for in a set: what notebooks call."""

from judgekit.studies.audit import evaluation_code
from judgekit.studies.audit.artefacts import artefact_findings
from judgekit.studies.audit.contradictions import contradiction_findings
from judgekit.studies.audit.disagreement import disagreement_findings
from judgekit.studies.audit.estimates import N_BOOT
from judgekit.studies.audit.repeats import repeat_findings
from judgekit.studies.audit.texts import text_findings


def audit_set(pairs, report, n_boot=N_BOOT, seed=0):
    """Findings about one set that need no judge: texts, repeats, contradictions, artefacts, disagreement.

    Parameters
    ----------
    pairs : list of PreferencePair
    report : dict of str to int
        What its loader repaired.
    n_boot, seed : int

    Returns
    -------
    list of Finding
    """
    found = text_findings(pairs, report) + repeat_findings(pairs)
    for look in (contradiction_findings, artefact_findings, disagreement_findings):
        found += look(pairs, n_boot=n_boot, seed=seed)
    return found


def code_findings(contests, asked, n_boot=N_BOOT, seed=0):
    """Findings about published evaluation code, recomputed from stored verdicts.

    Parameters
    ----------
    contests : dict of str to judgekit.scoring.Contest
    asked : dict of str to list of [str, str]
        Set to what is looked at on it: the name of a function of `studies.audit.evaluation_code`, and the slug of
        the judge whose figure it moves.
    n_boot, seed : int

    Returns
    -------
    list of Finding

    Raises
    ------
    KeyError
        If there is no such function.
    """
    found = []
    for name, looks in asked.items():
        for look, judge in looks:
            if look not in LOOKS:
                raise KeyError(f"no mistake is called {look!r}; there are {', '.join(LOOKS)}")
            found.append(LOOKS[look](contests[name], judge, n_boot=n_boot, seed=seed))
    return [one for one in found if one is not None]


LOOKS = {
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


def reasons_of(pairs, findings, table, tests):
    """Why each item of a set should be looked at: reason, as `judgekit.studies.audit.suggest` takes it, to ids.

    Parameters
    ----------
    pairs : list of PreferencePair
    findings : list of Finding
        Of any sets, this one and its parts among them.
    table : pandas.DataFrame
        As `judgekit.studies.audit.overlap_table`.
    tests : collection of str
        Names of test sets.

    Returns
    -------
    dict of str to set of str
    """
    name, ids = pairs[0].benchmark, {pair.item_id for pair in pairs}
    reasons = {reason: set() for reason in REASONS.values()}
    for one in findings:
        mine = one.set == name or (one.name == "suspect" and one.set.startswith(f"{name}_"))  # of a part of the set
        if mine and one.name in REASONS:
            reasons[REASONS[one.name]] |= ids & set(one.examples)
    mine = table[(table["set"] == name) & (table["items"] > 0)]
    for reason, among in (("question in a test set", True), ("question in a training set", False)):
        shared = mine["examples"][mine["other"].isin(list(tests)) == among]
        reasons[reason] = {item for items in shared for item in items}
    if name not in tests:
        reasons["question in a training set"] = set()
    return reasons
