"""Several judges' verdicts on the same pairs, joined by item and order, with a check that nothing can go around."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from judgekit.data.benchmarks.outputs import published_verdicts
from judgekit.data.catalogue import load_set, set_hashes
from judgekit.data.paths import verdict_store_path
from judgekit.judges import load_judge
from judgekit.judges.names import unique_slugs
from judgekit.judges.replay import replay_hashes
from judgekit.records import LABELS, ORDERS, PreferencePair, Verdict, unique_items
from judgekit.scoring import hold_contest, protocol_of, restricted
from judgekit.scoring.items import credits_of, item_table
from judgekit.scoring.metrics import NO_VERDICT, label_codes
from judgekit.scoring.protocols import read_verdict, references_of
from judgekit.scoring.scores import N_BOOT, decided_probabilities
from judgekit.scoring.store import VerdictStore
from judgekit.stats import Array, Floats, Number, interval, share_of


@dataclass(frozen=True)
class Panel:
    """Judges who all judged the same pairs, matched by item and order: checked when made, and not to be changed.

    ValueError where there is no member, a member lacks an item, has one that is not among the pairs or one twice, saw
    the exchanged order of some items only, or failed on an item; where lists of two judges were mixed; or where items
    can leave the score under the protocol, for members would then be scored on different items.
    """

    benchmark: str  # the set whose protocols apply
    pairs: Sequence[PreferencePair]
    # By member (slug), given in any sequence, kept in that of the pairs and in the orders that every member has.
    verdicts: dict[str, list[Verdict]]
    protocol: Any = None  # a `Protocol`, by default the set's primary one; a name is looked up

    def __post_init__(self) -> None:
        protocol = protocol_of(self.benchmark, self.protocol)
        pairs = tuple(unique_items(self.pairs))
        if not pairs or not self.verdicts:
            raise ValueError(f"{self.benchmark}: {len(pairs)} pairs and {len(self.verdicts)} members make no panel")
        if protocol.drops:
            raise ValueError(f"{self.benchmark}: '{protocol.name}' drops items, for each member others")
        by_cell = {member: _cells_of(member, given, pairs) for member, given in self.verdicts.items()}
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
        given = next(iter(self.verdicts.values()))
        return tuple(dict.fromkeys(verdict.order for verdict in given))

    def seated(self, members: Sequence[str]) -> "Panel":
        """The panel of some of the members."""
        if unknown := [member for member in members if member not in self.verdicts]:
            raise ValueError(f"{self.benchmark}: {unknown[0]} is no member; there are {', '.join(self.verdicts)}")
        return replace(self, verdicts={member: self.verdicts[member] for member in members})

    def joined_by(self, member: str, verdicts: list[Verdict]) -> "Panel":
        """The panel with one more member, a jury for example."""
        if member in self.verdicts:
            raise ValueError(f"{self.benchmark}: {member} is a member already")
        return replace(self, verdicts=self.verdicts | {member: verdicts})

    def on(self, chosen: Array) -> "Panel":
        """The panel on some of its items (array of bool, shape (n_items,))."""
        pairs = [pair for pair, taken in zip(self.pairs, chosen, strict=True) if taken]
        kept = {pair.item_id for pair in pairs}
        verdicts = {member: [v for v in given if v.item_id in kept] for member, given in self.verdicts.items()}
        return replace(self, pairs=tuple(pairs), verdicts=verdicts)

    @cached_property
    def votes(self) -> dict[str, Floats]:
        """Order to votes, shape (n_items, n_members, 3): one at the label given, zeros for a reply without a verdict.

        A reply that cannot be read is an abstention here whatever the protocol makes of it.
        """
        return {order: np.stack([self._votes(m, order) for m in self.members], 1) for order in self.orders}

    def _votes(self, member: str, order: str) -> Floats:
        given = [verdict for verdict in self.verdicts[member] if verdict.order == order]
        read = [read_verdict(v, self.protocol) if v.status == "ok" else None for v in given]
        return np.eye(NO_VERDICT + 1)[label_codes(read)][:, : len(LABELS)]

    @cached_property
    def beliefs(self) -> dict[str, Floats]:
        """Order to probabilities, shape (n_items, n_members, 3).

        A member without probabilities is taken to be certain of its verdict; one without a verdict has zeros. Where
        the protocol allows no tie, the mass of ties is split in the proportion of the other two.
        """
        return {order: np.stack([self._beliefs(m, order) for m in self.members], 1) for order in self.orders}

    def _beliefs(self, member: str, order: str) -> Floats:
        beliefs, given = self._votes(member, order), [v for v in self.verdicts[member] if v.order == order]
        sure = np.array([verdict.status != "ok" or verdict.p_a is None for verdict in given])
        if not sure.all():
            stated = np.array([[v.p_a, v.p_b, v.p_tie] for v, none in zip(given, sure, strict=True) if not none], float)
            if self.protocol.forced:
                stated = np.column_stack([decided_probabilities(stated), np.zeros(len(stated))])
            beliefs[~sure] = stated
        return beliefs

    def states_probabilities(self, member: str) -> bool:
        """Whether a member gives probabilities with every verdict."""
        return all(v.p_a is not None for v in self.verdicts[member] if v.status == "ok")

    @cached_property
    def prompts(self) -> list[str]:
        """The prompt of every item: ``set/cluster``."""
        return [f"{pair.benchmark}/{pair.cluster}" for pair in self.pairs]

    @cached_property
    def references(self) -> tuple[Array, Array]:
        """Reference labels of every scored item or vote: positions of the items and label codes, shape (n_rows,)."""
        labels = references_of(self.pairs, self.protocol)
        rows = [(item, label) for item, pair in enumerate(self.pairs) for label in labels[pair.item_id]]
        return np.array([item for item, _ in rows], int), label_codes(label for _, label in rows)

    def credits_of(self, verdicts: Sequence[Verdict]) -> Floats:
        """What verdicts on all of the panel's pairs earn under its protocol, shape (n_rows,)."""
        table = item_table(verdicts, self.pairs, self.protocol)
        if table.empty:
            raise ValueError(f"{self.benchmark}: no item has a reference label")
        return credits_of(table, self.protocol)

    @cached_property
    def credits(self) -> Floats:
        """What every member earns, shape (n_rows, n_members)."""
        return np.stack([self.credits_of(given) for given in self.verdicts.values()], 1)

    @cached_property
    def clusters(self) -> list[str]:
        """The prompt of every row of `credits`."""
        return [self.pairs[item].cluster for item in self.references[0]]

    def accuracy(self, verdicts: Sequence[Verdict], n_boot: int = N_BOOT, seed: int = 0) -> Number:
        """The panel's primary figure for verdicts on its pairs, as `judgekit.scoring.score` gives it."""
        return interval(share_of, self.clusters, self.credits_of(verdicts), spec=".1%", n_boot=n_boot, seed=seed)


def _cells_of(
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


def have_judged(
    asked: Mapping[str, Iterable[str]],
    run: str,
    slugs: Mapping[str, str] | None = None,
    parts: Mapping[str, Sequence[str]] | None = None,
    like: Panel | None = None,
) -> tuple[dict[str, Panel], dict[str, str]]:
    """A panel for each set, of all judges that are asked about it; and the slug of each judge.

    ``asked``: set, or part of one, to names of judges; what the store of all runs holds is not asked again. ``parts``:
    a part to its set, and the replay judges that have verdicts on just that part. ``like``: labels of pairs that are no
    test are read as this panel's protocol reads single labels, to learn weights from.
    """
    judges = {judge: load_judge(judge, run=run) for chosen in asked.values() for judge in chosen}
    names, panels = unique_slugs(judges, slugs), {}
    protocol = like and replace(like.protocol, votes=False, gold="label")
    with VerdictStore(verdict_store_path()) as store:
        for name, chosen in asked.items():
            whole, *covering = (parts or {}).get(name, [name])
            here = [judges[judge] for judge in dict.fromkeys(chosen) if judge.removeprefix("replay/") not in covering]
            contest = hold_contest(whole, load_set(whole), here, names, store)
            if covering:
                stored = {names[f"replay/{model}"]: published_verdicts(model) for model in covering}
                contest = restricted(contest, name, stored)
            panels[name] = Panel(contest.benchmark, contest.pairs, contest.verdicts, protocol)
    return panels, names


def hashes_of(sets: Iterable[str], judges: Iterable[str]) -> dict[str, str]:
    """File name to SHA-256 for the sets, and for what replay judges among ``judges`` are read from."""
    hashes = set_hashes(dict.fromkeys(sets))
    for judge in judges:
        hashes |= replay_hashes(judge) if judge.startswith("replay/") else {}
    return hashes
