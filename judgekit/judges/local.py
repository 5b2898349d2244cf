"""What judges that run a model themselves have in common: settings, prompts as tokens, and replies."""

import json
from dataclasses import asdict, dataclass

from judgekit.fingerprints import fingerprint_of
from judgekit.judges.completion import Completion, longest_completion
from judgekit.judges.forecast import forecast
from judgekit.judges.generative import Interview
from judgekit.judges.pacing import Budget
from judgekit.judges.rounds import Rounds
from judgekit.judges.settings import DEFAULT, judge_name, named_settings, read_settings
from judgekit.models.chat_tokens import ChatTokenizer
from judgekit.models.errors import Unavailable
from judgekit.models.files import end_tokens, model_files
from judgekit.models.one_pass import plan_of
from judgekit.prompts import PromptError, load_strategy
from judgekit.store import Reply

FORMAT = 1
MODES = ("generate", "one_pass")
DTYPES = ("auto", "float32", "bfloat16", "float16")
RATING = range(1, 11)  # the marks of the assignment's prompt
WINDOW = 512  # requests that are prepared at once
DECODING = ("mode", "max_new_tokens", "max_prompt_tokens", "temperature", "seed", "thinking")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSettings:
    """How a judge asks a model that it runs itself.

    Attributes
    ----------
    strategy : str
        One of `judgekit.prompts.strategy_names`.
    policy : {"permissive", "strict"}
        Whether a tie may be said.
    mode : {"generate", "one_pass"}
        Read the verdict from what the model writes, or from the probabilities of the verdicts, without writing.
    max_new_tokens : int, optional
        Longest completion; by default short for replies that are the verdict alone. Models that think need more.
    max_prompt_tokens : int, optional
        Longest prompt; beyond it the longest response loses its middle. By default what the model's positions leave.
    temperature : float
        0 is greedy.
    seed : int
        Of sampling.
    thinking : bool
        Ask a model that can think to do so.
    dtype : {"auto", "float32", "bfloat16", "float16"}
        Of the weights; auto is bfloat16 on a GPU and float32 elsewhere.
    """

    strategy: str = DEFAULT
    policy: str = "permissive"
    mode: str = "generate"
    max_new_tokens: int | None = None
    max_prompt_tokens: int | None = None
    temperature: float = 0.0
    seed: int = 0
    thinking: bool = False
    dtype: str = "auto"

    def __post_init__(self):
        for name, allowed in (("mode", MODES), ("dtype", DTYPES)):
            if getattr(self, name) not in allowed:
                raise Unavailable(f"{name}={getattr(self, name)!r} is not one of {', '.join(allowed)}")
        for name in ("max_new_tokens", "max_prompt_tokens"):
            if getattr(self, name) is not None and getattr(self, name) <= 0:
                raise Unavailable(f"{name}={getattr(self, name)} must be above 0")
        if not 0 <= self.temperature < float("inf"):
            raise Unavailable(f"temperature={self.temperature} must be 0 or above")


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt as an engine gets it.

    Attributes
    ----------
    ids : tuple of int
    call : str
        Name of the strategy's call.
    weighed : bool
        Whether its replies are weighed instead of written.
    """

    ids: tuple
    call: str
    weighed: bool


class LocalJudge:
    """A judge that runs a causal language model.

    Parameters
    ----------
    model : str
        `judgekit.models.files.model_files` says what it may be.
    settings : LocalSettings
    demonstrations : sequence of judgekit.prompts.Demonstration
        For the strategy that shows some.

    Raises
    ------
    Unavailable
        If there is no such model, or a setting is wrong.
    judgekit.prompts.PromptError
        If there is no such strategy.

    Notes
    -----
    Weights are read by `load`, at the latest when the first pair is judged. A request that fails is replied to with
    status ``error`` and the reason; the others go on.
    """

    provider = "local"
    batch_size = 64
    sees_item = False

    def __init__(self, model, settings, demonstrations=()):
        from transformers import AutoConfig, AutoTokenizer

        self.settings = settings
        self.strategy = load_strategy(settings.strategy, settings.policy, demonstrations)
        if settings.mode == "one_pass" and self.strategy.flow == "swap":
            raise Unavailable(f"strategy {settings.strategy!r} weighs explanations: mode=one_pass writes none")
        self.files = model_files(model)
        try:
            self.config = AutoConfig.from_pretrained(
                self.files.base, revision=self.files.revision, trust_remote_code=False
            )
            tokenizer = AutoTokenizer.from_pretrained(
                self.files.tokenizer, revision=self.files.tokenizer_revision, trust_remote_code=False
            )
        except (OSError, ValueError) as broken:
            raise Unavailable(f"{model}: {' '.join(str(broken).split())[:300]}") from None
        self.tokens = ChatTokenizer(tokenizer, settings.thinking)
        self.ends = end_tokens(self.files, self.config, tokenizer)
        self.plan = self.candidates() if settings.mode == "one_pass" else None
        self.model, self.name = model, judge_name(self.provider, model, settings)
        self.dtype = self.resolved_dtype()
        self.fingerprint = fingerprint_of(self.provider, FORMAT, self.files.digest, self.strategy.version)
        decoding = {name: asdict(settings)[name] for name in DECODING} | {"dtype": self.dtype}
        self.decoding = json.dumps(decoding, sort_keys=True)
        self.max_prompt_tokens = self.room_for_prompts()

    def candidates(self):
        """The replies that are weighed in place of a written one."""
        said = {label: self.strategy.said[label] for label in self.strategy.labels}
        if self.strategy.kind == "single":
            said = {float(mark): f"Rating: [[{mark}]]" for mark in RATING}
        try:
            return plan_of(said, self.tokens.reply_tokens)
        except ValueError as wrong:
            raise Unavailable(str(wrong)) from None

    def resolved_dtype(self):
        """The dtype of the weights, by name."""
        return "float32" if self.settings.dtype == "auto" else self.settings.dtype

    def is_weighed(self, call):
        """Whether the replies of a call are weighed instead of written."""
        return self.plan is not None and call == self.strategy.calls[-1].name

    def max_new_tokens(self, call):
        """Longest completion of a call; for replies that are weighed, their longest."""
        if self.is_weighed(call):
            return len(self.plan.forced) + max(map(len, self.plan.paths))
        return self.settings.max_new_tokens or longest_completion(self.strategy, call)

    def room_for_prompts(self):
        """Most tokens of a prompt: what is set, or what the model's positions leave beside the longest completion."""
        positions = getattr(self.config.get_text_config(decoder=True), "max_position_embeddings", None)
        room = None
        if positions is not None:
            room = positions - max(self.max_new_tokens(call.name) for call in self.strategy.calls)
            if room <= 0:
                raise Unavailable(f"{self.model} has {positions} positions: max_new_tokens leaves no room in them")
        given = [limit for limit in (room, self.settings.max_prompt_tokens) if limit is not None]
        return min(given, default=None)

    def notes(self):
        """What a reader should know before the model is loaded: lines of text."""
        if self.tokens.templated:
            return []
        return [f"{self.model} has no chat template: prompts are plain text under 'System:', 'User:', 'Assistant:'"]

    def forecast(self, requests):
        """What judging some requests would take, in advance (`judgekit.judges.forecast.Forecast`)."""

        def most_written(call):
            return 0 if self.is_weighed(call) else self.max_new_tokens(call)

        return forecast(self.strategy, requests, most_written, None, Budget())

    def load(self):
        """Read the weights, if that has not been done."""
        raise NotImplementedError

    def complete(self, questions):
        """Yield dictionaries from the place of a question to its completion, or to the exception it failed with."""
        raise NotImplementedError

    def judge(self, requests):
        """Reply to each request, in order."""
        replies = {}
        for finished in self.judge_stream(requests):
            replies |= finished
        return [replies[place] for place in range(len(requests))]

    def judge_stream(self, requests):
        """Yield replies as they are finished: dictionaries from the place of a request to its reply."""
        self.load()
        rounds = Rounds(self.question, self.complete)
        interview = Interview(self.strategy, rounds.ask, rounds.shared, self.max_prompt_tokens, self.tokens.size)
        for start in range(0, len(requests), WINDOW):
            asked = [interview.reply(request) for request in requests[start : start + WINDOW]]
            for finished in rounds.hold(asked):
                yield {start + place: self.reply(result) for place, result in finished.items()}

    def question(self, messages, call):
        """A prompt as the engine gets it."""
        return Question(tuple(self.tokens.ids(messages)), call, self.is_weighed(call))

    def reply(self, result):
        """A failure is a reply, too."""
        if not isinstance(result, Exception):
            return result
        said = f"{type(result).__name__}: {result}"
        return Reply(None, status="error", raw=said, prompt_version=self.strategy.version)

    def written(self, question, ids, seconds):
        """A completion that was generated; an exception where the model gave no numbers."""
        if isinstance(ids, ValueError):
            return ids
        return Completion(self.tokens.text(ids), len(question.ids), len(ids), seconds=seconds)

    def weighed(self, question, logprobs, seconds):
        """A completion that was weighed; an exception where the numbers are none."""
        try:
            weights = self.plan.weights(logprobs)
        except ValueError as wrong:
            return wrong
        count = len(question.ids) + len(self.plan.forced)
        return Completion(self.plan.likeliest(weights), count, 0, seconds=seconds, weights=weights)


def load_local(kind, settings_kind, name, settings=None, demonstrations=()):
    """A judge from its name without the provider: a model, and after ``#`` a strategy and ``-strict``.

    Raises
    ------
    Unavailable
        If a setting contradicts the name or is wrong, or there is no such model.
    """
    model, given = named_settings(name, settings)
    if not model:
        raise Unavailable(f"{kind.provider}/ needs a model: a folder, or a name such as Qwen/Qwen3-0.6B")
    try:
        return kind(model, read_settings(settings_kind, given), demonstrations)
    except PromptError as wrong:
        raise Unavailable(str(wrong)) from None
