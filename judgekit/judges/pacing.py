"""How fast a server may be asked, and for how much: concurrency that adapts, rates per minute, a budget."""

import asyncio
import math
import time
from collections import deque
from contextlib import asynccontextmanager

WINDOW = 60.0  # seconds: servers count requests and tokens by the minute
PER = 1_000_000  # tokens that a price is for


class Concurrency:
    """Requests in flight: halved where the server is overloaded, grown slowly where it is not (AIMD).

    Parameters
    ----------
    start, most : int, at least 1
        Requests at once, at the beginning and at most.

    Attributes
    ----------
    limit : float
        Requests at once now.
    lowest : float
        The smallest the limit has been.

    Notes
    -----
    A burst of failures halves once: requests that had started before the last halving tell nothing new. A full round
    of successes adds one.
    """

    def __init__(self, start=8, most=64):
        if not 1 <= start <= most:
            raise ValueError(f"concurrency starts at {start} of at most {most}: from 1 to {most}, please")
        self.limit = self.lowest = float(start)
        self.most = most
        self.running = self.halvings = 0
        self.resume_at = 0.0
        self.changed = asyncio.Condition()

    @asynccontextmanager
    async def slot(self):
        """One request; waits for a free place and for the end of a pause. Yields a token for `overloaded`."""
        async with self.changed:
            while True:
                if (pause := self.resume_at - time.monotonic()) > 0:
                    self.changed.release()
                    try:
                        await asyncio.sleep(pause)
                    finally:
                        await self.changed.acquire()
                elif self.running < int(self.limit):
                    break
                else:
                    await self.changed.wait()
            self.running += 1
        try:
            yield self.halvings
        finally:
            self.running -= 1
            async with self.changed:
                self.changed.notify_all()

    def succeeded(self):
        """A request came back well."""
        self.limit = min(self.most, self.limit + 1 / self.limit)

    def overloaded(self, token):
        """A request that had started with ``token`` met an overloaded server."""
        if token == self.halvings:
            self.halvings += 1
            self.limit = max(1.0, self.limit / 2)
            self.lowest = min(self.lowest, self.limit)

    def pause(self, seconds):
        """Start no request for a while: the server asked for it."""
        self.resume_at = max(self.resume_at, time.monotonic() + seconds)


class RateLimit:
    """At most so much in any window of time.

    Parameters
    ----------
    most : float or None
        Requests or tokens; None for no limit. A single request for more waits for an empty window.
    window : float
        Seconds.
    """

    def __init__(self, most, window=WINDOW):
        if most is not None and most <= 0:
            raise ValueError(f"a limit of {most} per minute lets nothing through")
        self.most, self.window = most, window
        self.taken = deque()
        self.turn = asyncio.Lock()

    async def take(self, amount):
        """Wait until ``amount`` may be used. Returns an entry for `settle`."""
        entry = [0.0, amount]
        if self.most is None:
            return entry
        async with self.turn:  # first come, first served
            while (wait := self.wait_for(amount)) > 0:
                await asyncio.sleep(wait)
            entry[0] = time.monotonic()
            self.taken.append(entry)
        return entry

    def wait_for(self, amount):
        """Seconds until the oldest use leaves the window; 0 where there is room."""
        now = time.monotonic()
        while self.taken and self.taken[0][0] <= now - self.window:
            self.taken.popleft()
        full = self.taken and sum(used for _, used in self.taken) + amount > self.most
        return self.taken[0][0] + self.window - now + 1e-4 if full else 0.0

    @staticmethod
    def settle(entry, amount):
        """Put what was really used in place of what was estimated."""
        entry[1] = amount


class BudgetSpent(Exception):
    """The next request could go beyond the budget."""


class Budget:
    """What a run may cost.

    Parameters
    ----------
    max_cost : float, optional
        In the currency of the prices.
    max_tokens : int, optional
        Prompt and completion together.
    price_in, price_out : float, optional
        Per million tokens.

    Raises
    ------
    ValueError
        If a cost is limited and prices are not declared, or a number is negative.

    Notes
    -----
    A request is let through only if it stays within the budget at its worst, with its longest completion; so the
    budget is never exceeded as far as the server counts as it is estimated here.
    """

    def __init__(self, max_cost=None, max_tokens=None, price_in=None, price_out=None):
        if max_cost is not None and (price_in is None or price_out is None):
            raise ValueError("max_cost needs price_in and price_out (per million tokens)")
        if any(number is not None and number < 0 for number in (max_cost, max_tokens, price_in, price_out)):
            raise ValueError("budget and prices cannot be negative")
        self.max_cost = math.inf if max_cost is None else max_cost
        self.max_tokens = math.inf if max_tokens is None else max_tokens
        self.prices = (price_in, price_out)
        self.tokens_in = self.tokens_out = self.in_flight = 0

    def cost(self, tokens_in, tokens_out):
        """What tokens cost; 0 without prices."""
        return (tokens_in * (self.prices[0] or 0) + tokens_out * (self.prices[1] or 0)) / PER

    def reserve(self, tokens_in, tokens_out):
        """Set tokens aside for a request at its worst.

        Raises
        ------
        BudgetSpent
            If they are not there.
        """
        after = (self.tokens_in + tokens_in, self.tokens_out + tokens_out)
        if sum(after) > self.max_tokens:
            raise BudgetSpent(f"the budget of {self.max_tokens:,} tokens does not allow another request")
        if self.cost(*after) > self.max_cost:
            raise BudgetSpent(f"the budget of {self.max_cost:g} does not allow another request")
        self.tokens_in, self.tokens_out = after
        self.in_flight += 1

    def settle(self, reserved, used):
        """Put what was really used, (in, out), in place of what was reserved."""
        self.in_flight -= 1
        self.tokens_in += used[0] - reserved[0]
        self.tokens_out += used[1] - reserved[1]
