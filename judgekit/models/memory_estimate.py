"""How much memory a causal model takes, told before a weight is read."""

from dataclasses import dataclass

GIB = 2**30


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Memory of a model.

    Attributes
    ----------
    name : str
    parameters : int
    dtype : str
    weights, cache : int
        Bytes of the weights, and of keys and values for ``tokens``.
    tokens : int
        Tokens of the largest batch.
    """

    name: str
    parameters: int
    dtype: str
    weights: int
    cache: int
    tokens: int

    def __str__(self):
        return (
            f"{self.name}: {short(self.parameters)} parameters, {self.dtype}: {self.weights / GIB:.2g} GiB of weights "
            f"+ {self.cache / GIB:.2g} GiB of keys and values for {self.tokens:,} tokens at once, and what a forward "
            f"pass needs besides"
        )


def short(count):
    """A number of parameters in words.

    Examples
    --------
    >>> short(596_049_920), short(22_713_216), short(120_000)
    ('0.6B', '23M', '0.12M')
    """
    return f"{count / 1e9:.1f}B" if count >= 5e8 else f"{count / 1e6:.0f}M" if count >= 1e7 else f"{count / 1e6:.2g}M"


def parameter_count(config):
    """Parameters of a causal model, counted on one without memory (device ``meta``), tied ones once.

    Parameters
    ----------
    config : transformers.PreTrainedConfig
    """
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    return sum(parameter.numel() for parameter in model.parameters())


def memory_estimate(name, config, dtype, tokens):
    """The memory of a model, from its configuration alone.

    Parameters
    ----------
    name : str
    config : transformers.PreTrainedConfig
    dtype : torch.dtype
    tokens : int
        Tokens of the largest batch, completions included.

    Returns
    -------
    MemoryEstimate

    Notes
    -----
    Every layer is taken to keep all keys and values: too much for sliding windows. Where the configuration does not say
    how many heads those have, they count 0.
    """
    parameters = parameter_count(config)
    text = config.get_text_config(decoder=True)
    heads = getattr(text, "num_attention_heads", None) or 0
    width = getattr(text, "head_dim", None) or (text.hidden_size // heads if heads else 0)
    per_token = 2 * text.num_hidden_layers * (getattr(text, "num_key_value_heads", None) or heads) * width
    said = str(dtype).removeprefix("torch.")
    return MemoryEstimate(
        name, parameters, said, parameters * dtype.itemsize, per_token * tokens * dtype.itemsize, tokens
    )
