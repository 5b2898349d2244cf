"""``layers/<model>``: a causal language model judged by what all its layers say, not by its last one alone."""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from judgekit.inside.layers.aggregation import OVER, distribution, last_only, uniform_weights
from judgekit.inside.layers.asking import conversation, room_for
from judgekit.inside.layers.reading import LayerReader
from judgekit.inside.layers.saved import load_weights
from judgekit.judges.base import Request
from judgekit.judges.forecast import Forecast
from judgekit.judges.generative import most_probable, reply_of, reply_of_marks
from judgekit.judges.settings import read_settings
from judgekit.models.errors import Unavailable
from judgekit.models.one_pass import Plan, plan_of
from judgekit.prompts import POLICIES, Prompt, PromptError, PromptTooLong, Strategy, load_strategy
from judgekit.prompts.parsing import Parsed
from judgekit.prompts.rubrics import Rubric, read_rubric, scale_of, score_prompt
from judgekit.records import Reply, fingerprint_of

_FORMAT = 1
_MODES = ("direct", "reasoning", "verdict")
_DTYPES = ("auto", "float32", "bfloat16", "float16")
_SIDES = ("first", "second")
_LONGEST_EXPLANATION = 256  # tokens, as in the published code
_REMEMBERED = (
    100_000  # prompts whose probabilities are remembered: each response of a pair is rated once for both orders
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a ``layers/`` judge reads its model.

    ``mode``: rate each response, at once (direct) or after an explanation that the model writes (reasoning), and
    compare the ratings; or read the verdict on both. ``weights``: ``uniform``, ``last`` (the ordinary expected score),
    or a file of learned weights. ``over``: what is averaged. ``normed``: layers go through the final norm. ``scale``:
    lowest and highest rating. ``rubric``: YAML file with ``criterion`` and ``levels``. ``strategy``, ``policy``: for
    verdicts; whether a tie may be given. ``max_new_tokens``: of an explanation. ``dtype``: auto is bfloat16 on a GPU
    and float32 elsewhere. ``device``: auto is a GPU where there is one. ``batch_tokens``: tokens at once; the states of
    all layers of a batch are in memory for a moment.
    """

    mode: str = "direct"
    weights: str = "uniform"
    over: str = "logits"
    normed: bool = False
    scale: str = "1-5"
    rubric: str | None = None
    strategy: str = "letter"
    policy: str = "permissive"
    max_new_tokens: int = _LONGEST_EXPLANATION
    dtype: str = "auto"
    device: str = "auto"
    batch_tokens: int = 8192

    def __post_init__(self) -> None:
        known = {"mode": _MODES, "over": OVER, "policy": POLICIES, "dtype": _DTYPES}
        for name, allowed in known.items():
            if getattr(self, name) not in allowed:
                raise Unavailable(f"{name}={getattr(self, name)!r} is not one of {', '.join(allowed)}")
        for name in ("max_new_tokens", "batch_tokens"):
            if getattr(self, name) <= 0:
                raise Unavailable(f"{name}={getattr(self, name)} must be above 0")
        if self.mode == "verdict" and self.rubric:
            raise Unavailable("rubric= is for ratings: mode=verdict asks by a strategy")


class LayeredJudge:
    """A judge that weighs what the layers of a causal language model say.

    Ratings: with p and q the probabilities of the scores that the two responses get by themselves, the first is better
    with the probability that a score drawn from p is above one drawn from q, independently, and they tie with the
    probability that both are the same. The scores of the reply are the expected ones. A pair is rated alike in both
    orders; verdicts are read in the order shown. Unavailable, PromptError or WeightsError where the model, a setting,
    a prompt or a file of weights cannot be used.
    """

    batch_size = 64
    sees_item = False

    def __init__(self, model: str, settings: Settings | None = None) -> None:
        self.settings = settings = settings or Settings()
        self.strategy, self.scores = _prompt_of(settings)
        on_gpu = torch.cuda.is_available() and settings.device in ("auto", "cuda")
        device = ("cuda" if on_gpu else "cpu") if settings.device == "auto" else settings.device
        dtype = ("float32" if device == "cpu" else "bfloat16") if settings.dtype == "auto" else settings.dtype
        try:
            torch.device(device)
        except RuntimeError:
            raise Unavailable(f"device={device!r} is no device: auto, cpu, cuda, cuda:1, ...") from None
        self.reader = LayerReader(model, device, dtype, settings.batch_tokens)
        self.labels = ("first", "second") if settings.policy == "strict" else ("first", "second", "tie")
        self.sides = ("pair",) if settings.mode == "verdict" else _SIDES
        self.plan = self._candidates()
        self.weights = self._layer_weights()
        self.name = f"layers/{model}" + ("" if settings.mode == "direct" else f"#{settings.mode}")
        self.written = settings.max_new_tokens if settings.mode == "reasoning" else None
        self.room = room_for(self.reader, self.plan, self.written)
        if self.room is not None and self.room <= 0:
            raise Unavailable(f"{model} has {self.reader.room} positions: max_new_tokens leaves no room in them")
        self.fingerprint = fingerprint_of(
            "layers", _FORMAT, self.reader.fingerprint, self.strategy.version, self.weights
        )
        matters = ("mode", "over", "normed", "policy")
        decoding = {name: asdict(settings)[name] for name in matters} | {"max_new_tokens": self.written}
        self.decoding = json.dumps(decoding | {"scores": self.scores, "dtype": dtype}, sort_keys=True)
        self.known: dict[bytes, Any] = {}  # probabilities, or what a prompt failed with

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
        if self.reader.tokens.templated:
            return []
        return [f"{self.name} has no chat template: prompts are plain text under 'System:', 'User:', 'Assistant:'"]

    def forecast(self, requests: Sequence[Request]) -> Forecast:
        """What judging some requests would take, in advance (`judgekit.judges.forecast.Forecast`)."""
        sizes: dict[bytes, int] = {}
        impossible = 0
        for request in requests:
            try:
                prompts = [self.prompt(request, side) for side in self.sides]
            except (PromptError, PromptTooLong):
                impossible += 1
                continue
            sizes |= {_key(prompt): self.reader.tokens.size(list(prompt.messages)) for prompt in prompts}
        tokens_out = len(sizes) * (self.written or 0)
        return Forecast(len(requests), impossible, len(sizes), len(sizes), sum(sizes.values()), tokens_out, None)

    def judge(self, requests: Sequence[Request]) -> list[Reply]:
        """Reply to each request, in order; one that fails gets a reply with status ``error``."""
        started = time.perf_counter()
        prompts: dict[int, list[Prompt]] = {}
        replies: dict[int, Reply] = {}
        for place, request in enumerate(requests):
            try:
                prompts[place] = [self.prompt(request, side) for side in self.sides]
            except (PromptError, PromptTooLong) as wrong:
                replies[place] = self._failed(wrong)
        made = self._read([prompt for shown in prompts.values() for prompt in shown])
        for place, shown in prompts.items():
            replies[place] = self._reply(shown, made)
        seconds = (time.perf_counter() - started) / max(1, len(requests))
        return [replace(replies[place], seconds=seconds) for place in range(len(requests))]

    def prompt(self, request: Request, side: str) -> Prompt:
        """The messages that ask about a response, or about both."""
        limit, measure = self.room, self.reader.tokens.size
        if side == "pair":
            return self.strategy.render("verdict", request, limit=limit, measure=measure)
        return conversation(self.strategy, request, limit, measure, side)

    def _failed(self, wrong: Exception) -> Reply:
        raw = f"{type(wrong).__name__}: {wrong}"
        return Reply(None, status="error", raw=raw, prompt_version=self.strategy.version)

    def _read(self, prompts: Sequence[Prompt]) -> set[bytes]:
        """Let the model read prompts that it has not read before; the keys of those."""
        asked = {_key(prompt): prompt for prompt in prompts}
        fresh = {key: prompt for key, prompt in asked.items() if key not in self.known}
        if len(self.known) > _REMEMBERED:
            self.known = {key: self.known[key] for key in asked if key in self.known}
        if fresh:
            results = self._probabilities([list(prompt.messages) for prompt in fresh.values()])
            self.known |= dict(zip(fresh, results, strict=True))
        return set(fresh)

    def _probabilities(self, asked: list[list[dict[str, str]]]) -> list[Any]:
        """Probabilities of the candidates for each conversation; where one fails, what it failed with."""
        try:
            logits = self.reader.logits(asked, self.plan, self.settings.normed, max_new_tokens=self.written)
            return list(distribution(logits, self.weights, self.settings.over))
        except (ValueError, MemoryError) as wrong:  # no numbers (damaged weights, an overflow), or one that is too long
            return [wrong] if len(asked) == 1 else [self._probabilities([one])[0] for one in asked]

    def _reply(self, prompts: list[Prompt], made: set[bytes]) -> Reply:
        """A reply from the probabilities that the layers gave; what was read now counts as a call of this reply."""
        results = [self.known[_key(prompt)] for prompt in prompts]
        if wrong := [each for each in results if isinstance(each, Exception)]:
            return self._failed(wrong[0])
        weights = [dict(zip(self.plan.names, map(float, each), strict=True)) for each in results]
        raw = json.dumps(weights[0] if len(weights) == 1 else dict(zip(_SIDES, weights, strict=True)))
        if any(value != value for each in weights for value in each.values()):
            reply = Reply(None, status="unparsed", raw="the model wrote no rating")
        elif self.settings.mode == "verdict":
            reply = most_probable(reply_of(Parsed(None, "ok", None), raw, {}), weights[0], self.labels)
        else:
            reply = reply_of_marks(weights[0], weights[1], self.labels, raw)
        now = {_key(prompt): prompt for prompt in prompts if _key(prompt) in made}
        made -= set(now)
        return replace(
            reply,
            prompt_version=self.strategy.version,
            tokens_in=sum(self.reader.tokens.size(list(prompt.messages)) for prompt in now.values()),
            tokens_out=0 if self.written is None else None,
            calls=len(now),
            truncated=max(prompt.truncated for prompt in prompts) or None,
        )


def _prompt_of(settings: Settings) -> tuple[Strategy, tuple[int, ...]]:
    """The strategy that asks, and the scores it asks for (places of the verdicts, where it asks for one)."""
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


def load_layered(name: str, settings: Mapping[str, Any] | None = None) -> LayeredJudge:
    """The judge of a name without ``layers/``: a model, and after ``#`` a mode; Unavailable where one is wrong."""
    model, marked, mode = name.partition("#")
    given = dict(settings or {})
    if not model:
        raise Unavailable("layers/ needs a model: a folder, or a name such as Qwen/Qwen3-0.6B")
    if marked and given.setdefault("mode", mode) != mode:
        raise Unavailable(f"the judge's name says mode {mode!r}, the settings another")
    try:
        return LayeredJudge(model, read_settings(Settings, given))
    except PromptError as wrong:
        raise Unavailable(str(wrong)) from None
