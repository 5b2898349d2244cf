"""Items that stand more than once, word for word or nearly, and responses that are one text."""

from collections.abc import Sequence
from typing import Any

from judgekit.data.cleaning.repeats import NearTexts, content_key, texts_of
from judgekit.records import PreferencePair
from judgekit.studies.audit.findings import Finding, finding_of_items
from judgekit.studies.measure_agreement import have_one_panel

MAX_NEAR = 4000  # items up to which near repeats are sought: signatures of longer sets take minutes


def whole_key(pair: PreferencePair) -> tuple[Any, ...]:
    """Key of a pair with its earlier turns and its part of the set, whatever its orientation.

    Two conversations may end in equal texts, and a pair that is judged on another aspect is another item.
    """
    earlier = tuple(tuple(sorted((turn.response_a, turn.response_b))) for turn in pair.turns)
    return content_key(pair), earlier, pair.subset


def later_copies(pairs: Sequence[PreferencePair]) -> set[str]:
    """Ids of items that repeat an earlier one of the set, sides exchanged or not; the first copy is not among them."""
    seen, found = set(), set()
    for pair in pairs:
        key = whole_key(pair)
        (found.add(pair.item_id) if key in seen else seen.add(key))
    return found


def near_copies(pairs: Sequence[PreferencePair], min_jaccard: float = 0.9) -> set[str]:
    """Ids of items whose question and responses nearly repeat those of an earlier one, without being exact repeats."""
    near, seen, found, exact = NearTexts(min_jaccard), set(), set(), later_copies(pairs)
    for pair in pairs:
        if pair.item_id in exact:
            continue
        question, *responses = map(near.number, texts_of(pair))
        key = (question, *sorted(responses), pair.subset)
        (found.add(pair.item_id) if key in seen else seen.add(key))
    return found


def identical_decided(pairs: Sequence[PreferencePair]) -> set[str]:
    """Ids of items whose two responses are one text and yet one of them is labelled the better."""
    return {
        pair.item_id
        for pair in pairs
        if pair.label in ("A", "B")
        and pair.response_a.strip() == pair.response_b.strip()
        and all(turn.response_a.strip() == turn.response_b.strip() for turn in pair.turns)
    }


def is_pooled(pairs: Sequence[PreferencePair]) -> bool:
    """Whether different people voted on different items: a copy then carries votes of its own, and is no waste."""
    return any(pair.votes for pair in pairs) and not have_one_panel(pairs)


def repeat_findings(pairs: Sequence[PreferencePair]) -> list[Finding]:
    """Findings about repeats in a set."""
    named = ("repeated", "item repeats an earlier one")
    if is_pooled(pairs):
        named = ("other_order", "an earlier item in the other order, with other votes")
    found = finding_of_items(pairs, "repeat", *named, later_copies(pairs))
    if len(pairs) <= MAX_NEAR:
        found += finding_of_items(pairs, "repeat", "near_repeated", "item nearly repeats one", near_copies(pairs))
    what = "one text twice, and one of them preferred"
    return found + finding_of_items(pairs, "repeat", "identical_decided", what, identical_decided(pairs))
