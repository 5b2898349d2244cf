"""From a strategy and a pair to a reply, whatever engine completes the prompts."""

import hashlib
import json
from dataclasses import dataclass, replace

from judgekit.judges.token_verdict import compared_marks, token_probabilities
from judgekit.parsing import Parsed, parse, reply_part, verdict_of_scores
from judgekit.prompts import Strategy
from judgekit.prompts.strategy import message_characters
from judgekit.store import Reply

TURNED = {"first": "second", "second": "first"}
ROUNDING = 1e-9  # probabilities that differ by no more are equal
LETTERS_TURNED = str.maketrans({"a": "b", "b": "a", "A": "B", "B": "A"})


@dataclass
class Tally:
    """What the calls for one reply used."""

    tokens_in: int = 0
    tokens_out: int = 0
    calls: int = 0
    seconds: float = 0.0
    truncated: int = 0


@dataclass
class Interview:
    """Asks a strategy's questions about one pair.

    Parameters
    ----------
    strategy : judgekit.prompts.Strategy
    ask : callable
        ``await ask(messages, call)`` gives a `judgekit.judges.completion.Completion`.
    shared : callable
        ``await shared(key, work)`` gives ``(result, made)``: the result of ``work()``, done once for all that ask
        with the same key, and whether it was done now.
    limit : int or None
        Largest prompt.
    measure : callable
        From messages to what the limit is in; characters by default.
    """

    strategy: Strategy
    ask: object
    shared: object
    limit: int | None = None
    measure: object = message_characters

    async def reply(self, request):
        """The reply to a request.

        Raises
        ------
        judgekit.prompts.PromptError, judgekit.prompts.PromptTooLong
            If the pair cannot be asked about in this way.
        """
        tally = Tally()
        if self.strategy.kind == "single":
            reply = await self.rated(request, tally)
        elif self.strategy.flow == "swap":
            reply = await self.synthesised(request, tally)
        else:
            reply = await self.compared(request, tally)
        return replace(
            reply,
            prompt_version=self.strategy.version,
            tokens_in=tally.tokens_in,
            tokens_out=tally.tokens_out,
            calls=tally.calls,
            seconds=tally.seconds,
            truncated=tally.truncated or None,
        )

    async def complete(self, call, request, tally, again=False, **render):
        """One call. ``again`` says that another request may put the very same question."""
        prompt = self.strategy.render(call, request, limit=self.limit, measure=self.measure, **render)
        tally.truncated = max(tally.truncated, prompt.truncated)
        made = True
        if again:
            text = json.dumps([call, *prompt.messages])
            key = hashlib.sha256(text.encode()).digest()
            completion, made = await self.shared(key, lambda: self.ask(prompt.messages, call))
        else:
            completion = await self.ask(prompt.messages, call)
        if made:
            tally.tokens_in += completion.tokens_in
            tally.tokens_out += completion.tokens_out
            tally.seconds += completion.seconds
            tally.calls += 1
        return completion

    def read(self, completion):
        """The verdict in a completion."""
        return parse(self.strategy.format, completion.text, self.strategy.labels, self.strategy.reads)

    async def compared(self, request, tally):
        """Earlier calls, if any, then the verdict on both responses."""
        earlier = {}
        for call in self.strategy.calls[:-1]:
            completion = await self.complete(call.name, request, tally, again=True, earlier=earlier)
            earlier[call.name] = reply_part(completion.text).strip()
        final = await self.complete(self.strategy.calls[-1].name, request, tally, earlier=earlier)
        return self.with_probabilities(reply_of(self.read(final), final.text, earlier), final)

    def with_probabilities(self, reply, completion):
        """A reply with the probabilities of its tokens, where there are any; the most probable is then the verdict."""
        labels = self.strategy.labels
        p = completion.weights or token_probabilities(
            self.strategy.format, completion.text, completion.logprobs, labels
        )
        return reply if p is None or reply.status != "ok" else most_probable(reply, p, labels)

    async def rated(self, request, tally):
        """Each response alone; the higher mark wins. Where ties are not accepted, equal marks are ambiguous."""
        marks = [await self.complete("verdict", request, tally, again=True, side=side) for side in ("first", "second")]
        raw = json.dumps({side: c.text for side, c in zip(("first", "second"), marks, strict=True)})
        if all(completion.weights for completion in marks):
            return reply_of_marks(*(completion.weights for completion in marks), self.strategy.labels, raw)
        readings = [self.read(completion) for completion in marks]
        for status in ("unparsed", "ambiguous"):
            if status in [reading.status for reading in readings]:
                return Reply(None, status=status, raw=raw)
        scores = tuple(reading.scores[0] for reading in readings)
        verdict = verdict_of_scores(*scores)
        allowed = verdict in self.strategy.labels
        return reply_of(Parsed(verdict if allowed else None, "ok" if allowed else "ambiguous", scores), raw, {})

    async def synthesised(self, request, tally):
        """Both orders; where they disagree, or one cannot be read, a last call weighs the two opinions."""
        turned = exchanged(request)
        given = await self.complete("verdict", request, tally, again=True)
        other = await self.complete("verdict", turned, tally, again=True)
        here, there = self.read(given), self.read(other)
        opinions = {
            "given": reply_part(given.text).strip(),
            "exchanged": letters_turned(reply_part(other.text).strip()),
        }
        if here.status == "ok" and there.verdict == TURNED.get(here.verdict, here.verdict):
            return reply_of(here, given.text, {"exchanged": opinions["exchanged"]})
        final = await self.complete("synthesis", request, tally, earlier=opinions)
        return self.with_probabilities(reply_of(self.read(final), final.text, opinions), final)


def most_probable(reply, p, labels):
    """A reply with probabilities; the most probable label is the verdict, that of the reply where several are."""
    verdict = max(labels, key=lambda label: (p[label], label == reply.verdict))
    return replace(reply, verdict=verdict, p_first=p["first"], p_second=p["second"], p_tie=p.get("tie", 0.0))


def reply_of_marks(first, second, labels, raw):
    """A reply from the probabilities of the marks of both responses; the scores are the expected marks.

    Responses whose marks are distributed alike tie; where ties are not accepted, they are ambiguous.
    """
    scores = tuple(sum(mark * weight for mark, weight in side.items()) for side in (first, second))
    p = compared_marks(first, second, labels)
    if abs(p["first"] - p["second"]) > ROUNDING:
        return most_probable(reply_of(Parsed(None, "ok", scores), raw, {}), p, labels)
    if "tie" not in labels:
        return reply_of(Parsed(None, "ambiguous", scores), raw, {})
    reply = reply_of(Parsed("tie", "ok", scores), raw, {})
    return replace(reply, p_first=p["first"], p_second=p["second"], p_tie=p["tie"])


def reply_of(parsed, raw, earlier):
    """A reading as a reply."""
    first, second = parsed.scores if parsed.scores else (None, None)
    return Reply(
        parsed.verdict,
        score_first=first,
        score_second=second,
        status=parsed.status,
        raw=raw,
        earlier=json.dumps(earlier) if earlier else None,
    )


def exchanged(request):
    """The request with the two responses in each other's place."""
    turns = tuple((question, second, first) for question, first, second in request.turns)
    return replace(request, first=request.second, second=request.first, turns=turns)


def letters_turned(text):
    """An opinion on the exchanged order in the words of the given one.

    Examples
    --------
    >>> letters_turned("Output (a) is better than (b).")
    'Output (b) is better than (a).'
    """
    pieces = text.split("(")
    turned = [
        piece[0].translate(LETTERS_TURNED) + piece[1:] if piece[:2].lower() in ("a)", "b)") else piece
        for piece in pieces[1:]
    ]
    return "(".join([pieces[0], *turned])
