"""What a judge is: something that is shown pairs and replies, and says what its replies depend on."""

import hashlib
import json
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from judgekit.records import ORDERS, PreferencePair, Reply, Verdict

POSITIONS = ("first", "second", "tie", None)  # what the verdict of a reply may be
WRONG_VERDICT = "{} replied {!r}: a reply's verdict is 'first' or 'second' as shown, 'tie' or None"


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

    def length(self) -> int:
        """Characters shown; batches are sorted by it."""
        earlier = sum(len(text) for turn in self.turns for text in turn)
        return len(self.question) + len(self.first) + len(self.second) + len(self.reference or "") + earlier


@runtime_checkable
class Judge(Protocol):
    """The protocol every judge follows.

    A judge may also have ``judge_stream(requests)``, which yields replies as they are finished: dictionaries from the
    position of a request to its reply, every position once. `judgekit.scoring.run_judge` then stores each at once.
    """

    name: str  # ``provider/model``
    fingerprint: str  # hash over everything its replies depend on: weights, settings, version of the code that matters
    decoding: str  # decoding configuration as JSON; ``"{}"`` where there is nothing to decode
    batch_size: int  # how many requests one call should hold; replies of a call become durable together
    sees_item: bool  # True where replies depend on the item and its order: they are keyed by both

    def judge(self, requests: list[Request]) -> list[Reply]:
        """Reply to each request, in order. A request that fails gets a reply with status ``error``."""


def request_of(pair: PreferencePair, order: str) -> Request:
    """The request that shows a pair in one order."""
    if order not in ORDERS:
        raise ValueError(f"order {order!r} is not 'ab' or 'ba'")
    shown = pair if order == "ab" else pair.swapped()
    turns = tuple((turn.question, turn.response_a, turn.response_b) for turn in shown.turns)
    return Request(shown.question, shown.response_a, shown.response_b, shown.reference, turns, order, pair.item_id)


def request_key(judge: Judge, request: Request) -> str:
    """Content key of a request for a judge: SHA-256 of everything shown."""
    text = request.content() + (f"{request.item_id}:{request.order}" if judge.sees_item else "")
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def verdict_of(pair: PreferencePair, order: str, judge_name: str, reply: Reply) -> Verdict:
    """A reply in the item's own A and B; ValueError where its verdict is not by position."""
    if reply.verdict not in POSITIONS:
        raise ValueError(WRONG_VERDICT.format(judge_name, reply.verdict))
    swap = order == "ba"
    named = {"first": "B" if swap else "A", "second": "A" if swap else "B"}
    return Verdict(
        item_id=pair.item_id,
        judge=judge_name,
        order=order,
        verdict=named.get(reply.verdict or "", reply.verdict),
        p_a=reply.p_second if swap else reply.p_first,
        p_b=reply.p_first if swap else reply.p_second,
        p_tie=reply.p_tie,
        score_a=reply.score_second if swap else reply.score_first,
        score_b=reply.score_first if swap else reply.score_second,
        status=reply.status,
        raw=reply.raw,
        prompt_version=reply.prompt_version,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        seconds=reply.seconds,
        truncated=reply.truncated,
        calls=reply.calls,
    )
