"""What judges that run a model themselves have in common: settings, prompts as tokens, and replies."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, PositiveInt
from pydantic.dataclasses import dataclass

from judgekit.judges.base import Request
from judgekit.judges.forecast import Forecast, forecast
from judgekit.judges.generative import AskedJudge, Completion, Interview, Messages, longest_completion
from judgekit.judges.pacing import Budget
from judgekit.judges.rounds import Results, Rounds
from judgekit.judges.settings import DEFAULT
from judgekit.models.chat_tokens import ChatTokenizer
from judgekit.models.errors import Unavailable
from judgekit.models.files import end_tokens, model_files
from judgekit.models.one_pass import Plan, plan_of
from judgekit.prompts import load_strategy
from judgekit.records import Reply, fingerprint_of

FORMATS = {"generate": 2, "one_pass": 1}  # by mode; 1 read replies that were cut off
RATING = range(1, 11)  # the marks of the assignment's prompt
WINDOW = 512  # requests that are prepared at once
DECODING = ("mode", "max_new_tokens", "max_prompt_tokens", "temperature", "seed", "thinking")


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
        self.model, self.name = model, self.name_of(model, settings)
        self.engine: Any = None
        self.dtype = self._automatic_dtype() if settings.dtype == "auto" else settings.dtype
        self.fingerprint = fingerprint_of(
            self.provider, FORMATS[settings.mode], self.files.digest, self.strategy.version
        )
        decoding = {name: asdict(settings)[name] for name in DECODING} | {"dtype": self.dtype}
        self.decoding = json.dumps(decoding, sort_keys=True)
        self.positions = getattr(self.config.get_text_config(decoder=True), "max_position_embeddings", None)
        self.max_prompt_tokens = self._room_for_prompts()

    def _candidates(self) -> Plan:
        """The replies that are weighed in place of a written one."""
        said: dict[Any, str] = {label: self.strategy.said[label] for label in self.strategy.labels}
        if self.strategy.kind == "single":
            said = {float(mark): f"Rating: [[{mark}]]" for mark in RATING}
        try:
            return plan_of(said, self.tokens.reply_tokens)
        except ValueError as wrong:
            raise Unavailable(str(wrong)) from None

    def _automatic_dtype(self) -> str:
        """The dtype of the weights where none is set, by name."""
        raise NotImplementedError

    def _is_weighed(self, call: str) -> bool:
        """Whether the replies of a call are weighed instead of written."""
        return self.plan is not None and call == self.strategy.calls[-1].name

    def max_new_tokens(self, call: str) -> int:
        """Longest completion of a call; for replies that are weighed, their longest."""
        if self.plan is not None and self._is_weighed(call):
            return len(self.plan.forced) + max(map(len, self.plan.paths))
        return self.settings.max_new_tokens or longest_completion(self.strategy, call)

    def _room_for_prompts(self) -> int | None:
        """Most tokens of a prompt: what is set, or what the model's positions leave beside the longest completion."""
        room = None
        if self.positions is not None:
            room = self.positions - max(self.max_new_tokens(call.name) for call in self.strategy.calls)
            if room <= 0:
                raise Unavailable(f"{self.model} has {self.positions} positions: max_new_tokens leaves no room in them")
        given = [limit for limit in (room, self.settings.max_prompt_tokens) if limit is not None]
        return min(given, default=None)

    def notes(self) -> list[str]:
        """What a reader should know before the model is loaded: lines of text."""
        if self.tokens.templated:
            return []
        return [f"{self.model} has no chat template: prompts are plain text under 'System:', 'User:', 'Assistant:'"]

    def forecast(self, requests: Sequence[Request]) -> Forecast:
        """What judging some requests would take, in advance."""

        def most_written(call: str) -> int:
            return 0 if self._is_weighed(call) else self.max_new_tokens(call)

        return forecast(self.strategy, requests, most_written, None, Budget())

    def load(self) -> None:
        """Read the weights, if that has not been done."""
        raise NotImplementedError

    def complete(self, questions: Sequence[Question]) -> Iterator[Results]:
        """Yield dictionaries from the position of a question to its completion, or to the exception it failed with."""
        raise NotImplementedError

    def judge_stream(self, requests: Sequence[Request]) -> Iterator[dict[int, Reply]]:
        """Yield replies as they are finished: dictionaries from the position of a request to its reply."""
        self.load()
        rounds = Rounds(self.question, self.complete)
        interview = Interview(self.strategy, rounds.ask, rounds.shared, self.max_prompt_tokens, self.tokens.size)
        for start in range(0, len(requests), WINDOW):
            asked = [interview.reply(request) for request in requests[start : start + WINDOW]]
            for finished in rounds.hold(asked):
                yield {start + position: self._reply(result) for position, result in finished.items()}

    def question(self, messages: Messages, call: str) -> Question:
        """A prompt as the engine gets it."""
        return Question(tuple(self.tokens.ids(messages)), call, self._is_weighed(call))

    def _reply(self, result: Reply | Exception) -> Reply:
        """A failure is a reply, too."""
        return self.failed(f"{type(result).__name__}: {result}") if isinstance(result, Exception) else result

    def _written(
        self, question: Question, ids: list[int] | ValueError, seconds: float, ended: bool
    ) -> Completion | ValueError:
        """A completion that was generated, up to its end token if there was one; else the error that it is."""
        if isinstance(ids, ValueError):
            return ids
        cut = None if ended else "length"
        return Completion(self.tokens.text(ids), len(question.ids), len(ids), seconds=seconds, cut=cut)

    def _weighed(self, question: Question, logprobs: list[float], seconds: float) -> Completion | ValueError:
        """A completion that was weighed; an exception where the numbers are none."""
        assert self.plan is not None
        try:
            weights = self.plan.weights(logprobs)
        except ValueError as wrong:
            return wrong
        count = len(question.ids) + len(self.plan.forced)
        return Completion(self.plan.likeliest(weights), count, 0, seconds=seconds, weights=weights)
