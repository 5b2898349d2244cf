"""Messages put to a model once, and never again: every reply is kept when it comes."""

import hashlib
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgekit.data.progress import progress_bar
from judgekit.records import Reply
from judgekit.scoring.store import VerdictStore

if TYPE_CHECKING:
    from judgekit.judges.generative import Completion, Messages
    from judgekit.studies.teacher.local import LocalEngine
    from judgekit.studies.teacher.remote import ServerEngine

FORMAT = 1  # of what is kept: part of every engine's fingerprint


def ask_all(
    engine: "ServerEngine | LocalEngine",
    asked: "Sequence[tuple[Messages, int] | None]",
    store: VerdictStore | str | Path | None = None,
    progress: bool = True,
    unit: str = "reply",
) -> list[Reply]:
    """Completions of messages, in order; what the store holds is not asked again.

    Of each reply ``raw`` is the text; status ``error`` says that the call failed, and ``skipped`` that it was not made
    because the prompt is too long, or there was nothing to ask. Their ``raw`` is the reason.

    ``asked``: messages (``role``, ``content``) and the number of the sample; None where there is nothing to ask.
    Messages that are put twice with the same sample number are asked once, and both get the reply.
    ``store``: replies are kept under model, messages, decoding and sample; failed calls are kept for the record and
    asked again. Without a store, nothing outlives the call.
    ``unit``: what the progress bar counts.
    """
    with opened(store) as kept:
        return answered(engine, asked, kept, progress, unit)


def answered(
    engine: "ServerEngine | LocalEngine",
    asked: "Sequence[tuple[Messages, int] | None]",
    store: VerdictStore,
    progress: bool,
    unit: str,
) -> list[Reply]:
    """`ask_all` on an open store."""
    keys: list[Any] = [None if each is None else (message_key(each[0]), each[1]) for each in asked]
    first = {key: each[0] for key, each in zip(keys, asked, strict=True) if each}
    replies: dict[Any, Reply] = {None: Reply(None, status="skipped", raw="there is nothing to ask about")}
    for sample in {key[1] for key in first}:
        texts = [text for text, number in first if number == sample]
        found = store.get(engine.fingerprint, engine.decoding, texts, sample)
        replies |= {(text, sample): reply for text, reply in found.items()}
    waiting = [key for key in first if key not in replies]
    for key in waiting:
        if refused := engine.refusal(first[key]):
            replies[key] = Reply(None, status="skipped", raw=refused)
    waiting = [key for key in waiting if key not in replies]
    todo = [(first[key], key[1]) for key in waiting]
    bar = progress_bar(len(todo), engine.name, unit, shown=progress and len(todo) > 1)
    with bar, closing(engine.stream(todo)) as stream:  # type: ignore[type-var]  # generators, which can be closed
        for finished in stream:
            for sample in {waiting[place][1] for place in finished}:
                fresh = {waiting[place][0]: reply for place, reply in finished.items() if waiting[place][1] == sample}
                store.put(engine.fingerprint, engine.decoding, fresh, sample)
                replies |= {(text, sample): reply for text, reply in fresh.items()}
            bar.update(len(finished))
    return [replies[key] for key in keys]


def message_key(messages: "Messages") -> str:
    """SHA-256 of all that is said; ASCII, so that a lone surrogate can be hashed too."""
    return hashlib.sha256(json.dumps([[m["role"], m["content"]] for m in messages]).encode()).hexdigest()


def opened(store: VerdictStore | str | Path | None) -> AbstractContextManager[VerdictStore]:
    """A store to be used in a ``with`` block; one that was open before stays open after it."""
    return nullcontext(store) if isinstance(store, VerdictStore) else VerdictStore(store or ":memory:")


def reply_of(completion: "Completion | Exception") -> Reply:
    """A completion as it is kept; an exception in its place is a reply with status ``error``."""
    if isinstance(completion, Exception):
        return Reply(None, status="error", raw=f"{type(completion).__name__}: {completion}")
    counts: dict[str, Any] = {"tokens_in": completion.tokens_in, "tokens_out": completion.tokens_out}
    return Reply(None, raw=completion.text, seconds=completion.seconds, calls=1, **counts)
