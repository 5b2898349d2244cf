"""A model that completes messages: the engine of an ``openai/`` or ``hf/`` judge, asked for something else."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from judgekit.judges import asked_kind
from judgekit.judges.generative import Completion, Messages, read_settings
from judgekit.models import Unavailable
from judgekit.records import Reply, fingerprint_of

_FORMAT = 1  # of what is kept: part of every fingerprint
_JUDGING = ("strategy", "policy", "mode", "logprobs")  # settings of a judge that mean nothing here


class ChatModel:
    """Completions by the engine of a judge; a budget is of this object, however often it asks."""

    def __init__(self, judge: Any) -> None:
        self.judge, self.name, self.settings = judge, judge.name, judge.settings
        self.load, self.notes = getattr(judge, "load", lambda: None), getattr(judge, "notes", list)
        self.on_server = judge.provider == "openai"
        self._call = judge.strategy.calls[-1].name
        self._longest = judge.max_new_tokens(self._call)
        if self.on_server:
            source = [judge.base_url, judge.model]
            decoding = {"max_tokens": self._longest, "temperature": judge.settings.temperature}
        else:
            source = [judge.files.digest]
            decoding = json.loads(judge.decoding) | {"max_new_tokens": self._longest}
        self.fingerprint, self.decoding = fingerprint_of("teacher", _FORMAT, *source), json.dumps(decoding)

    def refusal(self, messages: Messages) -> str | None:
        """Why messages cannot be sent; None where they can."""
        length, limit = self.judge.measure(messages), self.judge.limit
        if limit is None or length <= limit:
            return None
        if self.on_server:
            return f"the prompt has {length:,} characters, more than max_characters={limit:,}"
        return f"the prompt has {length:,} tokens; beside the longest reply the model has room for {limit:,}"

    def replies(self, asked: Sequence[Messages], sample: int = 0) -> Iterator[dict[int, Reply]]:
        """Replies by the position of their messages, as they come; ``raw`` is the text, or why there is none."""
        if not asked:
            return
        if self.on_server:
            from judgekit.judges.server import ChatClient

            judge, temperature = self.judge, self.settings.temperature
            client = ChatClient(judge.base_url, judge.key, judge.model, judge.settings, judge.budget)

            async def reply(messages: Messages) -> Reply:
                return _reply_of(await client.complete(messages, self._longest, temperature=temperature))

            yield from client.replies(asked, reply, lambda reason: Reply(None, status="error", raw=reason))
        else:
            self.load()
            # Each sample draws from a seed of its own: a resumed run would otherwise draw the first sample again.
            self.judge.settings = replace(self.settings, seed=self.settings.seed + sample)
            for finished in self.judge.complete([self.judge.question(messages, self._call) for messages in asked]):
                yield {position: _reply_of(completion) for position, completion in finished.items()}


def _reply_of(completion: Completion | Exception) -> Reply:
    """A completion as it is kept; an exception in its stead is a reply with status ``error``."""
    if isinstance(completion, Exception):
        return Reply(None, status="error", raw=f"{type(completion).__name__}: {completion}")
    counts: dict[str, Any] = {"tokens_in": completion.tokens_in, "tokens_out": completion.tokens_out}
    return Reply(None, raw=completion.text, seconds=completion.seconds, calls=1, **counts)


def load_chat_model(name: str, settings: Mapping[str, Any] | None = None) -> ChatModel:
    """The model ``openai/<model>`` (server and key come from the environment) or ``hf/<model>``.

    Temperature is 0, and the longest completion 1,024 tokens, where ``settings`` (values possibly as text) say nothing
    else. Unavailable where there is no such model, the environment lacks something, or a setting is wrong;
    ModuleNotFoundError where the package for ``openai/`` is not installed.
    """
    provider, _, model = name.partition("/")
    if provider not in ("openai", "hf") or not model:
        raise Unavailable(f"{name!r} is neither openai/<model> nor hf/<model>")
    kind = asked_kind(provider)
    return ChatModel(kind(model, read_settings(kind.settings_kind, settings or {}, without=_JUDGING)))
