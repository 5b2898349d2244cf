"""The server that a model is behind: where it is, its key, how fast it may be asked, and for how much."""

import re
from collections.abc import Mapping
from typing import NoReturn
from urllib.parse import urlsplit

from pydantic import PositiveFloat, PositiveInt
from pydantic.dataclasses import dataclass

from judgekit.judges.pacing import Budget, Concurrency, Pace, RateLimit
from judgekit.models.errors import Unavailable

KEY_LIKE = re.compile(r"\b(?:sk|pk|hf|gsk|xai)[-_][A-Za-z0-9_*.-]{8,}")
HIDDEN = "[key]"
SHORTEST = 8  # characters: "EMPTY" or "x" for a server that wants no key is no secret, and stands in many texts


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
        without = text.replace(self.__text, HIDDEN) if len(self.__text) >= SHORTEST else text
        return KEY_LIKE.sub(HIDDEN, without) if alike else without

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
    backoff: float = 0.5  # seconds to wait after the first failed attempt; doubles each time
    concurrency: int = 8  # requests at once, at the beginning
    most: int = 64  # and at most
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_cost: float | None = None  # in the currency of the prices
    price_in: float | None = None  # per million tokens
    price_out: float | None = None
    max_total_tokens: int | None = None  # prompts and completions together
    give_up_after: PositiveInt = 20  # failed calls in a row, after which the rest is not asked

    def budget(self) -> Budget:
        """A budget that nothing has been taken from; Unavailable where prices lack or a number is negative."""
        try:
            return Budget(self.max_cost, self.max_total_tokens, self.price_in, self.price_out)
        except ValueError as wrong:
            raise Unavailable(str(wrong)) from None

    def pace(self, budget: Budget) -> Pace:
        """Limits for one run, with a budget that may outlive it: they belong to the event loop they are first used in.

        Unavailable where a limit lets nothing through.
        """
        try:
            return Pace(
                timeout=self.timeout,
                attempts=self.attempts,
                backoff=self.backoff,
                give_up_after=self.give_up_after,
                concurrency=Concurrency(self.concurrency, self.most),
                requests=RateLimit(self.requests_per_minute),
                tokens=RateLimit(self.tokens_per_minute),
                budget=budget,
            )
        except ValueError as wrong:
            raise Unavailable(str(wrong)) from None


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
