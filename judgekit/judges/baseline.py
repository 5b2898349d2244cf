"""Trivial judges: the yardsticks that belong in every table."""

import hashlib

from judgekit.fingerprints import fingerprint_of
from judgekit.judges.base import Request
from judgekit.records import LABELS
from judgekit.store import Reply


def reply_by_score(first, second):
    """The higher score wins, equal scores tie."""
    verdict = "tie" if first == second else ("first" if first > second else "second")
    return Reply(verdict, score_first=float(first), score_second=float(second))


def longer(request: Request):
    """The response with more characters; equal is a tie."""
    return reply_by_score(len(request.first), len(request.second))


def shorter(request: Request):
    """The response with fewer characters; equal is a tie."""
    return reply_by_score(-len(request.first), -len(request.second))


def always_first(request: Request):
    """The response shown first: position bias at its purest."""
    return Reply("first")


def always_second(request: Request):
    """The response shown second."""
    return Reply("second")


def coin(request: Request):
    """A fair coin, thrown once per content: the same request always gets the same verdict."""
    digest = hashlib.sha256(("coin" + request.content()).encode()).digest()
    return Reply("first" if digest[0] % 2 else "second", p_first=0.5, p_second=0.5, p_tie=0.0)


RULES = {"longer": longer, "shorter": shorter, "first": always_first, "second": always_second, "random": coin}


class RuleJudge:
    """A judge that applies one rule of `RULES` to what it is shown.

    Parameters
    ----------
    rule : str
        A key of `RULES`.
    """

    decoding = "{}"
    batch_size = 4096
    sees_item = False

    def __init__(self, rule):
        self.rule = RULES[rule]
        self.name = f"baseline/{rule}"
        self.fingerprint = fingerprint_of("rule", 1, rule)

    def judge(self, requests):
        """Apply the rule to each request."""
        return [self.rule(request) for request in requests]


class MajorityClass:
    """The best constant verdict of a set, in the items' own order.

    A yardstick, not a judge: it is told the label that is most frequent in the set it is scored on, and which response
    is the item's A.

    Parameters
    ----------
    label : {"A", "B", "tie"}
    """

    decoding = "{}"
    batch_size = 4096
    sees_item = True

    def __init__(self, label):
        if label not in LABELS:
            raise ValueError(f"majority class {label!r} is not one of {', '.join(LABELS)}")
        self.label = label
        self.name = "baseline/majority_class"
        self.fingerprint = fingerprint_of("majority_class", 1, label)

    def judge(self, requests):
        """The same verdict for every item, whatever the order shown."""
        return [Reply(self.position(request.order)) for request in requests]

    def position(self, order):
        """Where the constant label's response stands."""
        if self.label == "tie":
            return "tie"
        return "first" if (self.label == "A") == (order == "ab") else "second"
