"""How much memory a causal model takes, from its configuration alone."""

from typing import Any

GIB = 2**30


def parameter_count(config: Any) -> int:
    """Parameters of a causal model, counted on one without memory (device ``meta``), tied ones once."""
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    return sum(parameter.numel() for parameter in model.parameters())


def memory_estimate(name: str, config: Any, dtype: Any, tokens: int) -> str:
    """A sentence on the memory of a model's weights, and of keys and values for ``tokens`` at once.

    Every layer is taken to keep all keys and values: too much for sliding windows.
    """
    parameters = parameter_count(config)
    text = config.get_text_config(decoder=True)
    heads = getattr(text, "num_attention_heads", None) or 0  # state spaces have none
    width = getattr(text, "head_dim", None) or (text.hidden_size // heads if heads else 0)
    per_token = 2 * text.num_hidden_layers * (getattr(text, "num_key_value_heads", None) or heads) * width
    weights, cache = parameters * dtype.itemsize, per_token * tokens * dtype.itemsize
    return (
        f"{name}: {_in_short(parameters)} parameters, {str(dtype).removeprefix('torch.')}: {weights / GIB:.2g} GiB of "
        f"weights + {cache / GIB:.2g} GiB of keys and values for {tokens:,} tokens at once, and what a forward pass "
        "needs besides"
    )


def _in_short(count: int) -> str:
    """
    >>> _in_short(596_049_920), _in_short(22_713_216), _in_short(120_000)
    ('0.6B', '23M', '0.12M')
    """
    return f"{count / 1e9:.1f}B" if count >= 5e8 else f"{count / 1e6:.0f}M" if count >= 1e7 else f"{count / 1e6:.2g}M"
