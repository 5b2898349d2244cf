"""One chat completion from an OpenAI-compatible server: sent, checked, and sent again where that can help.

The openai package sends and sorts failures; its own retries are off, because a retry can be paid for twice and has to
be counted against the budget.
"""

import asyncio
import email.utils
import random
import re
import time
import warnings
from collections.abc import Mapping
from typing import Any, NoReturn, TypeGuard

import httpx2
import openai

from judgekit.judges.generative import CUT, Completion, Messages, estimated_tokens
from judgekit.judges.pacing import BudgetSpent, Pace
from judgekit.judges.server import Secret

LONGEST_BACKOFF = 60.0  # seconds
LONGEST_WAIT = 600.0  # seconds that a server's Retry-After is obeyed for
LONGEST_REPLY = 16  # MiB, decoded: 8,000 tokens with 20 alternatives each
LONGEST_SAID = 300  # characters of a server's message that are kept
SETTLING = 0.02  # seconds between looks at a budget that requests in flight hold
AGAIN = {408, 409, 425, 429}  # and what is 500 or above
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
    """A failure that another attempt may not meet: of an ``overloaded`` server, with the seconds it asked to ``wait``;
    ``billed`` where the request may have been answered, and counted, all the same.
    """

    def __init__(self, message: str, overloaded: bool = False, wait: float = 0.0, billed: bool = False) -> None:
        super().__init__(message)
        self.overloaded, self.wait, self.billed = overloaded, wait, billed


class _BoundedClient(httpx2.AsyncClient):
    """Sends the key, and reads no more of a reply than `LONGEST_REPLY`, whatever it is packed in.

    Every request has a connection of its own. On a connection that is used again, a reply that a proxy delivered twice
    is taken for the reply to the next request, and a pair gets the verdict on another.
    """

    def __init__(self, key: Secret, timeout: float) -> None:
        limits = httpx2.Limits(max_keepalive_connections=0)
        super().__init__(timeout=timeout, limits=limits, follow_redirects=False)
        self._key = key

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        request.headers.update({"Authorization": f"Bearer {self._key.reveal()}", "Connection": "close"})
        response = await super().send(request, **options | {"stream": True})
        body = bytearray()
        try:
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > LONGEST_REPLY * 2**20:
                    raise Passing(f"the reply is longer than {LONGEST_REPLY} MiB", billed=True)
        finally:
            await response.aclose()
        framing = ("content-encoding", "content-length", "transfer-encoding")
        headers = [(name, value) for name, value in response.headers.multi_items() if name not in framing]
        return httpx2.Response(response.status_code, headers=headers, content=bytes(body), request=request)


class ChatClient:
    """Asks one model of one server, up to and without ``/chat/completions``, within a pace."""

    def __init__(self, base_url: str, key: Secret, model: str, pace: Pace) -> None:
        self._key, self._model, self._pace = key, model, pace
        self._without: dict[str, str | None] = {}
        self._stopped: str | None = None
        self._failed_in_a_row = self.requests_sent = 0
        self._openai = openai.AsyncOpenAI(
            base_url=base_url,
            api_key="put in by the HTTP client",
            max_retries=0,
            timeout=pace.timeout,
            http_client=_BoundedClient(key, pace.timeout),
        )
        self._openai.organization = self._openai.project = None  # server and key come from two variables, no more

    async def __aenter__(self) -> "ChatClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._openai.close()

    async def complete(self, messages: Messages, max_tokens: int, **options: Any) -> Completion:
        """The completion of some messages.

        Refused where the server will not answer this request, Stopped where no request can succeed any more, ChatError
        where every attempt failed.
        """
        for attempt in range(self._pace.attempts):
            try:
                completion = await self._attempt(messages, max_tokens, options)
            except Passing as passing:
                failure = passing
                if attempt + 1 < self._pace.attempts:
                    longest = min(LONGEST_BACKOFF, self._pace.backoff * 2**attempt)
                    # Drawn, so that requests do not march in step.
                    await asyncio.sleep(max(passing.wait, random.uniform(0.5, 1.0) * longest))
            else:
                self._failed_in_a_row = 0
                return completion
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= self._pace.give_up_after:
            self._stop(f"{self._failed_in_a_row} requests in a row have failed; the last: {failure}")
        raise ChatError(f"{self._pace.attempts} attempts failed; the last: {failure}")

    def _stop(self, why: str) -> NoReturn:
        """Let no further request out."""
        self._stopped = self._stopped or why
        raise Stopped(why) from None

    async def _attempt(self, messages: Messages, max_tokens: int, options: dict[str, Any]) -> Completion:
        """One request, within concurrency, rates and budget."""
        pace, reserved = self._pace, (estimated_tokens(messages), max_tokens)
        async with pace.concurrency.slot() as token:
            await pace.requests.take(1)
            entry = await pace.tokens.take(sum(reserved))
            await self._reserve(reserved)
            used = reserved
            try:
                completion = await self._send(messages, max_tokens, options, reserved)
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

    async def _reserve(self, tokens: tuple[int, int]) -> None:
        """Set tokens aside; where they are not there, what is in flight may still give some back."""
        while not self._stopped:
            try:
                return self._pace.budget.reserve(*tokens)
            except BudgetSpent as spent:
                if not self._pace.budget.in_flight:
                    self._stop(str(spent))
            await asyncio.sleep(SETTLING)
        raise Stopped(f"not asked: {self._stopped}")

    async def _send(
        self, messages: Messages, max_tokens: int, options: dict[str, Any], reserved: tuple[int, int]
    ) -> Completion:
        """One HTTP exchange; whatever goes wrong becomes a `ChatError` of the fitting kind."""
        body = {"max_tokens": max_tokens, **options}
        for name, instead in self._without.items():
            if name in body:
                value = body.pop(name)
                body |= {instead: value} if instead else {}
        asked: Any = list(messages)
        started = time.perf_counter()
        self.requests_sent += 1
        try:
            async with asyncio.timeout(self._pace.timeout):
                create = self._openai.chat.completions.with_raw_response.create
                response = (await create(model=self._model, messages=asked, extra_body=body)).http_response
        except (TimeoutError, openai.APITimeoutError):
            said = f"no answer within {self._pace.timeout:g} s"
            raise Passing(said, overloaded=True, billed=True) from None
        except openai.APIStatusError as status:
            self._raise_for(status.status_code, status.response.text, status.response.headers, body)
        except openai.APIConnectionError as broken:
            raise Passing(f"the connection failed ({self._said(broken.__cause__ or broken)})", billed=True) from None
        return self._read(response, reserved, time.perf_counter() - started)

    def _said(self, what: object) -> str:
        """A foreign message: one line, bounded, without the key."""
        text = f"{type(what).__name__}: {what}" if isinstance(what, BaseException) else str(what)
        return self._key.redacted(" ".join(text.split()))[:LONGEST_SAID]

    def _raise_for(self, status: int, text: str, headers: Mapping[str, str], body: dict[str, Any]) -> NoReturn:
        """The error that a status other than 200 stands for."""
        said = self._said(text)
        if status == 429 and "insufficient_quota" in text:
            self._stop(f"the server says 429: {said}")
        if status in AGAIN or status >= 500:
            wait = retry_after(headers)
            if wait > LONGEST_WAIT:
                self._stop(f"the server asks to wait {wait:,.0f} s ({status}: {said})")
            raise Passing(f"the server says {status}: {said}", overloaded=True, wait=wait) from None
        if status in HOPELESS or 300 <= status < 400:
            self._stop(f"the server says {status}: {said}")
        for name, instead in SPARE.items():
            if name in body and name in said and NOT_TAKEN.search(said):
                if name not in self._without:
                    warnings.warn(f"{self._model}: the server does not take {name}; asked without it", stacklevel=2)
                self._without[name] = instead
                raise Passing(f"the server does not take {name}") from None
        raise Refused(f"the server says {status}: {said}") from None

    def _read(self, response: Any, reserved: tuple[int, int], seconds: float) -> Completion:
        """The completion in a reply of status 200; a reply of another shape is a failure that may pass."""
        try:
            fields = response.json()
        except (ValueError, RecursionError):
            raise Passing("the reply is no JSON", billed=True) from None
        try:
            choice = fields["choices"][0]
            message, cut = choice["message"], choice.get("finish_reason")
            cut = cut if cut in CUT else None
            texts = (message.get("content"), message.get("refusal"), "" if cut else None)  # a filter may leave nothing
            text = next(text for text in texts if text is not None)
            if not isinstance(text, str):
                raise TypeError("no text")
            usage = fields.get("usage") or {}
            counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
            used: list[int] = [c if _is_count(c) else kept for c, kept in zip(counts, reserved, strict=True)]
            logprobs = tuple((choice.get("logprobs") or {}).get("content") or ())
        except (LookupError, TypeError, AttributeError, StopIteration) as wrong:
            raise Passing(f"the reply has another shape ({type(wrong).__name__})", billed=True) from None
        return Completion(self._key.redacted(text, alike=False), used[0], used[1], logprobs, seconds, cut=cut)


def _is_count(value: object) -> TypeGuard[int]:
    """Whether a value is a number of tokens."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds that a server asks to wait, from ``retry-after-ms``, or ``Retry-After`` in seconds or as a date.

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
