"""``layers/<model>``: a causal language model judged by what all its layers say, not by its last one alone."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Literal

from pydantic import PositiveInt, field_validator, model_validator
from pydantic.dataclasses import dataclass

from judgekit.inside.layer_logits import LayerReader
from judgekit.inside.layers import distribution, last_only, load_weights, uniform_weights
from judgekit.judges.base import Request
from judgekit.judges.generative import SIDES, Completion, Interview, Messages, Steps
from judgekit.judges.hf import NO_TEMPLATE, HFJudge, Results, device_of, dtype_of, known_device
from judgekit.models import Unavailable
from judgekit.models.one_pass import Plan, plan_of
from judgekit.prompts import Strategy, load_strategy
from judgekit.prompts.rubrics import Rubric, read_rubric, scale_of, score_prompt
from judgekit.records import fingerprint_of

_FORMAT = 1
_BATCH = 64  # prompts that are read at once: what an interruption loses


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


class LayeredJudge(HFJudge):
    """A judge that weighs what the layers of a causal language model say.

    Ratings: with p and q the probabilities of the scores that the two responses get by themselves, the first is better
    with the probability that a score drawn from p is above one drawn from q, independently, and they tie with the
    probability that both are the same. The scores of the reply are the expected ones. A pair is rated alike in both
    orders; verdicts are read in the order shown. Unavailable, PromptError or WeightsError where the model, a setting,
    a prompt or a file of weights cannot be used.
    """

    provider = "layers"
    settings_kind = Settings

    @staticmethod
    def named(asked: str) -> dict[str, str]:
        """The settings that a name states after ``#``."""
        return {"mode": asked}

    def __init__(self, model: str, settings: Settings | None = None) -> None:
        self.settings = settings = settings or Settings()
        self.strategy, self.scores = _prompt_of(settings)
        device = device_of(settings.device)
        dtype = dtype_of(settings.dtype, device)
        self.reader = LayerReader(model, device, dtype, settings.batch_tokens)
        self.tokens = self.reader.tokens
        self.labels = SIDES if settings.policy == "strict" else (*SIDES, "tie")
        self.plan = self.candidates = self._candidates()
        self.weights = self._layer_weights()
        self.name = f"layers/{model}" + ("" if settings.mode == "direct" else f"#{settings.mode}")
        self.most = settings.max_new_tokens if settings.mode == "reasoning" else None  # tokens that are written
        self.limit = self.reader.room_for(self.candidates, self.most)
        if self.limit is not None and self.limit <= 0:
            raise Unavailable(f"{model} has {self.reader.room} positions: max_new_tokens leaves no room in them")
        self.fingerprint = fingerprint_of(
            "layers", _FORMAT, self.reader.fingerprint, self.strategy.version, self.weights
        )
        matters = ("mode", "over", "normed", "policy")
        decoding = {name: asdict(settings)[name] for name in matters} | {"max_new_tokens": self.most}
        self.decoding = json.dumps(decoding | {"scores": self.scores, "dtype": dtype}, sort_keys=True)

    def _candidates(self) -> Plan:
        try:
            if self.settings.mode != "verdict":
                return self.reader.plan(self.scores, self.strategy.said["score"])
            return plan_of({label: self.strategy.said[label] for label in self.labels}, self.tokens.reply_tokens)
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
        return [] if self.tokens.templated else [f"{self.name} {NO_TEMPLATE}"]

    def load(self) -> None:
        """Nothing: the weights were read to know the judge's layers."""

    def estimate(self, messages: Messages) -> int:
        """Tokens of messages, counted."""
        return self.measure(messages)

    def most_written(self, call: str) -> int:
        """Most tokens that a call writes."""
        return self.most or 0

    def steps(self, request: Request) -> Steps:
        """The interview about a pair."""
        return Interview(self.strategy, request, self.labels, self.limit, self.measure).steps()

    def question(self, messages: Messages, call: str) -> Any:
        """The messages, which the reader turns into tokens."""
        return list(messages)

    def complete(self, questions: Sequence[Any]) -> Iterator[Results]:
        """Probabilities of the candidates for each conversation, batch by batch; what one failed with in its place."""
        for start in range(0, len(questions), _BATCH):
            batch, started = questions[start : start + _BATCH], time.perf_counter()
            rows = self._probabilities(batch)
            seconds = (time.perf_counter() - started) / len(batch)
            done = [self._completion(*each, seconds) for each in zip(batch, rows, strict=True)]
            yield dict(enumerate(done, start))

    def _probabilities(self, asked: Sequence[Any]) -> list[Any]:
        try:
            logits = self.reader.logits(asked, self.candidates, self.settings.normed, max_new_tokens=self.most)
            return list(distribution(logits, self.weights, self.settings.over))
        except (ValueError, MemoryError) as wrong:  # no numbers (damaged weights, an overflow), or one that is too long
            return [wrong] if len(asked) == 1 else [self._probabilities([one])[0] for one in asked]

    def _completion(self, messages: Messages, row: Any, seconds: float) -> Completion | Exception:
        """What was read of one conversation; a text without weights where the model wrote no rating."""
        if isinstance(row, Exception):
            return row
        weights = dict(zip(self.candidates.names, map(float, row), strict=True))
        rated = all(value == value for value in weights.values())
        return Completion(
            "" if rated else "the model wrote no rating",
            self.measure(messages),
            0 if self.most is None else None,
            seconds=seconds,
            weights=weights if rated else None,
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
