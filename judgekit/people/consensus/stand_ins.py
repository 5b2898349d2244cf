"""Judges as stand-ins: their labels beside people's votes, item by item."""

from judgekit.data.votes import matchup_of, matchup_votes, votes_of_pairs
from judgekit.records import SWAPPED
from judgekit.scoring.protocols import joined_verdict


def labels_by_item(verdicts, pairs, matchups=False):
    """One label of a judge per item.

    Parameters
    ----------
    verdicts : list of Verdict
        Of one judge; one order is enough where there is no other. Pairs that it did not judge have no label.
    pairs : list of PreferencePair
    matchups : bool
        Items are what `judgekit.data.votes.matchup_votes` names, in its order of models.

    Returns
    -------
    dict of str to str
        A tie where the judge contradicts itself, in the two orders or on two showings of one match, and where its reply
        holds no verdict: a person who stood in would have had to say something.

    Raises
    ------
    ValueError
        If a verdict is an error: nothing was said, so there is nothing to read.
    """
    said = {}
    for verdict in verdicts:
        if verdict.status == "error":
            raise ValueError(f"{verdict.item_id}: {verdict.judge} failed on it, and has no label")
        said.setdefault(verdict.item_id, {})[verdict.order] = verdict.verdict
    found = {}
    for pair in pairs:
        if orders := said.get(pair.item_id):
            label = joined_verdict(*(orders.values() if len(orders) == 2 else [*orders.values()] * 2), "any") or "tie"
            key, turned = matchup_of(pair) if matchups else (pair.item_id, False)
            label = SWAPPED[label] if turned else label
            found[key] = label if found.get(key, label) == label else "tie"
    return found


def beside_people(pairs, verdicts, voters="", matchups=False):
    """People's votes and judges' labels, on the items that every judge labelled.

    Parameters
    ----------
    pairs : list of PreferencePair
    verdicts : dict of str to list of Verdict
        By judge.
    voters : str
        Only annotators whose name starts so.
    matchups : bool
        Whether one match is shown as two pairs (MT-bench).

    Returns
    -------
    votes : judgekit.data.votes.Votes
    labels : dict of str to dict of str to str
        Judge to item to label.

    Raises
    ------
    ValueError
        If no item was labelled by all, or nobody's name starts so.
    """
    votes = matchup_votes(pairs)[0] if matchups else votes_of_pairs(pairs)
    labels = {judge: labels_by_item(said, pairs, matchups) for judge, said in verdicts.items()}
    common = [all(item in by_item for by_item in labels.values()) for item in votes.items]
    people = [name for name in votes.annotators if name.startswith(voters)]
    if not any(common) or not people:
        raise ValueError(f"{sum(common)} items that all judges labelled, {len(people)} annotators called {voters!r}...")
    return votes.of(people).at(common).voted(), labels


def most_frequent(votes):
    """A judge that never reads: the class with most votes, for every item (dict of str to str).

    It is told that class, and what it is worth shows what a test of judges asks for.
    """
    label = votes.classes[int(votes.counts.sum(0).argmax())]
    return dict.fromkeys(votes.items, label)
