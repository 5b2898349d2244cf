"""Texts in, pooled hidden states of every layer out: one forward pass for all that is asked for."""

import inspect
from contextlib import nullcontext

import numpy as np
import torch

from judgekit.fingerprints import fingerprint_of
from judgekit.models.batching import token_batches
from judgekit.models.causal import positions
from judgekit.models.encoder import TextEncoder, base_location
from judgekit.models.files import model_files
from judgekit.representations.attention import watched_attention
from judgekit.representations.pooling import POOLINGS, pool
from judgekit.representations.statistics import token_statistics

TOKEN_STATISTICS, ATTENTION_ENTROPY = "token_statistics", "attention_entropy"
QUANTITIES = (*POOLINGS, TOKEN_STATISTICS, ATTENTION_ENTROPY)


class StateReader:
    """A frozen model that is read from the inside.

    Parameters
    ----------
    name : str
        ``minilm``, a folder, or ``owner/model[@revision]`` on the hub (``judgekit.models.files``); any encoder
        or decoder that transformers' ``AutoModel`` loads.
    limit : int
        Tokens read of a text; the middle of a longer one is left out (``TextEncoder.token_ids``).
    device : str
    bf16 : bool
        Compute in bfloat16 where that is safe (autocast); pooling and statistics are in float32 all the same.
    batch_tokens : int
        Tokens per forward pass, padding included. All layers of a batch are in memory: 4 bytes times tokens, width
        and layers.
    attention_cells : int
        Where attention entropy is asked for: cells of one head's attention maps per forward pass (texts times the
        square of the longest).
    padding_side : {"right", "left"}
        Results do not depend on it.
    cache : judgekit.representations.cache.StateCache, optional

    Raises
    ------
    judgekit.models.errors.Unavailable
        If there is no such model.
    ValueError
        If it is an encoder-decoder, or left padding would shift its positions.
    """

    def __init__(
        self,
        name="minilm",
        limit=512,
        device="cpu",
        bf16=False,
        batch_tokens=8192,
        attention_cells=2**22,
        padding_side="right",
        cache=None,
    ):
        files = model_files(base_location(name))
        self.encoder = TextEncoder(files.base, files.revision, files.adapter, device=device)
        self.name, self.fingerprint = name, fingerprint_of(files.digest)
        self.model, self.cache, self.bf16 = self.encoder.model, cache, bf16
        self.batch_tokens, self.attention_cells, self.padding_side = batch_tokens, attention_cells, padding_side
        offset = position_offset(self.model)
        self.limit = min(limit, self.encoder.max_positions - offset, self.encoder.tokenizer.model_max_length)
        if self.model.config.is_encoder_decoder:
            raise ValueError(f"{name} is an encoder-decoder: encoders and decoders can be read")
        if padding_side == "left" and offset:
            raise ValueError(f"{name} counts positions from its padding id: pad it on the right")
        self.model.config.use_cache = False
        self.takes_positions = "position_ids" in inspect.signature(self.model.forward).parameters

    @property
    def n_layers(self):
        """Layers that can be read, the embedding output among them."""
        return self.model.config.num_hidden_layers + 1

    def read(self, texts, quantities=("mean",), layers=None):
        """Quantities of texts at layers.

        Parameters
        ----------
        texts : sequence of str
            Equal texts are read once.
        quantities : sequence of str
            Poolings (`pooling.POOLINGS`); ``token_statistics``, norm, variance and entropy of the states averaged
            over tokens; ``attention_entropy``, one number per head, in nats, averaged over tokens (0 at layer 0,
            where nothing attends; at layer ``l`` of the attention inside block ``l``).
        layers : sequence of int, optional
            Which layers, in which order; all by default. See the package for their numbers.

        Returns
        -------
        dict of str to numpy.ndarray of float32, shape (n_texts, n_layers, width of the quantity)

        Raises
        ------
        ValueError
            If a quantity or layer is unknown, a text has no tokens, or a state is not finite (bfloat16 or a damaged
            model).
        """
        layers = list(range(self.n_layers)) if layers is None else list(layers)
        if unknown := [name for name in quantities if name not in QUANTITIES]:
            raise ValueError(f"quantity {unknown[0]!r} is none of {', '.join(QUANTITIES)}")
        if wrong := [layer for layer in layers if not 0 <= layer < self.n_layers]:
            raise ValueError(f"layer {wrong[0]}: {self.name} has layers 0 to {self.n_layers - 1}")
        if not texts or not quantities or not layers:
            raise ValueError("nothing to read: texts, quantities and layers must not be empty")
        # A cache keeps all layers: they cost nothing once the model has run, and the next question is about others.
        computed = list(range(self.n_layers)) if self.cache else layers
        found = {}
        for text in dict.fromkeys(texts):
            found |= self.cached(text, quantities)
        for batch, missing in self.batches(dict.fromkeys(texts), quantities, found):
            found |= self.compute(batch, missing, computed)
        rows = [computed.index(layer) for layer in layers]
        return {name: np.stack([found[text, name][rows] for text in texts]) for name in quantities}

    def cached(self, text, quantities):
        """What the cache holds of a text, by (text, quantity)."""
        if self.cache is None:
            return {}
        kept = {(text, name): self.cache.get(self.key(text, name)) for name in quantities}
        return {key: array for key, array in kept.items() if array is not None}

    def key(self, text, quantity):
        """The cache's key of a quantity."""
        return self.cache.key(self.fingerprint, text, quantity, self.limit, self.bf16)

    def batches(self, texts, quantities, found):
        """What is still to be read: dictionaries of text to token ids, each with the quantities they lack."""
        lacking = {}
        for text in texts:
            missing = tuple(name for name in quantities if (text, name) not in found)
            if missing:
                ids = self.encoder.token_ids(text, self.limit)
                if not ids:
                    raise ValueError(f"the text {text!r} has no tokens: there is nothing to read")
                lacking.setdefault(missing, {})[text] = ids
        for missing, ids in lacking.items():
            lengths = {text: len(values) for text, values in ids.items()}
            budget = self.batch_tokens
            if ATTENTION_ENTROPY in missing:  # memory grows with the square: count squares, and hold both budgets
                per_token = max(1, self.attention_cells // self.batch_tokens)
                lengths = {text: n * max(n, per_token) for text, n in lengths.items()}
                budget = self.attention_cells
            for batch in token_batches(sorted(ids, key=lambda text: -lengths[text]), lengths, budget):
                yield {text: ids[text] for text in batch}, missing

    def compute(self, batch, quantities, layers):
        """Quantities of a batch by (text, quantity), kept in the cache where there is one."""
        values = self.forward(list(batch.values()), quantities, layers)
        found = {}
        for row, text in enumerate(batch):
            for name in quantities:
                array = values[name][row]
                if not np.isfinite(array).all():
                    layer = layers[int(np.flatnonzero(~np.isfinite(array).all(-1))[0])]
                    raise ValueError(f"{name} of layer {layer} is not finite for the text {text[:60]!r}")
                found[text, name] = array
                if self.cache is not None:
                    self.cache.put(self.key(text, name), array)
        return found

    @torch.inference_mode()
    def forward(self, id_lists, quantities, layers):
        """One pass over tokenised texts: arrays of shape (n_texts, len(layers), width of the quantity)."""
        ids, mask = self.padded(id_lists)
        more = {"position_ids": positions(mask)} if self.takes_positions and self.padding_side == "left" else {}
        read = mask.bool()
        attention = ATTENTION_ENTROPY in quantities
        watched = watched_attention(self.model, read) if attention else nullcontext()
        kind = torch.device(self.encoder.device).type
        with watched as entropies, torch.autocast(kind, torch.bfloat16, enabled=self.bf16):
            states = self.model(input_ids=ids, attention_mask=mask, output_hidden_states=True, **more).hidden_states
        if len(states) != self.n_layers:
            raise ValueError(f"{self.name} gave {len(states)} hidden states for {self.n_layers} layers")
        heads = [torch.zeros_like(entropies[0]), *entropies] if attention else None
        values = {name: [] for name in quantities}
        for layer in layers:
            for name in quantities:
                if name == ATTENTION_ENTROPY:
                    values[name].append(heads[layer])
                elif name == TOKEN_STATISTICS:
                    values[name].append(token_statistics(states[layer], read))
                else:
                    values[name].append(pool(states[layer], read, name))
        return {name: torch.stack(rows, dim=1).float().cpu().numpy() for name, rows in values.items()}

    def padded(self, id_lists):
        """Token ids and mask of a batch, padded on one side, shape (n_texts, n_columns)."""
        longest, pad = max(map(len, id_lists)), self.encoder.tokenizer.pad_token_id or 0
        ids, mask = [], []
        for values in id_lists:
            room = longest - len(values)
            before, after = (room, 0) if self.padding_side == "left" else (0, room)
            ids.append([pad] * before + list(values) + [pad] * after)
            mask.append([0] * before + [1] * len(values) + [0] * after)
        device = self.encoder.device
        return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


def position_offset(model):
    """Where the first token stands: after the padding id in RoBERTa and its kin, which find padding by that id."""
    tables = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    return max(
        (table.padding_idx + 1 for table in tables if getattr(table, "padding_idx", None) is not None), default=0
    )
