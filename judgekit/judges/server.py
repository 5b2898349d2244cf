"""The server that a model is behind: where it is, how fast it may be asked, and for how much."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from judgekit.judges.chat import Pace
from judgekit.judges.pacing import Budget, Concurrency, RateLimit
from judgekit.judges.secrets import Secret
from judgekit.models.errors import Unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How a server is asked. Rates and budgets limit one judge or teacher in one run, not all runs together.

    Attributes
    ----------
    temperature : float
    max_tokens : int, optional
        Longest completion; by default short for replies that are the verdict alone. Models that think need more.
    max_characters : int
        Longest prompt; beyond it a judge is shown the longest response without its middle, and a teacher is not asked.
    timeout : float
        Seconds for one attempt.
    attempts : int
        Attempts for one call.
    backoff : float
        Seconds to wait after the first failed attempt; doubles each time.
    concurrency, most : int
        Requests at once, at the beginning and at most.
    requests_per_minute, tokens_per_minute : float, optional
    max_cost, price_in, price_out : float, optional
        Budget, and prices per million tokens in the same currency.
    max_total_tokens : int, optional
        Budget in tokens, prompts and completions together.
    give_up_after : int
        Failed calls in a row after which the rest is not asked.
    """

    temperature: float = 0.0
    max_tokens: int | None = None
    max_characters: int = 48_000
    timeout: float = 120.0
    attempts: int = 6
    backoff: float = 0.5
    concurrency: int = 8
    most: int = 64
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_cost: float | None = None
    price_in: float | None = None
    price_out: float | None = None
    max_total_tokens: int | None = None
    give_up_after: int = 20

    def __post_init__(self):
        for name in ("attempts", "give_up_after", "max_characters", "timeout"):
            if getattr(self, name) <= 0:
                raise Unavailable(f"{name}={getattr(self, name)} must be above 0")

    def budget(self):
        """A budget that nothing has been taken from.

        Raises
        ------
        Unavailable
            If a cost is limited and prices are not declared, or a number is negative.
        """
        try:
            return Budget(self.max_cost, self.max_total_tokens, self.price_in, self.price_out)
        except ValueError as wrong:
            raise Unavailable(str(wrong)) from None

    def pace(self, budget):
        """Limits for one run, with a budget that may outlive it: they belong to the event loop they are first used in.

        Raises
        ------
        Unavailable
            If a limit lets nothing through.
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


def server_of(environment):
    """Base URL and key.

    Raises
    ------
    Unavailable
        Names the variable that is missing or wrong, and never shows the key.
    """
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
