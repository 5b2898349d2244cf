"""What a trained causal model says of pairs, read from one pass: enough to validate a training, and as a judge."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from judgekit.judges.base import Request
from judgekit.judges.features import reply_of
from judgekit.models.batching import token_batches
from judgekit.models.chat_tokens import ChatTokenizer
from judgekit.models.files import check_seal, digests_of
from judgekit.models.one_pass import plan_of
from judgekit.prompts import PromptTooLong, Strategy
from judgekit.records import PreferencePair, Reply, fingerprint_of
from judgekit.stats import Floats
from judgekit.training.causal import load_base, load_trained, trained_recipe
from judgekit.training.causal_data import (
    SAID,
    CausalRecipe,
    both_responses,
    prompt_tokens,
    recipe_of,
    reply_text,
    strategy_of,
)

_FILES = ("model.safetensors", "tokenizer.json", "training.json")


class TrainedCausalJudge:
    """The judge of a training folder (`judgekit.training.causal_run`), read from one pass.

    For models whose tokenizer has tokens for whole passages of the prompt (`judgekit.training.causal_tiny`): ``hf/``
    takes every text of a prompt for plain text and cannot ask those. ``name`` is ``causal/<folder name>`` by default.
    FileNotFoundError if the folder holds no finished training.
    """

    decoding = "{}"
    batch_size = 256
    sees_item = False

    def __init__(self, folder: str | Path, name: str | None = None) -> None:
        folder = Path(folder)
        if missing := [file for file in _FILES if not (folder / file).is_file()]:
            raise FileNotFoundError(f"{folder}: no finished training here ({missing[0]} is missing)")
        self.name = name or f"causal/{folder.name}"
        digests = digests_of(folder, _FILES)
        check_seal(folder, digests)
        self.recipe = recipe_of(trained_recipe(folder))
        model, self.tokenizer = load_trained(folder)
        self.model = model.to("cuda" if torch.cuda.is_available() else "cpu")
        self.fingerprint = fingerprint_of("causal", 1, digests)

    def judge(self, requests: Sequence[Request]) -> list[Reply]:
        """Probabilities of first, second and tie for each request, as it is shown."""
        if not requests:
            return []
        shown = [PreferencePair(str(k), "asked", r.asked, r.first, r.second) for k, r in enumerate(requests)]
        probabilities = probabilities_of(self.model, self.tokenizer, self.recipe, shown)
        if np.isnan(probabilities).any():
            raise PromptTooLong(f"{self.name}: a prompt does not fit {self.recipe.max_length} tokens")
        return [reply_of(p) for p in probabilities]


def judged(
    folder: str | Path | None,
    pairs: Sequence[PreferencePair],
    recipe: CausalRecipe | None = None,
    batch_tokens: int = 16_384,
) -> Floats:
    """Probabilities of A, B and tie, shape (n_pairs, 3), by the judge of a training folder, or by an untrained base.

    A ``folder`` of None judges with the base of ``recipe``; else the recipe says how pairs are put, by default the
    folder's own. Pairs are shown as they stand; one whose prompt does not fit has NaN.
    """
    if folder is not None:
        model, tokenizer = load_trained(folder)
        recipe = recipe or recipe_of(trained_recipe(folder))
    elif recipe is not None:
        model, tokenizer = load_base(recipe)
    else:
        raise ValueError("neither a folder nor a recipe: no model is named")
    model = model.to("cuda" if torch.cuda.is_available() else "cpu")
    return probabilities_of(model, tokenizer, recipe, pairs, batch_tokens)


def probabilities_of(
    model: Any, tokenizer: Any, recipe: CausalRecipe, pairs: Sequence[PreferencePair], batch_tokens: int = 16_384
) -> Floats:
    """Probabilities of A, B and tie by a model that a recipe trains: from its verdicts, or from its two scores.

    By Bradley and Terry's model the difference of two scores is the log-odds of A; there are no ties then.
    """
    if recipe.method != "reward":
        return verdict_probabilities(model, tokenizer, strategy_of(recipe), pairs, recipe.max_length, batch_tokens)
    scores = reward_scores(model, tokenizer, pairs, recipe.max_length, batch_tokens)
    p_a = 1 / (1 + np.exp(scores[:, 1] - scores[:, 0]))
    return np.stack([p_a, 1 - p_a, np.zeros_like(p_a)], axis=1)


@torch.inference_mode()
def verdict_probabilities(
    model: Any,
    tokenizer: Any,
    strategy: Strategy,
    pairs: Sequence[PreferencePair],
    max_length: int = 1024,
    batch_tokens: int = 16_384,
) -> Floats:
    """Probabilities of A, B and tie on pairs as they stand, shape (n_pairs, 3); NaN where a prompt does not fit.

    ``strategy``: one whose verdict comes first. Rows sum to one, and the policy's missing verdict has zero.
    """
    labels, opening, tokens = deciding_tokens(tokenizer, strategy)
    rows: dict[int, list[int]] = {}
    for number, pair in enumerate(pairs):
        try:
            rows[number] = prompt_tokens(tokenizer, strategy, pair, max_length - len(opening) - 1) + opening
        except PromptTooLong:
            continue
    probabilities = np.full((len(pairs), 3), np.nan)
    probabilities[list(rows)] = 0
    model.eval()
    for batch in _batches(rows, batch_tokens):
        ids, mask, lengths = _padded([rows[i] for i in batch], tokenizer.pad_token_id, model)
        logits = model(input_ids=ids, attention_mask=mask).logits.cpu()
        p = logits[torch.arange(len(batch)), lengths - 1][:, tokens].double().softmax(-1).numpy()
        for label, column in zip(labels, p.T, strict=True):
            probabilities[batch, list(SAID).index(label)] = column
    return probabilities


@torch.inference_mode()
def reward_scores(
    model: Any, tokenizer: Any, pairs: Sequence[PreferencePair], max_length: int = 1024, batch_tokens: int = 16_384
) -> Floats:
    """Scores of both responses of pairs by a reward model, shape (n_pairs, 2); a higher one is a better response."""
    texts = [ids for pair in pairs for ids in both_responses(tokenizer, pair, max_length)]
    rows = dict(enumerate(texts))
    scores = np.zeros(len(rows))
    model.eval()
    for batch in _batches(rows, batch_tokens):
        ids, mask, _ = _padded([rows[i] for i in batch], tokenizer.pad_token_id, model)
        scores[batch] = model(input_ids=ids, attention_mask=mask).logits[:, 0].float().cpu()
    return scores.reshape(-1, 2)


def _padded(rows: Sequence[Sequence[int]], pad: int, model: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows of token ids as a tensor padded on the right, its mask, both beside the model, and the rows' lengths."""
    longest, device = max(map(len, rows)), next(model.parameters()).device
    ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    mask = (torch.arange(longest)[None] < lengths[:, None]).long()
    return ids.to(device), mask.to(device), lengths


def _batches(rows: dict[int, list[int]], batch_tokens: int) -> Iterator[list[int]]:
    """Numbers of the rows in batches of at most so many tokens, the longest rows first."""
    lengths = {number: len(row) for number, row in rows.items()}
    return token_batches(sorted(lengths, key=lambda row: -lengths[row]), lengths, batch_tokens)


def deciding_tokens(tokenizer: Any, strategy: Strategy) -> tuple[list[str], list[int], list[int]]:
    """The verdicts, what all replies begin with, and the token of each verdict after it.

    ValueError if the verdict does not come first, or its first tokens do not tell the verdicts apart.
    """
    if not (strategy.closed or strategy.reads == "first line"):
        raise ValueError(f"strategy {strategy.name!r} explains before it judges: its verdict needs generating")
    labels = [label for label, outcome in SAID.items() if outcome in strategy.labels]
    plan = plan_of({label: reply_text(strategy, label) for label in labels}, ChatTokenizer(tokenizer).reply_tokens)
    tokens = [path[0] for path in plan.paths]
    if len(set(tokens)) < len(tokens):
        raise ValueError(f"strategy {strategy.name!r}: no single token tells its verdicts apart")
    return labels, list(plan.forced), tokens


def is_right(probabilities: Floats, pairs: Sequence[PreferencePair]) -> np.ndarray:
    """Whether the most probable verdict is the label, per pair; equal probabilities of A and B, and NaN, never are."""
    order, top = list(SAID), probabilities.max(axis=1, keepdims=True)
    single = (probabilities == top).sum(axis=1) == 1
    best = probabilities.argmax(axis=1)
    return np.array([bool(s) and order[b] == pair.label for s, b, pair in zip(single, best, pairs, strict=True)])
