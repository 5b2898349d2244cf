"""Prompts that items share, and what an interval that forgets them would look like."""

from judgekit.scoring.items import credits_of, item_table
from judgekit.scoring.protocols import protocol_of
from judgekit.studies.audit.estimates import design_effect
from judgekit.studies.audit.findings import Finding


def design_effects(contest):
    """Width of each judge's interval over prompts over that of one over items.

    Parameters
    ----------
    contest : judgekit.scoring.Contest

    Returns
    -------
    dict of str to Number
        Judge to the ratio (`judgekit.studies.audit.estimates.design_effect`), under the set's primary protocol; nothing
        where every item has a prompt of its own.
    """
    protocol, found = protocol_of(contest.benchmark), {}
    if len({pair.cluster for pair in contest.pairs}) == len(contest.pairs):
        return found
    for judge, verdicts in contest.verdicts.items():
        table = item_table(verdicts, contest.pairs, protocol)
        credit = credits_of(table, protocol)
        if credit.min() < credit.max() and table["cluster"].nunique() > 2:
            found[judge] = design_effect(credit, table["cluster"].tolist())
    return found


def clustering_findings(contest):
    """The judge whose interval is the most too narrow, where that is clear of one (list of Finding)."""
    shared = len(contest.pairs) - len({pair.cluster for pair in contest.pairs})
    effects = design_effects(contest)
    if not effects:
        return []
    middle = sorted(effects, key=lambda judge: effects[judge].value)[len(effects) // 2]
    what = f"items share prompts; interval of {middle}, the median judge"
    on = "width over that of independent items"
    n = len(contest.pairs)
    return [Finding(contest.name, "clustering", "shared_prompts", what, shared, n, effects[middle], on)]
