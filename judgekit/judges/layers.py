"""``layers/<model>``: a causal language model judged by what all its layers say, not by its last one alone."""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Literal

from pydantic import PositiveInt, field_validator, model_validator
from pydantic.dataclasses import dataclass

from judgekit.inside.layer_logits import LayerReader, conversation
from judgekit.inside.layers import distribution, last_only, load_weights, uniform_weights
from judgekit.judges.base import Request
from judgekit.judges.generative import Forecast, most_probable, reply_of, reply_of_marks
from judgekit.judges.local import NO_TEMPLATE, device_of, known_device
from judgekit.models import Unavailable
from judgekit.models.one_pass import Plan, plan_of
from judgekit.prompts import Prompt, PromptError, PromptTooLong, Strategy, load_strategy
from judgekit.prompts.parsing import Parsed
from judgekit.prompts.rubrics import Rubric, read_rubric, scale_of, score_prompt
from judgekit.records import Reply, fingerprint_of

_FORMAT = 1
_SIDES = ("first", "second")
_REMEMBERED = 100_000  # prompts: each response of a pair is rated once for both orders


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a ``layers/`` judge reads its model."""

    # Rate each response, at once or after an explanation that the model writes; or read the verdict on both.
    mode: Literal["direct", "reasoning", "verdict"] = "direct"
    weights: str = "uniform"  # or last (the ordinary expected score), or a file of learned weights
    over: Literal["logits", "probabilities", "double_softmax"] = "logits"  # what is averaged
    normed: bool = False  # layers go through the final norm
    scale: str = "1-5"  # lowest and highest rating
    rubric: str | None = None  # YAML file with ``criterion`` and ``levels``
    strategy: str = "letter"  # for verdicts
    policy: Literal["permissive", "strict"] = "permissive"  # or strict: a tie may not be given
    max_new_tokens: PositiveInt = 256  # of an explanation, as in the published code
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"  # auto: bfloat16 on a GPU, else float32
    device: str = "auto"  # a GPU where there is one, else the CPU
    batch_tokens: PositiveInt = 8192  # at once; the states of all layers of a batch are in memory for a moment

    _known_device = field_validator("device")(known_device)

    @model_validator(mode="after")
    def _asks_in_one_way(self) -> "Settings":
        if self.mode == "verdict" and self.rubric:
            raise ValueError("rubric= is for ratings: mode=verdict asks by a strategy")
        return self


class LayeredJudge:
    """A judge that weighs what the layers of a causal language model say.

    Ratings: with p and q the probabilities of the scores that the two responses get by themselves, the first is better
    with the probability that a score drawn from p is above one drawn from q, independently, and they tie with the
    probability that both are the same. The scores of the reply are the expected ones. A pair is rated alike in both
    orders; verdicts are read in the order shown. Unavailable, PromptError or WeightsError where the model, a setting,
    a prompt or a file of weights cannot be used.
    """

    provider = "layers"
    example = "a model: a folder, or a name such as Qwen/Qwen3-0.6B"
    settings_kind = Settings
    batch_size = 64
    sees_item = False

    @staticmethod
    def named(asked: str) -> dict[str, str]:
        """The settings that a name states after ``#``."""
        return {"mode": asked}

    def __init__(self, model: str, settings: Settings | None = None) -> None:
        self.settings = settings = settings or Settings()
        self.strategy, self.scores = _prompt_of(settings)
        device = device_of(settings.device)
        dtype = ("float32" if device == "cpu" else "bfloat16") if settings.dtype == "auto" else settings.dtype
        self.reader = LayerReader(model, device, dtype, settings.batch_tokens)
        self.labels = _SIDES if settings.policy == "strict" else (*_SIDES, "tie")
        self.sides = ("pair",) if settings.mode == "verdict" else _SIDES
        self.plan = self._candidates()
        self.weights = self._layer_weights()
        self.name = f"layers/{model}" + ("" if settings.mode == "direct" else f"#{settings.mode}")
        self.written = settings.max_new_tokens if settings.mode == "reasoning" else None
        self.room = self.reader.room_for(self.plan, self.written)
        if self.room is not None and self.room <= 0:
            raise Unavailable(f"{model} has {self.reader.room} positions: max_new_tokens leaves no room in them")
        self.fingerprint = fingerprint_of(
            "layers", _FORMAT, self.reader.fingerprint, self.strategy.version, self.weights
        )
        matters = ("mode", "over", "normed", "policy")
        decoding = {name: asdict(settings)[name] for name in matters} | {"max_new_tokens": self.written}
        self.decoding = json.dumps(decoding | {"scores": self.scores, "dtype": dtype}, sort_keys=True)
        self._known: dict[bytes, Any] = {}  # probabilities, or what a prompt failed with

    def _candidates(self) -> Plan:
        """The replies that are weighed: ratings, or verdicts."""
        try:
            if self.settings.mode != "verdict":
                return self.reader.plan(self.scores, self.strategy.said["score"])
            said = {label: self.strategy.said[label] for label in self.labels}
            return plan_of(said, self.reader.tokens.reply_tokens)
        except ValueError as wrong:
            raise Unavailable(str(wrong)) from None

    def _layer_weights(self) -> list[float]:
        settings, config = self.settings, self.reader.engine.model.config
        n_layers = config.get_text_config(decoder=True).num_hidden_layers + 1
        if settings.weights in ("uniform", "last"):
            return (uniform_weights if settings.weights == "uniform" else last_only)(n_layers).tolist()
        wanted = {"model": self.reader.fingerprint, "prompt": self.strategy.version, "scores": self.scores}
        saved = load_weights(settings.weights, **wanted, normed=settings.normed, over=settings.over)
        if len(saved.weights.values) != n_layers:
            raise Unavailable(f"{settings.weights}: field 'values' has not one weight for each of {n_layers} layers")
        return list(saved.weights.values)

    def notes(self) -> list[str]:
        """What a reader should know beforehand: lines of text."""
        return [] if self.reader.tokens.templated else [f"{self.name} {NO_TEMPLATE}"]

    def _prompts(self, requests: Sequence[Request]) -> list[list[Prompt] | Exception]:
        """The prompts of each request, or why it cannot be asked about."""
        prompts: list[list[Prompt] | Exception] = []
        for request in requests:
            try:
                prompts.append([self.prompt(request, side) for side in self.sides])
            except (PromptError, PromptTooLong) as wrong:
                prompts.append(wrong)
        return prompts

    def forecast(self, requests: Sequence[Request]) -> Forecast:
        """What judging some requests would take, in advance."""
        asked = [shown for shown in self._prompts(requests) if not isinstance(shown, Exception)]
        sizes = {_key(prompt): self._size(prompt) for shown in asked for prompt in shown}
        n, n_impossible, written = len(sizes), len(requests) - len(asked), len(sizes) * (self.written or 0)
        return Forecast(len(requests), n_impossible, n, n, sum(sizes.values()), written, None)

    def judge(self, requests: Sequence[Request]) -> list[Reply]:
        """Reply to each request, in order; one that fails gets a reply with status ``error``."""
        started = time.perf_counter()
        asked = self._prompts(requests)
        made = self._read([prompt for shown in asked if not isinstance(shown, Exception) for prompt in shown])
        replies = [self._failed(each) if isinstance(each, Exception) else self._reply(each, made) for each in asked]
        seconds = (time.perf_counter() - started) / max(1, len(requests))
        return [replace(reply, seconds=seconds) for reply in replies]

    def prompt(self, request: Request, side: str) -> Prompt:
        """The messages that ask about a response, or about both."""
        limit, measure = self.room, self.reader.tokens.size
        if side == "pair":
            return self.strategy.render("verdict", request, limit=limit, measure=measure)
        return conversation(self.strategy, request, limit, measure, side)

    def _size(self, prompt: Prompt) -> int:
        """Tokens of a prompt."""
        return self.reader.tokens.size(list(prompt.messages))

    def _read(self, prompts: Sequence[Prompt]) -> set[bytes]:
        """Let the model read prompts that it has not read before; the keys of those."""
        asked = {_key(prompt): prompt for prompt in prompts}
        if len(self._known) > _REMEMBERED:
            self._known = {key: self._known[key] for key in asked if key in self._known}
        fresh = {key: list(prompt.messages) for key, prompt in asked.items() if key not in self._known}
        if fresh:
            self._known |= dict(zip(fresh, self._probabilities(list(fresh.values())), strict=True))
        return set(fresh)

    def _probabilities(self, asked: list[list[dict[str, str]]]) -> list[Any]:
        """Probabilities of the candidates for each conversation; where one fails, what it failed with."""
        try:
            logits = self.reader.logits(asked, self.plan, self.settings.normed, max_new_tokens=self.written)
            return list(distribution(logits, self.weights, self.settings.over))
        except (ValueError, MemoryError) as wrong:  # no numbers (damaged weights, an overflow), or one that is too long
            return [wrong] if len(asked) == 1 else [self._probabilities([one])[0] for one in asked]

    def _failed(self, wrong: Exception) -> Reply:
        """The reply to a request that failed."""
        raw = f"{type(wrong).__name__}: {wrong}"
        return Reply(None, status="error", raw=raw, prompt_version=self.strategy.version)

    def _reply(self, prompts: list[Prompt], made: set[bytes]) -> Reply:
        """A reply from the probabilities that the layers gave; what was read now counts as a call of this reply."""
        results = [self._known[_key(prompt)] for prompt in prompts]
        if wrong := [each for each in results if isinstance(each, Exception)]:
            return self._failed(wrong[0])
        weights = [dict(zip(self.plan.names, map(float, each), strict=True)) for each in results]
        raw = json.dumps(weights[0] if len(weights) == 1 else dict(zip(_SIDES, weights, strict=True)))
        if any(value != value for each in weights for value in each.values()):
            reply = Reply(None, status="unparsed", raw="the model wrote no rating")
        elif self.settings.mode == "verdict":
            reply = most_probable(reply_of(Parsed(None, "ok", None), raw), weights[0], self.labels)
        else:
            reply = reply_of_marks(weights[0], weights[1], self.labels, raw)
        now = {_key(prompt): prompt for prompt in prompts if _key(prompt) in made}
        made -= set(now)
        return replace(
            reply,
            prompt_version=self.strategy.version,
            tokens_in=sum(map(self._size, now.values())),
            tokens_out=0 if self.written is None else None,
            calls=len(now),
            truncated=max(prompt.truncated for prompt in prompts) or None,
        )


def _prompt_of(settings: Settings) -> tuple[Strategy, tuple[int, ...]]:
    """The strategy that asks, and the scores it asks for (positions of the verdicts, where it asks for one)."""
    if settings.mode != "verdict":
        scores = scale_of(settings.scale)
        rubric = read_rubric(settings.rubric, scores) if settings.rubric else Rubric(scores=scores)
        return score_prompt(settings.mode, rubric), scores
    strategy = load_strategy(settings.strategy, settings.policy)
    if strategy.kind != "pair" or len(strategy.calls) != 1 or not strategy.said["first"]:
        raise Unavailable(f"strategy {settings.strategy!r} does not ask for a verdict in one call")
    if not (strategy.closed or strategy.reads == "first line"):
        raise Unavailable(f"strategy {settings.strategy!r} explains before it judges: nothing is written here")
    return strategy, tuple(range(len(strategy.labels)))


def _key(prompt: Prompt) -> bytes:
    return hashlib.sha256(json.dumps(prompt.messages).encode()).digest()
