"""What a causal model says of pairs, read from one pass: enough to validate a training."""

import numpy as np
import torch

from judgekit.intervals import proportion_interval
from judgekit.training.causal_base import is_reward_model, load_base, load_trained, trained_recipe
from judgekit.training.causal_data import (
    SAID,
    both_responses,
    prompt_tokens,
    reply_text,
    reply_tokens,
    strategy_of,
)
from judgekit.training.causal_recipe import recipe_of


def padded(rows, pad):
    """Rows of token ids as a tensor padded on the right, with its mask."""
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    return ids, (torch.arange(longest)[None] < lengths[:, None]).long(), lengths


def in_batches(rows, batch_size):
    """Indices of the rows in batches of like lengths, the longest first."""
    order = sorted(range(len(rows)), key=lambda i: -len(rows[i]))
    return [order[start : start + batch_size] for start in range(0, len(order), batch_size)]


def deciding_tokens(tokenizer, strategy):
    """What all replies begin with, and the token of each verdict after it.

    Raises
    ------
    ValueError
        If the verdict does not come first, or its first tokens do not tell the verdicts apart.
    """
    if not (strategy.closed or strategy.reads == "first line"):
        raise ValueError(f"strategy {strategy.name!r} explains before it judges: its verdict needs generating")
    labels = [label for label, said in SAID.items() if said in strategy.labels]
    replies = [reply_tokens(tokenizer, reply_text(strategy, label)) for label in labels]
    shared = 0
    while len({reply[shared] for reply in replies}) == 1:
        shared += 1
    tokens = [reply[shared] for reply in replies]
    if len(set(tokens)) < len(tokens):
        raise ValueError(f"strategy {strategy.name!r}: no single token tells its verdicts apart")
    return labels, replies[0][:shared], tokens


@torch.inference_mode()
def verdict_probabilities(model, tokenizer, strategy, pairs, max_length=1024, batch_size=64):
    """Probabilities of the verdicts on pairs, as they stand.

    Parameters
    ----------
    model : transformers.PreTrainedModel
    tokenizer : transformers.PreTrainedTokenizerBase
    strategy : judgekit.prompts.Strategy
        Whose verdict comes first.
    pairs : list of PreferencePair
    max_length, batch_size : int

    Returns
    -------
    array of float, shape (n_pairs, 3)
        Of A, B and tie; they sum to one, and the policy's missing verdict has zero.
    """
    labels, opening, tokens = deciding_tokens(tokenizer, strategy)
    room = max_length - len(opening) - 1
    rows = [prompt_tokens(tokenizer, strategy, pair, room) + opening for pair in pairs]
    found = np.zeros((len(pairs), 3))
    model.eval()
    for batch in in_batches(rows, batch_size):
        ids, mask, lengths = padded([rows[i] for i in batch], tokenizer.pad_token_id)
        device = next(model.parameters()).device
        logits = model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits.cpu()
        told = logits[torch.arange(len(batch)), lengths - 1][:, tokens].double().softmax(-1).numpy()
        for label, column in zip(labels, told.T, strict=True):
            found[batch, list(SAID).index(label)] = column
    return found


@torch.inference_mode()
def reward_scores(model, tokenizer, pairs, max_length=1024, batch_size=64):
    """Scores of both responses of pairs by a reward model.

    Returns
    -------
    array of float, shape (n_pairs, 2)
        A higher score is a better response; the difference is the log-odds of A.
    """
    rows = [ids for pair in pairs for ids in both_responses(tokenizer, pair, max_length)]
    scores = np.zeros(len(rows))
    model.eval()
    for batch in in_batches(rows, batch_size):
        ids, mask, _ = padded([rows[i] for i in batch], tokenizer.pad_token_id)
        device = next(model.parameters()).device
        scores[batch] = model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits[:, 0].float().cpu()
    return scores.reshape(-1, 2)


def reward_probabilities(model, tokenizer, pairs, max_length=1024, batch_size=64):
    """Probabilities of A, B and tie (none) from the difference of the two scores (Bradley and Terry)."""
    scores = reward_scores(model, tokenizer, pairs, max_length, batch_size)
    p_a = 1 / (1 + np.exp(scores[:, 1] - scores[:, 0]))
    return np.stack([p_a, 1 - p_a, np.zeros_like(p_a)], axis=1)


def is_right(probabilities, pairs):
    """Whether the most probable verdict is the label, per pair; equal probabilities of A and B are never right."""
    order = list(SAID)
    top = probabilities.max(axis=1, keepdims=True)
    single = (probabilities == top).sum(axis=1) == 1
    best = probabilities.argmax(axis=1)
    return np.array([bool(s) and order[b] == pair.label for s, b, pair in zip(single, best, pairs, strict=True)])


def judged(folder, pairs, recipe=None, batch_size=64):
    """Probabilities of A, B and tie by the judge of a training folder, or by an untrained base.

    Parameters
    ----------
    folder : path or None
        Of a finished training; None judges with the base of ``recipe``.
    pairs : list of PreferencePair
        Shown as they stand.
    recipe : CausalRecipe, optional
        How pairs are put; that of the folder by default.
    batch_size : int

    Returns
    -------
    array of float, shape (n_pairs, 3)
    """
    if folder is None:
        model, tokenizer = load_base(recipe)
    else:
        recipe = recipe or recipe_of(trained_recipe(folder))
        model, tokenizer = load_trained(folder)
    model = model.to("cuda" if torch.cuda.is_available() else "cpu")
    if folder is not None and is_reward_model(folder):
        return reward_probabilities(model, tokenizer, pairs, recipe.max_length, batch_size)
    return verdict_probabilities(model, tokenizer, strategy_of(recipe), pairs, recipe.max_length, batch_size)


def accuracy_table(right, pairs, by="subset"):
    """Accuracy of several judges on the same pairs, in all and by family.

    Parameters
    ----------
    right : dict of str to array of bool, shape (n_pairs,)
        Judge to whether it was right (`is_right`).
    pairs : list of PreferencePair
    by : str
        Field of the pairs that names the family.

    Returns
    -------
    pandas.DataFrame
        Columns ``judge, family`` ("all" first), ``n, accuracy, low, high`` (Wilson's interval: prompts differ).
    """
    import pandas as pd

    families = np.array([getattr(pair, by) for pair in pairs])
    rows = []
    for judge, values in right.items():
        for family in ("all", *dict.fromkeys(sorted(families))):
            own = values[(families == family) | (family == "all")]
            low, high = proportion_interval(own.mean(), len(own))
            row = {"judge": judge, "family": family, "n": len(own), "accuracy": float(own.mean())}
            rows.append(row | {"low": float(low), "high": float(high)})
    return pd.DataFrame(rows)
