"""How much memory a causal model takes, from its configuration alone."""

from typing import Any

import torch
from transformers import AutoModelForCausalLM


def parameter_count(config: Any) -> int:
    """Parameters of a causal model, counted on one without memory (device ``meta``), tied ones once."""
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    return sum(parameter.numel() for parameter in model.parameters())


def memory_estimate(name: str, config: Any, dtype: torch.dtype, tokens: int) -> str:
    """A sentence on the memory of a model's weights, and of keys and values for ``tokens`` at once.

    Every layer is taken to keep all keys and values: too much for sliding windows.
    """
    count, text = parameter_count(config), config.get_text_config(decoder=True)
    heads = getattr(text, "num_attention_heads", None) or 0  # state spaces have none
    width = getattr(text, "head_dim", None) or (text.hidden_size // heads if heads else 0)
    per_token = 2 * text.num_hidden_layers * (getattr(text, "num_key_value_heads", None) or heads) * width
    weights, cache = (n * dtype.itemsize / 2**30 for n in (count, per_token * tokens))
    return (
        f"{name}: {count / 1e6:,.1f}M parameters, {str(dtype).removeprefix('torch.')}: {weights:.2g} GiB of weights + "
        f"{cache:.2g} GiB of keys and values for {tokens:,} tokens at once, and what a forward pass needs besides"
    )
