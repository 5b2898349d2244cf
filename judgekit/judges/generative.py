"""From a strategy and a pair to a reply, whatever engine completes the prompts."""

import json
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from judgekit.data.paths import known_names
from judgekit.judges.base import Judge, Request
from judgekit.models import Unavailable
from judgekit.prompts import PromptError, PromptTooLong, Strategy
from judgekit.prompts.parsing import BRACKETS, LABELS, LETTER, OUTPUT, Parsed, parse, reply_part, verdict_of_scores
from judgekit.prompts.texts import message_characters
from judgekit.records import SWAPPED, Reply, fingerprint_of

DEFAULT = "pairwise"  # the assignment's prompt
OPEN_TOKENS = 1024
ENDED = ("", "stop", "end_turn", "eos_token", "stop_sequence")  # values of finish_reason; any other: it was cut off
SIDES = ("first", "second")
REFERRED = "with_reference"  # the call of a prompt for scores that shows a reference
_CLOSED_TOKENS = 32
_BYTES_PER_TOKEN = 3  # of UTF-8: more tokens than English or Chinese text really has, so estimates err on the dear side
_TOKENS_PER_MESSAGE = 8
_ROUNDING = 1e-9  # probabilities that differ by no more are equal
# What finds the letter that decides, and the letters of `LABELS`.
_LETTERS = {"brackets": (BRACKETS, "ABC"), "letter": (LETTER, "ABC"), "llmbar": (OUTPUT, "ab")}
_FIRST_LINE = re.compile(r"(?s:.*</think>)?\s*.*")  # all of a completion up to the end of its reply's first line

Messages = Sequence[Mapping[str, str]]
Stream = Iterator[dict[int, Reply]]  # replies by the position of their request, as they come
Marks = Mapping[float, float]  # mark to its probability
Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class Completion:
    """What an engine wrote, or the most probable of the replies that it weighed; tokens as counted, or estimated."""

    text: str
    tokens_in: int
    tokens_out: int | None  # None where nobody counted what was written
    logprobs: tuple[Any, ...] = ()  # ``token`` and ``top_logprobs`` of each token
    seconds: float = 0.0
    weights: dict[Any, float] | None = None  # probabilities of the replies weighed, by verdict or mark; they sum to one
    cut: str | None = None  # why the reply ended before the model ended it


class Ask(NamedTuple):
    """A question that an interview puts; ``shared``: another request may put the very same."""

    call: str
    messages: Messages
    shared: bool
    shown: tuple[str, ...]  # calls whose completions stand in it

    @property
    def key(self) -> str:
        """What is the same for equal questions, and for no others."""
        return fingerprint_of(self.call, *self.messages)


Asking = Callable[..., Generator[Ask, tuple[Completion, bool], Completion]]
Steps = Generator[Ask, tuple[Completion, bool], Reply]


@dataclass(frozen=True, slots=True)
class Forecast:
    """Calls, tokens and cost of a run, in advance, without repeated attempts."""

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
        tokens = f"about {self.tokens_in:,} tokens in, at most {self.most_tokens_out:,} out"
        return f"{self.requests:,} verdicts{lost}: {calls} calls, {tokens}{cost}"


class AskedJudge(Judge):
    """What all judges that are asked by a strategy have in common."""

    provider = ""
    example = "a model: a folder, or a name such as Qwen/Qwen3-0.6B"
    batch_size = 64
    settings_kind: type[Any]
    settings: Any
    strategy: Strategy
    labels: Sequence[str]  # that a verdict may be
    limit: int | None = None  # of the size of a prompt, by `measure`
    budget: Any = None  # of one that costs
    judge_stream: Callable[..., Stream]  # see `judgekit.judges.base.Judge`

    def name_of(self, model: str) -> str:
        """Provider and model, and the strategy where it is not the assignment's."""
        asked = self.settings.strategy + ("-strict" if self.settings.policy == "strict" else "")
        return f"{self.provider}/{model}" + ("" if asked == DEFAULT else f"#{asked}")

    def measure(self, messages: Messages) -> int:
        """Size of messages: characters, or the model's own tokens."""
        return message_characters(messages)

    def weighs(self, call: str) -> bool:
        """Whether the replies to a call are weighed, not written."""
        return False

    def max_new_tokens(self, call: str) -> int:
        """Longest completion of a call; by default short where the reply is the verdict alone."""
        return _CLOSED_TOKENS if self.strategy.closed and call == self.strategy.calls[-1].name else OPEN_TOKENS

    def judge(self, requests: list[Request]) -> list[Reply]:
        """Reply to each request, in order."""
        replies = {position: reply for finished in self.judge_stream(requests) for position, reply in finished.items()}
        return [replies[position] for position in range(len(requests))]

    def failed(self, reason: object) -> Reply:
        """The reply to a request that failed."""
        why = f"{type(reason).__name__}: {reason}" if isinstance(reason, Exception) else str(reason)
        return Reply(None, status="error", raw=why, prompt_version=self.strategy.version)

    def forecast(self, requests: Sequence[Request]) -> Forecast:
        """What judging some requests would take: each interview is held with completions that say nothing."""
        calls: dict[str, tuple[bool, int, int]] = {}
        impossible = 0
        written = {c.name: 0 if self.weighs(c.name) else self.max_new_tokens(c.name) for c in self.strategy.calls}
        opinions = written["verdict"]  # what a synthesis is shown
        for request in requests:
            own: dict[str, tuple[bool, int, int]] = {}
            steps = self.steps(request)
            try:
                ask = next(steps)
                while True:
                    size = estimated_tokens(ask.messages) + sum(written.get(call, opinions) for call in ask.shown)
                    own[ask.key] = (ask.call != "synthesis", size, written[ask.call])
                    ask = steps.send((Completion("", 0, 0), True))
            except StopIteration:
                calls |= own
            except (PromptError, PromptTooLong):
                impossible += 1
        certain, tokens_in, tokens_out = (sum(row[n] for row in calls.values()) for n in range(3))
        cost = self.budget and self.budget.cost(tokens_in, tokens_out)
        return Forecast(len(requests), impossible, certain, len(calls), tokens_in, tokens_out, cost)

    def steps(self, request: Request) -> Steps:
        """Yields questions, is sent the completion of each and whether it was made now, and returns the reply.

        PromptError or PromptTooLong where the pair cannot be asked about in this way.
        """
        done: list[tuple[Completion, bool, int]] = []  # and whether made now, characters cut

        def ask(call: str, request: Request, shared: bool = False, **more: Any) -> Any:
            """The completion of one call; ``more``: its ``side``, or the ``earlier`` completions that it shows."""
            prompt = self.strategy.render(call, request, limit=self.limit, measure=self.measure, **more)
            completion, now = yield Ask(call, prompt.messages, shared, tuple(more.get("earlier") or ()))
            done.append((completion, now, prompt.truncated))
            return completion

        swaps = self.strategy.flow == "swap"
        kind = self._rated if self.strategy.kind == "single" else self._synthesised if swaps else self._compared
        reply = yield from kind(request, ask)
        made = [completion for completion, now, _ in done if now]
        written = [completion.tokens_out for completion in made]
        return replace(
            reply,
            prompt_version=self.strategy.version,
            tokens_in=sum(completion.tokens_in for completion in made),
            tokens_out=None if None in written else sum(filter(None, written)),
            seconds=sum(completion.seconds for completion in made),
            calls=len(made),
            truncated=max(dropped for _, _, dropped in done) or None,
        )

    def _read(self, completion: Completion) -> tuple[Parsed, str]:
        """The verdict in a completion; and its text, with the reason where it was cut off before the verdict stood."""
        text, strategy = completion.text, self.strategy
        if completion.cut and not stands_complete(strategy, text):
            return Parsed(None, "unparsed", None), f"{text}\n[cut off: finish_reason={completion.cut}]"
        return parse(strategy.format, text, self.labels, strategy.reads), text

    def _decided(self, completion: Completion, earlier: dict[str, str]) -> Reply:
        """The reply of the call that decides, with the probabilities of its tokens where there are any."""
        reply = _reply_of(*self._read(completion), earlier)
        p = completion.weights or token_probabilities(self.strategy, completion, reply.verdict)
        return reply if p is None or reply.status != "ok" else _most_probable(reply, p, self.labels)

    def _compared(self, request: Request, ask: Asking) -> Steps:
        """Earlier calls, if any, then the verdict on both responses."""
        earlier: dict[str, str] = {}
        *before, last = (call.name for call in self.strategy.calls)
        for call in before:
            completion = yield from ask(call, request, shared=True, earlier=earlier)
            earlier[call] = reply_part(completion.text).strip()
        final = yield from ask(last, request, earlier=earlier)
        return self._decided(final, earlier)

    def _rated(self, request: Request, ask: Asking) -> Steps:
        """Each response alone; the higher mark wins. Where ties are not accepted, equal marks are ambiguous."""
        referred = request.reference is not None and any(call.name == REFERRED for call in self.strategy.calls)
        marks: list[Completion] = []
        for side in SIDES:
            marks.append((yield from ask(REFERRED if referred else "verdict", request, shared=True, side=side)))
        first, second = (mark.weights for mark in marks)
        if first and second:
            raw = json.dumps({side: mark.text or mark.weights for side, mark in zip(SIDES, marks, strict=True)})
            return _reply_of_marks(first, second, self.labels, raw)
        readings, texts = zip(*map(self._read, marks), strict=True)
        raw = json.dumps(dict(zip(SIDES, texts, strict=True)))
        for status in ("unparsed", "ambiguous"):
            if status in [reading.status for reading in readings]:
                return Reply(None, status=status, raw=raw)
        scores = tuple(reading.scores[0] for reading in readings)
        verdict = verdict_of_scores(*scores)
        known = verdict in self.labels
        return _reply_of(Parsed(verdict if known else None, "ok" if known else "ambiguous", scores), raw)

    def _synthesised(self, request: Request, ask: Asking) -> Steps:
        """Both orders; where they disagree, or one cannot be read, a last call weighs the two opinions."""
        given = yield from ask("verdict", request, shared=True)
        other = yield from ask("verdict", request.exchanged(), shared=True)
        (here, text), (there, _) = self._read(given), self._read(other)
        # The opinion on the exchanged order in the words of the given one: ``(a)`` for ``(b)``, and the reverse.
        letters, said = str.maketrans("abAB", "baBA"), reply_part(other.text).strip()
        turned = re.sub(r"\(([ab])(?=\))", lambda match: match[0].translate(letters), said, flags=re.I)
        if here.verdict is not None and there.verdict == SWAPPED[here.verdict]:
            return _reply_of(here, text, {"exchanged": turned})
        opinions = {"given": reply_part(given.text).strip(), "exchanged": turned}
        final = yield from ask("synthesis", request, earlier=opinions)
        return self._decided(final, opinions)


def estimated_tokens(messages: Messages) -> int:
    """Tokens of messages, estimated from their bytes and rather too many."""
    return sum(math.ceil(len(m["content"].encode()) / _BYTES_PER_TOKEN) + _TOKENS_PER_MESSAGE for m in messages)


def stands_complete(strategy: Strategy, text: str) -> bool:
    """Whether the verdict stood complete in a reply that was cut off after ``text``: its strategy's form is closed.

    A JSON object is closed by its last brace, a first line by its end; all other forms could still be taken back.
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


def _reply_of(parsed: Parsed, raw: str, earlier: Mapping[str, str] | None = None) -> Reply:
    first, second = parsed.scores or (None, None)
    said = json.dumps(earlier) if earlier else None
    return Reply(parsed.verdict, score_first=first, score_second=second, status=parsed.status, raw=raw, earlier=said)


def _most_probable(reply: Reply, p: Mapping[str, float], labels: Sequence[str]) -> Reply:
    """A reply with probabilities; the most probable label is the verdict, that of the reply where several are."""
    verdict = max(labels, key=lambda label: (p[label], label == reply.verdict))
    return replace(reply, verdict=verdict, p_first=p["first"], p_second=p["second"], p_tie=p.get("tie", 0.0))


def _reply_of_marks(first: Marks, second: Marks, labels: Sequence[str], raw: str) -> Reply:
    """A reply from the probabilities of both marks, with the expected ones as scores; marks distributed alike tie."""
    scores = tuple(sum(mark * weight for mark, weight in side.items()) for side in (first, second))
    p = compared_marks(first, second, labels)
    reply = _reply_of(Parsed(None, "ok", scores), raw)
    if abs(p["first"] - p["second"]) > _ROUNDING:
        return _most_probable(reply, p, labels)
    if "tie" not in labels:
        return replace(reply, status="ambiguous")
    return replace(reply, verdict="tie", p_first=p["first"], p_second=p["second"], p_tie=p["tie"])


def compared_marks(first: Marks, second: Marks, labels: Sequence[str]) -> dict[str, float]:
    """Probability of each label, from the probabilities of the marks that each response gets by itself.

    Where ties are not accepted, equal marks are left out; if they are certainly equal, both labels have a half.

    >>> compared_marks({1: 0.5, 10: 0.5}, {1: 1.0}, ("first", "second", "tie"))
    {'first': 0.5, 'second': 0.0, 'tie': 0.5}
    """
    mass = dict.fromkeys(LABELS, 0.0)
    for mark, weight in first.items():
        for other, also in second.items():
            mass[verdict_of_scores(mark, other)] += weight * also
    total = sum(mass[label] for label in labels)
    return {label: mass[label] / total if total else 1 / len(labels) for label in labels}


def token_probabilities(strategy: Strategy, completion: Completion, verdict: str | None) -> dict[str, float] | None:
    """Probability of each label at the token that holds the deciding letter; they sum to one.

    Each of ``top_logprobs`` has ``token`` and ``logprob``; the mass of tokens that are no label is left out. None where
    the tokens do not spell the text, where the last letter is not that of the ``verdict`` that was read (the judge went
    on to quote or deny another one), and where a label has no letter of its own in this format (a tie in ``llmbar``).
    """
    text, tokens, labels = completion.text, completion.logprobs, strategy.labels
    if strategy.reads == "first line":
        text = next(_FIRST_LINE.finditer(text))[0]
    pattern, letters = _LETTERS.get(strategy.format, (LETTER, ""))
    letter_of = dict(zip(LABELS, letters, strict=False))
    if verdict is None or not set(labels) <= set(letter_of):
        return None
    if strategy.format == "letter":  # the last line, and nothing else on it
        matches = [LETTER.match(text, len(text.rstrip().rpartition("\n")[0]))]
    else:
        matches = [match for match in pattern.finditer(text) if match[1]]
    if not matches or matches[-1] is None or matches[-1][1].lower() != letter_of[verdict].lower():
        return None
    try:
        pieces = [token["token"] for token in tokens]
        ends, position = list(accumulate(map(len, pieces))), matches[-1].start(1)
        number = bisect_right(ends, position)
        piece, offset = pieces[number], position - ends[number] + len(pieces[number])
        if not text.startswith("".join(pieces[: number + 1])):
            return None
        given = [(each["token"].strip(), each["logprob"]) for each in tokens[number].get("top_logprobs") or ()]
        wanted = {label: (piece[:offset] + letter_of[label] + piece[offset + 1 :]).strip() for label in labels}
        # Servers round a little above 0.
        mass = {
            label: sum(math.exp(value) for said, value in given if said == token and value < 0.01)
            for label, token in wanted.items()
        }
    except (LookupError, TypeError, AttributeError):  # another shape
        return None
    total = sum(mass.values())
    return {label: value / total for label, value in mass.items()} if total > 0 else None


def read_settings(kind: type[Kind], given: Mapping[str, object], without: Sequence[str] = ()) -> Kind:
    """Settings of a dataclass from names and values, values possibly as text; Unavailable where one is wrong."""
    names = [item.name for item in fields(kind) if item.name not in without]  # type: ignore[arg-type]
    if unknown := sorted(set(given) - set(names)):
        raise Unavailable(f"no setting is called {unknown[0]!r}; {known_names(unknown[0], names)}")
    try:
        return TypeAdapter(kind).validate_python(dict(given))
    except ValidationError as wrong:
        error = wrong.errors()[0]
        field = f"{error['loc'][0]}={error['input']!r}: " if error["loc"] else ""
        raise Unavailable(field + error["msg"].removeprefix("Value error, ")) from None


def load_asked(
    kind: Any, name: str, settings: Mapping[str, object] | None = None, demonstrations: Sequence[Any] = ()
) -> Judge:
    """A judge of a kind from its name without the provider: a model, and after ``#`` a strategy and ``-strict``."""
    model, marked, asked = name.partition("#")
    if not model:
        raise Unavailable(f"{kind.provider}/ needs {kind.example}")
    named, given = {"strategy": asked.removesuffix("-strict")} if marked else {}, dict(settings or {})
    if asked.endswith("-strict"):
        named["policy"] = "strict"
    if clash := [name for name in named if name in given and given[name] != named[name]]:
        raise Unavailable(f"the judge's name says {clash[0]} {named[clash[0]]!r}, the settings another")
    try:
        shown = (demonstrations,) if demonstrations else ()  # which judges without a strategy do not take
        return kind(model, read_settings(kind.settings_kind, given | named), *shown)
    except PromptError as wrong:
        raise Unavailable(str(wrong)) from None
