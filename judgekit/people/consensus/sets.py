"""Sets with votes, by name and part, and what judges say of their items."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgekit.data.catalogue import load_set
from judgekit.data.votes import TIE_FREE, ClassProbabilities, Votes, aligned, matchup_votes, votes_of_pairs
from judgekit.people.consensus.agreement import verdicts_on
from judgekit.scoring.items import stated_probabilities

PARTS = {"turn1": {"turn": 1}, "turn2": {"turn": 2}, "decided": {"classes": TIE_FREE}}
PART_TITLES = {"turn1": "turn 1", "turn2": "turn 2", "decided": "without ties"}


@dataclass(frozen=True, eq=False)
class VotedSet:
    """Votes on a set or a part of one.

    Attributes
    ----------
    key : str
        As in result keys: ``mtbench``, ``mtbench_turn1``, ``mtbench_decided``.
    name : str
        The set.
    pairs : list of PreferencePair
    votes : Votes
        Items without a vote are left out.
    repeats : list
        Second votes of the same annotator on an item, as `judgekit.data.votes.votes_from_long` gives them.
    matchups : bool
        Whether items are matches of two models, shown either way.
    """

    key: str
    name: str
    pairs: list
    votes: Votes
    repeats: list
    matchups: bool

    @property
    def part_words(self):
        """The part as it follows the set's name in a table: ``, turn 1``, ``, without ties``, or nothing."""
        part = self.key.removeprefix(self.name).removeprefix("_")
        return f", {PART_TITLES[part]}" if part else ""

    def stated(self, verdicts):
        """A judge's probabilities of the items, both orders, in the rows and classes of the votes."""
        stated = stated_probabilities(verdicts, self.pairs, self.matchups).at(self.votes.items)
        return stated if self.votes.classes == stated.classes else stated.only(self.votes.classes)

    def said(self, verdicts):
        """A judge's verdicts as class codes, -1 where there is none (`people.consensus.agreement.verdicts_on`)."""
        return verdicts_on(self.votes, verdicts, self.pairs, self.matchups)

    def truth(self):
        """The labels of the pairs as class codes, for sets whose labels are no votes: the sample."""
        labels = {pair.item_id: pair.label for pair in self.pairs}
        return np.array([self.votes.classes.index(labels[item]) for item in self.votes.items])

    def row(self):
        """Counts for a table."""
        n = self.votes.given.sum(1)
        return {
            "set": self.key,
            "items": len(self.votes.items),
            "votes": int(n.sum()),
            "annotators": len(self.votes.annotators),
            "prompts": len(set(self.votes.clusters)),
            "items with several votes": int((n > 1).sum()),
        }


def voted_set(name):
    """The votes of a set.

    Parameters
    ----------
    name : str
        A set, or a part of one: ``mtbench``, ``mtbench:turn1``, ``mtbench:decided`` (without ties).

    Returns
    -------
    VotedSet

    Raises
    ------
    KeyError
        If there is no such set or part.
    ValueError
        If nobody voted on it.
    """
    name, _, part = name.partition(":")
    if part and part not in PARTS:
        raise KeyError(f"no part is called {part!r}; there are {', '.join(PARTS)}")
    options = PARTS.get(part, {})
    matchups = name == "mtbench"
    if "turn" in options and not matchups:
        raise KeyError(f"{name} has no turns")
    pairs = load_set(name)
    votes, repeats = matchup_votes(pairs, options.get("turn")) if matchups else (votes_of_pairs(pairs), [])
    if "classes" in options:
        votes = votes.only(options["classes"])
    if not votes.given.any():
        raise ValueError(f"{name}: nobody voted")
    key = f"{name}_{part}" if part else name
    return VotedSet(key, name, pairs, votes.voted(), repeats, matchups)


def joined(sets):
    """The votes of several sets in one, items named by set.

    Parameters
    ----------
    sets : list of VotedSet
        With the same classes.

    Returns
    -------
    Votes
    """
    annotators = list(dict.fromkeys(name for one in sets for name in one.votes.annotators))
    codes = []
    for one in sets:
        columns = np.full((len(one.votes.items), len(annotators)), -1)
        columns[:, [annotators.index(name) for name in one.votes.annotators]] = one.votes.codes
        codes.append(columns)
    items, clusters = (
        tuple(f"{one.key}:{name}" for one in sets for name in getattr(one.votes, part))
        for part in ("items", "clusters")
    )
    return Votes(items, tuple(annotators), np.concatenate(codes), sets[0].votes.classes, clusters)


def joined_probabilities(sets, stated):
    """The probabilities of the items of several sets, named and ordered as `joined` does it.

    Parameters
    ----------
    sets : list of VotedSet
    stated : list of judgekit.data.votes.ClassProbabilities
        Of each set, in the rows of its votes.

    Raises
    ------
    ValueError
        If a set's probabilities belong to other rows.
    """
    values = np.concatenate([aligned(one.votes, own) for one, own in zip(sets, stated, strict=True)])
    items = tuple(f"{one.key}:{name}" for one in sets for name in one.votes.items)
    return ClassProbabilities(items, values, sets[0].votes.classes)


def label_table(votes, consensuses):
    """Labels by item and method, a tidy table without text.

    Parameters
    ----------
    votes : Votes
    consensuses : dict of str to Consensus
        On the items of the votes.

    Returns
    -------
    pandas.DataFrame
        Columns ``item``, ``votes`` (their number), and for each method ``label_<method>`` (empty where there is none)
        and ``quality_<method>`` (to four digits).
    """
    table = pd.DataFrame({"item": votes.items, "votes": votes.given.sum(1)})
    for name, found in consensuses.items():
        if found.items != votes.items:
            raise ValueError(f"{name} is on other items")
        table[f"label_{name}"] = [votes.classes[code] if code >= 0 else "" for code in found.labels]
        table[f"quality_{name}"] = found.quality.round(4)
    return table
