"""What a causal model says of pairs, read from one pass: enough to validate a training."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from judgekit.models.batching import token_batches
from judgekit.models.chat_tokens import ChatTokenizer
from judgekit.models.one_pass import plan_of
from judgekit.prompts import Strategy
from judgekit.records import PreferencePair
from judgekit.stats import Floats, proportion_interval
from judgekit.training.causal_base import load_base, load_trained, trained_recipe
from judgekit.training.causal_data import SAID, both_responses, prompt_tokens, reply_text, strategy_of
from judgekit.training.causal_recipe import CausalRecipe, recipe_of

if TYPE_CHECKING:
    import pandas as pd


def padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows of token ids as a tensor padded on the right, its mask, and the lengths of the rows."""
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    return ids, (torch.arange(longest)[None] < lengths[:, None]).long(), lengths


def in_batches(rows: Sequence[Sequence[int]], batch_tokens: int) -> Iterator[list[int]]:
    """Indices of the rows in batches of at most so many tokens, the longest rows first."""
    lengths = dict(enumerate(map(len, rows)))
    return token_batches(sorted(lengths, key=lambda row: -lengths[row]), lengths, batch_tokens)


def deciding_tokens(tokenizer: Any, strategy: Strategy) -> tuple[list[str], list[int], list[int]]:
    """The verdicts, what all replies begin with, and the token of each verdict after it.

    ValueError if the verdict does not come first, or its first tokens do not tell the verdicts apart.
    """
    if not (strategy.closed or strategy.reads == "first line"):
        raise ValueError(f"strategy {strategy.name!r} explains before it judges: its verdict needs generating")
    labels = [label for label, said in SAID.items() if said in strategy.labels]
    plan = plan_of({label: reply_text(strategy, label) for label in labels}, ChatTokenizer(tokenizer).reply_tokens)
    tokens = [path[0] for path in plan.paths]
    if len(set(tokens)) < len(tokens):
        raise ValueError(f"strategy {strategy.name!r}: no single token tells its verdicts apart")
    return labels, list(plan.forced), tokens


@torch.inference_mode()
def verdict_probabilities(
    model: Any,
    tokenizer: Any,
    strategy: Strategy,
    pairs: Sequence[PreferencePair],
    max_length: int = 1024,
    batch_tokens: int = 16_384,
) -> Floats:
    """Probabilities of A, B and tie on pairs as they stand, shape (n_pairs, 3).

    ``strategy``: one whose verdict comes first. Rows sum to one, and the policy's missing verdict has zero.
    """
    labels, opening, tokens = deciding_tokens(tokenizer, strategy)
    room = max_length - len(opening) - 1
    rows = [prompt_tokens(tokenizer, strategy, pair, room) + opening for pair in pairs]
    found = np.zeros((len(pairs), 3))
    model.eval()
    for batch in in_batches(rows, batch_tokens):
        ids, mask, lengths = padded([rows[i] for i in batch], tokenizer.pad_token_id)
        device = next(model.parameters()).device
        logits = model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits.cpu()
        told = logits[torch.arange(len(batch)), lengths - 1][:, tokens].double().softmax(-1).numpy()
        for label, column in zip(labels, told.T, strict=True):
            found[batch, list(SAID).index(label)] = column
    return found


@torch.inference_mode()
def reward_scores(
    model: Any, tokenizer: Any, pairs: Sequence[PreferencePair], max_length: int = 1024, batch_tokens: int = 16_384
) -> Floats:
    """Scores of both responses of pairs by a reward model, shape (n_pairs, 2).

    A higher score is a better response; the difference is the log-odds of A.
    """
    rows = [ids for pair in pairs for ids in both_responses(tokenizer, pair, max_length)]
    scores = np.zeros(len(rows))
    model.eval()
    for batch in in_batches(rows, batch_tokens):
        ids, mask, _ = padded([rows[i] for i in batch], tokenizer.pad_token_id)
        device = next(model.parameters()).device
        scores[batch] = model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits[:, 0].float().cpu()
    return scores.reshape(-1, 2)


def reward_probabilities(
    model: Any, tokenizer: Any, pairs: Sequence[PreferencePair], max_length: int = 1024, batch_tokens: int = 16_384
) -> Floats:
    """Probabilities of A, B and tie (none) from the difference of the two scores (Bradley and Terry)."""
    scores = reward_scores(model, tokenizer, pairs, max_length, batch_tokens)
    p_a = 1 / (1 + np.exp(scores[:, 1] - scores[:, 0]))
    return np.stack([p_a, 1 - p_a, np.zeros_like(p_a)], axis=1)


def is_right(probabilities: Floats, pairs: Sequence[PreferencePair]) -> np.ndarray:
    """Whether the most probable verdict is the label, per pair; equal probabilities of A and B are never right."""
    order = list(SAID)
    top = probabilities.max(axis=1, keepdims=True)
    single = (probabilities == top).sum(axis=1) == 1
    best = probabilities.argmax(axis=1)
    return np.array([bool(s) and order[b] == pair.label for s, b, pair in zip(single, best, pairs, strict=True)])


def probabilities_of(
    model: Any, tokenizer: Any, recipe: CausalRecipe, pairs: Sequence[PreferencePair], batch_tokens: int = 16_384
) -> Floats:
    """Probabilities of A, B and tie by a model that a recipe trains: from its scores, or from its verdicts."""
    if recipe.method == "reward":
        return reward_probabilities(model, tokenizer, pairs, recipe.max_length, batch_tokens)
    return verdict_probabilities(model, tokenizer, strategy_of(recipe), pairs, recipe.max_length, batch_tokens)


def judged(
    folder: str | Path | None,
    pairs: Sequence[PreferencePair],
    recipe: CausalRecipe | None = None,
    batch_tokens: int = 16_384,
) -> Floats:
    """Probabilities of A, B and tie, shape (n_pairs, 3), by the judge of a training folder, or by an untrained base.

    A ``folder`` of None judges with the base of ``recipe``; else the recipe says how pairs are put, by default the
    folder's own. Pairs are shown as they stand.
    """
    if folder is None:
        model, tokenizer = load_base(recipe)  # type: ignore[arg-type]  # there is one where there is no folder
    else:
        recipe = recipe or recipe_of(trained_recipe(folder))
        model, tokenizer = load_trained(folder)
    model = model.to("cuda" if torch.cuda.is_available() else "cpu")
    return probabilities_of(model, tokenizer, recipe, pairs, batch_tokens)  # type: ignore[arg-type]  # never None here


def accuracy_table(
    right: Mapping[str, np.ndarray], pairs: Sequence[PreferencePair], by: str = "subset"
) -> "pd.DataFrame":
    """Accuracy of several judges on the same pairs, in all and by family.

    ``right``: judge to whether it was right, per pair (`is_right`); ``by``: field that names the family. Columns judge,
    family ("all" first), n, accuracy, low, high (Wilson's interval: pairs count as independent draws).
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
