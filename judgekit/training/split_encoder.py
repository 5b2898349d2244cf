"""An encoder cut in two: blocks below that read every text once and stay as they are, blocks above to be tuned."""

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from judgekit.data.progress import progress_bar
from judgekit.models.batching import token_batches
from judgekit.models.encoder import TextEncoder, computing_in_bf16, native_bf16
from judgekit.training.tuned_recipe import TunedRecipe

CLOSE = 0.05  # largest relative difference between the two halves in a row and the whole, in 16 bits


class UpperBlocks(torch.nn.Module):
    """The topmost blocks of an encoder: states in, mean-pooled states out."""

    def __init__(self, blocks: Iterable[torch.nn.Module]) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(blocks)

    def forward(self, states: Any, mask: torch.Tensor) -> torch.Tensor:
        """Mean over the tokens of each text, shape (n_texts, width), in float32."""
        unseen = None if mask.all() else (1.0 - mask[:, None, None, :]) * torch.finfo(torch.bfloat16).min
        if unseen is not None and torch.is_autocast_enabled("cpu"):
            unseen = unseen.bfloat16()  # in float32 it would double the width of every attention map
        for block in self.blocks:
            states = block(states, attention_mask=unseen)
            states = states[0] if isinstance(states, tuple) else states
        weights = mask[:, :, None]
        return (states.float() * weights).sum(1) / weights.sum(1)


class SplitEncoder:
    """Different texts (or pairs of question and response), read by the frozen part of an encoder.

    The states between the halves are kept in float16, 0.2 MB for a text of 256 tokens and MiniLM. No label is read
    here, so all folds share them. ValueError if the encoder is not built of blocks that can be run one after the other,
    or has fewer than ``layers``.
    """

    def __init__(self, recipe: TunedRecipe, texts: Sequence[str | tuple[str, str]], progress: bool = True) -> None:
        self.recipe, self.encoder = recipe, TextEncoder(recipe.base, recipe.revision)
        self.bf16 = recipe.bf16 and native_bf16()
        self.blocks = getattr(getattr(self.encoder.model, "encoder", None), "layer", None)
        if self.blocks is None:
            raise ValueError(f"base {recipe.base!r} has no model.encoder.layer: encoders like BERT and RoBERTa do")
        if recipe.layers > len(self.blocks):
            raise ValueError(f"layers is {recipe.layers}, but base {recipe.base!r} has {len(self.blocks)} blocks")
        self.below = len(self.blocks) - recipe.layers
        self.ids = [self.token_ids(text) for text in texts]
        self.states = [None] * len(self.ids)
        self.pooled = torch.zeros(len(self.ids), self.encoder.width)
        self.read(progress)
        # Written out, attention over short texts trains a third faster on a processor than the fused kernel.
        self.encoder.model.set_attn_implementation("eager")
        self.check(next(self.batches(range(len(self.ids)))))

    def token_ids(self, text: str | tuple[str, str]) -> list[int]:
        """Token ids of a text, or of a question and its response in one row."""
        encoder, room = self.encoder, min(self.recipe.max_tokens, self.encoder.max_positions)
        if isinstance(text, str):
            return encoder.token_ids(text, room)
        question = encoder.token_ids(text[0], self.recipe.max_question_tokens)
        start = len(encoder.prefix)
        return question + encoder.token_ids(text[1], room - len(question) + start)[start:]

    def batches(self, rows: Iterable[int]) -> Iterator[list[int]]:
        """Rows in batches under the budget of tokens, longest first."""
        lengths = {row: len(self.ids[row]) for row in rows}
        return token_batches(sorted(lengths, key=lambda row: -lengths[row]), lengths, self.recipe.batch_tokens)

    def computing(self) -> torch.autocast:
        """bfloat16 where it is asked for and native."""
        return computing_in_bf16("cpu", self.bf16)

    def copy(self) -> UpperBlocks:
        """The upper blocks, untouched, as a module of their own."""
        # Without dropout, as in the encoder judge: epochs are few, and how many is chosen on held-out questions.
        return UpperBlocks(copy.deepcopy(list(self.blocks[self.below :]))).eval()  # type: ignore[index]  # there are blocks

    @torch.no_grad()
    def read(self, progress: bool) -> None:
        """Fill ``states`` (between the halves) and ``pooled`` (at the top of the untouched encoder)."""
        model: Any = self.encoder.model
        with progress_bar(len(self.ids), "reading", "text", progress) as bar, self.computing():
            for batch in self.batches(range(len(self.ids))):
                ids, mask = self.padded(batch)
                out = model(input_ids=ids, attention_mask=mask.long(), output_hidden_states=True)
                for row, states in zip(batch, out.hidden_states[self.below], strict=True):
                    self.states[row] = states[: len(self.ids[row])].half().clone()
                weights = mask[:, :, None]
                self.pooled[batch] = (out.last_hidden_state.float() * weights).sum(1) / weights.sum(1)
                bar.update(len(batch))

    @torch.no_grad()
    def check(self, rows: Sequence[int]) -> None:
        """Refuse an encoder whose blocks need more than states and mask (relative positions, say)."""
        with self.computing():
            found = self.copy()(*self.batch(rows))
        if (found - self.pooled[rows]).norm() > CLOSE * self.pooled[rows].norm():
            raise ValueError(f"base {self.recipe.base!r} gives other states when its blocks are run one by one")

    def padded(self, rows: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids and mask of some texts."""
        longest = max(len(self.ids[row]) for row in rows)
        ids = torch.full((len(rows), longest), self.encoder.tokenizer.pad_token_id or 0)
        mask = torch.zeros(len(rows), longest)
        for place, row in enumerate(rows):
            ids[place, : len(self.ids[row])] = torch.tensor(self.ids[row])
            mask[place, : len(self.ids[row])] = 1
        return ids, mask

    def batch(self, rows: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """States between the halves and mask of some texts, padded with zeros."""
        states = torch.nn.utils.rnn.pad_sequence([self.states[row] for row in rows], batch_first=True).float()  # type: ignore[misc]  # `read` has filled them
        mask = torch.zeros(states.shape[:2])
        for place, row in enumerate(rows):
            mask[place, : len(self.states[row])] = 1  # type: ignore[arg-type]  # `read` has filled them
        return states, mask
