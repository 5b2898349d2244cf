"""Hidden states of a model: pooled over the tokens of a text, one vector per text and layer, from one forward pass.

Layers are numbered as transformers numbers hidden states: 0 is the embedding output, ``l`` the output of block ``l``
(counted from 1), and the last one has been through the final norm where the model has one (Llama, Qwen; not BERT).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from judgekit.models.encoder import (
    TextEncoder,
    base_location,
    computing_in_bf16,
    device_of,
    native_bf16,
    padded,
    token_batches,
)
from judgekit.models.files import model_files
from judgekit.records import fingerprint_of

POOLINGS = ("mean", "last", "max")
Array = np.ndarray[Any, Any]


def pool(states: torch.Tensor, mask: torch.Tensor, pooling: str) -> torch.Tensor:
    """One vector per text, float32, shape (n_texts, width), from states of shape (n_texts, n_columns, width).

    ``mask``: True at tokens of the text; states elsewhere may hold anything, NaN included. ``last``: the outermost one.
    """
    states, padding = states.float(), ~mask.unsqueeze(-1)
    if pooling == "mean":  # filled, not multiplied: zero times NaN is NaN
        return states.masked_fill(padding, 0).sum(1) / mask.sum(1, keepdim=True)
    if pooling == "max":
        return states.masked_fill(padding, -torch.inf).amax(1)
    last = mask.shape[1] - 1 - mask.flip(1).int().argmax(1)
    return states[torch.arange(len(states), device=states.device), last]


class StateReader:
    """A frozen encoder or decoder that is read from the inside.

    ``name``: ``minilm``, a folder, or ``owner/model[@revision]`` on the hub. ``limit``: tokens read of a text, the
    middle of a longer one is left out. ``cache``: a `judgekit.inside.representations.StateCache`. ``bf16``: multiply in
    bfloat16 where the processor has it; pooling is in float32 all the same. ``top``: the highest layer that will be
    read; of the blocks above it the next one runs alone. It stands on a GPU where there is one. Unavailable where
    there is no such model, or it lacks weights; ValueError for an encoder-decoder.
    """

    batch_tokens = 8192  # per forward pass, padding included; all layers of a batch are in memory

    def __init__(
        self, name: str = "minilm", limit: int = 512, cache: Any = None, bf16: bool = False, top: int | None = None
    ) -> None:
        files = model_files(base_location(name))
        self.encoder = TextEncoder(files.base, files.revision, files.adapter)
        self.name, self.bf16, self.device = name, bf16, device_of()
        self.fingerprint = fingerprint_of(files.digest, *(["bf16"] if bf16 else []))
        self.model, self.cache = self.encoder.model, cache
        if self.model.config.is_encoder_decoder:
            raise ValueError(f"{name} is an encoder-decoder: encoders and decoders can be read")
        room = self.encoder.max_positions - _position_offset(self.model)
        self.limit = min(limit, room, self.encoder.tokenizer.model_max_length)
        self.model.config.use_cache = False
        self.n_layers = self.model.config.num_hidden_layers + 1  # that can be read, the embedding output among them
        self.reads_bf16 = bf16 and native_bf16(self.device)
        if self.reads_bf16:
            self.encoder.keep_bf16()
        if top is not None and cache is None and top + 2 < self.n_layers:
            self.n_layers = _cut(self.model, top)
        self.model.to(self.device)

    def read(
        self, texts: Sequence[str], poolings: Sequence[str] = ("mean",), layers: Sequence[int] | None = None
    ) -> dict[str, Array]:
        """Pooled states of texts at layers, float32, by pooling: shape (n_texts, n_layers, width).

        Equal texts are read once. ValueError for unknown poolings or layers, texts without tokens, states not finite.
        """
        layers = list(range(self.n_layers)) if layers is None else list(layers)
        if unknown := [name for name in poolings if name not in POOLINGS]:
            raise ValueError(f"pooling {unknown[0]!r} is none of {', '.join(POOLINGS)}")
        if wrong := [layer for layer in layers if not 0 <= layer < self.n_layers]:
            raise ValueError(f"layer {wrong[0]}: {self.name} has layers 0 to {self.n_layers - 1}")
        # A cache holds all layers: they cost nothing once the model has run, and the next question is about others.
        computed = list(range(self.n_layers)) if self.cache else layers
        values: dict[tuple[str, str], Array] = {}
        unread: dict[tuple[str, ...], dict[str, list[int]]] = {}
        for text in dict.fromkeys(texts):
            for name in poolings if self.cache else ():
                if (array := self.cache.get(self._key(text, name))) is not None:
                    values[text, name] = array
            if missing := tuple(name for name in poolings if (text, name) not in values):
                unread.setdefault(missing, {})[text] = self.encoder.token_ids(text, self.limit)
                if not unread[missing][text]:
                    raise ValueError(f"the text {text!r} has no tokens: there is nothing to read")
        for missing, ids in unread.items():
            for batch in token_batches({text: len(row) for text, row in ids.items()}, self.batch_tokens):
                for name, arrays in self.forward([ids[text] for text in batch], missing, computed).items():
                    for text, array in zip(batch, arrays, strict=True):
                        if not np.isfinite(array).all():
                            layer = computed[int(np.flatnonzero(~np.isfinite(array).all(-1))[0])]
                            raise ValueError(f"{name} of layer {layer} is not finite for the text {text[:60]!r}")
                        values[text, name] = array
                        if self.cache:
                            self.cache.put(self._key(text, name), array)
        rows = [computed.index(layer) for layer in layers]
        return {name: np.stack([values[text, name][rows] for text in texts]) for name in poolings}

    def fills(self, text: str) -> bool:
        """Whether a text has all the tokens that are read of one: of a longer text the middle was left out."""
        return len(self.encoder.token_ids(text, self.limit)) >= self.limit

    def _key(self, text: str, pooling: str) -> str:
        return self.cache.key(self.fingerprint, text, pooling, self.limit, self.bf16 and not self.reads_bf16)

    @torch.inference_mode()
    def forward(
        self, id_lists: Sequence[Sequence[int]], poolings: Sequence[str], layers: Sequence[int]
    ) -> dict[str, Array]:
        """One pass over tokenised texts: arrays of shape (n_texts, len(layers), width)."""
        ids, mask = padded(id_lists, self.encoder.tokenizer.pad_token_id or 0, self.device)
        read = mask.bool()
        with computing_in_bf16(self.device, self.bf16):
            states = self.model(ids, attention_mask=mask, output_hidden_states=True).hidden_states
        if len(states) < self.n_layers:
            raise ValueError(f"{self.name} gave {len(states)} hidden states for {self.n_layers} layers")
        pooled = {name: torch.stack([pool(states[layer], read, name) for layer in layers], 1) for name in poolings}
        return {name: states.cpu().numpy() for name, states in pooled.items()}


def _cut(model: Any, top: int) -> int:
    """Layers that can be read once blocks that serve none up to ``top`` are gone."""
    n_blocks = model.config.num_hidden_layers
    for parent in model.modules():
        for name, blocks in parent.named_children():
            if isinstance(blocks, torch.nn.ModuleList) and len(blocks) == n_blocks:
                setattr(parent, name, blocks[: top + 1])  # one more: the last state has been through the norm
                return top + 1
    return n_blocks + 1  # no list of blocks: all of them run


def _position_offset(model: Any) -> int:
    """Where the first token stands: after the padding id in RoBERTa and its like, which find padding by that id."""
    tables = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    offsets = [table.padding_idx + 1 for table in tables if getattr(table, "padding_idx", None) is not None]
    return max(offsets, default=0)
