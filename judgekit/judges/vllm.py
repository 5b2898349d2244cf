"""``vllm/<model>``: the judges of ``hf/``, run by vLLM's offline engine.

All prompts of a round, in both orders, go to one call of ``LLM.generate``; what they begin with alike is read once,
through vLLM's prefix cache. vLLM is no dependency: it is imported when a model is loaded.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import PositiveInt, field_validator
from pydantic.dataclasses import dataclass

from judgekit.judges.local import LocalJudge, LocalSettings, Question
from judgekit.judges.rounds import Results
from judgekit.models.errors import Unavailable
from judgekit.models.memory_estimate import memory_estimate


@dataclass(frozen=True, kw_only=True)
class Settings(LocalSettings):
    """How a ``vllm/`` judge asks: `judgekit.judges.local.LocalSettings`, and what follows."""

    gpu_memory_utilization: float = 0.9  # part of the memory that vLLM takes, in (0, 1]
    tensor_parallel_size: PositiveInt = 1  # GPUs that one model is spread over
    max_model_len: PositiveInt | None = None  # tokens that memory is set aside for; by default the model's positions
    enforce_eager: bool = False  # start without compiling: sooner ready, slower after

    @field_validator("gpu_memory_utilization")
    @classmethod
    def _is_part(cls, part: float) -> float:
        if not 0 < part <= 1:
            raise ValueError(f"gpu_memory_utilization={part} is not in (0, 1]")
        return part


class VLLMJudge(LocalJudge):
    """A judge that runs a model through vLLM."""

    provider = "vllm"
    settings_kind = Settings

    def _automatic_dtype(self) -> str:
        import torch

        return "bfloat16" if torch.cuda.is_available() else "float32"

    def _room_for_prompts(self) -> int | None:
        """Most tokens of a prompt; memory may be set aside for less than the model's positions."""
        room, length = super()._room_for_prompts(), self.settings.max_model_len
        if length is None:
            return room
        left: int = length - max(self.max_new_tokens(call.name) for call in self.strategy.calls)
        if left <= 0:
            raise Unavailable(f"max_model_len={length}: max_new_tokens leaves no room in it for a prompt")
        return left if room is None else min(room, left)

    def notes(self) -> list[str]:
        """What a reader should know before the model is loaded."""
        import torch

        tokens = self.settings.max_model_len or self.positions or 0
        estimate = memory_estimate(self.model, self.config, getattr(torch, self.dtype), tokens)
        return [str(estimate), *super().notes()]

    def load(self) -> None:
        """Start the engine, if that has not been done."""
        if self.engine is not None:
            return
        from vllm import LLM

        s, files = self.settings, self.files
        more: dict[str, Any] = {} if s.max_model_len is None else {"max_model_len": s.max_model_len}
        if files.adapter is not None:
            more |= {"enable_lora": True, "max_lora_rank": lora_rank(files.adapter)}
        self.engine = LLM(
            model=files.base,
            revision=files.revision,
            tokenizer=files.tokenizer,
            tokenizer_revision=files.tokenizer_revision,
            dtype=self.dtype,
            seed=s.seed,
            enable_prefix_caching=True,
            generation_config="vllm",  # a judge decodes as its settings say, not as the model's files do
            gpu_memory_utilization=s.gpu_memory_utilization,
            tensor_parallel_size=s.tensor_parallel_size,
            enforce_eager=s.enforce_eager,
            trust_remote_code=False,
            disable_log_stats=True,
            **more,
        )

    def complete(self, questions: Sequence[Question]) -> Iterator[Results]:
        """All questions in one call: written replies, and a token at every position where replies are told apart."""
        from vllm import SamplingParams

        prompts, parameters = [], []
        positions: list[tuple[int, tuple[int, ...] | None]] = []
        for position, question in enumerate(questions):
            if question.weighed and self.plan is not None:
                for read, tokens in self.plan.nodes.items():
                    prompts.append({"prompt_token_ids": [*question.ids, *self.plan.forced, *read]})
                    parameters.append(SamplingParams(max_tokens=1, temperature=0.0, logprob_token_ids=list(tokens)))
                    positions.append((position, read))
            else:
                prompts.append({"prompt_token_ids": list(question.ids)})
                parameters.append(
                    SamplingParams(
                        max_tokens=self.max_new_tokens(question.call),
                        temperature=self.settings.temperature,
                        seed=self.settings.seed if self.settings.temperature else None,
                        stop_token_ids=self.ends,
                        detokenize=False,
                    )
                )
                positions.append((position, None))
        started = time.perf_counter()
        outputs = self.engine.generate(prompts, parameters, use_tqdm=False, lora_request=self._adapter())
        seconds = (time.perf_counter() - started) / max(len(questions), 1)
        yield self.finished(questions, dict(zip(positions, outputs, strict=True)), seconds)

    def _adapter(self) -> Any:
        """How vLLM is told of an adapter; None without one."""
        if self.files.adapter is None:
            return None
        from vllm.lora.request import LoRARequest

        return LoRARequest("judge", 1, self.files.adapter)

    def finished(self, questions: Sequence[Question], outputs: Mapping[Any, Any], seconds: float) -> Results:
        """Completions from what vLLM returned, by position of the question."""
        done: Results = {}
        for position, question in enumerate(questions):
            if question.weighed and self.plan is not None:
                entries = {read: outputs[position, read].outputs[0].logprobs[0] for read in self.plan.nodes}
                # Each token of a path is looked up where those before it were read.
                sums = [
                    sum(entries[path[:n]][token].logprob for n, token in enumerate(path)) for path in self.plan.paths
                ]
                done[position] = self._weighed(question, sums, seconds)
            else:
                written = outputs[position, None].outputs[0]
                ids = list(written.token_ids)
                ids = ids[:-1] if ids and ids[-1] in self.ends else ids
                done[position] = self._written(question, ids, seconds, ended=written.finish_reason != "length")
        return done


def lora_rank(folder: str | Path) -> int:
    """Rank that memory is set aside for: the smallest that vLLM offers and that holds the adapter."""
    rank: int = json.loads((Path(folder) / "adapter_config.json").read_text(encoding="utf-8")).get("r", 16)
    return next((size for size in (8, 16, 32, 64, 128, 256, 320, 512) if size >= rank), rank)
