"""Trivial judges: the yardsticks that belong in every table."""

import hashlib
from collections.abc import Callable, Sequence

from judgekit.judges.base import SIDES, Judge, Request
from judgekit.records import LABELS, Reply, fingerprint_of


def _by_score(first: float, second: float) -> Reply:
    """The higher score wins, equal scores tie."""
    verdict = "tie" if first == second else ("first" if first > second else "second")
    return Reply(verdict, score_first=float(first), score_second=float(second))


def _coin(request: Request) -> Reply:
    """A fair coin, thrown once per content: the same request always gets the same verdict."""
    digest = hashlib.sha256(("coin" + request.content()).encode()).digest()
    return Reply("first" if digest[0] % 2 else "second", p_first=0.5, p_second=0.5, p_tie=0.0)


RULES: dict[str, Callable[[Request], Reply]] = {
    "longer": lambda request: _by_score(len(request.first), len(request.second)),  # characters
    "longer_words": lambda request: _by_score(len(request.first.split()), len(request.second.split())),
    "shorter": lambda request: _by_score(-len(request.first), -len(request.second)),
    "first": lambda request: Reply("first"),  # position bias at its purest
    "second": lambda request: Reply("second"),
    "random": _coin,
}


class RuleJudge(Judge):
    """A judge that replies to each request by a rule, one of `RULES`."""

    batch_size = 4096

    def __init__(self, rule: str) -> None:
        self._rule = RULES[rule]
        self.name = f"baseline/{rule}"
        self.fingerprint = fingerprint_of("rule", 1, rule)

    def judge(self, requests: Sequence[Request]) -> list[Reply]:
        """Apply the rule to each request."""
        return [self._rule(request) for request in requests]


class MajorityClass(RuleJudge):
    """The best constant verdict of a set, in the items' own A and B: a yardstick that is given the commonest label."""

    sees_item = True

    def __init__(self, label: str) -> None:
        if label not in LABELS:
            raise ValueError(f"majority class {label!r} is not one of {', '.join(LABELS)}")
        self._rule = lambda request: Reply(dict(zip("AB", SIDES[request.order], strict=True)).get(label, label))
        self.name = "baseline/majority_class"
        self.fingerprint = fingerprint_of("majority_class", 1, label)
