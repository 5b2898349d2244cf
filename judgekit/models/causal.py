"""The network of a causal judge: prompts as token ids in, completions or log-probabilities out.

What several prompts begin with is read once and copied to every row; padding follows it. Positions are given to the
model, so a reply depends on neither padding nor batch, beyond float rounding.
"""

import copy
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any
from weakref import WeakSet

import torch
from accelerate.utils.memory import clear_device_cache, should_reduce_batch_size
from transformers import AutoModelForCausalLM, DynamicCache, GenerationConfig, LogitsProcessor
from transformers.cache_utils import DynamicLayer

from judgekit.models import Unavailable
from judgekit.models.encoder import Sequences, token_batches
from judgekit.models.files import ModelFiles, load_network

NO_NUMBERS = "logits that are no numbers: damaged weights, or a precision that overflows?"
_LEAST_SHARED = 8  # tokens at the start of several prompts that are worth reading in advance
_LEAST_ALIKE = 100  # tokens beyond that start from which a family of prompts is worth batches of its own
_SHORT_START = 8  # a start is read again where a prompt is this many times as long, and attention needs no mask then
_STEPS = 64  # tokens that are written before rows that have ended are left out
_ON_GPU: WeakSet[Any] = WeakSet()  # whoever has weights there, as its ``engine``
Tokens = tuple[int, ...]
Tokenise = Callable[[str], tuple[list[int], list[int]]]  # token ids of a text, and where each ends in it


def shared_start(sequences: Sequence[Any]) -> Any:
    """What all of some sequences (texts, or tuples) begin with."""
    return os.path.commonprefix(list(sequences))  # noqa: RUF071 - it takes any sequences, not paths alone


@dataclass(frozen=True)
class Plan:
    """How replies are weighed, not generated: what each says (a name), its text, its tokens after those all share.

    What all candidates begin with is put into the model's mouth (``[[``), and the log-probabilities of the tokens that
    follow are added up, until no other candidate begins alike: in ``[[A]]`` that is the ``A``. Where one is the
    beginning of another (``[[1`` and ``[[10``), all are followed to their end, so that the closing token counts.
    """

    names: tuple[Any, ...]
    texts: tuple[str, ...]
    forced: Tokens  # that all candidates begin with
    paths: tuple[Tokens, ...]  # up to where a candidate is told apart; none is the beginning of another

    @cached_property
    def branches(self) -> tuple[Tokens, ...]:
        """Tokens to read beyond the forced ones so that every path's probability is known; none begins another."""
        inner = sorted({path[:-1] for path in self.paths if len(path) > 1})
        return tuple(a for a in inner if not any(b != a and b[: len(a)] == a for b in inner))

    @cached_property
    def nodes(self) -> dict[Tokens, Tokens]:
        """Where the model's next token is looked at: tokens read so far, to the tokens of interest there."""
        nodes: dict[Tokens, set[int]] = {}
        for path in self.paths:
            for n, token in enumerate(path):
                nodes.setdefault(path[:n], set()).add(token)
        return {start: tuple(sorted(nodes[start])) for start in sorted(nodes)}

    def weights(self, logprobs: Sequence[float]) -> dict[Any, float]:
        """Probability of each candidate given that the reply is one of them, from summed log-probabilities.

        ValueError where one is NaN or none is finite.
        """
        highest = max(logprobs)
        if any(map(math.isnan, logprobs)) or not math.isfinite(highest):
            raise ValueError(f"log-probabilities that are no numbers ({list(logprobs)}): damaged weights?")
        mass = [math.exp(value - highest) for value in logprobs]
        return {name: value / sum(mass) for name, value in zip(self.names, mass, strict=True)}

    def likeliest(self, weights: Mapping[Any, float]) -> str:
        """The text of the most probable candidate."""
        return max(zip(self.names, self.texts, strict=True), key=lambda candidate: weights[candidate[0]])[1]


def plan_of(candidates: Mapping[Any, str], tokenise: Tokenise) -> Plan:
    """The plan for candidates by name; ``tokenise`` gives token ids, and where each ends in the text.

    Unavailable where there are fewer than two, or two that the tokenizer cannot tell apart.
    """
    texts = tuple(candidates.values())
    tokenised = [tokenise(text) for text in texts]
    paths = [tuple(ids) for ids, _ in tokenised]
    if len(texts) < 2 or len(set(paths)) < len(texts):
        raise Unavailable(f"replies to weigh must be two or more that differ in tokens: {list(texts)}")
    ending = len(shared_start([text[::-1] for text in texts]))
    stems = [text[: len(text) - ending] for text in texts]
    if not any(a is not b and b.startswith(a) for a in stems for b in stems):
        for row, (text, (_, ends)) in enumerate(zip(texts, tokenised, strict=True)):
            others = [other for other in texts if other != text]
            shared = sum(1 for end in ends if any(other.startswith(text[:end]) for other in others))
            paths[row] = paths[row][: shared + 1]
    forced = shared_start(paths)
    return Plan(tuple(candidates), texts, forced, tuple(path[len(forced) :] for path in paths))


class CausalModel:
    """A causal language model that completes and weighs; ``eos``: ids that end a reply, ``pad``: one for padding."""

    def __init__(self, model: Any, eos: Iterable[int] = (), pad: int = 0) -> None:
        self.model, self.pad, self.eos = model, pad, frozenset(eos)
        # Hub models come with sampling parameters and repetition penalties; a judge decodes as its settings say.
        model.generation_config = GenerationConfig(eos_token_id=sorted(self.eos) or None, pad_token_id=pad)
        self.shares = copyable(DynamicCache(config=model.config))  # what prompts begin with can be read in advance
        self.start: Tokens = ()
        self.read: DynamicCache | None = None

    def share(self, prompts: Sequences) -> None:
        """Read what the prompts that follow all begin with once, where that is worth it, fits and can be copied."""
        start = shared_start([tuple(prompt) for prompt in prompts]) if len(prompts) > 1 else ()
        start = start[: min(map(len, prompts), default=1) - 1]  # every row has a token of its own to read
        start = start if self.shares and len(start) >= _LEAST_SHARED else ()
        if start != self.start:
            self.start, self.read = (), None
            attempted(self._read_start, start)

    @torch.inference_mode()
    def _read_start(self, start: Tokens) -> None:
        cache = DynamicCache(config=self.model.config)
        if start:
            ids = torch.tensor([start], device=self.model.device)
            self.model(input_ids=ids, logits_to_keep=1, past_key_values=cache, use_cache=True)
            self.start, self.read = start, cache

    @torch.inference_mode()
    def forward(self, ids: torch.Tensor, mask: torch.Tensor, keep: int = 1, **more: Any) -> Any:
        """The model's output, with logits of the last ``keep`` columns; positions count what is not padding."""
        positions = (mask.cumsum(-1) - 1).clamp_min(0)[:, -ids.shape[1] :]
        return self.model(input_ids=ids, attention_mask=mask, position_ids=positions, logits_to_keep=keep, **more)

    def rows(self, sequences: Sequences, anew: bool = False) -> tuple[torch.Tensor, torch.Tensor, DynamicCache]:
        """Token ids and mask of sequences, shape (n, columns), and a cache of what they share (empty with ``anew``)."""
        n_start, device = 0 if anew else len(self.start), self.model.device
        own = [list(sequence[n_start:]) for sequence in sequences]
        gaps = [max(map(len, own)) - len(row) for row in own]
        ids = [[self.pad] * gap + row for gap, row in zip(gaps, own, strict=True)]
        mask = [[1] * n_start + [0] * gap + [1] * len(row) for gap, row in zip(gaps, own, strict=True)]
        every = torch.zeros(len(own), dtype=torch.long, device=device)
        known = self.read if n_start else None
        cache = DynamicCache(config=self.model.config) if known is None else _selected(known, every)
        return torch.tensor(ids, device=device), torch.tensor(mask, device=device), cache

    @torch.inference_mode()
    def generate(
        self, prompts: Sequences, max_new_tokens: int, temperature: float = 0.0
    ) -> list[list[int] | ValueError]:
        """Completions of prompts that begin with what is shared, without the token that ended them.

        ``temperature``: 0 takes the most probable token. A row whose logits were no numbers is the error that says so:
        the largest of them is then whichever token comes first, and could pass for a verdict.
        """
        ids, mask, cache = self.rows(prompts)
        full = torch.cat([ids.new_tensor([self.start] * len(prompts)), ids], dim=1)
        how: dict[str, Any] = {"do_sample": bool(temperature)}
        how |= {"temperature": temperature, "top_k": 0} if temperature else {}
        made: list[Any] = [[] for _ in prompts]
        left, n_steps = list(range(len(prompts))), _STEPS if self.shares else max_new_tokens
        for done in range(0, max_new_tokens, n_steps):  # rows that have ended are left out of the next steps
            watch = _SoundLogits(torch.ones(len(left), dtype=torch.bool, device=ids.device))
            how |= {"max_new_tokens": min(n_steps, max_new_tokens - done), "logits_processor": [watch]}
            full = self.model.generate(full, attention_mask=mask, past_key_values=cache, **how)
            new, sound = full[:, mask.shape[1] :].tolist(), watch.sound.tolist()
            for row, tokens, numbers in zip(left, new, sound, strict=True):
                more = takewhile(lambda token: token not in self.eos, tokens)
                made[row] = [*made[row], *more] if numbers else ValueError(NO_NUMBERS)
            going = [k for k, tokens in enumerate(new) if sound[k] and self.eos.isdisjoint(tokens)]
            if not going or done + n_steps >= max_new_tokens:  # not every cache can be cut to rows
                break
            left, rows = [left[k] for k in going], ids.new_tensor(going)
            cache.batch_select_indices(rows)
            full, mask = full[rows], torch.nn.functional.pad(mask[rows], (0, len(new[0])), value=1)
        return made

    def logprobs(self, prompts: Sequences, plan: Plan, budget: int) -> list[list[float]]:
        """Log-probabilities of a plan's candidates after each prompt, summed over tokens, shape (n_prompts, n_names).

        ``budget``: tokens that a pass over the branches may hold, padding included (one prompt at least).
        """
        passes = self.passes(prompts, plan, budget)
        first = next(passes)[1].logits[:, -1].float().log_softmax(-1)
        sums = first[:, [path[0] for path in plan.paths]].double()
        for part, out in passes:
            sums[part] += path_sums(out.logits.float().log_softmax(-1), plan).to(sums)
        return sums.tolist()

    def passes(self, prompts: Sequences, plan: Plan, budget: int, **more: Any) -> Iterator[tuple[torch.Tensor, Any]]:
        """The model's output after all prompts, with what the plan forces; then after each token of its branches.

        The latter for some rows at a time, whose numbers come with it. Without a cache to copy, they are read whole.
        """
        sequences = [[*prompt, *plan.forced] for prompt in prompts]
        # Without padding and a start in the cache, attention is causal and no more: half of it is never computed.
        equal = len(set(map(len, sequences))) == 1 and len(sequences[0]) >= _SHORT_START * len(self.start)
        ids, mask, cache = self.rows(sequences, anew=equal)
        yield torch.arange(len(prompts)), self.forward(ids, mask, past_key_values=cache, **more)
        longest, n_branches = max(map(len, plan.branches), default=0), len(plan.branches)
        padded = [[*branch, *[self.pad] * (longest - len(branch))] for branch in plan.branches]
        n_rows = max(1, budget // max(1, n_branches * mask.shape[1]))
        for part in torch.arange(len(prompts)).split(n_rows) if padded else ():
            if copyable(cache):
                own = _selected(cache, part.to(mask.device))
                own.batch_repeat_interleave(n_branches)
                ids = torch.tensor(padded, device=mask.device).repeat(len(part), 1)
                seen = torch.cat([mask[part].repeat_interleave(n_branches, 0), torch.ones_like(ids)], dim=1)
                yield part, self.forward(ids, seen, longest, past_key_values=own, **more)
            else:
                ids, seen, _ = self.rows([[*sequences[row], *branch] for row in part.tolist() for branch in padded])
                yield part, self.forward(ids, seen, longest, use_cache=False, **more)


def move_in(network: Any, owner: Any) -> Any:
    """A network on its owner's device; others leave a GPU where twice its size is not free: passes take some, too.

    Whoever loses its ``engine`` reads it again when it is asked again.
    """
    if torch.device(owner.device).type == "cuda":
        clear_device_cache()
        if torch.cuda.mem_get_info(owner.device)[0] < 2 * network.get_memory_footprint():
            for other in _ON_GPU:
                other.engine = None
            clear_device_cache(garbage_collection=True)
        _ON_GPU.add(owner)
    return network.to(owner.device)


def load_model(files: ModelFiles, tokenizer: Any, ends: Sequence[int], dtype: str) -> CausalModel:
    """A causal model with its adapter merged into it, on the CPU; ``ends``: ids that end a reply."""
    model = load_network(AutoModelForCausalLM, files.base, files.revision, files.adapter, dtype=getattr(torch, dtype))
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else (ends or [0])[0]
    return CausalModel(model.eval(), ends, pad)


def families(prompts: Sequence[Any]) -> list[list[int]]:
    """Numbers of prompts (token ids) to be read together: families that begin alike, then all others as one.

    A fifth at least of what stands after the start of all, as where several second responses follow one first.

    >>> same = list(range(200))
    >>> families([[*same, 7], [9, 9, 9], [*same, 8, 8]])
    [[0, 2], [1]]
    """
    ordered = sorted(range(len(prompts)), key=lambda number: prompts[number])
    n_start = len(shared_start([tuple(prompts[number]) for number in (ordered[0], ordered[-1])])) if ordered else 0
    found: list[list[int]] = []
    shared: Sequence[int] = ()
    for number in ordered:
        prompt = prompts[number]
        common = shared_start([shared or prompt, prompt])
        if found and len(common) - n_start > max(_LEAST_ALIKE, (len(prompt) - n_start) / 5):
            found[-1].append(number)
            shared = common
        else:
            found.append([number])
            shared = prompt
    alone = sorted(family[0] for family in found if len(family) == 1)
    return [sorted(family) for family in found if len(family) > 1] + ([alone] if alone else [])


class _SoundLogits(LogitsProcessor):
    """Which rows of a batch had logits that are numbers at every step; others are made equal, so sampling goes on."""

    def __init__(self, sound: torch.Tensor) -> None:
        self.sound = sound

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        sound = scores.amax(-1).isfinite()  # NaN and infinity come through; a token that is ruled out (-inf) does not
        self.sound = sound & self.sound
        return torch.where(sound[:, None], scores, 0.0)


def copyable(cache: DynamicCache) -> bool:
    """Whether a cache is keys and values of all tokens in every layer: not with sliding windows, or state spaces."""
    return all(type(layer) is DynamicLayer for layer in cache.layers)


def _selected(cache: DynamicCache, rows: torch.Tensor) -> DynamicCache:
    """A cache of some rows of another, which it shares nothing with that is written to."""
    selected = copy.copy(cache)
    selected.layers = [copy.copy(layer) for layer in cache.layers]
    selected.batch_select_indices(rows)
    return selected


def path_sums(later: torch.Tensor, plan: Plan) -> torch.Tensor:
    """What the tokens after the first add to each path's log-probability, shape (n_rows, n_names).

    ``later``: log-probabilities after each token of each branch, shape (n_rows * n_branches, n_tokens, vocabulary).
    """
    later = later.unflatten(0, (-1, len(plan.branches)))
    sums = torch.zeros(later.shape[0], len(plan.paths), dtype=torch.float64)
    for column, path in enumerate(plan.paths):
        branch = next(n for n, branch in enumerate(plan.branches) if branch[: len(path) - 1] == path[:-1])
        for token in range(1, len(path)):
            sums[:, column] += later[:, branch, token - 1, path[token]].double().cpu()
    return sums


def attempted(work: Callable[[Any], Any], batch: Any) -> Any:
    """What comes of a batch; None where memory ran out."""
    try:
        return work(batch)
    except RuntimeError as failure:
        if not should_reduce_batch_size(failure):
            raise
    clear_device_cache()  # after the handler: while it runs, the failure holds on to the batch's memory
    return None


def fitting_batches(
    lengths: Mapping[Any, int], budget: int, work: Callable[[list[Any]], Any]
) -> Iterator[tuple[list[Any], Any, int]]:
    """Batches of keys (longest first), what ``work`` makes of each, and what is left of the budget of tokens.

    The budget is halved, for good, where memory runs out; a single key that does not fit has None for results.
    """
    waiting = dict(lengths)
    while waiting:
        for batch in token_batches(waiting, budget):
            done = attempted(work, batch)
            if done is None and len(batch) > 1:
                budget = len(batch) // 2 * lengths[batch[0]]
                break
            yield batch, done, budget
            for key in batch:
                del waiting[key]


def memory_estimate(name: str, config: Any, dtype: torch.dtype, tokens: int) -> str:
    """A sentence on the memory of a model's weights, and of keys and values of ``tokens`` in every layer at once."""
    with torch.device("meta"):  # without memory; tied parameters count once
        count = AutoModelForCausalLM.from_config(config, trust_remote_code=False).num_parameters()
    text = config.get_text_config(decoder=True)
    heads = getattr(text, "num_attention_heads", None) or 0  # state spaces have none
    width = getattr(text, "head_dim", None) or (text.hidden_size // heads if heads else 0)
    per_token = 2 * text.num_hidden_layers * (getattr(text, "num_key_value_heads", None) or heads) * width
    weights, cache = (n * dtype.itemsize / 2**30 for n in (count, per_token * tokens))
    return (
        f"{name}: {count / 1e6:,.1f}M parameters, {str(dtype).removeprefix('torch.')}: {weights:.2g} GiB of weights + "
        f"{cache:.2g} GiB of keys and values for {tokens:,} tokens at once, and what a forward pass needs besides"
    )
