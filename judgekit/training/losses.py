"""Losses of preference learning, in torch."""

import torch


def davidson_loss(
    difference: torch.Tensor, log_nu: torch.Tensor, target: torch.Tensor, tied: torch.Tensor
) -> torch.Tensor:
    """Negative log-likelihood of labels under the model, shape (n_pairs,).

    ``target``: probabilities of A, B, tie that the label gives (one-hot for hard labels), shape (n_pairs, 3). ``tied``:
    whether the pair's source lets annotators tie. Where it does not, the likelihood is conditional on a decision (plain
    Bradley-Terry) and says nothing about ``log_nu``.
    """
    logits = torch.stack([difference / 2, -difference / 2, log_nu], dim=-1)
    free = -(target * torch.log_softmax(logits, dim=-1)).sum(-1)
    decided = target[:, :2] / target[:, :2].sum(-1, keepdim=True).clamp_min(1e-9)
    forced = -(decided * torch.log_softmax(logits[:, :2], dim=-1)).sum(-1)
    return torch.where(tied, free, forced)


def contrastive_loss(
    questions: torch.Tensor,
    responses: torch.Tensor,
    log_scale: torch.Tensor,
    paraphrases: torch.Tensor,
    both: bool = True,
) -> torch.Tensor:
    """Cross-entropy of finding a question's own response among the batch's, and a response's question; a scalar.

    ``questions``, ``responses``: unit embeddings, (n, width), row by row of the same cell; ``log_scale``: log of the
    factor on cosines. ``paraphrases``: cells of other questions that mean the same, (n, n): neither right nor wrong.
    ``both``: also contrast the questions for each response.
    """
    cosines = (questions @ responses.T * log_scale.exp()).masked_fill(paraphrases, -torch.inf)
    own = torch.arange(len(questions))
    loss = torch.nn.functional.cross_entropy(cosines, own)
    return (loss + torch.nn.functional.cross_entropy(cosines.T, own)) / 2 if both else loss
