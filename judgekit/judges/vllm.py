"""``vllm/<model>``: the judges of ``hf/``, run by vLLM's offline engine.

All prompts of a round, in both orders, go to one call of ``LLM.generate``; what they begin with alike is read once,
through vLLM's prefix cache. vLLM is no dependency: it is imported when a model is loaded.
"""

import time
from dataclasses import dataclass

from judgekit.judges.local import LocalJudge, LocalSettings, load_local
from judgekit.models.errors import Unavailable
from judgekit.models.memory_estimate import memory_estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(LocalSettings):
    """How a ``vllm/`` judge asks: `judgekit.judges.local.LocalSettings`, and what follows.

    Attributes
    ----------
    gpu_memory_utilization : float
        Part of the memory that vLLM takes, in (0, 1].
    tensor_parallel_size : int
        GPUs that one model is spread over.
    max_model_len : int, optional
        Tokens of prompt and completion that memory is set aside for; by default the model's positions.
    enforce_eager : bool
        Start without compiling: sooner ready, slower after.
    """

    gpu_memory_utilization: float = 0.9
    tensor_parallel_size: int = 1
    max_model_len: int | None = None
    enforce_eager: bool = False

    def __post_init__(self):
        LocalSettings.__post_init__(self)
        if not 0 < self.gpu_memory_utilization <= 1:
            raise Unavailable(f"gpu_memory_utilization={self.gpu_memory_utilization} is not in (0, 1]")
        for name in ("tensor_parallel_size", "max_model_len"):
            if getattr(self, name) is not None and getattr(self, name) <= 0:
                raise Unavailable(f"{name}={getattr(self, name)} must be above 0")


class VLLMJudge(LocalJudge):
    """A judge that runs a model through vLLM."""

    provider = "vllm"

    def __init__(self, model, settings=None, demonstrations=()):
        super().__init__(model, settings or Settings(), demonstrations)
        self.engine = None

    def resolved_dtype(self):
        """The dtype of the weights, by name."""
        import torch

        on_gpu = torch.cuda.is_available()
        return ("bfloat16" if on_gpu else "float32") if self.settings.dtype == "auto" else self.settings.dtype

    def room_for_prompts(self):
        """Most tokens of a prompt; memory may be set aside for less than the model's positions."""
        room, length = super().room_for_prompts(), self.settings.max_model_len
        if length is None:
            return room
        left = length - max(self.max_new_tokens(call.name) for call in self.strategy.calls)
        if left <= 0:
            raise Unavailable(f"max_model_len={length}: max_new_tokens leaves no room in it for a prompt")
        return left if room is None else min(room, left)

    def notes(self):
        """What a reader should know before the model is loaded."""
        import torch

        positions = getattr(self.config.get_text_config(decoder=True), "max_position_embeddings", None)
        tokens = self.settings.max_model_len or positions or 0
        return [
            str(memory_estimate(self.model, self.config, getattr(torch, self.dtype), tokens)),
            *super().notes(),
        ]

    def load(self):
        """Start the engine, if that has not been done."""
        if self.engine is not None:
            return
        from vllm import LLM

        s, files = self.settings, self.files
        more = {} if s.max_model_len is None else {"max_model_len": s.max_model_len}
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

    def complete(self, questions):
        """All questions in one call: written replies, and a token at every place where replies are told apart."""
        from vllm import SamplingParams

        prompts, parameters, places = [], [], []
        for place, question in enumerate(questions):
            if question.weighed:
                for read, tokens in self.plan.nodes.items():
                    prompts.append({"prompt_token_ids": [*question.ids, *self.plan.forced, *read]})
                    parameters.append(SamplingParams(max_tokens=1, temperature=0.0, logprob_token_ids=list(tokens)))
                    places.append((place, read))
            else:
                longest = self.max_new_tokens(question.call)
                prompts.append({"prompt_token_ids": list(question.ids)})
                parameters.append(
                    SamplingParams(
                        max_tokens=longest,
                        temperature=self.settings.temperature,
                        seed=self.settings.seed if self.settings.temperature else None,
                        stop_token_ids=self.ends,
                        detokenize=False,
                    )
                )
                places.append((place, None))
        started = time.perf_counter()
        outputs = self.engine.generate(prompts, parameters, use_tqdm=False, lora_request=self.adapter())
        seconds = (time.perf_counter() - started) / max(len(questions), 1)
        yield self.finished(questions, dict(zip(places, outputs, strict=True)), seconds)

    def adapter(self):
        """How vLLM is told of an adapter; None without one."""
        if self.files.adapter is None:
            return None
        from vllm.lora.request import LoRARequest

        return LoRARequest("judge", 1, self.files.adapter)

    def finished(self, questions, outputs, seconds):
        """Completions from what vLLM returned, by place of the question."""
        done = {}
        for place, question in enumerate(questions):
            if question.weighed:
                found = {read: outputs[place, read].outputs[0].logprobs[0] for read in self.plan.nodes}
                sums = [path_logprob(path, found) for path in self.plan.paths]
                done[place] = self.weighed(question, sums, seconds)
            else:
                written = outputs[place, None].outputs[0]
                ids = list(written.token_ids)
                ids = ids[:-1] if ids and ids[-1] in self.ends else ids
                done[place] = self.written(question, ids, seconds)
        return done


def path_logprob(path, found):
    """Log-probability of a path: sum over its tokens, each looked up where those before it were read."""
    return sum(found[path[:place]][token].logprob for place, token in enumerate(path))


def lora_rank(folder):
    """Rank that memory is set aside for: the smallest that vLLM offers and that holds the adapter."""
    import json
    from pathlib import Path

    rank = json.loads((Path(folder) / "adapter_config.json").read_text(encoding="utf-8")).get("r", 16)
    return next((size for size in (8, 16, 32, 64, 128, 256, 320, 512) if size >= rank), rank)


def load_vllm(name, settings=None, demonstrations=()):
    """The judge of a name without ``vllm/`` (`judgekit.judges.local.load_local`)."""
    return load_local(VLLMJudge, Settings, name, settings, demonstrations)
