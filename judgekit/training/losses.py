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


def contrastive_loss(questions, responses, log_scale, paraphrases, both=True):
    """Cross-entropy of finding a question's own response among the batch's, and a response's question.

    Parameters
    ----------
    questions, responses : tensor, shape (n, width)
        Unit embeddings, row by row of the same cell.
    log_scale : tensor, scalar
        Log of the factor on cosines.
    paraphrases : tensor of bool, shape (n, n)
        Cells of other questions that mean the same: they count neither as right nor as wrong.
    both : bool
        Also contrast the questions for each response.

    Returns
    -------
    tensor, scalar
    """
    cosines = (questions @ responses.T * log_scale.exp()).masked_fill(paraphrases, -torch.inf)
    own = torch.arange(len(questions))
    loss = torch.nn.functional.cross_entropy(cosines, own)
    return (loss + torch.nn.functional.cross_entropy(cosines.T, own)) / 2 if both else loss
