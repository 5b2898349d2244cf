"""``openai/<model>``: completions of a model behind a server, for teachers and for those that they rate."""

import asyncio
import json
import os

from judgekit.judges.chat import ChatClient, Stopped
from judgekit.judges.generative import OPEN_TOKENS
from judgekit.judges.server import ServerSettings, server_of
from judgekit.judges.settings import read_settings
from judgekit.judges.streaming import streamed
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
    budget : judgekit.judges.pacing.Budget
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
        self.budget = settings.budget()
        settings.pace(self.budget)  # a wrong limit is told before anything is read

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
        if asked:
            for finished in streamed(lambda put: self.run(asked, put)):
                yield dict(finished)

    async def run(self, asked, put):
        """Ask for everything."""
        waiting = iter(enumerate(asked))
        pace = self.settings.pace(self.budget)
        async with ChatClient(self.base_url, self.key, self.model, pace) as client, asyncio.TaskGroup() as group:

            async def work():
                for place, (messages, _) in waiting:
                    await put((place, await self.reply(client, messages)))

            for _ in range(min(self.settings.most, len(asked))):
                group.create_task(work())

    async def reply(self, client, messages):
        """One reply; a failure is a reply too."""
        try:
            return reply_of(await client.complete(messages, self.max_tokens, temperature=self.settings.temperature))
        except Exception as failure:  # one item that fails must not cost the others
            kind = "not asked" if isinstance(failure, Stopped) else type(failure).__name__
            said = self.key.redacted(str(failure)).removeprefix("not asked: ")
            return Reply(None, status="error", raw=f"{kind}: {said}")
