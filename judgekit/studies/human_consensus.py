"""Sets with the votes that people cast on them."""

from collections.abc import Sequence
from dataclasses import dataclass

from judgekit.data.catalogue import load_set
from judgekit.data.votes import TIE_FREE, ClassProbabilities, Repeats, Votes, matchup_votes, votes_of_pairs
from judgekit.records import PreferencePair, Verdict
from judgekit.scoring.items import stated_probabilities


@dataclass(frozen=True, eq=False)
class VotedSet:
    """The items of a set that have votes; ``matchups``: items are matches of two models, shown either way.

    ``key``: as in result keys: ``mtbench``, ``mtbench_decided``. ``repeats``: second votes of one annotator on an item.
    """

    key: str
    name: str
    pairs: list[PreferencePair]
    votes: Votes
    repeats: Repeats
    matchups: bool

    def stated(self, verdicts: Sequence[Verdict]) -> ClassProbabilities:
        """A judge's probabilities of the items, both orders, in the rows and classes of the votes."""
        stated = stated_probabilities(verdicts, self.pairs, self.matchups).at(self.votes.items)
        return stated if self.votes.classes == stated.classes else stated.only(self.votes.classes)


def voted_set(name: str) -> VotedSet:
    """The votes of a set, or those that are no ties (``mtbench:decided``); ValueError where nobody voted on it."""
    name, _, part = name.partition(":")
    if part not in ("", "decided"):
        raise KeyError(f"no part is called {part!r}; there is 'decided'")
    pairs, matchups = load_set(name), name == "mtbench"
    votes, repeats = matchup_votes(pairs) if matchups else (votes_of_pairs(pairs), [])
    votes = votes.only(TIE_FREE) if part else votes
    if not votes.given.any():
        raise ValueError(f"{name}: nobody voted")
    return VotedSet(f"{name}_{part}" if part else name, name, pairs, votes.voted(), repeats, matchups)
