"""``vllm/<model>``: the judges of ``hf/``, run by vLLM's offline engine, which is imported when a model is loaded."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any
from zlib import crc32

from pydantic import Field, PositiveInt
from pydantic.dataclasses import dataclass

from judgekit.judges.hf import HFJudge, LocalSettings, Question, Results


@dataclass(frozen=True, kw_only=True)
class Settings(LocalSettings):
    """How a ``vllm/`` judge asks: `judgekit.judges.hf.LocalSettings`, and what follows."""

    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.9  # part of the memory that vLLM takes
    tensor_parallel_size: PositiveInt = 1  # GPUs that one model is spread over
    max_model_len: PositiveInt | None = None  # tokens that memory is set aside for; by default the model's positions
    enforce_eager: bool = False  # start without compiling: sooner ready, slower after


@lru_cache(maxsize=1)
def _started(**options: Any) -> Any:
    """An engine, shared by judges that ask one model in several ways: a GPU has room for one."""
    from vllm import LLM

    return LLM(**options)


class VLLMJudge(HFJudge):
    """A judge that runs a model through vLLM."""

    provider = "vllm"
    settings_kind = Settings
    forms_batches = False

    def load(self) -> None:
        """Start the engine, if that has not been done."""
        if self.engine is not None:
            return
        s, files = self.settings, self.files
        lora: dict[str, Any] = {"enable_lora": True, "max_lora_rank": lora_rank(files.adapter)} if files.adapter else {}
        self.engine = _started(
            model=files.base,
            revision=files.revision,
            tokenizer=files.tokenizer,
            tokenizer_revision=files.tokenizer_revision,
            dtype=self.dtype,
            seed=s.seed,
            enable_prefix_caching=True,
            generation_config="vllm",  # a judge decodes as its settings say, not as the model's files do
            max_model_len=s.max_model_len,
            gpu_memory_utilization=s.gpu_memory_utilization,
            tensor_parallel_size=s.tensor_parallel_size,
            enforce_eager=s.enforce_eager,
            trust_remote_code=False,
            disable_log_stats=True,
            **lora,
        )

    def complete(self, questions: Sequence[Question], spare: Set[int] = frozenset()) -> Iterator[Results]:
        """All questions in one call: written replies, and a token at every position where replies are told apart."""
        from vllm import SamplingParams
        from vllm.lora.request import LoRARequest

        path = self.files.adapter  # by whose name and number the engine knows what it has loaded, and read
        adapter = None if path is None else LoRARequest(path, crc32(path.encode()) or 1, path)
        decoding: dict[str, Any] = {
            "temperature": self.settings.temperature,
            "stop_token_ids": self.ends,
            "detokenize": False,
        }
        decoding |= {"seed": self.settings.seed} if self.settings.temperature else {}
        asked: dict[tuple[int, Any], tuple[list[int], Any]] = {}
        for position, question in enumerate(questions):
            if self.weighs(question.call):
                for read, tokens in self.plan.nodes.items():
                    look = SamplingParams(max_tokens=1, temperature=0.0, logprob_token_ids=list(tokens))
                    asked[position, read] = [*question.ids, *self.plan.forced, *read], look
            else:
                write = SamplingParams(max_tokens=self.max_new_tokens(question.call), **decoding)
                asked[position, None] = list(question.ids), write
        started = time.perf_counter()
        prompts = [{"prompt_token_ids": ids} for ids, _ in asked.values()]
        parameters = [each for _, each in asked.values()]
        outputs = self.engine.generate(prompts, parameters, use_tqdm=False, lora_request=adapter)
        seconds = (time.perf_counter() - started) / max(len(questions), 1)
        yield self.finished(questions, dict(zip(asked, outputs, strict=True)), seconds)

    def finished(self, questions: Sequence[Question], outputs: Mapping[Any, Any], seconds: float) -> Results:
        """Completions from what vLLM returned, by position of the question."""
        done: Results = {}
        for position, question in enumerate(questions):
            if self.weighs(question.call):
                entries = {read: outputs[position, read].outputs[0].logprobs[0] for read in self.plan.nodes}
                # Each token of a path is looked up where those before it were read.
                sums = [sum(entries[p[:n]][token].logprob for n, token in enumerate(p)) for p in self.plan.paths]
                done[position] = self.completed(question, sums, seconds, ended=True)
            else:
                written = outputs[position, None].outputs[0]
                ids = list(written.token_ids)
                ids = ids[:-1] if ids and ids[-1] in self.ends else ids
                done[position] = self.completed(question, ids, seconds, ended=written.finish_reason != "length")
        return done


def lora_rank(folder: str | Path) -> int:
    """Rank that memory is set aside for: the smallest that vLLM offers and that holds the adapter."""
    rank: int = json.loads((Path(folder) / "adapter_config.json").read_text(encoding="utf-8")).get("r", 16)
    return next((size for size in (8, 16, 32, 64, 128, 256, 320, 512) if size >= rank), rank)
