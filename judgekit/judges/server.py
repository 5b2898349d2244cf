"""A model behind an OpenAI-compatible server: its key, how fast it may be asked and for how much, and its completions.

The openai package's own retries are off: a retry can be paid for twice and has to be counted against the budget.
"""

import asyncio
import email.utils
import random
import re
import time
import warnings
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from math import inf
from typing import Annotated, Any, NoReturn
from urllib.parse import urlsplit

import httpx2
import openai
from anyio.from_thread import start_blocking_portal
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, SecretStr, model_validator
from pydantic.dataclasses import dataclass

from judgekit.judges.generative import ENDED, Completion, Messages, estimated_tokens
from judgekit.models import Unavailable
from judgekit.records import Reply

_KEY_LIKE = re.compile(r"\b(?:sk|pk|hf|gsk|xai)[-_][A-Za-z0-9_*.-]{8,}")
_HIDDEN = "[key]"
_SHORTEST = 8  # characters: "EMPTY" or "x" for a server that wants no key is no secret, and stands in many texts
_WINDOW = 60.0  # seconds: servers count requests and tokens by the minute
_LONGEST_BACKOFF = 60.0  # seconds
_LONGEST_WAIT = 600.0  # seconds that a server's Retry-After is obeyed for
_LONGEST_REPLY = 16  # MiB, decoded: 8,000 tokens with 20 alternatives each
_LONGEST_SAID = 300  # characters of a server's message that are kept
_LONGEST_SHOWN = 120  # of a reply that is none
_MOST_TOKENS = 2**40  # of one reply, whatever a server counts
_SETTLING = 0.02  # seconds between looks at a budget that requests in flight hold
_AGAIN = {408, 409, 425, 429}  # and what is 500 or above
_HOPELESS = {401, 402, 403, 404, 405, 410}  # no other request fares better
_NOT_TAKEN = re.compile(r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted", re.IGNORECASE)
_SPARE = {  # parameters that a request can do without, and what takes their place
    "max_tokens": "max_completion_tokens",
    "temperature": None,
    "top_logprobs": None,
    "logprobs": None,
}


class Secret(SecretStr):
    """A key that is not printed, not pickled, and taken out of what is kept.

    >>> Secret("sk-0123456789").redacted("Incorrect key: sk-0123456789")
    'Incorrect key: [key]'
    """

    def redacted(self, text: str, alike: bool = True) -> str:
        """A text without the key; and, with ``alike``, without what looks like one that a server echoed in part."""
        key = self.get_secret_value()
        without = text.replace(key, _HIDDEN) if len(key) >= _SHORTEST else text
        return _KEY_LIKE.sub(_HIDDEN, without) if alike else without

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written down")


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """How a server is asked. Rates and budgets limit one judge or teacher in one run, not all runs together."""

    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    max_tokens: PositiveInt | None = None  # of a completion; by default few where the reply is the verdict
    max_characters: PositiveInt = 48_000  # of a prompt; beyond it a response loses its middle, a teacher is not asked
    timeout: PositiveFloat = 120.0  # seconds for one attempt
    attempts: PositiveInt = 6  # for one call
    backoff: NonNegativeFloat = 0.5  # seconds to wait after the first failed attempt; doubles each time
    concurrency: Annotated[int, Field(gt=0, le=1024)] = 16  # requests at once
    requests_per_minute: Annotated[float, Field(ge=1)] = inf
    max_cost: NonNegativeFloat | None = None  # in the currency of the prices
    price_in: NonNegativeFloat | None = None  # per million tokens
    price_out: NonNegativeFloat | None = None
    max_total_tokens: NonNegativeInt | None = None  # prompts and completions together
    give_up_after: PositiveInt = 20  # failed calls in a row, after which the rest is not asked

    @model_validator(mode="after")
    def _has_prices(self) -> "ServerSettings":
        if self.max_cost is not None and None in (self.price_in, self.price_out):
            raise ValueError("max_cost needs price_in and price_out (per million tokens)")
        return self


class RateLimit:
    """At most so many in any window of seconds (a leaky bucket lets through twice its rate within one)."""

    def __init__(self, most: float, window: float = _WINDOW, taken: deque[float] | None = None) -> None:
        self._most, self._window, self._taken = most, window, deque[float]() if taken is None else taken
        self._turn = asyncio.Lock()

    async def take(self) -> None:
        """Wait until one more may be sent."""
        async with self._turn:  # first come, first served
            if len(self._taken) + 1 > self._most:
                await asyncio.sleep(max(0.0, self._taken[0] + self._window - time.monotonic()) + 1e-4)
                self._taken.popleft()
            if self._most < inf:
                self._taken.append(time.monotonic())


class Budget:
    """What a judge may cost, and knows of its server; a request passes if its longest completion stays within."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings, self.sent = settings, deque[float]()  # when
        self.tokens_in = self.tokens_out = self.in_flight = self.failed_in_a_row = 0
        self.stopped: str | None = None  # why no request can succeed any more
        self.without, self.resume_at = dict[str, str | None](), 0.0

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """What tokens cost; None without prices."""
        price_in, price_out = self._settings.price_in, self._settings.price_out
        return None if price_in is None or price_out is None else (tokens_in * price_in + tokens_out * price_out) / 1e6

    def reserve(self, tokens_in: int, tokens_out: int) -> str | None:
        """Set tokens aside for a request; where they are not there, why."""
        after, allowed = (self.tokens_in + tokens_in, self.tokens_out + tokens_out), self._settings
        if allowed.max_total_tokens is not None and sum(after) > allowed.max_total_tokens:
            return f"the budget of {allowed.max_total_tokens:,} tokens does not allow another request"
        if allowed.max_cost is not None and (self.cost(*after) or 0) > allowed.max_cost:
            return f"the budget of {allowed.max_cost:g} does not allow another request"
        self.tokens_in, self.tokens_out = after
        self.in_flight += 1
        return None

    def settle(self, reserved: tuple[int, int], used: tuple[int, int]) -> None:
        """Put what was really used, (in, out), in place of what was reserved."""
        self.in_flight -= 1
        self.tokens_in += used[0] - reserved[0]
        self.tokens_out += used[1] - reserved[1]


class ChatError(Exception):
    """A request that has failed for good; another may fare better. The message holds no key."""

    def __init__(self, message: str, billed: bool = False) -> None:
        super().__init__(message)
        self.billed = billed  # whether the server may want its tokens paid


class Stopped(ChatError):
    """No further request can succeed: a refused key, an unknown model, a spent budget, a dead server."""


class Passing(ChatError):
    """A failure that another attempt may not meet."""


class _BoundedClient(httpx2.AsyncClient):
    """Sends the key, and reads no more of a reply than `_LONGEST_REPLY`, whatever it is packed in.

    Every request has a connection of its own: on one that is used again, a second reply would be the next one's.
    """

    def __init__(self, key: Secret, timeout: float) -> None:
        limits = httpx2.Limits(max_keepalive_connections=0)
        super().__init__(timeout=timeout, limits=limits, follow_redirects=False)
        self._key = key

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        request.headers.update({"Authorization": f"Bearer {self._key.get_secret_value()}", "Connection": "close"})
        response = await super().send(request, **options | {"stream": True})
        body = bytearray()
        try:
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > _LONGEST_REPLY * 2**20:
                    raise Passing(f"the reply is longer than {_LONGEST_REPLY} MiB", billed=True)
        finally:
            await response.aclose()
        framing = ("content-encoding", "content-length", "transfer-encoding")
        headers = [(name, value) for name, value in response.headers.multi_items() if name not in framing]
        return httpx2.Response(response.status_code, headers=headers, content=bytes(body), request=request)


class ChatClient:
    """Asks one model of one server, up to and without ``/chat/completions``, within rates and budget; for one run."""

    def __init__(
        self, base_url: str, key: Secret, model: str, settings: ServerSettings, budget: Budget, known: Any = None
    ) -> None:
        self._key, self._model, self._settings, self._budget = key, model, settings, budget
        self._rate = RateLimit(settings.requests_per_minute, taken=budget.sent)
        self._known: dict[Any, Any] = {} if known is None else known  # what `once` made, by its key
        self._locks: defaultdict[Any, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._openai = openai.AsyncOpenAI(
            base_url=base_url,
            api_key="put in by the HTTP client",
            max_retries=0,
            timeout=settings.timeout,
            http_client=_BoundedClient(key, settings.timeout),
        )
        self._openai.organization = self._openai.project = None  # server and key come from two variables, no more

    def replies(
        self, items: Sequence[Any], reply: Callable[[Any], Awaitable[Reply]], failed: Callable[[str], Reply]
    ) -> Iterator[dict[int, Reply]]:
        """Yield replies as they come, by the position of their item; a failure is a reply, too.

        One more is asked for each that the consumer has dealt with, and closing the generator cancels what is in
        flight: an interruption loses ``concurrency`` replies at most, however slowly the consumer stores them.
        """
        waiting = iter(enumerate(items))
        running: set[asyncio.Task[dict[int, Reply]]] = set()

        async def one(position: int, item: Any) -> dict[int, Reply]:
            try:
                return {position: await reply(item)}
            except Exception as failure:  # one item that fails must not cost the others
                return {position: failed(self.told(failure))}

        async def finished() -> dict[int, Reply]:
            for position, item in islice(waiting, self._settings.concurrency - len(running)):
                running.add(asyncio.create_task(one(position, item)))
            if not running:
                return {}
            task = (await asyncio.wait(running, return_when="FIRST_COMPLETED"))[0].pop()
            running.remove(task)
            return task.result()

        async def end() -> None:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await self._openai.close()

        with start_blocking_portal() as portal:  # an event loop in a thread of its own: one may run here already
            try:
                while replied := portal.call(finished):
                    yield replied
            finally:
                portal.call(end)

    def told(self, failure: Exception) -> str:
        """What went wrong, without the key."""
        kind = "not asked" if isinstance(failure, Stopped) else type(failure).__name__
        return f"{kind}: {self._key.redacted(str(failure))}"

    async def once(self, key: Any, work: Callable[[], Awaitable[Any]]) -> tuple[Any, bool]:
        """What comes of work that is done once for a key, and whether it was done now; what failed is done again."""
        async with self._locks[key]:
            if made := key not in self._known:
                self._known[key] = await work()
        return self._known[key], made

    async def complete(self, messages: Messages, max_tokens: int, **options: Any) -> Completion:
        """The completion of some messages; ChatError where every attempt failed or none can succeed."""
        attempts = self._settings.attempts
        for attempt in range(attempts):
            try:
                completion = await self._attempt(messages, max_tokens, options)
                self._budget.failed_in_a_row = 0
                return completion
            except Passing as passing:
                failure = passing
                if attempt + 1 < attempts:
                    longest = min(_LONGEST_BACKOFF, self._settings.backoff * 2**attempt)
                    # Drawn, so that requests do not march in step.
                    await asyncio.sleep(random.uniform(0.5, 1.0) * longest)
        self._budget.failed_in_a_row += 1
        if self._budget.failed_in_a_row >= self._settings.give_up_after:
            self._stop(f"{self._budget.failed_in_a_row} requests in a row have failed; the last: {failure}")
        raise ChatError(f"{attempts} attempts failed; the last: {failure}")

    def _stop(self, why: str) -> NoReturn:
        """Let no further request out."""
        self._budget.stopped = self._budget.stopped or why
        raise Stopped(why) from None

    async def _attempt(self, messages: Messages, max_tokens: int, options: dict[str, Any]) -> Completion:
        """One request, within rates and budget; what is in flight may still give tokens back."""
        reserved = used = (estimated_tokens(messages), max_tokens)
        while (wait := self._budget.resume_at - time.monotonic()) > 0:
            await asyncio.sleep(wait)
        await self._rate.take()
        while not self._budget.stopped and (spent := self._budget.reserve(*reserved)):
            if not self._budget.in_flight:
                self._stop(spent)
            await asyncio.sleep(_SETTLING)
        if self._budget.stopped:
            raise Stopped(self._budget.stopped)
        try:
            completion = await self._send(messages, max_tokens, options, reserved)
            used = (completion.tokens_in, completion.tokens_out or 0)
            return completion
        except ChatError as failure:
            used = reserved if failure.billed else (0, 0)
            raise
        finally:
            self._budget.settle(reserved, used)

    async def _send(
        self, messages: Messages, max_tokens: int, options: dict[str, Any], reserved: tuple[int, int]
    ) -> Completion:
        """One HTTP exchange; whatever goes wrong becomes a `ChatError` of the fitting kind."""
        given = {"max_tokens": max_tokens, **options}
        body = {name: given[key] for key in given if (name := self._budget.without.get(key, key))}
        asked: Any = list(messages)
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._settings.timeout):
                create = self._openai.chat.completions.with_raw_response.create
                response = (await create(model=self._model, messages=asked, extra_body=body)).http_response
        except (TimeoutError, openai.APITimeoutError):
            raise Passing(f"no answer within {self._settings.timeout:g} s", billed=True) from None
        except openai.APIStatusError as status:
            self._raise_for(status.status_code, status.response.text, status.response.headers, body)
        except openai.APIConnectionError as broken:
            sent = not isinstance(broken.__cause__, httpx2.ConnectError)  # else no server took it
            raise Passing(f"the connection failed ({self._said(broken.__cause__ or broken)})", billed=sent) from None
        return self._read(response, reserved, time.perf_counter() - started)

    def _said(self, what: object) -> str:
        """A foreign message: one line, bounded, without the key."""
        text = f"{type(what).__name__}: {what}" if isinstance(what, BaseException) else str(what)
        return self._key.redacted(" ".join(text.split()))[:_LONGEST_SAID]

    def _raise_for(self, status: int, text: str, headers: Mapping[str, str], body: dict[str, Any]) -> NoReturn:
        """The error that a status other than 200 stands for."""
        said = self._said(text)
        no_quota = status == 429 and "insufficient_quota" in text
        if no_quota or status in _HOPELESS or 300 <= status < 400:
            self._stop(f"the server says {status}: {said}")
        if status in _AGAIN or status >= 500:
            wait = retry_after(headers)
            if wait > _LONGEST_WAIT:
                self._stop(f"the server asks to wait {wait:,.0f} s ({status}: {said})")
            self._budget.resume_at = max(self._budget.resume_at, time.monotonic() + wait)
            raise Passing(f"the server says {status}: {said}") from None
        for name, instead in _SPARE.items():
            if name in body and name in said and _NOT_TAKEN.search(said):
                if name not in self._budget.without:
                    said = f"{self._model}: the server does not take {name}; asked with {instead or 'nothing'} instead"
                    warnings.warn(said, stacklevel=2)
                self._budget.without[name] = instead
                raise Passing(f"the server does not take {name}") from None
        raise ChatError(f"the server says {status}: {said}") from None

    def _read(self, response: Any, reserved: tuple[int, int], seconds: float) -> Completion:
        """The completion in a reply of status 200; a reply of another shape is a failure that may pass."""
        try:
            fields = response.json()
            choice, usage = fields["choices"][0], fields.get("usage") or {}
            why = choice.get("finish_reason") or ""
            cut = None if str(why).lower() in ENDED else self._said(why)
            texts = (choice["message"].get(kind) for kind in ("content", "refusal"))
            text = next((text for text in texts if text is not None), "" if why else None)  # it may be empty
            if not isinstance(text, str):
                raise TypeError
            counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
            used = [
                n if type(n) is int and 0 <= n < _MOST_TOKENS else kept
                for n, kept in zip(counts, reserved, strict=True)
            ]
            logprobs = tuple((choice.get("logprobs") or {}).get("content") or ())
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
            said = self._said(response.text)
            came = said[max(0, said.find('"choices"')) :][:_LONGEST_SHOWN] or "nothing"
            raise Passing(f"expected JSON with a text in choices[0].message.content; {came} came", True) from None
        return Completion(self._key.redacted(text, alike=False), used[0], used[1], logprobs, seconds, cut=cut)


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds that a server asks to wait, from ``retry-after-ms``, or ``Retry-After`` in seconds or as a date."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,12}(?:\.\d+)?", value):
            return float(value) / unit
        with suppress(ValueError, OverflowError):
            return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    return 0.0


def server_of(environment: Mapping[str, str]) -> tuple[str, Secret]:
    """Base URL and key; Unavailable names the variable that is missing or wrong, and never shows the key."""
    url, key = (environment.get(name, "").strip() for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"))
    for name, value, example in (
        ("OPENAI_BASE_URL", url, "https://api.openai.com/v1 or http://localhost:8000/v1"),
        ("OPENAI_API_KEY", key, "the server's key; EMPTY for a server that wants none"),
    ):
        if not value:
            raise Unavailable(f"the environment variable {name} is not set ({example})")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise Unavailable("OPENAI_BASE_URL must be http(s)://host[:port]/path, without user, query or fragment")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise Unavailable("OPENAI_API_KEY holds characters that no key has (its value is not shown)")
    return url.rstrip("/"), Secret(key)
