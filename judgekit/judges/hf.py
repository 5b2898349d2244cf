"""``hf/<model>``: a causal language model run here through transformers, asked by a strategy."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from pydantic import PositiveInt, field_validator
from pydantic.dataclasses import dataclass

from judgekit.judges.local import LocalJudge, LocalSettings, Question, Results, known_device
from judgekit.models.causal import CausalModel, fitting_batches, load_model


@dataclass(frozen=True, kw_only=True)
class Settings(LocalSettings):
    """How an ``hf/`` judge asks: `judgekit.judges.local.LocalSettings`, and what follows."""

    device: str = "auto"  # a GPU where there is one, else the CPU
    batch_tokens: PositiveInt = 16_384  # at once, padding and completions included; halved where memory runs out
    share_prefix: bool = True  # read what all prompts begin with only once

    _known_device = field_validator("device")(known_device)


class HFJudge(LocalJudge):
    """A judge that runs a model through transformers."""

    provider = "hf"
    settings_kind = Settings

    def __init__(self, model: str, settings: Settings | None = None, demonstrations: Sequence[Any] = ()) -> None:
        super().__init__(model, settings, demonstrations)
        self.batch_tokens = self.settings.batch_tokens

    def load(self) -> None:
        """Read the weights, if that has not been done."""
        if self.engine is None:
            pad = self.tokens.tokenizer.pad_token_id
            model = load_model(self.files, getattr(torch, self.dtype), self.device)
            self.engine = CausalModel(model, self.ends, pad if pad is not None else (self.ends or [0])[0])

    def complete(self, questions: Sequence[Question]) -> Iterator[Results]:
        """Questions of one call together, longest first, in batches under the budget; what came of each batch."""
        torch.manual_seed(self.settings.seed)
        for kind in dict.fromkeys((q.call, q.weighed) for q in questions):
            positions = [n for n, q in enumerate(questions) if (q.call, q.weighed) == kind]
            room = self.max_new_tokens(kind[0])
            lengths = {n: len(questions[n].ids) + room for n in positions}
            self.engine.share([questions[n].ids for n in positions] if self.settings.share_prefix else [])

            def work(batch: list[int]) -> list[Any]:
                return self._answered([questions[n] for n in batch])

            longest_first = sorted(positions, key=lambda n: -lengths[n])
            for batch, done, budget in fitting_batches(longest_first, lengths, self.batch_tokens, work):
                self.batch_tokens = budget  # for good: what did not fit once does not fit the next time
                if done is None:
                    short = f"{lengths[batch[0]]:,} tokens of one prompt and its reply do not fit into the memory"
                    done = [MemoryError(f"{short} of {self.device}")]
                yield dict(zip(batch, done, strict=True))

    def _answered(self, questions: list[Question]) -> list[Any]:
        """Completions of a batch; an exception in place of one where the model gave no numbers."""
        started = time.perf_counter()
        prompts, longest = [list(question.ids) for question in questions], self.max_new_tokens(questions[0].call)
        if questions[0].weighed:
            sums = self.engine.logprobs(prompts, self.plan, self.batch_tokens)
            seconds = (time.perf_counter() - started) / len(questions)
            return [self.weighed(question, each, seconds) for question, each in zip(questions, sums, strict=True)]
        made = self.engine.generate(prompts, longest, self.settings.temperature)
        seconds = (time.perf_counter() - started) / len(questions)
        return [
            # The end token is left out: without one, there are as many tokens as there may be.
            ids if isinstance(ids, ValueError) else self.written(question, ids, seconds, ended=len(ids) < longest)
            for question, ids in zip(questions, made, strict=True)
        ]
