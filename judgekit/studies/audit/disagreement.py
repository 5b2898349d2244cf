"""Where annotators disagree: how often, on which labels, in which parts, and who stands alone."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from judgekit.records import PreferencePair, majority_label
from judgekit.stats import Array
from judgekit.studies.audit.estimates import N_BOOT, is_clear, share, share_difference
from judgekit.studies.audit.findings import Finding

MIN_PART = 20  # items from which a part's share of disagreement is told
MIN_VOTES = 40


def first_votes(pair: PreferencePair) -> dict[str, str]:
    """One vote of each annotator: a second look of the same person is no second opinion."""
    return {who: label for who, label in pair.votes.items() if "#" not in who}


def disputed(pairs: Sequence[PreferencePair]) -> tuple[set[str], list[PreferencePair]]:
    """Ids of items with two votes or more that are not all the same, and all items with two votes or more."""
    voted = [pair for pair in pairs if len(first_votes(pair)) > 1]
    return {pair.item_id for pair in voted if len(set(first_votes(pair).values())) > 1}, voted


def disagreement_findings(pairs: Sequence[PreferencePair], n_boot: int = N_BOOT, seed: int = 0) -> list[Finding]:
    """Findings about disagreement in a set with votes.

    The share among ties against that among decided labels: a tie is what people agree on least. The part that stands
    out most is a choice among parts, so its difference is named with theirs all in ``n``, and it is for looking, not
    for testing.
    """
    odd, voted = disputed(pairs)
    if not odd:
        return []
    name, clusters = pairs[0].benchmark, [pair.cluster for pair in voted]
    hits = np.array([pair.item_id in odd for pair in voted])
    rate = share(hits, clusters, n_boot, seed)
    examples = [pair.item_id for pair in voted if pair.item_id in odd]
    what = "annotators disagree"
    found = [
        Finding(name, "people", "disputed", what, len(odd), len(voted), rate, "share of items with votes", examples)
    ]
    ties = np.array(["tie" in first_votes(pair).values() for pair in voted])
    if ties[hits].any() and not ties.all():
        any_tie = share_difference(hits, ties, clusters, n_boot, seed)
        count = int((hits & ties).sum())
        what = "disagreement where somebody votes tie"
        found.append(Finding(name, "people", "disputed_ties", what, count, int(ties.sum()), any_tie, "over the rest"))
    return found + part_findings(name, voted, hits, n_boot, seed) + loner_findings(name, voted, n_boot, seed)


def part_findings(name: str, voted: Sequence[PreferencePair], hits: Array, n_boot: int, seed: int) -> list[Finding]:
    """The part of a set with the most disagreement, against the rest, where that is clear of chance."""
    parts = Counter(pair.subset for pair in voted)
    large = [part for part, count in parts.items() if count >= MIN_PART]
    if len(large) < 2:
        return []
    member = {part: np.array([pair.subset == part for pair in voted]) for part in large}
    worst = max(large, key=lambda part: hits[member[part]].mean())
    effect = share_difference(hits, member[worst], [pair.cluster for pair in voted], n_boot, seed)
    if not is_clear(effect):
        return []
    count, n = int(hits[member[worst]].sum()), int(member[worst].sum())
    what = f"most disagreement in part {worst} (of {len(large)})"
    return [Finding(name, "people", "disputed_part", what, count, n, effect, "over the rest")]


def loner_findings(name: str, voted: Sequence[PreferencePair], n_boot: int, seed: int) -> list[Finding]:
    """The annotator who leaves the majority of the others most often, with the share."""
    alone: dict[str, list[tuple[bool, PreferencePair]]] = defaultdict(list)
    for pair in voted:
        votes = first_votes(pair)
        for who, label in votes.items():
            others = majority_label({one: said for one, said in votes.items() if one != who})
            if others is not None:
                alone[who].append((label != others, pair))
    large = {who: rows for who, rows in alone.items() if len(rows) >= MIN_VOTES}
    if len(large) < 2:
        return []
    worst = max(large, key=lambda who: np.mean([left for left, _ in large[who]]))
    left, rows = [one for one, _ in large[worst]], [pair for _, pair in large[worst]]
    rate = share(left, [pair.cluster for pair in rows], n_boot, seed)
    what = f"one annotator of {len(large)} leaves the others' majority most often"
    examples = [pair.item_id for one, pair in large[worst] if one]
    return [
        Finding(name, "people", "loner", what, sum(left), len(left), rate, f"share of the votes of {worst}", examples)
    ]
