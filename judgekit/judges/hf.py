"""``hf/<model>``: a causal language model run here through transformers, asked by a strategy."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Annotated, Any, Literal, NamedTuple

import torch
from pydantic import Field, PositiveInt, field_validator
from pydantic.dataclasses import dataclass

from judgekit.judges.base import Request
from judgekit.judges.generative import DEFAULT, AskedJudge, Completion, Messages, Steps, Stream
from judgekit.models import Unavailable
from judgekit.models.causal import families, fitting_batches, load_model, memory_estimate, move_in, plan_of
from judgekit.models.chat_tokens import ChatTokenizer
from judgekit.models.encoder import device_of, native_bf16
from judgekit.models.files import config_and_tokenizer, end_tokens, model_files, positions_of
from judgekit.prompts import load_strategy
from judgekit.records import Reply, fingerprint_of

_FORMATS = {"generate": 3, "one_pass": 1}  # by mode; 1 read replies that were cut off, 2 marks by the way
_MARKS = range(1, 11)  # of the assignment's prompt
_WINDOW = 2048  # requests that are prepared at once
# On a CPU with a unit for matrices few, so that a layer finds in the cache what the last one left; without one the
# products take longest, and take less for more rows.
BATCH_TOKENS = {"cpu": 1024 if torch.cpu.get_capabilities().get("amx_tile") else 4096, "cuda": 16_384}
WRITTEN_TOKENS = {"cpu": 8192, "cuda": 16_384}  # where replies are written: each token takes all weights, for any rows
_DECODING = ("mode", "max_new_tokens", "max_prompt_tokens", "temperature", "seed", "thinking")
Results = dict[int, Any]  # position of a question to its completion, or to the exception in place of one


@dataclass(frozen=True, kw_only=True)
class LoadedSettings:
    """Where and how a model computes that is run here."""

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"  # bfloat16 where it is multiplied, else float32
    device: str = "auto"  # a GPU where there is one, else the CPU
    # At once, padding and completions included; by default `BATCH_TOKENS`, or `WRITTEN_TOKENS`.
    batch_tokens: PositiveInt | None = None

    @field_validator("device")
    @classmethod
    def _known_device(cls, name: str) -> str:
        try:
            torch.device("cpu" if name == "auto" else name)
        except RuntimeError:
            raise ValueError("is no device: auto, cpu, cuda, cuda:1, ...") from None
        return name


@dataclass(frozen=True, kw_only=True)
class LocalSettings:
    """How a judge asks a model that it runs itself."""

    strategy: str = DEFAULT  # one of `judgekit.prompts.strategy_names`, or a file
    policy: str = "permissive"  # or strict: a tie may not be said
    # Read the verdict from what the model writes, or from the probabilities of the verdicts, without writing.
    mode: Literal["generate", "one_pass"] = "generate"
    max_new_tokens: PositiveInt | None = None  # by default few where the reply is the verdict, more for thinking
    max_prompt_tokens: PositiveInt | None = None  # by default what the positions leave; beyond, a response is cut
    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0  # 0 is greedy
    seed: int = 0  # of sampling
    thinking: bool = False  # ask a model that can think to do so
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"  # bfloat16 where it is multiplied, else float32


@dataclass(frozen=True, kw_only=True)
class Settings(LoadedSettings, LocalSettings):
    """How an ``hf/`` judge asks: `LocalSettings`, where it computes, and what follows."""

    share_prefix: bool = True  # read what several prompts begin with only once


def computing(settings: Any, batch_tokens: Mapping[str, int] = BATCH_TOKENS) -> tuple[str, str, int]:
    """Device, type of numbers and tokens at once that settings name, or that suit this machine."""
    device = device_of(getattr(settings, "device", "auto"))
    kind = torch.device(device).type
    auto = "bfloat16" if native_bf16(kind) else "float32"
    budget = getattr(settings, "batch_tokens", None) or batch_tokens.get(kind, batch_tokens["cuda"])
    return device, auto if settings.dtype == "auto" else settings.dtype, budget


class Question(NamedTuple):
    """A prompt as an engine gets it, for a call whose replies are weighed or written."""

    ids: tuple[int, ...]
    call: str


class HFJudge(AskedJudge):
    """A judge that runs a causal language model, of a name or folder that `judgekit.models.files.model_files` takes.

    Weights are read by `load`, at the latest when the first pair is judged. Unavailable where there is no such model,
    or a setting is wrong; PromptError where there is no such strategy.
    """

    provider = "hf"
    settings_kind: type[Any] = Settings
    plan: Any = None  # a `judgekit.models.causal.Plan` of the replies that are weighed in place of a written one
    forms_batches = True  # of prompts, with those whose reply is known already: numbers depend a little on the batch

    def __init__(self, model: str, settings: Any = None, demonstrations: Sequence[Any] = ()) -> None:
        self.settings = settings = settings or self.settings_kind()
        self.strategy = strategy = load_strategy(settings.strategy, settings.policy, demonstrations)
        if settings.mode == "one_pass" and strategy.flow == "swap":
            raise Unavailable(f"strategy {settings.strategy!r} weighs explanations: mode=one_pass writes none")
        self._open(model)
        if settings.mode == "one_pass":
            said: dict[Any, str] = {label: strategy.said[label] for label in strategy.labels}
            if strategy.kind == "single":
                said = {float(mark): f"Rating: [[{mark}]]" for mark in _MARKS}
            self.plan = plan_of(said, self.tokens.reply_tokens)
        self.name, self.labels = self.name_of(model), strategy.labels
        self.fingerprint = fingerprint_of(self.provider, _FORMATS[settings.mode], self.files.digest, strategy.version)
        aside = getattr(settings, "max_model_len", None)  # for vLLM
        decoding = {name: getattr(settings, name) for name in _DECODING} | {"dtype": self.dtype}
        self.decoding = json.dumps(decoding | ({"max_model_len": aside} if aside else {}), sort_keys=True)
        written = max(self.max_new_tokens(call.name) for call in strategy.calls)
        if self.positions is not None and self.positions <= written:
            raise Unavailable(f"{model} has {self.positions} positions: max_new_tokens leaves no room for a prompt")
        limits = (settings.max_prompt_tokens, self.positions and self.positions - written)
        self.limit = min((n for n in limits if n is not None), default=None)

    def _open(self, model: str) -> None:
        """Everything about a model but its weights."""
        settings: Any = self.settings
        self.model, self.files = model, model_files(model)
        self.config, tokenizer = config_and_tokenizer(self.files, model)
        self.tokens = ChatTokenizer(tokenizer, getattr(settings, "thinking", False))
        self.ends = end_tokens(self.files, self.config, tokenizer)
        self.engine: Any = None
        self.device, self.dtype, weighed = computing(settings)
        self.batch_tokens = {True: weighed, False: computing(settings, WRITTEN_TOKENS)[2]}  # by what `weighs` says
        self.shares = getattr(settings, "share_prefix", True)
        room = (positions_of(self.config), getattr(settings, "max_model_len", None))
        self.positions = min((n for n in room if n is not None), default=None)

    def measure(self, messages: Messages) -> int:
        return self.tokens.size(messages)

    def weighs(self, call: str) -> bool:
        return self.plan is not None and call == self.strategy.calls[-1].name

    def max_new_tokens(self, call: str) -> int:
        if self.weighs(call):
            return len(self.plan.forced) + max(map(len, self.plan.paths))
        return self.settings.max_new_tokens or super().max_new_tokens(call)

    def notes(self) -> list[str]:
        """What a reader should know before the model is loaded: memory, and what is unusual."""
        packs = not hasattr(self.settings, "batch_tokens")  # vLLM, by itself
        budgets = [self.batch_tokens[self.weighs(call.name)] for call in self.strategy.calls]
        held = (self.positions or 0) if packs else max(budgets)
        notes = [memory_estimate(self.model, self.config, getattr(torch, self.dtype), held)]
        bare = f"{self.model} has no chat template: prompts are plain text under 'System:', 'User:', 'Assistant:'"
        return notes if self.tokens.templated else [*notes, bare]

    def load(self) -> None:
        """Read the weights, if that has not been done."""
        if self.engine is None:
            engine = load_model(self.files, self.tokens.tokenizer, self.ends, self.dtype)
            move_in(engine.model, self)
            self.engine = engine

    def question(self, messages: Messages, call: str) -> Question:
        """A prompt as the engine gets it."""
        return Question(tuple(self.tokens.ids(messages)), call)

    def complete(self, questions: Sequence[Question], spare: Set[int] = frozenset()) -> Iterator[Results]:
        """Yield dictionaries from the position of a question to its completion, or to the exception it failed with.

        Questions of one call that begin alike go together, longest first, in batches under the budget of tokens.
        ``spare``: positions that take part in forming batches; a batch of them alone is left out.
        """
        for call in dict.fromkeys(question.call for question in questions):
            own = [n for n, question in enumerate(questions) if question.call == call]
            lengths = {n: len(questions[n].ids) + self.max_new_tokens(call) for n in own}
            # Writing takes a pass for every token of a batch, however few its rows: families would only make more.
            apart = self.shares and self.engine.shares and self.weighs(call)
            for family in families([questions[n].ids for n in own]) if apart else [range(len(own))]:
                alike = {own[n]: lengths[own[n]] for n in family}
                if set(alike) - spare:
                    yield from self._completed_alike(questions, call, alike, spare)

    def _completed_alike(
        self, questions: Sequence[Question], call: str, lengths: Mapping[int, int], spare: Set[int]
    ) -> Iterator[Results]:
        """`complete` for some questions of a call, after what they begin with was read."""
        self.engine.share([questions[n].ids for n in lengths] if self.shares else [])
        weighed = self.weighs(call)

        def work(batch: list[int]) -> list[Any]:
            return [] if set(batch) <= spare else self._answered(questions, batch)

        for batch, done, budget in fitting_batches(lengths, self.batch_tokens[weighed], work):
            self.batch_tokens[weighed] = budget  # for good: what did not fit once does not fit the next time
            if done is None:
                short = f"{lengths[batch[0]]:,} tokens of one prompt and its reply do not fit into the memory"
                done = [MemoryError(f"{short} of {self.device}")]
            if done:
                yield dict(zip(batch, done, strict=True))

    def _answered(self, questions: Sequence[Question], batch: list[int]) -> list[Any]:
        """Completions of a batch; an exception in place of one where the model gave no numbers."""
        started, call = time.perf_counter(), questions[batch[0]].call
        prompts, longest = [list(questions[n].ids) for n in batch], self.max_new_tokens(call)
        if self.weighs(call):
            made = self.logprobs(prompts)
        else:  # what is drawn depends on the batch alone, not on those that were there already
            torch.manual_seed(int(fingerprint_of(self.settings.seed, prompts)[:15], 16))
            made = self.engine.generate(prompts, longest, self.settings.temperature)
        seconds = (time.perf_counter() - started) / len(batch)
        # The end token is left out: without one, there are as many tokens as there may be.
        return [
            row if isinstance(row, ValueError) else self.completed(questions[n], row, seconds, len(row) < longest)
            for n, row in zip(batch, made, strict=True)
        ]

    def logprobs(self, prompts: Sequence[Any]) -> list[list[float]]:
        """Log-probabilities of the plan's replies after each prompt."""
        return self.engine.logprobs(prompts, self.plan, self.batch_tokens[True])

    def completed(self, question: Question, made: list[Any], seconds: float, ended: bool) -> Completion | ValueError:
        """A completion from the tokens written (``ended`` by the model or cut), or the log-probabilities of a plan."""
        if not self.weighs(question.call):
            text, cut = self.tokens.tokenizer.decode(made, skip_special_tokens=True), None if ended else "length"
            return Completion(text, len(question.ids), len(made), seconds=seconds, cut=cut)
        try:
            weights = self.plan.weights(made)
        except ValueError as wrong:
            return wrong
        count = len(question.ids) + len(self.plan.forced)
        return Completion(self.plan.likeliest(weights), count, 0, seconds=seconds, weights=weights)

    def judge_stream(self, requests: Sequence[Request], wanted: Sequence[int] | None = None) -> Stream:
        known: dict[Any, Any] = {}  # completions of questions that several interviews put, or what they failed with
        every = range(len(requests))
        for start in every[::_WINDOW]:
            window = every[start : start + _WINDOW]
            if asked := set(window if wanted is None else wanted).intersection(window):
                self.load()
                held = window if self.forms_batches else sorted(asked)
                yield from self._in_rounds({n: self.steps(requests[n]) for n in held}, asked, known)

    def _in_rounds(self, interviews: Mapping[int, Steps], wanted: Set[int], known: dict[Any, Any]) -> Stream:
        """Hold interviews side by side: all go on until each waits for a completion, then those are made together.

        Of those that are not wanted, the first question alone takes part.
        """
        replies: dict[int, Reply] = {}  # of interviews that have ended
        waiting: dict[Any, list[int]] = {}  # interviews by the question that they wait for
        questions: dict[Any, Question] = {}  # of the next round

        def advance(position: int, completion: Any = None, made: bool = True) -> None:
            """Send an interview on until it waits for a completion, or has ended."""
            try:
                while not isinstance(completion, Exception):
                    ask = interviews[position].send((completion, made) if completion else None)  # type: ignore[arg-type]
                    key = ask.key if ask.shared else (position, ask.call)
                    if key not in known:
                        if key not in waiting:
                            questions[key] = self.question(ask.messages, ask.call)
                        waiting.setdefault(key, []).append(position)
                        return
                    completion, made = known[key], False
                replies[position] = self.failed(completion)
            except StopIteration as ended:
                replies[position] = ended.value
            except Exception as failure:  # one item that fails must not cost the others
                replies[position] = self.failed(failure)

        for position in interviews:
            advance(position)
        if replies := {position: reply for position, reply in replies.items() if position in wanted}:
            yield replies
        while questions:
            asked, questions = questions, {}
            keys = list(asked)
            waiting = {key: own for key in keys if (own := [p for p in waiting[key] if p in wanted])}
            spare = {n for n, key in enumerate(keys) if key not in waiting}
            for completed in self.complete(list(asked.values()), spare):
                replies = {}
                known |= {keys[n]: done for n, done in completed.items() if isinstance(keys[n], str)}
                # Whoever asked first goes on first: the order of the next round, and whose tokens they are.
                turns = [(p != own[0], p, n) for n in completed for own in [waiting.get(keys[n], [])] for p in own]
                for later, position, number in sorted(turns):
                    waiting.pop(keys[number], None)
                    advance(position, completed[number], made=not later)
                if replies:
                    yield replies
