"""How widely attention heads look, reduced to one number per head while the model runs.

Attention maps are quadratic in the length of a text. Each layer's maps become entropies as soon as they exist and are
dropped, so at most one layer's maps, and one more copy of a single head's, are in memory.
"""

from contextlib import contextmanager

import torch


def attention_modules(model):
    """The self-attention modules of a model, one per block, with the place of the weights in what they return.

    Raises
    ------
    ValueError
        If the model does not declare where its attention weights are, or not once per block.
    """
    declared = getattr(model, "_can_record_outputs", None) or {}
    recorders = declared.get("attentions")
    found = {}
    for recorder in recorders if isinstance(recorders, list) else [recorders]:
        kind = getattr(recorder, "target_class", recorder)
        within = getattr(recorder, "layer_name", None) or ""
        place = getattr(recorder, "index", 1)
        for name, module in model.named_modules():
            if isinstance(kind, type) and isinstance(module, kind) and within in f".{name}":
                found[name] = (module, place)
    if len(found) != model.config.num_hidden_layers:
        raise ValueError(
            f"{type(model).__name__} shows the attention weights of {len(found)} of {model.config.num_hidden_layers} "
            "blocks: attention entropy cannot be computed"
        )
    return list(found.values())


def mean_entropy(weights, mask):
    """Entropy of attention weights, averaged over the tokens that attend.

    Parameters
    ----------
    weights : torch.Tensor, shape (n_texts, n_heads, n_columns, n_columns)
        Rows (what a token attends to) sum to one, with no weight on padding.
    mask : torch.Tensor of bool, shape (n_texts, n_columns)

    Returns
    -------
    torch.Tensor of float32, shape (n_texts, n_heads)
        In nats, in [0, log(number of tokens)].

    Examples
    --------
    >>> weights = torch.tensor([[[[1.0, 0.0], [0.5, 0.5]]]])
    >>> round(mean_entropy(weights, torch.tensor([[True, True]])).item(), 4)  # (0 + log 2) / 2
    0.3466
    """
    heads = [torch.special.entr(weights[:, head].float()).sum(-1) for head in range(weights.shape[1])]
    entropies = torch.stack(heads, dim=1).masked_fill(~mask.unsqueeze(1), 0)  # (n_texts, n_heads, n_columns)
    return entropies.sum(-1) / mask.sum(-1, keepdim=True)


@contextmanager
def watched_attention(model, mask):
    """Collect `mean_entropy` of every block while a model reads a batch.

    Attention is eager inside the block, since faster kernels never form the weights; states then differ from those of
    the model's own kernel by float rounding.

    Parameters
    ----------
    model : transformers.PreTrainedModel
    mask : torch.Tensor of bool, shape (n_texts, n_columns)
        Of the batch that will be read inside the ``with`` block.

    Yields
    ------
    list of torch.Tensor, shape (n_texts, n_heads)
        Filled block by block.

    Raises
    ------
    ValueError
        If a block returns no weights all the same, or of `attention_modules`.
    """
    entropies = []

    def reduce_at(place):
        def reduce(module, inputs, outputs):
            if outputs[place] is None:
                raise ValueError(f"{type(module).__name__} returned no attention weights")
            entropies.append(mean_entropy(outputs[place], mask))
            return (*outputs[:place], None, *outputs[place + 1 :])

        return reduce

    own_kernel = model.config._attn_implementation
    hooks = [module.register_forward_hook(reduce_at(place)) for module, place in attention_modules(model)]
    try:
        model.set_attn_implementation("eager")
        yield entropies
    finally:
        model.set_attn_implementation(own_kernel)
        for hook in hooks:
            hook.remove()
