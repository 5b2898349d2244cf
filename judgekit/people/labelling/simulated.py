"""Votes that are known before they are cast, of a panel whose error rates are chosen.

Cast through the page by somebody who sees texts only, they tell whether the page files what was meant.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from judgekit.data.sample.annotators import Annotator, vote
from judgekit.data.votes import Votes
from judgekit.people.labelling.ordering import drawn
from judgekit.people.labelling.rendering import visible
from judgekit.people.labelling.session import CHOICES
from judgekit.records import SWAPPED, PreferencePair, label_of_gap

PanelVotes = dict[str, dict[str, str]]  # annotator to item to label, in the item's own order


def panel_votes(pairs: Sequence[PreferencePair], panel: Iterable[Annotator], seed: int = 0) -> PanelVotes:
    """The vote of every annotator of a simulated panel on every pair, whose label is the truth."""
    votes: PanelVotes = {}
    for annotator in panel:
        votes[annotator.name] = {}
        for pair in pairs:
            longer = label_of_gap(len(pair.response_a) - len(pair.response_b))
            rng = random.Random(drawn(seed, "panel", annotator.name, pair.item_id))
            votes[annotator.name][pair.item_id] = vote(rng, annotator, pair.label, longer)
    return votes


def distinct(pairs: Iterable[PreferencePair]) -> list[PreferencePair]:
    """The pairs whose texts no earlier one has, in either order: who sees texts only cannot tell others apart."""
    first: dict[tuple[str, ...], PreferencePair] = {}
    for pair in pairs:
        first.setdefault(min(_texts_of(pair), _texts_of(pair.swapped())), pair)
    return list(first.values())


def by_texts(pairs: Iterable[PreferencePair], votes: dict[str, str]) -> Callable[[dict[str, Any]], str]:
    """The choices of an annotator whose votes by item are given, for `judgekit.people.labelling.label_all`.

    Pairs are known by their texts as they stand on the page; ValueError if two have the same texts and other votes.
    """
    choices: dict[str | None, str] = {label: choice for choice, label in CHOICES.items()}
    known: dict[tuple[str, ...], str] = {}
    for pair in pairs:
        label = votes[pair.item_id]
        # Two equal responses are told apart by nobody: whichever stands first, the filed label is the position's.
        for shown, choice in ((pair.swapped(), choices[SWAPPED[label]]), (pair, choices[label])):
            if known.setdefault(_texts_of(shown), choice) != choice and shown.response_a != shown.response_b:
                raise ValueError(f"{pair.where}: has the texts of another pair, and another vote")
    return lambda shown: known[tuple(shown[name]["raw"] for name in ("question", "first", "second"))]


def _texts_of(pair: PreferencePair) -> tuple[str, ...]:
    """What tells a pair from others: question and responses as they stand on the page."""
    return tuple(visible(text) for text in (pair.question, pair.response_a, pair.response_b))


def misfiled(votes: Votes, cast: PanelVotes) -> dict[str, int]:
    """How many votes were ``cast``, and how many of a table are not as cast: ``lost``, ``added``, ``changed``."""
    expected = {(item, name): label for name, labels in cast.items() for item, label in labels.items()}
    filed = {(row.task, row.worker): row.label for row in votes.long().itertuples()}
    return {
        "cast": len(expected),
        "lost": len(expected.keys() - filed.keys()),
        "added": len(filed.keys() - expected.keys()),
        "changed": sum(filed[key] != expected[key] for key in filed.keys() & expected.keys()),
    }
