"""Prompts in, logits of the score tokens at every layer out: one forward pass per batch.

The model's output head is applied to the hidden state of every layer where the model is about to write a score (LAGER,
earlier PalmScore, arXiv:2508.03550). Layers are numbered as in `judgekit.models.states`: 0 is the embedding output, and
the last one has been through the final norm.
"""

from collections.abc import Iterable, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import torch

from judgekit.data.files import replaced
from judgekit.data.progress import progress_bar
from judgekit.models import Unavailable
from judgekit.models.causal import CausalModel, Plan, Tokenise, fitting_batches, load_model, path_sums, plan_of
from judgekit.models.chat_tokens import ChatTokenizer
from judgekit.models.encoder import Sequences, device_of, native_bf16
from judgekit.models.files import config_and_tokenizer, end_tokens, model_files, positions_of
from judgekit.prompts import PromptError, PromptTooLong, Strategy
from judgekit.prompts.demonstrations import Demonstration
from judgekit.prompts.rubrics import checked_scores
from judgekit.records import Response, fingerprint_of
from judgekit.stats import Floats

# Where architectures keep the norm between the last block and the head, below the model without its head.
_NORMS = ("norm", "ln_f", "final_layer_norm", "final_layernorm", "norm_f", "embedding_norm", "decoder.final_layer_norm")


def score_plan(scores: Sequence[int], tokenise: Tokenise, reply: str = "{score}") -> Plan:
    """The token ids to look at for the scores of a scale, which are the plan's ``names``.

    ``tokenise``: `judgekit.models.chat_tokens.ChatTokenizer.reply_tokens`. ``reply``: what the model is taken to write,
    such as ``"Rating: [[{score}]]"``; all that stands before the score is put into its mouth. A score may have several
    tokens; in the published code it has one. Unavailable where the tokens of one score begin those of another (``1``
    and ``10`` where digits are tokens of their own): something must follow the score then.
    """
    plan = plan_of({score: reply.replace("{score}", str(score)) for score in checked_scores(scores)}, tokenise)
    for text, path in zip(plan.texts, plan.paths, strict=True):
        longer = [score for score, ids in zip(plan.names, plan.paths, strict=True) if ids[: len(path)] == path]
        if len(longer) > 1:
            follow = f"let something follow the score, e.g. '{reply}.' or '[[{{score}}]]'"
            raise Unavailable(f"the tokens of {text!r} begin those of {longer[-1]}: {follow}")
    return plan


class ScoreHead:
    """From hidden states to logits, as the model itself makes them after its last layer.

    ``normed``: whether the states of all layers go through the final norm first, as in the logit lens. Without it,
    layers count by the size of their states, too, which grows with depth; that is how the published code does it. The
    last layer's state comes normed from transformers either way, and is never normed twice.
    """

    def __init__(self, model: Any, normed: bool = False) -> None:
        self.output = model.get_output_embeddings()
        if getattr(self.output, "weight", None) is None:
            raise ValueError(f"{type(model).__name__} has no output head that gives logits of tokens")
        config = model.config.get_text_config(decoder=True)
        self.cap = getattr(config, "final_logit_softcapping", None)  # Gemma
        self.factor = (getattr(config, "logit_scale", None) or 1) / (getattr(config, "logits_scaling", None) or 1)
        modules = dict(model.base_model.named_modules())
        norms = [modules[name] for name in _NORMS if normed and name in modules]
        if normed and not norms:
            usual = ", ".join(_NORMS)
            raise ValueError(f"{type(model).__name__} has no final norm called {usual}: read with normed=False")
        self.norm = norms[0] if norms else None

    def states(self, layers: Sequence[torch.Tensor], columns: int) -> list[torch.Tensor]:
        """Copies of the last columns of every layer, normed where that is wanted, each (n_rows, columns, width)."""
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
        """Unavailable where the last layer's states do not give the model's own logits, shape (n_rows, vocabulary).

        The model then does something between states and logits that is not known here, to other layers, too.
        """
        own = logits[:, ids].float()
        sound = own.isfinite().all(-1)
        slack = 1e-3 if logits.dtype in (torch.float32, torch.float64) else 0.05  # half precision
        if not torch.allclose(self.logits(states[sound], ids), own[sound], rtol=slack, atol=slack):
            raise Unavailable("the model's logits are not its output head applied to its last hidden state")


def layer_logits(
    engine: CausalModel,
    prompts: Sequences,
    plan: Plan,
    normed: bool = False,
    batch_tokens: int = 8192,
    progress: bool = False,
) -> Floats:
    """Logits of candidates at every layer, where the model is about to write one.

    Shape (n_prompts, n_layers + 1, n_candidates); depends on neither padding nor batch beyond float rounding.
    ``prompts``: token ids up to where the reply, or the rest of it, begins. ``plan``: of scores (`score_plan`), or of
    verdicts. ``batch_tokens``: per forward pass, padding included; halved where memory runs out.

    A candidate of one token has that token's logit, as in the published code; one of several has the logit of its first
    plus the log-probabilities, over the whole vocabulary and at the same layer, of the others: at the last layer the
    softmax is that of `judgekit.models.causal.Plan`. Where a model caps or scales logits, every layer's are alike.
    """
    head = ScoreHead(engine.model, normed)
    n_layers = engine.model.config.get_text_config(decoder=True).num_hidden_layers
    logits = np.full((len(prompts), n_layers + 1, len(plan.names)), np.nan)
    lengths = {row: len(prompt) + len(plan.forced) for row, prompt in enumerate(prompts)}
    engine.share(prompts)

    def work(batch: list[int]) -> np.ndarray:
        return batch_logits(engine, head, [prompts[row] for row in batch], plan, batch_tokens)

    with progress_bar(len(lengths), "layers", "prompt", shown=progress) as bar:
        for batch, read, _ in fitting_batches(lengths, batch_tokens, work):
            if read is None:
                raise MemoryError(f"the {lengths[batch[0]]:,} tokens of prompt {batch[0]} do not fit into the memory")
            logits[batch] = read
            if not np.isfinite(read).all():
                row, layer = np.argwhere(~np.isfinite(read).all(-1))[0]
                raise ValueError(f"logits of layer {layer} are not finite for prompt {batch[row]}")
            bar.update(len(batch))
    return logits


@torch.inference_mode()
def batch_logits(engine: CausalModel, head: ScoreHead, prompts: Sequences, plan: Plan, budget: int) -> np.ndarray:
    """`layer_logits` of one batch, shape (n_prompts, n_layers + 1, n_candidates); not finite where the model's are not.

    Unavailable where the head does not give the model's own logits.
    """
    passes, first = engine.passes(prompts, plan, budget, output_hidden_states=True), [path[0] for path in plan.paths]
    _, out = next(passes)
    states = [layer[:, 0] for layer in head.states(out.hidden_states, 1)]
    head.check(states[-1], first, out.logits[:, -1])
    sums = torch.stack([head.logits(layer, first) for layer in states], dim=1).double()
    del out  # the states of all columns
    for part, out in passes:
        for number, layer in enumerate(head.states(out.hidden_states, max(map(len, plan.branches)))):
            sums[part, number] += path_sums(head.log_probabilities(layer), plan).to(sums)
    return sums.cpu().numpy()


class LayerReader:
    """A causal language model whose layers are asked for a score; Unavailable where there is no such model.

    ``name``: as for `judgekit.models.files.model_files`. ``device``: as for an ``hf/`` judge. ``dtype``: of the weights
    (``float32``, ``bfloat16``, ``float16``; ``auto``: bfloat16 where it is multiplied); scores' logits are float32.
    """

    def __init__(self, name: str, device: str = "auto", dtype: str = "float32") -> None:
        files, device = model_files(name), device_of(device)
        dtype = ("bfloat16" if native_bf16(device) else "float32") if dtype == "auto" else dtype
        config, tokenizer = config_and_tokenizer(files, name)
        self.name = name
        self.fingerprint = fingerprint_of(files.digest, dtype)
        self.tokens = ChatTokenizer(tokenizer)
        self.engine = load_model(files, tokenizer, end_tokens(files, config, tokenizer), dtype)
        self.engine.model.to(device)
        self.room = positions_of(config)

    def room_for(self, plan: Plan) -> int | None:
        """Tokens that a prompt may have beside what follows it; None where the model knows no limit."""
        return None if self.room is None else self.room - len(plan.forced) - max(map(len, plan.paths))

    def logits(self, conversations: Sequence[Any], plan: Plan, normed: bool = False, progress: bool = False) -> Floats:
        """Logits of a plan's candidates at every layer (`layer_logits`).

        ``conversations``: messages with ``role`` and ``content``, each asking for one score, which is taken to come at
        once, with what the plan puts before it. ValueError where one does not fit into the model's positions.
        """
        prompts, limit = [self.tokens.ids(messages) for messages in conversations], self.room_for(plan)
        if limit is not None and (long := [row for row, prompt in enumerate(prompts) if len(prompt) > limit]):
            n_tokens = len(prompts[long[0]])
            raise ValueError(f"conversation {long[0]} has {n_tokens} tokens: {self.name} has {self.room} positions")
        return layer_logits(self.engine, prompts, plan, normed, progress=progress)


def read_scores(
    reader: LayerReader, strategy: Strategy, items: Iterable[Response], scores: Sequence[int], progress: bool = False
) -> Floats:
    """Logits of the scores of single responses, at every layer, shape (n_items, n_layers + 1, n_scores).

    ``strategy``: of `judgekit.prompts.rubrics.score_prompt`, with the same scale; references are shown where it has a
    place for them. PromptError names the item that is too long for the model even when it is cut.
    """
    plan = score_plan(scores, reader.tokens.reply_tokens, strategy.said["score"])
    limit, asked = reader.room_for(plan), []
    referring = any(call.name == "with_reference" for call in strategy.calls)
    for item in items:
        turns = tuple((turn.question, turn.response_a, turn.response_b) for turn in item.turns)
        shown = Demonstration(item.question, item.response, "", "", "", item.reference, turns)
        call = "with_reference" if referring and item.reference is not None else "verdict"
        try:
            asked.append(strategy.render(call, shown, side="first", limit=limit, measure=reader.tokens.size).messages)
        except PromptTooLong as long:
            raise PromptError(f"{item.where}: {long}") from None
    return reader.logits(asked, plan, progress=progress)


def kept_scores(model: LayerReader, strategy: Strategy, items: Sequence[Response], scores: Any, folder: Path) -> Floats:
    """`read_scores`, with progress, kept in a folder under all that it depends on."""
    texts = [(item.question, item.response, item.reference, *map(astuple, item.turns)) for item in items]
    path = folder / f"{fingerprint_of(model.fingerprint, strategy.version, texts)}.npy"
    if not path.is_file():
        found = read_scores(model, strategy, items, scores, progress=True)
        with replaced(path) as temporary, temporary.open("wb") as file:
            np.save(file, found)
    return np.load(path)
