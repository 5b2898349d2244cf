"""The network of a causal judge: prompts as token ids in, completions or log-probabilities out.

Rows are padded on the left. What all prompts of a run begin with (system message, instructions) is read once; its keys
and values are then copied to every row, and the padding stands between them and the rest of the prompt. Positions are
told to the model, so a reply depends neither on the padding nor on what else is in the batch, beyond float rounding.
"""

import copy

import torch
from transformers import AutoModelForCausalLM, DynamicCache, GenerationConfig, LogitsProcessor, LogitsProcessorList
from transformers.cache_utils import DynamicLayer
from transformers.utils import logging

from judgekit.models.batching import token_batches
from judgekit.models.encoder import quiet_peft

NO_NUMBERS = "logits that are no numbers: damaged weights, or a precision that overflows?"


def load_model(files, dtype, device):
    """The weights of a model, an adapter merged into them, ready for inference.

    Parameters
    ----------
    files : judgekit.models.files.ModelFiles
    dtype : torch.dtype
    device : str
    """
    logging.disable_progress_bar()  # a judge has a bar of its own
    model = AutoModelForCausalLM.from_pretrained(
        files.base, revision=files.revision, dtype=dtype, use_safetensors=True, trust_remote_code=False
    )
    if files.adapter is not None:
        from peft import PeftModel

        with quiet_peft():
            model = PeftModel.from_pretrained(model, files.adapter).merge_and_unload()
    return model.to(device).eval()


class CausalModel:
    """A causal language model that completes and weighs.

    Parameters
    ----------
    model : transformers.PreTrainedModel
    eos : list of int
        Ids that end a reply.
    pad : int
    """

    def __init__(self, model, eos=(), pad=0):
        self.model, self.pad, self.eos = model, pad, list(eos)
        # Hub models come with sampling parameters and repetition penalties; a judge decodes as its settings say.
        model.generation_config = GenerationConfig(eos_token_id=self.eos or None, pad_token_id=pad)
        self.start, self.read = (), None
        self.copies = None

    def share(self, start):
        """Read what the prompts that follow begin with, once; with no tokens, read nothing in advance.

        Does nothing where the model keeps more than keys and values of all tokens (sliding windows, state spaces):
        there every prompt is read from its first token.
        """
        if tuple(start) != self.start:
            self.start, self.read = (), None
            if start and self.copies is not False:
                cache = DynamicCache(config=self.model.config)
                self.forward(torch.tensor([start], device=self.model.device), past_key_values=cache, use_cache=True)
                self.copies = copyable(cache)
                self.start, self.read = (tuple(start), cache) if self.copies else ((), None)

    @torch.inference_mode()
    def forward(self, ids, keep=1, **more):
        """Logits of the last ``keep`` columns and the cache."""
        return self.model(input_ids=ids, logits_to_keep=keep, **more)

    def rows(self, sequences):
        """Token ids and mask of sequences, shape (n, columns), and a cache that holds what they begin with."""
        own = [sequence[len(self.start) :] for sequence in sequences]
        longest, device = max(map(len, own)), self.model.device
        ids = torch.tensor([[self.pad] * (longest - len(row)) + list(row) for row in own], device=device)
        mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in own], device=device)
        mask = torch.cat([mask.new_ones(len(own), len(self.start)), mask], dim=1)
        cache = DynamicCache(config=self.model.config)
        if self.read is not None:
            cache = selected(self.read, torch.zeros(len(own), dtype=torch.long, device=device))
        return ids, mask, cache

    @torch.inference_mode()
    def generate(self, prompts, max_new_tokens, temperature=0.0):
        """Completions of prompts.

        Parameters
        ----------
        prompts : list of list of int
            Each longer than what is shared, and beginning with it.
        max_new_tokens : int
        temperature : float
            0 takes the most probable token.

        Returns
        -------
        list of (list of int, or ValueError)
            Without the token that ended it, where one did. A row whose logits were no numbers is the error that says
            so: the largest of them is then whichever token comes first, and could pass for a verdict.
        """
        ids, mask, cache = self.rows(prompts)
        start = torch.tensor([self.start] * len(prompts), dtype=torch.long, device=ids.device)
        sampling = {"do_sample": True, "temperature": temperature, "top_k": 0} if temperature else {"do_sample": False}
        chosen = GenerationConfig(
            max_new_tokens=max_new_tokens, eos_token_id=self.eos or None, pad_token_id=self.pad, **sampling
        )
        full = torch.cat([start, ids], dim=1)
        watch = SoundLogits(torch.ones(len(prompts), dtype=torch.bool, device=ids.device))
        made = self.model.generate(
            full,
            attention_mask=mask,
            past_key_values=cache,
            generation_config=chosen,
            logits_processor=LogitsProcessorList([watch]),
        )
        rows = zip(made[:, full.shape[1] :].tolist(), watch.sound.tolist(), strict=True)
        return [up_to(row, self.eos) if sound else ValueError(NO_NUMBERS) for row, sound in rows]

    def logprobs(self, prompts, plan, budget):
        """Log-probabilities of a plan's candidates after each prompt.

        Parameters
        ----------
        prompts : list of list of int
        plan : judgekit.models.one_pass.Plan
        budget : int
            Tokens that a pass over the branches may hold, padding included (one prompt at least).

        Returns
        -------
        list of list of float, shape (n_prompts, n_candidates)
            Summed over the tokens of each path.
        """
        sequences = [[*prompt, *plan.forced] for prompt in prompts]
        ids, mask, cache = self.rows(sequences)
        out = self.forward(
            ids, attention_mask=mask, position_ids=positions(mask)[:, -ids.shape[1] :], past_key_values=cache
        )
        first = out.logits[:, -1].float().log_softmax(-1)
        sums = first[:, [path[0] for path in plan.paths]].double()
        for part in parts(len(prompts), len(plan.branches) * mask.shape[1], budget) if plan.branches else ():
            out = self.after(part, cache, mask, sequences, plan.branches)
            later = out.logits.float().log_softmax(-1).unflatten(0, (len(part), len(plan.branches)))
            sums[part] += path_sums(later, plan).to(sums)
        return sums.tolist()

    def after(self, rows, cache, mask, sequences, branches, **more):
        """What the model gives after each token of each branch, for some rows of a batch that has been read.

        Parameters
        ----------
        rows : torch.Tensor of int
        cache, mask
            Of the whole batch, after it was read; the cache is left as it is.
        sequences : list of list of int
            The batch, with what is shared.
        branches : sequence of sequence of int
        **more
            For the model.

        Returns
        -------
        transformers.modeling_outputs.CausalLMOutputWithPast
            Row by row, the branches of each together; the last columns belong to the longest branch, and shorter ones
            are followed by padding.
        """
        if copyable(cache):
            return self.after_cache(selected(cache, rows.to(mask.device)), mask[rows], branches, **more)
        return self.after_reading([sequences[row] for row in rows.tolist()], branches, **more)

    def after_cache(self, cache, mask, branches, **more):
        """`after` where the cache holds what stands before the branches."""
        n, longest = len(mask), max(map(len, branches))
        cache.batch_repeat_interleave(len(branches))
        padded = [[*branch, *[self.pad] * (longest - len(branch))] for branch in branches]
        ids = torch.tensor(padded, device=mask.device).repeat(n, 1)
        mask = torch.cat([mask.repeat_interleave(len(branches), 0), torch.ones_like(ids)], dim=1)
        return self.forward(
            ids,
            longest,
            attention_mask=mask,
            position_ids=positions(mask)[:, -longest:],
            past_key_values=cache,
            **more,
        )

    def after_reading(self, sequences, branches, **more):
        """`after` where a cache cannot be copied: every branch is read with all that stands before it."""
        longest = max(map(len, branches))
        padded = [[*branch, *[self.pad] * (longest - len(branch))] for branch in branches]
        ids, mask, _ = self.rows([[*sequence, *branch] for sequence in sequences for branch in padded])
        return self.forward(ids, longest, attention_mask=mask, position_ids=positions(mask), use_cache=False, **more)


class SoundLogits(LogitsProcessor):
    """Looks on while a batch is written: which rows had logits that are numbers, at every step.

    Where none are, they are made equal, so that sampling goes on for the other rows.

    Parameters
    ----------
    sound : torch.Tensor of bool, shape (n_rows,)
        True everywhere, at first.
    """

    def __init__(self, sound):
        self.sound = sound

    def __call__(self, input_ids, scores):
        """The scores, and nothing but numbers."""
        sound = scores.amax(-1).isfinite()  # NaN and infinity come through; a token that is ruled out (-inf) does not
        self.sound = sound & self.sound
        return torch.where(sound[:, None], scores, 0.0)


def positions(mask):
    """Position of every column, counted over what is not padding."""
    return (mask.cumsum(-1) - 1).clamp_min(0)


def copyable(cache):
    """Whether a cache is keys and values of all tokens in every layer, so that rows of it can be copied."""
    return all(type(layer) is DynamicLayer for layer in cache.layers)


def selected(cache, rows):
    """A cache of some rows of another, which it shares nothing with that is written to."""
    chosen = copy.copy(cache)
    chosen.layers = [copy.copy(layer) for layer in cache.layers]
    chosen.batch_select_indices(rows)
    return chosen


def parts(n, tokens, budget):
    """Row numbers in parts of ``budget`` tokens, at least one row each."""
    return torch.arange(n).split(max(1, budget // max(tokens, 1)))


def path_sums(later, plan):
    """What the tokens after the first add to each path's log-probability, shape (rows, n_candidates)."""
    sums = torch.zeros(later.shape[0], len(plan.paths), dtype=torch.float64)
    for place, path in enumerate(plan.paths):
        if len(path) > 1:
            branch = next(n for n, b in enumerate(plan.branches) if b[: len(path) - 1] == path[:-1])
            for token in range(1, len(path)):
                sums[:, place] += later[:, branch, token - 1, path[token]].double().cpu()
    return sums


def up_to(ids, ends):
    """Ids before the first that ends a reply."""
    place = next((n for n, token in enumerate(ids) if token in ends), len(ids))
    return ids[:place]


def out_of_memory(failure):
    """Whether a failure says that memory was short, on whatever device."""
    said = str(failure)  # only CUDA has a class for it; a Mac's GPU and the CPU say so in words
    return isinstance(failure, torch.OutOfMemoryError) or "out of memory" in said or "DefaultCPUAllocator" in said


def attempted(work, batch):
    """What comes of a batch; None where memory ran out.

    Parameters
    ----------
    work : callable
        From a batch to its results.
    batch : list
    """
    try:
        return work(batch)
    except RuntimeError as failure:
        if not out_of_memory(failure):
            raise
    if torch.cuda.is_available():  # after the handler: while it runs, the failure holds on to the batch's memory
        torch.cuda.empty_cache()
    return None


def fitting_batches(keys, lengths, budget, work):
    """Batches under a budget of tokens, which is halved, for good, where memory runs out.

    Parameters
    ----------
    keys : iterable
        Longest first.
    lengths : mapping from key to int
        Tokens.
    budget : int
    work : callable
        From a list of keys to their results, a list.

    Yields
    ------
    batch : list of keys
    results : list, or None
        None for a single key that does not fit into the memory.
    budget : int
        What is left of it.

    Examples
    --------
    >>> def work(batch):
    ...     if len(batch) > 2:
    ...         raise torch.OutOfMemoryError("out of memory")
    ...     return batch
    >>> [batch for batch, _, _ in fitting_batches("abcde", dict.fromkeys("abcde", 1), 4, work)]
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    waiting = list(keys)
    while waiting:
        batch = next(token_batches(waiting, lengths, budget))
        done = attempted(work, batch)
        if done is None and len(batch) > 1:
            budget = max(1, len(batch) // 2) * max(lengths[key] for key in batch)
            continue
        waiting = waiting[len(batch) :]
        yield batch, done, budget
