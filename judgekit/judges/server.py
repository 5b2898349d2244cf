"""The server that a model is behind: where it is, its key, how fast it may be asked, and for how much.

Rates by hand, because a leaky bucket (aiolimiter) lets through twice its rate within a window and does not take back
tokens that were estimated and not used.
"""

import asyncio
import re
import time
from collections import deque
from collections.abc import Mapping
from math import inf
from typing import Annotated, NoReturn
from urllib.parse import urlsplit

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator
from pydantic.dataclasses import dataclass

from judgekit.models import Unavailable

_KEY_LIKE = re.compile(r"\b(?:sk|pk|hf|gsk|xai)[-_][A-Za-z0-9_*.-]{8,}")
_HIDDEN = "[key]"
_SHORTEST = 8  # characters: "EMPTY" or "x" for a server that wants no key is no secret, and stands in many texts
_WINDOW = 60.0  # seconds: servers count requests and tokens by the minute


class Secret:
    """A key that is not printed, not pickled, and taken out of what is kept.

    >>> key = Secret("sk-0123456789")
    >>> key, f"{key}", key.redacted("Incorrect key: sk-0123456789")
    (Secret, 'Secret', 'Incorrect key: [key]')
    """

    __slots__ = ("__text",)

    def __init__(self, text: str) -> None:
        self.__text = text

    def reveal(self) -> str:
        """The text itself, for the header of a request and nothing else."""
        return self.__text

    def redacted(self, text: str, alike: bool = True) -> str:
        """A text without the key; and, with ``alike``, without what looks like one that a server echoed in part."""
        without = text.replace(self.__text, _HIDDEN) if len(self.__text) >= _SHORTEST else text
        return _KEY_LIKE.sub(_HIDDEN, without) if alike else without

    def __repr__(self) -> str:
        return "Secret"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written down")


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """How a server is asked. Rates and budgets limit one judge or teacher in one run, not all runs together."""

    temperature: float = 0.0
    max_tokens: int | None = None  # of a completion; by default few where the reply is the verdict, more for thinking
    max_characters: PositiveInt = 48_000  # of a prompt; beyond it a response loses its middle, a teacher is not asked
    timeout: PositiveFloat = 120.0  # seconds for one attempt
    attempts: PositiveInt = 6  # for one call
    backoff: NonNegativeFloat = 0.5  # seconds to wait after the first failed attempt; doubles each time
    concurrency: PositiveInt = 16  # requests at once
    requests_per_minute: PositiveFloat | None = None
    tokens_per_minute: PositiveFloat | None = None
    max_cost: Annotated[float | None, Field(ge=0)] = None  # in the currency of the prices
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
    """At most so much in any window of seconds; a single request for more waits for an empty window."""

    def __init__(self, most: float | None, window: float = _WINDOW) -> None:
        self._most, self._window = inf if most is None else most, window
        self._taken: deque[list[float]] = deque()
        self._turn = asyncio.Lock()

    async def take(self, amount: float) -> list[float]:
        """Wait until ``amount`` may be used; an entry whose second value may be set to what was really used."""
        entry = [0.0, amount]
        if self._most < inf:
            async with self._turn:  # first come, first served
                while (wait := self._wait_for(amount)) > 0:
                    await asyncio.sleep(wait)
                entry[0] = time.monotonic()
                self._taken.append(entry)
        return entry

    def _wait_for(self, amount: float) -> float:
        """Seconds until the oldest use leaves the window; 0 where there is room."""
        now = time.monotonic()
        while self._taken and self._taken[0][0] <= now - self._window:
            self._taken.popleft()
        full = self._taken and sum(used for _, used in self._taken) + amount > self._most
        return self._taken[0][0] + self._window - now + 1e-4 if full else 0.0


class BudgetSpent(Exception):
    """The next request could go beyond the budget."""


class Budget:
    """What a run may cost: in the currency of the prices, or in tokens of prompt and completion.

    A request is let through only if it stays within the budget at its worst, with its longest completion; so the
    budget is never exceeded as far as the server counts as it is estimated here.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self.tokens_in = self.tokens_out = self.in_flight = 0

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """What tokens cost; None without prices."""
        price_in, price_out = self._settings.price_in, self._settings.price_out
        return None if price_in is None or price_out is None else (tokens_in * price_in + tokens_out * price_out) / 1e6

    def reserve(self, tokens_in: int, tokens_out: int) -> None:
        """Set tokens aside for a request at its worst; BudgetSpent where they are not there."""
        after, allowed = (self.tokens_in + tokens_in, self.tokens_out + tokens_out), self._settings
        if allowed.max_total_tokens is not None and sum(after) > allowed.max_total_tokens:
            raise BudgetSpent(f"the budget of {allowed.max_total_tokens:,} tokens does not allow another request")
        if allowed.max_cost is not None and (self.cost(*after) or 0) > allowed.max_cost:
            raise BudgetSpent(f"the budget of {allowed.max_cost:g} does not allow another request")
        self.tokens_in, self.tokens_out = after
        self.in_flight += 1

    def settle(self, reserved: tuple[int, int], used: tuple[int, int]) -> None:
        """Put what was really used, (in, out), in place of what was reserved."""
        self.in_flight -= 1
        self.tokens_in += used[0] - reserved[0]
        self.tokens_out += used[1] - reserved[1]


def server_of(environment: Mapping[str, str]) -> tuple[str, Secret]:
    """Base URL and key; Unavailable names the variable that is missing or wrong, and never shows the key."""
    url, key = (environment.get(name, "").strip() for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"))
    for name, value, example in (
        ("OPENAI_BASE_URL", url, "https://api.openai.com/v1 or http://localhost:8000/v1"),
        ("OPENAI_API_KEY", key, "the server's key; any word for a server that wants none"),
    ):
        if not value:
            raise Unavailable(f"the environment variable {name} is not set ({example})")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise Unavailable("OPENAI_BASE_URL must be http(s)://host[:port]/path, without user, query or fragment")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise Unavailable("OPENAI_API_KEY holds characters that no key has (its value is not shown)")
    return url.rstrip("/"), Secret(key)
