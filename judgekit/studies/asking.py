"""Questions, models that complete messages (on a server or here), and replies that are asked for once and kept."""

import hashlib
import json
import os
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, StrictStr

from judgekit.data.pairfile.lines import Fields, records
from judgekit.data.pairfile.models import Id, checked
from judgekit.data.pairfile.places import Place, kind_of, missing, row_place
from judgekit.data.progress import progress_bar
from judgekit.judges.generative import OPEN_TOKENS, Completion, Messages, read_settings
from judgekit.models import Unavailable
from judgekit.prompts.texts import LONE_SURROGATE, message_characters
from judgekit.records import Reply, fingerprint_of
from judgekit.scoring.store import VerdictStore

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FORMAT = 1  # of what is kept: part of every engine's fingerprint
_JUDGING = ("strategy", "policy", "mode")  # settings of a local judge that mean nothing here

# ---------------------------------------------------------------- questions


@dataclass(frozen=True, slots=True)
class Question:
    """A question to be asked, as given."""

    id: str | int  # the line number (from 1) or the position in the list (from 0) where none was given
    text: str
    options: tuple[str, ...]  # of a multiple-choice question; empty for others
    reference: str | None  # what is right, as a text; kept beside the response and shown to nobody
    place: Place

    def shuffled(self, seed: int) -> list[str]:
        """The options in the order they are shown in, which seed, question and set of options alone decide.

        In the order that was given, the right one often stands first.
        """
        options = sorted(self.options)
        random.Random(json.dumps([seed, self.text, options])).shuffle(options)
        return options

    def asked(self, options: Sequence[str]) -> str:
        """The text that is asked: the question, and its options with letters."""
        lines = [f"({letter}) {option}" for letter, option in zip(LETTERS, options, strict=False)]
        text = "\n\n".join([self.text, "\n".join(lines)] if lines else [self.text])
        return LONE_SURROGATE.sub("\ufffd", text)  # a text that holds one cannot be sent


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


def _listed(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise ValueError(f"is {kind_of(value)}, not a list of texts")
    return value


def _counted(options: list[str]) -> list[str]:
    if not 2 <= len(options) <= len(LETTERS):
        raise ValueError(f"holds {len(options)} options; from 2 to {len(LETTERS)} can be asked")
    return options


_Text = Annotated[StrictStr, AfterValidator(_not_blank)]


class _QuestionFields(BaseModel):
    """A row of a question file; the same option may stand twice, as in some items of GPQA."""

    id: Id = None
    question: _Text
    options: Annotated[list[_Text], BeforeValidator(_listed), AfterValidator(_counted)] | None = None
    reference: StrictStr | None = None


def read_questions(path: str | Path) -> list[Question]:
    """The questions of a file: JSON lines, or CSV (without options) where its name says so; either may be gzipped.

    Rows of ``question`` and optionally ``id``, ``options`` (a list of texts) and ``reference``.
    `judgekit.data.pairfile.PairFileError` names file, line and field.
    """
    questions = _questions_of(records(Path(path)))
    if not questions:
        raise Place(Path(path)).error("holds no questions (the file is empty, or has only a header)")
    return questions


def checked_questions(rows: Iterable[Mapping[str, Any]]) -> list[Question]:
    """Questions from dictionaries with the fields of `read_questions`; PairFileError names position and field."""
    return _questions_of((row_place("questions", n, row), {"id": n, **row}) for n, row in enumerate(rows))


def _questions_of(rows: Iterable[tuple[Place, Fields]]) -> list[Question]:
    """Each id once."""
    questions, seen = [], {}  # type: list[Question], dict[str, Place]
    for place, given in rows:
        row = checked(_QuestionFields, given, place)
        name = place.line if row.id is None else row.id
        if name is None:
            raise missing(given, "id", place)
        if str(name) in seen:
            raise place.error(f"is {name!r:.80}, which also stands in {seen[str(name)]}", "id")
        seen[str(name)] = place
        questions.append(Question(name, row.question, tuple(row.options or ()), row.reference, place))
    return questions


# ---------------------------------------------------------------- models


class ServerEngine:
    """Completions of a model behind an OpenAI-compatible server; ``budget`` is of this object, however often it asks.

    ``given``: fields of `judgekit.judges.server.ServerSettings`, values possibly as text.
    """

    def __init__(self, model: str, given: Mapping[str, Any]) -> None:
        from judgekit.judges.server import Budget, ChatClient, ServerSettings, server_of

        self.settings = settings = read_settings(ServerSettings, given)
        self.name = f"openai/{model}"
        base_url, key = server_of(os.environ)
        self.max_tokens = settings.max_tokens or OPEN_TOKENS
        self.fingerprint = fingerprint_of("teacher", _FORMAT, base_url, model)
        self.decoding = json.dumps({"max_tokens": self.max_tokens, "temperature": settings.temperature})
        self.budget = Budget(settings)
        self._client = lambda: ChatClient(base_url, key, model, settings, self.budget)

    def refusal(self, messages: Messages) -> str | None:
        """Why messages cannot be sent; None where they can."""
        length, limit = message_characters(messages), self.settings.max_characters
        return f"the prompt has {length:,} characters, more than max_characters={limit:,}" if length > limit else None

    def stream(self, asked: Sequence[tuple[Messages, int]]) -> Iterator[dict[int, Reply]]:
        """Replies to messages (each with the number of its sample) by their position, as they come."""
        client = self._client()

        async def reply(item: tuple[Messages, int]) -> Reply:
            return _reply_of(await client.complete(item[0], self.max_tokens, temperature=self.settings.temperature))

        return client.replies(asked, reply, lambda reason: Reply(None, status="error", raw=reason))


class LocalEngine:
    """Completions of a causal model that runs here, by the engine of the ``hf/`` judges.

    ``given``: fields of `judgekit.judges.hf.Settings`, values possibly as text.
    """

    def __init__(self, model: str, given: Mapping[str, Any]) -> None:
        from judgekit.judges.hf import HFJudge, Settings

        known = [item.name for item in fields(Settings) if item.name not in _JUDGING]
        if unknown := sorted(set(given) - set(known)):
            raise Unavailable(f"no setting is called {unknown[0]!r}; there are {', '.join(known)}")
        self.judge = HFJudge(model, read_settings(Settings, given))
        self.settings, self.name = self.judge.settings, f"hf/{model}"
        self.notes, self.load = self.judge.notes, self.judge.load
        self._call = self.judge.strategy.calls[-1].name
        self.fingerprint = fingerprint_of("teacher", _FORMAT, self.judge.files.digest)
        longest = {"max_new_tokens": self.judge.max_new_tokens(self._call)}
        self.decoding = json.dumps(json.loads(self.judge.decoding) | longest)

    def refusal(self, messages: Messages) -> str | None:
        """Why messages cannot be read; None where they can."""
        length, limit = self.judge.tokens.size(messages), self.judge.limit
        if limit is None or length <= limit:
            return None
        return f"the prompt has {length:,} tokens; beside the longest reply the model has room for {limit:,}"

    def stream(self, asked: Sequence[tuple[Messages, int]]) -> Iterator[dict[int, Reply]]:
        """Replies to messages (each with the number of its sample) by their position, batch by batch."""
        if asked:
            self.load()
        for sample in sorted({sample for _, sample in asked}):
            own = [position for position, (_, number) in enumerate(asked) if number == sample]
            questions = [self.judge.question(asked[position][0], self._call) for position in own]
            # Each sample draws from a seed of its own: a resumed run would otherwise draw the first sample again.
            self.judge.settings = replace(self.settings, seed=self.settings.seed + sample)
            for finished in self.judge.complete(questions):
                yield {own[n]: _reply_of(completion) for n, completion in finished.items()}


Engine: TypeAlias = ServerEngine | LocalEngine
Store: TypeAlias = VerdictStore | str | Path | None


def load_engine(name: str, settings: Mapping[str, Any] | None = None) -> Engine:
    """The model ``openai/<model>`` (server and key come from the environment) or ``hf/<model>``.

    Temperature is 0, and the longest completion 1,024 tokens, where ``settings`` say nothing else. Unavailable where
    there is no such model, the environment lacks something, or a setting is wrong; ModuleNotFoundError where the
    package for ``openai/`` is not installed.
    """
    provider, _, model = name.partition("/")
    if provider not in ("openai", "hf") or not model:
        raise Unavailable(f"{name!r} is neither openai/<model> nor hf/<model>")
    return ServerEngine(model, settings or {}) if provider == "openai" else LocalEngine(model, settings or {})


def engine_of(model: str | Engine, settings: Mapping[str, Any] | None) -> Engine:
    """The engine of a name; an engine stays what it is, and has settings already (ValueError where more are given)."""
    if isinstance(model, str):
        return load_engine(model, settings)
    if settings:
        raise ValueError("an engine that has been loaded has its settings")
    return model


def _reply_of(completion: Completion | Exception) -> Reply:
    """A completion as it is kept; an exception in its stead is a reply with status ``error``."""
    if isinstance(completion, Exception):
        return Reply(None, status="error", raw=f"{type(completion).__name__}: {completion}")
    counts: dict[str, Any] = {"tokens_in": completion.tokens_in, "tokens_out": completion.tokens_out}
    return Reply(None, raw=completion.text, seconds=completion.seconds, calls=1, **counts)


def ask_all(
    engine: Engine,
    asked: Sequence[tuple[Messages, int] | None],
    store: Store = None,
    progress: bool = True,
    unit: str = "reply",
) -> list[Reply]:
    """Replies to messages (each with the number of its sample; None: nothing to ask), in order; ``raw`` is the text.

    What the store holds is not asked again, and what is put twice with one sample number is asked once. Every reply is
    kept when it comes; failed calls (status ``error``) too, but they are asked again. Status ``skipped``: no call was
    made, because the prompt is too long or there was nothing to ask. ``raw`` is then the reason.
    """
    keys: list[Any] = [None if each is None else (_message_key(each[0]), each[1]) for each in asked]
    first = {key: each[0] for key, each in zip(keys, asked, strict=True) if each}
    replies: dict[Any, Reply] = {None: Reply(None, status="skipped", raw="there is nothing to ask about")}
    with _opened(store) as kept:
        for sample in {number for _, number in first}:
            texts = [text for text, number in first if number == sample]
            stored = kept.get(engine.fingerprint, engine.decoding, texts, sample)
            replies |= {(text, sample): reply for text, reply in stored.items()}
        for key, messages in first.items():
            if key not in replies and (refused := engine.refusal(messages)):
                replies[key] = Reply(None, status="skipped", raw=refused)
        waiting = [key for key in first if key not in replies]
        bar = progress_bar(len(waiting), engine.name, unit, shown=progress and len(waiting) > 1)
        stream: Any = engine.stream([(first[key], key[1]) for key in waiting])
        with bar, closing(stream):
            for finished in stream:
                for sample in {waiting[position][1] for position in finished}:
                    own = {waiting[n][0]: reply for n, reply in finished.items() if waiting[n][1] == sample}
                    kept.put(engine.fingerprint, engine.decoding, own, sample)
                    replies |= {(text, sample): reply for text, reply in own.items()}
                bar.update(len(finished))
    return [replies[key] for key in keys]


def _message_key(messages: Messages) -> str:
    """SHA-256 of all that is said; ASCII, so that a lone surrogate can be hashed too."""
    return hashlib.sha256(json.dumps([[m["role"], m["content"]] for m in messages]).encode()).hexdigest()


def _opened(store: Store) -> AbstractContextManager[VerdictStore]:
    """A store for a ``with`` block; one that was open before stays open, and without one nothing is kept."""
    return nullcontext(store) if isinstance(store, VerdictStore) else VerdictStore(store or ":memory:")
