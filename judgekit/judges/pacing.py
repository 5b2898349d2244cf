"""How fast a server may be asked, and for how much: concurrency that adapts, rates per minute, a budget.

By hand, because a leaky bucket (aiolimiter) lets through twice its rate within a window, and neither takes back tokens
that were estimated and not used, nor gives way to an overloaded server.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

WINDOW = 60.0  # seconds: servers count requests and tokens by the minute
PER = 1_000_000  # tokens that a price is for


class Concurrency:
    """Requests in flight: halved where the server is overloaded, grown slowly where it is not (AIMD).

    ``limit`` is how many go out at once now, ``lowest`` the smallest it has been. A burst of failures halves once:
    requests that had started before the last halving tell nothing new. A full round of successes adds one.
    """

    def __init__(self, start: int = 8, most: int = 64) -> None:
        if not 1 <= start <= most:
            raise ValueError(f"concurrency starts at {start} of at most {most}: from 1 to {most}, please")
        self.limit = self.lowest = float(start)
        self.most = most
        self.running = self.halvings = 0
        self._resume_at = 0.0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """One request, once there is room and no pause; yields a token for `overloaded`."""
        while True:
            await asyncio.sleep(max(0.0, self._resume_at - time.monotonic()))
            async with self._changed:
                await self._changed.wait_for(lambda: self.running < int(self.limit))
                if self._resume_at <= time.monotonic():
                    self.running += 1
                    break
        try:
            yield self.halvings
        finally:
            self.running -= 1
            async with self._changed:
                self._changed.notify_all()

    def succeeded(self) -> None:
        """A request came back well."""
        self.limit = min(self.most, self.limit + 1 / self.limit)

    def overloaded(self, token: int) -> None:
        """A request that had started with ``token`` met an overloaded server."""
        if token == self.halvings:
            self.halvings += 1
            self.limit = max(1.0, self.limit / 2)
            self.lowest = min(self.lowest, self.limit)

    def pause(self, seconds: float) -> None:
        """Start no request for a while: the server asked for it."""
        self._resume_at = max(self._resume_at, time.monotonic() + seconds)


class RateLimit:
    """At most so much in any window of seconds; a single request for more waits for an empty window."""

    def __init__(self, most: float | None, window: float = WINDOW) -> None:
        if most is not None and most <= 0:
            raise ValueError(f"a limit of {most} per minute lets nothing through")
        self.most, self.window = most, window
        self._taken: deque[list[float]] = deque()
        self._turn = asyncio.Lock()

    async def take(self, amount: float) -> list[float]:
        """Wait until ``amount`` may be used; an entry for `settle`."""
        entry = [0.0, amount]
        if self.most is not None:
            async with self._turn:  # first come, first served
                while (wait := self._wait_for(amount, self.most)) > 0:
                    await asyncio.sleep(wait)
                entry[0] = time.monotonic()
                self._taken.append(entry)
        return entry

    def _wait_for(self, amount: float, most: float) -> float:
        """Seconds until the oldest use leaves the window; 0 where there is room."""
        now = time.monotonic()
        while self._taken and self._taken[0][0] <= now - self.window:
            self._taken.popleft()
        full = self._taken and sum(used for _, used in self._taken) + amount > most
        return self._taken[0][0] + self.window - now + 1e-4 if full else 0.0

    @staticmethod
    def settle(entry: list[float], amount: float) -> None:
        """Put what was really used in place of what was estimated."""
        entry[1] = amount


class BudgetSpent(Exception):
    """The next request could go beyond the budget."""


class Budget:
    """What a run may cost: in the currency of the prices (per million tokens), or in tokens of prompt and completion.

    A request is let through only if it stays within the budget at its worst, with its longest completion; so the
    budget is never exceeded as far as the server counts as it is estimated here.
    """

    def __init__(
        self,
        max_cost: float | None = None,
        max_tokens: int | None = None,
        price_in: float | None = None,
        price_out: float | None = None,
    ) -> None:
        if max_cost is not None and (price_in is None or price_out is None):
            raise ValueError("max_cost needs price_in and price_out (per million tokens)")
        if any(number is not None and number < 0 for number in (max_cost, max_tokens, price_in, price_out)):
            raise ValueError("budget and prices cannot be negative")
        self.max_cost = math.inf if max_cost is None else max_cost
        self.max_tokens = math.inf if max_tokens is None else max_tokens
        self.prices = (price_in, price_out)
        self.tokens_in = self.tokens_out = self.in_flight = 0

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """What tokens cost; 0 without prices."""
        return (tokens_in * (self.prices[0] or 0) + tokens_out * (self.prices[1] or 0)) / PER

    def reserve(self, tokens_in: int, tokens_out: int) -> None:
        """Set tokens aside for a request at its worst; BudgetSpent where they are not there."""
        after = (self.tokens_in + tokens_in, self.tokens_out + tokens_out)
        if sum(after) > self.max_tokens:
            raise BudgetSpent(f"the budget of {self.max_tokens:,} tokens does not allow another request")
        if self.cost(*after) > self.max_cost:
            raise BudgetSpent(f"the budget of {self.max_cost:g} does not allow another request")
        self.tokens_in, self.tokens_out = after
        self.in_flight += 1

    def settle(self, reserved: tuple[int, int], used: tuple[int, int]) -> None:
        """Put what was really used, (in, out), in place of what was reserved."""
        self.in_flight -= 1
        self.tokens_in += used[0] - reserved[0]
        self.tokens_out += used[1] - reserved[1]


@dataclass
class Pace:
    """How a server is asked; one line each in `judgekit.judges.server.ServerSettings`."""

    timeout: float = 120.0
    attempts: int = 6
    backoff: float = 0.5
    give_up_after: int = 20
    concurrency: Concurrency = field(default_factory=Concurrency)
    requests: RateLimit = field(default_factory=lambda: RateLimit(None))
    tokens: RateLimit = field(default_factory=lambda: RateLimit(None))
    budget: Budget = field(default_factory=Budget)
