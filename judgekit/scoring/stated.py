"""The probabilities that a judge states of a set, by item: what calibration and consensus read."""

from judgekit.records import LABELS
from judgekit.scoring.items import refuse_strangers, symmetrised
from judgekit.votes import ClassProbabilities, matchup_of

TURNED = [1, 0, 2]  # A, B, tie with the sides exchanged


def stated_probabilities(verdicts, pairs, matchups=False):
    """Mean of the two orders' probabilities of A, B and tie.

    Parameters
    ----------
    verdicts : list of Verdict
        Of one judge; one order is enough where there is no other.
    pairs : list of PreferencePair
    matchups : bool
        Items are what `judgekit.votes.matchup_votes` names, in its order of models; a match that was shown both ways
        as two pairs counts with the mean of both.

    Returns
    -------
    judgekit.votes.ClassProbabilities
        In the order of the pairs.

    Raises
    ------
    ValueError
        If every verdict is an error, two verdicts are on one item and order, or a pair has no probabilities: a judge
        that states none of some items is not to be read as certain of them, nor as knowing nothing.
    """
    refuse_strangers(verdicts)
    cells = {}
    for verdict in verdicts:
        if (verdict.item_id, verdict.order) in cells:
            raise ValueError(f"{verdict.judge}: two verdicts for {verdict.item_id} in order {verdict.order}")
        cells[verdict.item_id, verdict.order] = verdict
    found = {}
    for pair in pairs:
        stated = symmetrised(*(cells.get((pair.item_id, order)) for order in ("ab", "ba")))
        if stated[0] != stated[0]:
            raise ValueError(f"{pair.where}: no probabilities of {verdicts[0].judge if verdicts else 'the judge'}")
        key, turned = matchup_of(pair) if matchups else (pair.item_id, False)
        found.setdefault(key, []).append([stated[i] for i in TURNED] if turned else list(stated))
    values = [[sum(column) / len(rows) for column in zip(*rows, strict=True)] for rows in found.values()]
    return ClassProbabilities(tuple(found), values, LABELS)
