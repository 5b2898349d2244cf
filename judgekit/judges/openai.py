"""``openai/<model>``: a model behind any OpenAI-compatible server, asked by a strategy.

The server and the key come from the environment, ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``, and from nowhere else.
"""

import asyncio
import json
import os
from dataclasses import asdict, dataclass, replace

from judgekit.fingerprints import fingerprint_of
from judgekit.judges.chat import ChatClient, ChatError, Stopped
from judgekit.judges.completion import longest_completion
from judgekit.judges.forecast import forecast
from judgekit.judges.generative import Interview
from judgekit.judges.server import ServerSettings, server_of
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
class Settings(ServerSettings):
    """How an ``openai/`` judge asks: `judgekit.judges.server.ServerSettings`, and what follows.

    Attributes
    ----------
    strategy : str
        One of `judgekit.prompts.strategy_names`.
    policy : {"permissive", "strict"}
        Whether a tie may be said.
    logprobs : bool
        Read the verdict's probabilities from the token log-probabilities, where the server gives them.
    structured : {"auto", "off"}
        Hold replies that are the verdict alone to the allowed ones, if a trial shows that the server does so.
    """

    strategy: str = DEFAULT
    policy: str = "permissive"
    logprobs: bool = False
    structured: str = "auto"

    def __post_init__(self):
        # super() without arguments fails in a dataclass with slots: the class is made anew after this is compiled
        ServerSettings.__post_init__(self)
        if self.structured not in ("auto", "off"):
            raise Unavailable(f"structured={self.structured!r} is not 'auto' or 'off'")


def settings_of(given):
    """Settings from names and values, values possibly as text (`judgekit.judges.settings.read_settings`)."""
    return read_settings(Settings, given)


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
        self.budget = settings.budget()
        self.pace = settings.pace(self.budget)
        self.requests_sent = 0

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
        self.pace = self.settings.pace(self.budget)
        waiting = iter(enumerate(requests))
        async with ChatClient(self.base_url, self.key, self.model, self.pace) as client, asyncio.TaskGroup() as group:
            once = Once()
            interview = Interview(self.strategy, Asker(self, client, once), once, self.settings.max_characters)

            async def work():
                for place, request in waiting:
                    reply = await self.reply(interview, request)
                    self.requests_sent = client.requests_sent
                    await put((place, reply))

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
