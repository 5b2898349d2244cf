"""``openai/<model>``: completions of a model behind a server, for teachers and for those that they rate."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judgekit.judges.generative import OPEN_TOKENS, Messages, read_settings
from judgekit.judges.server import Budget, ChatClient, ServerSettings, server_of
from judgekit.prompts.texts import message_characters
from judgekit.records import Reply, fingerprint_of
from judgekit.studies.teacher.asking import FORMAT, reply_of


class ServerEngine:
    """Completions of a model, named as the server calls it, behind an OpenAI-compatible server.

    ``given``: fields of `judgekit.judges.server.ServerSettings`, values possibly as text. A reply is kept under
    ``name``, ``fingerprint`` and ``decoding``, beside its messages; ``budget`` is of this object, however often it
    asks. Unavailable where the environment names no server or no key, or a setting is wrong.
    """

    def __init__(self, model: str, given: Mapping[str, Any]) -> None:
        self.settings = settings = read_settings(ServerSettings, given)
        self.model, self.name = model, f"openai/{model}"
        self.base_url, self.key = server_of(os.environ)
        self.max_tokens = settings.max_tokens or OPEN_TOKENS
        self.fingerprint = fingerprint_of("teacher", FORMAT, self.base_url, model)
        self.decoding = json.dumps({"max_tokens": self.max_tokens, "temperature": settings.temperature})
        self.budget = Budget(settings)

    def refusal(self, messages: Messages) -> str | None:
        """Why messages cannot be sent; None where they can."""
        length, limit = message_characters(messages), self.settings.max_characters
        return f"the prompt has {length:,} characters, more than max_characters={limit:,}" if length > limit else None

    def stream(self, asked: Sequence[tuple[Messages, int]]) -> Iterator[dict[int, Reply]]:
        """Complete messages (each with the number of its sample), as many at once as the server bears.

        Yields replies by the position of their messages, each once; a failure is a reply with status ``error``.
        """
        client = ChatClient(self.base_url, self.key, self.model, self.settings, self.budget)

        async def reply(item: tuple[Messages, int]) -> Reply:
            return reply_of(await client.complete(item[0], self.max_tokens, temperature=self.settings.temperature))

        return client.replies(asked, reply, lambda said: Reply(None, status="error", raw=said))
