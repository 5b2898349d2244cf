"""Losses of preference learning, in torch."""

import torch


def davidson_loss(difference, log_nu, target, tied):
    """Negative log-likelihood of labels under the model, per pair (torch tensors in, tensor out).

    Parameters
    ----------
    difference, log_nu : tensor, shape (n_pairs,)
    target : tensor, shape (n_pairs, 3)
        Probabilities of A, B, tie that the label gives (one-hot for hard labels).
    tied : tensor of bool, shape (n_pairs,)
        Whether the pair's source lets annotators tie. Where it does not, the likelihood is conditional on a
        decision (plain Bradley-Terry) and says nothing about ``log_nu``.

    Returns
    -------
    tensor, shape (n_pairs,)
    """
    logits = torch.stack([difference / 2, -difference / 2, log_nu], dim=-1)
    free = -(target * torch.log_softmax(logits, dim=-1)).sum(-1)
    decided = target[:, :2] / target[:, :2].sum(-1, keepdim=True).clamp_min(1e-9)
    forced = -(decided * torch.log_softmax(logits[:, :2], dim=-1)).sum(-1)
    return torch.where(tied, free, forced)


def gate_loss(on_topic, off_topic):
    """Binary cross-entropy of gate logits on balanced on-topic and off-topic responses.

    Parameters
    ----------
    on_topic, off_topic : tensor, shape (n,)
        Gate logits; the same responses stand in both, once with their own question and once with another, so that
        the look of a response predicts nothing.

    Returns
    -------
    tensor, scalar
    """
    softplus = torch.nn.functional.softplus
    return (softplus(-on_topic).mean() + softplus(off_topic).mean()) / 2
