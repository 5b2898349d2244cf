"""``openai/<model>``: a model behind any OpenAI-compatible server, asked by a strategy.

The server and the key come from the environment, ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``, and from nowhere else.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Literal

from pydantic.dataclasses import dataclass

from judgekit.judges.base import Request
from judgekit.judges.generative import DEFAULT, AskedJudge, Completion, Messages
from judgekit.judges.server import Budget, ChatClient, ChatError, ServerSettings, Stopped, server_of
from judgekit.prompts import load_strategy
from judgekit.records import Reply, fingerprint_of

_FORMAT = 2  # 1 read replies that were cut off
_TOP_LOGPROBS = 20
_TRIAL = ({"role": "user", "content": "Reply with the single word apple."},)
_TRIAL_CHOICES = ("pear", "plum")
_TRIAL_TOKENS = 16


@dataclass(frozen=True)
class Settings(ServerSettings):
    """How an ``openai/`` judge asks: `judgekit.judges.server.ServerSettings`, and what follows."""

    strategy: str = DEFAULT  # one of `judgekit.prompts.strategy_names`, or a file
    policy: str = "permissive"  # or strict: a tie may not be said
    logprobs: bool = False  # read the verdict's probabilities from the token log-probabilities, where they are given
    structured: Literal["auto", "off"] = "auto"  # hold replies that are the verdict to the allowed ones, if that works


class OpenAIJudge(AskedJudge):
    """A judge that asks a model over HTTP.

    Once no request can succeed any more (key refused, budget spent, server gone), the rest gets the status ``error``
    without being asked. Unavailable where the environment names no server or no key, or a setting is wrong.
    """

    provider = "openai"
    example = "the name of a model, e.g. openai/gpt-4o"
    settings_kind = Settings

    def __init__(self, model: str, settings: Settings | None = None, demonstrations: Sequence[Any] = ()) -> None:
        self.settings = settings = settings or Settings()
        self.base_url, self.key = server_of(os.environ)
        self.model, self.limit = model, settings.max_characters
        self.strategy = load_strategy(settings.strategy, settings.policy, demonstrations)
        self.name = self.name_of(model)
        self.fingerprint = fingerprint_of(
            "openai", _FORMAT, self.base_url, model, self.strategy.version, settings.max_characters
        )
        names = ("temperature", "max_tokens", "logprobs", "structured")
        self.decoding = json.dumps({name: asdict(settings)[name] for name in names}, sort_keys=True)
        self.budget = Budget(settings)

    def max_new_tokens(self, call: str) -> int:
        """Longest completion of a call."""
        return self.settings.max_tokens or super().max_new_tokens(call)

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """What tokens cost; None without prices."""
        return self.budget.cost(tokens_in, tokens_out)

    def judge_stream(self, requests: Sequence[Request]) -> Iterator[dict[int, Reply]]:
        """Yield replies as they are finished: dictionaries from the position of a request to its reply."""
        client = ChatClient(self.base_url, self.key, self.model, self.settings, self.budget)
        return client.replies(requests, partial(self._reply, client), self.failed)

    async def _reply(self, client: ChatClient, request: Request) -> Reply:
        """The reply to a request; what several requests ask is asked once."""
        steps = self.steps(request)
        try:
            ask = next(steps)
            while True:
                work = partial(self._completed, client, ask.messages, ask.call)
                ask = steps.send(await client.once(ask.key, work) if ask.shared else (await work(), True))
        except StopIteration as ended:
            reply: Reply = ended.value
            return reply

    async def _completed(self, client: ChatClient, messages: Messages, call: str) -> Completion:
        """The completion of a call; the verdict's with the extras that the server takes."""
        form = None
        choices = [self.strategy.said[label] for label in self.strategy.labels]
        extras: dict[str, Any] = {"temperature": self.settings.temperature}
        if call == self.strategy.calls[-1].name:
            if self.settings.logprobs:
                extras |= {"logprobs": True, "top_logprobs": _TOP_LOGPROBS}
            if self.strategy.closed and self.settings.structured == "auto":
                form, _ = await client.once("structured", partial(_supported_form, client))
                extras |= _FORMS[form](choices) if form else {}
        completion = await client.complete(messages, self.max_new_tokens(call), **extras)
        if form is None:
            return completion
        text = chosen(completion.text)
        if text in choices:  # nothing could have followed
            completion = replace(completion, cut=None)
        # Where the text was wrapped in something, the tokens spell another one.
        return completion if text == completion.text else replace(completion, text=text, logprobs=())


async def _supported_form(client: ChatClient) -> str | None:
    """The first form that the server really obeys, a key of `_FORMS`; None where it obeys none.

    Some servers take a parameter that they do not know and answer 200, as if it had worked. So a server is tried
    once: asked for one word while only others are allowed.
    """
    for name, parameter in _FORMS.items():
        try:
            completion = await client.complete(_TRIAL, _TRIAL_TOKENS, **parameter(_TRIAL_CHOICES))
        except Stopped:
            raise
        except ChatError:
            continue
        if chosen(completion.text) in _TRIAL_CHOICES:
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


_FORMS: dict[str, Callable[[Sequence[str]], dict[str, Any]]] = {
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
