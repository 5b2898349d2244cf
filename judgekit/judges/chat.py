"""One chat completion from an OpenAI-compatible server: sent, checked, and sent again where that can help."""

import asyncio
import email.utils
import random
import re
import time
import warnings
from dataclasses import dataclass, field

import httpx

from judgekit.judges.completion import Completion, estimated_tokens
from judgekit.judges.pacing import Budget, BudgetSpent, Concurrency, RateLimit
from judgekit.judges.secrets import Secret

LONGEST_BACKOFF = 60.0  # seconds
LONGEST_WAIT = 600.0  # seconds that a server's Retry-After is obeyed for
SETTLING = 0.02  # seconds between looks at a budget that requests in flight hold
LONGEST_SAID = 300  # characters of a server's message that are kept
AGAIN = {408, 409, 425, 429, 500, 502, 503, 504, 507, 508, 520, 521, 522, 523, 524, 529}
HOPELESS = {401, 402, 403, 404, 405, 410}  # no other request fares better
NOT_TAKEN = re.compile(r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted", re.IGNORECASE)
SPARE = {  # parameters that a request can do without, and what takes their place
    "max_tokens": "max_completion_tokens",
    "temperature": None,
    "top_logprobs": None,
    "logprobs": None,
}


class ChatError(Exception):
    """A request that has failed for good; the message holds no key."""


class Refused(ChatError):
    """The server will not answer this request, whenever it is sent; another may fare better."""


class Stopped(ChatError):
    """No further request can succeed: a refused key, an unknown model, a spent budget, a dead server."""


class Passing(ChatError):
    """A failure that another attempt may not meet.

    Attributes
    ----------
    overloaded : bool
        The server has too much to do.
    wait : float
        Seconds that it asked to wait.
    billed : bool
        It may have been answered, and counted, all the same.
    """

    def __init__(self, message, overloaded=False, wait=0.0, billed=False):
        super().__init__(message)
        self.overloaded, self.wait, self.billed = overloaded, wait, billed


@dataclass
class Pace:
    """How a server is asked; one line each in `judgekit.judges.openai.Settings`."""

    timeout: float = 120.0
    attempts: int = 6
    backoff: float = 0.5
    give_up_after: int = 20
    concurrency: Concurrency = field(default_factory=Concurrency)
    requests: RateLimit = field(default_factory=lambda: RateLimit(None))
    tokens: RateLimit = field(default_factory=lambda: RateLimit(None))
    budget: Budget = field(default_factory=Budget)


class ChatClient:
    """Asks one model of one server, within a pace.

    Parameters
    ----------
    base_url : str
        Up to and without ``/chat/completions``.
    key : Secret
    model : str
    pace : Pace

    Notes
    -----
    Every request has a connection of its own. On a connection that is used again, a reply that a proxy delivered twice
    is taken for the reply to the next request, and a pair gets the verdict on another.
    """

    def __init__(self, base_url: str, key: Secret, model: str, pace: Pace):
        self.url = f"{base_url.rstrip('/')}/chat/completions"
        self.key, self.model, self.pace = key, model, pace
        self.without = {}
        self.stopped = None
        self.failed_in_a_row = self.requests_sent = 0
        self.http = httpx.AsyncClient(
            timeout=pace.timeout, limits=httpx.Limits(max_keepalive_connections=0), follow_redirects=False
        )

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.http.aclose()

    async def complete(self, messages, max_tokens, **options):
        """The completion of some messages.

        Raises
        ------
        Refused
            If the server will not answer this request.
        Stopped
            If no request can succeed any more.
        ChatError
            If every attempt failed.
        """
        failure = None
        for attempt in range(self.pace.attempts):
            try:
                completion = await self.attempt(messages, max_tokens, options)
            except Passing as passing:
                failure = passing
                if attempt + 1 < self.pace.attempts:
                    await asyncio.sleep(max(passing.wait, self.backoff(attempt)))
            else:
                self.failed_in_a_row = 0
                return completion
        self.failed_in_a_row += 1
        said = f"{self.pace.attempts} attempts failed; the last: {failure}"
        if self.failed_in_a_row >= self.pace.give_up_after:
            self.stop(f"{self.failed_in_a_row} requests in a row have failed; the last: {failure}")
        raise ChatError(said)

    def backoff(self, attempt):
        """Seconds to wait after an attempt: up to twice as long each time, drawn so that requests do not march."""
        return random.uniform(0.5, 1.0) * min(LONGEST_BACKOFF, self.pace.backoff * 2**attempt)

    def stop(self, why):
        """Let no further request out."""
        self.stopped = self.stopped or why
        raise Stopped(why) from None

    async def attempt(self, messages, max_tokens, options):
        """One request, within concurrency, rates and budget."""
        pace, reserved = self.pace, (estimated_tokens(messages), max_tokens)
        async with pace.concurrency.slot() as token:
            await pace.requests.take(1)
            entry = await pace.tokens.take(sum(reserved))
            if self.stopped:
                raise Stopped(f"not asked: {self.stopped}")
            await self.reserve(reserved)
            used = reserved
            try:
                completion = await self.send(messages, max_tokens, options, reserved)
                used = (completion.tokens_in, completion.tokens_out)
            except Passing as passing:
                used = reserved if passing.billed else (0, 0)
                if passing.overloaded:
                    pace.concurrency.overloaded(token)
                if passing.wait:
                    pace.concurrency.pause(passing.wait)
                raise
            except ChatError:
                used = (0, 0)
                raise
            finally:
                pace.budget.settle(reserved, used)
                pace.tokens.settle(entry, sum(used))
            pace.concurrency.succeeded()
            return completion

    async def reserve(self, tokens):
        """Set tokens aside; where they are not there, what is in flight may still give some back."""
        while True:
            try:
                return self.pace.budget.reserve(*tokens)
            except BudgetSpent as spent:
                if not self.pace.budget.in_flight:
                    self.stop(str(spent))
            await asyncio.sleep(SETTLING)
            if self.stopped:
                raise Stopped(f"not asked: {self.stopped}")

    async def send(self, messages, max_tokens, options, reserved):
        """One HTTP exchange; whatever goes wrong becomes a `ChatError` of the fitting kind."""
        body = {"model": self.model, "messages": list(messages), "max_tokens": max_tokens, **options}
        for name, instead in self.without.items():
            if name in body:
                value = body.pop(name)
                body |= {instead: value} if instead else {}
        headers = {"Authorization": f"Bearer {self.key.reveal()}", "Connection": "close"}
        started = time.perf_counter()
        self.requests_sent += 1
        try:
            async with asyncio.timeout(self.pace.timeout):
                response = await self.http.post(self.url, json=body, headers=headers)
        except (TimeoutError, httpx.TimeoutException):
            raise Passing(f"no answer within {self.pace.timeout:g} s", overloaded=True, billed=True) from None
        except httpx.HTTPError as broken:
            raise Passing(f"the connection failed ({self.said(broken)})", billed=True) from None
        if response.status_code != 200:
            self.raise_for(response, body)
        return self.read(response, reserved, time.perf_counter() - started)

    def said(self, what):
        """A foreign message: one line, bounded, without the key."""
        text = " ".join(f"{type(what).__name__}: {what}".split() if isinstance(what, Exception) else str(what).split())
        return self.key.redacted(text)[:LONGEST_SAID]

    def raise_for(self, response, body):
        """The error that a status other than 200 stands for."""
        status, said = response.status_code, self.said(response.text)
        if status == 429 and "insufficient_quota" in response.text:
            self.stop(f"the server says 429: {said}")
        if status in AGAIN or status >= 500:
            wait = retry_after(response.headers)
            if wait > LONGEST_WAIT:
                self.stop(f"the server asks to wait {wait:,.0f} s ({status}: {said})")
            raise Passing(f"the server says {status}: {said}", overloaded=True, wait=wait)
        if status in HOPELESS or 300 <= status < 400:
            self.stop(f"the server says {status}: {said}")
        for name, instead in SPARE.items():
            if name in body and name in said and NOT_TAKEN.search(said):
                if name not in self.without:
                    warnings.warn(f"{self.model}: the server does not take {name}; asked without it", stacklevel=2)
                self.without[name] = instead
                raise Passing(f"the server does not take {name}")
        raise Refused(f"the server says {status}: {said}")

    def read(self, response, reserved, seconds):
        """The completion in a reply of status 200; a reply of another shape is a failure that may pass."""
        try:
            fields = response.json()
        except (ValueError, RecursionError):
            raise Passing("the reply is no JSON", billed=True) from None
        try:
            choice = fields["choices"][0]
            message = choice["message"]
            text = message["content"] if message.get("content") is not None else message.get("refusal")
            if not isinstance(text, str):
                raise TypeError("no text")
            usage = fields.get("usage") or {}
            counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
            tokens = tuple(count if is_count(count) else kept for count, kept in zip(counts, reserved, strict=True))
            logprobs = (choice.get("logprobs") or {}).get("content") or ()
        except (LookupError, TypeError, AttributeError) as wrong:
            raise Passing(f"the reply has another shape ({type(wrong).__name__})", billed=True) from None
        return Completion(self.key.redacted(text, alike=False), *tokens, tuple(logprobs), seconds)


def is_count(value):
    """Whether a value is a number of tokens."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def retry_after(headers):
    """Seconds that a server asks to wait, from ``retry-after-ms``, or ``Retry-After`` in seconds or as a date.

    Examples
    --------
    >>> retry_after({"retry-after": "2"}), retry_after({"retry-after-ms": "50"}), retry_after({"retry-after": "soon"})
    (2.0, 0.05, 0.0)
    """
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,12}(?:\.\d+)?", value):
            return float(value) / unit
        if value:
            try:
                return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
            except (ValueError, OverflowError):
                continue
    return 0.0
