"""Sets with votes, by name and part, and what judges say of their items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from judgekit.data.catalogue import load_set
from judgekit.data.votes import NO_VOTE, TIE_FREE, ClassProbabilities, Votes, aligned, matchup_votes, votes_of_pairs
from judgekit.people.consensus.agreement import verdicts_on
from judgekit.people.consensus.methods import Consensus
from judgekit.records import PreferencePair, Verdict
from judgekit.scoring.items import stated_probabilities
from judgekit.stats import Array

PARTS: dict[str, dict[str, Any]] = {"turn1": {"turn": 1}, "turn2": {"turn": 2}, "decided": {"classes": TIE_FREE}}
PART_TITLES = {"turn1": "turn 1", "turn2": "turn 2", "decided": "without ties"}


@dataclass(frozen=True, eq=False)
class VotedSet:
    """The items of a set, or of a part of one, that have votes.

    ``key``: as in result keys: ``mtbench``, ``mtbench_turn1``, ``mtbench_decided``. ``repeats``: second votes of one
    annotator on an item, as `data.votes.votes_from_long` gives them. ``matchups``: whether items are matches of two
    models, shown either way.
    """

    key: str
    name: str
    pairs: list[PreferencePair]
    votes: Votes
    repeats: list
    matchups: bool

    @property
    def part_words(self) -> str:
        """The part as it follows the set's name in a table: ``, turn 1``, ``, without ties``, or nothing."""
        part = self.key.removeprefix(self.name).removeprefix("_")
        return f", {PART_TITLES[part]}" if part else ""

    def stated(self, verdicts: Sequence[Verdict]) -> ClassProbabilities:
        """A judge's probabilities of the items, both orders, in the rows and classes of the votes."""
        stated = stated_probabilities(verdicts, self.pairs, self.matchups).at(self.votes.items)
        return stated if self.votes.classes == stated.classes else stated.only(self.votes.classes)

    def said(self, verdicts: Sequence[Verdict]) -> Array:
        """A judge's verdicts as class codes, -1 where there is none (`people.consensus.agreement.verdicts_on`)."""
        return verdicts_on(self.votes, verdicts, self.pairs, self.matchups)

    def truth(self) -> Array:
        """The labels of the pairs as class codes, for sets whose labels are no votes: the sample."""
        labels = {pair.item_id: pair.label for pair in self.pairs}
        return np.array([self.votes.classes.index(labels[item]) for item in self.votes.items])


def voted_set(name: str) -> VotedSet:
    """The votes of a set, or of a part of one: ``mtbench``, ``mtbench:turn1``, ``mtbench:decided`` (without ties).

    KeyError where there is no such set or part, ValueError where nobody voted on it.
    """
    name, _, part = name.partition(":")
    if part and part not in PARTS:
        raise KeyError(f"no part is called {part!r}; there are {', '.join(PARTS)}")
    options, matchups = PARTS.get(part, {}), name == "mtbench"
    if "turn" in options and not matchups:
        raise KeyError(f"{name} has no turns")
    pairs = load_set(name)
    votes, repeats = matchup_votes(pairs, options.get("turn")) if matchups else (votes_of_pairs(pairs), [])
    if "classes" in options:
        votes = votes.only(options["classes"])
    if not votes.given.any():
        raise ValueError(f"{name}: nobody voted")
    return VotedSet(f"{name}_{part}" if part else name, name, pairs, votes.voted(), repeats, matchups)


def joined(sets: Sequence[VotedSet]) -> Votes:
    """The votes of several sets with the same classes in one, items and prompts named by set."""
    annotators = list(dict.fromkeys(name for one in sets for name in one.votes.annotators))
    codes = []
    for one in sets:
        columns = np.full((len(one.votes.items), len(annotators)), NO_VOTE)
        columns[:, [annotators.index(name) for name in one.votes.annotators]] = one.votes.codes
        codes.append(columns)
    clusters = tuple(f"{one.key}:{name}" for one in sets for name in one.votes.clusters)
    return Votes(_joined_items(sets), tuple(annotators), np.concatenate(codes), sets[0].votes.classes, clusters)


def joined_probabilities(sets: Sequence[VotedSet], stated: Sequence[ClassProbabilities]) -> ClassProbabilities:
    """Probabilities of each set, in the rows of its votes, in one, as `joined` orders them; ValueError for others."""
    values = np.concatenate([aligned(one.votes, own) for one, own in zip(sets, stated, strict=True)])
    return ClassProbabilities(_joined_items(sets), values, sets[0].votes.classes)


def _joined_items(sets: Sequence[VotedSet]) -> tuple[str, ...]:
    return tuple(f"{one.key}:{name}" for one in sets for name in one.votes.items)


def label_table(votes: Votes, consensuses: Mapping[str, Consensus]) -> pd.DataFrame:
    """Labels by item, without text: columns item, votes (their number), and for each method ``label_<method>`` (empty
    where there is none) and ``quality_<method>`` (to four digits)."""
    table = pd.DataFrame({"item": votes.items, "votes": votes.given.sum(1)})
    for name, consensus in consensuses.items():
        if consensus.items != votes.items:
            raise ValueError(f"{name} is on other items")
        table[f"label_{name}"] = [votes.classes[code] if code >= 0 else "" for code in consensus.labels]
        table[f"quality_{name}"] = consensus.quality.round(4)
    return table
