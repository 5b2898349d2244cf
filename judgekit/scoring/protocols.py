"""Named protocols: how the verdicts of a set become a score."""

from dataclasses import dataclass

from judgekit.records import LABELS, Verdict


@dataclass(frozen=True, slots=True)
class Protocol:
    """How the verdicts of a set become a score.

    Attributes
    ----------
    name : str
        Quoted beside every score.
    rule : {"forward", "both_right", "mean_of_orders", "sum_of_orders"}
        What accuracy counts: the verdict in the given order; right in both orders; the mean of the two orders'
        accuracies; or a win where the two orders' votes (right +1, opposite -1, tie 0) sum to more than zero.
    labels : tuple of str
        The label set; macro averages are over exactly these.
    unparsed : {"tie", "wrong"}
        What a missing verdict counts as.
    forced : bool
        Whether the set allows no ties. A judge that ties all the same is read by its probabilities or scores; if
        those are equal too, as the response shown first, which is half credit over the two orders.
    votes : bool
        Whether every single vote is an item (MT-bench) rather than the label.
    """

    name: str
    rule: str = "forward"
    labels: tuple[str, ...] = LABELS
    unparsed: str = "tie"
    forced: bool = False
    votes: bool = False


TWO_WAY = {"labels": ("A", "B"), "unparsed": "wrong", "forced": True}
PROTOCOLS = {
    "pandalm": Protocol("single order, majority of three"),
    "autoj": Protocol("right in both orders", rule="both_right"),
    "mtbench": Protocol("single order, every vote an item", votes=True),
    "llmbar": Protocol("mean of both orders, no ties", rule="mean_of_orders", **TWO_WAY),
    "judgebench": Protocol("sum of both orders", rule="sum_of_orders", labels=("A", "B"), unparsed="wrong"),
    "sample_natural": Protocol("single order"),
    "sample_adversarial": Protocol("mean of both orders, no ties", rule="mean_of_orders", **TWO_WAY),
}


def primary_protocol(benchmark):
    """The protocol a set is quoted under; LLMBar's subsets share one.

    Raises
    ------
    KeyError
        If the set is unknown.
    """
    family = "llmbar" if benchmark.startswith("llmbar") else benchmark
    if family not in PROTOCOLS:
        raise KeyError(f"no protocol for the set {benchmark!r}; there are {', '.join(PROTOCOLS)}")
    return PROTOCOLS[family]


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


def majority_class(pairs, protocol):
    """The most frequent reference label of a set (for the yardstick of that name)."""
    labels = [
        label for p in pairs for label in (p.votes.values() if protocol.votes else [p.label]) if label is not None
    ]
    return max(LABELS, key=labels.count)
