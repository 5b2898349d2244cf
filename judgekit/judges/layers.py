"""``layers/<model>``: a causal language model that rates by what all its layers say, not by its last one alone."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np
from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from judgekit.inside.layer_logits import ScoreHead, batch_logits, score_plan
from judgekit.inside.layers import distribution, load_weights
from judgekit.judges.generative import SIDES
from judgekit.judges.hf import HFJudge, LoadedSettings
from judgekit.models import Unavailable
from judgekit.prompts.rubrics import Rubric, read_rubric, scale_of, score_prompt
from judgekit.records import fingerprint_of

_FORMAT = 1


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

    def __init__(self, model: str, settings: Settings | None = None) -> None:
        self.settings = settings = settings or Settings()
        scores = scale_of(settings.scale)
        rubric = read_rubric(settings.rubric, scores) if settings.rubric else Rubric(scores=scores)
        self.strategy = score_prompt("direct", rubric)
        self._open(model)
        self.labels = SIDES if settings.policy == "strict" else (*SIDES, "tie")
        plan = score_plan(scores, self.tokens.reply_tokens, self.strategy.said["score"])
        self.plan = replace(plan, texts=("",) * len(scores))  # what is kept of a reply is the probabilities
        self.limit = self.positions and self.positions - self.max_new_tokens("verdict")
        source = fingerprint_of(self.files.digest, self.dtype)
        self.weights, self.name = self._layer_weights(source, scores), f"layers/{model}"
        self.fingerprint = fingerprint_of("layers", _FORMAT, source, self.strategy.version, self.weights)
        decoding = {name: asdict(settings)[name] for name in ("over", "normed", "policy")}
        fixed = {"mode": "direct", "max_new_tokens": None, "scores": scores, "dtype": self.dtype}
        self.decoding = json.dumps(decoding | fixed, sort_keys=True)

    def _layer_weights(self, source: str, scores: Sequence[int]) -> list[float]:
        settings, n_layers = self.settings, self.config.get_text_config(decoder=True).num_hidden_layers + 1
        if settings.weights == "uniform":
            return [1 / n_layers] * n_layers
        if settings.weights == "last":
            return np.eye(n_layers)[-1].tolist()
        wanted = {"model": source, "prompt": self.strategy.version, "scores": scores}
        saved = load_weights(settings.weights, **wanted, normed=settings.normed, over=settings.over)
        if len(saved.weights.values) != n_layers:
            raise Unavailable(f"{settings.weights}: field 'values' has not one weight for each of {n_layers} layers")
        return list(saved.weights.values)

    def weighs(self, call: str) -> bool:
        return True

    def load(self) -> None:
        super().load()
        self._head()  # a model that has none is refused before anything is asked

    def _head(self) -> ScoreHead:
        """Made anew for each batch: one that was kept would hold weights on a GPU that the judge has left."""
        return ScoreHead(self.engine.model, self.settings.normed)

    def logprobs(self, prompts: Sequence[Any]) -> list[list[float]]:
        """Log-probabilities of the scores after each prompt, from all layers."""
        logits = batch_logits(self.engine, self._head(), prompts, self.plan, self.batch_tokens[True])
        with np.errstate(divide="ignore"):  # the logarithm of what is certainly not given
            return np.log(distribution(logits, self.weights, self.settings.over)).tolist()
