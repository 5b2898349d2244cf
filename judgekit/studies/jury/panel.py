"""Several judges' verdicts on the same pairs, joined by item and order, with a check that nothing can go around."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from judgekit.records import LABELS, ORDERS, PreferencePair, Verdict, unique_items
from judgekit.scoring import protocol_of
from judgekit.scoring.items import credits_of, item_table
from judgekit.scoring.metrics import NO_VERDICT, label_codes
from judgekit.scoring.protocols import read_verdict, references_of
from judgekit.scoring.scores import decided_probabilities
from judgekit.stats import Array, Floats


@dataclass(frozen=True)
class Panel:
    """Judges who all judged the same pairs.

    The check is made whenever a panel is made, and a panel cannot be changed: there is no joined table that was not
    checked. Verdicts are never matched by position.

    ValueError where there is no member, a member lacks an item, has one that is not among the pairs or one twice, saw
    the exchanged order of some items only, or failed on an item; where lists of two judges were mixed; or where items
    can leave the score under the protocol, for members would then be scored on different items.
    """

    benchmark: str  # the set whose protocols apply
    pairs: tuple  # of PreferencePair
    # Member (slug) to its list of Verdict: given in any sequence, kept in that of the pairs and in the orders that
    # every member has.
    verdicts: dict
    protocol: Any = None  # a `Protocol`, by default the set's primary one; a name is looked up

    def __post_init__(self) -> None:
        protocol = protocol_of(self.benchmark, self.protocol)
        pairs = tuple(unique_items(self.pairs))
        if not pairs or not self.verdicts:
            raise ValueError(f"{self.benchmark}: {len(pairs)} pairs and {len(self.verdicts)} members make no panel")
        if protocol.drops:
            raise ValueError(f"{self.benchmark}: '{protocol.name}' drops items, for each member others")
        by_cell = {member: cells_of(member, said, pairs) for member, said in self.verdicts.items()}
        orders = tuple(o for o in ORDERS if all((pairs[0].item_id, o) in cells for cells in by_cell.values()))
        verdicts = {
            member: [cells[pair.item_id, order] for pair in pairs for order in orders]
            for member, cells in by_cell.items()
        }
        for name, value in (("protocol", protocol), ("pairs", pairs), ("verdicts", verdicts)):
            object.__setattr__(self, name, value)

    @property
    def members(self) -> list[str]:
        """Slugs, in the order given."""
        return list(self.verdicts)

    @cached_property
    def orders(self) -> tuple[str, ...]:
        """The orders that every member has."""
        said = next(iter(self.verdicts.values()))
        return tuple(dict.fromkeys(verdict.order for verdict in said))

    def seated(self, members: Sequence[str]) -> "Panel":
        """The panel of some of the members."""
        if unknown := [member for member in members if member not in self.verdicts]:
            raise ValueError(f"{self.benchmark}: {unknown[0]} is no member; there are {', '.join(self.verdicts)}")
        return replace(self, verdicts={member: self.verdicts[member] for member in members})

    def joined_by(self, member: str, verdicts: Sequence[Verdict]) -> "Panel":
        """The panel with one more member, a jury for example."""
        if member in self.verdicts:
            raise ValueError(f"{self.benchmark}: {member} is a member already")
        return replace(self, verdicts=self.verdicts | {member: verdicts})

    def on(self, chosen: Array) -> "Panel":
        """The panel on some of its items (array of bool, shape (n_items,))."""
        pairs = [pair for pair, taken in zip(self.pairs, chosen, strict=True) if taken]
        kept = {pair.item_id for pair in pairs}
        verdicts = {member: [v for v in said if v.item_id in kept] for member, said in self.verdicts.items()}
        return replace(self, pairs=tuple(pairs), verdicts=verdicts)

    def said(self, member: str, order: str) -> list[Verdict]:
        """A member's verdicts in one order, in the sequence of the pairs."""
        return [verdict for verdict in self.verdicts[member] if verdict.order == order]

    @cached_property
    def votes(self) -> dict[str, Floats]:
        """Order to votes, shape (n_items, n_members, 3): one at the label said, zeros for a reply without a verdict.

        A reply that cannot be read is an abstention here whatever the protocol makes of it.
        """
        return {order: np.stack([self.votes_of(m, order) for m in self.members], 1) for order in self.orders}

    def votes_of(self, member: str, order: str) -> Floats:
        """One member's votes, shape (n_items, 3)."""
        read = [read_verdict(v, self.protocol) if v.status == "ok" else None for v in self.said(member, order)]
        return np.eye(NO_VERDICT + 1)[label_codes(read)][:, : len(LABELS)]

    @cached_property
    def beliefs(self) -> dict[str, Floats]:
        """Order to probabilities, shape (n_items, n_members, 3).

        A member without probabilities is taken to be certain of its verdict; one without a verdict has zeros. Where
        the protocol allows no tie, the mass of ties is split in the proportion of the other two.
        """
        return {order: np.stack([self.beliefs_of(m, order) for m in self.members], 1) for order in self.orders}

    def beliefs_of(self, member: str, order: str) -> Floats:
        """One member's probabilities, shape (n_items, 3)."""
        found, said = self.votes_of(member, order), self.said(member, order)
        sure = np.array([verdict.status != "ok" or verdict.p_a is None for verdict in said])
        if not sure.all():
            stated = np.array([[v.p_a, v.p_b, v.p_tie] for v, none in zip(said, sure, strict=True) if not none], float)
            if self.protocol.forced:
                stated = np.column_stack([decided_probabilities(stated), np.zeros(len(stated))])
            found[~sure] = stated
        return found

    def states_probabilities(self, member: str) -> bool:
        """Whether a member gives probabilities with every verdict."""
        return all(v.p_a is not None for v in self.verdicts[member] if v.status == "ok")

    @cached_property
    def prompts(self) -> list[tuple[str, str]]:
        """The prompt of every item: (set, cluster)."""
        return [(pair.benchmark, pair.cluster_id or pair.item_id) for pair in self.pairs]

    @cached_property
    def references(self) -> tuple[Array, Array]:
        """Reference labels of every scored item or vote: places of the items and label codes, shape (n_rows,) each."""
        labels = references_of(self.pairs, self.protocol)
        rows = [(place, label) for place, pair in enumerate(self.pairs) for label in labels[pair.item_id]]
        return np.array([place for place, _ in rows], int), label_codes(label for _, label in rows)

    def credits_of(self, verdicts: Sequence[Verdict]) -> Floats:
        """What verdicts on all of the panel's pairs earn under its protocol, shape (n_rows,)."""
        table = item_table(verdicts, self.pairs, self.protocol)
        if table.empty:
            raise ValueError(f"{self.benchmark}: no item has a reference label")
        return credits_of(table, self.protocol)

    @cached_property
    def credits(self) -> Floats:
        """What every member earns, shape (n_rows, n_members)."""
        return np.stack([self.credits_of(said) for said in self.verdicts.values()], 1)

    @cached_property
    def clusters(self) -> list[str]:
        """The prompt of every row of `credits`."""
        return [self.pairs[place].cluster_id or self.pairs[place].item_id for place in self.references[0]]


def cells_of(
    member: str, verdicts: Sequence[Verdict], pairs: Sequence[PreferencePair]
) -> dict[tuple[str, str], Verdict]:
    """One member's verdicts by item and order, after checking that they are those of the pairs and of nothing else."""
    if names := sorted({verdict.judge for verdict in verdicts})[1:]:
        raise ValueError(f"{member}: verdicts of {verdicts[0].judge} and of another judge ({names[0]}) are mixed")
    cells: dict[tuple[str, str], Verdict] = {}
    for verdict in verdicts:
        cell = (verdict.item_id, verdict.order)
        if cell in cells:
            raise ValueError(f"{member}: two verdicts for item {cell[0]} in order {cell[1]}")
        if verdict.status == "error":
            raise ValueError(f"{member}: no reply for item {cell[0]} in order {cell[1]} ({verdict.raw})")
        cells[cell] = verdict
    items = [pair.item_id for pair in pairs]
    if strangers := sorted({item for item, _ in cells} - set(items)):
        raise ValueError(f"{member}: item {strangers[0]} is not among the {len(items)} pairs of the panel")
    for order in ORDERS if any(order == "ba" for _, order in cells) else ("ab",):
        if lacking := [item for item in items if (item, order) not in cells]:
            raise ValueError(f"{member}: no verdict for item {lacking[0]} in order {order} ({len(lacking)} lack one)")
    return cells
