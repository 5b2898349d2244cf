"""Named protocols: which labels verdicts are scored against, and how the verdicts of a set become a score."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic.dataclasses import dataclass

from judgekit.records import LABELS, PreferencePair, Verdict, label_of_gap, majority_label


@dataclass(frozen=True, slots=True)
class Protocol:
    """How the verdicts of a set become a score; ValueError where a field is none of its values."""

    name: str  # quoted beside every score
    # What accuracy counts: the verdict in the given order, or in the exchanged one; right in both; the mean of the two
    # orders' accuracies; a win where the two orders' votes (right +1, opposite -1, tie 0) sum to more than zero; or the
    # one verdict that the two orders are joined into.
    rule: Literal["forward", "swapped", "both_right", "mean_of_orders", "sum_of_orders", "joined"] = "forward"
    labels: tuple[str, ...] = LABELS  # macro averages are over exactly these
    unparsed: Literal["tie", "wrong", "dropped"] = "tie"  # a dropped item leaves the score, and ``coverage`` falls
    # Whether the set allows no ties: a judge that ties all the same is read by its probabilities or scores; if those
    # are equal too, as the response shown first, which is half credit over the two orders.
    forced: bool = False
    votes: bool = False  # whether every single vote is an item (MT-bench) rather than the label
    # Where votes are no items: the set's label, the majority of the voters asked for, or PandaLM's as paper [5] made
    # them (`paper5_labels`).
    gold: Literal["label", "majority", "paper5"] = "label"
    turn: Literal[None, 1, 2] = None  # of the conversation that is scored (None for all)
    voters: Literal["all", "experts", "authors"] = "all"  # whose votes count (MT-bench)
    # Under the rule ``joined``, what makes a tie of two verdicts: that they are opposite, which is the same position
    # chosen twice (otherwise the first is kept); or any difference.
    conflict: Literal["opposite", "any"] = "opposite"
    # Whether items whose reference label is a tie, or with a tie on either side, leave the score.
    ties: Literal["kept", "reference_dropped", "dropped"] = "kept"
    # What happens to a judge that was shown one order only under a rule that reads both: its verdicts are taken as they
    # are (published ones may have been joined already), or it is an error.
    one_order: Literal["taken", "refused"] = "taken"

    @property
    def orders(self) -> tuple[str, ...]:
        """The orders that the rule reads."""
        return {"forward": ("ab",), "swapped": ("ba",)}.get(self.rule, ("ab", "ba"))

    @property
    def drops(self) -> bool:
        """Whether items can leave the score."""
        return self.unparsed == "dropped" or self.ties != "kept"


TWO_WAY: dict[str, Any] = {"labels": ("A", "B"), "unparsed": "wrong", "forced": True}
PRIMARY = {
    "pandalm": Protocol("single order, majority of three"),
    "autoj": Protocol("right in both orders", rule="both_right"),
    "mtbench": Protocol("single order, every vote an item", votes=True),
    "llmbar": Protocol("mean of both orders, no ties", rule="mean_of_orders", **TWO_WAY),
    "judgebench": Protocol("sum of both orders", rule="sum_of_orders", labels=("A", "B"), unparsed="wrong"),
    "rm_bench": Protocol(
        "mean of both orders, ties are wrong", rule="mean_of_orders", labels=("A", "B"), unparsed="wrong"
    ),
    "evalbiasbench": Protocol("mean of both orders, no ties", rule="mean_of_orders", **TWO_WAY),
    "chatbot_arena": Protocol("single order, no ties", **TWO_WAY),
    "pairs": Protocol("single order, labels of one's own"),
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
PAPER5: dict[str, dict[str, Any]] = {
    "pandalm": SINGLE | {"gold": "paper5"},
    "autoj": {},
    "mtbench": SINGLE,
    "llmbar": SINGLE,
}
TURNS: dict[str, int | None] = {"": None, "_turn1": 1, "_turn2": 2}
# FastChat's agreement with people: experts only; the two orders joined, inconsistent ones as ties. Its published
# verdicts are joined already, hence "taken". S2 leaves out every comparison with a tie on either side.
S1: dict[str, Any] = {"votes": True, "voters": "experts", "rule": "joined", "conflict": "any", "unparsed": "dropped"}
S2 = S1 | {"ties": "dropped", "labels": ("A", "B")}


def _named_protocols() -> dict[str, Protocol]:
    """Every protocol by name: a set's own name, then ``<set>_<variant>``."""
    protocols = dict(PRIMARY)

    def add(family: str, variant: str, **changes: Any) -> None:
        words = variant.replace("_", " ")
        protocols[f"{family}_{variant}"] = replace(PRIMARY[family], name=f"{words} ({family})", **changes)

    for family in PRIMARY:
        for variant, changes in VARIANTS.items():
            add(family, variant, **changes)
    for family, changes in PAPER5.items():
        add(family, "paper5", **changes)
    for suffix, turn in TURNS.items():
        if turn:
            add("mtbench", f"turn{turn}", turn=turn)
        for voters in ("experts", "authors"):
            add("mtbench", f"{voters}{suffix}", turn=turn, voters=voters)
        add("mtbench", f"s1{suffix}", turn=turn, **S1)
        add("mtbench", f"s2{suffix}", turn=turn, **S2)
    decided = TWO_WAY | {"votes": False, "gold": "majority", "ties": "reference_dropped"}
    add("mtbench", "majority_nontie", rule="mean_of_orders", one_order="refused", **decided)
    add("mtbench", "majority_nontie_single", rule="forward", **decided)
    return protocols


PROTOCOLS = _named_protocols()


def _family_of(benchmark: str) -> str:
    """The set whose protocols a set shares: LLMBar's subsets have one."""
    return "llmbar" if benchmark.startswith("llmbar") else benchmark


def primary_protocol(benchmark: str) -> Protocol:
    """The protocol a set is quoted under; KeyError where the set is unknown."""
    family = _family_of(benchmark)
    if family not in PRIMARY:
        raise KeyError(f"no protocol for the set {benchmark!r}; there are {', '.join(PRIMARY)}")
    return PRIMARY[family]


def protocol_of(benchmark: str, protocol: Protocol | str | None = None) -> Protocol:
    """The protocol that is meant: None for the set's primary one, a `Protocol`, or a name.

    A name is a key of `PROTOCOLS` (``"pandalm_swapped"``), or its part after the set's (``"swapped"``); the KeyError of
    an unknown one lists those there are for the set.
    """
    if protocol is None:
        return primary_protocol(benchmark)
    if isinstance(protocol, Protocol):
        return protocol
    for name in (f"{_family_of(benchmark)}_{protocol}", protocol):
        if name in PROTOCOLS:
            return PROTOCOLS[name]
    raise KeyError(f"no protocol {protocol!r} for {benchmark}; there are {', '.join(protocols_for(benchmark))}")


def protocols_for(benchmark: str) -> dict[str, Protocol]:
    """The protocols of a set by short name, the primary one first as ``"primary"``."""
    prefix = f"{_family_of(benchmark)}_"
    variants = {name.removeprefix(prefix): one for name, one in PROTOCOLS.items() if name.startswith(prefix)}
    return {"primary": primary_protocol(benchmark), **variants}


# ---------------------------------------------------------------- reference labels


def references_of(pairs: Sequence[PreferencePair], protocol: Protocol) -> dict[str, list[str]]:
    """Item id to the labels that it is scored against: one, or one per vote where votes are items.

    Empty for an item that the protocol leaves out (another turn, no label, no vote of the people asked for, a response
    that the source lacks).
    """
    wanted = [pair for pair in pairs if protocol.turn in (None, len(pair.turns) + 1) and pair.label_kind != "missing"]
    references: dict[str, list[str]] = {pair.item_id: [] for pair in pairs}
    if protocol.gold == "paper5":
        return references | {item_id: [label] for item_id, label in paper5_labels(wanted).items()}
    for pair in wanted:
        votes = chosen_votes(pair, protocol.voters)
        if protocol.votes:
            labels: list[str | None] = [*votes.values()]
        else:
            labels = [majority_label(votes) if protocol.gold == "majority" else pair.label]
        references[pair.item_id] = [label for label in labels if label is not None]
    return references


def chosen_votes(pair: PreferencePair, voters: str) -> dict[str, str]:
    """Votes of everybody, of the experts, or of the set's authors (whose names start with ``author``)."""
    if voters == "all":
        return pair.votes
    return {who: label for who, label in pair.votes.items() if who.startswith("author") == (voters == "authors")}


def paper5_labels(pairs: Sequence[PreferencePair], seed: int = 42) -> dict[str, str]:
    """Item id to PandaLM label as Huang et al. (2024), arXiv:2403.02839, made it, mistake included.

    Their code means to take the majority of three annotators. It asks twice whether the first two agree and never
    whether the first and the third do, so an item on which the second stands alone gets the label of an annotator
    drawn at random: 49 of 999 items, 11 of them labelled wrongly with the published seed. Draws are made in the order
    of the numbers that items carry. ValueError where an item does not have three votes.
    """
    draw = random.Random(seed)
    labels = {}
    for pair in sorted(pairs, key=lambda pair: (len(pair.item_id), pair.item_id)):  # numbers as numbers
        if len(pair.votes) != 3:
            raise ValueError(f"{pair.where}: {len(pair.votes)} votes, where this rule needs three")
        first, second, third = votes = list(pair.votes.values())
        labels[pair.item_id] = second if second in (first, third) else draw.choice(votes)
    return labels


def majority_class(pairs: Sequence[PreferencePair], protocol: Protocol) -> str:
    """The most frequent reference label of a set (for the yardstick of that name)."""
    labels = [label for labels in references_of(pairs, protocol).values() for label in labels]
    return max(LABELS, key=labels.count)


# ---------------------------------------------------------------- reading verdicts


def forced_verdict(verdict: Verdict) -> str | None:
    """A verdict where no tie is allowed: by probability, then by score, then the response shown first."""
    if verdict.verdict != "tie":
        return verdict.verdict
    for a, b in ((verdict.p_a, verdict.p_b), (verdict.score_a, verdict.score_b)):
        if a is not None and b is not None and a != b:
            return "A" if a > b else "B"
    return "A" if verdict.order == "ab" else "B"


def read_verdict(verdict: Verdict | None, protocol: Protocol) -> str | None:
    """The label a verdict counts as under a protocol, or None for "wrong whatever the reference"."""
    if verdict is None or verdict.status != "ok":
        return "tie" if protocol.unparsed == "tie" else None
    return forced_verdict(verdict) if protocol.forced else verdict.verdict


def verdicts_from_scores(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Verdicts that follow from the scores of the two responses, without probabilities; equal scores are a tie.

    A verdict without both scores is ``unparsed``; a failed one stays as it is.
    """
    return [verdict if verdict.status == "error" else _by_scores(verdict) for verdict in verdicts]


def _by_scores(verdict: Verdict) -> Verdict:
    a, b = verdict.score_a, verdict.score_b
    label = None if a is None or b is None else label_of_gap(a - b)
    return replace(verdict, verdict=label, p_a=None, p_b=None, p_tie=None, status="ok" if label else "unparsed")


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
