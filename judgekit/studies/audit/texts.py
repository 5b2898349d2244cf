"""Faults of the texts themselves: other types, nothing at all, damaged characters."""

import re
from collections.abc import Mapping, Sequence

from judgekit.records import PreferencePair
from judgekit.studies.audit.findings import Finding, finding_of_items

# UTF-8 read as Latin-1 or Windows-1252 and written again: "â€™" for an apostrophe, "Ã©" for e with an accent.
MOJIBAKE = re.compile("â€[™œ\x9d\x9c\x99“”˜¦]|Ã[©¨¢¤¶¼±³¡ª]|Â[ °£§»«]")
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
REPLACED = "\ufffd"
# What a loader counts while it repairs, and how it reads in a table.
REPAIRED = {
    "boolean_responses": "responses stored as true or false",
    "missing_responses": "votes on a response that is missing",
    "empty_turns": "votes on a conversation with an empty turn",
    "skipped_identical": "identical responses, skipped on loading",
    "skipped_no_preference": "pairs without a preference",
    "annotator_not_of_folder": "annotator is not that of the folder",
    "no_majority": "items without a majority",
}


def damage(text: str) -> str | None:
    """What is wrong with the characters of a text, or None.

    >>> damage("itâ€™s"), damage("it\\ufffds"), damage("it's")
    ('mojibake', 'replaced', None)
    """
    if REPLACED in text:
        return "replaced"
    if MOJIBAKE.search(text):
        return "mojibake"
    return "control" if CONTROL.search(text) else None


def shown_texts(pair: PreferencePair) -> list[str]:
    """Every text of a pair that a judge reads."""
    earlier = [text for turn in pair.turns for text in (turn.question, turn.response_a, turn.response_b)]
    return [*earlier, pair.question, *pair.responses]


def empty_responses(pairs: Sequence[PreferencePair]) -> set[str]:
    """Ids of items with a response of nothing but white space."""
    return {pair.item_id for pair in pairs if not all(text.strip() for text in pair.responses)}


def damaged_texts(pairs: Sequence[PreferencePair]) -> set[str]:
    """Ids of items with damaged characters."""
    return {pair.item_id for pair in pairs if any(map(damage, shown_texts(pair)))}


def text_findings(pairs: Sequence[PreferencePair], report: Mapping[str, int]) -> list[Finding]:
    """Findings about the texts of a set; ``report``: what its loader repaired."""
    name, found = pairs[0].benchmark, []
    for key, what in REPAIRED.items():
        if report.get(key):
            n = report.get("votes") if what.startswith("votes") else len(pairs) + report[key] * key.startswith("skip")
            found.append(Finding(name, "text", key, what, report[key], n or len(pairs)))
    found += finding_of_items(pairs, "text", "empty", "an empty response", empty_responses(pairs))
    return found + finding_of_items(pairs, "text", "damaged", "damaged characters", damaged_texts(pairs))
