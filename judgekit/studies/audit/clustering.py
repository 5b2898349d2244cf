"""Prompts that items share, and what an interval that forgets them would look like."""

from judgekit.scoring.comparison import Contest
from judgekit.scoring.items import credits_of, item_table
from judgekit.scoring.protocols import protocol_of
from judgekit.stats import Number
from judgekit.studies.audit.estimates import design_effect
from judgekit.studies.audit.findings import Finding


def design_effects(contest: Contest) -> dict[str, Number]:
    """Width of each judge's interval over prompts over that of one over items, under the set's primary protocol.

    See `judgekit.studies.audit.estimates.design_effect`; nothing where every item has a prompt of its own.
    """
    protocol, found = protocol_of(contest.benchmark), {}  # type: ignore[var-annotated] # two at once
    if len({pair.cluster for pair in contest.pairs}) == len(contest.pairs):
        return found
    for judge, verdicts in contest.verdicts.items():
        table = item_table(verdicts, contest.pairs, protocol)
        credit = credits_of(table, protocol)
        if credit.min() < credit.max() and table["cluster"].nunique() > 2:
            found[judge] = design_effect(credit, table["cluster"].tolist())
    return found


def clustering_findings(contest: Contest) -> list[Finding]:
    """The judge whose interval is the most too narrow, where that is clear of one."""
    shared = len(contest.pairs) - len({pair.cluster for pair in contest.pairs})
    effects = design_effects(contest)
    if not effects:
        return []
    middle = sorted(effects, key=lambda judge: effects[judge].value)[len(effects) // 2]
    what = f"items share prompts; interval of {middle}, the median judge"
    on = "width over that of independent items"
    n = len(contest.pairs)
    return [Finding(contest.name, "clustering", "shared_prompts", what, shared, n, effects[middle], on)]
