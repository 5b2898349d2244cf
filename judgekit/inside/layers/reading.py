"""Prompts in, logits of the score tokens at every layer out: one forward pass per batch."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from judgekit.data.progress import progress_bar
from judgekit.inside.layers.head import ScoreHead
from judgekit.inside.layers.scale import score_place, score_plan
from judgekit.models import Unavailable
from judgekit.models.causal import CausalModel, fitting_batches, load_model, parts, path_sums, positions
from judgekit.models.chat_tokens import ChatTokenizer
from judgekit.models.files import end_tokens, model_files
from judgekit.models.one_pass import Plan
from judgekit.records import fingerprint_of
from judgekit.stats import Floats


def layer_logits(
    engine: CausalModel,
    prompts: Sequence[Any],
    plan: Plan,
    normed: bool = False,
    norm: str | None = None,
    batch_tokens: int = 8192,
    progress: bool = False,
) -> Floats:
    """Logits of candidates at every layer, where the model is about to write one.

    Shape (n_prompts, n_layers + 1, n_candidates). Layer 0 is the embedding output. Rows are in the order of the
    prompts, and depend on neither padding nor batch beyond float rounding. ``prompts``: token ids up to where the
    reply, or the rest of it, begins; None for a prompt that has no place to look at (`written_up_to`): its row is NaN.
    ``plan``: of scores (`judgekit.inside.layers.scale.score_plan`), or of verdicts
    (`judgekit.models.one_pass.plan_of`). ``normed``, ``norm``: as for `judgekit.inside.layers.head.ScoreHead`.
    ``batch_tokens``: tokens per forward pass, padding included; the states of all layers of a batch are in memory until
    those of the last columns are copied. Where memory runs out, batches are halved.

    Where every candidate is one token, these are that token's logits: what the published code takes. A candidate of
    several tokens has the logit of its first one plus the log-probabilities, over the whole vocabulary and at the same
    layer, of the others. At the last layer the softmax over candidates is then exactly that of
    `judgekit.models.one_pass`. The published code knows no such candidates.

    Models that cap or scale their logits (Gemma, Cohere, Granite) have every layer's capped or scaled alike; the
    published code leaves that out.

    ValueError where a prompt is empty, a logit is not finite, or the model's output head cannot be applied to its
    layers; MemoryError where a single prompt does not fit into the memory.
    """
    head = ScoreHead(engine.model, normed, norm)
    n_layers = engine.model.config.get_text_config(decoder=True).num_hidden_layers
    found = np.full((len(prompts), n_layers + 1, len(plan.names)), np.nan)
    lengths = {row: len(prompt) + len(plan.forced) for row, prompt in enumerate(prompts) if prompt is not None}
    if empty := [row for row in lengths if not len(prompts[row])]:
        raise ValueError(f"prompt {empty[0]} has no tokens")
    engine.share([prompts[row] for row in lengths])
    with progress_bar(len(lengths), "layers", "prompt", shown=progress) as bar:

        def work(batch: list[int]) -> np.ndarray:
            sequences = [[*prompts[row], *plan.forced] for row in batch]
            return batch_logits(engine, head, sequences, plan, batch_tokens).cpu().numpy()

        longest_first = sorted(lengths, key=lambda row: -lengths[row])
        for batch, logits, _ in fitting_batches(longest_first, lengths, batch_tokens, work):
            if logits is None:
                raise MemoryError(f"the {lengths[batch[0]]:,} tokens of prompt {batch[0]} do not fit into the memory")
            found[batch] = logits
            if not np.isfinite(found[batch]).all():
                row, layer = np.argwhere(~np.isfinite(found[batch]).all(-1))[0]
                raise ValueError(f"logits of layer {layer} are not finite for prompt {batch[row]}")
            bar.update(len(batch))
    return found


@torch.inference_mode()
def batch_logits(
    engine: CausalModel, head: ScoreHead, sequences: Sequence[Sequence[int]], plan: Plan, budget: int
) -> torch.Tensor:
    """`layer_logits` of one batch, shape (n_rows, n_layers + 1, n_candidates)."""
    ids, mask, cache = engine.rows(sequences)
    places = positions(mask)[:, -ids.shape[1] :]
    out = engine.forward(
        ids, attention_mask=mask, position_ids=places, past_key_values=cache, output_hidden_states=True
    )
    first = [path[0] for path in plan.paths]
    states = [layer[:, 0] for layer in head.states(out.hidden_states, 1)]
    head.check(states[-1], first, out.logits[:, -1])
    sums = torch.stack([head.logits(layer, first) for layer in states], dim=1).double()
    del out  # the states of all columns
    if plan.branches:
        n_branches, longest = len(plan.branches), max(map(len, plan.branches))
        for part in parts(len(sequences), n_branches * mask.shape[1], budget):
            out = engine.after(part, cache, mask, sequences, plan.branches, output_hidden_states=True)
            for place, layer in enumerate(head.states(out.hidden_states, longest)):
                logs = head.log_probabilities(layer).unflatten(0, (len(part), n_branches))
                sums[part, place] += path_sums(logs, plan).to(sums)
    return sums


def written_up_to(
    prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]], plan: Plan
) -> list[list[int] | None]:
    """Prompts with what a model wrote up to its last score; None where a completion says no score."""
    found = []
    for prompt, written in zip(prompts, completions, strict=True):
        place = score_place(written, plan)
        found.append(None if place is None else [*prompt, *written[:place]])
    return found


def messages_of(conversation: Any, row: int) -> list[dict[str, str]]:
    """A conversation that a tokenizer takes: lone surrogates, which no tokenizer does, become question marks.

    ValueError where it is no list of messages with ``role`` and ``content``.
    """
    said = list(conversation) if isinstance(conversation, (list, tuple)) else []
    if not said or not all(isinstance(one, dict) and {"role", "content"} <= set(one) for one in said):
        raise ValueError(f"conversation {row} is no list of messages with a role and a content")
    if not all(isinstance(one["content"], str) for one in said):
        raise ValueError(f"conversation {row} has a content that is no text")
    return [{**one, "content": one["content"].encode("utf-8", "replace").decode("utf-8")} for one in said]


class LayerReader:
    """A causal language model whose layers are asked for a score.

    ``name``: a folder, ``owner/model[@revision]`` on the hub, or either with ``+adapter``
    (`judgekit.models.files.model_files`). ``dtype``: of the weights, ``float32``, ``bfloat16`` or ``float16``; logits
    of score tokens are computed in float32 from states of that precision. ``batch_tokens``: tokens per forward pass,
    padding and completions included. ``thinking``: ask a model that can think to do so before it writes; for
    ``max_new_tokens`` of `logits`. Unavailable where there is no such model.
    """

    def __init__(
        self, name: str, device: str = "cpu", dtype: str = "float32", batch_tokens: int = 8192, thinking: bool = False
    ) -> None:
        from transformers import AutoConfig, AutoTokenizer

        if dtype not in ("float32", "bfloat16", "float16"):
            raise Unavailable(f"dtype={dtype!r} is not one of float32, bfloat16, float16")
        files = model_files(name)
        at = {"revision": files.revision, "trust_remote_code": False}
        try:
            config = AutoConfig.from_pretrained(files.base, **at)
            tokenizer = AutoTokenizer.from_pretrained(
                files.tokenizer, revision=files.tokenizer_revision, trust_remote_code=False
            )
        except (OSError, ValueError) as broken:
            raise Unavailable(f"{name}: {' '.join(str(broken).split())[:300]}") from None
        self.name, self.batch_tokens = name, batch_tokens
        self.fingerprint = fingerprint_of(files.digest, dtype)
        self.tokens = ChatTokenizer(tokenizer, thinking)
        ends = end_tokens(files, config, tokenizer)
        pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else (ends or [0])[0]
        self.engine = CausalModel(load_model(files, getattr(torch, dtype), device), ends, pad)
        self.room = getattr(config.get_text_config(decoder=True), "max_position_embeddings", None)

    def plan(self, scores: Sequence[int], reply: str = "{score}") -> Plan:
        """The tokens of a scale (`judgekit.inside.layers.scale.score_plan`)."""
        return score_plan(scores, self.tokens.reply_tokens, reply)

    def logits(
        self,
        conversations: Sequence[Any],
        plan: Plan,
        normed: bool = False,
        norm: str | None = None,
        max_new_tokens: int | None = None,
        progress: bool = False,
    ) -> Floats:
        """Logits of a plan's candidates at every layer (`layer_logits`).

        Shape (n_conversations, n_layers + 1, n_candidates); NaN where nothing that the model wrote is a score.
        ``conversations``: messages with ``role`` and ``content``, each asking for one score. ``max_new_tokens``: let
        the model write, greedily, and look where it says its last score (the published code: 10 tokens for a direct
        answer, 256 for one with reasoning). Without it nothing is written: the score is taken to come at once, with
        what the plan puts before it.

        ValueError where a conversation is none, or does not fit into the model's positions.
        """
        prompts: list[Any] = [self.tokens.ids(messages_of(messages, row)) for row, messages in enumerate(conversations)]
        said = len(plan.forced) + max(map(len, plan.paths))
        for row, prompt in enumerate(prompts):
            if self.room is not None and len(prompt) + said + (max_new_tokens or 0) > self.room:
                raise ValueError(f"conversation {row} has {len(prompt)} tokens: {self.name} has {self.room} positions")
        if max_new_tokens is not None:
            prompts = written_up_to(prompts, self.write(prompts, max_new_tokens, progress), plan)
        return layer_logits(self.engine, prompts, plan, normed, norm, self.batch_tokens, progress)

    def write(self, prompts: Sequence[Sequence[int]], max_new_tokens: int, progress: bool = False) -> list[list[int]]:
        """Greedy completions of prompts, in their order: lists of token ids.

        ValueError where the model's logits are no numbers; MemoryError where a single prompt does not fit into the
        memory.
        """
        self.engine.share(prompts)
        lengths = {row: len(prompt) + max_new_tokens for row, prompt in enumerate(prompts)}
        written: dict[int, Any] = {}
        with progress_bar(len(lengths), "writing", "prompt", shown=progress) as bar:

            def work(batch: list[int]) -> list[Any]:
                return self.engine.generate([prompts[row] for row in batch], max_new_tokens)

            longest_first = sorted(lengths, key=lambda row: -lengths[row])
            for batch, made, _ in fitting_batches(longest_first, lengths, self.batch_tokens, work):
                if made is None:
                    raise MemoryError(f"{lengths[batch[0]]:,} tokens of prompt {batch[0]} and its reply do not fit")
                if wrong := [each for each in made if isinstance(each, ValueError)]:
                    raise wrong[0]
                written |= dict(zip(batch, made, strict=True))
                bar.update(len(batch))
        return [written[row] for row in range(len(prompts))]
