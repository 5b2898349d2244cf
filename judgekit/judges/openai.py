"""``openai/<model>``: a model behind any OpenAI-compatible server, asked by a strategy.

The server and the key come from the environment, ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``, and from nowhere else.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from pydantic import field_validator
from pydantic.dataclasses import dataclass

from judgekit.judges.base import Request
from judgekit.judges.chat import ChatClient, ChatError, Stopped
from judgekit.judges.forecast import Forecast, forecast
from judgekit.judges.generative import AskedJudge, Completion, Interview, Messages, longest_completion
from judgekit.judges.server import ServerSettings, server_of
from judgekit.judges.settings import DEFAULT, read_settings
from judgekit.judges.streaming import Put, streamed
from judgekit.prompts import load_strategy
from judgekit.records import Reply, fingerprint_of

FORMAT = 2  # 1 read replies that were cut off
TOP_LOGPROBS = 20
TRIAL = ({"role": "user", "content": "Reply with the single word apple."},)
TRIAL_CHOICES = ("pear", "plum")
TRIAL_TOKENS = 16


@dataclass(frozen=True)
class Settings(ServerSettings):
    """How an ``openai/`` judge asks: `judgekit.judges.server.ServerSettings`, and what follows."""

    strategy: str = DEFAULT  # one of `judgekit.prompts.strategy_names`, or a file
    policy: str = "permissive"  # or strict: a tie may not be said
    logprobs: bool = False  # read the verdict's probabilities from the token log-probabilities, where they are given
    structured: str = "auto"  # or off: hold replies that are the verdict to the allowed ones, if that works

    @field_validator("structured")
    @classmethod
    def _is_known(cls, structured: str) -> str:
        if structured not in ("auto", "off"):
            raise ValueError(f"structured={structured!r} is not 'auto' or 'off'")
        return structured


def settings_of(given: Mapping[str, object]) -> Settings:
    """Settings from names and values, values possibly as text."""
    return read_settings(Settings, given)


class OpenAIJudge(AskedJudge):
    """A judge that asks a model over HTTP.

    A request that fails is replied to with status ``error`` and the reason; the others go on. Once no request can
    succeed any more (key refused, budget spent, server gone), the rest gets that status without being asked.
    Unavailable where the environment names no server or no key, or a setting is wrong; PromptError where there is no
    such strategy.
    """

    provider = "openai"
    example = "the name of a model, e.g. openai/gpt-4o"
    settings_kind = Settings

    def __init__(self, model: str, settings: Settings | None = None, demonstrations: Sequence[Any] = ()) -> None:
        self.settings = settings = settings or Settings()
        self.base_url, self.key = server_of(os.environ)
        self.model = model
        self.strategy = load_strategy(settings.strategy, settings.policy, demonstrations)
        self.name = self.name_of(model, settings)
        self.fingerprint = fingerprint_of(
            "openai", FORMAT, self.base_url, model, self.strategy.version, settings.max_characters
        )
        names = ("temperature", "max_tokens", "logprobs", "structured")
        self.decoding = json.dumps({name: asdict(settings)[name] for name in names}, sort_keys=True)
        self.budget = settings.budget()
        self.pace = settings.pace(self.budget)
        self.requests_sent = 0

    def _max_tokens(self, call: str) -> int:
        """Longest completion of a call."""
        return self.settings.max_tokens or longest_completion(self.strategy, call)

    def forecast(self, requests: Sequence[Request]) -> Forecast:
        """What judging some requests would take, in advance."""
        return forecast(self.strategy, requests, self._max_tokens, self.settings.max_characters, self.budget)

    def judge_stream(self, requests: Sequence[Request]) -> Iterator[dict[int, Reply]]:
        """Yield replies as they are finished: dictionaries from the position of a request to its reply."""
        if requests:
            for finished in streamed(lambda put: self._run(list(requests), put)):
                yield dict(finished)

    async def _run(self, requests: list[Request], put: Put) -> None:
        """Ask about all requests, as many at once as the server bears."""
        self.pace = self.settings.pace(self.budget)
        waiting = iter(enumerate(requests))
        async with ChatClient(self.base_url, self.key, self.model, self.pace) as client, asyncio.TaskGroup() as group:
            once = _Once()
            interview = Interview(self.strategy, _Asker(self, client, once), once, self.settings.max_characters)

            async def work() -> None:
                for position, request in waiting:
                    reply = await self._reply(interview, request)
                    self.requests_sent = client.requests_sent
                    await put((position, reply))

            for _ in range(min(self.settings.most, len(requests))):
                group.create_task(work())

    async def _reply(self, interview: Interview, request: Request) -> Reply:
        """One reply; a failure is a reply too."""
        try:
            return await interview.reply(request)
        except Exception as failure:  # one item that fails must not cost the others
            kind = "not asked" if isinstance(failure, Stopped) else type(failure).__name__
            return self.failed(f"{kind}: {self.key.redacted(str(failure)).removeprefix('not asked: ')}")


class _Asker:
    """Completes the messages of a strategy's calls with a judge's settings."""

    def __init__(self, judge: OpenAIJudge, client: ChatClient, once: "_Once") -> None:
        self.judge, self.client, self.once = judge, client, once

    async def __call__(self, messages: Messages, call: str) -> Completion:
        """The completion of a call; the verdict's with the extras that the server takes."""
        judge, form = self.judge, None
        choices = [judge.strategy.said[label] for label in judge.strategy.labels]
        extras: dict[str, Any] = {"temperature": judge.settings.temperature}
        if call == judge.strategy.calls[-1].name:
            if judge.settings.logprobs:
                extras |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
            if judge.strategy.closed and judge.settings.structured == "auto":
                form, _ = await self.once("structured", self.supported_form)
                extras |= FORMS[form](choices) if form else {}
        completion = await self.client.complete(messages, judge._max_tokens(call), **extras)
        if form is None:
            return completion
        text = chosen(completion.text)
        if text in choices:  # nothing could have followed
            completion = replace(completion, cut=None)
        # Where the text was wrapped in something, the tokens spell another one.
        return completion if text == completion.text else replace(completion, text=text, logprobs=())

    async def supported_form(self) -> str | None:
        """The first form that the server really obeys, a key of `FORMS`; None where it obeys none.

        Some servers take a parameter that they do not know and answer 200, as if it had worked. So a server is tried
        once: asked for one word while only others are allowed.
        """
        for name, parameter in FORMS.items():
            try:
                completion = await self.client.complete(TRIAL, TRIAL_TOKENS, **parameter(TRIAL_CHOICES))
            except Stopped:
                raise
            except ChatError:
                continue
            if chosen(completion.text) in TRIAL_CHOICES:
                return name
        return None


def _schema(choices: Sequence[str]) -> dict[str, Any]:
    """The parameter of the OpenAI protocol: the reply is a JSON object with one of some texts in it."""
    schema = {
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": list(choices)}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "v", "strict": True, "schema": schema}}}


FORMS: dict[str, Callable[[Sequence[str]], dict[str, Any]]] = {
    "choice": lambda choices: {"structured_outputs": {"choice": list(choices)}},  # vLLM's
    "schema": _schema,
}


def chosen(text: str) -> str:
    """The choice inside a reply that was held to one: in a JSON object, or the reply itself."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or brackets without end
        return text.strip()
    said = fields.get("verdict") if isinstance(fields, dict) else None
    return said if isinstance(said, str) else text.strip()


class _Once:
    """Work that several tasks want is done by the first of them; the others wait for its result."""

    def __init__(self) -> None:
        self.tasks: dict[Any, asyncio.Future[Any]] = {}

    async def __call__(self, key: Any, work: Callable[[], Awaitable[Any]]) -> tuple[Any, bool]:
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
