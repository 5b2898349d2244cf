"""Three numbers about a state, whatever its width: cheap control features for what a probe reads from all of it."""

import numpy as np
import torch

STATISTICS = ("norm", "variance", "entropy")


def state_statistics(states):
    """Norm, variance and entropy of vectors.

    Parameters
    ----------
    states : torch.Tensor, shape (..., width)

    Returns
    -------
    torch.Tensor of float32, shape (..., 3)
        In the order of `STATISTICS`: Euclidean norm; variance over the entries (divided by the width); entropy in
        nats of the softmax of the entries, in [0, log(width)].

    Notes
    -----
    The control features of the representation-as-a-judge study, whose code clips the entries before the softmax; a
    softmax that subtracts its maximum needs no clipping.

    Examples
    --------
    >>> state_statistics(torch.zeros(1, 4)).round(decimals=3).tolist()
    [[0.0, 0.0, 1.3860000371932983]]
    """
    states = states.float()
    log_shares = states.log_softmax(-1)
    entropy = -(log_shares.exp() * log_shares).sum(-1)
    return torch.stack([states.norm(dim=-1), states.var(-1, correction=0), entropy], dim=-1)


def token_statistics(states, mask):
    """`state_statistics` of every token, averaged over the tokens of each text.

    Parameters
    ----------
    states : torch.Tensor, shape (n_texts, n_columns, width)
    mask : torch.Tensor of bool, shape (n_texts, n_columns)

    Returns
    -------
    torch.Tensor of float32, shape (n_texts, 3)
    """
    values = state_statistics(states).masked_fill(~mask.unsqueeze(-1), 0)
    return values.sum(1) / mask.sum(1, keepdim=True)


def pooled_statistics(pooled):
    """`state_statistics` of pooled vectors that are arrays.

    Parameters
    ----------
    pooled : numpy.ndarray, shape (n_texts, n_layers, width)

    Returns
    -------
    numpy.ndarray of float32, shape (n_texts, n_layers, 3)
    """
    return state_statistics(torch.as_tensor(pooled)).numpy()


def head_statistics(entropies):
    """What attention heads have in common: mean, standard deviation and maximum of their entropies.

    Parameters
    ----------
    entropies : numpy.ndarray, shape (n_texts, n_layers, n_heads)
        Quantity ``attention_entropy`` of `judgekit.representations.reader`.

    Returns
    -------
    numpy.ndarray, shape (n_texts, n_layers, 3)

    Examples
    --------
    >>> head_statistics(np.array([[[1.0, 3.0]]])).tolist()
    [[[2.0, 1.0, 3.0]]]
    """
    return np.stack([entropies.mean(-1), entropies.std(-1), entropies.max(-1)], axis=-1)
