"""What judges that run a model themselves have in common: settings, prompts as tokens, rounds of questions, replies."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal, NamedTuple

import torch
from pydantic import Field, PositiveInt
from pydantic.dataclasses import dataclass

from judgekit.judges.base import Request
from judgekit.judges.generative import DEFAULT, AskedJudge, Completion, Interview, Messages, Steps
from judgekit.models import Unavailable
from judgekit.models.causal import memory_estimate
from judgekit.models.chat_tokens import ChatTokenizer
from judgekit.models.files import end_tokens, model_files
from judgekit.models.one_pass import Plan, plan_of
from judgekit.prompts import load_strategy
from judgekit.records import Reply, fingerprint_of

_FORMATS = {"generate": 2, "one_pass": 1}  # by mode; 1 read replies that were cut off
_MARKS = range(1, 11)  # of the assignment's prompt
_WINDOW = 512  # requests that are prepared at once
_DECODING = ("mode", "max_new_tokens", "max_prompt_tokens", "temperature", "seed", "thinking")
NO_TEMPLATE = "has no chat template: prompts are plain text under 'System:', 'User:', 'Assistant:'"
Results = dict[int, Any]  # position of a question to its completion, or to the exception in place of one


def device_of(name: str) -> str:
    """A device, or what ``auto`` stands for: a GPU where there is one, else the CPU."""
    return name if name != "auto" else "cuda" if torch.cuda.is_available() else "cpu"


def known_device(name: str) -> str:
    """The name of a device, or ``auto``; ValueError where there is no such device."""
    try:
        torch.device(device_of(name))
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
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"  # auto: bfloat16 on a GPU, else float32


class Question(NamedTuple):
    """A prompt as an engine gets it, for a call whose replies are ``weighed`` or else written."""

    ids: tuple[int, ...]
    call: str
    weighed: bool


class LocalJudge(AskedJudge):
    """A judge that runs a causal language model, of a name or folder that `judgekit.models.files.model_files` takes.

    Weights are read by `load`, at the latest when the first pair is judged. A request that fails is replied to with
    status ``error`` and the reason; the others go on. Unavailable where there is no such model, or a setting is wrong;
    PromptError where there is no such strategy.
    """

    example = "a model: a folder, or a name such as Qwen/Qwen3-0.6B"

    def __init__(self, model: str, settings: Any = None, demonstrations: Sequence[Any] = ()) -> None:
        from transformers import AutoConfig, AutoTokenizer

        self.settings = settings = settings or self.settings_kind()
        self.strategy = load_strategy(settings.strategy, settings.policy, demonstrations)
        if settings.mode == "one_pass" and self.strategy.flow == "swap":
            raise Unavailable(f"strategy {settings.strategy!r} weighs explanations: mode=one_pass writes none")
        self.files = model_files(model)
        base, tokens = (self.files.base, self.files.revision), (self.files.tokenizer, self.files.tokenizer_revision)
        try:
            self.config = AutoConfig.from_pretrained(base[0], revision=base[1], trust_remote_code=False)
            tokenizer = AutoTokenizer.from_pretrained(tokens[0], revision=tokens[1], trust_remote_code=False)
        except (OSError, ValueError) as broken:
            raise Unavailable(f"{model}: {' '.join(str(broken).split())[:300]}") from None
        self.tokens = ChatTokenizer(tokenizer, settings.thinking)
        self.ends = end_tokens(self.files, self.config, tokenizer)
        self.plan = self._candidates() if settings.mode == "one_pass" else None
        self.model, self.name = model, self.name_of(model)
        self.engine: Any = None
        self.device = device_of(getattr(settings, "device", "auto"))
        automatic = "float32" if torch.device(self.device).type == "cpu" else "bfloat16"
        self.dtype = automatic if settings.dtype == "auto" else settings.dtype
        self.fingerprint = fingerprint_of(
            self.provider, _FORMATS[settings.mode], self.files.digest, self.strategy.version
        )
        decoding = {name: asdict(settings)[name] for name in _DECODING} | {"dtype": self.dtype}
        self.decoding = json.dumps(decoding, sort_keys=True)
        self.positions = getattr(self.config.get_text_config(decoder=True), "max_position_embeddings", None)
        self.max_prompt_tokens = self._room_for_prompts()

    def _candidates(self) -> Plan:
        """The replies that are weighed in place of a written one."""
        said: dict[Any, str] = {label: self.strategy.said[label] for label in self.strategy.labels}
        if self.strategy.kind == "single":
            said = {float(mark): f"Rating: [[{mark}]]" for mark in _MARKS}
        try:
            return plan_of(said, self.tokens.reply_tokens)
        except ValueError as wrong:
            raise Unavailable(str(wrong)) from None

    def max_new_tokens(self, call: str) -> int:
        """Longest completion of a call; for replies that are weighed, their longest."""
        if self.plan is not None and call == self.strategy.calls[-1].name:
            return len(self.plan.forced) + max(map(len, self.plan.paths))
        return self.settings.max_new_tokens or super().max_new_tokens(call)

    def most_written(self, call: str) -> int:
        """Most tokens that a call writes: none where replies are weighed."""
        return 0 if self.plan is not None and call == self.strategy.calls[-1].name else self.max_new_tokens(call)

    def _room_for_prompts(self) -> int | None:
        """Most tokens of a prompt: what is set, or what there is room for beside the longest completion."""
        written = max(self.max_new_tokens(call.name) for call in self.strategy.calls)
        limits = [] if self.settings.max_prompt_tokens is None else [self.settings.max_prompt_tokens]
        aside = getattr(self.settings, "max_model_len", None)
        for room, what in (
            (self.positions, f"{self.model} has {self.positions} positions"),
            (aside, f"max_model_len={aside}"),
        ):
            if room is not None and room <= written:
                raise Unavailable(f"{what}: max_new_tokens leaves no room for a prompt")
            limits += [] if room is None else [room - written]
        return min(limits, default=None)

    def notes(self) -> list[str]:
        """What a reader should know before the model is loaded: memory, and what is unusual."""
        asked = ("batch_tokens", "max_model_len")  # of hf/, of vllm/
        held = next((n for name in asked if (n := getattr(self.settings, name, None))), self.positions or 0)
        notes = [memory_estimate(self.model, self.config, getattr(torch, self.dtype), held)]
        return notes if self.tokens.templated else [*notes, f"{self.model} {NO_TEMPLATE}"]

    def load(self) -> None:
        """Read the weights, if that has not been done."""
        raise NotImplementedError

    def complete(self, questions: Sequence[Question]) -> Iterator[Results]:
        """Yield dictionaries from the position of a question to its completion, or to the exception it failed with."""
        raise NotImplementedError

    def judge_stream(self, requests: Sequence[Request]) -> Iterator[dict[int, Reply]]:
        """Yield replies as they are finished: dictionaries from the position of a request to its reply."""
        self.load()
        known: dict[Any, Any] = {}
        for start in range(0, len(requests), _WINDOW):
            window = enumerate(requests[start : start + _WINDOW], start)
            asked = {
                position: Interview(self.strategy, request, self.max_prompt_tokens, self.tokens.size).steps()
                for position, request in window
            }
            yield from self._in_rounds(asked, known)

    def _in_rounds(self, interviews: Mapping[int, Steps], known: dict[Any, Any]) -> Iterator[dict[int, Reply]]:
        """Hold interviews side by side: all go on until each waits for a completion, then those are made together.

        ``known``: completions of questions that several interviews put, or the exceptions in place of them.
        """
        waiting: dict[Any, list[int]] = {}  # interviews by the question that they wait for
        questions: dict[Any, Question] = {}  # of the next round

        def advance(position: int, completion: Any = None, made: bool = True) -> dict[int, Reply]:
            """Send an interview on until it waits for a completion; its reply, if it has ended."""
            try:
                while True:
                    if isinstance(completion, Exception):
                        raise completion
                    ask = interviews[position].send((completion, made) if completion else None)  # type: ignore[arg-type]
                    key = ask.key if ask.shared else (position, ask.call)
                    if key not in known:
                        if key not in waiting:
                            questions[key] = self.question(ask.messages, ask.call)
                        waiting.setdefault(key, []).append(position)
                        return {}
                    completion, made = known[key], False
            except StopIteration as ended:
                return {position: ended.value}
            except Exception as failure:  # one item that fails must not cost the others
                return {position: self.failed(failure)}

        if replies := {n: reply for position in interviews for n, reply in advance(position).items()}:
            yield replies
        while questions:
            asked, questions = questions, {}
            keys = list(asked)
            for completed in self.complete(list(asked.values())):
                replies = {}
                # Whoever asked first goes on first: the order of the next round, and whose tokens they are.
                first = sorted((waiting[keys[number]][0], number) for number in completed)
                for position, number in first:
                    if isinstance(keys[number], bytes):
                        known[keys[number]] = completed[number]
                    replies |= advance(position, completed[number])
                others = sorted((each, number) for _, number in first for each in waiting.pop(keys[number])[1:])
                for position, number in others:
                    replies |= advance(position, completed[number], made=False)
                if replies:
                    yield replies

    def question(self, messages: Messages, call: str) -> Question:
        """A prompt as the engine gets it."""
        weighed = self.plan is not None and call == self.strategy.calls[-1].name
        return Question(tuple(self.tokens.ids(messages)), call, weighed)

    def written(self, question: Question, ids: list[int], seconds: float, ended: bool) -> Completion:
        """A completion that was generated, up to its end token if there was one."""
        cut = None if ended else "length"
        return Completion(self.tokens.text(ids), len(question.ids), len(ids), seconds=seconds, cut=cut)

    def weighed(self, question: Question, logprobs: list[float], seconds: float) -> Completion | ValueError:
        """A completion that was weighed; an exception where the numbers are none."""
        assert self.plan is not None
        try:
            weights = self.plan.weights(logprobs)
        except ValueError as wrong:
            return wrong
        count = len(question.ids) + len(self.plan.forced)
        return Completion(self.plan.likeliest(weights), count, 0, seconds=seconds, weights=weights)
