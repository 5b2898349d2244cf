"""Named protocols: which labels verdicts are scored against, and how the verdicts of a set become a score."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from pydantic import ConfigDict, ValidationError
from pydantic.dataclasses import dataclass

from judgekit.data.declared import DeclaredError, declared_sets
from judgekit.data.paths import HUB, OWN, known_names
from judgekit.records import LABELS, Pairs, PreferencePair, Verdict, majority_label


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Protocol:
    """How the verdicts of a set become a score; ValueError where a field is none of its values."""

    name: str  # quoted beside every score
    # What accuracy counts: the verdict in the given order, or in the exchanged one; right in both; the orders' mean; a
    # win where the orders' votes (right +1, opposite -1, tie 0) sum to more than zero; or the joined verdict.
    rule: Literal["forward", "swapped", "both_right", "mean_of_orders", "sum_of_orders", "joined"] = "forward"
    labels: tuple[str, ...] = LABELS  # macro averages are over exactly these
    unparsed: Literal["tie", "wrong", "dropped"] = "tie"  # a dropped item leaves the score, and ``coverage`` falls
    forced: bool = False  # whether the set allows no ties: a judge that ties all the same is read by `forced_verdict`
    votes: bool = False  # whether every single vote is an item (MT-bench) rather than the label
    # Where votes are no items: the set's label, the majority of the voters asked for, or `paper5_labels`.
    reference: Literal["label", "majority", "paper5"] = "label"
    turn: Literal[None, 1, 2] = None  # of the conversation that is scored (None for all)
    voters: Literal["all", "experts", "authors"] = "all"  # whose votes count (MT-bench)
    conflict: Literal["opposite", "any"] = "opposite"  # of two verdicts, which makes a tie of them (`joined_verdict`)
    # Whether items whose reference label is a tie, or with a tie on either side, leave the score.
    ties: Literal["kept", "reference_dropped", "dropped"] = "kept"
    # One order under a rule that reads both: taken (published verdicts may have been joined already), or an error.
    one_order: Literal["taken", "refused"] = "taken"

    @property
    def orders(self) -> tuple[str, ...]:
        """The orders that the rule reads."""
        return {"forward": ("ab",), "swapped": ("ba",)}.get(self.rule, ("ab", "ba"))

    @property
    def drops(self) -> bool:
        """Whether items can leave the score."""
        return self.unparsed == "dropped" or self.ties != "kept"


Verdicts: TypeAlias = Sequence[Verdict]
Rule: TypeAlias = Protocol | str | None  # as `protocol_of` reads it

TIE_IS_WRONG: dict[str, Any] = {"labels": ("A", "B"), "unparsed": "wrong"}
TWO_WAY = TIE_IS_WRONG | {"forced": True}
PRIMARY = {
    "pandalm": Protocol("single order, majority of three"),
    "autoj": Protocol("right in both orders", rule="both_right"),
    "mtbench": Protocol("single order, every vote an item", votes=True),
    "llmbar": Protocol("mean of both orders, no ties", rule="mean_of_orders", **TWO_WAY),
    "judgebench": Protocol("sum of both orders", rule="sum_of_orders", **TIE_IS_WRONG),
    "rm_bench": Protocol("mean of both orders, ties are wrong", rule="mean_of_orders", **TIE_IS_WRONG),
    "evalbiasbench": Protocol("mean of both orders, no ties", rule="mean_of_orders", **TWO_WAY),
    "chatbot_arena": Protocol("single order, no ties", **TWO_WAY),
    "pairs": Protocol("single order, labels of one's own", unparsed="wrong"),
    "sample_natural": Protocol("single order"),
    "sample_adversarial": Protocol("mean of both orders, no ties", rule="mean_of_orders", **TWO_WAY),
}
# What a variant of a set's primary protocol changes; the label set stays the set's own.
VARIANTS: dict[str, dict[str, Any]] = {
    "single_order": {"rule": "forward"},
    "swapped": {"rule": "swapped", "one_order": "refused"},
    "mean_of_orders": {"rule": "mean_of_orders", "one_order": "refused"},
    "both_right": {"rule": "both_right", "one_order": "refused"},
    "conflict_tie": {"rule": "joined", "conflict": "opposite", "one_order": "refused"},
    "conflict_strict": {"rule": "joined", "conflict": "any", "one_order": "refused"},
    "unparsed_tie": {"unparsed": "tie"},
    "unparsed_wrong": {"unparsed": "wrong"},
    "unparsed_dropped": {"unparsed": "dropped"},
}
# Paper [5]: one order; what cannot be parsed is a tie, and a tie on a set without ties is wrong.
SINGLE: dict[str, Any] = {"rule": "forward", "unparsed": "tie", "forced": False}
PAPER5 = {"pandalm": SINGLE | {"reference": "paper5"}, "autoj": {}, "mtbench": SINGLE, "llmbar": SINGLE}
# FastChat's agreement with people: experts only; the two orders joined, inconsistent ones as ties. Its published
# verdicts are joined already, hence "taken". S2 leaves out every comparison with a tie on either side.
S1: dict[str, Any] = {"votes": True, "voters": "experts", "rule": "joined", "conflict": "any", "unparsed": "dropped"}
S2 = S1 | {"ties": "dropped", "labels": ("A", "B")}
BY_TURN = {"experts": {"voters": "experts"}, "authors": {"voters": "authors"}, "s1": S1, "s2": S2}
MAJORITY = TWO_WAY | {"votes": False, "reference": "majority", "ties": "reference_dropped"}


def _named_protocols() -> dict[str, Protocol]:
    """Every protocol by name: a set's own name, then ``<set>_<variant>``."""
    variants = {family: dict(VARIANTS) for family in PRIMARY}
    for family, changes in PAPER5.items():
        variants[family]["paper5"] = changes
    of_votes = variants["mtbench"]
    for suffix, turn in {"": None, "_turn1": 1, "_turn2": 2}.items():
        if turn:
            of_votes[f"turn{turn}"] = {"turn": turn}
        of_votes |= {f"{name}{suffix}": {"turn": turn, **changes} for name, changes in BY_TURN.items()}
    of_votes["majority_nontie"] = {"rule": "mean_of_orders", "one_order": "refused", **MAJORITY}
    of_votes["majority_nontie_single"] = {"rule": "forward", **MAJORITY}
    protocols = dict(PRIMARY)
    for family, own in variants.items():
        for variant, changes in own.items():
            words = f"{variant.replace('_', ' ')} ({family})"
            protocols[f"{family}_{variant}"] = replace(PRIMARY[family], name=words, **changes)
    return protocols


PROTOCOLS = _named_protocols()


def _family_of(benchmark: str) -> str:
    """The set whose protocols a set shares; pairs of one's own have those of ``pairs``."""
    if benchmark in declared_sets():
        return "pairs"
    own = {"llmbar": "llmbar", "mtbench_all": "mtbench", "rm_bench": "rm_bench", OWN: "pairs", HUB: "pairs"}
    return next((family for start, family in own.items() if benchmark.startswith(start)), benchmark)


def protocol_of(benchmark: str, protocol: Rule = None) -> Protocol:
    """The protocol that is meant: a `Protocol`, a name, or None (``"primary"``) for the one that a set is quoted under.

    Of a declared set (``params/<run>/sets.yaml``) that is the protocol that stands there. A name is a key of
    `PROTOCOLS` (``"pandalm_swapped"``), or its part after the set's (``"swapped"``); KeyError lists the sets, or the
    names there are for the set.
    """
    family = _family_of(benchmark)
    if protocol in (None, "primary") and (one := declared_sets().get(benchmark)):
        given: Any = one.protocol
        try:  # a field that there is not, or a value that it has not
            protocol = given if isinstance(given, str) else Protocol(**{"name": "a rule of one's own", **given})
        except ValidationError as wrong:
            first = wrong.errors()[0]
            raise DeclaredError(f"protocol of the set {benchmark!r}: {first['loc'][0]}: {first['msg']}") from None
    if isinstance(protocol, Protocol):
        return protocol
    if protocol in (None, "primary"):
        if family not in PRIMARY:
            raise KeyError(f"no protocol for the set {benchmark!r}; there are {', '.join(PRIMARY)}")
        return PRIMARY[family]
    for name in (f"{family}_{protocol}", protocol):
        if name in PROTOCOLS:
            return PROTOCOLS[name]
    raise KeyError(f"no protocol {protocol!r} for {benchmark}; {known_names(protocol, protocols_for(benchmark))}")


def protocols_for(benchmark: str) -> dict[str, Protocol]:
    """The protocols of a set by short name, the primary one first as ``"primary"``."""
    prefix = f"{_family_of(benchmark)}_"
    variants = {name.removeprefix(prefix): one for name, one in PROTOCOLS.items() if name.startswith(prefix)}
    return {"primary": protocol_of(benchmark), **variants}


def references_of(pairs: Pairs, protocol: Protocol) -> dict[str, list[str]]:
    """Item id to the labels that it is scored against: one, one per vote where votes are items, none where left out."""
    wanted = [pair for pair in pairs if protocol.turn in (None, len(pair.turns) + 1) and pair.label_kind != "missing"]
    references: dict[str, list[str]] = {pair.item_id: [] for pair in pairs}
    if protocol.reference == "paper5":
        return references | {item_id: [label] for item_id, label in paper5_labels(wanted).items()}
    for pair in wanted:
        votes = chosen_votes(pair, protocol.voters)
        if protocol.votes:
            labels: list[str | None] = [*votes.values()]
        else:
            labels = [majority_label(votes) if protocol.reference == "majority" else pair.label]
        references[pair.item_id] = [label for label in labels if label is not None]
    return references


def chosen_votes(pair: PreferencePair, voters: str) -> dict[str, str]:
    """Votes of all, of the set's authors (whose names start with ``author``), or of the experts (all others)."""
    if voters == "all":
        return pair.votes
    return {who: label for who, label in pair.votes.items() if who.startswith("author") == (voters == "authors")}


def paper5_labels(pairs: Pairs, seed: int = 42) -> dict[str, str]:
    """Item id to PandaLM label as Huang et al. (2024), arXiv:2403.02839, made it, mistake included.

    Their code means the majority of three, but never asks whether first and third agree: where the second stands alone,
    an annotator is drawn at random (49 of 999 items, 11 labelled wrongly with the published seed), in the order of the
    numbers that items carry. ValueError where an item does not have three votes.
    """
    draw = random.Random(seed)
    labels = {}
    for pair in sorted(pairs, key=lambda pair: (len(pair.item_id), pair.item_id)):  # numbers as numbers
        if len(pair.votes) != 3:
            raise ValueError(f"{pair.where}: {len(pair.votes)} votes, where this rule needs three")
        first, second, third = votes = list(pair.votes.values())
        labels[pair.item_id] = second if second in (first, third) else draw.choice(votes)
    return labels


def majority_class(pairs: Pairs, protocol: Protocol) -> str:
    """The most frequent reference label of a set (for the yardstick of that name)."""
    labels = [label for labels in references_of(pairs, protocol).values() for label in labels]
    return max(LABELS, key=labels.count)


def forced_verdict(verdict: Verdict) -> str | None:
    """A verdict where no tie is allowed: by probability, then by score, then the response shown first."""
    if verdict.verdict != "tie":
        return verdict.verdict
    for a, b in ((verdict.p_a, verdict.p_b), (verdict.score_a, verdict.score_b)):
        if a is not None and b is not None and a != b:
            return "A" if a > b else "B"
    return "A" if verdict.order == "ab" else "B"


def read_verdict(verdict: Verdict, protocol: Protocol) -> str | None:
    """The label a verdict counts as under a protocol, or None for "wrong whatever the reference"."""
    if verdict.status != "ok":
        return "tie" if protocol.unparsed == "tie" else None
    return forced_verdict(verdict) if protocol.forced else verdict.verdict


def joined_verdict(ab: str | None, ba: str | None, conflict: str) -> str | None:
    """One verdict from those of the two orders, each in the item's own A and B.

    ``opposite`` is PandaLM's later rule: the same position chosen twice is a tie, otherwise the first verdict
    stands (A, then a tie, stays A). ``any`` is FastChat's: two verdicts that differ are a tie.
    """
    if conflict == "opposite":
        return "tie" if {ab, ba} == {"A", "B"} else ab
    if ab is None or ba is None:
        return None
    return ab if ab == ba else "tie"
