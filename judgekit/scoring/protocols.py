"""Named protocols: how the verdicts of a set become a score."""

from dataclasses import dataclass, replace

from judgekit.records import LABELS, Verdict
from judgekit.scoring.gold import references_of

CHOICES = {
    "rule": ("forward", "swapped", "both_right", "mean_of_orders", "sum_of_orders", "joined"),
    "unparsed": ("tie", "wrong", "dropped"),
    "gold": ("label", "majority", "paper5"),
    "turn": (None, 1, 2),
    "voters": ("all", "experts", "authors"),
    "conflict": ("opposite", "any"),
    "ties": ("kept", "reference_dropped", "dropped"),
    "one_order": ("taken", "refused"),
}


@dataclass(frozen=True, slots=True)
class Protocol:
    """How the verdicts of a set become a score.

    Attributes
    ----------
    name : str
        Quoted beside every score.
    rule : {"forward", "swapped", "both_right", "mean_of_orders", "sum_of_orders", "joined"}
        What accuracy counts: the verdict in the given order; in the exchanged order; right in both orders; the mean
        of the two orders' accuracies; a win where the two orders' votes (right +1, opposite -1, tie 0) sum to more
        than zero; or the one verdict that the two orders are joined into.
    labels : tuple of str
        The label set; macro averages are over exactly these.
    unparsed : {"tie", "wrong", "dropped"}
        What a missing verdict counts as. A dropped item leaves the score, and ``coverage`` falls.
    forced : bool
        Whether the set allows no ties. A judge that ties all the same is read by its probabilities or scores; if
        those are equal too, as the response shown first, which is half credit over the two orders.
    votes : bool
        Whether every single vote is an item (MT-bench) rather than the label.
    gold : {"label", "majority", "paper5"}
        Where votes are no items: the set's label, the majority of the voters asked for, or PandaLM's labels as
        paper [5] made them (`judgekit.scoring.gold.paper5_labels`).
    turn : {None, 1, 2}
        The turn of the conversation that is scored; None for all.
    voters : {"all", "experts", "authors"}
        Whose votes count (MT-bench).
    conflict : {"opposite", "any"}
        Under the rule ``joined``, what makes a tie of two verdicts: that they are opposite, which is the same
        position chosen twice (otherwise the first is kept); or any difference.
    ties : {"kept", "reference_dropped", "dropped"}
        Whether items whose reference label is a tie, or with a tie on either side, leave the score.
    one_order : {"taken", "refused"}
        What happens to a judge that was shown one order only under a rule that reads both: its verdicts are taken
        as they are (published ones may have been joined already), or it is an error.
    """

    name: str
    rule: str = "forward"
    labels: tuple[str, ...] = LABELS
    unparsed: str = "tie"
    forced: bool = False
    votes: bool = False
    gold: str = "label"
    turn: int | None = None
    voters: str = "all"
    conflict: str = "opposite"
    ties: str = "kept"
    one_order: str = "taken"

    def __post_init__(self):
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{self.name}: {name} {getattr(self, name)!r} is not one of {choices}")

    @property
    def orders(self):
        """The orders that the rule reads."""
        return {"forward": ("ab",), "swapped": ("ba",)}.get(self.rule, ("ab", "ba"))

    @property
    def drops(self):
        """Whether items can leave the score."""
        return self.unparsed == "dropped" or self.ties != "kept"


TWO_WAY = {"labels": ("A", "B"), "unparsed": "wrong", "forced": True}
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
    "sample_natural": Protocol("single order"),
    "sample_adversarial": Protocol("mean of both orders, no ties", rule="mean_of_orders", **TWO_WAY),
}
# What a variant of a set's primary protocol changes; the label set stays the set's own.
VARIANTS = {
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
SINGLE = {"rule": "forward", "unparsed": "tie", "forced": False}
PAPER5 = {"pandalm": SINGLE | {"gold": "paper5"}, "autoj": {}, "mtbench": SINGLE, "llmbar": SINGLE}
TURNS = {"": None, "_turn1": 1, "_turn2": 2}
# FastChat's agreement with people: experts only; the two orders joined, inconsistent ones as ties. Its published
# verdicts are joined already, hence "taken". S2 leaves out every comparison with a tie on either side.
S1 = {"votes": True, "voters": "experts", "rule": "joined", "conflict": "any", "unparsed": "dropped"}
S2 = S1 | {"ties": "dropped", "labels": ("A", "B")}


def named_protocols():
    """Every protocol by name: a set's own name, then ``<set>_<variant>``."""
    found = dict(PRIMARY)

    def add(family, variant, **changes):
        words = variant.replace("_", " ")
        found[f"{family}_{variant}"] = replace(PRIMARY[family], name=f"{words} ({family})", **changes)

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
    return found


PROTOCOLS = named_protocols()


def family_of(benchmark):
    """The set whose protocols a set shares: LLMBar's subsets have one."""
    return "llmbar" if benchmark.startswith("llmbar") else benchmark


def primary_protocol(benchmark):
    """The protocol a set is quoted under; LLMBar's subsets share one.

    Raises
    ------
    KeyError
        If the set is unknown.
    """
    family = family_of(benchmark)
    if family not in PRIMARY:
        raise KeyError(f"no protocol for the set {benchmark!r}; there are {', '.join(PRIMARY)}")
    return PRIMARY[family]


def protocol_of(benchmark, protocol=None):
    """The protocol that is meant: None for the set's primary one, a `Protocol`, or a name.

    Parameters
    ----------
    benchmark : str
    protocol : Protocol or str, optional
        A name is a key of `PROTOCOLS` (``"pandalm_swapped"``), or its part after the set's (``"swapped"``).

    Raises
    ------
    KeyError
        If there is no such name; the message lists those there are for the set.
    """
    if protocol is None:
        return primary_protocol(benchmark)
    if isinstance(protocol, Protocol):
        return protocol
    for name in (f"{family_of(benchmark)}_{protocol}", protocol):
        if name in PROTOCOLS:
            return PROTOCOLS[name]
    raise KeyError(f"no protocol {protocol!r} for {benchmark}; there are {', '.join(protocols_for(benchmark))}")


def protocols_for(benchmark):
    """The protocols of a set by short name, the primary one first as ``"primary"``."""
    prefix = f"{family_of(benchmark)}_"
    variants = {name.removeprefix(prefix): one for name, one in PROTOCOLS.items() if name.startswith(prefix)}
    return {"primary": primary_protocol(benchmark), **variants}


def forced_verdict(verdict: Verdict):
    """A verdict where no tie is allowed: by probability, then by score, then the response shown first."""
    if verdict.verdict != "tie":
        return verdict.verdict
    for a, b in ((verdict.p_a, verdict.p_b), (verdict.score_a, verdict.score_b)):
        if a is not None and b is not None and a != b:
            return "A" if a > b else "B"
    return "A" if verdict.order == "ab" else "B"


def read_verdict(verdict: Verdict | None, protocol: Protocol):
    """The label a verdict counts as under a protocol, or None for "wrong whatever the reference"."""
    if verdict is None or verdict.status != "ok":
        return "tie" if protocol.unparsed == "tie" else None
    return forced_verdict(verdict) if protocol.forced else verdict.verdict


def joined_verdict(ab, ba, conflict):
    """One verdict from those of the two orders.

    Parameters
    ----------
    ab, ba : {"A", "B", "tie"} or None
        In the item's own A and B.
    conflict : {"opposite", "any"}
        See `Protocol`.

    Notes
    -----
    ``opposite`` is PandaLM's later rule: the same position chosen twice is a tie, otherwise the first verdict
    stands (A, then a tie, stays A). ``any`` is FastChat's: two verdicts that differ are a tie.

    Examples
    --------
    >>> joined_verdict("A", "tie", "opposite"), joined_verdict("A", "tie", "any"), joined_verdict("A", "B", "any")
    ('A', 'tie', 'tie')
    """
    if conflict == "opposite":
        return "tie" if {ab, ba} == {"A", "B"} else ab
    if ab is None or ba is None:
        return None
    return ab if ab == ba else "tie"


def majority_class(pairs, protocol):
    """The most frequent reference label of a set (for the yardstick of that name)."""
    labels = [label for labels in references_of(pairs, protocol).values() for label in labels]
    return max(LABELS, key=labels.count)
