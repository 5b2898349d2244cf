"""``openai/<model>``: a model behind any OpenAI-compatible server, asked by a strategy.

The server and the key come from the environment, ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``, and from nowhere else.
"""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from pydantic.dataclasses import dataclass

from judgekit.judges.base import Request
from judgekit.judges.generative import DEFAULT, Ask, AskedJudge, Completion, Stream
from judgekit.judges.server import Budget, ChatClient, ServerSettings, server_of
from judgekit.prompts import load_strategy
from judgekit.records import Reply, fingerprint_of

_FORMAT = 3  # 1 read replies that were cut off, 2 marks that stand by the way
_TOP_LOGPROBS = 20


@dataclass(frozen=True)
class Settings(ServerSettings):
    """How an ``openai/`` judge asks: `judgekit.judges.server.ServerSettings`, and what follows."""

    strategy: str = DEFAULT  # one of `judgekit.prompts.strategy_names`, or a file
    policy: str = "permissive"  # or strict: a tie may not be said
    logprobs: bool = False  # read the verdict's probabilities from the token log-probabilities, where they are given


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
        self.labels, self.name = self.strategy.labels, self.name_of(model)
        self.fingerprint = fingerprint_of(
            "openai", _FORMAT, self.base_url, model, self.strategy.version, settings.max_characters
        )
        # "structured" was a setting, and this its default: replies that were paid for are found under it.
        decoding = {"structured": "auto"} | {n: asdict(settings)[n] for n in ("temperature", "max_tokens", "logprobs")}
        self.decoding = json.dumps(decoding, sort_keys=True)
        self.budget = Budget(settings)
        self._paid: dict[str, Completion] = {}

    def max_new_tokens(self, call: str) -> int:
        return self.settings.max_tokens or super().max_new_tokens(call)

    def recall(self, replies: Iterable[Reply]) -> None:
        """Ask no call again that was answered for one of some replies."""
        for reply in replies:
            self._paid |= {key: Completion(text, 0, 0) for key, text in json.loads(reply.shared or "{}").items()}

    def judge_stream(self, requests: Sequence[Request], wanted: Sequence[int] | None = None) -> Stream:
        self._paid = dict(list(self._paid.items())[-100_000:])  # a bound on memory
        client = ChatClient(self.base_url, self.key, self.model, self.settings, self.budget, self._paid)
        numbers = range(len(requests)) if wanted is None else wanted
        for replies in client.replies([requests[n] for n in numbers], partial(self._reply, client), self.failed):
            yield {numbers[position]: reply for position, reply in replies.items()}

    async def _reply(self, client: ChatClient, request: Request) -> Reply:
        """The reply to a request; what several requests ask is asked once."""
        steps, answered = self.steps(request), dict[str, str]()
        try:
            ask = next(steps)
            while True:
                work = partial(self._completed, client, ask)
                completion, now = await client.once(ask.key, work) if ask.shared else (await work(), True)
                if ask.shared and not completion.cut:
                    answered[ask.key] = completion.text
                ask = steps.send((completion, now))
        except StopIteration as ended:
            reply = ended.value
        except Exception as failure:  # a prompt that is too long, too: what was answered before it is paid for
            reply = self.failed(client.told(failure))
        return replace(reply, shared=json.dumps(answered) if answered else None)

    async def _completed(self, client: ChatClient, ask: Ask) -> Completion:
        """The completion of a question; the verdict's with its tokens' log-probabilities if they are wanted."""
        extras: dict[str, Any] = {"temperature": self.settings.temperature}
        if self.settings.logprobs and ask.call == self.strategy.calls[-1].name:
            extras |= {"logprobs": True, "top_logprobs": _TOP_LOGPROBS}
        return await client.complete(ask.messages, self.max_new_tokens(ask.call), **extras)
