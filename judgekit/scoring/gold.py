"""Reference labels: which people a verdict is compared with, and how several opinions become one."""

import random

from judgekit.records import majority_label

PAPER5_SEED = 42


def references_of(pairs, protocol):
    """The labels that each pair is scored against under a protocol.

    Parameters
    ----------
    pairs : list of PreferencePair
    protocol : judgekit.scoring.Protocol

    Returns
    -------
    dict of str to list of str
        Item id to one label, or to one label per vote where votes are items; empty for an item that the protocol
        leaves out (another turn, no label, no vote of the people asked for).
    """
    wanted = [pair for pair in pairs if protocol.turn in (None, len(pair.turns) + 1)]
    found = {pair.item_id: [] for pair in pairs}
    if protocol.gold == "paper5":
        return found | {item_id: [label] for item_id, label in paper5_labels(wanted).items()}
    for pair in wanted:
        votes = chosen_votes(pair, protocol.voters)
        if protocol.votes:
            labels = votes.values()
        elif protocol.gold == "majority":
            labels = [majority_label(votes)]
        else:
            labels = [pair.label]
        found[pair.item_id] = [label for label in labels if label is not None]
    return found


def chosen_votes(pair, voters):
    """Votes of everybody, of the experts, or of the set's authors (whose names start with ``author``)."""
    if voters == "all":
        return pair.votes
    return {who: label for who, label in pair.votes.items() if who.startswith("author") == (voters == "authors")}


def paper5_labels(pairs, seed=PAPER5_SEED):
    """PandaLM labels as Huang et al. (2024), arXiv:2403.02839, made them, mistake included.

    Parameters
    ----------
    pairs : list of PreferencePair
        The whole set: draws are made in the order of the numbers that items carry, one for each item concerned.
    seed : int

    Returns
    -------
    dict of str to str
        Item id to label.

    Raises
    ------
    ValueError
        If an item does not have three votes.

    Notes
    -----
    Their code means to take the majority of three annotators. It asks twice whether the first two agree and never
    whether the first and the third do, so an item on which the second stands alone gets the label of an annotator
    drawn at random: 49 of 999 items, 11 of them labelled wrongly with the published seed.
    """
    draw = random.Random(seed)
    labels = {}
    for pair in sorted(pairs, key=lambda pair: (len(pair.item_id), pair.item_id)):  # numbers as numbers
        if len(pair.votes) != 3:
            raise ValueError(f"{pair.where}: {len(pair.votes)} votes, where this rule needs three")
        first, second, third = said = list(pair.votes.values())
        labels[pair.item_id] = second if second in (first, third) else draw.choice(said)
    return labels
