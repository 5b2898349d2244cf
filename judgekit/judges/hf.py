"""``hf/<model>``: a causal language model run here through transformers, asked by a strategy."""

import time
from dataclasses import dataclass

import torch

from judgekit.judges.local import LocalJudge, LocalSettings, load_local
from judgekit.models.batching import LEAST_SHARED, shared_start
from judgekit.models.causal import CausalModel, fitting_batches, load_model, out_of_memory
from judgekit.models.errors import Unavailable
from judgekit.models.memory_estimate import memory_estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(LocalSettings):
    """How an ``hf/`` judge asks: `judgekit.judges.local.LocalSettings`, and what follows.

    Attributes
    ----------
    device : str
        ``auto`` is a GPU where there is one, else the CPU.
    batch_tokens : int
        Tokens at once, padding and completions included. Halved by itself where memory runs out.
    share_prefix : bool
        Read what all prompts begin with only once.
    """

    device: str = "auto"
    batch_tokens: int = 16_384
    share_prefix: bool = True

    def __post_init__(self):
        # super() without arguments fails in a dataclass with slots: the class is made anew after this is compiled
        LocalSettings.__post_init__(self)
        if self.batch_tokens <= 0:
            raise Unavailable(f"batch_tokens={self.batch_tokens} must be above 0")
        try:
            torch.device("cpu" if self.device == "auto" else self.device)
        except RuntimeError:
            raise Unavailable(f"device={self.device!r} is no device: auto, cpu, cuda, cuda:1, ...") from None


class HFJudge(LocalJudge):
    """A judge that runs a model through transformers."""

    provider = "hf"

    def __init__(self, model, settings=None, demonstrations=()):
        settings = settings or Settings()
        automatic = "cuda" if torch.cuda.is_available() else "cpu"
        self.device = automatic if settings.device == "auto" else settings.device
        super().__init__(model, settings, demonstrations)
        self.batch_tokens = settings.batch_tokens
        self.engine = None

    def resolved_dtype(self):
        """The dtype of the weights, by name."""
        on_gpu = torch.device(self.device).type != "cpu"
        return ("bfloat16" if on_gpu else "float32") if self.settings.dtype == "auto" else self.settings.dtype

    def notes(self):
        """What a reader should know before the model is loaded: memory, and what is unusual."""
        estimate = memory_estimate(self.model, self.config, getattr(torch, self.dtype), self.batch_tokens)
        return [str(estimate), *super().notes()]

    def load(self):
        """Read the weights, if that has not been done."""
        if self.engine is None:
            pad = self.tokens.tokenizer.pad_token_id
            model = load_model(self.files, getattr(torch, self.dtype), self.device)
            self.engine = CausalModel(model, self.ends, pad if pad is not None else (self.ends or [0])[0])

    def complete(self, questions):
        """Questions of one call together, longest first, in batches under the budget; what came of each batch."""
        torch.manual_seed(self.settings.seed)
        for kind in dict.fromkeys((q.call, q.weighed) for q in questions):
            places = [n for n, q in enumerate(questions) if (q.call, q.weighed) == kind]
            room = self.max_new_tokens(kind[0])
            lengths = {n: len(questions[n].ids) + room for n in places}
            if refused := self.share([questions[n].ids for n in places]):
                yield dict.fromkeys(places, refused)
                continue

            def work(batch, questions=questions):
                return self.answered([questions[n] for n in batch])

            longest_first = sorted(places, key=lambda n: -lengths[n])
            for batch, done, budget in fitting_batches(longest_first, lengths, self.batch_tokens, work):
                self.batch_tokens = budget  # for good: what did not fit once does not fit the next time
                if done is None:
                    short = f"{lengths[batch[0]]:,} tokens of one prompt and its reply do not fit into the memory"
                    done = [MemoryError(f"{short} of {self.device}")]
                yield dict(zip(batch, done, strict=True))

    def share(self, prompts):
        """Let the engine read what prompts begin with alike; the failure, if not even that can be held."""
        start = shared_start(prompts) if self.settings.share_prefix and len(prompts) > 1 else ()
        start = start[: min(map(len, prompts)) - 1]  # every row has a token of its own to read
        try:
            self.engine.share(start if len(start) >= LEAST_SHARED else ())
        except RuntimeError as failure:
            if not out_of_memory(failure):
                raise
            return MemoryError(f"the {len(start):,} tokens that all prompts begin with do not fit into the memory")
        return None

    def answered(self, questions):
        """Completions of a batch; an exception in place of one where the model gave no numbers."""
        started = time.perf_counter()
        if questions[0].weighed:
            made = self.engine.logprobs([list(q.ids) for q in questions], self.plan, self.batch_tokens)
            finish = self.weighed
        else:
            longest = self.max_new_tokens(questions[0].call)
            made = self.engine.generate([list(q.ids) for q in questions], longest, self.settings.temperature)
            finish = self.written
        seconds = (time.perf_counter() - started) / len(questions)
        return [finish(question, result, seconds) for question, result in zip(questions, made, strict=True)]


def load_hf(name, settings=None, demonstrations=()):
    """The judge of a name without ``hf/`` (`judgekit.judges.local.load_local`)."""
    return load_local(HFJudge, Settings, name, settings, demonstrations)
