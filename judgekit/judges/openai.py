"""``openai/<model>``: a model behind any OpenAI-compatible server, asked by a strategy.

The server and the key come from the environment, ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``, and from nowhere else.
"""

import asyncio
import json
import os
from dataclasses import asdict, dataclass, replace
from urllib.parse import urlsplit

from judgekit.fingerprints import fingerprint_of
from judgekit.judges.chat import ChatClient, ChatError, Pace, Stopped
from judgekit.judges.completion import longest_completion
from judgekit.judges.forecast import forecast
from judgekit.judges.generative import Interview
from judgekit.judges.pacing import Budget, Concurrency, RateLimit
from judgekit.judges.secrets import Secret
from judgekit.judges.settings import DEFAULT, judge_name, named_settings, read_settings
from judgekit.judges.streaming import streamed
from judgekit.judges.structured import FORMS, supported_form
from judgekit.models.errors import Unavailable
from judgekit.prompts import PromptError, load_strategy
from judgekit.store import Reply

FORMAT = 1
TOP_LOGPROBS = 20
TRIAL_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Settings:
    """How an ``openai/`` judge asks. Rates and budgets limit one judge object, not all runs together.

    Attributes
    ----------
    strategy : str
        One of `judgekit.prompts.strategy_names`.
    policy : {"permissive", "strict"}
        Whether a tie may be said.
    temperature : float
    max_tokens : int, optional
        Longest completion; by default short for replies that are the verdict alone. Models that think need more.
    logprobs : bool
        Read the verdict's probabilities from the token log-probabilities, where the server gives them.
    structured : {"auto", "off"}
        Hold replies that are the verdict alone to the allowed ones, if a trial shows that the server does so.
    max_characters : int
        Longest prompt; beyond it the longest response loses its middle.
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

    strategy: str = DEFAULT
    policy: str = "permissive"
    temperature: float = 0.0
    max_tokens: int | None = None
    logprobs: bool = False
    structured: str = "auto"
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
        if self.structured not in ("auto", "off"):
            raise Unavailable(f"structured={self.structured!r} is not 'auto' or 'off'")
        for name in ("attempts", "give_up_after", "max_characters", "timeout"):
            if getattr(self, name) <= 0:
                raise Unavailable(f"{name}={getattr(self, name)} must be above 0")


def settings_of(given):
    """Settings from names and values, values possibly as text (`judgekit.judges.settings.read_settings`)."""
    return read_settings(Settings, given)


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


class OpenAIJudge:
    """A judge that asks a model over HTTP.

    Parameters
    ----------
    model : str
        As the server calls it.
    settings : Settings, optional
    demonstrations : sequence of judgekit.prompts.Demonstration
        For the strategy that shows some.

    Raises
    ------
    Unavailable
        If the environment names no server or no key, or a setting is wrong.
    judgekit.prompts.PromptError
        If there is no such strategy.

    Notes
    -----
    A request that fails is replied to with status ``error`` and the reason; the others go on. Once no request can
    succeed any more (key refused, budget spent, server gone), the rest gets that status without being asked.
    """

    batch_size = 64
    sees_item = False

    def __init__(self, model, settings=None, demonstrations=()):
        self.settings = settings = settings or Settings()
        self.base_url, self.key = server_of(os.environ)
        self.model = model
        self.strategy = load_strategy(settings.strategy, settings.policy, demonstrations)
        self.name = judge_name("openai", model, settings)
        self.fingerprint = fingerprint_of(
            "openai", FORMAT, self.base_url, model, self.strategy.version, settings.max_characters
        )
        names = ("temperature", "max_tokens", "logprobs", "structured")
        self.decoding = json.dumps({name: asdict(settings)[name] for name in names}, sort_keys=True)
        try:
            self.budget = Budget(settings.max_cost, settings.max_total_tokens, settings.price_in, settings.price_out)
            self.pace = self.new_pace()
        except ValueError as wrong:
            raise Unavailable(str(wrong)) from None
        self.requests_sent = 0

    def new_pace(self):
        """Limits for one run: they belong to the event loop they are first used in."""
        s = self.settings
        return Pace(
            timeout=s.timeout,
            attempts=s.attempts,
            backoff=s.backoff,
            give_up_after=s.give_up_after,
            concurrency=Concurrency(s.concurrency, s.most),
            requests=RateLimit(s.requests_per_minute),
            tokens=RateLimit(s.tokens_per_minute),
            budget=self.budget,
        )

    def max_tokens(self, call):
        """Longest completion of a call."""
        return self.settings.max_tokens or longest_completion(self.strategy, call)

    def forecast(self, requests):
        """What judging some requests would take, in advance (`judgekit.judges.forecast.Forecast`)."""
        return forecast(self.strategy, requests, self.max_tokens, self.settings.max_characters, self.budget)

    def judge(self, requests):
        """Reply to each request, in order."""
        replies = {}
        for finished in self.judge_stream(requests):
            replies |= finished
        return [replies[place] for place in range(len(requests))]

    def judge_stream(self, requests):
        """Yield replies as they are finished: dictionaries from the place of a request to its reply."""
        if requests:
            for finished in streamed(lambda put: self.run(list(requests), put)):
                yield dict(finished)

    async def run(self, requests, put):
        """Ask about all requests, as many at once as the server bears."""
        self.pace = self.new_pace()
        waiting = iter(enumerate(requests))
        async with ChatClient(self.base_url, self.key, self.model, self.pace) as client, asyncio.TaskGroup() as group:
            once = Once()
            interview = Interview(self.strategy, Asker(self, client, once), once, self.settings.max_characters)

            async def work():
                for place, request in waiting:
                    put((place, await self.reply(interview, request)))
                    self.requests_sent = client.requests_sent

            for _ in range(min(self.settings.most, len(requests))):
                group.create_task(work())

    async def reply(self, interview, request):
        """One reply; a failure is a reply too."""
        try:
            return await interview.reply(request)
        except Exception as failure:  # one item that fails must not cost the others
            kind = "not asked" if isinstance(failure, Stopped) else type(failure).__name__
            said = self.key.redacted(str(failure)).removeprefix("not asked: ")
            return Reply(None, status="error", raw=f"{kind}: {said}", prompt_version=self.strategy.version)


class Asker:
    """Completes the messages of a strategy's calls with a judge's settings."""

    def __init__(self, judge, client, once):
        self.judge, self.client, self.once = judge, client, once

    async def __call__(self, messages, call):
        """The completion of a call; the verdict's with the extras that the server takes."""
        judge, extras, read = self.judge, {"temperature": self.judge.settings.temperature}, None
        if call == judge.strategy.calls[-1].name:
            if judge.settings.logprobs:
                extras |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
            if judge.strategy.closed and judge.settings.structured == "auto":
                form, _ = await self.once("structured", lambda: supported_form(self.trial))
                if form:
                    parameter, read = FORMS[form]
                    extras |= parameter([judge.strategy.said[label] for label in judge.strategy.labels])
        completion = await self.client.complete(messages, judge.max_tokens(call), **extras)
        return completion if read is None else with_text(completion, read(completion.text))

    async def trial(self, messages, **parameters):
        """The text of a trial's completion; None where the server refused it."""
        try:
            return (await self.client.complete(messages, TRIAL_TOKENS, **parameters)).text
        except Stopped:
            raise
        except ChatError:
            return None


def with_text(completion, text):
    """A completion with the text that was wrapped in it; its tokens spell another one then."""
    return completion if text == completion.text else replace(completion, text=text, logprobs=())


class Once:
    """Work that several tasks want is done by the first of them; the others wait for its result."""

    def __init__(self):
        self.tasks = {}

    async def __call__(self, key, work):
        """The result of ``work()``, and whether it was done now. Failed work is done again by the next that asks."""
        while (task := self.tasks.get(key)) is not None:
            await asyncio.wait([task])
            if not task.cancelled() and task.exception() is None:
                return task.result(), False
            self.tasks.pop(key, None)
        task = self.tasks[key] = asyncio.ensure_future(work())
        try:
            return await task, True
        except BaseException:
            if self.tasks.get(key) is task:
                del self.tasks[key]
            raise


def load_openai(model, settings=None, demonstrations=()):
    """The judge of a name without ``openai/``: a model, and after ``#`` a strategy and ``-strict``.

    Raises
    ------
    Unavailable
        If a setting contradicts the name, or the environment lacks something.
    """
    model, given = named_settings(model, settings)
    if not model:
        raise Unavailable("openai/ needs the name of a model, e.g. openai/gpt-4o")
    try:
        return OpenAIJudge(model, settings_of(given), demonstrations)
    except PromptError as wrong:
        raise Unavailable(str(wrong)) from None
