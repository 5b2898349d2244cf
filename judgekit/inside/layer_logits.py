"""Prompts in, logits of the score tokens at every layer out: one forward pass per batch.

The model's output head is applied to the hidden state of every layer where the model is about to write a score (LAGER,
earlier PalmScore, arXiv:2508.03550). Layers are numbered as in `judgekit.models.states`: 0 is the embedding output, and
the last one has been through the final norm.
"""

import numbers
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from judgekit.data.progress import progress_bar
from judgekit.models import Unavailable
from judgekit.models.causal import CausalModel, fitting_batches, load_model, parts, path_sums, positions
from judgekit.models.chat_tokens import ChatTokenizer
from judgekit.models.files import config_and_tokenizer, end_tokens, model_files
from judgekit.models.one_pass import Plan, plan_of
from judgekit.prompts import Prompt, PromptError, PromptTooLong, Strategy
from judgekit.records import Response, fingerprint_of
from judgekit.stats import Floats

# Where architectures keep the norm between the last block and the head, below the model without its head.
_NORMS = ("norm", "ln_f", "final_layer_norm", "final_layernorm", "norm_f", "embedding_norm", "decoder.final_layer_norm")
_SLACK = {torch.float32: 1e-3, torch.float64: 1e-3}  # of what the model's own head gives; 0.05 in half precision


# ---------------------------------------------------------------- which tokens say a score


def checked_scores(scores: Any) -> tuple[int, ...]:
    """A scale as a tuple; ValueError where it has fewer than two scores, or they are not whole and ascending."""
    scores = tuple(scores)
    if not all(isinstance(score, numbers.Integral) and not isinstance(score, bool) for score in scores):
        raise ValueError(f"a scale has whole scores, not {list(scores)}")
    scores = tuple(map(int, scores))
    if len(scores) < 2 or list(scores) != sorted(set(scores)):
        raise ValueError(f"a scale has two scores or more, ascending, not {list(scores)}")
    return scores


def score_plan(
    scores: Sequence[int], tokenise: Callable[[str], tuple[list[int], list[int]]], reply: str = "{score}"
) -> Plan:
    """The token ids to look at for the scores of a scale, which are the plan's ``names``.

    ``tokenise``: `judgekit.models.chat_tokens.ChatTokenizer.reply_tokens`. ``reply``: what the model is taken to write,
    such as ``"Rating: [[{score}]]"``; all that stands before the score is put into its mouth. A score may have several
    tokens (`judgekit.models.one_pass`); in the published code it has one. ValueError where the scale is none, the reply
    does not hold ``{score}`` exactly once, or the tokens of one score begin those of another (``1`` and ``10`` where
    digits are tokens of their own): something must follow the score then.
    """
    scores = checked_scores(scores)
    if reply.count("{score}") != 1:
        raise ValueError(f"the reply {reply!r} must hold {{score}} exactly once")
    plan = plan_of({score: reply.replace("{score}", str(score)) for score in scores}, tokenise)
    for score, path in zip(scores, plan.paths, strict=True):
        longer = [other for other, ids in zip(scores, plan.paths, strict=True) if ids[: len(path)] == path]
        if len(longer) > 1:
            raise ValueError(
                f"the tokens of {reply.replace('{score}', str(score))!r} begin those of {longer[-1]}: let something "
                f"follow the score, e.g. '{reply}.' or '[[{{score}}]]'"
            )
    return plan


def score_position(written: Sequence[int], plan: Plan) -> int | None:
    """Position of the first token of a completion's last score, with what the plan puts before it; or None.

    Tokens of one digit are found inside longer numbers: with a scale from 1 to 5, a completion that ends in "of 10"
    says 1, as in the published code. Words around the score, in the plan, avoid it.

    >>> plan = Plan((1, 2), ("1", "2"), (), ((11,), (12,)))
    >>> score_position([30, 11, 7, 12, 4], plan), score_position([30, 7], plan)
    (3, None)
    """
    wanted = [(*plan.forced, *path) for path in plan.paths]
    for position in reversed(range(len(written))):
        if any(tuple(written[position : position + len(ids)]) == ids for ids in wanted):
            return position
    return None


def written_up_to(
    prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]], plan: Plan
) -> list[list[int] | None]:
    """Prompts with what a model wrote up to its last score; None where a completion says no score."""
    ends = [score_position(written, plan) for written in completions]
    return [
        None if end is None else [*prompt, *written[:end]]
        for prompt, written, end in zip(prompts, completions, ends, strict=True)
    ]


# ---------------------------------------------------------------- the output head at every layer


def _final_norm(model: Any) -> torch.nn.Module:
    """The norm between the last block and the output head; ValueError where it has none of the usual names."""
    for path in _NORMS:
        module = model.base_model
        for part in path.split("."):
            module = getattr(module, part, None)
        if isinstance(module, torch.nn.Module):
            return module
    raise ValueError(f"{type(model).__name__} has no final norm called {', '.join(_NORMS)}: read with normed=False")


class ScoreHead:
    """From hidden states to logits, as the model itself makes them after its last layer.

    ``normed``: whether the states of all layers go through the final norm first, as in the logit lens. Without it,
    layers count by the size of their states, too, which grows with depth; that is how the published code does it. The
    last layer's state comes normed from transformers either way, and is never normed twice. ValueError where the model
    has no output head, or no final norm where one is wanted.
    """

    def __init__(self, model: Any, normed: bool = False) -> None:
        self.output = model.get_output_embeddings()
        if getattr(self.output, "weight", None) is None:
            raise ValueError(f"{type(model).__name__} has no output head that gives logits of tokens")
        config = model.config.get_text_config(decoder=True)
        self.cap = getattr(config, "final_logit_softcapping", None)  # Gemma
        self.factor = (getattr(config, "logit_scale", None) or 1) / (getattr(config, "logits_scaling", None) or 1)
        self.norm = _final_norm(model) if normed else None

    def states(self, layers: Sequence[torch.Tensor], columns: int) -> list[torch.Tensor]:
        """The last columns of every layer, normed where that is wanted, each (n_rows, columns, width).

        Copies, so that the other columns need not stay in memory. ``layers``: all hidden states, the last one normed
        already, each (n_rows, n_columns, width).
        """
        ends = [layer[:, -columns:].clone() for layer in layers]
        return ends if self.norm is None else [*map(self.norm, ends[:-1]), ends[-1]]

    def logits(self, states: torch.Tensor, ids: Any) -> torch.Tensor:
        """Logits of some tokens only, in float32: states of shape (..., width) to (..., len(ids))."""
        ids = torch.tensor(ids, device=self.output.weight.device)
        bias = getattr(self.output, "bias", None)
        logits = states.float() @ self.output.weight[ids].float().T
        return self._scaled(logits if bias is None else logits + bias[ids].float())

    def log_probabilities(self, states: torch.Tensor) -> torch.Tensor:
        """Log-probabilities of the whole vocabulary; for the states of one layer at a time, since they are large."""
        return self._scaled(self.output(states).float()).log_softmax(-1)

    def _scaled(self, logits: torch.Tensor) -> torch.Tensor:
        """What some architectures do to logits after the head."""
        logits = logits * self.factor
        return logits if self.cap is None else self.cap * torch.tanh(logits / self.cap)

    def check(self, states: torch.Tensor, ids: list[int], logits: torch.Tensor) -> None:
        """ValueError where the last layer's states do not give the model's own logits, shape (n_rows, vocabulary).

        The model then does something between states and logits that is not known here, to other layers, too.
        """
        own = logits[:, ids].float()
        if not torch.isfinite(own).all():
            raise ValueError("the model's logits are not finite: damaged weights, or half precision that overflows")
        slack = _SLACK.get(logits.dtype, 0.05)
        if not torch.allclose(self.logits(states, ids), own, rtol=slack, atol=slack):
            raise ValueError("the model's logits are not its output head applied to its last hidden state")


def layer_logits(
    engine: CausalModel,
    prompts: Sequence[Any],
    plan: Plan,
    normed: bool = False,
    batch_tokens: int = 8192,
    progress: bool = False,
) -> Floats:
    """Logits of candidates at every layer, where the model is about to write one.

    Shape (n_prompts, n_layers + 1, n_candidates), in the order of the prompts; depends on neither padding nor batch
    beyond float rounding. ``prompts``: token ids up to where the reply, or the rest of it, begins; None gives a row of
    NaN (`written_up_to`). ``plan``: of scores (`score_plan`), or of verdicts (`judgekit.models.one_pass.plan_of`).
    ``normed``: as for `ScoreHead`. ``batch_tokens``: per forward pass, padding included. Where memory runs
    out, batches are halved.

    Where every candidate is one token, these are that token's logits: what the published code takes. A candidate of
    several tokens has the logit of its first one plus the log-probabilities, over the whole vocabulary and at the same
    layer, of the others: at the last layer the softmax over candidates is exactly that of `judgekit.models.one_pass`.
    Models that cap or scale their logits have every layer's capped or scaled alike; the published code leaves that out.

    ValueError where a prompt is empty, a logit is not finite, or the model's output head cannot be applied to its
    layers; MemoryError where a single prompt does not fit into the memory.
    """
    head = ScoreHead(engine.model, normed)
    n_layers = engine.model.config.get_text_config(decoder=True).num_hidden_layers
    logits = np.full((len(prompts), n_layers + 1, len(plan.names)), np.nan)
    lengths = {row: len(prompt) + len(plan.forced) for row, prompt in enumerate(prompts) if prompt is not None}
    if empty := [row for row in lengths if not len(prompts[row])]:
        raise ValueError(f"prompt {empty[0]} has no tokens")
    engine.share([prompts[row] for row in lengths])

    def work(batch: list[int]) -> np.ndarray:
        sequences = [[*prompts[row], *plan.forced] for row in batch]
        return _batch_logits(engine, head, sequences, plan, batch_tokens).cpu().numpy()

    with progress_bar(len(lengths), "layers", "prompt", shown=progress) as bar:
        longest_first = sorted(lengths, key=lambda row: -lengths[row])
        for batch, read, _ in fitting_batches(longest_first, lengths, batch_tokens, work):
            if read is None:
                raise MemoryError(f"the {lengths[batch[0]]:,} tokens of prompt {batch[0]} do not fit into the memory")
            logits[batch] = read
            if not np.isfinite(logits[batch]).all():
                row, layer = np.argwhere(~np.isfinite(logits[batch]).all(-1))[0]
                raise ValueError(f"logits of layer {layer} are not finite for prompt {batch[row]}")
            bar.update(len(batch))
    return logits


@torch.inference_mode()
def _batch_logits(
    engine: CausalModel, head: ScoreHead, sequences: Sequence[Sequence[int]], plan: Plan, budget: int
) -> torch.Tensor:
    """`layer_logits` of one batch, shape (n_rows, n_layers + 1, n_candidates)."""
    ids, mask, cache = engine.rows(sequences)
    columns = positions(mask)[:, -ids.shape[1] :]
    out = engine.forward(
        ids, attention_mask=mask, position_ids=columns, past_key_values=cache, output_hidden_states=True
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
            for number, layer in enumerate(head.states(out.hidden_states, longest)):
                logs = head.log_probabilities(layer).unflatten(0, (len(part), n_branches))
                sums[part, number] += path_sums(logs, plan).to(sums)
    return sums


# ---------------------------------------------------------------- a model that is asked


def _messages(conversation: Any, row: int) -> list[dict[str, str]]:
    """A conversation that a tokenizer takes: lone surrogates, which no tokenizer does, become question marks."""
    messages = list(conversation) if isinstance(conversation, (list, tuple)) else []
    if not messages or not all(isinstance(one, dict) and {"role", "content"} <= set(one) for one in messages):
        raise ValueError(f"conversation {row} is no list of messages with a role and a content")
    if not all(isinstance(one["content"], str) for one in messages):
        raise ValueError(f"conversation {row} has a content that is no text")
    return [{**one, "content": one["content"].encode("utf-8", "replace").decode("utf-8")} for one in messages]


class LayerReader:
    """A causal language model whose layers are asked for a score.

    ``name``: a folder, ``owner/model[@revision]`` on the hub, or either with ``+adapter``
    (`judgekit.models.files.model_files`). ``dtype``: of the weights, ``float32``, ``bfloat16`` or ``float16``; logits
    of score tokens are computed in float32 from states of that precision. ``batch_tokens``: tokens per forward pass,
    padding and completions included. Unavailable where there is no such model.
    """

    def __init__(self, name: str, device: str = "cpu", dtype: str = "float32", batch_tokens: int = 8192) -> None:
        if dtype not in ("float32", "bfloat16", "float16"):
            raise Unavailable(f"dtype={dtype!r} is not one of float32, bfloat16, float16")
        files = model_files(name)
        config, tokenizer = config_and_tokenizer(files, name)
        self.name, self.batch_tokens = name, batch_tokens
        self.fingerprint = fingerprint_of(files.digest, dtype)
        self.tokens = ChatTokenizer(tokenizer)
        ends = end_tokens(files, config, tokenizer)
        pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else (ends or [0])[0]
        self.engine = CausalModel(load_model(files, getattr(torch, dtype), device), ends, pad)
        self.room = getattr(config.get_text_config(decoder=True), "max_position_embeddings", None)

    def plan(self, scores: Sequence[int], reply: str = "{score}") -> Plan:
        """The tokens of a scale (`score_plan`)."""
        return score_plan(scores, self.tokens.reply_tokens, reply)

    def room_for(self, plan: Plan, max_new_tokens: int | None = None) -> int | None:
        """Tokens that a prompt may have beside what follows it; None where the model knows no limit."""
        following = len(plan.forced) + max(map(len, plan.paths)) + (max_new_tokens or 0)
        return None if self.room is None else self.room - following

    def logits(
        self,
        conversations: Sequence[Any],
        plan: Plan,
        normed: bool = False,
        max_new_tokens: int | None = None,
        progress: bool = False,
    ) -> Floats:
        """Logits of a plan's candidates at every layer (`layer_logits`), NaN where the model wrote no score.

        ``conversations``: messages with ``role`` and ``content``, each asking for one score. ``max_new_tokens``: let
        the model write, greedily, and look where it says its last score (the published code: 10 tokens for a direct
        answer, 256 for one with reasoning). Without it nothing is written: the score is taken to come at once, with
        what the plan puts before it. ValueError where a conversation is none, or does not fit into the model's
        positions.
        """
        prompts: list[Any] = [self.tokens.ids(_messages(messages, row)) for row, messages in enumerate(conversations)]
        limit = self.room_for(plan, max_new_tokens)
        for row, prompt in enumerate(prompts):
            if limit is not None and len(prompt) > limit:
                raise ValueError(f"conversation {row} has {len(prompt)} tokens: {self.name} has {self.room} positions")
        if max_new_tokens is not None:
            prompts = written_up_to(prompts, self.write(prompts, max_new_tokens, progress), plan)
        return layer_logits(self.engine, prompts, plan, normed, self.batch_tokens, progress)

    def write(self, prompts: Sequence[Sequence[int]], max_new_tokens: int, progress: bool = False) -> list[list[int]]:
        """Greedy completions of prompts, in their order: lists of token ids."""
        self.engine.share(prompts)
        lengths = {row: len(prompt) + max_new_tokens for row, prompt in enumerate(prompts)}
        written: dict[int, Any] = {}

        def work(batch: list[int]) -> list[Any]:
            return self.engine.generate([prompts[row] for row in batch], max_new_tokens)

        with progress_bar(len(lengths), "writing", "prompt", shown=progress) as bar:
            longest_first = sorted(lengths, key=lambda row: -lengths[row])
            for batch, made, _ in fitting_batches(longest_first, lengths, self.batch_tokens, work):
                if made is None:
                    raise MemoryError(f"{lengths[batch[0]]:,} tokens of prompt {batch[0]} and its reply do not fit")
                if wrong := [each for each in made if isinstance(each, ValueError)]:
                    raise wrong[0]
                written |= dict(zip(batch, made, strict=True))
                bar.update(len(batch))
        return [written[row] for row in range(len(prompts))]


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a prompt shows of a single response: the fields that `judgekit.prompts.Strategy.render` reads."""

    question: str
    first: str
    second: str = ""
    reference: str | None = None
    turns: tuple[tuple[str, str, str], ...] = ()


def conversation(
    strategy: Strategy,
    shown: Any,
    limit: int | None = None,
    measure: Callable[[Any], int] | None = None,
    side: str = "first",
) -> Prompt:
    """The messages that ask for a score, with the reference where the prompt has a place for it.

    ``strategy``: of `judgekit.prompts.rubrics.score_prompt`. ``shown``: a `judgekit.judges.Request`, or alike.
    ``limit``, ``measure``, ``side``: as for `judgekit.prompts.Strategy.render`.
    """
    referred = shown.reference is not None and any(call.name == "with_reference" for call in strategy.calls)
    more: dict[str, Any] = {} if measure is None else {"measure": measure}
    return strategy.render("with_reference" if referred else "verdict", shown, side=side, limit=limit, **more)


def read_scores(
    reader: LayerReader,
    strategy: Strategy,
    items: Iterable[Response],
    scores: Sequence[int],
    normed: bool = False,
    max_new_tokens: int | None = None,
    progress: bool = False,
) -> Floats:
    """Logits of the scores of single responses, at every layer, shape (n_items, n_layers + 1, n_scores).

    ``strategy``: of `judgekit.prompts.rubrics.score_prompt`, with the same scale. ``max_new_tokens``: let the model
    write first (`LayerReader.logits`); needed by ``reasoning``. PromptError names the item that is too long for the
    model even when it is cut.
    """
    plan = reader.plan(scores, strategy.said["score"])
    limit, asked = reader.room_for(plan, max_new_tokens), []
    for item in items:
        turns = tuple((turn.question, turn.response_a, turn.response_b) for turn in item.turns)
        shown = _Shown(item.question, item.response, reference=item.reference, turns=turns)
        try:
            asked.append(list(conversation(strategy, shown, limit, reader.tokens.size).messages))
        except PromptTooLong as long:
            raise PromptError(f"{item.where}: {long}") from None
    return reader.logits(asked, plan, normed, max_new_tokens=max_new_tokens, progress=progress)
