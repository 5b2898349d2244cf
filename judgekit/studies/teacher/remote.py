"""``openai/<model>``: completions of a model behind a server, for teachers and for those that they rate."""

import json
import os

from judgekit.judges.chat import ChatClient
from judgekit.judges.generative import OPEN_TOKENS, read_settings
from judgekit.judges.server import Budget, ServerSettings, server_of
from judgekit.prompts.fitting import message_characters
from judgekit.records import Reply, fingerprint_of
from judgekit.studies.teacher.asking import FORMAT, reply_of


class ServerEngine:
    """Completions of a model behind an OpenAI-compatible server.

    Parameters
    ----------
    model : str
        As the server calls it.
    given : dict of str to object
        Fields of `judgekit.judges.server.ServerSettings`, values possibly as text.

    Attributes
    ----------
    name, fingerprint, decoding : str
        What a reply is kept under, beside its messages.
    budget : judgekit.judges.server.Budget
        Of this object, however often it asks.

    Raises
    ------
    Unavailable
        If the environment names no server or no key, or a setting is wrong.
    """

    def __init__(self, model, given):
        self.settings = settings = read_settings(ServerSettings, given)
        self.model, self.name = model, f"openai/{model}"
        self.base_url, self.key = server_of(os.environ)
        self.max_tokens = settings.max_tokens or OPEN_TOKENS
        self.fingerprint = fingerprint_of("teacher", FORMAT, self.base_url, model)
        self.decoding = json.dumps({"max_tokens": self.max_tokens, "temperature": settings.temperature})
        self.budget = Budget(settings)

    def refusal(self, messages):
        """Why messages cannot be sent; None where they can."""
        length, limit = message_characters(messages), self.settings.max_characters
        return f"the prompt has {length:,} characters, more than max_characters={limit:,}" if length > limit else None

    def stream(self, asked):
        """Complete messages, as many at once as the server bears.

        Parameters
        ----------
        asked : list of (list of dict, int)
            Messages, and the number of the sample.

        Yields
        ------
        dict of int to judgekit.scoring.store.Reply
            From the place of messages to their reply; every place once. A failure is a reply with status ``error``.
        """
        client = ChatClient(self.base_url, self.key, self.model, self.settings, self.budget)

        async def reply(item):
            return reply_of(await client.complete(item[0], self.max_tokens, temperature=self.settings.temperature))

        return client.replies(asked, reply, lambda said: Reply(None, status="error", raw=said))
