"""From a strategy and a pair to a reply, whatever engine completes the prompts."""

import hashlib
import json
import math
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from judgekit.judges.base import Request
from judgekit.judges.settings import DEFAULT, named_settings, read_settings
from judgekit.judges.token_verdict import compared_marks, token_probabilities
from judgekit.models.errors import Unavailable
from judgekit.prompts import PromptError, Strategy
from judgekit.prompts.fitting import message_characters
from judgekit.prompts.parsing import Parsed, parse, reply_part, verdict_of_scores
from judgekit.records import Reply

BYTES_PER_TOKEN = 3  # of UTF-8: more tokens than English or Chinese text really has, so estimates err on the dear side
TOKENS_PER_MESSAGE = 8
CLOSED_TOKENS, OPEN_TOKENS = 32, 1024
ROUNDING = 1e-9  # probabilities that differ by no more are equal
SIDES = ("first", "second")
TURNED = {"first": "second", "second": "first", "tie": "tie"}
LETTERS_TURNED = str.maketrans({"a": "b", "b": "a", "A": "B", "B": "A"})
CUT = ("length", "content_filter")  # values of finish_reason that say that the model did not end its reply

Messages = Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Completion:
    """What an engine wrote, or the most probable of the replies that it weighed.

    Tokens are as the engine counted, or estimated; ``logprobs`` holds ``token`` and ``top_logprobs`` per token;
    ``weights`` the probabilities of the replies that were weighed, by what they say (a verdict, or a mark), summing to
    one; ``cut`` why the reply ended before the model ended it, one of `CUT`.
    """

    text: str
    tokens_in: int
    tokens_out: int
    logprobs: tuple[Any, ...] = ()
    seconds: float = 0.0
    weights: dict[Any, float] | None = None
    cut: str | None = None


def stands_complete(strategy: Strategy, text: str) -> bool:
    """Whether the verdict stood complete in a reply that was cut off after ``text``: its strategy's form is closed.

    A JSON object is closed by its last brace, if nothing but mark-up follows; a verdict that is read from the first
    line alone by the end of that line. In all other forms the verdict comes last, and what was still to come could
    have taken it back.
    """
    reply = reply_part(text)
    if strategy.reads == "first line":
        return "\n" in reply.lstrip()
    if strategy.format != "json" or "{" not in reply:
        return False
    try:
        _, end = json.JSONDecoder().raw_decode(reply, reply.index("{"))
    except (ValueError, RecursionError):  # not closed, or nested beyond all reason
        return False
    return not reply[end:].strip("`\n ")


def estimated_tokens(messages: Messages) -> int:
    """Tokens of messages, estimated from their bytes and rather too many."""
    return sum(math.ceil(len(m["content"].encode()) / BYTES_PER_TOKEN) + TOKENS_PER_MESSAGE for m in messages)


def longest_completion(strategy: Strategy, call: str) -> int:
    """Tokens that a call's completion may have by default: few where the reply is the verdict alone."""
    return CLOSED_TOKENS if strategy.closed and call == strategy.calls[-1].name else OPEN_TOKENS


class AskedJudge:
    """What all judges that are asked by a strategy have in common; see `judgekit.judges.base.Judge`."""

    provider = ""
    example = ""  # of the name of a model
    batch_size = 64
    sees_item = False
    settings_kind: type[Any]
    strategy: Strategy
    name: str
    fingerprint: str
    decoding: str

    def __init__(self, model: str, settings: Any = None, demonstrations: Sequence[Any] = ()) -> None:
        raise NotImplementedError

    def name_of(self, model: str, settings: Any) -> str:
        """Provider and model, and the strategy where it is not the assignment's."""
        asked = settings.strategy + ("-strict" if settings.policy == "strict" else "")
        return f"{self.provider}/{model}" + ("" if asked == DEFAULT else f"#{asked}")

    def judge_stream(self, requests: list[Request]) -> Iterator[dict[int, Reply]]:
        """Yield replies as they are finished: dictionaries from the position of a request to its reply."""
        raise NotImplementedError

    def judge(self, requests: list[Request]) -> list[Reply]:
        """Reply to each request, in order."""
        replies: dict[int, Reply] = {}
        for finished in self.judge_stream(requests):
            replies |= finished
        return [replies[position] for position in range(len(requests))]

    def failed(self, reason: str) -> Reply:
        """The reply to a request that failed."""
        return Reply(None, status="error", raw=reason, prompt_version=self.strategy.version)


def load_asked(kind: type[AskedJudge], name: str, settings: Mapping[str, object] | None = None) -> AskedJudge:
    """A judge from its name without the provider: a model, and after ``#`` a strategy and ``-strict``.

    Unavailable where a setting contradicts the name or is wrong, or there is no such model, server or strategy.
    """
    model, given = named_settings(name, settings)
    if not model:
        raise Unavailable(f"{kind.provider}/ needs {kind.example}")
    try:
        return kind(model, read_settings(kind.settings_kind, given))
    except PromptError as wrong:
        raise Unavailable(str(wrong)) from None


class Shared(Protocol):
    """The result of ``work()``, done once for all that ask with the same key, and whether it was done now."""

    def __call__(self, key: Any, work: Callable[[], Awaitable[Any]], /) -> Awaitable[tuple[Any, bool]]: ...


@dataclass
class Interview:
    """Asks a strategy's questions about one pair.

    ``await ask(messages, call)`` gives a `Completion`; ``measure`` says from messages what ``limit`` is in.
    """

    strategy: Strategy
    ask: Callable[[Messages, str], Awaitable[Completion]]
    shared: Shared
    limit: int | None = None
    measure: Callable[[Messages], int] = message_characters

    async def reply(self, request: Request) -> Reply:
        """The reply to a request; PromptError or PromptTooLong where the pair cannot be asked about in this way."""
        tally: dict[str, Any] = {"tokens_in": 0, "tokens_out": 0, "calls": 0, "seconds": 0.0, "truncated": 0}
        if self.strategy.kind == "single":
            reply = await self._rated(request, tally)
        elif self.strategy.flow == "swap":
            reply = await self._synthesised(request, tally)
        else:
            reply = await self._compared(request, tally)
        tally["truncated"] = tally["truncated"] or None
        return replace(reply, prompt_version=self.strategy.version, **tally)

    async def _complete(
        self, call: str, request: Request, tally: dict[str, Any], again: bool = False, **render: Any
    ) -> Completion:
        """One call. ``again`` says that another request may put the very same question."""
        prompt = self.strategy.render(call, request, limit=self.limit, measure=self.measure, **render)
        tally["truncated"] = max(tally["truncated"], prompt.truncated)
        if again:
            key = hashlib.sha256(json.dumps([call, *prompt.messages]).encode()).digest()
            completion, made = await self.shared(key, lambda: self.ask(prompt.messages, call))
        else:
            completion, made = await self.ask(prompt.messages, call), True
        if made:
            for name in ("tokens_in", "tokens_out", "seconds"):
                tally[name] += getattr(completion, name)
            tally["calls"] += 1
        return completion

    def _read(self, completion: Completion) -> tuple[Parsed, str]:
        """The verdict in a completion; and its text, with the reason where it was cut off before the verdict stood."""
        text = completion.text
        if completion.cut and not stands_complete(self.strategy, text):
            return Parsed(None, "unparsed", None), f"{text}\n[cut off: finish_reason={completion.cut}]"
        return parse(self.strategy.format, text, self.strategy.labels, self.strategy.reads), text

    def _decided(self, completion: Completion, earlier: dict[str, str]) -> Reply:
        """The reply of the call that decides, with the probabilities of its tokens where there are any."""
        labels, reply = self.strategy.labels, reply_of(*self._read(completion), earlier)
        p = completion.weights or token_probabilities(
            self.strategy.format, completion.text, completion.logprobs, labels
        )
        return reply if p is None or reply.status != "ok" else most_probable(reply, p, labels)

    async def _compared(self, request: Request, tally: dict[str, Any]) -> Reply:
        """Earlier calls, if any, then the verdict on both responses."""
        earlier: dict[str, str] = {}
        for call in self.strategy.calls[:-1]:
            completion = await self._complete(call.name, request, tally, again=True, earlier=earlier)
            earlier[call.name] = reply_part(completion.text).strip()
        final = await self._complete(self.strategy.calls[-1].name, request, tally, earlier=earlier)
        return self._decided(final, earlier)

    async def _rated(self, request: Request, tally: dict[str, Any]) -> Reply:
        """Each response alone; the higher mark wins. Where ties are not accepted, equal marks are ambiguous."""
        marks = [await self._complete("verdict", request, tally, again=True, side=side) for side in SIDES]
        weights = [completion.weights for completion in marks if completion.weights]
        if len(weights) == len(SIDES):
            raw = json.dumps({side: completion.text for side, completion in zip(SIDES, marks, strict=True)})
            return reply_of_marks(weights[0], weights[1], self.strategy.labels, raw)
        readings, texts = zip(*map(self._read, marks), strict=True)
        raw = json.dumps(dict(zip(SIDES, texts, strict=True)))
        for status in ("unparsed", "ambiguous"):
            if status in [reading.status for reading in readings]:
                return Reply(None, status=status, raw=raw)
        scores = tuple(reading.scores[0] for reading in readings)
        verdict = verdict_of_scores(*scores)
        allowed = verdict in self.strategy.labels
        return reply_of(Parsed(verdict if allowed else None, "ok" if allowed else "ambiguous", scores), raw)

    async def _synthesised(self, request: Request, tally: dict[str, Any]) -> Reply:
        """Both orders; where they disagree, or one cannot be read, a last call weighs the two opinions."""
        given = await self._complete("verdict", request, tally, again=True)
        other = await self._complete("verdict", exchanged(request), tally, again=True)
        (here, text), (there, _) = self._read(given), self._read(other)
        opinions = {
            "given": reply_part(given.text).strip(),
            "exchanged": letters_turned(reply_part(other.text).strip()),
        }
        if here.verdict is not None and there.verdict == TURNED[here.verdict]:
            return reply_of(here, text, {"exchanged": opinions["exchanged"]})
        return self._decided(await self._complete("synthesis", request, tally, earlier=opinions), opinions)


def most_probable(reply: Reply, p: Mapping[str, float], labels: Sequence[str]) -> Reply:
    """A reply with probabilities; the most probable label is the verdict, that of the reply where several are."""
    verdict = max(labels, key=lambda label: (p[label], label == reply.verdict))
    return replace(reply, verdict=verdict, p_first=p["first"], p_second=p["second"], p_tie=p.get("tie", 0.0))


def reply_of_marks(
    first: Mapping[float, float], second: Mapping[float, float], labels: Sequence[str], raw: str
) -> Reply:
    """A reply from the probabilities of the marks of both responses; the scores are the expected marks.

    Responses whose marks are distributed alike tie; where ties are not accepted, they are ambiguous.
    """
    scores = tuple(sum(mark * weight for mark, weight in side.items()) for side in (first, second))
    p = compared_marks(first, second, labels)
    if abs(p["first"] - p["second"]) > ROUNDING:
        return most_probable(reply_of(Parsed(None, "ok", scores), raw), p, labels)
    if "tie" not in labels:
        return reply_of(Parsed(None, "ambiguous", scores), raw)
    reply = reply_of(Parsed("tie", "ok", scores), raw)
    return replace(reply, p_first=p["first"], p_second=p["second"], p_tie=p["tie"])


def reply_of(parsed: Parsed, raw: str, earlier: Mapping[str, str] | None = None) -> Reply:
    """A reading as a reply."""
    first, second = parsed.scores or (None, None)
    said = json.dumps(earlier) if earlier else None
    return Reply(parsed.verdict, score_first=first, score_second=second, status=parsed.status, raw=raw, earlier=said)


def exchanged(request: Request) -> Request:
    """The request with the two responses in each other's position."""
    turns = tuple((question, second, first) for question, first, second in request.turns)
    return replace(request, first=request.second, second=request.first, turns=turns)


def letters_turned(text: str) -> str:
    """An opinion on the exchanged order in the words of the given one.

    >>> letters_turned("Output (a) is better than (b).")
    'Output (b) is better than (a).'
    """
    return re.sub(r"\(([ab])(?=\))", lambda match: f"({match[1].translate(LETTERS_TURNED)}", text, flags=re.I)
