"""What a judge is: something that is shown pairs and replies, and says what its replies depend on."""

import hashlib
import json
from dataclasses import dataclass, replace
from itertools import chain
from typing import Protocol, runtime_checkable

from judgekit.records import ORDERS, PreferencePair, Reply, Verdict

SIDES = {"ab": ("first", "second"), "ba": ("second", "first")}  # where an order shows the item's A and B


@dataclass(frozen=True, slots=True)
class Request:
    """A pair as a judge sees it: positions instead of names."""

    question: str
    first: str
    second: str
    reference: str | None = None
    turns: tuple[tuple[str, str, str], ...] = ()  # question, first, second of earlier turns, oldest first
    order: str = "ab"  # which of the item's responses stands first; judges that read look at neither this nor the id
    item_id: str = ""

    @property
    def asked(self) -> str:
        """Every user turn so far, as one text (`PreferencePair.asked`)."""
        return "\n\n".join([*(turn[0] for turn in self.turns), self.question])

    def content(self) -> str:
        """All the text shown, as one JSON string: what a content key is computed from."""
        shown = [self.question, self.first, self.second, self.reference, [list(turn) for turn in self.turns]]
        return json.dumps(shown, ensure_ascii=True)

    def exchanged(self) -> "Request":
        """The request with the two responses in each other's position."""
        turns = tuple((question, second, first) for question, first, second in self.turns)
        return replace(self, first=self.second, second=self.first, turns=turns)

    def chat(self, side: str) -> list[dict[str, str]]:
        """The conversation with the ``first`` or the ``second`` response, as messages."""
        messages = []
        for question, *responses in (*self.turns, (self.question, self.first, self.second)):
            messages.append({"role": "user", "content": question})
            messages.append({"role": "assistant", "content": responses[side == "second"]})
        return messages

    def length(self) -> int:
        """Characters shown; batches are sorted by it."""
        shown = (self.question, self.first, self.second, self.reference or "")
        return sum(map(len, (*shown, *chain(*self.turns))))


@runtime_checkable
class Judge(Protocol):
    """The protocol every judge follows; one that inherits it has the defaults, too.

    A judge may also have ``judge_stream(requests, wanted)``, which yields replies as they are finished: dictionaries
    from the position of a request to its reply, every wanted position once (all are where it is None). Requests that
    are not wanted have a reply already, and are there for batches to be the same as without it.
    `judgekit.scoring.run_judge` then stores each reply at once.
    """

    name: str  # ``provider/model``
    fingerprint: str  # hash over everything its replies depend on: weights, settings, version of the code that matters
    decoding: str = "{}"  # decoding configuration as JSON; this one where there is nothing to decode
    batch_size: int  # how many requests one call should hold; replies of a call become durable together
    sees_item: bool = False  # True where replies depend on the item and its order: they are keyed by both

    def judge(self, requests: list[Request]) -> list[Reply]:
        """Reply to each request, in order. A request that fails gets a reply with status ``error``."""


def request_of(pair: PreferencePair, order: str) -> Request:
    """The request that shows a pair in one order."""
    if order not in ORDERS:
        raise ValueError(f"order {order!r} is not 'ab' or 'ba'")
    turns = tuple((turn.question, turn.response_a, turn.response_b) for turn in pair.turns)
    given = Request(pair.question, pair.response_a, pair.response_b, pair.reference, turns, order, pair.item_id)
    return given if order == "ab" else given.exchanged()


def request_key(judge: Judge, request: Request) -> str:
    """Content key of a request for a judge: SHA-256 of everything shown."""
    text = request.content() + (f"{request.item_id}:{request.order}" if judge.sees_item else "")
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def verdict_of(pair: PreferencePair, order: str, judge_name: str, reply: Reply) -> Verdict:
    """A reply in the item's own A and B."""
    sides = SIDES[order]
    verdict = dict(zip(sides, "AB", strict=True)).get(reply.verdict or "", reply.verdict)
    p_a, p_b, score_a, score_b = (getattr(reply, f"{kind}_{side}") for kind in ("p", "score") for side in sides)
    same = ("prompt_version", "tokens_in", "tokens_out", "seconds", "truncated", "calls")
    given = (verdict, p_a, p_b, reply.p_tie, score_a, score_b, reply.status, reply.raw)
    return Verdict(pair.item_id, judge_name, order, *given, **{name: getattr(reply, name) for name in same})


def reply_again(verdict: Verdict) -> Reply:
    """A stored verdict as the reply that it was made from: the reverse of `verdict_of`."""
    sides = SIDES[verdict.order]
    p = dict(zip(sides, (verdict.p_a, verdict.p_b), strict=True))
    shown = dict(zip("AB", sides, strict=True)).get(verdict.verdict or "", verdict.verdict)
    return Reply(shown, p["first"], p["second"], verdict.p_tie, status=verdict.status, raw=verdict.raw)
