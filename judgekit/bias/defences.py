"""Defences around any judge, which are judges under a fingerprint of their own: what is shown or replied is changed."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from judgekit.bias.edits import sentences_of
from judgekit.judges.base import Judge, Request
from judgekit.judges.generative import AskedJudge
from judgekit.records import SWAPPED, Reply, Verdict, fingerprint_of
from judgekit.scoring.running import Remembered
from judgekit.scoring.store import VerdictStore

INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\u00ad]")
MARKERS = re.compile(r"\[\[|\]\]|<\|[^|>\n]{0,40}\|>|</?(?:response|answer|assistant|system|user)\b[^>\n]{0,40}>", re.I)
TAKEN_BACK = (
    r"\b(?:ignore|disregard|forget|override|bypass|skip)\b[^.\n]{0,60}"
    r"\b(?:instructions?|rules?|criteria|guidelines?|guidance|prompt|comparison|above|previous)\b"
)
CLAIMED = (
    r"\b(?:choose|select|prefer|pick|declare|rate|name)\b[^.\n]{0,40}"
    r"\b(?:this|present)\s+(?:response|answer|one|text)\b"
)
ORDERED = re.compile(f"{TAKEN_BACK}|{CLAIMED}", re.I)
SECTION = re.compile(
    r"^\W{0,6}(?:the\s+)?(?:end|start|beginning)\s+of\s+(?:the\s+)?\w+(?:\s+\w+)?(?:'s\s+\w+)?\W{0,6}$", re.I | re.M
)
ABSTAINED = 0.2  # share of verdicts, those with the smallest lead, that abstention makes ties
SLACK = 1.25  # times the words of the shorter response, beyond which the longer one is not read
LOOP = 0.35  # share of sentences that stood there before, from which a text counts as repeating itself


def suspicious(text: str) -> bool:
    """Whether a text looks like an attack, by a list of patterns, as an operator would write it."""
    if any(pattern.search(text) for pattern in (INVISIBLE, MARKERS, SECTION, ORDERED)):
        return True
    sentences = [part.lower() for part in sentences_of(text)]
    return len(sentences) >= 6 and 1 - len(set(sentences)) / len(sentences) > LOOP


class Defence(Judge):
    """A judge around another one; ``settings``: what its verdicts depend on besides the judge."""

    title: str

    def __init__(self, judge: Judge, **settings: Any) -> None:
        self.inner, self.settings = judge, settings
        self.name = f"{judge.name}+{self.title}"
        self.decoding, self.batch_size = judge.decoding, judge.batch_size
        self.fingerprint = fingerprint_of("defence", self.title, 1, settings, judge.fingerprint)

    def shown(self, request: Request) -> Request:
        """The request as the judge sees it."""
        return request

    def changed(self, request: Request, reply: Reply) -> Reply:
        """The reply as it is passed on."""
        return reply

    def judge(self, requests: list[Request]) -> list[Reply]:
        replies = self.inner.judge([self.shown(request) for request in requests])
        return [self.changed(request, reply) for request, reply in zip(requests, replies, strict=True)]


class Escaped(Defence):
    """Delimiting and escaping: invisible characters go, markers of prompts and verdicts are broken up, and lines that
    open or close a section are quoted. ``quoted``, for judges that read a prompt: every line starts with ``>``."""

    title = "escaped"

    def escape(self, text: str) -> str:
        text = INVISIBLE.sub("", text)
        text = MARKERS.sub(lambda match: " ".join(match[0].replace("<", "(").replace(">", ")")), text)
        text = SECTION.sub(lambda match: f"'{match[0].strip()}'", text)
        return "\n".join(f"> {line}" for line in text.split("\n")) if self.settings.get("quoted") else text

    def shown(self, request: Request) -> Request:
        return replace(request, first=self.escape(request.first), second=self.escape(request.second))


class Screened(Defence):
    """Input screening: a response that `suspicious` finds loses to one that it does not."""

    title = "screened"

    def changed(self, request: Request, reply: Reply) -> Reply:
        flags = [suspicious(text) for text in (request.first, request.second)]
        if flags[0] == flags[1]:
            return reply
        return _restated(reply, ("second", 0.0, 1.0, 0.0) if flags[0] else ("first", 1.0, 0.0, 0.0))


def _restated(reply: Reply, stated: tuple[str, float, float, float]) -> Reply:
    """A reply with another verdict and probabilities (of first, second and tie), and no scores."""
    verdict, first, second, tie = stated
    reply = replace(reply, verdict=verdict, status="ok", score_first=None, score_second=None)
    return replace(reply, p_first=first, p_second=second, p_tie=tie)


class LengthMatched(Defence):
    """Length normalisation: neither response is read beyond `SLACK` times the words of the shorter one."""

    title = "length_matched"

    def __init__(self, judge: Judge) -> None:
        super().__init__(judge, slack=SLACK)

    def shown(self, request: Request) -> Request:
        """The longer response cut after so many words; an empty one leaves the other as it is."""
        shorter = min(len(request.first.split()), len(request.second.split()))
        if not shorter:
            return request
        room = round(SLACK * shorter)
        return replace(request, first=_first_words(request.first, room), second=_first_words(request.second, room))


def _first_words(text: str, n: int) -> str:
    """A text up to its n-th word, spaces and lines as they were."""
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    return text[: ends[n - 1]] if len(ends) >= n else text


class Abstaining(Defence):
    """Abstention: a verdict whose probability leads by less than a margin in [0, 1] (`margin_for`) becomes a tie."""

    title = "abstaining"

    def __init__(self, judge: Judge, margin: float) -> None:
        if not 0 <= margin <= 1:
            raise ValueError(f"margin {margin} is not in [0, 1]")
        super().__init__(judge, margin=margin)

    def changed(self, request: Request, reply: Reply) -> Reply:
        if reply.p_first is None or reply.p_second is None or reply.status != "ok":
            return reply
        close = abs(reply.p_first - reply.p_second) < self.settings["margin"]
        return replace(reply, verdict="tie") if close else reply


class OrderAveraged(Defence):
    """Order averaging: both orders are asked, probabilities are averaged; without any, what they differ on ties."""

    title = "order_averaged"

    def judge(self, requests: list[Request]) -> list[Reply]:
        plain = [replace(request, order="ab", item_id="") for request in requests]
        both = list(dict.fromkeys(one for request in plain for one in (request, request.exchanged())))
        replies = dict(zip(both, self.inner.judge(both), strict=True))
        return [_averaged(replies[request], replies[request.exchanged()]) for request in plain]


def _averaged(one: Reply, other: Reply) -> Reply:
    """One reply from those to a request and to its exchange; a failed one stands for both."""
    if one.status != "ok" or other.status != "ok":
        return one if one.status != "ok" else other
    here, there = (one.p_first, one.p_second, one.p_tie), (other.p_second, other.p_first, other.p_tie)
    means = [(a + b) / 2 for a, b in zip(here, there, strict=True) if a is not None and b is not None]
    if len(means) < 3:  # a judge that states none
        return replace(one, verdict=one.verdict if one.verdict == SWAPPED[other.verdict] else "tie")
    first, second, tie = means
    verdict = "tie" if first == second or tie >= max(first, second) else "first" if first > second else "second"
    return _restated(one, (verdict, first, second, tie))


def defended(judge: Judge, margin: float | None = None, store: VerdictStore | None = None) -> dict[str, Judge]:
    """A judge with each of the defences that it can have: without a ``margin`` it does not abstain. What the ``store``
    keeps of the judge, bare, is not asked again."""
    reads = isinstance(judge, AskedJudge)
    judge = judge if store is None else Remembered(judge, store)
    found: dict[str, Judge] = {"escaped": Escaped(judge, quoted=reads), "screened": Screened(judge)}
    found["length matched"] = LengthMatched(judge)
    if reads:
        found["order averaged"] = OrderAveraged(judge)
    return found if margin is None else found | {"abstaining": Abstaining(judge, margin)}


def margin_for(verdicts: Sequence[Verdict]) -> float:
    """The margin below which `ABSTAINED` of verdicts (on no test pairs) lie; ValueError if none has probabilities."""
    gaps = sorted(abs(one.p_a - one.p_b) for one in verdicts if one.p_a is not None and one.p_b is not None)
    if not gaps:
        raise ValueError("no verdict has probabilities: there is nothing to abstain by")
    return gaps[min(len(gaps) - 1, int(ABSTAINED * len(gaps)))]
