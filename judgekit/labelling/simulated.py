"""Votes that are known before they are cast: a panel whose error rates are chosen, or people's published votes.

Cast through the page by somebody who sees texts only, they tell whether the page files what was meant.
"""

import random

from judgekit.labelling.ordering import drawn
from judgekit.labelling.rendering import visible
from judgekit.records import SWAPPED, label_of_gap
from judgekit.sample.annotators import vote

PLACES = {"A": "first", "B": "second", "tie": "tie"}


def panel_votes(pairs, panel, seed=0):
    """What every annotator of a simulated panel thinks of every pair.

    Parameters
    ----------
    pairs : list of PreferencePair
        With labels, which are the truth.
    panel : list of judgekit.sample.Annotator
    seed : int

    Returns
    -------
    dict of str to dict of str to str
        Annotator to item to label.
    """
    said = {annotator.name: {} for annotator in panel}
    for pair in pairs:
        longer = label_of_gap(len(pair.response_a) - len(pair.response_b))
        for annotator in panel:
            rng = random.Random(drawn(seed, "panel", annotator.name, pair.item_id))
            said[annotator.name][pair.item_id] = vote(rng, annotator, pair.label, longer)
    return said


def published_votes(pairs, annotators):
    """What people said of pairs, as their set has it: annotator to item to label.

    Raises
    ------
    ValueError
        If one of them did not vote on a pair.
    """
    for pair in pairs:
        if missing := [name for name in annotators if name not in pair.votes]:
            raise ValueError(f"{pair.where}: {missing[0]} did not vote")
    return {name: {pair.item_id: pair.votes[name] for pair in pairs} for name in annotators}


def distinct(pairs):
    """The pairs whose texts no earlier one has, whichever way round: who sees texts only cannot tell others apart.

    Returns
    -------
    list of PreferencePair
    """
    found = {}
    for pair in pairs:
        found.setdefault(min(texts_of(pair), texts_of(pair.swapped())), pair)
    return list(found.values())


def by_texts(pairs, said):
    """The mind of one annotator, who knows pairs by their texts as they stand on the page.

    Parameters
    ----------
    pairs : list of PreferencePair
    said : dict of str to str
        Item to label in the item's own order.

    Returns
    -------
    callable
        For `judgekit.labelling.label_all`.

    Raises
    ------
    ValueError
        If two pairs have the same texts and the annotator said different things of them.
    """
    known = {}
    for pair in pairs:
        label = said[pair.item_id]
        # Two equal responses are told apart by nobody: whichever stands first, the filed label is the place's.
        for shown, meant in ((pair.swapped(), SWAPPED[label]), (pair, label)):
            if known.setdefault(texts_of(shown), meant) != meant and shown.response_a != shown.response_b:
                raise ValueError(f"{pair.where}: has the texts of another pair, and another vote")
    return lambda shown: PLACES[known[tuple(shown[name]["raw"] for name in ("question", "first", "second"))]]


def texts_of(pair):
    """What tells a pair from others: question and responses as they stand on the page."""
    return tuple(visible(text) for text in (pair.question, pair.response_a, pair.response_b))


def misfiled(votes, said):
    """How many votes in a table are not what was meant, and how many are missing or were never meant.

    Parameters
    ----------
    votes : judgekit.votes.Votes
    said : dict of str to dict of str to str

    Returns
    -------
    dict of str to int
        ``cast`` (meant), ``lost``, ``added``, ``changed``.
    """
    meant = {(item, name): label for name, items in said.items() for item, label in items.items()}
    table = votes.long()
    filed = {(row.task, row.worker): row.label for row in table.itertuples()}
    return {
        "cast": len(meant),
        "lost": len(meant.keys() - filed.keys()),
        "added": len(filed.keys() - meant.keys()),
        "changed": sum(filed[key] != meant[key] for key in filed.keys() & meant.keys()),
    }
