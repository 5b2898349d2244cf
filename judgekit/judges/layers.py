"""``layers/<model>``: a causal language model that rates by what all its layers say, not by its last one alone."""

import json
import time
from collections.abc import Iterator, Sequence, Set
from dataclasses import asdict
from typing import Any, Literal

from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from judgekit.inside.layer_logits import LayerReader
from judgekit.inside.layers import distribution, last_only, load_weights
from judgekit.judges.generative import SIDES, Completion, Messages
from judgekit.judges.hf import NO_TEMPLATE, HFJudge, LoadedSettings, Results, computing
from judgekit.models import Unavailable
from judgekit.prompts.rubrics import Rubric, read_rubric, scale_of, score_prompt
from judgekit.records import fingerprint_of

_FORMAT = 1
_BATCH = 64  # prompts that are read at once: what an interruption loses


@dataclass(frozen=True, kw_only=True)
class Settings(LoadedSettings):
    """How a ``layers/`` judge reads its model: `judgekit.judges.hf.LoadedSettings`, and what follows."""

    weights: str = "uniform"  # or last (the ordinary expected score), or a file of learned weights
    over: Literal["logits", "probabilities", "double_softmax"] = "logits"  # what is averaged
    normed: bool = False  # layers go through the final norm
    scale: str = "1-5"  # lowest and highest rating
    rubric: str | None = None  # YAML file with ``criterion`` and ``levels``
    policy: Literal["permissive", "strict"] = "permissive"  # or strict: a tie may not be given
    batch_tokens: PositiveInt = 8192  # at once; the states of all layers of a batch are in memory for a moment


class LayeredJudge(HFJudge):
    """A judge that weighs what the layers of a causal language model say of each response by itself.

    With p and q the probabilities of the scores that the two responses get, the first is better with the probability
    that a score drawn from p is above one drawn from q, independently, and they tie with the probability that both are
    the same. The scores of the reply are the expected ones. Unavailable, PromptError or WeightsError where the model, a
    setting, a rubric or a file of weights cannot be used.
    """

    provider = "layers"
    settings_kind = Settings
    forms_batches = False

    def __init__(self, model: str, settings: Settings | None = None) -> None:
        self.settings = settings = settings or Settings()
        scores = scale_of(settings.scale)
        rubric = read_rubric(settings.rubric, scores) if settings.rubric else Rubric(scores=scores)
        self.strategy = score_prompt("direct", rubric)
        device, dtype, budget = computing(settings)
        self.reader = LayerReader(model, device, dtype, budget)
        self.tokens, self.engine = self.reader.tokens, self.reader.engine  # `load` finds its weights read
        self.labels = SIDES if settings.policy == "strict" else (*SIDES, "tie")
        self.candidates = self.reader.plan(scores, self.strategy.said["score"])
        self.plan, self.limit = self.candidates, self.reader.room_for(self.candidates)
        self.weights, self.name = self._layer_weights(scores), f"layers/{model}"
        self.fingerprint = fingerprint_of(
            "layers", _FORMAT, self.reader.fingerprint, self.strategy.version, self.weights
        )
        decoding = {name: asdict(settings)[name] for name in ("over", "normed", "policy")}
        fixed = {"mode": "direct", "max_new_tokens": None, "scores": scores, "dtype": dtype}
        self.decoding = json.dumps(decoding | fixed, sort_keys=True)

    def _layer_weights(self, scores: Sequence[int]) -> list[float]:
        settings, config = self.settings, self.reader.engine.model.config
        n_layers = config.get_text_config(decoder=True).num_hidden_layers + 1
        if settings.weights == "uniform":
            return [1 / n_layers] * n_layers
        if settings.weights == "last":
            return last_only(n_layers).tolist()
        wanted = {"model": self.reader.fingerprint, "prompt": self.strategy.version, "scores": scores}
        saved = load_weights(settings.weights, **wanted, normed=settings.normed, over=settings.over)
        if len(saved.weights.values) != n_layers:
            raise Unavailable(f"{settings.weights}: field 'values' has not one weight for each of {n_layers} layers")
        return list(saved.weights.values)

    def notes(self) -> list[str]:
        return [] if self.tokens.templated else [f"{self.name} {NO_TEMPLATE}"]

    def question(self, messages: Messages, call: str) -> Any:
        """The messages, which the reader turns into tokens."""
        return list(messages)

    def weighs(self, call: str) -> bool:
        return True

    def complete(self, questions: Sequence[Any], spare: Set[int] = frozenset()) -> Iterator[Results]:
        """Probabilities of the scores for each conversation, batch by batch; what one failed with in its place."""
        for start in range(0, len(questions), _BATCH):
            batch, started = questions[start : start + _BATCH], time.perf_counter()
            rows = self._probabilities(batch)
            seconds = (time.perf_counter() - started) / len(batch)
            done: Results = {}
            for n, (messages, row) in enumerate(zip(batch, rows, strict=True), start):
                done[n] = row
                if not isinstance(row, Exception):
                    weights = dict(zip(self.candidates.names, map(float, row), strict=True))
                    done[n] = Completion("", self.measure(messages), 0, seconds=seconds, weights=weights)
            yield done

    def _probabilities(self, asked: Sequence[Any]) -> list[Any]:
        try:
            logits = self.reader.logits(asked, self.candidates, self.settings.normed)
            return list(distribution(logits, self.weights, self.settings.over))
        except (ValueError, MemoryError) as wrong:  # no numbers (damaged weights, an overflow), or one that is too long
            return [wrong] if len(asked) == 1 else [self._probabilities([one])[0] for one in asked]
