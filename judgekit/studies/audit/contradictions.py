"""Labels that cannot all be right: one pair labelled both ways, and circles of three."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from judgekit.data.cleaning.repeats import oriented_label
from judgekit.records import PreferencePair
from judgekit.studies.audit.estimates import N_BOOT, share
from judgekit.studies.audit.findings import Finding, finding_of_items
from judgekit.studies.audit.repeats import is_pooled, whole_key


def contradicted(pairs: Sequence[PreferencePair]) -> set[str]:
    """Ids of items that another item of the set contradicts: same question and responses, another label."""
    groups: dict[Any, list[PreferencePair]] = defaultdict(list)
    for pair in pairs:
        if pair.label is not None and pair.response_a != pair.response_b:
            groups[whole_key(pair)].append(pair)
    return {
        pair.item_id for group in groups.values() if len({oriented_label(one) for one in group}) > 1 for pair in group
    }


def circles(pairs: Sequence[PreferencePair]) -> list[tuple[str, bool, list[str]]]:
    """Every three responses to one question that were all compared: cluster, whether the labels go round, item ids.

    Only threes without a tie. Responses are told apart by their text, and conversations by their earlier turns.
    """
    graphs: dict[tuple[str, str, int], dict[Any, tuple[str, str, str, str]]] = defaultdict(dict)
    for pair in pairs:
        if pair.label in ("A", "B") and pair.response_a != pair.response_b:
            first, second = (pair.model_a or pair.response_a, pair.model_b or pair.response_b)
            if first == second:
                continue
            graph = graphs[pair.cluster, pair.question, len(pair.turns)]
            graph.setdefault(frozenset((first, second)), (first, second, pair.label, pair.item_id))
    found = []
    for (cluster, *_), graph in graphs.items():
        names = sorted({name for edge in graph for name in edge})
        for three in combinations(names, 3):
            edges: list[Any] = [graph.get(frozenset(two)) for two in combinations(three, 2)]
            if None in edges:
                continue
            winners = {first if label == "A" else second for first, second, label, _ in edges}
            found.append((cluster, len(winners) == 3, [edge[3] for edge in edges]))
    return found


def contradiction_findings(pairs: Sequence[PreferencePair], n_boot: int = N_BOOT, seed: int = 0) -> list[Finding]:
    """Findings about contradictions in a set."""
    named = ("contradicted", "same question and responses, other label")
    if is_pooled(pairs):
        named = ("other_majority", "the other order has another majority")
    found = finding_of_items(pairs, "contradiction", *named, contradicted(pairs))
    threes = circles(pairs)
    if round_ones := [items for _, circular, items in threes if circular]:
        effect = share([circular for _, circular, _ in threes], [cluster for cluster, *_ in threes], n_boot, seed)
        examples = list(dict.fromkeys(item for items in round_ones for item in items))
        found.append(
            Finding(
                pairs[0].benchmark,
                "contradiction",
                "circular",
                "three responses preferred in a circle",
                len(round_ones),
                len(threes),
                effect,
                "share of threes; a guess: a quarter",
                examples,
            )
        )
    return found
