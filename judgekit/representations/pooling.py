"""From the states of many tokens to one vector, padding left out."""

import torch

POOLINGS = ("mean", "last", "first", "min", "max", "concat")
CONCATENATED = ("min", "max", "mean")  # the parts of ``concat``, in this order


def pool(states, mask, pooling):
    """One vector per text from the states of its tokens.

    Parameters
    ----------
    states : torch.Tensor, shape (n_texts, n_columns, width)
        States at padding may hold anything, NaN included.
    mask : torch.Tensor of bool, shape (n_texts, n_columns)
        True at tokens of the text, wherever the padding is; every row has at least one.
    pooling : {"mean", "last", "first", "min", "max", "concat"}
        ``last`` and ``first`` are the outermost tokens of the text, special tokens among them ([CLS] comes first in
        BERT); ``concat`` is minimum, maximum and mean side by side.

    Returns
    -------
    torch.Tensor of float32, shape (n_texts, width), or (n_texts, 3 * width) for ``concat``

    Raises
    ------
    ValueError
        If the pooling is unknown, or a text has no tokens.

    Examples
    --------
    >>> states = torch.tensor([[[9.0], [1.0], [3.0]]])
    >>> mask = torch.tensor([[False, True, True]])
    >>> [pool(states, mask, pooling).tolist() for pooling in ("mean", "first", "concat")]
    [[[2.0]], [[1.0]], [[1.0, 3.0, 2.0]]]
    """
    if pooling not in POOLINGS:
        raise ValueError(f"pooling {pooling!r} is none of {', '.join(POOLINGS)}")
    if not mask.any(1).all():
        raise ValueError("a text without tokens cannot be pooled")
    states, padding = states.float(), ~mask.unsqueeze(-1)
    if pooling == "concat":
        return torch.cat([pool(states, mask, part) for part in CONCATENATED], dim=-1)
    if pooling == "mean":  # filled, not multiplied: zero times NaN is NaN
        return states.masked_fill(padding, 0).sum(1) / mask.sum(1, keepdim=True)
    if pooling == "min":
        return states.masked_fill(padding, torch.inf).amin(1)
    if pooling == "max":
        return states.masked_fill(padding, -torch.inf).amax(1)
    columns = mask.int().argmax(1)  # the first True
    if pooling == "last":
        columns = mask.shape[1] - 1 - mask.flip(1).int().argmax(1)
    return states[torch.arange(len(states), device=states.device), columns]


def pooled_width(width, pooling):
    """Length of a pooled vector for hidden states of a width."""
    return width * (len(CONCATENATED) if pooling == "concat" else 1)
