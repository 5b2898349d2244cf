"""From a strategy and a pair to a reply, whatever engine completes the prompts."""

import hashlib
import json
import math
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from judgekit.judges.base import Judge, Request
from judgekit.judges.token_verdict import compared_marks, token_probabilities
from judgekit.models import Unavailable
from judgekit.prompts import PromptError, PromptTooLong, Strategy
from judgekit.prompts.parsing import Parsed, parse, reply_part, verdict_of_scores
from judgekit.prompts.texts import message_characters
from judgekit.records import Reply

DEFAULT = "pairwise"  # the assignment's prompt
OPEN_TOKENS = 1024
CUT = ("length", "content_filter")  # values of finish_reason that say that the model did not end its reply
_CLOSED_TOKENS = 32
_BYTES_PER_TOKEN = 3  # of UTF-8: more tokens than English or Chinese text really has, so estimates err on the dear side
_TOKENS_PER_MESSAGE = 8
_ROUNDING = 1e-9  # probabilities that differ by no more are equal
_SIDES = ("first", "second")
_TURNED = {"first": "second", "second": "first", "tie": "tie"}
_LETTERS_TURNED = str.maketrans("abAB", "baBA")

Messages = Sequence[Mapping[str, str]]
Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class Completion:
    """What an engine wrote, or the most probable of the replies that it weighed; tokens as counted, or estimated."""

    text: str
    tokens_in: int
    tokens_out: int
    logprobs: tuple[Any, ...] = ()  # ``token`` and ``top_logprobs`` of each token
    seconds: float = 0.0
    weights: dict[Any, float] | None = None  # probabilities of the replies weighed, by verdict or mark; they sum to one
    cut: str | None = None  # why the reply ended before the model ended it, one of `CUT`


class Ask(NamedTuple):
    """A question that an interview puts; ``shared``: another request may put the very same."""

    call: str
    messages: Messages
    shared: bool
    shown: tuple[str, ...]  # calls whose completions stand in it

    @property
    def key(self) -> bytes:
        """What is the same for equal questions, and for no others."""
        return hashlib.sha256(json.dumps([self.call, *self.messages]).encode()).digest()


Asking = Generator[Ask, tuple[Completion, bool], Completion]
Steps = Generator[Ask, tuple[Completion, bool], Reply]


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
    return sum(math.ceil(len(m["content"].encode()) / _BYTES_PER_TOKEN) + _TOKENS_PER_MESSAGE for m in messages)


class Interview:
    """Asks a strategy's questions about one pair; ``limit``: largest size of a prompt, by ``measure``."""

    def __init__(
        self,
        strategy: Strategy,
        request: Request,
        limit: int | None = None,
        measure: Callable[[Messages], int] = message_characters,
    ) -> None:
        self._strategy, self._request, self._limit, self._measure = strategy, request, limit, measure
        self._tally: dict[str, Any] = {"tokens_in": 0, "tokens_out": 0, "calls": 0, "seconds": 0.0, "truncated": 0}

    def steps(self) -> Steps:
        """Yields questions, is sent the completion of each and whether it was made now, and returns the reply.

        PromptError or PromptTooLong where the pair cannot be asked about in this way.
        """
        if self._strategy.kind == "single":
            reply = yield from self._rated()
        elif self._strategy.flow == "swap":
            reply = yield from self._synthesised()
        else:
            reply = yield from self._compared()
        self._tally["truncated"] = self._tally["truncated"] or None
        return replace(reply, prompt_version=self._strategy.version, **self._tally)

    def _ask(
        self,
        call: str,
        request: Request,
        shared: bool = False,
        side: str | None = None,
        earlier: Mapping[str, str] | None = None,
    ) -> Asking:
        """The completion of one call."""
        prompt = self._strategy.render(
            call, request, side=side, earlier=earlier, limit=self._limit, measure=self._measure
        )
        self._tally["truncated"] = max(self._tally["truncated"], prompt.truncated)
        completion, made = yield Ask(call, prompt.messages, shared, tuple(earlier or ()))
        if made:
            for name in ("tokens_in", "tokens_out", "seconds"):
                self._tally[name] += getattr(completion, name)
            self._tally["calls"] += 1
        return completion

    def _read(self, completion: Completion) -> tuple[Parsed, str]:
        """The verdict in a completion; and its text, with the reason where it was cut off before the verdict stood."""
        text, strategy = completion.text, self._strategy
        if completion.cut and not stands_complete(strategy, text):
            return Parsed(None, "unparsed", None), f"{text}\n[cut off: finish_reason={completion.cut}]"
        return parse(strategy.format, text, strategy.labels, strategy.reads), text

    def _decided(self, completion: Completion, earlier: dict[str, str]) -> Reply:
        """The reply of the call that decides, with the probabilities of its tokens where there are any."""
        form, labels = self._strategy.format, self._strategy.labels
        reply = reply_of(*self._read(completion), earlier)
        p = completion.weights or token_probabilities(form, completion.text, completion.logprobs, labels)
        return reply if p is None or reply.status != "ok" else most_probable(reply, p, labels)

    def _compared(self) -> Steps:
        """Earlier calls, if any, then the verdict on both responses."""
        earlier: dict[str, str] = {}
        *before, last = (call.name for call in self._strategy.calls)
        for call in before:
            completion = yield from self._ask(call, self._request, shared=True, earlier=earlier)
            earlier[call] = reply_part(completion.text).strip()
        final = yield from self._ask(last, self._request, earlier=earlier)
        return self._decided(final, earlier)

    def _rated(self) -> Steps:
        """Each response alone; the higher mark wins. Where ties are not accepted, equal marks are ambiguous."""
        marks = []
        for side in _SIDES:
            marks.append((yield from self._ask("verdict", self._request, shared=True, side=side)))
        labels = self._strategy.labels
        if marks[0].weights and marks[1].weights:
            raw = json.dumps({side: completion.text for side, completion in zip(_SIDES, marks, strict=True)})
            return reply_of_marks(marks[0].weights, marks[1].weights, labels, raw)
        readings, texts = zip(*map(self._read, marks), strict=True)
        raw = json.dumps(dict(zip(_SIDES, texts, strict=True)))
        for status in ("unparsed", "ambiguous"):
            if status in [reading.status for reading in readings]:
                return Reply(None, status=status, raw=raw)
        scores = tuple(reading.scores[0] for reading in readings)
        verdict = verdict_of_scores(*scores)
        return reply_of(Parsed(verdict, "ok", scores) if verdict in labels else Parsed(None, "ambiguous", scores), raw)

    def _synthesised(self) -> Steps:
        """Both orders; where they disagree, or one cannot be read, a last call weighs the two opinions."""
        given = yield from self._ask("verdict", self._request, shared=True)
        other = yield from self._ask("verdict", _exchanged(self._request), shared=True)
        (here, text), (there, _) = self._read(given), self._read(other)
        turned = letters_turned(reply_part(other.text).strip())
        if here.verdict is not None and there.verdict == _TURNED[here.verdict]:
            return reply_of(here, text, {"exchanged": turned})
        opinions = {"given": reply_part(given.text).strip(), "exchanged": turned}
        final = yield from self._ask("synthesis", self._request, earlier=opinions)
        return self._decided(final, opinions)


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
    if abs(p["first"] - p["second"]) > _ROUNDING:
        return most_probable(reply_of(Parsed(None, "ok", scores), raw), p, labels)
    if "tie" not in labels:
        return reply_of(Parsed(None, "ambiguous", scores), raw)
    return replace(reply_of(Parsed("tie", "ok", scores), raw), p_first=p["first"], p_second=p["second"], p_tie=p["tie"])


def reply_of(parsed: Parsed, raw: str, earlier: Mapping[str, str] | None = None) -> Reply:
    """A reading as a reply."""
    first, second = parsed.scores or (None, None)
    said = json.dumps(earlier) if earlier else None
    return Reply(parsed.verdict, score_first=first, score_second=second, status=parsed.status, raw=raw, earlier=said)


def _exchanged(request: Request) -> Request:
    """The request with the two responses in each other's position."""
    turns = tuple((question, second, first) for question, first, second in request.turns)
    return replace(request, first=request.second, second=request.first, turns=turns)


def letters_turned(text: str) -> str:
    """An opinion on the exchanged order in the words of the given one.

    >>> letters_turned("Output (a) is better than (b).")
    'Output (b) is better than (a).'
    """
    return re.sub(r"\(([ab])(?=\))", lambda match: f"({match[1].translate(_LETTERS_TURNED)}", text, flags=re.I)


@dataclass(frozen=True, slots=True)
class Forecast:
    """Calls, tokens and cost of a run, in advance.

    Repeated attempts are not counted, nor the trial of a server that may hold replies to a choice (two calls).
    """

    requests: int
    impossible: int  # cannot be put by this strategy (no reference, too long): they fail without a call
    calls: int  # for certain
    most_calls: int  # a synthesis is asked for only where orders disagree
    tokens_in: int  # for ``most_calls``, rather too many
    most_tokens_out: int  # if every completion is as long as it may be
    most_cost: float | None  # None where no prices are declared

    def __str__(self) -> str:
        calls = f"{self.calls:,}" if self.calls == self.most_calls else f"{self.calls:,} to {self.most_calls:,}"
        cost = "; no prices declared" if self.most_cost is None else f"; at most {self.most_cost:,.4f} at these prices"
        lost = f" ({self.impossible:,} cannot be asked)" if self.impossible else ""
        return (
            f"{self.requests:,} verdicts{lost}: {calls} calls, about {self.tokens_in:,} tokens in, "
            f"at most {self.most_tokens_out:,} out{cost}"
        )


class AskedJudge:
    """What all judges that are asked by a strategy have in common; see `judgekit.judges.base.Judge`."""

    provider = ""
    example = ""  # of the name of a model
    batch_size = 64
    sees_item = False
    settings_kind: type[Any]
    settings: Any
    strategy: Strategy
    name: str
    fingerprint: str
    decoding: str
    max_characters: int | None = None  # of a prompt

    def __init__(self, model: str, settings: Any = None, demonstrations: Sequence[Any] = ()) -> None:
        raise NotImplementedError

    @staticmethod
    def named(asked: str) -> dict[str, str]:
        """The settings that a name states after ``#``: a strategy, and ``-strict``."""
        strict = {"policy": "strict"} if asked.endswith("-strict") else {}
        return {"strategy": asked.removesuffix("-strict"), **strict}

    def name_of(self, model: str) -> str:
        """Provider and model, and the strategy where it is not the assignment's."""
        asked = self.settings.strategy + ("-strict" if self.settings.policy == "strict" else "")
        return f"{self.provider}/{model}" + ("" if asked == DEFAULT else f"#{asked}")

    def judge_stream(self, requests: Sequence[Request]) -> Iterator[dict[int, Reply]]:
        """Yield replies as they are finished: dictionaries from the position of a request to its reply."""
        raise NotImplementedError

    def judge(self, requests: list[Request]) -> list[Reply]:
        """Reply to each request, in order."""
        replies: dict[int, Reply] = {}
        for finished in self.judge_stream(requests):
            replies |= finished
        return [replies[position] for position in range(len(requests))]

    def failed(self, reason: object) -> Reply:
        """The reply to a request that failed."""
        said = f"{type(reason).__name__}: {reason}" if isinstance(reason, Exception) else str(reason)
        return Reply(None, status="error", raw=said, prompt_version=self.strategy.version)

    def max_new_tokens(self, call: str) -> int:
        """Longest completion of a call; by default short where the reply is the verdict alone."""
        return _CLOSED_TOKENS if self.strategy.closed and call == self.strategy.calls[-1].name else OPEN_TOKENS

    def most_written(self, call: str) -> int:
        """Most tokens that a call writes."""
        return self.max_new_tokens(call)

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """What tokens cost; None without prices."""
        return None

    def forecast(self, requests: Sequence[Request]) -> Forecast:
        """What judging some requests would take: each interview is held with completions that say nothing."""
        calls: dict[bytes, tuple[bool, int, int]] = {}
        impossible = 0
        for request in requests:
            own: dict[bytes, tuple[bool, int, int]] = {}
            steps = Interview(self.strategy, request, self.max_characters).steps()
            try:
                ask = next(steps)
                while True:
                    size = estimated_tokens(ask.messages) + sum(map(self.most_written, ask.shown))
                    own[ask.key] = (ask.call != "synthesis", size, self.most_written(ask.call))
                    ask = steps.send((Completion("", 0, 0), True))
            except StopIteration:
                calls |= own
            except (PromptError, PromptTooLong):
                impossible += 1
        certain, tokens_in, tokens_out = (sum(row[n] for row in calls.values()) for n in range(3))
        cost = self.cost(tokens_in, tokens_out)
        return Forecast(len(requests), impossible, certain, len(calls), tokens_in, tokens_out, cost)


def read_settings(kind: type[Kind], given: Mapping[str, object]) -> Kind:
    """Settings of a dataclass from names and values, values possibly as text (from a command line).

    Unavailable where a name is unknown or a value is not what the field's annotation says.
    """
    names = [item.name for item in fields(kind)]  # type: ignore[arg-type]
    if unknown := sorted(set(given) - set(names)):
        raise Unavailable(f"no setting is called {unknown[0]!r}; there are {', '.join(names)}")
    try:
        return TypeAdapter(kind).validate_python(dict(given))
    except ValidationError as wrong:
        error = wrong.errors()[0]
        field = f"{error['loc'][0]}={error['input']!r}: " if error["loc"] else ""
        raise Unavailable(field + error["msg"].removeprefix("Value error, ")) from None


def load_asked(kind: Any, name: str, settings: Mapping[str, object] | None = None) -> Judge:
    """A judge of a kind from its name without the provider: a model, and after ``#`` what `AskedJudge.named` reads.

    Unavailable where a setting contradicts the name or is wrong, or there is no such model, server or strategy.
    """
    model, marked, asked = name.partition("#")
    if not model:
        raise Unavailable(f"{kind.provider}/ needs {kind.example}")
    named, given = kind.named(asked) if marked else {}, dict(settings or {})
    if clash := [name for name in named if name in given and given[name] != named[name]]:
        raise Unavailable(f"the judge's name says {clash[0]} {named[clash[0]]!r}, the settings another")
    try:
        judge: Judge = kind(model, read_settings(kind.settings_kind, given | named))
    except PromptError as wrong:
        raise Unavailable(str(wrong)) from None
    return judge
